use std::collections::HashMap;
use std::time::Duration;

use crate::registry::AgentStatus;
use crate::verify::{Class, Reason, Summary};

use super::ReportRow;

/// What a run's results add up to. It grows with the number of reasons, not of agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    summary: Summary,
    reasons: HashMap<Reason, u64>,
    revoked: u64,
    inactive: u64,
    counted: Summary,
    fetched_bytes: u64,
    slowest: Duration,
}

impl Tally {
    /// Counts one more agent.
    pub fn add(&mut self, row: &ReportRow<'_>) {
        let verdict = row.verdict;
        self.inactive += u64::from(row.inactive);
        self.counted.add(row.counts_as());
        self.summary.add(verdict.class());
        *self.reasons.entry(verdict.reason).or_default() += 1;
        self.revoked += u64::from(verdict.anchor.as_ref().is_some_and(|anchor| anchor.status == AgentStatus::Revoked));
        let bytes = verdict.evidence.as_ref().and_then(|evidence| evidence.bytes);
        self.fetched_bytes = self.fetched_bytes.saturating_add(bytes.unwrap_or_default());
        self.slowest = self.slowest.max(verdict.elapsed);
    }

    /// How many agents of each class.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// How many agents of one class.
    pub fn of_class(&self, class: Class) -> u64 {
        match class {
            Class::Match => self.summary.matches,
            Class::Mismatch => self.summary.mismatches,
            Class::Absent => self.summary.absent,
            Class::Undecided => self.summary.undecided,
        }
    }

    /// How many agents with one reason.
    pub fn of_reason(&self, reason: Reason) -> u64 {
        self.reasons.get(&reason).copied().unwrap_or_default()
    }

    /// How many of the agents are revoked, whatever their verdict.
    pub fn revoked(&self) -> u64 {
        self.revoked
    }

    /// How many of the agents count as a mismatch only because they are revoked and active ones are required.
    pub fn inactive(&self) -> u64 {
        self.inactive
    }

    /// How many agents count as each class for the exit code: those that are revoked, and may not be, as mismatches.
    pub fn counted(&self) -> Summary {
        self.counted
    }

    /// How many bytes the complete cards had together, after content decoding.
    pub fn fetched_bytes(&self) -> u64 {
        self.fetched_bytes
    }

    /// How long the slowest agent took.
    pub fn slowest(&self) -> Duration {
        self.slowest
    }
}
