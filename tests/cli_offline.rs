//! What the command does without a network: token conversion, hashing, expected digests, configuration, exit codes, streams.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::command::assert_valid;

const CARD: &str = "tests/vectors/card-testnet-287.json";
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000001";
const DIGEST: &str = "6ac669950e9b18c444e549474615c0ce6555910b1e59ab6a599351cf31e10c38";

fn cardproof(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
    command.args(args).env_clear().stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    cardproof(args).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn a_token_converts_between_all_its_names() {
    for agent in [
        "484",
        "Mf22soLh1NuZYFgBK8iSs",
        "2aAoYxy1ZiYPurfRrNHQAy8",
        "hex:e401000000000000",
        "ccd:mainnet/cis-2:Mf22soLh1NuZYFgBK8iSs",
    ] {
        let output = run(&["token", agent, "--json"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let document = json(&output);
        assert_valid("token", &document);
        assert_eq!(document["token_id"], "484");
        assert_eq!(document["token_id_hex"], "e401000000000000");
        assert_eq!(document["badge"], "Mf22soLh1NuZYFgBK8iSs", "only one form is printed");
        assert_eq!(document["caip19"], "ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs");
        assert_eq!(document["network"], "mainnet");
    }
}

#[test]
fn a_badge_of_an_unknown_contract_does_not_name_a_network() {
    let badge = json(&run(&["token", "5", "--contract", "77", "--json"]))["badge"].as_str().unwrap().to_owned();
    let document = json(&run(&["token", &badge, "--json"]));
    assert_valid("token", &document);
    assert_eq!((&document["network"], &document["caip19"]), (&Value::Null, &Value::Null));
    assert!(stdout(&run(&["token", &badge])).contains("a badge does not name its network"));
    let document = json(&run(&["token", &badge, "--json", "--network", "testnet"]));
    assert_eq!(document["caip19"], format!("ccd:4221332d34e1694168c2a0c0b3fd0f27/cis-2:{badge}"));
    let other = format!("ccd:{}/cis-2:{badge}", "0f".repeat(16));
    let text = stdout(&run(&["token", &other]));
    assert!(text.contains("no known network has the chain ccd:0f0f") && text.contains(&other), "{text}");
}

#[test]
fn a_badge_of_a_built_in_registry_is_of_its_network_unless_another_is_typed() {
    let badge = "JyP9UULNJGYEmchgQB4fw";
    let network = |command: &mut Command| json(&command.output().unwrap())["network"].as_str().unwrap().to_owned();
    assert_eq!(network(&mut cardproof(&["token", badge, "--json"])), "testnet");
    assert_eq!(network(cardproof(&["token", badge, "--json"]).env("CARDPROOF_NETWORK", "devnet")), "testnet");
    let typed = ["token", badge, "--json", "--network", "devnet"];
    assert_eq!(network(&mut cardproof(&typed)), "devnet");
    assert_eq!(network(cardproof(&typed).env("CARDPROOF_NETWORK", "devnet")), "devnet");
}

#[test]
fn the_three_forms_of_a_contract_and_the_precedence_flag_environment_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cardproof.toml");
    std::fs::write(&path, "network = \"testnet\"\ncontract = \"7,0\"\n").unwrap();
    let path = path.to_str().unwrap();
    let index = |command: &mut Command| json(&command.output().unwrap())["contract"]["index"].as_str().unwrap().to_owned();
    assert_eq!(index(&mut cardproof(&["token", "1", "--json", "--config", path])), "7");
    assert_eq!(index(cardproof(&["token", "1", "--json", "--config", path]).env("CARDPROOF_CONTRACT", "<8,0>")), "8");
    let flag = ["token", "1", "--json", "--config", path, "--contract", "9"];
    assert_eq!(index(cardproof(&flag).env("CARDPROOF_CONTRACT", "8,0")), "9");
    let by_environment = json(&cardproof(&["token", "1", "--json"]).env("CARDPROOF_CONFIG", path).output().unwrap());
    assert_eq!(by_environment["network"], "testnet");
    let xdg = folder.path().join("cardproof");
    std::fs::create_dir(&xdg).unwrap();
    std::fs::copy(path, xdg.join("cardproof.toml")).unwrap();
    let home = folder.path().to_str().unwrap();
    assert_eq!(index(cardproof(&["token", "1", "--json"]).env("HOME", home).env("XDG_CONFIG_HOME", home)), "7");
}

/// The node and contract beside `network` in the file are that network's: choosing another by a flag leaves them behind.
#[test]
fn a_network_chosen_by_a_flag_does_not_get_the_configured_networks_contract() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    std::fs::write(&path, "network = \"testnet\"\ncontract = \"7,0\"\nnode = [\"http://127.0.0.1:1\"]\n").unwrap();
    let path = path.to_str().unwrap();
    let document = json(&run(&["token", "1", "--json", "--network", "mainnet", "--config", path]));
    assert_eq!(document["contract"]["index"], "10082");
    let ran = run(&["verify", "1", "--network", "devnet", "--config", path, "--node-timeout", "1s"]);
    assert!(stdout(&ran).contains("127.0.0.1:20100") || code(&ran) != 3, "{}", stdout(&ran));
}

#[test]
fn a_network_of_the_configuration_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    let table = format!(
        "[networks.stage]\ngenesis_hash = \"{}\"\nregistry = \"5,0\"\nnode = [\"http://127.0.0.1:1\"]\n",
        "ab".repeat(32)
    );
    std::fs::write(&path, table).unwrap();
    let document = json(&run(&["token", "1", "--json", "--network", "stage", "--config", path.to_str().unwrap()]));
    assert_eq!(document["caip19"].as_str().unwrap().split('/').next().unwrap(), format!("ccd:{}", "ab".repeat(16)));
}

