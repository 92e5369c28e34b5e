use crate::identity::TokenId;

use super::{AgentRecord, AgentStatus};

/// A contradiction in a record (registry facts, section 2). The bytes were read correctly; the contract's answer is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Inconsistency {
    /// Another token's record than was asked for.
    #[error("the record is that of token {got}, not of token {asked}")]
    OtherToken {
        /// The token asked for.
        asked: TokenId,
        /// The token in the record.
        got: TokenId,
    },
    /// Active, with a time of revocation.
    #[error("the agent is active, yet has a time of revocation")]
    ActiveWithRevocationTime,
    /// Active, with a reason of revocation.
    #[error("the agent is active, yet has a reason of revocation")]
    ActiveWithReason,
    /// Revoked, without a time of revocation.
    #[error("the agent is revoked, yet has no time of revocation")]
    RevokedWithoutTime,
}

impl AgentRecord {
    /// The contradictions in this record, which was read when asking for token `asked`.
    ///
    /// One for another token must not be used as the answer; the others are worth a warning.
    pub fn consistency(&self, asked: TokenId) -> Vec<Inconsistency> {
        let active = self.status == AgentStatus::Active;
        [
            (self.token_id != asked).then_some(Inconsistency::OtherToken { asked, got: self.token_id }),
            (active && self.revoked_at.is_some()).then_some(Inconsistency::ActiveWithRevocationTime),
            (active && self.revocation_reason.is_some()).then_some(Inconsistency::ActiveWithReason),
            (!active && self.revoked_at.is_none()).then_some(Inconsistency::RevokedWithoutTime),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
