//! Built cards: their exact bytes, that a lint has nothing to say about them, and what a conversion keeps and loses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cardproof::card::build::{
    build, Capabilities, ChainIdentity, Format, Interface, Price, Profile, Provider, Registration, Service, Skill,
};
use cardproof::card::convert::{convert, left_out, read, read_bytes};
use cardproof::card::{lint, recognise, Dialect, Document, LintContext, Severity};
use cardproof::digest::Sha256Digest;
use cardproof::identity::{Network, TokenId};
use serde_json::Value;

const OWNER: &str = "3z9dkoTnLi2HEZvjnmKrMec2Gk2NKcEhdi4PugDWzP4GQtZiFa";
const CARD_URL: &str = "https://agents.example.com/market-data/.well-known/agent-card.json";

/// Token 484 of the main network's registry.
fn identity() -> ChainIdentity {
    let network = Network::built_in("mainnet").unwrap();
    ChainIdentity { token_id: Some(TokenId(484)), owner: Some(OWNER.parse().unwrap()), ..ChainIdentity::unregistered(&network) }
}

/// An agent that uses everything a format can say.
fn profile(currency: &str) -> Profile {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    Profile {
        name: "Market Data Agent".into(),
        description: "Fetches and summarises real-time CCD/EUR market data on demand – für alle.".into(),
        version: Some("2.0.0".into()),
        card_url: Some(CARD_URL.into()),
        image: Some("https://agents.example.com/market-data/icon.png".into()),
        documentation_url: Some("https://agents.example.com/market-data/docs".into()),
        provider: Some(Provider { organization: "Example Labs".into(), url: Some("https://example.com".into()) }),
        interfaces: vec![
            Interface::http_json("https://agents.example.com/market-data/a2a/v1"),
            Interface {
                url: "https://agents.example.com/market-data/rpc".into(),
                binding: "JSONRPC".into(),
                version: "1.0".into(),
            },
        ],
        capabilities: Capabilities { streaming: Some(true), push_notifications: Some(false), state_transition_history: None },
        input_modes: texts(&["text/plain"]),
        output_modes: texts(&["text/plain", "application/json"]),
        skills: vec![
            Skill {
                id: "fetch-price".into(),
                name: "Fetch price".into(),
                description: "Returns the current CCD/EUR mid-market price.".into(),
                tags: texts(&["market", "price", "ccd"]),
                examples: texts(&["What is a CCD worth?"]),
                output_modes: texts(&["application/json"]),
                price: Some(Price { amount: Some("0.05".into()), currency: currency.into(), per_usage: false }),
                ..Skill::default()
            },
            Skill {
                id: "summarise-day".into(),
                name: "Summarise day".into(),
                description: "Returns a one-paragraph summary of today's CCD price action.".into(),
                tags: texts(&["market", "summary"]),
                ..Skill::default()
            },
        ],
        services: vec![Service {
            name: "MCP".into(),
            endpoint: Some("https://agents.example.com/market-data/mcp".into()),
            version: Some("2025-06-18".into()),
        }],
        supported_trust: texts(&["reputation"]),
        x402_support: Some(true),
        active: Some(true),
        registrations: vec![Registration {
            agent_id: 22,
            agent_registry: "eip155:1:0x8004a169fb4a3325136eb29fa0ceb6d2e539a432".into(),
        }],
        tagline: Some("Prices while you wait".into()),
        wallet: Some("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".into()),
        visibility: Some("public".into()),
        ..Profile::default()
    }
}

fn built(format: Format) -> Vec<u8> {
    let currency = if format == Format::Uumit { "UT" } else { "USD" };
    build(&profile(currency), Some(&identity()), format).unwrap().bytes
}

/// With `UPDATE_BUILT_CARDS` set, the expected files are written anew; look at the difference before committing it.
#[test]
fn built_bytes_are_the_expected_ones_and_the_same_in_every_run() {
    for format in Format::ALL {
        let path = format!("tests/cards/built/{format}.json");
        let bytes = built(format);
        assert_eq!(bytes, built(format));
        if std::env::var_os("UPDATE_BUILT_CARDS").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        let expected = std::fs::read(&path).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&expected), "{path}");
        assert!(bytes.ends_with(b"}\n") && !bytes.contains(&b'\r') && !bytes.contains(&b'\t'));
    }
}