#[test]
fn bad_input_is_one_clear_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.toml");
    std::fs::write(&broken, "fetch.proxy = \"http://u:geheim@p\"\nnetwork = 3\n").unwrap();
    let broken = broken.to_str().unwrap();
    for (args, says) in [
        (&["token", "abc"][..], "badge"),
        (&["token", "18446744073709551616"], "0 to 18446744073709551615"),
        (&["token", "1", "--contract", "x"], "10082,0"),
        (&["token", "1", "--network", "stagenet"], "no network named stagenet"),
        (&["token", "1", "--config", "/does/not/exist.toml"], "cannot be read"),
        (&["token", "1", "--config", broken], "line 2"),
        (&["token", "\x1b]0;evil\x07"], "\\u{1b}"),
        (&["verify"], "required"),
        (&["verify", "1", "--offline"], "--offline"),
        (&["verify", "Mf22soLh1NuZYFgBK8iSs", "--network", "testnet"], "--network mainnet"),
        (&["verify", "JyP9UULNJGYEmchgQB4fw", "--contract", "7", "--network", "devnet"], "--network testnet"),
        (&["verify", "4FxuUP6fqy5Qmp5DHEqq", "--contract", "7", "--genesis-hash", GENESIS], "--network devnet"),
        (&["verify", "ccd:mainnet/cis-2:Mf22soLh1NuZYFgBK8iSs", "--network", "testnet"], "another network"),
        (&["verify", "1", "--quorum", "2", "--node", "http://127.0.0.1:1"], "quorum"),
        (&["verify", "1", "--proxy", "http://u:geheim@p"], "CARDPROOF_PROXY"),
        (&["verify", "1", "--node", "http://127.0.0.1:1/key?token=geheim"], "host and port alone"),
        (&["verify", "1", "--fail-on", "none,absent"], "none"),
        (&["verify", "--expect-hash", DIGEST], "--url"),
        (&["verify", "0", "--file", CARD], "--file"),
        (&["verify", "0", "--url", "https://example.com"], "--url"),
        (&["verify", "--expect-hash", "zz", "--file", CARD], "64 hexadecimal digits"),
        (&["verify", "--expect-hash", DIGEST, "--file", "/does/not/exist"], "cannot be read"),
        (&["hash", "/does/not/exist"], "cannot be read"),
        (&["hash", "https://example.com/card.json", "--offline"], "--offline"),
    ] {
        let output = run(args);
        assert_eq!(code(&output), 2, "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{args:?}: stdout carries results only");
        let text = stderr(&output);
        assert!(text.contains(says), "{args:?} should say {says:?}: {text}");
        assert!(!text.contains('\x1b') && !text.contains("geheim"), "{args:?}: {text}");
        for debris in ["Some(", "None", "Err(", "panicked", "\\\""] {
            assert!(!text.contains(debris), "c_11: {args:?}: {text}");
        }
    }
}

