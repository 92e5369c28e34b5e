use crate::chain::Block;
use crate::identity::{ContractAddress, GenesisHash};
use crate::registry::Timestamp;
use crate::verify::{Summary, Verdict};

use super::Transition;

/// Which registry a run audits. Memory is kept per scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunScope {
    /// The network's name.
    pub network: String,
    /// The hash of the network's genesis block.
    pub genesis: GenesisHash,
    /// The registry.
    pub contract: ContractAddress,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunInfo {
    /// Its number in the store, from 1; 0 when nothing is stored.
    pub id: i64,
    /// What is audited.
    pub scope: RunScope,
    /// The block that the run is pinned to; `None` when no node could be asked.
    pub block: Option<Block>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; `None` while it goes on or after it was interrupted.
    pub finished_at: Option<Timestamp>,
    /// How its agents were selected, and for `--all` how the end was found, as a sentence.
    pub selection: String,
    /// What its agents are, in the same words for every run that is about the same ones ([`RunInfo::ALL`], an owner, a list);
    /// `None` when no other run can be, as with a random sample.
    pub covers: Option<String>,
    /// Whether a daemon began it, which goes on with it by itself.
    pub daemon: bool,
    /// How many agents of each class.
    pub summary: Summary,
}

impl RunInfo {
    /// What a run over every agent of the registry covers.
    pub const ALL: &str = "all";

    /// Whether it is about all agents that a run which covers `agents` is about.
    pub fn covers(&self, agents: &str) -> bool {
        self.covers.as_deref().is_some_and(|covered| covered == agents || covered == Self::ALL)
    }
}

/// What a run found about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOutcome {
    /// The verdict.
    pub verdict: Verdict,
    /// What changed since the run before, if anything did.
    pub transitions: Vec<Transition>,
}
