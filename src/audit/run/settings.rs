use std::sync::Arc;
use std::time::Duration;

use crate::audit::{Targets, Unchanged};
use crate::identity::{AccountAddress, TokenId};
use crate::registry::{AgentRecord, AgentStatus};
use crate::verify::VerifySettings;

/// How a run works, and which of its targets it is about.
#[derive(Debug, Clone)]
pub struct AuditSettings {
    /// What is judged and how.
    pub verify: VerifySettings,
    /// Leaves out agents of other owners. Addresses are compared without their alias.
    pub owner: Option<AccountAddress>,
    /// Leaves out agents of another status.
    pub status: Option<AgentStatus>,
    /// Leaves out token ids that have no agent: they were not named but come from a range that was probed.
    pub skip_missing: bool,
    /// Does not leave out these: they had an agent before, so that it has vanished is a result.
    pub had_agents: Option<Arc<Targets>>,
    /// Leaves out agents that are known and unchanged.
    pub unchanged: Option<Arc<Unchanged>>,
    /// Ends after so many agents; those left out do not count.
    pub limit: Option<u64>,
    /// Others work on the same run: without a node, what is left is theirs, and the run ends with an error.
    pub shared: bool,
    /// How often a card is fetched again before it is called a mismatch.
    pub confirm: u32,
    /// How long to wait before each of these fetches.
    pub confirm_pause: Duration,
    /// How many records are read at once; 0 means 1.
    pub node_concurrency: usize,
    /// How many cards are fetched at once, from all hosts together; 0 means 1.
    pub host_concurrency: usize,
    /// How many cards are fetched at once from one host; 0 means 1. The fetcher has its own limits besides.
    pub per_host_concurrency: usize,
}

impl AuditSettings {
    /// 24 records and 128 cards at once, 8 from one host; every agent, no confirmation.
    pub fn new(verify: VerifySettings) -> Self {
        Self {
            verify,
            owner: None,
            status: None,
            skip_missing: false,
            had_agents: None,
            unchanged: None,
            limit: None,
            shared: false,
            confirm: 0,
            confirm_pause: Duration::from_secs(1),
            node_concurrency: 24,
            host_concurrency: 128,
            per_host_concurrency: 8,
        }
    }

    /// Whether the run is about the agent of this token id; `None` when it has none.
    pub(super) fn selects(&self, agent: TokenId, record: Option<&AgentRecord>) -> bool {
        // The first 29 bytes are the account, the rest an alias of it (registry facts, section 8).
        let account = |address: &AccountAddress| address.0.first_chunk::<29>().copied();
        match record {
            None if self.had_agents.as_ref().is_some_and(|known| known.contains(agent)) => true,
            None => !self.skip_missing && self.owner.is_none() && self.status.is_none(),
            Some(record) => {
                self.owner.is_none_or(|owner| account(&owner) == account(&record.owner_account))
                    && self.status.is_none_or(|status| status == record.status)
                    && self.unchanged.as_ref().is_none_or(|unchanged| !unchanged.holds(record))
            }
        }
    }
}
