//! Every example in the documentation that shows a command and its output is run (C-88).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::Command;

use support::card_host::{Answer, CardHost};

/// The examples of a document: each line after `$ ` in a `console` block, with the output that follows it.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let blocks = text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => *output += &format!("{line}\n"),
            (None, None) => panic!("output before any command: {line}"),
        }
    }
    examples
}

#[test]
fn c_88_examples_in_the_documentation_are_what_the_command_prints() {
    let mut run = 0;
    for document in ["README.md"] {
        for (command, expected) in examples(&std::fs::read_to_string(document).unwrap()) {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(words[0], "cardproof", "{document} shows another program: {command}");
            let output = Command::new(env!("CARGO_BIN_EXE_cardproof")).args(&words[1..]).env_clear().output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), expected.trim_end(), "{document}: {command}");
            run += 1;
        }
    }
    assert!(run >= 2, "the documentation has lost its examples");
}

/// A schema that can be used by itself carries the schema of the report; it must be the same everywhere.
#[test]
fn c_62_every_schema_stands_by_itself_and_agrees_on_the_report() {
    let read = |path: &std::path::Path| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut report = read("schemas/report.schema.json".as_ref());
    let outer = report.as_object_mut().unwrap();
    outer.remove("$schema");
    outer.remove("$id");
    let mut seen = 0;
    for file in std::fs::read_dir("schemas").unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let schema = read(&path);
            jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            if let Some(copy) = schema.pointer("/$defs/report") {
                assert_eq!(*copy, report, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 2);
}

#[test]
fn every_note_and_placeholder_and_key_of_an_input_is_documented() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let reasons = read("docs/reasons.md");
    for note in cardproof::verify::NoteCode::ALL {
        assert!(reasons.contains(&format!("| `{note}` | ")), "docs/reasons.md lacks {note}");
    }
    let cards = read("docs/cards.md");
    for (placeholder, meaning) in cardproof::anchor::flow::PLACEHOLDERS {
        let plain = cards.replace('`', "");
        assert!(plain.contains(&format!("| {placeholder} | {meaning} |")), "docs/cards.md lacks {placeholder}");
    }
    // The parser names every key it knows when it meets another one.
    let unknown = |json: &str| serde_json::from_str::<cardproof::card::build::Profile>(json).unwrap_err().to_string();
    for json in [
        r#"{"?": 1}"#,
        r#"{"provider": {"?": 1}}"#,
        r#"{"interfaces": [{"?": 1}]}"#,
        r#"{"capabilities": {"?": 1}}"#,
        r#"{"skills": [{"?": 1}]}"#,
        r#"{"skills": [{"price": {"?": 1}}]}"#,
        r#"{"services": [{"?": 1}]}"#,
        r#"{"registrations": [{"?": 1}]}"#,
        r#"{"verification": {"?": 1}}"#,
    ] {
        let message = unknown(json);
        let (_, keys) = message.split_once("expected").unwrap();
        let keys: Vec<&str> = keys.split('`').skip(1).step_by(2).collect();
        assert!(!keys.is_empty(), "{message}");
        for key in keys {
            assert!(cards.contains(&format!("`{key}`")), "docs/cards.md lacks the key {key}");
        }
    }
    let example = cards.split("```toml").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("card.toml");
    std::fs::write(&input, example).unwrap();
    let mut build = Command::new(env!("CARGO_BIN_EXE_cardproof"));
    let built = build.args(["card", "build", "--input"]).arg(&input).env_clear().output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// One of every key of the input of `card build`.
const EVERY_KEY: &str = r#"{
    "name": "A", "description": "B", "version": "1.0.0", "card_url": "https://a.example.org/card.json", "image": "https://a.example.org/i.png",
    "documentation_url": "https://a.example.org/docs", "provider": {"organization": "X"},
    "interfaces": [{"url": "https://a.example.org/1"}, {"url": "https://a.example.org/2"}],
    "capabilities": {"streaming": true, "push_notifications": true, "state_transition_history": true},
    "input_modes": ["text/plain"], "output_modes": ["text/plain"],
    "skills": [{"id": "s", "name": "S", "description": "Does.", "tags": ["t"], "examples": ["e"], "input_modes": ["text/plain"],
        "output_modes": ["text/plain"], "price": {"amount": "1", "currency": "USD"}}],
    "services": [{"name": "MCP", "endpoint": "https://a.example.org/mcp"}], "supported_trust": ["reputation"], "x402_support": true,
    "active": true, "registrations": [{"agent_id": 1, "agent_registry": "eip155:1:0x8004a169fb4a3325136eb29fa0ceb6d2e539a432"}],
    "verification": {"service": "S"}, "display_name": "A", "tagline": "T", "wallet": "0x52908400098527886E0F7030069857D2E4169EE7",
    "visibility": "public"}"#;

