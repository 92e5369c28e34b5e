use serde_json::Value;

use crate::card::build::{
    Aspect, Capabilities, Extension, Interface, Price, Profile, Provider, Security, Service, Skill, Verification,
};
use crate::card::document::push_segment;
use crate::card::Dialect;

use super::identity;
use super::reader::Reader;
use super::Reading;

/// Reads what a card of any dialect says. Whatever is not understood is named in [`Reading::unread`].
pub fn read(card: &Value) -> Reading {
    let mut reader = Reader::new(card);
    let mut profile = basics(&mut reader);
    endpoints(&mut reader, &mut profile);
    profile.capabilities = capabilities(&mut reader);
    profile.security = security(&mut reader, "");
    profile.input_modes = reader.texts(Aspect::Modes, "/defaultInputModes");
    profile.output_modes = reader.texts(Aspect::Modes, "/defaultOutputModes");
    profile.skills = (0..reader.len("/skills")).filter_map(|n| skill(&mut reader, &format!("/skills/{n}"))).collect();
    services(&mut reader, &mut profile);
    society(&mut reader, &mut profile);
    let identity = identity::of(&mut reader, &mut profile);
    extensions(&mut reader, &mut profile);
    reader.mark("/type", Dialect::ERC8004_TYPE);
    reader.mark("/protocol", Dialect::UUMIT_PROTOCOL);
    for access in ["/authentication/schemes", "/authentication/apiKey"] {
        reader.understand(None, access);
    }
    let (understood, unread) = reader.finish();
    Reading { profile, identity, understood, unread, altered: Vec::new() }
}

/// Whether the card is of the older Concordium dialect, where `url` is the place of the card itself.
pub(super) fn is_legacy(reader: &Reader<'_>) -> bool {
    ["/concordium/chain_id", "/concordium/token_address", "/concordium/cis8004_contract"]
        .iter()
        .any(|pointer| reader.peek(pointer).is_some())
}

fn basics(reader: &mut Reader<'_>) -> Profile {
    let image = reader.text(Aspect::Image, "/image").or_else(|| reader.text(Aspect::Image, "/iconUrl"));
    let provider = reader
        .text(Aspect::Provider, "/provider/organization")
        .map(|organization| Provider { organization, url: reader.text(Aspect::Provider, "/provider/url") });
    Profile {
        name: reader.text(Aspect::Name, "/name").unwrap_or_default(),
        description: reader.text(Aspect::Description, "/description").unwrap_or_default(),
        version: reader.text(Aspect::Version, "/version"),
        documentation_url: reader.text(Aspect::DocumentationUrl, "/documentationUrl"),
        // Earlier revisions of ERC-8004 spelt it otherwise.
        x402_support: ["/x402Support", "/x402support"].iter().find_map(|at| reader.flag(Aspect::X402Support, at)),
        active: reader.flag(Aspect::Active, "/active"),
        supported_trust: reader.texts(Aspect::SupportedTrust, "/supportedTrust"),
        image,
        provider,
        ..Profile::default()
    }
}

