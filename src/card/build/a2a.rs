use serde::Serialize;

use super::chain_identity::ChainIdentity;
use super::concordium::BadgeExtension;
use super::parts::{modes, CapabilitiesPart, ProviderPart, SecurityPart, SkillPart};
use super::profile::{Interface, Profile};
use super::{required, version, BuildError, Format};

/// What an A2A card needs beside its name and description.
pub(super) const NEEDS_INTERFACE: &str = "the URL where the agent is reached (--url, or [[interfaces]] in the input)";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InterfacePart<'a> {
    url: &'a str,
    protocol_binding: &'a str,
    protocol_version: &'a str,
}

impl<'a> From<&'a Interface> for InterfacePart<'a> {
    fn from(interface: &'a Interface) -> Self {
        Self { url: &interface.url, protocol_binding: &interface.binding, protocol_version: &interface.version }
    }
}

/// The interfaces, of which there must be one.
pub(super) fn interfaces(profile: &Profile, format: Format) -> Result<Vec<InterfacePart<'_>>, BuildError> {
    match profile.interfaces.as_slice() {
        [] => Err(BuildError::Missing { format: format.as_str(), field: NEEDS_INTERFACE }),
        some => Ok(some.iter().map(InterfacePart::from).collect()),
    }
}

/// An A2A 1.0 card.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Current<'a> {
    name: &'a str,
    description: &'a str,
    supported_interfaces: Vec<InterfacePart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ProviderPart<'a>>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    capabilities: CapabilitiesPart<'a>,
    #[serde(flatten)]
    security: SecurityPart<'a>,
    default_input_modes: Vec<&'a str>,
    default_output_modes: Vec<&'a str>,
    skills: Vec<SkillPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
}

pub(super) fn current<'a>(
    profile: &'a Profile,
    identity: Option<&ChainIdentity>,
    notes: &mut Vec<String>,
) -> Result<Current<'a>, BuildError> {
    let format = Format::A2a;
    Ok(Current {
        name: required(&profile.name, format, "a name")?,
        description: required(&profile.description, format, "a description")?,
        supported_interfaces: interfaces(profile, format)?,
        provider: profile.provider.as_ref().map(ProviderPart::from),
        version: version(profile, notes),
        documentation_url: profile.documentation_url.as_deref(),
        capabilities: CapabilitiesPart::current(profile, BadgeExtension::of(profile, identity, notes)),
        security: SecurityPart::current(profile),
        default_input_modes: modes(&profile.input_modes, "text/plain"),
        default_output_modes: modes(&profile.output_modes, "text/plain"),
        skills: profile.skills.iter().map(SkillPart::current).collect(),
        icon_url: profile.image.as_deref(),
    })
}

/// An A2A 0.3 card.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Older<'a> {
    protocol_version: &'static str,
    name: &'a str,
    description: &'a str,
    url: &'a str,
    preferred_transport: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    additional_interfaces: Vec<Additional<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ProviderPart<'a>>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    capabilities: CapabilitiesPart<'a>,
    #[serde(flatten)]
    security: SecurityPart<'a>,
    default_input_modes: Vec<&'a str>,
    default_output_modes: Vec<&'a str>,
    skills: Vec<SkillPart<'a>>,
}

#[derive(Debug, Serialize)]
struct Additional<'a> {
    url: &'a str,
    transport: &'a str,
}

pub(super) fn older<'a>(profile: &'a Profile, notes: &mut Vec<String>) -> Result<Older<'a>, BuildError> {
    let format = Format::A2a0;
    let (first, rest) =
        profile.interfaces.split_first().ok_or(BuildError::Missing { format: format.as_str(), field: NEEDS_INTERFACE })?;
    Ok(Older {
        protocol_version: "0.3.0",
        name: required(&profile.name, format, "a name")?,
        description: required(&profile.description, format, "a description")?,
        url: &first.url,
        preferred_transport: &first.binding,
        additional_interfaces: rest.iter().map(|other| Additional { url: &other.url, transport: &other.binding }).collect(),
        icon_url: profile.image.as_deref(),
        provider: profile.provider.as_ref().map(ProviderPart::from),
        version: version(profile, notes),
        documentation_url: profile.documentation_url.as_deref(),
        capabilities: CapabilitiesPart::older(profile),
        security: SecurityPart::older(profile),
        default_input_modes: modes(&profile.input_modes, "text/plain"),
        default_output_modes: modes(&profile.output_modes, "text/plain"),
        skills: profile.skills.iter().map(SkillPart::older).collect(),
    })
}
