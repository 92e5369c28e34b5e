//! The command `cardproof devnet`: what it prints, what it writes, and how it ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

fn devnet(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cardproof"))
        .args(["devnet", "--port", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Asks the process to end, and gives its exit code and what it wrote besides what was read.
fn end(mut process: Child) -> (Option<i32>, String, String) {
    let status = Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap();
    assert!(status.success());
    let (mut out, mut err) = (String::new(), String::new());
    if let Some(mut stdout) = process.stdout.take() {
        stdout.read_to_string(&mut out).unwrap();
    }
    process.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (process.wait().unwrap().code(), out, err)
}

#[test]
fn the_json_line_is_as_its_schema_says_and_the_wallets_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut process = devnet(&["--json", "--preset", "mainnet-like", "--data-dir", data.to_str().unwrap()]);
    let mut line = String::new();
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let document: serde_json::Value = serde_json::from_str(&line).unwrap();
    let schema = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/devnet.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let errors: Vec<_> = jsonschema::validator_for(&schema).unwrap().iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{line}");
    assert_eq!(document["registry"]["index"], "10082");
    assert_eq!(document["accounts"].as_array().unwrap().len(), 10);
    for account in document["accounts"].as_array().unwrap() {
        let path = account["wallet_file"].as_str().unwrap();
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{path}");
        let wallet: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(wallet["value"]["address"], account["address"]);
        // The secret key is in the file and nowhere else.
        let secret = wallet["value"]["accountKeys"]["keys"]["0"]["keys"]["0"]["signKey"].as_str().unwrap();
        assert!(!line.contains(secret));
    }
    let (code, _, err) = end(process);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("for development and tests"), "{err}");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "one line is all");
}

#[test]
fn people_are_told_where_everything_is() {
    let mut process = devnet(&["--accounts", "2"]);
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    let mut lines = Vec::new();
    for _ in 0..6 {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        lines.push(line);
    }
    let text = lines.concat();
    for expected in [
        "node          http://127.0.0.1:",
        "genesis hash  ",
        "registry      <2,0> (CIS-8004, module ",
        "key registry  <1,0> (CIS-8)",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(lines[5].starts_with("account 1 ") && lines[5].contains(" 1000000 CCD"), "{text}");
    let (code, _, err) = end(process);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("try: cardproof show 0 --node http://127.0.0.1:"), "{err}");
}

#[test]
fn impossible_settings_are_usage_errors() {
    for arguments in [&["--preset", "stagenet"][..], &["--accounts", "0"], &["--block-time", "0s"], &["--block-time", "soon"]] {
        let out = devnet(arguments).wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{arguments:?} {out:?}");
        assert!(out.stdout.is_empty(), "{arguments:?}");
    }
}

/// The README's first command: every step must show what it says, or the demo itself fails.
#[test]
fn the_demo_shows_every_verdict_and_leaves_nothing_behind() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let demo = |json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
        command.arg("demo").args(json.then_some("--json")).env("TMPDIR", folder.path()).env("HOME", home.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let left = || std::fs::read_dir(folder.path()).unwrap().count();
    let output = demo(true).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/demo.schema.json")).unwrap();
    assert!(jsonschema::is_valid(&serde_json::from_str(&schema).unwrap(), &document), "{document:#}");
    assert_eq!(document["steps"].as_array().unwrap().len(), 10, "{document:#}");
    assert_eq!(left(), 0);
    // Somebody reads only the first line, as `cardproof demo | head -1` does.
    let mut child = demo(false).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("A local chain"), "{first}");
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert_eq!(left(), 0);
}
