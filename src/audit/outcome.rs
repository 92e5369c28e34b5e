use crate::chain::Block;
use crate::digest::Sha256Digest;
use crate::identity::{ContractAddress, GenesisHash};
use crate::registry::Timestamp;
use crate::verify::{Summary, Verdict};

use super::{Targets, Transition};

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
    /// The options that decide its verdicts, as who began it has written them down; `None` when nobody has.
    pub terms: Option<String>,
    /// How many agents of each class.
    pub summary: Summary,
}

/// How many bytes of a list are written down with each run.
const LONGEST_LIST: usize = 64 * 1024;

impl RunInfo {
    /// What a run over every agent of the registry covers.
    pub const ALL: &str = "all";

    /// Whether it is about all agents that a run which covers `agents` is about.
    pub fn covers(&self, agents: &str) -> bool {
        let Some(covered) = self.covers.as_deref() else { return false };
        if covered == agents || covered == Self::ALL {
            return true;
        }
        let ids = |covers: &str| covers.strip_prefix("ids ").and_then(|list| list.parse::<Targets>().ok());
        ids(covered).zip(ids(agents)).is_some_and(|(covered, agents)| covered.includes(&agents))
    }

    /// What a run over these agents covers: the list itself, so that a run over more of them is known to be about these, too; of a
    /// very long one no more than its digest.
    pub fn covers_of(agents: &Targets) -> String {
        let list = agents.clone().ascending().to_string();
        if list.len() > LONGEST_LIST {
            return format!("ids {}", Sha256Digest::of(list.as_bytes()));
        }
        format!("ids {list}")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(covers: &str) -> RunInfo {
        RunInfo {
            id: 1,
            scope: RunScope { network: "devnet".into(), genesis: GenesisHash([7; 32]), contract: ContractAddress::new(1, 0) },
            block: None,
            started_at: Timestamp(0),
            finished_at: None,
            selection: String::new(),
            covers: Some(covers.into()),
            daemon: false,
            terms: None,
            summary: Summary::default(),
        }
    }

    #[test]
    fn a_run_covers_the_lists_that_are_within_its_own() {
        for (covered, agents, covers) in [
            ("all", "ids 1-5", true),
            ("ids 0-9,20-30", "ids 1-5,20,30", true),
            ("ids 0-9,20-30", "ids 5-20", false),
            ("ids 0-9,10", "ids 9-10", true),
            ("ids 1-5", "ids 0-9", false),
            ("ids 1-5", "all", false),
            ("ids 1-5, active", "ids 1-5", false),
            ("owner x", "owner x", true),
            ("owner x", "ids 1", false),
        ] {
            assert_eq!(run(covered).covers(agents), covers, "{covered}: {agents}");
        }
        let scattered = Targets::of((0..20_000).map(|id| crate::identity::TokenId(2 * id)));
        let digest = RunInfo::covers_of(&scattered);
        assert!(digest.len() == 68 && run(&digest).covers(&digest) && !run(&digest).covers("ids 2"));
    }
}
