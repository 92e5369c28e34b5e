use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, TokenId};
use crate::registry::{AgentRecord, AgentStatus};

/// Agents that need no new verdict as long as their record stays as it was: 24 bytes for each.
#[derive(Debug, Default)]
pub struct Unchanged {
    records: HashMap<TokenId, Remembered>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Remembered {
    record: u64,
    /// Whether it was looked at and found as it was.
    held: AtomicBool,
}

/// What of a record a verdict, or a transition, depends on.
#[derive(Hash)]
struct Relevant<'a>(Option<&'a str>, Option<Sha256Digest>, AccountAddress, AgentStatus);

impl Unchanged {
    /// Remembers what an agent's record was.
    pub fn insert(
        &mut self,
        agent: TokenId,
        agent_uri: Option<&str>,
        metadata_hash: Option<Sha256Digest>,
        owner: AccountAddress,
        status: AgentStatus,
    ) {
        let hash = self.hasher.hash_one(Relevant(agent_uri, metadata_hash, owner, status));
        self.records.insert(agent, Remembered { record: hash, held: AtomicBool::new(false) });
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether the agent is one of them.
    pub fn knows(&self, agent: TokenId) -> bool {
        self.records.contains_key(&agent)
    }

    /// Whether the record is as it was, which [`Unchanged::held`] tells later.
    pub fn holds(&self, record: &AgentRecord) -> bool {
        let AgentRecord { token_id, agent_uri, metadata_hash, owner_account, status, .. } = record;
        let now = Relevant(agent_uri.as_deref(), *metadata_hash, *owner_account, *status);
        let Some(known) = self.records.get(token_id) else { return false };
        let holds = known.record == self.hasher.hash_one(now);
        if holds {
            known.held.store(true, Ordering::Relaxed);
        }
        holds
    }

    /// Whether the agent's record was looked at and was as before.
    pub fn held(&self, agent: TokenId) -> bool {
        self.records.get(&agent).is_some_and(|known| known.held.load(Ordering::Relaxed))
    }
}