#[test]
fn the_digest_is_that_of_the_bytes() {
    let built = build(&profile("USD"), Some(&identity()), Format::Combined).unwrap();
    assert_eq!(built.sha256, Sha256Digest::of(&built.bytes));
}

#[test]
fn a_lint_finds_nothing_in_a_built_card() {
    let context = LintContext { agent_uri: Some(CARD_URL.into()), chain: None };
    for format in Format::ALL {
        let bytes = built(format);
        let report = lint(&Document::parse(&bytes), &context);
        assert!(report.findings.is_empty(), "{format}: {:#?}", report.findings);
    }
}

#[test]
fn a_card_with_little_to_say_is_clean_too() {
    let network = Network::built_in("testnet").unwrap();
    let profile = Profile {
        name: "A".into(),
        description: "Answers.".into(),
        card_url: Some("https://a.example.org/card.json".into()),
        interfaces: vec![Interface::http_json("https://a.example.org/a2a")],
        ..Profile::default()
    };
    for format in [Format::Combined, Format::Erc8004, Format::A2a, Format::A2a0, Format::Uumit] {
        let built = build(&profile, Some(&ChainIdentity::unregistered(&network)), format).unwrap();
        let report = lint(&Document::parse(&built.bytes), &LintContext::default());
        let serious: Vec<_> = report.findings.iter().filter(|found| found.severity > Severity::Info).collect();
        assert!(serious.is_empty(), "{format}: {serious:#?}");
    }
}

#[test]
fn each_format_is_recognised_as_its_dialects() {
    for (format, expected) in [
        (Format::Combined, vec![Dialect::Erc8004, Dialect::A2a1, Dialect::ConcordiumBadgeV1]),
        (Format::Erc8004, vec![Dialect::Erc8004]),
        (Format::A2a, vec![Dialect::A2a1, Dialect::ConcordiumBadgeV1]),
        (Format::A2a0, vec![Dialect::A2a0]),
        (Format::ConcordiumLegacy, vec![Dialect::ConcordiumLegacy]),
    ] {
        assert_eq!(recognise(&Document::parse(&built(format))), expected, "{format}");
    }
    assert!(recognise(&Document::parse(&built(Format::SocietyAi))).contains(&Dialect::SocietyAi));
    assert!(recognise(&Document::parse(&built(Format::Uumit))).contains(&Dialect::Uumit));
}

#[test]
fn the_combined_card_has_the_key_order_of_the_documentation() {
    let bytes = built(Format::Combined);
    let document = Document::parse(&bytes);
    let keys: Vec<&str> = document.root().unwrap().as_object().unwrap().iter().map(|member| &*member.key).collect();
    assert_eq!(
        keys,
        [
            "type",
            "name",
            "description",
            "image",
            "version",
            "provider",
            "supportedInterfaces",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
            "documentationUrl",
            "services",
            "x402Support",
            "active",
            "registrations",
            "supportedTrust",
        ]
    );
    let params = document.get("/capabilities/extensions/0/params").unwrap().as_object().unwrap();
    let keys: Vec<&str> = params.iter().map(|member| &*member.key).collect();
    assert_eq!(keys, ["tokenAddress", "owner", "contracts", "verify", "verification"]);
}

#[test]
fn what_a_format_cannot_do_without_is_named() {
    let nothing = Profile::default();
    for format in Format::ALL {
        let error = build(&nothing, Some(&identity()), format).unwrap_err().to_string();
        assert!(error.contains(format.as_str()) && error.contains("needs"), "{error}");
    }
    let no_url = Profile { interfaces: Vec::new(), ..profile("USD") };
    assert!(build(&no_url, Some(&identity()), Format::Combined).unwrap_err().to_string().contains("--url"));
    let no_place = Profile { card_url: None, ..profile("USD") };
    assert!(build(&no_place, Some(&identity()), Format::ConcordiumLegacy).unwrap_err().to_string().contains("--card-url"));
}

