use crate::identity::TokenId;
use crate::registry::Timestamp;

/// What can change about an agent from one run to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransitionKind {
    /// The card was the anchored one and is not any more.
    MatchToMismatch,
    /// There was nothing to compare (no hash or no URI anchored), and now there is a card that is not the anchored one.
    AbsentToMismatch,
    /// The card is the anchored one again.
    MismatchToMatch,
    /// It has not been possible to decide for several runs.
    ToUndecided,
    /// It can be decided again; or for the first time since its record was read, and it is a mismatch.
    FromUndecided,
    /// Another hash is anchored.
    HashReanchored,
    /// Another URI is anchored.
    UriChanged,
    /// The token has another owner.
    OwnerChanged,
    /// The agent was revoked.
    Revoked,
    /// The agent was registered, or came back, after the last run that could read the registry.
    New,
    /// The agent was known, and the registry has it no more.
    Vanished,
}

impl TransitionKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::MatchToMismatch,
        Self::AbsentToMismatch,
        Self::MismatchToMatch,
        Self::ToUndecided,
        Self::FromUndecided,
        Self::HashReanchored,
        Self::UriChanged,
        Self::OwnerChanged,
        Self::Revoked,
        Self::New,
        Self::Vanished,
    ];

    /// The name in documents and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MatchToMismatch => "match_to_mismatch",
            Self::AbsentToMismatch => "absent_to_mismatch",
            Self::MismatchToMatch => "mismatch_to_match",
            Self::ToUndecided => "to_undecided",
            Self::FromUndecided => "from_undecided",
            Self::HashReanchored => "hash_reanchored",
            Self::UriChanged => "uri_changed",
            Self::OwnerChanged => "owner_changed",
            Self::Revoked => "revoked",
            Self::New => "new",
            Self::Vanished => "vanished",
        }
    }
}

/// One change of one agent, recorded once and delivered at least once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// What changed.
    pub kind: TransitionKind,
    /// The agent.
    pub token_id: TokenId,
    /// What was before, in words that a program can compare (a class, a digest, a URI, an account).
    pub before: Option<String>,
    /// What is now.
    pub after: Option<String>,
    /// When the run that found it judged the agent.
    pub at: Timestamp,
    /// Unique for this change: receivers drop what they have seen.
    pub idempotency_key: String,
}
