//! Good cards of every dialect, and the examples of the documentation.

use cardproof::card::{Code, Severity};
use cardproof::digest::Sha256Digest;

use super::{lint_alone, sample, told};

#[test]
fn a_sample_of_each_dialect_is_recognised_and_clean() {
    for (name, dialects) in [
        ("erc8004", &["erc8004"][..]),
        ("a2a-1.0", &["a2a-1.0"]),
        ("a2a-0.1", &["a2a-0.x"]),
        ("a2a-0.2", &["a2a-0.x"]),
        ("a2a-0.3", &["a2a-0.x"]),
        ("concordium-legacy", &["concordium-legacy"]),
        ("concordium-badge-2026-07", &["a2a-0.x", "concordium-badge-2026-07"]),
        ("combined", &["erc8004", "a2a-1.0", "concordium-badge-v1"]),
        ("society-ai", &["a2a-0.x", "society-ai"]),
        ("uumit", &["a2a-0.x", "uumit"]),
    ] {
        let report = lint_alone(sample(name).as_bytes());
        let recognised: Vec<&str> = report.dialects.iter().map(|dialect| dialect.as_str()).collect();
        assert_eq!(recognised, dialects, "{name}");
        assert_eq!(report.findings, [], "{name}");
    }
}

#[test]
fn the_examples_of_the_documentation_have_no_finding_but_their_placeholders() {
    for (name, dialect, placeholders) in [
        ("seed-society-ai", "society-ai", &["placeholder /metadata/crypto_wallet/address"][..]),
        ("seed-concordium-legacy", "concordium-legacy", &["placeholder /concordium/token_address"]),
        ("seed-uumit", "uumit", &[]),
    ] {
        let report = lint_alone(sample(name).as_bytes());
        assert!(report.dialects.iter().any(|recognised| recognised.as_str() == dialect), "{name}: {:?}", report.dialects);
        assert_eq!(told(&report.findings), placeholders, "{name}");
    }
}

#[test]
fn the_real_card_of_testnet_287_lacks_only_what_real_cards_lack() {
    let bytes = std::fs::read("tests/vectors/card-testnet-287.json").unwrap();
    let report = lint_alone(&bytes);
    let lacking = ["/description", "/image", "/services/0/endpoint"].map(|pointer| format!("missing_expected_field {pointer}"));
    assert_eq!(told(&report.findings), lacking);
    assert_eq!(report.worst(), Some(Severity::Info));
    assert_eq!((report.bytes, report.sha256), (282, Sha256Digest::of(&bytes)));
}

/// The services of an ERC-8004 agent may be reached by other names than URLs, and its picture need not be on the web.
#[test]
fn endpoints_and_pictures_of_other_kinds_have_no_finding() {
    let card = |endpoint: &str, image: &str| {
        format!(
            r#"{{"type":"https://eips.ethereum.org/EIPS/eip-8004#registration-v1","name":"n","description":"Zeile eins\n\nיום 2",
                "image":"{image}","services":[{{"name":"s","endpoint":"{endpoint}"}}]}}"#
        )
    };
    for endpoint in [
        "eip155:1:0x52908400098527886E0F7030069857D2E4169EE7",
        "agent.eth",
        "did:web:a.example",
        "stdio",
        "npx -y a",
        "a@b.example",
    ] {
        assert_eq!(told(&lint_alone(card(endpoint, "ipfs://bafy").as_bytes()).findings), [] as [String; 0], "{endpoint}");
    }
    for image in ["data:image/png;base64,iVBO", "ipfs://bafy/a.png", "ar://abc", "https://a.example/a.png"] {
        assert_eq!(told(&lint_alone(card("agent.eth", image).as_bytes()).findings), [] as [String; 0], "{image}");
    }
}

