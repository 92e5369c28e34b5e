//! Finding where an agent stands on chain in what its card says.

use serde_json::Value;

use crate::card::build::{Aspect, ChainIdentity, Profile, Registration};
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

/// Reads the text at a pointer as a `T` and counts it as understood when it is one.
fn parsed<T: std::str::FromStr>(reader: &mut Reader<'_>, aspect: Aspect, pointer: &str) -> Option<T> {
    let value = reader.peek_text(pointer)?.parse().ok()?;
    reader.understand(Some(aspect), pointer);
    Some(value)
}

/// The badge extension, version 1.
fn extension(reader: &mut Reader<'_>, profile: &mut Profile) -> Option<ChainIdentity> {
    let at = (0..reader.len("/capabilities/extensions"))
        .map(|n| format!("/capabilities/extensions/{n}"))
        .find(|at| reader.peek_text(&format!("{at}/uri")) == Some(Dialect::BADGE_V1_URI))?;
    for mark in ["uri", "description", "required", "params/verify"] {
        reader.mark(&format!("{at}/{mark}"));
    }
    let token: Caip19 = parsed(reader, Aspect::Identity, &format!("{at}/params/tokenAddress"))?;
    let _: Option<Caip10> = parsed(reader, Aspect::Identity, &format!("{at}/params/contracts/cis8004"));
    let cis8 = match parsed(reader, Aspect::Identity, &format!("{at}/params/contracts/cis8")) {
        Some(Caip10::Contract(_, contract)) => Some(contract),
        _ => None,
    };
    let owner = match parsed(reader, Aspect::Owner, &format!("{at}/params/owner/account")) {
        Some(Caip10::Account(_, account)) => Some(account),
        _ => None,
    };
    profile.verification = verification(reader, &format!("{at}/params/verification"));
    Some(new(token, cis8, owner))
}

/// The `concordium` object in camel case, of July 2026.
fn camel(reader: &mut Reader<'_>, profile: &mut Profile) -> Option<ChainIdentity> {
    let token: Caip19 = parsed(reader, Aspect::Identity, "/concordium/tokenAddress")?;
    let _: Option<Badge> = parsed(reader, Aspect::Identity, "/concordium/tokenAddressBase58");
    let _: Option<Caip2> = parsed(reader, Aspect::Identity, "/concordium/chain");
    let _: Option<ContractAddress> = parsed(reader, Aspect::Identity, "/concordium/contracts/cis8004");
    let cis8 = parsed(reader, Aspect::Identity, "/concordium/contracts/cis8");
    let owner = parsed(reader, Aspect::Owner, "/concordium/owner/account");
    let _: Option<Caip10> = parsed(reader, Aspect::Owner, "/concordium/owner/caip10");
    reader.mark("/concordium/verify");
    profile.verification = verification(reader, "/concordium/verification");
    Some(new(token, cis8, owner))
}

/// The `concordium` object in snake case.
fn snake(reader: &mut Reader<'_>) -> Option<ChainIdentity> {
    let chain: Caip2 = parsed(reader, Aspect::Identity, "/concordium/chain_id")?;
    let badge: Option<Badge> = parsed(reader, Aspect::Identity, "/concordium/token_address");
    let registry = contract(reader, "/concordium/cis8004_contract");
    let cis8 = contract(reader, "/concordium/cis8_contract");
    let owner = parsed(reader, Aspect::Owner, "/concordium/owner");
    match badge {
        Some(badge) => Some(new(Caip19 { chain, badge }, cis8, owner)),
        None => {
            let registry = registry?;
            let cis8 = cis8.unwrap_or_else(|| usual_cis8(chain, registry));
            Some(ChainIdentity { chain, registry, cis8, token_id: None, owner })
        }
    }
}

/// `{"index": 10082, "subindex": 0}`.
fn contract(reader: &mut Reader<'_>, at: &str) -> Option<ContractAddress> {
    let value = reader.peek(at)?;
    let contract = ContractAddress::new(value.get("index")?.as_u64()?, value.get("subindex")?.as_u64()?);
    reader.understand(Some(Aspect::Identity), at);
    Some(contract)
}

/// ERC-8004's registrations: the one of the identity, which it may tell alone, and those elsewhere.
fn registrations(reader: &mut Reader<'_>, profile: &mut Profile, mut found: Option<ChainIdentity>) -> Option<ChainIdentity> {
    for n in 0..reader.len("/registrations") {
        let at = format!("/registrations/{n}");
        let id = reader.peek(&format!("{at}/agentId")).and_then(Value::as_u64);
        let (Some(agent_id), Some(registry)) = (id, reader.peek_text(&format!("{at}/agentRegistry"))) else { continue };
        let here = match registry.parse() {
            Ok(Caip10::Contract(chain, contract)) => {
                Some(Caip19 { chain, badge: Badge { contract, token_id: TokenId(agent_id) } })
            }
            _ => None,
        };
        let aspect = match (here, found) {
            (Some(token), Some(known)) if known.caip19() == Some(token) => Aspect::Identity,
            (Some(token), None) => {
                found = Some(new(token, None, None));
                Aspect::Identity
            }
            _ => {
                profile.registrations.push(Registration { agent_id, agent_registry: registry.to_owned() });
                Aspect::Registrations
            }
        };
        reader.understand(Some(aspect), format!("{at}/agentId"));
        reader.understand(Some(aspect), format!("{at}/agentRegistry"));
    }
    found
}
