//! A card for people: what it says, whatever dialect it says it in.

use serde::Serialize;

use super::build::{ChainIdentity, Price};
use super::convert::Reading;

/// What a card says, in the order in which a person wants to know it. Foreign text in it is not escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields are those of `build::Profile`, as texts")]
pub struct Explanation {
    pub name: String,
    pub display_name: Option<String>,
    pub description: String,
    pub version: Option<String>,
    pub provider: Option<String>,
    pub provider_url: Option<String>,
    pub card_url: Option<String>,
    pub documentation_url: Option<String>,
    pub active: Option<bool>,
    pub capabilities: Vec<&'static str>,
    pub interfaces: Vec<Endpoint>,
    pub services: Vec<Endpoint>,
    pub skills: Vec<SkillExplained>,
    pub x402_support: Option<bool>,
    pub wallet: Option<String>,
    pub on_chain: Option<OnChainExplained>,
    /// The JSON pointers of what is not explained here.
    pub not_explained: Vec<String>,
}

/// Where the agent is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Endpoint {
    pub name: String,
    pub url: Option<String>,
    pub version: Option<String>,
}

/// One thing the agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SkillExplained {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    pub examples: Vec<String>,
    /// `0.05 USD for a task`; `None` when the card says none.
    pub price: Option<String>,
}

/// Where the card says that its agent stands on chain. A claim: only the chain proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct OnChainExplained {
    pub network: Option<&'static str>,
    pub chain: String,
    pub registry: String,
    pub token_id: Option<String>,
    pub badge: Option<String>,
    pub caip19: Option<String>,
    pub owner: Option<String>,
}

/// A line for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedLine {
    /// How deep it is indented.
    pub depth: usize,
    /// The word in front; may be empty.
    pub label: &'static str,
    /// What it says.
    pub value: String,
}

/// Explains what was read from a card.
pub fn explain(reading: &Reading) -> Explanation {
    let profile = &reading.profile;
    let said = &profile.capabilities;
    let able = [
        (said.streaming, "streaming"),
        (said.push_notifications, "push notifications"),
        (said.state_transition_history, "history of state transitions"),
    ];
    Explanation {
        name: profile.name.clone(),
        display_name: profile.display_name.clone(),
        description: profile.description.clone(),
        version: profile.version.clone(),
        provider: profile.provider.as_ref().map(|provider| provider.organization.clone()),
        provider_url: profile.provider.as_ref().and_then(|provider| provider.url.clone()),
        card_url: profile.card_url.clone(),
        documentation_url: profile.documentation_url.clone(),
        active: profile.active,
        capabilities: able.into_iter().filter(|(said, _)| *said == Some(true)).map(|(_, name)| name).collect(),
        interfaces: profile
            .interfaces
            .iter()
            .map(|interface| Endpoint {
                name: interface.binding.clone(),
                url: Some(interface.url.clone()),
                version: Some(interface.version.clone()),
            })
            .collect(),
        services: profile
            .services
            .iter()
            .map(|service| Endpoint {
                name: service.name.clone(),
                url: service.endpoint.clone(),
                version: service.version.clone(),
            })
            .collect(),
        skills: profile
            .skills
            .iter()
            .map(|skill| SkillExplained {
                id: skill.id.clone(),
                name: if skill.name.is_empty() { skill.id.clone() } else { skill.name.clone() },
                description: skill.description.clone(),
                tags: skill.tags.clone(),
                examples: skill.examples.clone(),
                price: skill.price.as_ref().map(price),
            })
            .collect(),
        x402_support: profile.x402_support,
        wallet: profile.wallet.clone(),
        on_chain: reading.identity.as_ref().map(on_chain),
        not_explained: reading.unread.iter().filter(|(_, value)| !value.is_null()).map(|(pointer, _)| pointer.clone()).collect(),
    }
}

fn price(price: &Price) -> String {
    match (&price.amount, price.per_usage) {
        (Some(amount), false) => format!("{amount} {} for a task", price.currency),
        (Some(amount), true) => format!("{amount} {}, by use", price.currency),
        (None, _) => format!("in {}, by use", price.currency),
    }
}

fn on_chain(identity: &ChainIdentity) -> OnChainExplained {
    OnChainExplained {
        network: identity.network_name(),
        chain: identity.chain.to_string(),
        registry: identity.registry.to_string(),
        token_id: identity.token_id.map(|id| id.to_string()),
        badge: identity.badge().map(|badge| badge.to_string()),
        caip19: identity.caip19().map(|token| token.to_string()),
        owner: identity.owner.map(|owner| owner.to_string()),
    }
}

