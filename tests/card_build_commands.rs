//! `cardproof card build`, `set`, `diff`, `convert`, `explain` and `fetch` as processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use support::card_host::{Answer, CardHost};
use support::command::{assert_valid, Ran, Tool};

const OWNER: &str = "3z9dkoTnLi2HEZvjnmKrMec2Gk2NKcEhdi4PugDWzP4GQtZiFa";
const INPUT: &str = r#"
name = "Echo"
description = "Echoes."
version = "1.0.0"
image = "https://echo.example.org/icon.png"
[[interfaces]]
url = "https://echo.example.org/a2a"
[[skills]]
id = "echo"
name = "Echo"
description = "Says it again."
tags = ["echo"]
"#;

fn write(tool: &Tool, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = tool.folder().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn is_usage_error(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
}

#[tokio::test]
async fn the_bytes_go_to_stdout_and_their_digest_to_stderr() {
    let tool = Tool::plain();
    let input = write(&tool, "in.toml", INPUT);
    let args = ["card", "build", "--input", &input, "--agent", "484", "--owner", OWNER];
    let ran = tool.run(&args).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let digest = Sha256Digest::of(ran.stdout.as_bytes()).to_string();
    assert_eq!(ran.stderr, format!("sha256 {digest}\n"), "a clean card has nothing else to be told");
    assert_eq!(tool.run(&args).await.stdout, ran.stdout);
    let out = tool.folder().join("card.json");
    let to_file = tool.run(&[&args[..], &["--out", out.to_str().unwrap()]].concat()).await;
    assert_eq!(to_file.stdout, format!("{digest}  {}\n", out.display()));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), ran.stdout);
    let document = tool.run(&[&args[..], &["--json"]].concat()).await.json();
    assert_valid("card-build", &document);
    assert_eq!((document["card"].as_str(), document["sha256"].as_str()), (Some(ran.stdout.as_str()), Some(digest.as_str())));
}

#[tokio::test]
async fn options_win_over_the_input_and_json_is_an_input_too() {
    let tool = Tool::plain();
    let toml = write(&tool, "in.toml", INPUT);
    let json = write(
        &tool,
        "in.json",
        r#"{"name": "Echo", "description": "Echoes.", "version": "1.0.0", "image": "https://echo.example.org/icon.png",
            "interfaces": [{"url": "https://echo.example.org/a2a"}],
            "skills": [{"id": "echo", "name": "Echo", "description": "Says it again.", "tags": ["echo"]}]}"#,
    );
    let from_toml = tool.run(&["card", "build", "-i", &toml]).await;
    assert_eq!(from_toml.stdout, tool.run(&["card", "build", "-i", &json]).await.stdout);
    let named = tool.run(&["card", "build", "-i", &toml, "--name", "Other", "--skill", "a|A|Does a.|x,y"]).await;
    let card = named.json();
    assert_eq!((card["name"].as_str(), card["skills"][0]["tags"][1].as_str()), (Some("Other"), Some("y")));
    assert!(from_toml.stderr.contains("carries no badge"), "{}", from_toml.stderr);
}

#[tokio::test]
async fn what_is_missing_is_told_and_never_asked_without_a_terminal() {
    let tool = Tool::plain();
    is_usage_error(&tool.run(&["card", "build"]).await);
    is_usage_error(&tool.run(&["card", "build", "--name", "A", "--description", "B"]).await);
    let typo = write(&tool, "in.toml", "name = \"A\"\ndescripton = \"B\"\n");
    let ran = tool.run(&["card", "build", "-i", &typo]).await;
    is_usage_error(&ran);
    assert!(ran.stderr.contains("descripton"), "{}", ran.stderr);
    is_usage_error(&tool.run(&["card", "build", "--format", "pdf"]).await);
}

