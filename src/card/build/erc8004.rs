use serde::Serialize;

use crate::card::Dialect;

use super::a2a::{interfaces, InterfacePart};
use super::chain_identity::ChainIdentity;
use super::concordium::BadgeExtension;
use super::parts::{modes, CapabilitiesPart, ProviderPart, SecurityPart, SkillPart};
use super::profile::Profile;
use super::{required, version, BuildError, Format};

#[derive(Debug, Serialize)]
struct ServicePart<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
}

/// The services said and, unless an `A2A` one is among them, where A2A is spoken: for a card that is an A2A card too its own
/// place, when that is known; for a registration file alone the interfaces, for which it has no other place.
fn services(profile: &Profile, is_a2a: bool) -> Vec<ServicePart<'_>> {
    let said = profile.services.iter().map(|service| ServicePart {
        name: &service.name,
        endpoint: service.endpoint.as_deref(),
        version: service.version.as_deref(),
    });
    let has_a2a = profile.services.iter().any(|service| service.name.eq_ignore_ascii_case("A2A"));
    let a2a = |endpoint, version| ServicePart { name: "A2A", endpoint: Some(endpoint), version };
    let own = profile.card_url.as_deref().filter(|_| is_a2a && !has_a2a);
    let own = own.map(|url| a2a(url, profile.interfaces.first().map(|interface| interface.version.as_str())));
    let reached = profile.interfaces.iter().filter(|_| !is_a2a && !has_a2a);
    let reached = reached.map(|interface| a2a(&interface.url, Some(&interface.version)));
    own.into_iter().chain(reached).chain(said).collect()
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RegistrationPart {
    agent_id: u64,
    agent_registry: String,
}

/// The registration on chain, then those in other registries.
fn registrations(profile: &Profile, identity: Option<&ChainIdentity>) -> Vec<RegistrationPart> {
    let own = identity.and_then(|identity| {
        let agent_id = identity.token_id?.0;
        Some(RegistrationPart { agent_id, agent_registry: identity.registry_caip10().to_string() })
    });
    let others = profile
        .registrations
        .iter()
        .map(|other| RegistrationPart { agent_id: other.agent_id, agent_registry: other.agent_registry.clone() });
    own.into_iter().chain(others).collect()
}

/// ERC-8004, A2A 1.0 and the badge extension in one document, in the key order of the registry's documentation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Combined<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ProviderPart<'a>>,
    supported_interfaces: Vec<InterfacePart<'a>>,
    capabilities: CapabilitiesPart<'a>,
    #[serde(flatten)]
    security: SecurityPart<'a>,
    default_input_modes: Vec<&'a str>,
    default_output_modes: Vec<&'a str>,
    skills: Vec<SkillPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    services: Vec<ServicePart<'a>>,
    // ERC-8004 spells it so; `rename_all` agrees.
    x402_support: bool,
    active: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    registrations: Vec<RegistrationPart>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    supported_trust: &'a [String],
}

pub(super) fn combined<'a>(
    profile: &'a Profile,
    identity: Option<&ChainIdentity>,
    notes: &mut Vec<String>,
) -> Result<Combined<'a>, BuildError> {
    let format = Format::Combined;
    Ok(Combined {
        kind: Dialect::ERC8004_TYPE,
        name: required(&profile.name, format, "a name")?,
        description: required(&profile.description, format, "a description")?,
        image: profile.image.as_deref(),
        version: version(profile, notes),
        provider: profile.provider.as_ref().map(ProviderPart::from),
        supported_interfaces: interfaces(profile, format)?,
        capabilities: CapabilitiesPart::current(profile, BadgeExtension::of(profile, identity, notes)),
        security: SecurityPart::current(profile),
        default_input_modes: modes(&profile.input_modes, "text/plain"),
        default_output_modes: modes(&profile.output_modes, "text/plain"),
        skills: profile.skills.iter().map(SkillPart::current).collect(),
        documentation_url: profile.documentation_url.as_deref(),
        services: services(profile, true),
        x402_support: profile.x402_support.unwrap_or(false),
        active: profile.active.unwrap_or(true),
        registrations: registrations(profile, identity),
        supported_trust: &profile.supported_trust,
    })
}

/// An ERC-8004 registration file alone.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegistrationFile<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    services: Vec<ServicePart<'a>>,
    x402_support: bool,
    active: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    registrations: Vec<RegistrationPart>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    supported_trust: &'a [String],
}

pub(super) fn registration<'a>(
    profile: &'a Profile,
    identity: Option<&ChainIdentity>,
) -> Result<RegistrationFile<'a>, BuildError> {
    let format = Format::Erc8004;
    Ok(RegistrationFile {
        kind: Dialect::ERC8004_TYPE,
        name: required(&profile.name, format, "a name")?,
        description: &profile.description,
        image: profile.image.as_deref(),
        services: services(profile, false),
        x402_support: profile.x402_support.unwrap_or(false),
        active: profile.active.unwrap_or(true),
        registrations: registrations(profile, identity),
        supported_trust: &profile.supported_trust,
    })
}
