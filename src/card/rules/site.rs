use std::collections::HashSet;

use crate::card::dialect::badge_extensions;
use crate::card::{Dialect, Kind, Node};
use crate::identity::{AccountAddress, Badge, Caip10, Caip19, Caip2, ContractAddress, TokenId};

/// A value of a card and what it is there for.
pub(super) struct Site<'d, 'a> {
    pub(super) node: &'d Node<'a>,
    pub(super) role: Role,
}

/// What a value is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// An absolute URI.
    Uri,
    /// An absolute URI that a person follows.
    Page,
    /// An absolute URI that is shown as a picture.
    Picture,
    /// An address of any kind, and judged as a URI when it starts like one.
    Endpoint,
    /// A text that may be anything, and is judged as a URI when it looks like one and no sentence.
    Link,
    /// The CAIP-2 identifier of the network.
    Chain,
    /// The CAIP-19 identifier of the token.
    Caip19,
    /// The token address alone.
    Badge,
    /// The owner's address alone.
    Owner,
    /// The owner as a CAIP-10 identifier.
    OwnerCaip10,
    /// A contract as `index,subindex`.
    Contract(Which),
    /// A contract as a CAIP-10 identifier.
    ContractCaip10(Which),
    /// A contract as an object of index and subindex.
    ContractObject(Which),
    /// The contract of an external reference, which may be any one, in any of its forms.
    Reference,
    /// The CAIP-10 identifier of a registry on any chain.
    AnyRegistry,
    /// An entry of `registrations`: an id and the registry it is one of.
    Registration,
    /// An Ethereum address.
    Ethereum,
    /// A hexadecimal colour.
    Colour,
}

impl Role {
    /// Whether an absolute URI belongs in the place.
    pub(super) fn is_uri(self) -> bool {
        matches!(self, Self::Uri | Self::Page | Self::Picture)
    }

    /// Whether a URI belongs in the place, or may stand there.
    pub(super) fn is_address(self) -> bool {
        self.is_uri() || matches!(self, Self::Endpoint | Self::Link)
    }
}

/// Which of the two Concordium contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Which {
    /// The CIS-8004 Agent Registry.
    Cis8004,
    /// The CIS-8 External Key Registry.
    Cis8,
}

use Role::{
    AnyRegistry, Chain, Colour, Contract, ContractCaip10, ContractObject, Endpoint, Ethereum, Link, Owner, OwnerCaip10, Page,
    Picture, Uri,
};
use Which::{Cis8, Cis8004};

/// Where each dialect keeps what (card facts); `*` stands for every element or value.
fn table(dialect: Dialect) -> &'static [(&'static str, Role)] {
    match dialect {
        Dialect::Erc8004 => &[
            ("image", Picture),
            ("services/*/endpoint", Endpoint),
            // The name that `services` had in earlier revisions of ERC-8004.
            ("endpoints/*/endpoint", Endpoint),
            ("externalReference/contract_address", Role::Reference),
            ("registrations/*/agentRegistry", AnyRegistry),
            ("registrations/*", Role::Registration),
        ],
        Dialect::A2a1 => {
            &[("supportedInterfaces/*/url", Uri), ("provider/url", Page), ("documentationUrl", Page), ("iconUrl", Picture)]
        }
        Dialect::A2a0 => &[
            ("url", Uri),
            ("additionalInterfaces/*/url", Uri),
            ("provider/url", Page),
            ("documentationUrl", Page),
            ("iconUrl", Picture),
        ],
        Dialect::ConcordiumLegacy => &[
            ("url", Uri),
            ("provider/url", Page),
            ("documentationUrl", Page),
            ("concordium/chain_id", Chain),
            ("concordium/token_address", Role::Badge),
            ("concordium/cis8004_contract", ContractObject(Cis8004)),
            ("concordium/cis8_contract", ContractObject(Cis8)),
            ("concordium/owner", Owner),
            ("concordium/services/*", Endpoint),
        ],
        Dialect::ConcordiumBadge2026 => &[
            ("concordium/tokenAddress", Role::Caip19),
            ("concordium/tokenAddressBase58", Role::Badge),
            ("concordium/chain", Chain),
            ("concordium/owner/account", Owner),
            ("concordium/owner/caip10", OwnerCaip10),
            ("concordium/contracts/cis8004", Contract(Cis8004)),
            ("concordium/contracts/cis8", Contract(Cis8)),
            ("concordium/verify", Link),
            ("concordium/verification/*", Endpoint),
        ],
        // Within each entry of the extension.
        Dialect::ConcordiumBadgeV1 => &[
            ("params/tokenAddress", Role::Caip19),
            ("params/owner/account", OwnerCaip10),
            ("params/contracts/cis8004", ContractCaip10(Cis8004)),
            ("params/contracts/cis8", ContractCaip10(Cis8)),
            ("params/verify", Link),
            ("params/verification/*", Endpoint),
        ],
        Dialect::SocietyAi => &[
            ("url", Uri),
            ("provider/url", Page),
            ("metadata/display/avatar_url", Picture),
            ("metadata/display/cover_image_url", Picture),
            ("metadata/theme/primary_color", Colour),
            ("metadata/theme/background_color", Colour),
            ("metadata/theme/secondary_color", Colour),
            ("metadata/crypto_wallet/address", Ethereum),
            ("skills/*/pricing/token/address", Ethereum),
        ],
        Dialect::Uumit => &[("url", Uri), ("uuagent_extensions/interop/*", Endpoint)],
    }
}

