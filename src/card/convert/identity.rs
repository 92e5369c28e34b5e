//! Finding where an agent stands on chain in what its card says.

use serde_json::Value;

use crate::card::build::{Aspect, BadgeWords, ChainIdentity, Profile, Registration};
use crate::card::Dialect;
use crate::identity::{AccountAddress, Badge, Caip10, Caip19, Caip2, ContractAddress, Network, TokenId};

use super::read::verification;
use super::reader::Reader;

/// The identity, from the first of the places that tells it: the badge extension, either older object, a registration.
///
/// Registrations elsewhere are left in `profile`. What cannot be read (a placeholder, another chain) stays not understood.
pub(super) fn of(reader: &mut Reader<'_>, profile: &mut Profile) -> Option<ChainIdentity> {
    let found = extension(reader, profile).or_else(|| camel(reader, profile)).or_else(|| snake(reader));
    registrations(reader, profile, found)
}

/// A chain's CIS-8 registry when a card does not name it: the built-in network's, else the contract made just before.
fn usual_cis8(chain: Caip2, registry: ContractAddress) -> ContractAddress {
    let built_in = Network::built_in_names().filter_map(Network::built_in).find(|network| network.caip2() == chain);
    built_in.map_or(ContractAddress::new(registry.index.saturating_sub(1), 0), |network| network.cis8)
}

fn new(token: Caip19, cis8: Option<ContractAddress>, owner: Option<AccountAddress>) -> ChainIdentity {
    let registry = token.badge.contract;
    ChainIdentity {
        chain: token.chain,
        registry,
        cis8: cis8.unwrap_or_else(|| usual_cis8(token.chain, registry)),
        token_id: Some(token.badge.token_id),
        owner,
    }
}

/// What a value claims about the agent's place on chain, in words that are the same in every dialect.
trait Claims {
    fn claims(&self, which: Which) -> Vec<String>;
}

/// Which of the two contracts a contract's address names.
#[derive(Clone, Copy)]
enum Which {
    Registry,
    Cis8,
}

impl Claims for Caip2 {
    fn claims(&self, _: Which) -> Vec<String> {
        vec![format!("the chain is {self}")]
    }
}

impl Claims for ContractAddress {
    fn claims(&self, which: Which) -> Vec<String> {
        vec![match which {
            Which::Registry => format!("the registry is {self}"),
            Which::Cis8 => format!("the CIS-8 registry is {self}"),
        }]
    }
}

impl Claims for AccountAddress {
    fn claims(&self, _: Which) -> Vec<String> {
        vec![format!("the owner is {self}")]
    }
}

impl Claims for Badge {
    fn claims(&self, _: Which) -> Vec<String> {
        [self.contract.claims(Which::Registry), vec![format!("the token is {self}")]].concat()
    }
}

impl Claims for Caip19 {
    fn claims(&self, which: Which) -> Vec<String> {
        [self.chain.claims(which), self.badge.claims(which)].concat()
    }
}

impl Claims for Caip10 {
    fn claims(&self, which: Which) -> Vec<String> {
        match self {
            Self::Contract(chain, contract) => [chain.claims(which), contract.claims(which)].concat(),
            Self::Account(chain, account) => [chain.claims(which), account.claims(which)].concat(),
        }
    }
}

/// Reads the text at a pointer as a `T` and counts it as understood when it is one.
fn parsed<T: std::str::FromStr + Claims>(reader: &mut Reader<'_>, aspect: Aspect, which: Which, pointer: &str) -> Option<T> {
    let value: T = reader.peek_text(pointer)?.parse().ok()?;
    reader.understand_as(aspect, pointer, value.claims(which));
    Some(value)
}

/// The badge extension, version 1.
fn extension(reader: &mut Reader<'_>, profile: &mut Profile) -> Option<ChainIdentity> {
    use Aspect::{Identity, Owner};
    let at = (0..reader.len("/capabilities/extensions"))
        .map(|n| format!("/capabilities/extensions/{n}"))
        .find(|at| reader.peek_text(&format!("{at}/uri")) == Some(Dialect::BADGE_V1_URI))?;
    let token: Caip19 = parsed(reader, Identity, Which::Registry, &format!("{at}/params/tokenAddress"))?;
    reader.mark(&format!("{at}/uri"), Dialect::BADGE_V1_URI);
    profile.badge = BadgeWords {
        description: reader.text(Aspect::Verification, &format!("{at}/description")),
        required: reader.flag(Aspect::Verification, &format!("{at}/required")),
        verify: reader.text(Aspect::Verification, &format!("{at}/params/verify")),
    };
    let _: Option<Caip10> = parsed(reader, Identity, Which::Registry, &format!("{at}/params/contracts/cis8004"));
    let cis8 = match parsed(reader, Identity, Which::Cis8, &format!("{at}/params/contracts/cis8")) {
        Some(Caip10::Contract(_, contract)) => Some(contract),
        _ => None,
    };
    let owner = match parsed(reader, Owner, Which::Registry, &format!("{at}/params/owner/account")) {
        Some(Caip10::Account(_, account)) => Some(account),
        _ => None,
    };
    profile.verification = verification(reader, &format!("{at}/params/verification"));
    Some(new(token, cis8, owner))
}

