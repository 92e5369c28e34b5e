//! `cardproof card lint` as a process: exit codes, lines for people, the JSON document.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::{replaced, sample};

fn lint(args: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
    command.args(["card", "lint"]).args(args).env_clear();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that is refused does not read.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn errors_alone_are_denied_unless_told_otherwise() {
    let clean = sample("a2a-1.0");
    let warned = replaced(&sample("a2a-0.3"), "https://harbour.example.org/docs", "http://harbour.example.org/docs");
    let broken = replaced(&sample("concordium-legacy"), "\"1.0.0\"", "\"1\"");
    for (card, deny, expected) in [
        (&clean, None, 0),
        (&clean, Some("info"), 0),
        (&warned, None, 0),
        (&warned, Some("warning"), 1),
        (&warned, Some("info"), 1),
        (&warned, Some("card_url_insecure"), 1),
        (&warned, Some("card_url_not_public,version_not_semver"), 0),
        (&broken, None, 1),
        (&broken, Some("warning"), 1),
        (&broken, Some("none"), 0),
        (&broken, Some("card_url_insecure"), 0),
    ] {
        let args: Vec<&str> = ["-"].into_iter().chain(deny.into_iter().flat_map(|deny| ["--deny", deny])).collect();
        assert_eq!(code(&lint(&args, card.as_bytes())), expected, "{deny:?}");
    }
    let unknown = lint(&["-", "--deny", "everything"], b"{}");
    assert_eq!(code(&unknown), 2);
    assert!(unknown.stdout.is_empty());
}

#[test]
fn a_finding_is_one_line_with_its_place() {
    let output = lint(&["tests/cards/seed-concordium-legacy.json"], b"");
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("tests/cards/seed-concordium-legacy.json:26:22 error placeholder "), "{text}");
    assert!(lines[1].contains("concordium-legacy; errors 1, warnings 0, infos 0; sha256 3d92634627b5"), "{text}");
    assert!(output.stderr.is_empty());
}

#[test]
fn what_a_card_holds_is_escaped_on_its_way_to_a_terminal() {
    let card = replaced(&sample("society-ai"), "#eef2ff", "\\u001b]8;;https://evil.example\\u0007\\u202e");
    let text = stdout(&lint(&["-"], card.as_bytes()));
    assert!(text.contains("invalid_colour") && !text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
}

#[test]
fn c_59_the_json_document_is_alone_on_stdout_and_valid() {
    let schema: Value = serde_json::from_str(&std::fs::read_to_string("schemas/lint.schema.json").unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let garbage: &[u8] = b"\xff\x00{";
    for (args, stdin) in [
        (&["-", "--json"][..], sample("combined").into_bytes()),
        (&["-", "--json", "-v"], garbage.to_vec()),
        (&["tests/cards/seed-society-ai.json", "--json", "-q"], Vec::new()),
        (&["tests/vectors/card-testnet-287.json", "--json"], Vec::new()),
        (&["data:application/json,%7B%22url%22%3A1%7D", "--json", "--offline"], Vec::new()),
    ] {
        let output = lint(args, &stdin);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {args:?}"));
        assert_eq!(document["schema"], "cardproof.lint/1");
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
    }
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    for (args, expected, said) in [
        (&["no-such-card.json"][..], 2, "cannot be read"),
        (&["https://example.com/card.json", "--offline"], 2, "--offline"),
        (&["484", "--offline"], 2, "--offline"),
        (&["484", "--agent", "484"], 2, "--agent"),
        (&["-", "--agent", "484", "--offline"], 2, "--offline"),
        // The user typed it, so loopback is allowed; nobody listens on this port.
        (&["https://127.0.0.1:2/card.json", "--timeout", "2s"], 3, "127.0.0.1"),
    ] {
        let output = lint(args, b"{}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(code(&output), expected, "{args:?}: {told}");
        assert!(told.contains(said), "{args:?}: {told}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}
