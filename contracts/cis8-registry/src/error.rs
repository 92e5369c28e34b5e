//! Why a call is refused.

use concordium_std::*;

/// The rejections of CIS-8, and the ones concordium-std brings. The variant's name travels in the schema, its number as
/// the reject reason of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serial, SchemaType)]
pub enum KeyError {
    /// The parameter is not what the entry point takes (-2147483646).
    ParseError,
    /// The transaction has logged too many events (-2147483645).
    LogFull,
    /// An event is too large for the chain (-2147483644).
    LogMalformed,
    /// The key did not sign the canonical message (-7100).
    InvalidProof,
    /// This contract does not know the proof scheme, or it is not one for this type of key (-7101).
    UnsupportedProofScheme,
    /// The public key's bytes are not a key of its type, or a text is over its limit (-7102).
    MalformedExternalKey,
    /// The sender is not the active owner, or not an account (-7103).
    Unauthorized,
    /// The sender is the active owner already (-7104).
    AlreadyRegistered,
    /// Nobody has this key now (-7105).
    NotRegistered,
    /// This contract does not know the key type (-7107).
    UnsupportedKeyType,
    /// Metadata is over its limits, or a key occurs twice (-7108).
    InvalidMetadata,
}

impl KeyError {
    /// The number the chain reports. CIS-8 names them; the first three are concordium-std's own.
    const fn code(self) -> i32 {
        match self {
            KeyError::ParseError => i32::MIN + 2,
            KeyError::LogFull => i32::MIN + 3,
            KeyError::LogMalformed => i32::MIN + 4,
            KeyError::InvalidProof => -7100,
            KeyError::UnsupportedProofScheme => -7101,
            KeyError::MalformedExternalKey => -7102,
            KeyError::Unauthorized => -7103,
            KeyError::AlreadyRegistered => -7104,
            KeyError::NotRegistered => -7105,
            KeyError::UnsupportedKeyType => -7107,
            KeyError::InvalidMetadata => -7108,
        }
    }
}

/// The reject carries the number, and the variant as return value so that a schema can name it.
impl From<KeyError> for Reject {
    fn from(error: KeyError) -> Self {
        let mut reject = Reject::new(error.code()).unwrap_or_default();
        reject.return_value = Some(to_bytes(&error));
        reject
    }
}

impl From<ParseError> for KeyError {
    fn from(_: ParseError) -> Self {
        KeyError::ParseError
    }
}

impl From<LogError> for KeyError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Full => KeyError::LogFull,
            LogError::Malformed => KeyError::LogMalformed,
        }
    }
}