/// What real projects write besides the specification must not be called an error.
#[test]
fn shapes_of_real_projects_have_no_errors() {
    for card in [
        // A sample server before it is deployed.
        r#"{"name":"Hello","description":"Just hello","url":"http://localhost:9999/","version":"1.0.0","capabilities":{"streaming":true},
            "defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[{"id":"hello","name":"Hello","description":"x","tags":["hello"],"examples":["hi"]}]}"#,
        // A serialiser that writes null for what is absent.
        r#"{"name":"n","description":"d","url":"https://a.example/","version":"0.0.1","provider":null,"documentationUrl":null,"iconUrl":null,
            "preferredTransport":null,"additionalInterfaces":null,"capabilities":{"streaming":null,"pushNotifications":null,"extensions":null},
            "securitySchemes":null,"security":null,"authentication":null,"signatures":null,"supportsAuthenticatedExtendedCard":null,
            "defaultInputModes":null,"defaultOutputModes":null,
            "skills":[{"id":"a","name":"A","description":null,"tags":null,"examples":null,"inputModes":null,"outputModes":null}]}"#,
        // No capabilities set, no skills yet, a version of the project's own, fields of the project's own.
        r#"{"name":"n","description":"","url":"https://a.example/rpc?tenant=1","version":"v2","capabilities":{},"skills":[],
            "metadata":{"team":"x"},"endpoints":{"rpc":"/rpc"},"$schema":"https://a.example/schema.json","id":"urn:agent:1"}"#,
        // Several extensions, numbers and objects among the unknown.
        r#"{"name":"n","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
            "capabilities":{"extensions":[{"uri":"urn:x:y"},{"uri":"https://b.example/ext","params":{"a":[1]}}],"stateTransitionHistory":true},
            "defaultInputModes":[],"defaultOutputModes":[],"skills":[],"x":{"y":[1e3,-2.5]}}"#,
        // An interim 1.0 card that still has the url of 0.3.
        r#"{"name":"n","description":"d","version":"1","url":"https://a.example","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"GRPC","protocolVersion":"1.0"}],
            "capabilities":{"streaming":true},"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[]}"#,
        // An ERC-8004 file with the addresses its examples use.
        r#"{"type":"https://eips.ethereum.org/EIPS/eip-8004#registration-v1","name":"n","description":"d","image":"https://a.example/i.png",
            "services":[{"name":"OASF","endpoint":"ipfs://bafy","version":"0.7","skills":[],"domains":[]},
            {"name":"agentWallet","endpoint":"eip155:1:0x742d35Cc6634C0532925a3b844Bc454e4438f44e"}],
            "registrations":[],"supportedTrust":[],"url":"https://a.example"}"#,
    ] {
        let report = lint_alone(card.as_bytes());
        let errors: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{card}\n{errors:#?}");
    }
}

#[test]
fn the_documentation_has_a_row_for_every_code() {
    let documentation = std::fs::read_to_string("docs/card-findings.md").unwrap();
    for code in Code::ALL {
        let row = format!("| `{code}` | {} | {} |", code.severity(), code.sentence());
        assert!(documentation.contains(&row), "docs/card-findings.md lacks the row {row}");
    }
    let rows = documentation.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, Code::ALL.len(), "docs/card-findings.md has a row for no code");
}

#[test]
fn a_service_without_name_or_endpoint_and_a_registry_without_name_are_told() {
    let card = r#"{"type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1", "name": "A", "description": "B",
        "image": null, "services": [{"name": "MCP"}, {"endpoint": null}], "registrations": [{"agentId": 1, "agentRegistry": ""}]}"#;
    let report = super::lint_alone(card.as_bytes());
    let expected = [
        "missing_expected_field /image",
        "missing_expected_field /services/0/endpoint",
        "missing_expected_field /services/1/name",
        "missing_expected_field /services/1/endpoint",
        "empty_value /registrations/0/agentRegistry",
    ];
    assert_eq!(super::told(&report.findings), expected);
    assert_eq!((report.findings[0].line, report.findings[0].column), (2, 18), "a null has a place of its own");
}

#[test]
fn a_picture_written_out_in_a_data_uri_is_no_error() {
    let picture = "data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg'></svg>";
    let card = format!("{{\"name\": \"A\", \"description\": \"B\", \"type\": \"https://eips.ethereum.org/EIPS/eip-8004#registration-v1\", \"image\": \"{picture}\"}}");
    assert_eq!(super::told(&super::lint_alone(card.as_bytes()).findings), [] as [String; 0]);
}

