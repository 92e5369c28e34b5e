//! Why a call is refused.

use concordium_std::*;

/// The rejections of CIS-8004, and the ones concordium-std brings.
///
/// The variant's name travels in the schema, its number as the reject reason of the transaction. CIS-2 entry points
/// wrap this type in [`concordium_cis2::Cis2Error`], which adds InvalidTokenId -42000001, InsufficientFunds -42000002
/// and Unauthorized -42000003.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serial, SchemaType)]
pub enum RegistryError {
    /// The parameter is not what the entry point takes (-2147483646).
    ParseError,
    /// The transaction has logged too many events (-2147483645).
    LogFull,
    /// An event is too large for the chain (-2147483644).
    LogMalformed,
    /// No agent has this token id (-7200).
    AgentNotFound,
    /// The sender may not do this: not the owner, not an account, or not the admin (-7201).
    Unauthorized,
    /// The agent is revoked and cannot change any more, nor be revoked again (-7202).
    AgentRevoked,
    /// A contract cannot own an agent (-7203).
    InvalidReceiver,
    /// Another active agent has this external reference (-7204).
    ExternalReferenceTaken,
    /// The reference is not to an active key of the sender in the configured CIS-8 registry (-7206).
    InvalidExternalReference,
    /// A URI, reason, metadata key or metadata value is over its limit, or a key occurs twice (-7208).
    InvalidMetadata,
    /// The metadata key `agentWallet` belongs to setAgentWallet (-7211).
    ReservedKey,
    /// The new wallet did not sign this change (-7212).
    InvalidAgentWalletProof,
    /// The wallet's signature was for an earlier time (-7213).
    AgentWalletDeadlinePassed,
}

impl RegistryError {
    /// The number the chain reports. CIS-8004 names them; the first three are concordium-std's own.
    const fn code(self) -> i32 {
        match self {
            RegistryError::ParseError => i32::MIN + 2,
            RegistryError::LogFull => i32::MIN + 3,
            RegistryError::LogMalformed => i32::MIN + 4,
            RegistryError::AgentNotFound => -7200,
            RegistryError::Unauthorized => -7201,
            RegistryError::AgentRevoked => -7202,
            RegistryError::InvalidReceiver => -7203,
            RegistryError::ExternalReferenceTaken => -7204,
            RegistryError::InvalidExternalReference => -7206,
            RegistryError::InvalidMetadata => -7208,
            RegistryError::ReservedKey => -7211,
            RegistryError::InvalidAgentWalletProof => -7212,
            RegistryError::AgentWalletDeadlinePassed => -7213,
        }
    }
}

/// The reject carries the number, and the variant as return value so that a schema can name it.
impl From<RegistryError> for Reject {
    fn from(error: RegistryError) -> Self {
        let mut reject = Reject::new(error.code()).unwrap_or_default();
        reject.return_value = Some(to_bytes(&error));
        reject
    }
}

impl From<ParseError> for RegistryError {
    fn from(_: ParseError) -> Self {
        RegistryError::ParseError
    }
}

impl From<LogError> for RegistryError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Full => RegistryError::LogFull,
            LogError::Malformed => RegistryError::LogMalformed,
        }
    }
}
