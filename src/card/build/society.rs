use serde::Serialize;

use super::a2a::NEEDS_INTERFACE;
use super::parts::{modes, CapabilitiesPart, ProviderPart};
use super::profile::{Price, Profile, Skill};
use super::{required, version, BuildError, Format};

/// A card of the Society AI network, in the key order of its documentation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Card<'a> {
    name: String,
    description: &'a str,
    url: &'a str,
    version: &'a str,
    provider: ProviderPart<'a>,
    capabilities: CapabilitiesPart<'a>,
    default_input_modes: Vec<&'a str>,
    default_output_modes: Vec<&'a str>,
    skills: Vec<SkillWithPrice<'a>>,
    metadata: Metadata<'a>,
}

#[derive(Debug, Serialize)]
struct SkillWithPrice<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pricing: Option<Pricing<'a>>,
}

#[derive(Debug, Serialize)]
struct Pricing<'a> {
    per_usage: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount_usd: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Metadata<'a> {
    visibility: &'a str,
    display: Display<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crypto_wallet: Option<Wallet<'a>>,
}

#[derive(Debug, Serialize)]
struct Display<'a> {
    display_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tagline: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    avatar_url: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Wallet<'a> {
    address: &'a str,
}

/// A price in dollars; one in anything else cannot be said here.
fn pricing<'a>(skill: &'a Skill, notes: &mut Vec<String>) -> Option<Pricing<'a>> {
    let price: &Price = skill.price.as_ref()?;
    if price.currency != "USD" {
        notes.push(format!("the price of the skill {} is in {}, which this format has no place for", skill.id, price.currency));
        return None;
    }
    Some(Pricing { per_usage: price.per_usage, amount_usd: price.amount.as_deref() })
}

/// The name as a URL can hold it: lower-case letters, digits and single hyphens.
fn url_safe(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

pub(super) fn card<'a>(profile: &'a Profile, notes: &mut Vec<String>) -> Result<Card<'a>, BuildError> {
    let format = Format::SocietyAi;
    let given = required(&profile.name, format, "a name")?;
    let name = if crate::card::rules::is_url_safe(given) { given.to_owned() } else { url_safe(given) };
    if name.is_empty() {
        return Err(BuildError::Missing { format: format.as_str(), field: "a name with at least one letter or digit of ASCII" });
    }
    if name != given {
        notes.push(format!("the name must be URL-safe here, so it became {name}; the given one is the display name"));
    }
    let interface = profile.interfaces.first().ok_or(BuildError::Missing { format: format.as_str(), field: NEEDS_INTERFACE })?;
    let skills: Vec<_> = profile
        .skills
        .iter()
        .map(|skill| SkillWithPrice {
            id: &skill.id,
            name: if skill.name.is_empty() { &skill.id } else { &skill.name },
            description: &skill.description,
            tags: &skill.tags,
            examples: &skill.examples,
            pricing: pricing(skill, notes),
        })
        .collect();
    if profile.wallet.is_none() && skills.iter().any(|skill| skill.pricing.is_some()) {
        notes.push("a skill has a price, and no wallet was given to receive it".into());
    }
    Ok(Card {
        name,
        description: required(&profile.description, format, "a description")?,
        url: &interface.url,
        version: version(profile, notes),
        provider: ProviderPart::from(profile.provider.as_ref().ok_or(BuildError::Missing {
            format: format.as_str(),
            field: "who operates the agent (--organization, or [provider] in the input)",
        })?),
        capabilities: CapabilitiesPart::with_history(profile),
        default_input_modes: modes(&profile.input_modes, "text"),
        default_output_modes: modes(&profile.output_modes, "text"),
        skills,
        metadata: Metadata {
            visibility: profile.visibility.as_deref().unwrap_or("private"),
            display: Display {
                display_name: profile.display_name.as_deref().unwrap_or(given),
                tagline: profile.tagline.as_deref(),
                avatar_url: profile.image.as_deref(),
            },
            crypto_wallet: profile.wallet.as_deref().map(|address| Wallet { address }),
        },
    })
}
