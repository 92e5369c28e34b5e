use std::time::Duration;

use super::outcome::{FailureKind, FetchFailure, FetchTrace};
use crate::credentials::without_credentials;

/// Why a step of a fetch ended it: a failure before the trace is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    /// Whether a later run may fare better.
    pub(super) retryable: bool,
    /// Whether this run should try once more by itself.
    pub(super) again: bool,
    /// How long the server asked to be left alone.
    pub(super) wait: Option<Duration>,
}

impl Stop {
    /// A failure that is retryable if its kind usually passes.
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        use FailureKind as Kind;
        let passes = matches!(kind, Kind::DnsFailure | Kind::ConnectFailure | Kind::RateLimited | Kind::Truncated);
        let retryable = passes || kind == Kind::Timeout;
        Self { kind, message: message.into(), retryable, again: passes, wait: None }
    }

    /// The same failure, known to pass or not.
    pub(super) fn passing(self, passes: bool) -> Self {
        Self { retryable: passes, again: passes, ..self }
    }

    /// The same failure, to be told to the user at once though a later run may fare better.
    pub(super) fn not_again(self) -> Self {
        Self { again: false, ..self }
    }

    /// The failure together with how far the fetch came. Whatever a cause repeats of a URL, its credentials are not among it.
    pub(super) fn with(self, trace: FetchTrace) -> FetchFailure {
        let message = without_credentials(&self.message).into_owned();
        FetchFailure { kind: self.kind, message, retryable: self.retryable, trace }
    }
}