fn endpoints(reader: &mut Reader<'_>, profile: &mut Profile) {
    let which = |n: usize| if n == 0 { Aspect::Interfaces } else { Aspect::FurtherInterfaces };
    for n in 0..reader.len("/supportedInterfaces") {
        let at = format!("/supportedInterfaces/{n}");
        reader.within(reader.peek_text(&format!("{at}/url")).unwrap_or_default());
        if let Some(url) = reader.text(which(n), &format!("{at}/url")) {
            let mut interface = Interface::http_json(url);
            if let Some(binding) = reader.text(which(n), &format!("{at}/protocolBinding")) {
                interface.binding = binding;
            }
            if let Some(version) = reader.text(which(n), &format!("{at}/protocolVersion")) {
                interface.version = version;
            }
            profile.interfaces.push(interface);
        }
    }
    reader.within("");
    if is_legacy(reader) {
        profile.card_url = reader.text(Aspect::CardUrl, "/url");
        return;
    }
    let first = profile.interfaces.len();
    reader.within(reader.peek_text("/url").unwrap_or_default());
    if let Some(url) = reader.text(which(first), "/url") {
        // Before A2A 1.0 the transport is JSON-RPC unless the card says otherwise; the Society AI hub has a protocol of its own.
        let usual = if url.starts_with("ws-agent:") { "ws-agent" } else { "JSONRPC" };
        let binding = reader.text(which(first), "/preferredTransport").unwrap_or_else(|| usual.to_owned());
        let version = reader.text(which(first), "/protocolVersion").unwrap_or_else(|| "0.3.0".to_owned());
        if profile.interfaces.iter().all(|known| known.url != url) {
            profile.interfaces.push(Interface { url, binding, version: version.clone() });
        }
        for n in 0..reader.len("/additionalInterfaces") {
            let at = format!("/additionalInterfaces/{n}");
            reader.within(reader.peek_text(&format!("{at}/url")).unwrap_or_default());
            let Some(url) = reader.text(Aspect::FurtherInterfaces, &format!("{at}/url")) else { continue };
            let binding = reader.text(Aspect::FurtherInterfaces, &format!("{at}/transport")).unwrap_or_else(|| "JSONRPC".into());
            // Cards of A2A 0.3 repeat the main URL in this list.
            if profile.interfaces.iter().all(|known| known.url != url || known.binding != binding) {
                profile.interfaces.push(Interface { url, binding, version: version.clone() });
            }
        }
    }
    reader.within("");
}

fn capabilities(reader: &mut Reader<'_>) -> Capabilities {
    Capabilities {
        streaming: reader.flag(Aspect::Capabilities, "/capabilities/streaming"),
        push_notifications: reader.flag(Aspect::Capabilities, "/capabilities/pushNotifications"),
        state_transition_history: reader.flag(Aspect::StateTransitionHistory, "/capabilities/stateTransitionHistory"),
    }
}

/// How a caller shows who it is; A2A 1.0, which has `supportedInterfaces`, says it in other words than the versions before.
fn security(reader: &mut Reader<'_>, at: &str) -> Security {
    let mut value = |key: &str, fits: fn(&Value) -> bool| {
        let pointer = format!("{at}/{key}");
        let value = reader.peek(&pointer).filter(|value| fits(value))?;
        reader.understand(Aspect::Security, pointer);
        Some(value.clone())
    };
    Security {
        schemes: value("securitySchemes", Value::is_object),
        security: value("security", Value::is_array),
        requirements: value("securityRequirements", Value::is_array),
        is_older: reader.peek("/supportedInterfaces").is_none(),
    }
}

fn skill(reader: &mut Reader<'_>, at: &str) -> Option<Skill> {
    reader.within(reader.peek_text(&format!("{at}/id"))?);
    let id = reader.text(Aspect::Skills, &format!("{at}/id"))?;
    let skill = Skill {
        name: reader.text(Aspect::Skills, &format!("{at}/name")).unwrap_or_default(),
        description: reader.text(Aspect::Skills, &format!("{at}/description")).unwrap_or_default(),
        tags: reader.texts(Aspect::Skills, &format!("{at}/tags")),
        examples: reader.texts(Aspect::SkillDetails, &format!("{at}/examples")),
        input_modes: reader.texts(Aspect::SkillModes, &format!("{at}/inputModes")),
        output_modes: reader.texts(Aspect::SkillModes, &format!("{at}/outputModes")),
        security: security(reader, at),
        price: price(reader, &format!("{at}/pricing")),
        id,
    };
    reader.within("");
    Some(skill)
}

