use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, TokenId};
use crate::registry::wire::wire_struct;
use crate::registry::{ExternalReference, MetadataEntry, Timestamp};

use super::{parameter, wire_newtype, AccountSignatures};

/// `register`: a new agent, owned by the sender. Its token id is in the `Registered` event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Register {
    /// Where the card is hosted, at most 4096 bytes.
    pub agent_uri: Option<String>,
    /// The SHA-256 of the card's raw bytes.
    pub metadata_hash: Option<Sha256Digest>,
    /// A key of another chain, which must already be registered by the sender.
    pub external_reference: Option<ExternalReference>,
    /// Keys and values to store with the agent.
    pub initial_metadata: Vec<MetadataEntry>,
}

/// `setAgentURI`: a new URI and hash. An absent value **clears** the stored one, URI and hash alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAgentUri {
    /// The agent.
    pub token_id: TokenId,
    /// The new URI, or `None` to clear it.
    pub agent_uri: Option<String>,
    /// The new hash, or `None` to clear it.
    pub metadata_hash: Option<Sha256Digest>,
}

/// `setExternalReference`: a new binding, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetExternalReference {
    /// The agent.
    pub token_id: TokenId,
    /// The new binding, or `None` to clear it.
    pub external_reference: Option<ExternalReference>,
}

/// `setMetadata`: the value of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetMetadata {
    /// The agent.
    pub token_id: TokenId,
    /// The key. `agentWallet` is reserved.
    pub key: String,
    /// The value's bytes.
    pub value: Vec<u8>,
}

/// `getMetadata`: asks for the value of one key. Answered by an optional byte list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetMetadata {
    /// The agent.
    pub token_id: TokenId,
    /// The key.
    pub key: String,
}

/// `revoke`: ends an agent. The owner's alone, and for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// The agent.
    pub token_id: TokenId,
    /// Why, for everyone to read.
    pub reason: Option<String>,
}

/// `setAgentWallet`: the account that receives payments, which signs that it agrees
/// (see [`super::set_agent_wallet_message`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAgentWallet {
    /// The agent.
    pub token_id: TokenId,
    /// The wallet.
    pub new_wallet: AccountAddress,
    /// Until when the wallet's signature holds.
    pub deadline: Timestamp,
    /// The wallet's signatures over the message.
    pub signatures: AccountSignatures,
}

/// `agentOf`: asks for the record of a token (see [`crate::registry::decode_agent_of`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentOf(pub TokenId);

/// `agentByExternalReference`: asks for the **record** of the agent bound to a reference; it does not answer with a token id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentByExternalReference(pub ExternalReference);

/// `getAgentWallet`: asks for the wallet. Answered by an optional account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetAgentWallet(pub TokenId);

/// `getAgentWalletNonce`: asks for the number that the next wallet signature must contain. Answered by a u64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetAgentWalletNonce(pub TokenId);

wire_struct!(Register {
    agent_uri: Option<String>,
    metadata_hash: Option<Sha256Digest>,
    external_reference: Option<ExternalReference>,
    initial_metadata: Vec<MetadataEntry>,
});
wire_struct!(SetAgentUri { token_id: TokenId, agent_uri: Option<String>, metadata_hash: Option<Sha256Digest> });
wire_struct!(SetExternalReference { token_id: TokenId, external_reference: Option<ExternalReference> });
wire_struct!(SetMetadata { token_id: TokenId, key: String, value: Vec<u8> });
wire_struct!(GetMetadata { token_id: TokenId, key: String });
wire_struct!(Revoke { token_id: TokenId, reason: Option<String> });
wire_struct!(SetAgentWallet {
    token_id: TokenId,
    new_wallet: AccountAddress,
    deadline: Timestamp,
    signatures: AccountSignatures,
});
wire_newtype!(AgentOf(TokenId));
wire_newtype!(AgentByExternalReference(ExternalReference));
wire_newtype!(GetAgentWallet(TokenId));
wire_newtype!(GetAgentWalletNonce(TokenId));

parameter!(
    Register,
    SetAgentUri,
    SetExternalReference,
    SetMetadata,
    GetMetadata,
    Revoke,
    SetAgentWallet,
    AgentOf,
    AgentByExternalReference,
    GetAgentWallet,
    GetAgentWalletNonce,
);
