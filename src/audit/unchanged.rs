use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, TokenId};
use crate::registry::{AgentRecord, AgentStatus};

/// Agents that need no new verdict as long as their record stays as it was: 16 bytes for each.
#[derive(Debug, Clone, Default)]
pub struct Unchanged {
    records: HashMap<TokenId, u64>,
    hasher: RandomState,
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
        self.records.insert(agent, hash);
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

    /// Whether the record is as it was.
    pub fn holds(&self, record: &AgentRecord) -> bool {
        let AgentRecord { token_id, agent_uri, metadata_hash, owner_account, status, .. } = record;
        let now = Relevant(agent_uri.as_deref(), *metadata_hash, *owner_account, *status);
        self.records.get(token_id) == Some(&self.hasher.hash_one(now))
    }
}
