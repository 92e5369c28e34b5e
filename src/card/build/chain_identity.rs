use crate::identity::{AccountAddress, Badge, Caip10, Caip19, Caip2, ContractAddress, Network, TokenId, MAINNET};
use crate::registry::AgentRecord;

/// Where an agent stands on chain: what a card says about it, and what is injected into a built one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainIdentity {
    /// The chain.
    pub chain: Caip2,
    /// The CIS-8004 Agent Registry.
    pub registry: ContractAddress,
    /// The CIS-8 External Key Registry.
    pub cis8: ContractAddress,
    /// The agent's token; `None` before the agent is registered.
    pub token_id: Option<TokenId>,
    /// The account that owns the token.
    pub owner: Option<AccountAddress>,
}

impl ChainIdentity {
    /// The identity of an agent that is yet to be registered in a network's registry.
    pub fn unregistered(network: &Network) -> Self {
        Self { chain: network.caip2(), registry: network.registry, cis8: network.cis8, token_id: None, owner: None }
    }

    /// The identity that a record shows; the record was read from the network's registry.
    pub fn of_record(network: &Network, record: &AgentRecord) -> Self {
        Self { token_id: Some(record.token_id), owner: Some(record.owner_account), ..Self::unregistered(network) }
    }

    /// The token's address, when there is a token.
    pub fn badge(&self) -> Option<Badge> {
        self.token_id.map(|token_id| Badge { contract: self.registry, token_id })
    }

    /// The token's CAIP-19 identifier, when there is a token.
    pub fn caip19(&self) -> Option<Caip19> {
        self.badge().map(|badge| Caip19 { chain: self.chain, badge })
    }

    /// The registry's CAIP-10 identifier.
    pub fn registry_caip10(&self) -> Caip10 {
        Caip10::Contract(self.chain, self.registry)
    }

    /// The CIS-8 registry's CAIP-10 identifier.
    pub fn cis8_caip10(&self) -> Caip10 {
        Caip10::Contract(self.chain, self.cis8)
    }

    /// The owner's CAIP-10 identifier, when the owner is known.
    pub fn owner_caip10(&self) -> Option<Caip10> {
        self.owner.map(|owner| Caip10::Account(self.chain, owner))
    }

    /// The name of the network, when it is one of the built-in ones.
    pub fn network_name(&self) -> Option<&'static str> {
        Network::built_in_names().find(|name| Network::built_in(name).is_some_and(|network| network.caip2() == self.chain))
    }

    /// Whether the agent is registered in the registry that Concordium operates on the main network.
    pub(super) fn is_official(&self) -> bool {
        self.chain == Caip2::of(&MAINNET.genesis) && self.registry == MAINNET.registry
    }
}