/// The price of a skill, in the words of either network that prices skills.
fn price(reader: &mut Reader<'_>, at: &str) -> Option<Price> {
    reader.peek(at)?;
    if reader.peek(&format!("{at}/price_ut")).is_some() || reader.peek(&format!("{at}/model")).is_some() {
        reader.understand(Aspect::Prices, format!("{at}/model"));
        // A price may be a number or a text; `variable` is no amount.
        let amount = match reader.peek(&format!("{at}/price_ut")) {
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::String(text)) if text != "variable" => Some(text.clone()),
            _ => None,
        };
        reader.understand(Aspect::Prices, format!("{at}/price_ut"));
        let per_usage = amount.is_none();
        return Some(Price { amount, currency: "UT".into(), per_usage });
    }
    let per_usage = reader.flag(Aspect::Prices, &format!("{at}/per_usage"));
    let amount = reader.text(Aspect::Prices, &format!("{at}/amount_usd"));
    if per_usage.is_none() && amount.is_none() {
        return None;
    }
    Some(Price { amount, currency: "USD".into(), per_usage: per_usage.unwrap_or(false) })
}

fn services(reader: &mut Reader<'_>, profile: &mut Profile) {
    // `endpoints` is what earlier revisions of ERC-8004 called them.
    let lists = ["/services", "/endpoints"].map(|list| (0..reader.len(list)).map(move |n| format!("{list}/{n}")));
    for at in lists.into_iter().flatten() {
        reader.within(reader.peek_text(&format!("{at}/name")).unwrap_or_default());
        let Some(name) = reader.text(Aspect::Services, &format!("{at}/name")) else { continue };
        let endpoint = reader.text(Aspect::Services, &format!("{at}/endpoint"));
        let version = reader.text(Aspect::ServiceVersions, &format!("{at}/version"));
        profile.services.push(Service { name, endpoint, version });
    }
    let named = reader.peek("/concordium/services").and_then(Value::as_object);
    for (name, endpoint) in named.into_iter().flatten() {
        let Some(endpoint) = endpoint.as_str() else { continue };
        let mut at = "/concordium/services".to_owned();
        push_segment(&mut at, name);
        reader.within(name);
        let facts = [("name", &Value::from(name.as_str())), ("endpoint", &Value::from(endpoint))];
        let facts = facts.map(|(key, value)| reader.fact(Some(Aspect::Services), key, value)).into();
        reader.understand_as(Aspect::Services, at, facts);
        profile.services.push(Service { name: name.clone(), endpoint: Some(endpoint.to_owned()), version: None });
    }
    reader.within("");
}

fn society(reader: &mut Reader<'_>, profile: &mut Profile) {
    profile.visibility = reader.text(Aspect::Visibility, "/metadata/visibility");
    profile.display_name = reader.text(Aspect::DisplayName, "/metadata/display/display_name");
    profile.tagline = reader.text(Aspect::Tagline, "/metadata/display/tagline");
    profile.wallet = reader.text(Aspect::Wallet, "/metadata/crypto_wallet/address");
    if profile.image.is_none() {
        profile.image = reader.text(Aspect::Image, "/metadata/display/avatar_url");
    }
}

/// The extensions of A2A beside the badge, which [`identity::of`] reads.
fn extensions(reader: &mut Reader<'_>, profile: &mut Profile) {
    for n in 0..reader.len("/capabilities/extensions") {
        let at = format!("/capabilities/extensions/{n}");
        if reader.peek_text(&format!("{at}/uri")) == Some(Dialect::BADGE_V1_URI) {
            continue;
        }
        if let Some(extension) = reader.peek(&at) {
            profile.extensions.push(Extension(extension.clone()));
            let fact = reader.fact(Some(Aspect::Extensions), "extension", extension);
            reader.understand_as(Aspect::Extensions, at, vec![fact]);
        }
    }
}

/// Where a reader may have the badge checked, at the place where a dialect says it.
pub(super) fn verification(reader: &mut Reader<'_>, at: &str) -> Option<Verification> {
    reader.peek(at)?;
    let mut field = |name: &str| reader.text(Aspect::Verification, &format!("{at}/{name}"));
    Some(Verification { service: field("service"), verify_url: field("verifyUrl"), mcp: field("mcp"), docs: field("docs") })
}
