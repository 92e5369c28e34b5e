use serde::Serialize;

use crate::card::Dialect;

use super::a2a::NEEDS_INTERFACE;
use super::parts::{modes, CapabilitiesPart};
use super::profile::{Profile, Skill};
use super::{required, version, BuildError, Format};

/// A card of the UUMit network, in the key order of its documentation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Card<'a> {
    name: &'a str,
    description: &'a str,
    url: &'a str,
    version: &'a str,
    protocol: &'static str,
    capabilities: CapabilitiesPart<'a>,
    authentication: Authentication,
    default_input_modes: Vec<&'a str>,
    default_output_modes: Vec<&'a str>,
    skills: Vec<SkillWithPrice<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Authentication {
    schemes: [&'static str; 1],
    api_key: ApiKey,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiKey {
    header_name: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SkillWithPrice<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    examples: &'a [String],
    delivery_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pricing: Option<Pricing<'a>>,
}

#[derive(Debug, Serialize)]
struct Pricing<'a> {
    model: &'static str,
    price_ut: &'a str,
}

fn pricing<'a>(skill: &'a Skill, notes: &mut Vec<String>) -> Option<Pricing<'a>> {
    let price = skill.price.as_ref()?;
    if price.currency != "UT" {
        notes.push(format!("the price of the skill {} is in {}, which this format has no place for", skill.id, price.currency));
        return None;
    }
    Some(Pricing { model: "per_use", price_ut: price.amount.as_deref().unwrap_or("variable") })
}

pub(super) fn card<'a>(profile: &'a Profile, notes: &mut Vec<String>) -> Result<Card<'a>, BuildError> {
    let format = Format::Uumit;
    let interface = profile.interfaces.first().ok_or(BuildError::Missing { format: format.as_str(), field: NEEDS_INTERFACE })?;
    notes.push("the authentication is the network's usual one: an API key in X-Api-Key".into());
    Ok(Card {
        name: required(&profile.name, format, "a name")?,
        description: required(&profile.description, format, "a description")?,
        url: &interface.url,
        version: version(profile, notes),
        protocol: Dialect::UUMIT_PROTOCOL,
        capabilities: CapabilitiesPart::with_history(profile),
        authentication: Authentication { schemes: ["apiKey"], api_key: ApiKey { header_name: "X-Api-Key" } },
        default_input_modes: modes(&profile.input_modes, "text"),
        default_output_modes: modes(&profile.output_modes, "text"),
        skills: profile
            .skills
            .iter()
            .map(|skill| SkillWithPrice {
                id: &skill.id,
                name: if skill.name.is_empty() { &skill.id } else { &skill.name },
                description: &skill.description,
                tags: &skill.tags,
                examples: &skill.examples,
                delivery_mode: "async",
                pricing: pricing(skill, notes),
            })
            .collect(),
    })
}
