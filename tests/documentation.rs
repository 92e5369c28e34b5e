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
