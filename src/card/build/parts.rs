//! Pieces that several formats share, in the documentation's key order.

use serde::Serialize;
use serde_json::Value;

use super::concordium::BadgeExtension;
use super::profile::{Profile, Provider, Security, Skill};

#[derive(Debug, Serialize)]
pub(super) struct ProviderPart<'a> {
    organization: &'a str,
    // A2A requires it, so an unknown site is an empty one only where the format forces it; here it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
}

impl<'a> From<&'a Provider> for ProviderPart<'a> {
    fn from(provider: &'a Provider) -> Self {
        Self { organization: &provider.organization, url: provider.url.as_deref() }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CapabilitiesPart<'a> {
    streaming: bool,
    push_notifications: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_transition_history: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<ExtensionPart<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ExtensionPart<'a> {
    Badge(Box<BadgeExtension<'a>>),
    Other(&'a Value),
}

impl<'a> CapabilitiesPart<'a> {
    /// Capabilities as A2A 1.0 knows them.
    pub(super) fn current(profile: &'a Profile, badge: Option<BadgeExtension<'a>>) -> Self {
        let others = profile.extensions.iter().map(|extension| ExtensionPart::Other(&extension.0));
        let extensions = badge.map(|badge| ExtensionPart::Badge(Box::new(badge))).into_iter().chain(others).collect();
        Self { state_transition_history: None, extensions, ..Self::plain(profile) }
    }

    /// Capabilities as A2A knew them before 1.0, with extensions.
    pub(super) fn older(profile: &'a Profile) -> Self {
        let extensions = profile.extensions.iter().map(|extension| ExtensionPart::Other(&extension.0)).collect();
        Self { extensions, ..Self::plain(profile) }
    }

    /// Capabilities without extensions; the history of transitions is said as the profile says it.
    pub(super) fn plain(profile: &'a Profile) -> Self {
        let said = &profile.capabilities;
        Self {
            streaming: said.streaming.unwrap_or(false),
            push_notifications: said.push_notifications.unwrap_or(false),
            state_transition_history: said.state_transition_history,
            extensions: Vec::new(),
        }
    }

    /// Capabilities of the dialects that always tell whether the history of transitions is kept.
    pub(super) fn with_history(profile: &'a Profile) -> Self {
        let history = profile.capabilities.state_transition_history.unwrap_or(false);
        Self { state_transition_history: Some(history), ..Self::plain(profile) }
    }
}

/// What a card says about access, flattened into it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecurityPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    security_schemes: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_requirements: Option<&'a Value>,
}

impl<'a> SecurityPart<'a> {
    /// In the words of A2A 1.0, when the profile has it in those.
    pub(super) fn current(profile: &'a Profile) -> Self {
        Self::of(&profile.security, false)
    }

    /// In the words of the versions before, when the profile has it in those.
    pub(super) fn older(profile: &'a Profile) -> Self {
        Self::of(&profile.security, true)
    }

    fn of(said: &'a Security, is_older: bool) -> Self {
        if said.is_older != is_older {
            return Self::default();
        }
        Self {
            security_schemes: said.schemes.as_ref(),
            security: said.security.as_ref(),
            security_requirements: said.requirements.as_ref(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SkillPart<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) tags: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) examples: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(super) output_modes: &'a [String],
    #[serde(flatten)]
    security: SecurityPart<'a>,
}

impl<'a> SkillPart<'a> {
    /// A skill with everything A2A 1.0 knows of it.
    pub(super) fn current(skill: &'a Skill) -> Self {
        Self::full(skill, SecurityPart::of(&skill.security, false))
    }

    /// A skill with everything that A2A knew of it before 1.0.
    pub(super) fn older(skill: &'a Skill) -> Self {
        Self::full(skill, SecurityPart::of(&skill.security, true))
    }

    fn full(skill: &'a Skill, security: SecurityPart<'a>) -> Self {
        Self {
            examples: &skill.examples,
            input_modes: &skill.input_modes,
            output_modes: &skill.output_modes,
            security,
            ..Self::basic(skill)
        }
    }

    /// A skill with the four fields that every dialect has.
    pub(super) fn basic(skill: &'a Skill) -> Self {
        Self {
            id: &skill.id,
            name: if skill.name.is_empty() { &skill.id } else { &skill.name },
            description: &skill.description,
            tags: &skill.tags,
            examples: &[],
            input_modes: &[],
            output_modes: &[],
            security: SecurityPart::default(),
        }
    }
}

/// The modes said, or the one every agent understands, in the words of the dialect.
pub(super) fn modes<'a>(said: &'a [String], usual: &'a str) -> Vec<&'a str> {
    match said {
        [] => vec![usual],
        said => said.iter().map(String::as_str).collect(),
    }
}
