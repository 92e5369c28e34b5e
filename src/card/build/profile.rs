use serde::Deserialize;
use serde_json::Value;

/// What a card says, independent of the dialect it says it in.
///
/// It is also the input file of `card build`, as TOML or JSON: the fields have these names, in snake case.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// The display name.
    pub name: String,
    /// What the agent does.
    pub description: String,
    /// The agent's version, semantic.
    pub version: Option<String>,
    /// Where the card itself is (or will be) hosted: the agent's `agent_uri`.
    pub card_url: Option<String>,
    /// A picture of the agent.
    pub image: Option<String>,
    /// Where its documentation is.
    pub documentation_url: Option<String>,
    /// Who operates it.
    pub provider: Option<Provider>,
    /// Where the agent is reached, in order of preference.
    pub interfaces: Vec<Interface>,
    /// What it can do beside answering.
    pub capabilities: Capabilities,
    /// Extensions of A2A beside the badge.
    #[serde(skip)]
    pub extensions: Vec<Extension>,
    /// How a caller shows who it is.
    #[serde(skip)]
    pub security: Security,
    /// The media types it takes.
    pub input_modes: Vec<String>,
    /// The media types it answers with.
    pub output_modes: Vec<String>,
    /// What it offers.
    pub skills: Vec<Skill>,
    /// Named endpoints beside its interfaces.
    pub services: Vec<Service>,
    /// ERC-8004's trust models.
    pub supported_trust: Vec<String>,
    /// Whether it supports x402 proof of payment.
    pub x402_support: Option<bool>,
    /// Whether it is in operation.
    pub active: Option<bool>,
    /// Registrations in other registries than the one of the chain identity.
    pub registrations: Vec<Registration>,
    /// Where a reader may have the badge checked.
    pub verification: Option<Verification>,
    /// What the badge says about itself in words of its own.
    #[serde(skip)]
    pub badge: BadgeWords,
    /// The name shown to people where `name` must be URL-safe.
    pub display_name: Option<String>,
    /// One short line about it.
    pub tagline: Option<String>,
    /// The address that payments for it go to.
    pub wallet: Option<String>,
    /// Who may find it: `private`, `shared` or `public`.
    pub visibility: Option<String>,
}

/// Who operates an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The organisation.
    pub organization: String,
    /// Its site.
    pub url: Option<String>,
}

/// Where an agent is reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The URL.
    pub url: String,
    /// How it is spoken to: `JSONRPC`, `GRPC`, `HTTP+JSON`.
    #[serde(default = "usual_binding")]
    pub binding: String,
    /// Which version of A2A it speaks.
    #[serde(default = "current_a2a")]
    pub version: String,
}

fn usual_binding() -> String {
    "HTTP+JSON".into()
}

fn current_a2a() -> String {
    "1.0".into()
}

impl Interface {
    /// An interface that speaks A2A 1.0 over plain HTTP and JSON.
    pub fn http_json(url: impl Into<String>) -> Self {
        Self { url: url.into(), binding: usual_binding(), version: current_a2a() }
    }
}

/// What an agent can do beside answering. `None` is unsaid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// It streams.
    pub streaming: Option<bool>,
    /// It notifies.
    pub push_notifications: Option<bool>,
    /// It records the transitions of a task's state (before A2A 1.0).
    pub state_transition_history: Option<bool>,
}

/// An A2A extension that is carried as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Extension(pub Value);

/// What an A2A card, or a skill in it, says about access, carried as it was found. A2A 1.0 writes it in other words than the versions before, so only a
/// card of the same generation can say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Security {
    /// Whether it is in the words of a version before 1.0.
    pub is_older: bool,
    /// `securitySchemes`, an object; a skill has none of its own.
    pub schemes: Option<Value>,
    /// `security`, a list.
    pub security: Option<Value>,
    /// `securityRequirements`, a list: what A2A 1.0 calls `security`.
    pub requirements: Option<Value>,
}

/// What a badge says about itself. `None` is the wording of the extension's definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BadgeWords {
    /// What it is.
    pub description: Option<String>,
    /// Whether a client has to know the extension.
    pub required: Option<bool>,
    /// How to check it.
    pub verify: Option<String>,
}

/// One thing an agent offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Skill {
    /// Its identifier, unique in the card.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Example requests.
    pub examples: Vec<String>,
    /// The media types it takes, when they differ from the card's.
    pub input_modes: Vec<String>,
    /// The media types it answers with, when they differ from the card's.
    pub output_modes: Vec<String>,
    /// How a caller shows who it is, when that differs from the card's.
    #[serde(skip)]
    pub security: Security,
    /// What it costs; `None` is free or unsaid.
    pub price: Option<Price>,
}

/// What a skill costs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// How much, as a decimal text; `None` when it depends.
    pub amount: Option<String>,
    /// Of what: `USD`, `UT`.
    pub currency: String,
    /// Whether it depends on use instead of being a fixed price for a task.
    pub per_usage: bool,
}

/// A named endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Its name, for example `MCP`.
    pub name: String,
    /// Its URL; some real cards have none.
    pub endpoint: Option<String>,
    /// The version of what is spoken there.
    pub version: Option<String>,
}

/// A registration of the agent in an ERC-8004 registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The agent's number there.
    pub agent_id: u64,
    /// The registry, as CAIP-10.
    pub agent_registry: String,
}

/// Where a reader may have the badge checked. A convenience: any of it can be checked against the chain instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Verification {
    /// The name of the service.
    pub service: Option<String>,
    /// A URL whose answer is the verdict on this badge.
    pub verify_url: Option<String>,
    /// An MCP endpoint.
    pub mcp: Option<String>,
    /// Where the check is described.
    pub docs: Option<String>,
}