#[tokio::test]
async fn what_a_lint_would_say_is_said_when_the_card_is_built() {
    let tool = Tool::plain();
    let ran = tool.run(&["card", "build", "--name", "A", "--description", "B", "--url", "http://a.example.org"]).await;
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("card_url_insecure"), "{}", ran.stderr);
    // In the words of the finding: an error is not a warning.
    let image = ["--image", "javascript:alert(1)", "--url", "http://a.example.org"];
    let built = tool.run(&[&["card", "build", "--name", "A", "--description", "B"], &image[..]].concat()).await;
    let card = write(&tool, "sound.json", &built.stdout);
    let converted = tool.run(&["card", "convert", &card, "--to", "combined"]).await;
    assert_eq!(built.code, 1);
    for ran in [built, converted] {
        let lines: Vec<&str> = ran.stderr.lines().collect();
        let starts = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((starts("error: /image: "), starts("warning: /supportedInterfaces/0/url: ")), (1, 1), "{}", ran.stderr);
    }
}

#[tokio::test]
async fn a_field_is_set_and_every_other_byte_stays() {
    let tool = Tool::plain();
    let odd = "{\r\n\t\"name\" : \"A\",\r\n\t\"n\": 1.50 ,\"version\":\"1.0\"\r\n}";
    let file = write(&tool, "card.json", odd);
    let ran = tool.run(&["card", "set", &file, "version", "2.0"]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = odd.replace("\"1.0\"", "\"2.0\"");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected, "2.0 is a text where a text stood");
    assert_eq!(ran.stdout, format!("{}  {file}\n", Sha256Digest::of(expected.as_bytes())));
    let document = tool.run(&["card", "set", &file, "/provider", "{\"organization\": \"X\"}", "--json"]).await.json();
    assert_valid("card-set", &document);
    assert!(document["before"].is_null());
    let shown = tool.run(&["card", "set", &file, "n", "2", "--out", "-"]).await;
    assert!(shown.stdout.contains("\"n\": 2 ,"), "{}", shown.stdout);
    assert!(std::fs::read_to_string(&file).unwrap().contains("1.50"), "the file itself was not to be changed");
    let before = std::fs::read(&file).unwrap();
    is_usage_error(&tool.run(&["card", "set", &file, "/no/such/place", "1"]).await);
    is_usage_error(&tool.run(&["card", "set", &file, "name", "{", "--as", "json"]).await);
    let broken = write(&tool, "broken.json", "{\"name\": ");
    is_usage_error(&tool.run(&["card", "set", &broken, "name", "B"]).await);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(std::fs::read_to_string(&broken).unwrap(), "{\"name\": ");
}