#[test]
fn a_built_card_is_read_back_as_what_it_was_built_from() {
    let reading = read_bytes(&built(Format::Combined)).unwrap();
    assert_eq!(reading.identity, Some(identity()));
    assert!(reading.unread.is_empty(), "{:?}", reading.unread);
    let again = build(&reading.profile, reading.identity.as_ref(), Format::Combined).unwrap();
    assert_eq!(String::from_utf8(again.bytes), String::from_utf8(built(Format::Combined)));
}

/// What the sample of a dialect says, by its file.
fn sample(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(format!("tests/cards/{name}.json")).unwrap()).unwrap()
}

#[test]
fn every_sample_converts_to_every_format_without_an_error_of_the_new_card() {
    for name in [
        "a2a-0.1",
        "a2a-0.2",
        "a2a-0.3",
        "a2a-1.0",
        "combined",
        "concordium-badge-2026-07",
        "concordium-legacy",
        "erc8004",
        "society-ai",
        "uumit",
    ] {
        let mut reading = read(&sample(name));
        // What a user would add by options, because these dialects have no place for it.
        let profile = &mut reading.profile;
        // Only its own network reaches an agent by such a URL.
        profile.interfaces.retain(|interface| !interface.url.starts_with("ws-agent:"));
        if profile.interfaces.is_empty() {
            profile.interfaces.push(Interface::http_json("https://agents.example.com/a2a"));
        }
        let provider = || Provider { organization: "Example Labs".into(), url: Some("https://example.com".into()) };
        profile.provider.get_or_insert_with(provider);
        profile.card_url.get_or_insert_with(|| "https://agents.example.com/card.json".into());
        reading.identity.get_or_insert_with(identity).owner.get_or_insert(OWNER.parse().unwrap());
        let context = LintContext { agent_uri: reading.profile.card_url.clone(), chain: None };
        for format in Format::ALL {
            let conversion = convert(&reading, format).unwrap_or_else(|error| panic!("{name} to {format}: {error}"));
            let report = lint(&Document::parse(&conversion.built.bytes), &context);
            let errors: Vec<_> = report
                .findings
                .iter()
                .filter(|found| found.severity == Severity::Error)
                // A network's own scheme and free version texts come from the card, not from the conversion.
                .filter(|found| !matches!(found.code.as_str(), "uri_scheme" | "version_not_semver"))
                .collect();
            assert!(errors.is_empty(), "{name} to {format}: {errors:#?}");
        }
    }
}

#[test]
fn what_cannot_be_carried_is_told_value_by_value() {
    let lost = |name: &str, format: Format| -> Vec<String> {
        let mut reading = read(&sample(name));
        if reading.profile.interfaces.is_empty() {
            reading.profile.interfaces.push(Interface::http_json("https://agents.example.com/a2a"));
        }
        let provider = || Provider { organization: "Example Labs".into(), url: None };
        reading.profile.provider.get_or_insert_with(provider);
        convert(&reading, format).unwrap().lost.into_iter().map(|lost| lost.pointer).collect()
    };
    assert_eq!(lost("combined", Format::Combined), Vec::<String>::new(), "nothing is lost on the way to itself");
    let to_a2a = lost("combined", Format::A2a);
    assert!(to_a2a.iter().any(|pointer| pointer == "/x402Support"), "{to_a2a:?}");
    assert!(to_a2a.iter().all(|pointer| !pointer.starts_with("/skills")), "{to_a2a:?}");
    let society = lost("society-ai", Format::Combined);
    assert!(society.iter().any(|pointer| pointer.ends_with("/pricing/amount_usd")), "{society:?}");
    assert!(society.iter().any(|pointer| pointer == "/metadata/crypto_wallet/address"), "{society:?}");
    let priced = lost("uumit", Format::SocietyAi);
    assert!(priced.iter().any(|pointer| pointer.ends_with("/price_ut")), "a price in another currency: {priced:?}");
}

#[test]
fn a_placeholder_is_lost_and_not_carried_as_an_identity() {
    let mut reading = read(&sample("seed-concordium-legacy"));
    assert_eq!(reading.identity.unwrap().token_id, None);
    reading.profile.interfaces.push(Interface::http_json("https://agents.example.com/a2a"));
    let conversion = convert(&reading, Format::Combined).unwrap();
    assert!(conversion.lost.iter().any(|lost| lost.pointer == "/concordium/token_address"), "{:#?}", conversion.lost);
    assert!(!String::from_utf8(conversion.built.bytes).unwrap().contains("TKN1"));
}

