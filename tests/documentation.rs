//! Every example in the documentation that shows a command and its output is run (C-88).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

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