#[test]
fn c_61_an_empty_list_is_refused() {
    let mut child =
        cardproof(&["verify", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\n# nobody\n\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("no agent"));
}

#[test]
fn a_bad_line_of_a_list_is_named_by_its_number() {
    let mut child =
        cardproof(&["verify", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"1\n2\nthree\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("line 3"));
}

#[test]
fn c_59_failures_with_json_are_a_document() {
    let output = run(&["token", "abc", "--json", "-v"]);
    assert_eq!(code(&output), 2);
    let document = json(&output);
    assert_valid("error", &document);
    assert_eq!(document["code"], "usage");
    let unknown_option = run(&["verify", "1", "--jsonn", "--json"]);
    assert_eq!(code(&unknown_option), 2);
    assert_valid("error", &json(&unknown_option));
    assert!(stderr(&unknown_option).contains("--jsonn"));
}

/// What clap says in several lines is one sentence of the document, without what it shows of the usage.
#[test]
fn c_59_what_was_typed_wrongly_is_one_whole_sentence_of_the_document() {
    for (args, message, hint) in [
        (&["verify"][..], "the following required arguments were not provided: ", ""),
        (&["register", "--uri", "u"], "the following required arguments were not provided: --card <FILE>", ""),
        (&["hash", "--algoritm"], "unexpected argument '--algoritm' found", ""),
        (&["doctor", "--nod", "x"], "unexpected argument '--nod' found", "'--node'"),
        (&["verifi"], "unrecognized subcommand 'verifi'", "'verify'"),
        (&["completions", "basic"], "invalid value 'basic' for '<SHELL>' [possible values: bash, ", ""),
        (&["anchor", "1", "--card", "a", "--trust-url"], "'--card <FILE>' cannot be used with '--trust-url'", ""),
        (&["tx"], "'cardproof tx' requires a subcommand but one was not provided [subcommands: ", ""),
        (&[], "'cardproof' requires a subcommand but one was not provided", ""),
    ] {
        let output = run(&[args, &["--json"]].concat());
        assert_eq!(code(&output), 2, "{args:?}");
        let document = json(&output);
        assert_valid("error", &document);
        let said = document["message"].as_str().unwrap();
        let is_whole = said.contains(message) && !said.ends_with(':') && !said.contains('\n') && !said.contains("Usage");
        assert!(is_whole, "{args:?}: {said}");
        assert!(document["hint"].as_str().unwrap().contains(hint), "{args:?}: {document:#}");
    }
}

#[test]
fn c_64_a_file_is_verified_against_a_digest_without_a_node() {
    let output = run(&["verify", "--expect-hash", DIGEST, "--file", CARD, "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let document = json(&output);
    assert_valid("verify", &document);
    assert_eq!(document["results"][0]["match"], true);
    assert_eq!(document["summary"]["match"], 1);

    let other = DIGEST.replace('6', "7");
    let output = run(&["verify", "--expect-hash", &other, "--file", CARD]);
    assert_eq!(code(&output), 1);
    let text = stdout(&output);
    for word in ["MISMATCH", "hash", "expected", "got", DIGEST, &other] {
        assert!(text.contains(word), "c_28: {word} is missing in {text}");
    }
}

#[test]
fn c_02_a_file_with_one_more_newline_is_a_named_near_miss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    std::fs::write(&path, [&std::fs::read(CARD).unwrap()[..], b"\n"].concat()).unwrap();
    let output = run(&["verify", "--expect-hash", DIGEST, "--file", path.to_str().unwrap(), "--jsonl"]);
    assert_eq!(code(&output), 1);
    let document = json(&output);
    assert_valid("report", &document);
    assert_eq!(document["notes"][0]["code"], "matches_without_final_newline");
}

#[test]
fn c_06_fixtures_keep_their_bytes() {
    let digest = json(&run(&["hash", CARD, "--json"]))["sha256"].clone();
    assert_eq!(digest, DIGEST);
    assert!(std::fs::read_to_string(".gitattributes").unwrap().lines().any(|line| line == "* -text"));
}

#[test]
fn hash_prints_what_sha256sum_prints() {
    assert_eq!(stdout(&run(&["hash", CARD])), format!("{DIGEST}  {CARD}\n"));
    let mut child = cardproof(&["hash", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(CARD).unwrap()).unwrap();
    assert_eq!(stdout(&child.wait_with_output().unwrap()), format!("{DIGEST}  -\n"));
}

/// A name with a backslash or a line break would otherwise be read as another name, or as two lines.
#[cfg(unix)]
#[test]
fn hash_escapes_names_as_sha256sum_does() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plain", "back\\slash", "line\nbreak", "carriage\rreturn", " space "] {
        let path = folder.path().join(name);
        std::fs::write(&path, name).unwrap();
        let path = path.to_str().unwrap();
        let theirs = Command::new("sha256sum").arg(path).output().unwrap();
        assert_eq!(stdout(&run(&["hash", path])), stdout(&theirs), "{name:?}");
    }
}

#[test]
fn c_38_a_data_uri_needs_no_network() {
    let output = run(&[
        "verify",
        "--expect-hash",
        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "--url",
        "data:application/json;base64,e30=",
        "--offline",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("MATCH"));
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("cardproof"), "{shell}");
    }
    assert!(stdout(&run(&["man"])).starts_with(".ie") || stdout(&run(&["man"])).contains(".TH"));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(&["man", "--out", folder.path().to_str().unwrap()])), 0);
    assert!(folder.path().join("cardproof-verify.1").exists());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = cardproof(&["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(stderr(&output), "");
    assert_ne!(code(&output), 0, "c_70: what was not read may have been a mismatch");
}

#[test]
fn version_and_help_go_to_stdout() {
    assert!(stdout(&run(&["--version"])).starts_with("cardproof 0."));
    assert_eq!(code(&run(&["help", "verify"])), 0);
    assert_eq!(code(&run(&[])), 2);
}

/// A word that is neither yes nor no must not open what should be shut.
#[test]
fn a_switch_in_the_environment_can_be_off_and_must_be_plain() {
    let url = "https://example.com:1/card.json";
    let reason = |value: Option<&str>, flags: &[&str]| {
        let mut command = cardproof(&[&["hash", url, "--json"], flags].concat());
        let output = command.envs(value.map(|value| ("CARDPROOF_OFFLINE", value))).output().unwrap();
        json(&output)["code"].as_str().unwrap().to_owned()
    };
    for off in [None, Some(""), Some("0"), Some("false"), Some("No"), Some("off")] {
        assert_eq!(reason(off, &[]), "blocked_port", "{off:?}");
    }
    for on in ["1", "TRUE", "yes", "on"] {
        assert_eq!(reason(Some(on), &[]), "offline", "{on}");
    }
    assert_eq!(reason(Some("0"), &["--offline"]), "offline", "a flag wins over the environment");
    assert_eq!(reason(Some("1"), &["--offline=false"]), "blocked_port");
    for variable in ["CARDPROOF_ALLOW_HTTP", "CARDPROOF_ALLOW_PRIVATE", "CARDPROOF_OFFLINE", "CARDPROOF_NATIVE_ROOTS"] {
        for args in [&["hash", CARD][..], &["verify", "--expect-hash", DIGEST, "--file", CARD]] {
            for unclear in ["maybe", " ", "2"] {
                let output = cardproof(args).env(variable, unclear).output().unwrap();
                assert_eq!(code(&output), 2, "{variable}={unclear}");
                assert!(stderr(&output).contains(variable), "{}", stderr(&output));
            }
            for clear in ["", "0", "on"] {
                assert_eq!(code(&cardproof(args).env(variable, clear).output().unwrap()), 0, "{variable}={clear}");
            }
        }
    }
}

/// An empty variable is how a script says that a setting is not made.
#[test]
fn an_empty_variable_is_one_that_is_not_set() {
    let empty = ["NODE", "NETWORK", "PROXY", "CONTRACT", "QUORUM", "TIMEOUT", "CONFIG", "CA_FILE", "CACHE_DIR", "MAX_BLOCK_AGE"];
    let empty = empty.map(|name| (format!("CARDPROOF_{name}"), ""));
    let document = json(&cardproof(&["token", "1", "--json"]).envs(empty.clone()).output().unwrap());
    assert_eq!(document["network"], "mainnet");
    let verify = ["verify", "1", "--network", "devnet", "--node-timeout", "1s"];
    let ran = cardproof(&verify).envs(empty).output().unwrap();
    assert!(code(&ran) != 2 && stdout(&ran).contains("devnet"), "{}{}", stdout(&ran), stderr(&ran));
}

/// As sha256sum does: what cannot be read costs the others nothing but the exit code.
#[test]
fn hash_goes_on_after_a_file_that_cannot_be_read() {
    let sources = ["/does/not/exist", CARD, "/nor/this", CARD];
    let output = run(&[&["hash"], &sources[..]].concat());
    assert_eq!((code(&output), stdout(&output)), (2, format!("{DIGEST}  {CARD}\n").repeat(2)));
    assert_eq!(stderr(&output).lines().filter(|line| line.starts_with("error: /")).count(), 2, "{}", stderr(&output));
    let output = run(&["hash", CARD, "https://example.com:1/card.json", "--json"]);
    assert_eq!((code(&output), json(&output)["sha256"].clone()), (2, Value::from(DIGEST)));
    let output = run(&["hash", CARD, "http://127.0.0.1:8/card.json", "--json"]);
    assert_eq!((code(&output), json(&output)["sha256"].clone()), (3, Value::from(DIGEST)));
    let output = run(&["hash", "/does/not/exist", "/nor/this", "--json"]);
    assert_eq!((code(&output), json(&output)["code"].clone()), (2, Value::from("usage")));
    assert_eq!(stderr(&output).matches("cannot be read").count(), 2, "{}", stderr(&output));
}

#[test]
fn a_node_without_a_scheme_gets_one_suggested() {
    for (node, url) in [
        ("127.0.0.1:33011", "http://127.0.0.1:33011"),
        ("localhost:33011", "http://localhost:33011"),
        ("grpc.example:20000", "https://grpc.example:20000"),
    ] {
        let output = run(&["verify", "1", "--node", node]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(&format!("try: {url}")), "{}", stderr(&output));
    }
}

#[test]
fn one_node_in_the_configuration_needs_no_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    for node in ["\"grpc.example:1\"", "[\"grpc.example:1\"]"] {
        std::fs::write(&path, format!("node = {node}\n")).unwrap();
        let output = run(&["verify", "1", "--config", path.to_str().unwrap()]);
        assert!(stderr(&output).contains("try: https://grpc.example:1"), "it is the node that is asked: {}", stderr(&output));
    }
    std::fs::write(&path, "\nnode = 3\n").unwrap();
    let output = run(&["token", "1", "--config", path.to_str().unwrap()]);
    assert!(stderr(&output).contains("line 2") && stderr(&output).contains("a text or a list of texts"), "{}", stderr(&output));
}

/// Help that nobody can read was not given.
#[cfg(target_os = "linux")]
#[test]
fn c_70_a_stdout_that_takes_nothing_is_a_failure_for_help_too() {
    for args in [&["--help"][..], &["--version"], &["verify", "--help"], &["hash", CARD]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = cardproof(args).stdout(full).output().unwrap();
        assert_eq!(code(&output), 5, "{args:?}");
        assert!(stderr(&output).contains("stdout could not be written"), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn several_nodes_have_a_comma_between_them_and_a_space_is_called_a_fault() {
    let nodes = |separator: &str| {
        let urls = ["http://127.0.0.1:9", "http://127.0.0.1:10"].join(separator);
        cardproof(&["verify", "1", "--network", "testnet", "--quorum", "3"]).env("CARDPROOF_NODE", urls).output().unwrap()
    };
    let spaced = nodes(" ");
    assert_eq!(code(&spaced), 2);
    assert!(stderr(&spaced).contains("has a space in it") && stderr(&spaced).contains("comma"), "{}", stderr(&spaced));
    assert!(stderr(&nodes(",")).contains("2 are given"), "{}", stderr(&nodes(",")));
    assert!(stdout(&run(&["verify", "--help"])).contains("commas between several"));
}
