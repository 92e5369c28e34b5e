//! What the registry says about one key.

use concordium_std::*;

use crate::{error::KeyError, key::ExternalKeyId};

/// Most metadata entries of one registration. Unpublished, chosen here.
pub const MAX_METADATA_ENTRIES: usize = 32;
/// Longest metadata key in bytes; the empty key is refused too. Unpublished, chosen here.
pub const MAX_METADATA_KEY_BYTES: usize = 64;
/// Longest metadata value in bytes. Unpublished, chosen here.
pub const MAX_METADATA_VALUE_BYTES: usize = 1024;

/// A key and the account that proved to hold it.
///
/// The deployed registry's field order in bytes is unpublished; this is the proposal's, with 4-byte lengths. Readers go
/// by the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct Registration {
    /// 32 bytes.
    pub owner: AccountAddress,
    pub external_key: ExternalKeyId,
    /// The scheme of the proof that was given.
    pub proof_scheme: String,
    pub metadata: Vec<MetadataEntry>,
    /// `00` active, `01` revoked.
    pub status: RegistrationStatus,
    /// Block time of the last change, milliseconds since 1970, 8 bytes.
    pub last_updated: Timestamp,
}

/// Whether a registration counts. A revoked one is kept, and returned, until the key is registered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub enum RegistrationStatus {
    /// The owner holds the key.
    Active,
    /// The owner gave it up.
    Revoked,
}

/// What an application wants to remember with a key: two Strings.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct MetadataEntry {
    pub key: String,
    pub value: String,
}

/// # Errors
/// [`KeyError::InvalidMetadata`] for too many entries, an empty or long key, a key twice, or a long value.
pub fn check_metadata(entries: &[MetadataEntry]) -> Result<(), KeyError> {
    ensure!(entries.len() <= MAX_METADATA_ENTRIES, KeyError::InvalidMetadata);
    for (position, entry) in entries.iter().enumerate() {
        ensure!((1..=MAX_METADATA_KEY_BYTES).contains(&entry.key.len()), KeyError::InvalidMetadata);
        ensure!(entry.value.len() <= MAX_METADATA_VALUE_BYTES, KeyError::InvalidMetadata);
        let is_repeated = entries.iter().take(position).any(|earlier| earlier.key == entry.key);
        ensure!(!is_repeated, KeyError::InvalidMetadata);
    }
    Ok(())
}

/// Every event: one tag byte, then the fields in order.
#[derive(Debug, Serial, SchemaType)]
#[concordium(repr(u8))]
pub enum KeyEvent {
    /// An account proved to hold a key.
    #[concordium(tag = 231)]
    ExternalKeyRegistered {
        owner: AccountAddress,
        external_key: ExternalKeyId,
        proof_scheme: String,
        metadata: Vec<MetadataEntry>,
    },
    /// The owner gave the key up, or another account proved to hold it.
    #[concordium(tag = 232)]
    ExternalKeyRevoked { owner: AccountAddress, external_key: ExternalKeyId },
    /// The metadata was replaced.
    #[concordium(tag = 233)]
    UpdateMetadata { owner: AccountAddress, external_key: ExternalKeyId, metadata: Vec<MetadataEntry> },
}
