//! What an agent is: the record that `agentOf` returns, and the limits its fields have.

use concordium_cis2::TokenIdU64;
use concordium_std::*;

use crate::error::RegistryError;

/// Longest agent URI in bytes (stated by the proposal). Longer is InvalidMetadata: no text names another rejection.
pub const MAX_URI_BYTES: usize = 4096;
/// Longest revocation reason in bytes. Unpublished, chosen here so that it fits in an event. Longer is InvalidMetadata.
pub const MAX_REASON_BYTES: usize = 256;
/// Longest metadata key in bytes; the empty key is refused too. Unpublished, chosen here.
pub const MAX_METADATA_KEY_BYTES: usize = 64;
/// Longest metadata value in bytes. Unpublished, chosen here so that it fits in an event: metadata is for keys and
/// addresses, a document belongs behind the URI.
pub const MAX_METADATA_VALUE_BYTES: usize = 256;
/// Most metadata entries of one agent. Unpublished, chosen here: `agentOf` returns all of them, so without a bound an
/// owner could make a record that no node will return.
pub const MAX_METADATA_ENTRIES: usize = 32;
/// The metadata key that only `setAgentWallet` may speak for.
pub const RESERVED_METADATA_KEY: &str = "agentWallet";

/// An agent's number: CIS-2 TokenIdU64, on the wire `08` and 8 bytes little-endian.
pub type AgentTokenId = TokenIdU64;
/// SHA-256 of a card, 32 bytes.
pub type MetadataHash = [u8; 32];

/// All that the registry says about one agent: 11 fields in this order.
///
/// Fields 1 to 10 are the proposal's AgentView; the deployed contract appends `on_chain_metadata`. Serialised as is;
/// `agentOf` puts the byte of an Option before it. Options are `00`, or `01` and the value.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct AgentRecord {
    /// `08` and the number in 8 bytes little-endian.
    pub token_id: AgentTokenId,
    /// The CIS-2 owner, 32 bytes.
    pub owner_account: AccountAddress,
    /// Where the card is.
    pub agent_uri: Option<String>,
    /// SHA-256 of the card's exact bytes, 32 bytes.
    pub metadata_hash: Option<MetadataHash>,
    /// A key on another chain that the owner has proved to hold.
    pub external_reference: Option<ExternalReference>,
    /// The account that speaks and is paid for the agent. The owner's at registration, nobody's after a transfer.
    pub agent_wallet: Option<AccountAddress>,
    /// `00` active, `01` revoked.
    pub status: AgentStatus,
    /// Block time of the registration, milliseconds since 1970, 8 bytes.
    pub registered_at: Timestamp,
    /// Block time of the revocation.
    pub revoked_at: Option<Timestamp>,
    /// What the owner said when revoking.
    pub revocation_reason: Option<String>,
    /// 4-byte count, then the entries in the order their keys were first set.
    pub on_chain_metadata: Vec<MetadataEntry>,
}

/// Whether an agent is in use. Revocation is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub enum AgentStatus {
    /// In use.
    Active,
    /// Withdrawn by its owner.
    Revoked,
}

/// An identity that the owner has proved elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct ExternalReference {
    /// The registry that holds the proof: index and subindex, 8 bytes each, little-endian.
    pub contract_address: ContractAddress,
    /// Which entry of it.
    pub kind: ExternalRefKind,
}

/// An entry of another registry: `00` for CIS-8, `01` for CIS-10.
///
/// CIS-10 is in the schema because the deployed schema has it. It is being withdrawn, so it is never accepted on write.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub enum ExternalRefKind {
    /// A public key of another chain.
    Cis8(ExternalKeyId),
    /// A name of another system.
    Cis10(ExternalIdentifier),
}

/// CIS-8 ExternalKeyId: which key on which chain.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct ExternalKeyId {
    /// The chain, in the manner of CAIP-2.
    pub namespace: String,
    /// How `public_key` is encoded, for example `ed25519`.
    pub key_type: String,
    /// The key itself.
    pub public_key: Vec<u8>,
}

/// CIS-10 identifier: which name in which system.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct ExternalIdentifier {
    /// The system.
    pub namespace: String,
    /// How `identifier` is encoded.
    pub identifier_type: String,
    /// The name itself.
    pub identifier: Vec<u8>,
}

/// One piece of data about an agent that contracts can read: 4-byte lengths before key and value.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct MetadataEntry {
    /// UTF-8.
    pub key: String,
    /// Any bytes.
    pub value: Vec<u8>,
}

impl MetadataEntry {
    /// # Errors
    /// [`RegistryError::ReservedKey`] for the wallet's key, [`RegistryError::InvalidMetadata`] for an empty or long key
    /// or a long value.
    pub fn check(&self) -> Result<(), RegistryError> {
        ensure!(self.key != RESERVED_METADATA_KEY, RegistryError::ReservedKey);
        ensure!(!self.key.is_empty(), RegistryError::InvalidMetadata);
        ensure!(self.key.len() <= MAX_METADATA_KEY_BYTES, RegistryError::InvalidMetadata);
        ensure!(self.value.len() <= MAX_METADATA_VALUE_BYTES, RegistryError::InvalidMetadata);
        Ok(())
    }
}

impl AgentRecord {
    /// Replaces the value of a key, or appends the entry when the key is new. Keys are unique in a record.
    ///
    /// # Errors
    /// Those of [`MetadataEntry::check`], and [`RegistryError::InvalidMetadata`] when the record is full.
    pub fn put_metadata(&mut self, entry: MetadataEntry) -> Result<(), RegistryError> {
        entry.check()?;
        if let Some(old) = self.on_chain_metadata.iter_mut().find(|old| old.key == entry.key) {
            old.value = entry.value;
            return Ok(());
        }
        ensure!(self.on_chain_metadata.len() < MAX_METADATA_ENTRIES, RegistryError::InvalidMetadata);
        self.on_chain_metadata.push(entry);
        Ok(())
    }
}

/// # Errors
/// [`RegistryError::InvalidMetadata`] when there is a URI of more than [`MAX_URI_BYTES`].
pub fn check_uri(uri: &Option<String>) -> Result<(), RegistryError> {
    let bytes = uri.as_ref().map_or(0, String::len);
    ensure!(bytes <= MAX_URI_BYTES, RegistryError::InvalidMetadata);
    Ok(())
}

/// Whether two addresses are the same account.
///
/// The first 29 of the 32 bytes identify an account; the last three count its aliases. The host gives the sender in
/// canonical form, but addresses in parameters come as the caller wrote them.
pub fn same_account(a: &AccountAddress, b: &AccountAddress) -> bool {
    account_key(a) == account_key(b)
}

/// The 29 bytes that all aliases of an account share.
pub fn account_key(address: &AccountAddress) -> [u8; 29] {
    let mut key = [0u8; 29];
    key.copy_from_slice(&address.0[..29]);
    key
}
