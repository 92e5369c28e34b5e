//! What the command reads: names that are not text, and a standard input that is closed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::{OsStr, OsString};
use std::process::{Command, Output, Stdio};

const CARD: &str = "tests/vectors/card-testnet-287.json";

fn cardproof(args: &[&OsStr]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
    command.args(args).env_clear().stdin(Stdio::null());
    command
}

fn words(line: &str) -> Vec<&OsStr> {
    line.split(' ').map(OsStr::new).collect()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A name of bytes that are no text.
#[cfg(unix)]
fn odd(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(target_os = "linux")]
#[test]
fn hash_prints_to_the_byte_what_sha256sum_prints() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        &b"plain.json"[..],
        b"not \xff text",
        b"line\nbreak",
        b"back\\slash",
        b"re\rturn",
        b"esc\x1b[31m",
        "m\u{202e}ix".as_bytes(),
    ];
    let names: Vec<OsString> = names.iter().map(|name| odd(name)).collect();
    for name in &names {
        std::fs::copy(CARD, folder.path().join(name)).unwrap();
    }
    let ours = cardproof(&[OsStr::new("hash")]).args(&names).current_dir(&folder).output().unwrap();
    assert_eq!(code(&ours), 0, "{}", stderr(&ours));
    let theirs = Command::new("sha256sum").args(&names).current_dir(&folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&theirs.stdout));
    std::fs::write(folder.path().join("sums"), &ours.stdout).unwrap();
    let checked = Command::new("sha256sum").args(["--check", "--status", "sums"]).current_dir(&folder).status().unwrap();
    assert!(checked.success(), "sha256sum reads our lines");
}

/// `sh` closes it, as a service or a cron job may.
#[cfg(unix)]
#[test]
fn a_closed_standard_input_is_an_error_and_not_an_empty_document() {
    let lines = [
        "hash -",
        "verify -",
        "verify --expect-hash 6ac669950e9b18c444e549474615c0ce6555910b1e59ab6a599351cf31e10c38 --file -",
        "card lint -",
        "card explain -",
        "card set - name x",
        "card build --input -",
        "agents import -",
        "tx inspect -",
        "tx sign -",
        "tx send -",
        "tx status -",
        "anchor 1 --trust-url --yes --node http://127.0.0.1:1 --keys -",
    ];
    let folder = tempfile::tempdir().unwrap();
    for line in lines {
        let command = format!("exec \"$0\" {line} <&-");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command, env!("CARGO_BIN_EXE_cardproof")]).env_clear().env("HOME", folder.path());
        let output = shell.current_dir(&folder).output().unwrap();
        assert_eq!((code(&output), output.stdout.len()), (2, 0), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains("standard input is closed"), "{line}: {}", stderr(&output));
    }
}

#[test]
fn an_empty_standard_input_is_an_empty_document() {
    let output = cardproof(&words("hash -")).output().unwrap();
    let empty = b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  -\n";
    assert_eq!((code(&output), output.stdout.as_slice()), (0, &empty[..]), "{}", stderr(&output));
}

#[test]
fn a_no_to_plain_http_or_private_addresses_holds_for_a_url_that_was_typed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/card.json", listener.local_addr().unwrap());
    for (option, why) in
        [("--allow-http=false", "plain http is not fetched"), ("--allow-private=false", "it is this machine itself")]
    {
        for command in ["hash", "card lint"] {
            let output = cardproof(&words(&format!("{command} {option} {url}"))).output().unwrap();
            assert!(code(&output) != 0 && stderr(&output).contains(why), "{command} {option}: {}", stderr(&output));
        }
    }
    assert!(listener.accept().is_err(), "nothing was connected to");
}

