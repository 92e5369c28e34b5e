use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, ContractAddress, TokenId};

use super::Timestamp;

/// What the registry holds about one agent (registry facts, section 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRecord {
    /// The agent's token.
    pub token_id: TokenId,
    /// The account that owns the token.
    pub owner_account: AccountAddress,
    /// Where the card is hosted. At most 4096 bytes; may be any text.
    pub agent_uri: Option<String>,
    /// The SHA-256 of the card's raw bytes.
    pub metadata_hash: Option<Sha256Digest>,
    /// A key of another chain that the agent is bound to.
    pub external_reference: Option<ExternalReference>,
    /// The account that receives payments for the agent.
    pub agent_wallet: Option<AccountAddress>,
    /// Whether the agent is active.
    pub status: AgentStatus,
    /// When it was registered.
    pub registered_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Why it was revoked.
    pub revocation_reason: Option<String>,
    /// Key and value pairs stored with the agent.
    pub on_chain_metadata: Vec<MetadataEntry>,
}

/// Whether an agent is active. On the wire: 0 active, 1 revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentStatus {
    /// In force.
    Active,
    /// Revoked by its owner.
    Revoked,
}

impl AgentStatus {
    /// `active` or `revoked`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Revoked => "revoked",
        }
    }
}

/// A binding of an agent to a key or an identifier in another registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalReference {
    /// The registry that holds the key.
    pub contract_address: ContractAddress,
    /// What is referred to.
    pub kind: ReferenceKind,
}

/// What an [`ExternalReference`] refers to. On the wire: 0 for CIS-8, 1 for CIS-10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A key in a CIS-8 External Key Registry.
    Cis8 {
        /// For example `solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1`.
        namespace: String,
        /// For example `ed25519`.
        key_type: String,
        /// The key's bytes.
        public_key: Vec<u8>,
    },
    /// An identifier in a CIS-10 registry. Being withdrawn: read, never written.
    Cis10 {
        /// The identifier's namespace.
        namespace: String,
        /// The identifier's type.
        identifier_type: String,
        /// The identifier's bytes.
        identifier: Vec<u8>,
    },
}

/// One key and value stored with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataEntry {
    /// The key. `agentWallet` is reserved.
    pub key: String,
    /// The value's bytes.
    pub value: Vec<u8>,
}