fn lost_of(card: &str, format: Format) -> Vec<String> {
    let mut reading = read_bytes(card.as_bytes()).unwrap();
    reading.identity.get_or_insert_with(identity);
    convert(&reading, format).unwrap().lost.into_iter().map(|lost| lost.pointer).collect()
}

#[test]
fn a_text_of_ones_own_in_the_badge_is_not_silently_replaced() {
    let text = String::from_utf8(built(Format::Combined)).unwrap();
    assert_eq!(lost_of(&text, Format::Combined), Vec::<String>::new());
    let mut card: Value = serde_json::from_str(&text).unwrap();
    let badge = "/capabilities/extensions/0";
    *card.pointer_mut(&format!("{badge}/required")).unwrap() = true.into();
    *card.pointer_mut(&format!("{badge}/description")).unwrap() = "Mine".into();
    *card.pointer_mut(&format!("{badge}/params/verify")).unwrap() = "Ask me.".into();
    assert_eq!(lost_of(&card.to_string(), Format::Combined), Vec::<String>::new(), "they are carried");
    let own = convert(&read(&card), Format::Combined).unwrap().built.bytes;
    let own: Value = serde_json::from_slice(&own).unwrap();
    assert_eq!(own.pointer(badge), card.pointer(badge));
    *card.pointer_mut(&format!("{badge}/required")).unwrap() = "yes".into();
    assert_eq!(lost_of(&card.to_string(), Format::Combined), [format!("{badge}/required")]);
    let to_erc8004 = lost_of(&text, Format::Erc8004);
    for end in ["params/contracts/cis8", "params/verify", "params/owner/account"] {
        assert!(to_erc8004.contains(&format!("{badge}/{end}")), "{end}: {to_erc8004:?}");
    }
}

#[test]
fn empty_values_do_not_vanish_unsaid() {
    let card = r#"{"name":"A","description":"B","version":"1.0.0","supportedInterfaces":[{"url":"https://a.example.org"}],
        "capabilities":{"extensions":[]},"skills":[],"security":[{"oauth":[]}],"x":{},"iconUrl":null}"#;
    assert_eq!(lost_of(card, Format::A2a), ["/capabilities/extensions", "/iconUrl", "/x"]);
    assert_eq!(lost_of(card, Format::Uumit), ["/capabilities/extensions", "/iconUrl", "/security", "/x"]);
}

#[test]
fn a_changed_protocol_version_or_transport_is_told() {
    let card = r#"{"name":"A","description":"B","version":"1.0.0","url":"https://a.example.org","preferredTransport":"GRPC",
        "protocolVersion":"0.2.6","capabilities":{},"skills":[],"additionalInterfaces":[{"url":"https://b.example.org","transport":"X"}]}"#;
    assert_eq!(lost_of(card, Format::A2a), ["/capabilities"]);
    assert_eq!(lost_of(card, Format::A2a0), ["/capabilities", "/protocolVersion"]);
    let uumit = lost_of(card, Format::Uumit);
    let expected =
        ["/additionalInterfaces/0/transport", "/additionalInterfaces/0/url", "/preferredTransport", "/protocolVersion"];
    assert!(expected.iter().all(|pointer| uumit.iter().any(|lost| lost == pointer)), "{uumit:?}");
    let legacy = r#"{"name":"A","description":"B","version":"1.0.0","url":"https://a.example.org/card.json","preferredTransport":"GRPC",
        "protocolVersion":"0.2.6","skills":[],"concordium":{"chain_id":"concordium:testnet","cis8004_contract":{"index":1,"subindex":0,"x":1},
        "cis8_contract":{"index":2,"subindex":0,"note":"mine"}}}"#;
    let expected =
        ["/concordium/cis8004_contract/x", "/concordium/cis8_contract/note", "/preferredTransport", "/protocolVersion"];
    assert_eq!(lost_of(legacy, Format::ConcordiumLegacy), expected);
    let to_erc8004 = lost_of(legacy, Format::Erc8004);
    for pointer in ["/concordium/cis8_contract/index", "/concordium/cis8004_contract/index", "/concordium/chain_id"] {
        assert!(to_erc8004.iter().any(|lost| lost == pointer), "{pointer}: {to_erc8004:?}");
    }
}

