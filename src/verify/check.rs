use crate::registry::{AgentRecord, Inconsistency};
use crate::Severity;

use super::Subject;

/// A finding about the record or the card's content. Checks never change `match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// A stable code.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it says, as a sentence.
    pub message: String,
}

/// Something that judges what a card says, once it has been hashed. What it finds stands beside the verdict.
pub trait CardCheck: Send + Sync {
    /// The findings about `card`, the complete body, which describes the agent of `record`.
    fn check(&self, card: &[u8], subject: &Subject, record: &AgentRecord) -> Vec<Check>;
}

impl Check {
    /// A contradiction in the record itself, which needs no card to be seen.
    pub(super) fn of_inconsistency(inconsistency: Inconsistency) -> Self {
        let message = format!("In the registry's answer {inconsistency}.");
        Self { code: "record_inconsistent".into(), severity: Severity::Warning, message }
    }

    /// The module's schema could not be had, so the record was read without it.
    pub(super) fn of_schema_problem(problem: &str) -> Self {
        let message =
            format!("The record was read by the fixed layout instead of the schema of the registry's module: {problem}.");
        Self { code: "schema_unavailable".into(), severity: Severity::Warning, message }
    }

    /// The card is too large to be kept, so nothing but its hash is known.
    pub(super) fn not_checked() -> Self {
        let message = "The card is larger than 1 MiB, so what it says was not checked.";
        Self { code: "card_not_checked".into(), severity: Severity::Info, message: message.into() }
    }
}