/// Linux takes any bytes for a name.
#[cfg(target_os = "linux")]
#[test]
fn a_file_may_have_a_name_that_is_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let name = odd(b"card \xff.json");
    std::fs::copy(CARD, folder.path().join(&name)).unwrap();
    let run = |before: &str, after: &str| {
        let mut command = cardproof(&words(before));
        command.arg(&name).args(after.split_whitespace()).env("HOME", folder.path()).current_dir(&folder);
        command.output().unwrap()
    };
    for (before, after) in [
        ("hash", ""),
        ("card lint", "--deny none"),
        ("card explain", ""),
        ("card convert --to erc8004", ""),
        ("card diff -- card.json", ""),
        ("card set", "description New"),
        ("verify --fail-on none --expect-hash 6ac669950e9b18c444e549474615c0ce6555910b1e59ab6a599351cf31e10c38 --file", ""),
    ] {
        std::fs::copy(CARD, folder.path().join("card.json")).unwrap();
        let output = run(before, after);
        assert_eq!(code(&output), 0, "{before}: {}", stderr(&output));
    }
    for (before, after) in [
        ("tx inspect", ""),
        ("tx sign", ""),
        ("tx send", ""),
        ("tx status", ""),
        ("anchor 1 --trust-url --yes --node http://127.0.0.1:1 --allow-open-key-file --keys", ""),
        ("card build --input", ""),
        ("agents import", ""),
    ] {
        let output = run(before, after);
        let said = stderr(&output);
        assert!(matches!(code(&output), 1 | 2) && !said.contains("UTF-8") && said.lines().count() <= 2, "{before}: {said}");
    }
}

#[test]
fn a_name_that_is_no_text_and_no_file_is_named_in_one_sentence() {
    #[cfg(unix)]
    for command in ["hash", "card lint", "card explain", "tx inspect", "tx status", "tx send", "tx sign"] {
        let name = odd(b"none \xff\x1b[31m");
        let output = cardproof(&words(command)).arg(&name).output().unwrap();
        let said = stderr(&output);
        assert!(said.starts_with("error: none \u{fffd}\\u{1b}[31m ") && said.lines().count() == 1, "{command}: {said}");
        assert_eq!(code(&output), 2, "{command}");
    }
}

/// Exit codes: what is not what a command takes is refused before any work (2), whatever makes it so. Where what is in the file is
/// the very question, the answer is no (1).
#[test]
fn the_same_mistake_has_the_same_exit_code_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let digest = "6ac669950e9b18c444e549474615c0ce6555910b1e59ab6a599351cf31e10c38";
    let sender = "3kBx2h5Y2veb4hZgAJWPrr8RyQESKm5TjzF3ti1QQ4VSYLwK1G";
    let register = format!("tx register --build-only --sender {sender} --nonce 1 --expiry 10m --energy 9000");
    let (question, other) = (1, 2);
    for (command, after, garbage) in [
        ("tx inspect", "", other),
        ("tx sign", "", other),
        ("tx send --yes", "", other),
        ("tx status", "", other),
        (&format!("{register} --parameter-json"), "", other),
        ("anchor 1 --yes --trust-url --node http://127.0.0.1:1 --allow-open-key-file --keys", "", other),
        ("verify --list", "", other),
        ("agents import", "", other),
        ("card build --input", "", other),
        ("card convert --to erc8004", "", other),
        ("card explain", "", other),
        ("card set", "name x", other),
        ("token 1 --config", "", other),
        ("card lint", "", question),
        ("card diff good.json", "", question),
        (&format!("verify --expect-hash {digest} --file"), "", question),
    ] {
        write("good.json", &std::fs::read(CARD).unwrap());
        write("garbage", b"not json");
        write("binary", b"\xff\xfe\0");
        write("schema.json", b"[{\"schema\": \"of another program\"}]");
        for (file, expected) in
            [("none", other), ("folder", other), ("garbage", garbage), ("binary", garbage), ("schema.json", garbage)]
        {
            let mut run = cardproof(&words(command));
            run.arg(file).args(after.split_whitespace()).env("HOME", folder.path()).current_dir(&folder);
            let output = run.output().unwrap();
            assert_eq!(code(&output), expected, "{command} {file} {after}: {}", stderr(&output));
        }
    }
    for url in ["http://cards.example/c", "https://10.0.0.1/c\u{a0}", "https://169.254.169.254/", "https://cards.example:22/c"] {
        for command in ["hash", "card lint", "card explain"] {
            let output = cardproof(&words(command)).arg(url).output().unwrap();
            assert_eq!(code(&output), 2, "{command} {url}: {}", stderr(&output));
        }
    }
}