impl Explanation {
    /// The lines for people.
    pub fn lines(&self) -> Vec<ExplainedLine> {
        let mut lines = Lines(Vec::new());
        let name = if self.name.is_empty() { "(the card has no name)" } else { &self.name };
        lines.add("name", Some(self.display_name.as_ref().map_or(name.to_owned(), |shown| format!("{shown} ({name})"))));
        lines.add("does", Some(self.description.clone()).filter(|text| !text.is_empty()));
        lines.add("version", self.version.clone());
        lines.add(
            "by",
            self.provider.as_ref().map(|who| match &self.provider_url {
                Some(url) => format!("{who} ({url})"),
                None => who.clone(),
            }),
        );
        lines.add(
            "active",
            self.active.filter(|active| !active).map(|_| "no: the card says the agent is not in operation".into()),
        );
        lines.add("can", Some(self.capabilities.join(", ")).filter(|text| !text.is_empty()));
        for interface in &self.interfaces {
            lines.add("reach", Some(endpoint(interface)));
        }
        for service in &self.services {
            lines.add("service", Some(endpoint(service)));
        }
        lines.add("card at", self.card_url.clone());
        lines.add("docs", self.documentation_url.clone());
        lines.add("x402", self.x402_support.map(|yes| if yes { "accepted" } else { "not accepted" }.into()));
        lines.add("wallet", self.wallet.clone());
        for skill in &self.skills {
            lines.add("skill", Some(format!("{} ({})", skill.name, skill.id)));
            lines.below(Some(skill.description.clone()).filter(|text| !text.is_empty()));
            lines.below(skill.price.as_ref().map(|price| format!("price: {price}")));
            lines.below(Some(skill.tags.join(", ")).filter(|text| !text.is_empty()).map(|tags| format!("tags: {tags}")));
            for example in &skill.examples {
                lines.below(Some(format!("for example: {example}")));
            }
        }
        match &self.on_chain {
            Some(on_chain) => {
                let network = on_chain.network.unwrap_or(&on_chain.chain);
                let token = on_chain.token_id.as_ref().map_or("not registered yet".into(), |id| format!("token {id}"));
                lines.add("on chain", Some(format!("claims {token} of the registry {} on {network}", on_chain.registry)));
                lines.below(on_chain.badge.as_ref().map(|badge| format!("badge {badge}")));
                lines.below(on_chain.caip19.clone());
                lines.below(on_chain.owner.as_ref().map(|owner| format!("owned by {owner}")));
            }
            None => lines.add("on chain", Some("the card names no identity on chain".into())),
        }
        lines.add("also has", Some(self.not_explained.join(", ")).filter(|text| !text.is_empty()));
        lines.0
    }
}

struct Lines(Vec<ExplainedLine>);

impl Lines {
    fn add(&mut self, label: &'static str, value: Option<String>) {
        self.0.extend(value.map(|value| ExplainedLine { depth: 0, label, value }));
    }

    fn below(&mut self, value: Option<String>) {
        self.0.extend(value.map(|value| ExplainedLine { depth: 1, label: "", value }));
    }
}

fn endpoint(endpoint: &Endpoint) -> String {
    let url = endpoint.url.as_deref().unwrap_or("(no endpoint)");
    match &endpoint.version {
        Some(version) => format!("{url} ({} {version})", endpoint.name),
        None => format!("{url} ({})", endpoint.name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::card::convert::read;

    #[test]
    fn a_card_is_told_in_a_persons_words() {
        let card = json!({
            "name": "research-pro", "description": "Researches.", "url": "ws-agent://research-pro", "version": "1.0.0",
            "skills": [{ "id": "r", "name": "Research", "pricing": { "per_usage": false, "amount_usd": "0.05" } }],
            "metadata": { "display": { "display_name": "Research Pro" }, "theme": { "primary_color": "#fff" } },
            "concordium": { "tokenAddress": "ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs" },
        });
        let text: Vec<String> =
            explain(&read(&card)).lines().iter().map(|line| format!("{}|{}", line.label, line.value)).collect();
        assert_eq!(
            text,
            [
                "name|Research Pro (research-pro)",
                "does|Researches.",
                "version|1.0.0",
                "reach|ws-agent://research-pro (ws-agent 0.3.0)",
                "skill|Research (r)",
                "|price: 0.05 USD for a task",
                "on chain|claims token 484 of the registry <10082,0> on mainnet",
                "|badge Mf22soLh1NuZYFgBK8iSs",
                "|ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs",
                "also has|/metadata/theme/primary_color",
            ]
        );
    }

    #[test]
    fn an_empty_card_is_explained_too() {
        let lines = explain(&read(&json!({}))).lines();
        assert_eq!(lines[0].value, "(the card has no name)");
    }
}
