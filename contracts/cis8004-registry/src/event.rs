//! What the registry logs.

use concordium_cis2::{OperatorUpdate, TokenAmountU64};
use concordium_std::*;

use crate::record::{AgentTokenId, ExternalReference, MetadataHash};

/// Most bytes that the chain takes in one event.
const MAX_EVENT_BYTES: usize = 512;

/// Every event: one tag byte, then the fields in order.
///
/// 240 to 245 are CIS-8004's. The deployed contract ends 240 and 241 in the block time (8 bytes, milliseconds), which
/// the proposal does not have; 242 to 245 follow the proposal, because nothing else is known about them. 251 to 255
/// are CIS-2's. CIS-2 Burn (253) is never logged: a revoked agent keeps its owner.
#[derive(Debug, Serial, SchemaType)]
#[concordium(repr(u8))]
pub enum RegistryEvent {
    /// A new agent. Log index 1 of its transaction, after Mint.
    #[concordium(tag = 240)]
    Registered {
        token_id: AgentTokenId,
        owner: AccountAddress,
        agent_uri: Option<String>,
        metadata_hash: Option<MetadataHash>,
        external_reference: Option<ExternalReference>,
        time: Timestamp,
    },
    /// URI and hash were replaced, by nothing where absent.
    #[concordium(tag = 241)]
    URIUpdated { token_id: AgentTokenId, agent_uri: Option<String>, metadata_hash: Option<MetadataHash>, time: Timestamp },
    /// The reference was set, or cleared by its owner, a transfer or a revocation.
    #[concordium(tag = 242)]
    ExternalReferenceSet { token_id: AgentTokenId, external_reference: Option<ExternalReference> },
    /// One metadata value was set.
    #[concordium(tag = 243)]
    MetadataSet { token_id: AgentTokenId, key: String, value: Vec<u8> },
    /// The agent was withdrawn.
    #[concordium(tag = 244)]
    Revoked { token_id: AgentTokenId, owner: AccountAddress, reason: Option<String> },
    /// The wallet was set, or cleared by a transfer.
    #[concordium(tag = 245)]
    AgentWalletSet { token_id: AgentTokenId, new_wallet: Option<AccountAddress> },
    /// CIS-2: where wallets find something to show for the token. The URI is empty when the agent has none.
    #[concordium(tag = 251)]
    TokenMetadata { token_id: AgentTokenId, metadata_url: MetadataUrl },
    /// CIS-2: an account may now act, or no longer act, for an owner.
    #[concordium(tag = 252)]
    UpdateOperator { update: OperatorUpdate, owner: Address, operator: Address },
    /// CIS-2: the token of a new agent. Log index 0 of its transaction.
    #[concordium(tag = 254)]
    Mint { token_id: AgentTokenId, amount: TokenAmountU64, owner: Address },
    /// CIS-2: a change of owner.
    #[concordium(tag = 255)]
    Transfer { token_id: AgentTokenId, amount: TokenAmountU64, from: Address, to: Address },
}

impl RegistryEvent {
    /// Writes the event to the log, without its URI when the event would be too large with it.
    ///
    /// URIs may have 4096 bytes, the chain's events 512. What the deployed contract does between the two is unknown. Here
    /// the agent and its URI are kept and the event says less: Registered and URIUpdated have no URI then, TokenMetadata,
    /// which would be empty, is left out. An event is a reason to look, the record is what to look at. A shortened URI
    /// would be worse than none, because it could be taken for one.
    ///
    /// # Errors
    /// [`LogError::Malformed`] when the event is too large all the same, [`LogError::Full`].
    pub fn log(mut self, logger: &mut Logger) -> Result<(), LogError> {
        let mut bytes = to_bytes(&self);
        if bytes.len() > MAX_EVENT_BYTES {
            match &mut self {
                RegistryEvent::Registered { agent_uri, .. } | RegistryEvent::URIUpdated { agent_uri, .. } => *agent_uri = None,
                RegistryEvent::TokenMetadata { .. } => return Ok(()),
                _ => {}
            }
            bytes = to_bytes(&self);
        }
        logger.log_raw(&bytes)
    }
}
