use super::journal::JournalError;
use super::keys::KeyError;

/// Why a transaction could not be built, signed, sent or followed.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// Account keys could not be read or used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The journal could not be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Two signers give different signatures of one key.
    #[error("there are two different signatures of key {key} of credential {credential}: one of them is of another transaction")]
    SignatureConflict {
        /// The credential's index.
        credential: u8,
        /// The key's index.
        key: u8,
    },
    /// A hardware or remote signer failed or refused.
    #[error("the signer did not sign: {0}")]
    Signer(String),
    /// A part of a transaction is out of range.
    #[error("the transaction cannot be built: {0}")]
    Build(String),
    /// Bytes that are not a transaction that cardproof understands, or that contradict themselves.
    #[error("this is not a transaction to a registry: {0}")]
    NotATransaction(String),
    /// A transaction document contradicts itself.
    #[error("the transaction document is inconsistent at {field}: {why}")]
    Document {
        /// Which field.
        field: &'static str,
        /// What is wrong.
        why: String,
    },
}