#[test]
fn an_overridden_key_is_lost_and_a_long_number_never_silently_rounded() {
    let card = r#"{"name":"Other","name":"A","description":"B","version":"1.0.0","supportedInterfaces":[{"url":"https://a.example.org"}],
        "capabilities":{"extensions":[{"uri":"https://x.example.org","params":{"n":12345678901234567890123}}]},"skills":[]}"#;
    let conversion = convert(&read_bytes(card.as_bytes()).unwrap(), Format::A2a).unwrap();
    let is_carried = String::from_utf8(conversion.built.bytes).unwrap().contains("12345678901234567890123");
    let lost: Vec<_> = conversion.lost.iter().map(|lost| lost.pointer.as_str()).collect();
    assert_eq!(lost.contains(&"/capabilities/extensions/0/params/n"), !is_carried);
    assert!(lost.contains(&"/name"), "{lost:?}");
}

/// The strings of a document, with their pointers.
fn strings(value: &Value, at: String, into: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => into.push((at, text.clone())),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, item)| strings(item, format!("{at}/{n}"), into)),
        Value::Object(members) => members.iter().for_each(|(key, item)| strings(item, format!("{at}/{key}"), into)),
        _ => {}
    }
}

#[test]
fn every_text_of_every_sample_is_carried_or_told() {
    for name in ["a2a-0.1", "a2a-0.2", "a2a-0.3", "a2a-1.0", "combined", "erc8004", "society-ai", "uumit"] {
        let mut reading = read(&sample(name));
        reading.profile.interfaces.push(Interface::http_json("https://agents.example.com/a2a"));
        reading.profile.provider.get_or_insert(Provider { organization: "Example Labs".into(), url: None });
        reading.profile.card_url.get_or_insert_with(|| "https://agents.example.com/card.json".into());
        reading.identity.get_or_insert_with(identity).owner.get_or_insert(OWNER.parse().unwrap());
        for format in Format::ALL {
            let conversion = convert(&reading, format).unwrap();
            let (mut old, mut new) = (Vec::new(), Vec::new());
            strings(&sample(name), String::new(), &mut old);
            strings(&serde_json::from_slice(&conversion.built.bytes).unwrap(), String::new(), &mut new);
            for (pointer, text) in old {
                let told = conversion.lost.iter().any(|lost| pointer.starts_with(&lost.pointer));
                let carried = new.iter().any(|(at, other)| *other == text || at.ends_with(&format!("/{text}")));
                // The marks of a dialect, and what is written differently but means the same.
                let meant = pointer == "/type" || pointer == "/protocol" || pointer.ends_with("/uri");
                let identity = text.starts_with("ccd:") || pointer.starts_with("/concordium/");
                assert!(told || carried || meant || identity, "{name} to {format}: {pointer} {text}");
            }
        }
    }
}

#[test]
fn a_registration_in_another_registry_is_built_without_a_finding() {
    let elsewhere = Registration { agent_id: 7, agent_registry: "ccd:9dd9ca4d19e9393877d2c44b70f89acb:10083.0".into() };
    let profile = Profile { registrations: vec![elsewhere], ..profile("USD") };
    for format in [Format::Combined, Format::Erc8004] {
        let built = build(&profile, Some(&identity()), format).unwrap();
        let report = lint(&Document::parse(&built.bytes), &LintContext::default());
        assert_eq!(report.findings, [], "{format}");
    }
}

/// The registration files that one widely used SDK writes are of an earlier revision of ERC-8004.
#[test]
fn the_names_of_earlier_revisions_of_erc8004_are_carried() {
    let card = r#"{"type":"https://eips.ethereum.org/EIPS/eip-8004#registration-v1","name":"A","description":"B","image":"https://a.example/i.png",
        "endpoints":[{"name":"MCP","endpoint":"https://a.example/mcp","version":"2025-06-18"}],"active":true,"x402support":true}"#;
    let reading = read_bytes(card.as_bytes()).unwrap();
    let converted = convert(&reading, Format::Erc8004).unwrap();
    let new: Value = serde_json::from_slice(&converted.built.bytes).unwrap();
    assert_eq!(new["x402Support"], true);
    assert_eq!(new["services"][0]["endpoint"], "https://a.example/mcp");
    assert_eq!(converted.lost, []);
    let not = card.replace("\"x402support\":true", "\"x402support\":false");
    let converted = convert(&read_bytes(not.as_bytes()).unwrap(), Format::Erc8004).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&converted.built.bytes).unwrap()["x402Support"], false);
}