/// The table says which format has a place for which key, and `card build` warns of exactly the others.
#[test]
fn what_a_format_has_no_place_for_is_what_the_table_says() {
    use cardproof::card::build::{ChainIdentity, Format, Profile};
    use cardproof::identity::{Network, TokenId};
    let network = Network::built_in("testnet").unwrap();
    let owner = "3z9dkoTnLi2HEZvjnmKrMec2Gk2NKcEhdi4PugDWzP4GQtZiFa".parse().unwrap();
    let identity = ChainIdentity { token_id: Some(TokenId(1)), owner: Some(owner), ..ChainIdentity::unregistered(&network) };
    let profile: Profile = serde_json::from_str(EVERY_KEY).unwrap();
    let cards = std::fs::read_to_string("docs/cards.md").unwrap();
    let (_, table) = cards.split_once("### What a format has no place for").unwrap();
    let cells = |row: &str| -> Vec<String> { row.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect() };
    let mut rows = table.lines().filter(|line| line.starts_with("| `") || line.starts_with("| key")).map(cells);
    let head = rows.next().unwrap();
    let rows: Vec<Vec<String>> = rows.take_while(|row| row.len() == head.len()).collect();
    let mut top_level = std::collections::BTreeSet::new();
    for (column, format) in Format::ALL.into_iter().enumerate() {
        assert_eq!(head[column + 1], format!("`{format}`"));
        let lost = cardproof::card::convert::left_out(&profile, Some(&identity), format);
        for row in &rows {
            for key in row[0].split('`').skip(1).step_by(2) {
                top_level.insert(key.split(['[', '.']).next().unwrap().to_owned());
                let at = format!("/{}", key.replace("[]", "[0]").replace(['[', '.'], "/").replace(']', ""));
                let is_lost = lost.iter().any(|lost| at == lost.pointer || at.starts_with(&format!("{}/", lost.pointer)));
                assert_eq!(row[column + 1] == "–", is_lost, "{format} {at}: {lost:?}");
            }
        }
    }
    let every: serde_json::Map<String, serde_json::Value> = serde_json::from_str(EVERY_KEY).unwrap();
    assert_eq!(top_level, every.into_iter().map(|(key, _)| key).collect(), "the table has every key");
}

#[test]
fn the_template_of_the_documentation_fills_to_a_clean_card() {
    use cardproof::anchor::flow::{fill, CardValues};
    use cardproof::card::{lint, Document, LintContext};
    use cardproof::identity::{Badge, TokenId, TESTNET};
    let cards = std::fs::read_to_string("docs/cards.md").unwrap();
    let template = cards.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let network = TESTNET.network();
    let owner = "3z9dkoTnLi2HEZvjnmKrMec2Gk2NKcEhdi4PugDWzP4GQtZiFa".parse().unwrap();
    let badge = Badge { contract: network.registry, token_id: TokenId(7) };
    let filled = fill(template.as_bytes(), &CardValues { genesis: network.genesis, badge, owner }).unwrap();
    assert_eq!(lint(&Document::parse(&filled), &LintContext::default()).findings, []);
    let reading = cardproof::card::convert::read_bytes(&filled).unwrap();
    assert_eq!(reading.identity.unwrap().cis8, network.cis8);
}

/// The block under "A local chain" is run as it is pasted, with free ports, and a host of the test's in the place of Python's.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_a_local_chain_runs_as_it_is_pasted() {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let (_, section) = readme.split_once("## A local chain").unwrap();
    let block = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let card = folder.path().join("card.json");
    let host = CardHost::http(move |_| Answer::ok(std::fs::read(&card).unwrap_or_default())).await;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut script = block.to_owned();
    for (as_written, here) in [
        ("python3 -m http.server 8000 --bind 127.0.0.1", "sleep 60"),
        ("http://127.0.0.1:8000/card.json", &*host.url("/card.json")),
        ("cardproof devnet", &format!("cardproof devnet --port {port}")),
    ] {
        assert!(script.contains(as_written), "{as_written}: {block}");
        script = script.replace(as_written, here);
    }
    let tool = std::path::Path::new(env!("CARGO_BIN_EXE_cardproof")).parent().unwrap().display();
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(&folder).env_clear().kill_on_drop(true);
    command.env("PATH", format!("{tool}:/usr/bin:/bin")).env("HOME", folder.path());
    command.env("CARDPROOF_NODE", format!("http://127.0.0.1:{port}"));
    let run = tokio::time::timeout(std::time::Duration::from_secs(60), command.output());
    let output = run.await.expect("the example ends").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("agent      0 of") && said.contains("(match)"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