#[test]
fn a_name_that_a_url_cannot_hold_is_one_finding() {
    for name in [".", "..", "a b"] {
        let card = super::sample("society-ai");
        let at = card.find("\"name\": \"").unwrap() + "\"name\": \"".len();
        let end = at + card[at..].find('"').unwrap();
        let told = super::told(&super::lint_alone(format!("{}{name}{}", &card[..at], &card[end..]).as_bytes()).findings);
        assert_eq!(told, ["name_not_url_safe /name"], "{name}");
    }
}

/// One registry has one token for an agent; another registry of the same chain has another.
#[test]
fn a_registration_in_another_registry_of_the_same_chain_is_no_conflict() {
    let elsewhere = r#""registrations": [{ "agentId": 7, "agentRegistry": "ccd:9dd9ca4d19e9393877d2c44b70f89acb:10083.0" },"#;
    let card = super::replaced(&sample("combined"), "\"registrations\": [", elsewhere);
    assert_eq!(told(&lint_alone(card.as_bytes()).findings), [] as [String; 0]);
    let twice = card.replace("10083.0", "10082.0");
    assert_eq!(told(&lint_alone(twice.as_bytes()).findings), ["conflicting_token_address /registrations/0/agentId"]);
}

#[test]
fn every_accepted_form_of_a_value_is_no_finding() {
    for (name, from, to) in [
        ("concordium-badge-2026-07", "\"10082,0\"", "\"<10082,0>\""),
        ("concordium-badge-2026-07", "\"10081,0\"", "\"10081\""),
        ("concordium-legacy", "\"1.0.0\"", "\"99999999999999999999.0.0-rc.1\""),
        ("erc8004", "{ \"index\": 10081, \"subindex\": 0 }", "\"10081,0\""),
        ("erc8004", "{ \"index\": 10081, \"subindex\": 0 }", "\"<10081,0>\""),
        ("erc8004", "{ \"index\": 10081, \"subindex\": 0 }", "\"ccd:9dd9ca4d19e9393877d2c44b70f89acb:10081.0\""),
        (
            "erc8004",
            "\"services\": [",
            "\"endpoints\": [{\"name\": \"A2A\", \"endpoint\": \"https://a.example.com/\"}], \"services\": [",
        ),
        (
            "erc8004",
            "\"name\": \"Weather Desk\"",
            "\"name\": \"Weather \u{1f468}\u{200d}\u{1f4bb} \\ud83c\\udff3\\ufe0f\\u200d\\ud83c\\udf08\"",
        ),
        ("erc8004", "https://weather.example.com/mcp", "https://weather.example.com/m%20cp?q=%C3%a9"),
        ("uumit", "\"price_ut\": 3", "\"price_ut\": \"0.05\""),
        ("uumit", "\"price_ut\": 3", "\"price_ut\": 1e2"),
        ("a2a-0.3", "\"https://harbour.example.org\"", "\"mailto:harbour@example.org\""),
    ] {
        let card = super::replaced(&sample(name), from, to);
        assert_eq!(told(&lint_alone(card.as_bytes()).findings), [] as [String; 0], "{name}: {to}");
    }
}

#[test]
fn an_external_reference_without_a_payload_says_what_it_lacks() {
    let payload = "{ \"namespace\": \"solana:main\", \"key_type\": \"ed25519\", \"public_key\": \"a4abdcb4\" }";
    let card = super::replaced(&sample("erc8004"), payload, "{}");
    let lacking =
        ["key_type", "namespace", "public_key"].map(|field| format!("missing_field /externalReference/kind/payload/{field}"));
    assert_eq!(told(&lint_alone(card.as_bytes()).findings), lacking);
    let other = card.replace("\"Cis8\"", "\"Later\"");
    assert_eq!(told(&lint_alone(other.as_bytes()).findings), ["empty_value /externalReference/kind/payload"]);
}