#[test]
fn what_a_card_says_about_access_stays_in_its_dialect() {
    for (name, format, keys) in [
        ("a2a-0.2", Format::A2a0, ["securitySchemes", "security"]),
        ("a2a-0.3", Format::A2a0, ["securitySchemes", "security"]),
        ("a2a-1.0", Format::A2a, ["securitySchemes", "securityRequirements"]),
    ] {
        let old = sample(name);
        let converted = convert(&read(&old), format).unwrap();
        let new: Value = serde_json::from_slice(&converted.built.bytes).unwrap();
        for key in keys {
            assert_eq!(new[key], old[key], "{name} {key}");
            assert!(converted.lost.iter().all(|lost| lost.pointer != format!("/{key}")), "{name}: {:?}", converted.lost);
        }
        // The other generation has other words for it.
        let other = if format == Format::A2a { Format::A2a0 } else { Format::A2a };
        let converted = convert(&read(&old), other).unwrap();
        let new: Value = serde_json::from_slice(&converted.built.bytes).unwrap();
        for key in keys {
            assert!(new[key].is_null(), "{name} {key}");
            assert!(converted.lost.iter().any(|lost| lost.pointer == format!("/{key}")), "{name}: {:?}", converted.lost);
        }
    }
    let card = r#"{"name":"A","description":"B","version":"1.0.0","url":"https://a.example","capabilities":{"streaming":false},"defaultInputModes":["text"],
        "defaultOutputModes":["text"],"skills":[{"id":"a","name":"a","description":"c","tags":["t"],"security":[{"k":["read"]}]}]}"#;
    let converted = convert(&read_bytes(card.as_bytes()).unwrap(), Format::A2a0).unwrap();
    let new: Value = serde_json::from_slice(&converted.built.bytes).unwrap();
    assert_eq!((new["skills"][0]["security"][0]["k"][0].as_str(), converted.lost), (Some("read"), vec![]));
    assert_eq!(lost_of(card, Format::A2a), ["/skills/0/security"]);
}

#[test]
fn a_registration_file_names_where_the_agent_is_reached() {
    let services = |profile: &Profile| -> Value {
        let built = build(profile, Some(&identity()), Format::Erc8004).unwrap();
        serde_json::from_slice::<Value>(&built.bytes).unwrap()["services"].clone()
    };
    let one = Profile { interfaces: vec![Interface::http_json("https://a.example.org/a2a")], ..Profile::default() };
    let one = Profile { name: "A".into(), description: "B".into(), ..one };
    let expected = serde_json::json!([{"name": "A2A", "endpoint": "https://a.example.org/a2a", "version": "1.0"}]);
    assert_eq!(services(&one), expected);
    assert_eq!(left_out(&one, None, Format::Erc8004), []);
    // An author who names an A2A service has said where, and is told that the interface is not.
    let card = Service { name: "A2A".into(), endpoint: Some("https://a.example.org/agent-card.json".into()), version: None };
    let both = Profile { services: vec![card], ..one };
    assert_eq!(services(&both)[1], Value::Null);
    assert_eq!(left_out(&both, None, Format::Erc8004)[0].pointer, "/interfaces/0");
    // A conversion knows that such a service carries the interface.
    let a2a = r#"{"name":"A","description":"B","version":"1.0.0","supportedInterfaces":[{"url":"https://a.example.org/a2a",
        "protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],
        "defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"D","tags":["t"]}]}"#;
    let lost = lost_of(a2a, Format::Erc8004);
    assert!(lost.iter().any(|pointer| pointer == "/supportedInterfaces/0/protocolBinding"), "{lost:?}");
    assert!(lost.iter().all(|pointer| pointer != "/supportedInterfaces/0/url"), "{lost:?}");
}