/// The `concordium` object in camel case, of July 2026.
fn camel(reader: &mut Reader<'_>, profile: &mut Profile) -> Option<ChainIdentity> {
    use Aspect::{Identity, Owner};
    let token: Caip19 = parsed(reader, Identity, Which::Registry, "/concordium/tokenAddress")?;
    let _: Option<Badge> = parsed(reader, Identity, Which::Registry, "/concordium/tokenAddressBase58");
    let _: Option<Caip2> = parsed(reader, Identity, Which::Registry, "/concordium/chain");
    let _: Option<ContractAddress> = parsed(reader, Identity, Which::Registry, "/concordium/contracts/cis8004");
    let cis8 = parsed(reader, Identity, Which::Cis8, "/concordium/contracts/cis8");
    let owner = parsed(reader, Owner, Which::Registry, "/concordium/owner/account");
    let _: Option<Caip10> = parsed(reader, Owner, Which::Registry, "/concordium/owner/caip10");
    profile.badge.verify = reader.text(Aspect::Verification, "/concordium/verify");
    profile.verification = verification(reader, "/concordium/verification");
    Some(new(token, cis8, owner))
}

/// The `concordium` object in snake case.
fn snake(reader: &mut Reader<'_>) -> Option<ChainIdentity> {
    use Aspect::{Identity, Owner};
    let chain: Caip2 = parsed(reader, Identity, Which::Registry, "/concordium/chain_id")?;
    let badge: Option<Badge> = parsed(reader, Identity, Which::Registry, "/concordium/token_address");
    let registry = contract(reader, Which::Registry, "/concordium/cis8004_contract");
    let cis8 = contract(reader, Which::Cis8, "/concordium/cis8_contract");
    let owner = parsed(reader, Owner, Which::Registry, "/concordium/owner");
    match badge {
        Some(badge) => Some(new(Caip19 { chain, badge }, cis8, owner)),
        None => {
            let registry = registry?;
            let cis8 = cis8.unwrap_or_else(|| usual_cis8(chain, registry));
            Some(ChainIdentity { chain, registry, cis8, token_id: None, owner })
        }
    }
}

/// `{"index": 10082, "subindex": 0}`; whatever else stands in the object is not understood.
fn contract(reader: &mut Reader<'_>, which: Which, at: &str) -> Option<ContractAddress> {
    let value = reader.peek(at)?;
    let contract = ContractAddress::new(integer(value.get("index")?)?, integer(value.get("subindex")?)?);
    for part in ["index", "subindex"] {
        reader.understand_as(Aspect::Identity, format!("{at}/{part}"), contract.claims(which));
    }
    Some(contract)
}

/// The integer that a number is; `7.0` is 7. Doubles beyond 2^53 are no integers for sure.
fn integer(value: &Value) -> Option<u64> {
    let double = value.as_f64().filter(|double| double.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(double));
    value.as_u64().or(double.map(|double| double as u64))
}

/// ERC-8004's registrations: the one of the identity, which it may tell alone, and those elsewhere.
fn registrations(reader: &mut Reader<'_>, profile: &mut Profile, mut found: Option<ChainIdentity>) -> Option<ChainIdentity> {
    for n in 0..reader.len("/registrations") {
        let at = format!("/registrations/{n}");
        let id = reader.peek(&format!("{at}/agentId")).and_then(integer);
        let (Some(agent_id), Some(registry)) = (id, reader.peek_text(&format!("{at}/agentRegistry"))) else { continue };
        let here = match registry.parse() {
            Ok(Caip10::Contract(chain, contract)) => {
                Some(Caip19 { chain, badge: Badge { contract, token_id: TokenId(agent_id) } })
            }
            _ => None,
        };
        let is_own = match (here, found) {
            (Some(token), Some(known)) => known.caip19() == Some(token),
            (Some(token), None) => {
                found = Some(new(token, None, None));
                true
            }
            (None, _) => false,
        };
        if let Some(token) = here.filter(|_| is_own) {
            reader.understand_as(Aspect::Identity, format!("{at}/agentId"), token.claims(Which::Registry));
            reader.understand_as(Aspect::Identity, format!("{at}/agentRegistry"), token.claims(Which::Registry));
        } else {
            profile.registrations.push(Registration { agent_id, agent_registry: registry.to_owned() });
            reader.within(registry);
            reader.understand(Aspect::Registrations, format!("{at}/agentId"));
            reader.understand(Aspect::Registrations, format!("{at}/agentRegistry"));
            reader.within("");
        }
    }
    found
}