/// Every site of a card, once for each role it plays.
pub(super) fn find<'d, 'a>(root: &'d Node<'a>, dialects: &[Dialect]) -> Vec<Site<'d, 'a>> {
    let mut nodes = Vec::new();
    for dialect in dialects {
        let from: Vec<&Node<'a>> = match dialect {
            Dialect::ConcordiumBadgeV1 => badge_extensions(root).collect(),
            _ => vec![root],
        };
        for (pattern, role) in table(*dialect) {
            for start in &from {
                walk(start, pattern, *role, &mut nodes);
            }
        }
    }
    let mut seen = HashSet::new();
    nodes.retain(|site| seen.insert((site.node.span.start, site.role)));
    nodes
}

fn walk<'d, 'a>(node: &'d Node<'a>, pattern: &str, role: Role, sites: &mut Vec<Site<'d, 'a>>) {
    let (first, rest) = pattern.split_once('/').unwrap_or((pattern, ""));
    if pattern.is_empty() {
        // A value of another type is the schema's finding.
        if matches!(node.kind, Kind::String(_) | Kind::Object(_)) {
            sites.push(Site { node, role });
        }
    } else if first != "*" {
        if let Some(child) = node.get(first) {
            let role = if role == Uri && rest.is_empty() && is_grpc(node) { Endpoint } else { role };
            walk(child, rest, role, sites);
        }
    } else if let Some(items) = node.as_array() {
        items.iter().for_each(|item| walk(item, rest, role, sites));
    } else if let Some(members) = node.as_object() {
        members.iter().for_each(|member| walk(&member.value, rest, role, sites));
    }
}

/// Whether an interface speaks gRPC, whose addresses are often only `host:port`.
fn is_grpc(interface: &Node<'_>) -> bool {
    ["protocolBinding", "transport", "preferredTransport"]
        .iter()
        .any(|key| interface.get(key).and_then(Node::as_str).is_some_and(|text| text.eq_ignore_ascii_case("grpc")))
}

/// What the card claims about the agent's identity on Concordium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    Token(Badge),
    Contract(Which, ContractAddress),
    Chain(Caip2),
    Owner(AccountAddress),
}

impl Site<'_, '_> {
    /// The token that an entry of `registrations` names in a Concordium registry.
    pub(super) fn registration(&self) -> Option<(Caip2, Badge)> {
        let token_id = TokenId(self.node.get("agentId")?.as_u64()?);
        match self.node.get("agentRegistry")?.as_str()?.parse() {
            Ok(Caip10::Contract(chain, contract)) => Some((chain, Badge { contract, token_id })),
            _ => None,
        }
    }

    /// Whether an entry of `registrations` is one in a Concordium registry.
    pub(super) fn is_on_concordium(&self) -> bool {
        let registry = self.node.get("agentRegistry").and_then(Node::as_str);
        registry.is_some_and(|text| matches!(text.parse(), Ok(Caip10::Contract(..))))
    }

    /// What can be read out of the value; nothing when it is malformed, which is another rule's finding.
    pub(super) fn claims(&self) -> Vec<Claim> {
        if let ContractObject(which) = self.role {
            let part = |key| self.node.get(key).and_then(Node::as_u64);
            let contract = part("index").zip(part("subindex")).map(|(index, subindex)| ContractAddress::new(index, subindex));
            return contract.map(|contract| Claim::Contract(which, contract)).into_iter().collect();
        }
        let Some(text) = self.node.as_str() else {
            return Vec::new();
        };
        let caip10 = || text.parse::<Caip10>().ok();
        match self.role {
            Chain => text.parse().map(Claim::Chain).into_iter().collect(),
            Role::Badge => text.parse().map(Claim::Token).into_iter().collect(),
            Owner => text.parse().map(Claim::Owner).into_iter().collect(),
            Contract(which) => text.parse().map(|contract| Claim::Contract(which, contract)).into_iter().collect(),
            Role::Caip19 => match text.parse::<Caip19>() {
                Ok(token) => vec![Claim::Chain(token.chain), Claim::Token(token.badge)],
                Err(_) => Vec::new(),
            },
            OwnerCaip10 => match caip10() {
                Some(Caip10::Account(chain, owner)) => vec![Claim::Chain(chain), Claim::Owner(owner)],
                _ => Vec::new(),
            },
            ContractCaip10(which) => match caip10() {
                Some(Caip10::Contract(chain, contract)) => vec![Claim::Chain(chain), Claim::Contract(which, contract)],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Token(badge) => write!(f, "the token {} of {}", badge.token_id, badge.contract),
            Self::Contract(Cis8004, contract) => write!(f, "the CIS-8004 registry {contract}"),
            Self::Contract(Cis8, contract) => write!(f, "the CIS-8 registry {contract}"),
            Self::Chain(chain) => write!(f, "the network {chain}"),
            Self::Owner(owner) => write!(f, "the owner {owner}"),
        }
    }
}
