use crate::chain::Block;
use crate::digest::Sha256Digest;
use crate::identity::{ContractAddress, TokenId};
use crate::registry::Timestamp;
use crate::verify::{Class, Reason, Summary, Verdict};

/// What is known of a run before its first result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHeader {
    /// Its number in the store; `None` when nothing is stored.
    pub id: Option<u64>,
    /// The network's name.
    pub network: String,
    /// The registry.
    pub contract: ContractAddress,
    /// The block that the run is pinned to; `None` when no node could be asked.
    pub block: Option<Block>,
    /// When it began.
    pub started_at: Timestamp,
    /// How its agents were selected, as a sentence.
    pub selection: String,
}

impl RunHeader {
    /// The registry as labels and tables write it: `10082,0`, without the angle brackets that HTML would see a tag in.
    pub(super) fn registry(&self) -> String {
        format!("{},{}", self.contract.index, self.contract.subindex)
    }
}

/// What is known of a run once its last result is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// When it ended.
    pub finished_at: Timestamp,
    /// Whether every selected agent has its result; `false` after an interruption.
    pub complete: bool,
    /// When an earlier run last succeeded, if the store knows.
    pub earlier_success: Option<Timestamp>,
}

impl RunEnd {
    /// When a run last succeeded: this one if it is complete and a node answered it, otherwise the earlier one. What the cards
    /// are like has no part in it: this is for the alert that fires when auditing itself has stopped.
    pub fn last_success(&self, header: &RunHeader) -> Option<Timestamp> {
        if self.complete && header.block.is_some() {
            Some(self.finished_at)
        } else {
            self.earlier_success
        }
    }
}

/// One change of one agent since the run before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What changed, as a name: `match_to_mismatch` and so on.
    pub kind: &'static str,
    /// What was before.
    pub before: Option<String>,
    /// What is now.
    pub after: Option<String>,
    /// When the agent was judged by the run that found the change.
    pub at: Timestamp,
    /// Unique for this change.
    pub idempotency_key: String,
}

impl Change {
    /// Its kind in words.
    pub(super) fn words(&self) -> String {
        self.kind.replace('_', " ")
    }
}

/// What an earlier run found about an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryPoint {
    /// When it was judged.
    pub at: Timestamp,
    /// Why the verdict was what it was.
    pub reason: Reason,
    /// The digest of the card served then.
    pub sha256: Option<Sha256Digest>,
}

impl HistoryPoint {
    /// How many a report shows of one agent, the newest ones.
    pub const SHOWN: u16 = 24;
}

/// What an earlier run found about all of its agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPoint {
    /// When it began.
    pub at: Timestamp,
    /// How many agents of each class.
    pub summary: Summary,
}

/// The result of one agent.
#[derive(Debug, Clone, Copy)]
pub struct ReportRow<'a> {
    /// The verdict.
    pub verdict: &'a Verdict,
    /// What changed since the run before.
    pub changes: &'a [Change],
    /// What earlier runs found, oldest first. Only the HTML report shows it.
    pub history: &'a [HistoryPoint],
    /// Whether the agent counts as a mismatch, and would not otherwise: it is revoked, and active ones are required.
    pub inactive: bool,
}

impl<'a> ReportRow<'a> {
    /// A verdict without memory.
    pub fn of(verdict: &'a Verdict) -> Self {
        Self { verdict, changes: &[], history: &[], inactive: false }
    }

    /// The class that the agent counts as for the exit code.
    pub(super) fn counts_as(&self) -> Class {
        if self.inactive {
            Class::Mismatch
        } else {
            self.verdict.class()
        }
    }

    /// The agent's token; `None` when a digest was judged instead of an agent.
    pub(super) fn token_id(&self) -> Option<TokenId> {
        self.verdict.subject.as_ref().map(|subject| subject.token_id)
    }

    /// The token id as the reports write it.
    pub(super) fn token(&self) -> String {
        self.token_id().map_or_else(|| "unnamed".to_owned(), |token| token.to_string())
    }
}

/// Why an agent counts as a mismatch that would not otherwise.
pub(super) const INACTIVE: &str = "The agent is revoked, and active ones are required.";

/// What that is called where reasons have names.
pub(super) const REVOKED: &str = "agent_revoked";

/// Every class, in the order in which summaries name them.
pub(super) const CLASSES: [Class; 4] = [Class::Match, Class::Mismatch, Class::Absent, Class::Undecided];