#[tokio::test]
async fn a_difference_is_an_exit_code_even_when_only_the_bytes_differ() {
    let tool = Tool::plain();
    let a = write(&tool, "a.json", "{\"name\": \"A\", \"n\": 1}");
    let newline = write(&tool, "b.json", "{\"name\": \"A\", \"n\": 1}\n");
    let other = write(&tool, "c.json", "{\"name\": \"B\", \"x\": null}");
    assert_eq!(tool.run(&["card", "diff", &a, &a]).await.code, 0);
    let formatting = tool.run(&["card", "diff", &a, &newline]).await;
    assert_eq!(formatting.code, 1);
    assert!(formatting.stdout.contains("only the formatting differs (a final newline)"), "{}", formatting.stdout);
    assert_eq!(tool.run(&["card", "diff", &a, &newline, "--ignore-formatting"]).await.code, 0);
    let ran = tool.run(&["card", "diff", &a, &other, "--json", "--ignore-formatting"]).await;
    assert_eq!(ran.code, 1);
    let document = ran.json();
    assert_valid("card-diff", &document);
    let changes: Vec<_> = document["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["pointer"].clone(), change["kind"].clone()))
        .collect();
    let pair = |pointer: &str, kind: &str| (pointer.into(), kind.into());
    assert_eq!(changes, [pair("/name", "changed"), pair("/n", "removed"), pair("/x", "added")]);
    assert_eq!(tool.run(&["card", "diff", &a, "/nowhere.json"]).await.code, 2);
}

#[tokio::test]
async fn a_conversion_tells_what_it_lost() {
    let tool = Tool::plain();
    let args = ["card", "convert", "tests/cards/society-ai.json", "--to", "combined"];
    let ran = tool.run(&args).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: /metadata/crypto_wallet/address: combined has no place for it"), "{}", ran.stderr);
    assert_eq!(tool.run(&[&args[..], &["--strict"]].concat()).await.code, 1);
    let document = tool.run(&[&args[..], &["--json"]].concat()).await.json();
    assert_valid("card-convert", &document);
    assert_eq!(document["card"].as_str(), Some(ran.stdout.as_str()));
    // A real card without a description: what it lacks is named, and an option gives it.
    let real = ["card", "convert", "tests/vectors/card-testnet-287.json", "--to", "a2a", "--url", "https://x.example.org"];
    is_usage_error(&tool.run(&real).await);
    let given = tool.run(&[&real[..], &["--description", "Sells a resource."]].concat()).await;
    assert_eq!(given.code, 0, "{}", given.stderr);
}

#[tokio::test]
async fn a_hostile_card_is_explained_without_acting_on_the_terminal() {
    let tool = Tool::plain();
    let card = write(
        &tool,
        "card.json",
        "{\"name\": \"A\\u001b]0;owned\\u0007\\u202e\", \"description\": \"one\\ntwo\", \"url\": \"https://a.example.org\"}",
    );
    let ran = tool.run(&["card", "explain", &card]).await;
    assert_eq!(ran.code, 0);
    assert!(!ran.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("name      A\\u{1b}]0;owned"), "{}", ran.stdout);
    assert!(ran.stdout.contains("does      one\n          two\n"), "{}", ran.stdout);
    for sample in ["combined", "society-ai", "uumit", "concordium-legacy"] {
        let document = tool.run(&["card", "explain", &format!("tests/cards/{sample}.json"), "--json"]).await.json();
        assert_valid("card-explain", &document);
    }
    let nothing = write(&tool, "nothing.json", "[1]");
    assert_eq!(tool.run(&["card", "explain", &nothing]).await.code, 2);
}

#[tokio::test]
async fn the_well_known_places_are_tried_in_order() {
    let tool = Tool::plain();
    let host = CardHost::http(|request| match request.path.as_str() {
        "/.well-known/agent.json" => Answer::ok("{\"name\": \"Old\", \"url\": \"https://a.example.org\"}"),
        "/.well-known/agent-card.json" => Answer::ok("<!doctype html>"),
        _ => Answer::status(404),
    })
    .await;
    let ran = tool.run(&["card", "fetch", &host.url("")]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout, "{\"name\": \"Old\", \"url\": \"https://a.example.org\"}");
    assert!(ran.stderr.contains("agent-card.json: the answer is not a card"), "{}", ran.stderr);
    assert!(ran.stderr.contains("agent.json: the card is here"), "{}", ran.stderr);
    let paths: Vec<String> = host.requests().iter().map(|request| request.path.clone()).collect();
    assert_eq!(paths, ["/.well-known/agent-card.json", "/.well-known/agent.json"]);
    let out = tool.folder().join("card.json");
    let document = tool.run(&["card", "fetch", &host.url(""), "--json", "--out", out.to_str().unwrap()]).await.json();
    assert_valid("card-fetch", &document);
    assert_eq!(std::fs::read_to_string(out).unwrap(), ran.stdout);
}

#[tokio::test]
async fn a_site_without_a_card_is_told_apart_from_one_that_cannot_be_asked() {
    let tool = Tool::plain();
    let host = CardHost::http(|_| Answer::status(404)).await;
    let none = tool.run(&["card", "fetch", &host.url("/agents/x"), "--json"]).await;
    assert_eq!(none.code, 1, "{}", none.stderr);
    assert_eq!(none.json()["code"], "no_card");
    let message = none.json()["message"].as_str().unwrap().to_owned();
    assert_eq!(message.matches("404 Not Found").count(), 5, "every attempt is told: {message}");
    assert_eq!(host.requests().len(), 5);
    let closed = host.url("");
    drop(host);
    assert_eq!(tool.run(&["card", "fetch", &closed, "--timeout", "2s"]).await.code, 3);
}

#[tokio::test]
async fn a_file_without_end_is_refused_and_not_read_for_ever() {
    let tool = Tool::plain();
    for args in [
        &["card", "lint", "/dev/zero"][..],
        &["card", "set", "/dev/zero", "name", "A"],
        &["card", "build", "-i", "/dev/zero"],
        &["card", "diff", "/dev/zero", "/dev/zero"],
    ] {
        let ran = tool.run(args).await;
        is_usage_error(&ran);
        assert!(ran.stderr.contains("64 MiB"), "{args:?}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn a_card_with_errors_is_built_with_exit_1_unless_forced() {
    let tool = Tool::plain();
    let args = ["card", "build", "--name", "A", "--description", "B", "--url", "not a url"];
    let ran = tool.run(&args).await;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("invalid_uri"), "{}", ran.stderr);
    let forced = tool.run(&[&args[..], &["--force"]].concat()).await;
    assert_eq!((forced.code, forced.stdout), (0, ran.stdout));
}

#[tokio::test]
async fn a_fault_of_the_input_is_one_line_with_its_place() {
    let tool = Tool::plain();
    let input = write(&tool, "in.toml", "name = \"A\"\n\ndescription = = 1\n");
    let ran = tool.run(&["card", "build", "-i", &input]).await;
    is_usage_error(&ran);
    assert!(ran.stderr.contains("line 3: ") && ran.stderr.trim_end().lines().count() == 1, "{}", ran.stderr);
}

#[tokio::test]
async fn an_empty_field_name_does_not_replace_the_whole_card() {
    let tool = Tool::plain();
    let text = "{\"name\": \"A\"}";
    let file = write(&tool, "card.json", text);
    is_usage_error(&tool.run(&["card", "set", &file, "", "1"]).await);
    is_usage_error(&tool.run(&["card", "set", &file, "/~2", "1"]).await);
    let absent = tool.run(&["card", "set", &file, "provider.url", "https://a.example.org"]).await;
    is_usage_error(&absent);
    assert!(absent.stderr.contains("/provider; set that first"), "{}", absent.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn standard_input_is_set_to_stdout() {
    use tokio::io::AsyncWriteExt;
    let tool = Tool::plain();
    let mut command = tool.command(&["card", "set", "-", "name", "B"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"name\":  \"A\"}").await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"{\"name\":  \"B\"}"[..]));
    assert!(!std::path::Path::new("-").exists());
}

#[tokio::test]
async fn a_document_with_a_key_twice_is_not_only_formatted_otherwise() {
    let tool = Tool::plain();
    let a = write(&tool, "a.json", "{\"a\": 1, \"a\": 2}");
    let b = write(&tool, "b.json", "{\"a\": 2}");
    let ran = tool.run(&["card", "diff", &a, &b, "--ignore-formatting"]).await;
    assert_eq!(ran.code, 1);
    assert!(
        !ran.stdout.contains("only the formatting") && ran.stderr.contains("has a key twice"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let document = tool.run(&["card", "diff", &a, &b, "--json"]).await.json();
    assert_valid("card-diff", &document);
    assert_eq!((document["formatting_only"].as_bool(), document["unclear"].as_array().map(Vec::len)), (Some(false), Some(1)));
}

#[tokio::test]
async fn a_strict_conversion_fails_when_only_empty_values_are_lost() {
    let tool = Tool::plain();
    let mut card: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string("tests/cards/combined.json").unwrap()).unwrap();
    let whole = write(&tool, "whole.json", card.to_string());
    assert_eq!(tool.run(&["card", "convert", &whole, "--to", "combined", "--strict"]).await.code, 0);
    card["x-access"] = serde_json::json!([{ "oauth": [] }]);
    let with_more = write(&tool, "more.json", card.to_string());
    let ran = tool.run(&["card", "convert", &with_more, "--to", "combined", "--strict"]).await;
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("/x-access/0/oauth"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_number_is_no_site() {
    let tool = Tool::plain();
    for number in ["287", "0"] {
        let ran = tool.run(&["card", "fetch", number]).await;
        is_usage_error(&ran);
        assert!(ran.stderr.contains("is a number"), "{}", ran.stderr);
    }
}

/// The real contract in the real engine: what is injected is what the chain holds.
#[tokio::test(flavor = "multi_thread")]
async fn on_chain_fields_are_read_from_the_chain() {
    let net = Devnet::start().await.unwrap();
    let tool = Tool::on(&net);
    let host = CardHost::http(|_| Answer::ok(std::fs::read("tests/cards/society-ai.json").unwrap())).await;
    let url = host.url("/card.json");
    let agent = net.register_agent(0, Some(&url), None).await.unwrap().to_string();
    let input = write(&tool, "in.toml", INPUT);
    let ran = tool.run(&["card", "build", "-i", &input, "--agent", &agent]).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let card = ran.json();
    let params = &card["capabilities"]["extensions"][0]["params"];
    let shown = tool.run(&["show", &agent, "--json"]).await.json();
    assert_eq!(params["tokenAddress"], shown["caip19"]);
    assert!(params["owner"]["account"].as_str().unwrap().ends_with(shown["owner_account"].as_str().unwrap()));
    assert_eq!(card["registrations"][0]["agentId"].to_string(), agent);
    assert_eq!(card["services"][0]["endpoint"], url, "the card's own place comes from the record");
    assert_eq!(params["verification"], serde_json::Value::Null, "the official service knows no local chain");
    // An agent is a source of cards too.
    let explained = tool.run(&["card", "explain", &agent, "--allow-http", "--allow-private", "--json"]).await;
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    assert_eq!(explained.json()["url"], url);
    let same = ["card", "diff", &agent, "tests/cards/society-ai.json", "--allow-http", "--allow-private"];
    assert_eq!(tool.run(&same).await.code, 0);
    assert_eq!(tool.run(&["card", "explain", "999999"]).await.code, 1);
}

#[tokio::test]
async fn card_set_keeps_the_type_of_a_field() {
    let tool = Tool::plain();
    let path = tool.folder().join("card.json");
    let before = "{\"active\": true, \"name\": \"a\"}\n";
    std::fs::write(&path, before).unwrap();
    let file = path.to_str().unwrap();
    let ran = tool.run(&["card", "set", file, "active", "notabool"]).await;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("/active is a boolean, and the value is a string"), "{}", ran.stderr);
    assert!(ran.stderr.contains("try: write true or false, or change") && ran.stderr.contains("--as json or --as text"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    for (value, more, after) in
        [("false", &[][..], "false"), ("notabool", &["--as", "text"], "\"notabool\""), ("null", &["--as", "json"], "null")]
    {
        let ran = tool.run(&[&["card", "set", file, "active", value], more].concat()).await;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before.replace("true", after));
    }
}

/// What is complained of ends up in logs, and a URL in it has no password there.
#[tokio::test]
async fn a_url_with_credentials_is_a_usage_error_that_does_not_repeat_them() {
    let tool = Tool::plain();
    let url = "http://u:s3cretpw@127.0.0.1:9/card.json";
    for args in [
        &["hash", url][..],
        &["hash", "https:u:s3cretpw@a.example"],
        &["card", "fetch", url],
        &["card", "fetch", "u:s3cretpw@127.0.0.1:9"],
        &["card", "fetch", "u:s3/cretpw@a b"],
        &["card", "lint", url],
        &["card", "explain", url],
        &["card", "diff", url, "tests/cards/uumit.json"],
        &["agents", "discover", url],
        &["agents", "add", "a", "ftp://u:s3cretpw@a.example"],
        &["hash", "--ipfs-gateway", "ftp://u:s3cretpw@a.example", "ipfs://bafy"],
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = tool.run(&[args, json].concat()).await;
            assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
            let said = ran.stdout + &ran.stderr;
            assert!(!said.contains("cretpw") && !said.contains("u:s3"), "{args:?}: {said}");
        }
    }
    let host = CardHost::http(|_| Answer::redirect(302, "https://u:s3cretpw@a.example/card.json")).await;
    for args in [&["hash"][..], &["card", "fetch"], &["card", "lint"]] {
        let ran = tool.run(&[args, &[&host.url("/card.json"), "--json", "-v"]].concat()).await;
        assert_eq!(ran.code, if args.contains(&"fetch") { 1 } else { 3 }, "{args:?}: {}", ran.stderr);
        assert!(!(ran.stdout + &ran.stderr).contains("s3cretpw"), "{args:?}");
    }
}

#[tokio::test]
async fn a_url_that_nobody_can_fetch_is_a_usage_error_and_one_that_does_not_answer_is_not() {
    let tool = Tool::plain();
    for (url, code) in [
        ("https:a.example", 2),
        ("https://a.example:25/", 2),
        ("http://a.example/", 2),
        ("data:application/json", 2),
        ("https://127.0.0.1:2/", 3),
    ] {
        assert_eq!(tool.run(&["hash", url]).await.code, code, "{url}");
        assert_eq!(tool.run(&["card", "lint", url]).await.code, code, "{url}");
    }
    assert_eq!(tool.run(&["card", "fetch", "ftp://a.example"]).await.code, 2);
}

#[tokio::test]
async fn what_the_format_of_a_built_card_has_no_place_for_is_told() {
    let tool = Tool::plain();
    let more = "tagline = \"Again and again\"\nwallet = \"0x52908400098527886E0F7030069857D2E4169EE7\"\n";
    let input = write(&tool, "in.toml", format!("{more}{INPUT}price = {{ amount = \"1\", currency = \"USD\" }}\n"));
    let args = ["card", "build", "--input", &input, "--agent", "484", "--owner", OWNER];
    let ran = tool.run(&args).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for at in ["/tagline", "/wallet", "/skills/0/price"] {
        let line = format!("warning: {at}: combined has no place for it, so it is not in the new card");
        assert!(ran.stderr.lines().any(|said| said == line), "{at}: {}", ran.stderr);
    }
    let document = tool.run(&[&args[..], &["--json", "--format", "erc8004"]].concat()).await.json();
    assert_valid("card-build", &document);
    let lost: Vec<&str> = document["lost"].as_array().unwrap().iter().map(|lost| lost["pointer"].as_str().unwrap()).collect();
    assert_eq!(lost, ["/version", "/tagline", "/wallet", "/skills"], "{document}");
    assert!(document["card"].as_str().unwrap().contains("https://echo.example.org/a2a"), "{document}");
    let ran = tool.run(&[&args[..], &["--format", "a2a-0.x"]].concat()).await;
    assert!(ran.stderr.contains("a2a-0.x has no place for the agent's token"), "{}", ran.stderr);
    let ran = tool.run(&["card", "build", "--input", &input]).await;
    assert!(ran.stderr.contains("build it again with --agent <id> once it is registered"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_lint_sees_a_placeholder_in_any_text() {
    let tool = Tool::plain();
    let card = r#"{"name": "Echo {{badge}}", "description": "I am {{ token_id }} of {}.", "url": "https://a.example.org", "version": "1.0.0",
        "capabilities": {}, "x": [{"y": "{{owner}}"}], "z": "{{}} {{{{"}"#;
    let ran = tool.run(&["card", "lint", &write(&tool, "card.json", card), "--json"]).await;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let document = ran.json();
    let findings = document.pointer("/findings").and_then(|list| list.as_array()).unwrap_or_else(|| panic!("{document}"));
    let found = findings.iter().filter(|finding| finding["code"] == "placeholder");
    let found: Vec<&str> = found.map(|finding| finding["pointer"].as_str().unwrap()).collect();
    assert_eq!(found, ["/name", "/description", "/x/0/y"]);
}
