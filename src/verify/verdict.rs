use std::time::Duration;

use crate::chain::{Block, DecodedWith, ModuleRef};
use crate::digest::Sha256Digest;
use crate::fetch::FetchTrace;
use crate::identity::{AccountAddress, Caip2, ContractAddress, TokenId};
use crate::registry::{AgentStatus, Timestamp};

use super::{Check, Class, Note, Reason};

/// Which agent a verdict is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The network's name.
    pub network: String,
    /// The network's CAIP-2 identifier.
    pub chain: Caip2,
    /// The registry.
    pub contract: ContractAddress,
    /// The agent's token.
    pub token_id: TokenId,
}

/// What the chain said about the agent when the verdict was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The owner of the token.
    pub owner: AccountAddress,
    /// Whether the agent is active. It stands beside the verdict and never changes it.
    pub status: AgentStatus,
    /// When the agent was registered; `None` in what was stored without it.
    pub registered_at: Option<Timestamp>,
}

/// What the fetch found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// How the body came, or how far the fetch got.
    pub trace: FetchTrace,
    /// How many bytes the complete, content-decoded body has.
    pub bytes: Option<u64>,
    /// The digest of the complete, content-decoded body.
    pub sha256: Option<Sha256Digest>,
    /// The digest of the complete body on the wire.
    pub wire_sha256: Option<Sha256Digest>,
}

/// The verdict on one card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The agent; `None` when a digest was given instead.
    pub subject: Option<Subject>,
    /// The block the verdict was reached at.
    pub block: Option<Block>,
    /// Owner and status, when there is an agent.
    pub anchor: Option<Anchor>,
    /// Where the card is said to be.
    pub agent_uri: Option<String>,
    /// What it should hash to.
    pub anchored_sha256: Option<Sha256Digest>,
    /// Why the verdict is what it is.
    pub reason: Reason,
    /// The reason in one sentence, with what is known of the cause. Foreign text in it is not escaped.
    pub message: String,
    /// What the fetch found; `None` when nothing was fetched.
    pub evidence: Option<Evidence>,
    /// Near misses and other things worth knowing.
    pub notes: Vec<Note>,
    /// Findings about the record or the card's content.
    pub checks: Vec<Check>,
    /// How the record was read.
    pub decoded_with: Option<DecodedWith>,
    /// The module of the registry at the block.
    pub module_ref: Option<ModuleRef>,
    /// When the check began.
    pub started_at: Timestamp,
    /// How long it took.
    pub elapsed: Duration,
}

impl Verdict {
    /// `Some(true)`, `Some(false)`, or `None` when it cannot be decided.
    pub fn matches(&self) -> Option<bool> {
        match self.class() {
            Class::Match => Some(true),
            Class::Mismatch => Some(false),
            Class::Absent | Class::Undecided => None,
        }
    }

    /// The class of its reason.
    pub fn class(&self) -> Class {
        self.reason.class()
    }
}

/// How many verdicts of each class there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many in all.
    pub agents: u64,
    /// How many match.
    pub matches: u64,
    /// How many do not.
    pub mismatches: u64,
    /// How many have nothing to compare.
    pub absent: u64,
    /// How many could not be decided.
    pub undecided: u64,
}

impl Summary {
    /// Counts one more verdict.
    pub fn add(&mut self, class: Class) {
        self.agents += 1;
        match class {
            Class::Match => self.matches += 1,
            Class::Mismatch => self.mismatches += 1,
            Class::Absent => self.absent += 1,
            Class::Undecided => self.undecided += 1,
        }
    }
}
