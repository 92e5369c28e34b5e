use std::collections::BTreeMap;

use serde::Serialize;

use crate::card::Dialect;

use super::chain_identity::ChainIdentity;
use super::parts::{ProviderPart, SkillPart};
use super::profile::{Profile, Verification};
use super::{required, version, BuildError, Format};

/// How to check a badge, as the extension's definition words it.
const HOW_TO_VERIFY: &str =
    "Resolve tokenAddress via CIS-8004 agent_of; confirm owner + status is Active + card SHA-256 equals metadata_hash.";
const BADGE_DESCRIPTION: &str = "Verified by Concordium badge — on-chain agent identity in a CIS-8004 registry";
const BADGE_DOCS: &str = "https://docs.concordium.com/en/mainnet/technical-reference/agent-registry/concordium-badge.html";

/// The badge, as an entry of `capabilities.extensions`.
#[derive(Debug, Serialize)]
pub(super) struct BadgeExtension<'a> {
    uri: &'static str,
    description: &'a str,
    required: bool,
    params: Params<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    token_address: String,
    owner: Owner,
    contracts: Contracts,
    verify: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<VerificationPart<'a>>,
}

#[derive(Debug, Serialize)]
struct Owner {
    account: String,
}

#[derive(Debug, Serialize)]
struct Contracts {
    cis8004: String,
    cis8: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VerificationPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    docs: Option<&'a str>,
}

impl<'a> VerificationPart<'a> {
    /// What the profile says; without that, for an agent of the official registry, the service that Concordium runs.
    fn of(profile: &'a Profile, identity: &ChainIdentity) -> Option<Self> {
        match &profile.verification {
            Some(said) if *said == Verification::default() => None,
            Some(said) => Some(Self {
                service: said.service.as_deref(),
                verify_url: said.verify_url.clone(),
                mcp: said.mcp.as_deref(),
                docs: said.docs.as_deref(),
            }),
            None => identity.is_official().then(|| identity.badge()).flatten().map(|badge| Self {
                service: Some("Concordium Agent Registry"),
                verify_url: Some(format!("https://agent-registry-mcp.concordium.com/v1/badge-check/{badge}")),
                mcp: Some("https://agent-registry-mcp.concordium.com/mcp"),
                docs: Some(BADGE_DOCS),
            }),
        }
    }
}

impl<'a> BadgeExtension<'a> {
    /// The badge of an agent whose token and owner are known.
    pub(super) fn of(profile: &'a Profile, identity: Option<&ChainIdentity>, notes: &mut Vec<String>) -> Option<Self> {
        let (Some(identity), Some(token), Some(owner)) =
            (identity, identity.and_then(ChainIdentity::caip19), identity.and_then(ChainIdentity::owner_caip10))
        else {
            notes.push(
                "the agent's token and owner are not known, so the card carries no badge; build it again with --agent <id> once it is registered"
                    .into(),
            );
            return None;
        };
        let words = &profile.badge;
        Some(Self {
            uri: Dialect::BADGE_V1_URI,
            description: words.description.as_deref().unwrap_or(BADGE_DESCRIPTION),
            required: words.required.unwrap_or(false),
            params: Params {
                token_address: token.to_string(),
                owner: Owner { account: owner.to_string() },
                contracts: Contracts {
                    cis8004: identity.registry_caip10().to_string(),
                    cis8: identity.cis8_caip10().to_string(),
                },
                verify: words.verify.as_deref().unwrap_or(HOW_TO_VERIFY),
                verification: VerificationPart::of(profile, identity),
            },
        })
    }
}

/// The older card with a top-level `concordium` object in snake case.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Legacy<'a> {
    name: &'a str,
    description: &'a str,
    version: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ProviderPart<'a>>,
    skills: Vec<SkillPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    concordium: LegacyBlock<'a>,
}

#[derive(Debug, Serialize)]
struct LegacyBlock<'a> {
    chain_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_address: Option<String>,
    cis8004_contract: LegacyContract,
    cis8_contract: LegacyContract,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    services: BTreeMap<&'a str, &'a str>,
}

#[derive(Debug, Serialize)]
struct LegacyContract {
    index: u64,
    subindex: u64,
}

impl From<crate::identity::ContractAddress> for LegacyContract {
    fn from(contract: crate::identity::ContractAddress) -> Self {
        Self { index: contract.index, subindex: contract.subindex }
    }
}

pub(super) fn legacy<'a>(
    profile: &'a Profile,
    identity: Option<&ChainIdentity>,
    notes: &mut Vec<String>,
) -> Result<Legacy<'a>, BuildError> {
    let format = Format::ConcordiumLegacy;
    let missing = |field| BuildError::Missing { format: format.as_str(), field };
    let identity = identity.ok_or(missing("the network and registry (--network)"))?;
    if identity.token_id.is_none() || identity.owner.is_none() {
        notes.push("the agent's token or owner is not known, so the concordium object lacks it; build the card again with --agent <id> once it is registered".into());
    }
    // The documentation writes this dialect's chain as an alias, where it has one.
    let alias = identity.network_name().map(|name| format!("concordium:{name}"));
    let chain_id = alias.filter(|alias| alias.parse() == Ok(identity.chain)).unwrap_or_else(|| identity.chain.to_string());
    Ok(Legacy {
        name: required(&profile.name, format, "a name")?,
        description: required(&profile.description, format, "a description")?,
        version: version(profile, notes),
        url: profile
            .card_url
            .as_deref()
            .ok_or(missing("the URL where the card itself is hosted, which is the agent's agent_uri (--card-url)"))?,
        provider: profile.provider.as_ref().map(ProviderPart::from),
        skills: profile.skills.iter().map(SkillPart::basic).collect(),
        documentation_url: profile.documentation_url.as_deref(),
        concordium: LegacyBlock {
            chain_id,
            token_address: identity.badge().map(|badge| badge.to_string()),
            cis8004_contract: identity.registry.into(),
            cis8_contract: identity.cis8.into(),
            owner: identity.owner.map(|owner| owner.to_string()),
            services: profile
                .services
                .iter()
                .filter_map(|service| Some((service.name.as_str(), service.endpoint.as_deref()?)))
                .collect(),
        },
    })
}
