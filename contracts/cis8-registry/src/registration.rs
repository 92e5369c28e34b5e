//! What the registry says about one key.

use concordium_std::*;

use crate::{error::KeyError, key::ExternalKeyId};

/// Most bytes of all metadata of a registration, as serialised: count, lengths, keys and values. Unpublished, chosen here
/// so that ExternalKeyRegistered fits in the 512 bytes the chain allows an event, with the largest key there can be.
pub const MAX_METADATA_BYTES: usize = 256;

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
/// [`KeyError::InvalidMetadata`] for more than [`MAX_METADATA_BYTES`], an empty key, or a key twice.
pub fn check_metadata(entries: &Vec<MetadataEntry>) -> Result<(), KeyError> {
    ensure!(to_bytes(entries).len() <= MAX_METADATA_BYTES, KeyError::InvalidMetadata);
    for (position, entry) in entries.iter().enumerate() {
        ensure!(!entry.key.is_empty(), KeyError::InvalidMetadata);
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
