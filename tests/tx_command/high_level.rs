//! `register` and `anchor`.

use cardproof::digest::Sha256Digest;

use crate::bench::Bench;
use crate::card_host::{Answer, CardHost};

const CARD: &str = "{\"name\":\"agent\"}\n";
const NEW: &str = "{\"name\":\"agent\",\"version\":\"2\"}\n";

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_registered_anchored_anew_and_verified() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let card = bench.write("card.json", CARD);
    let run =
        bench.run_as(1, &["register", "--card", &card, "--uri", &uri, "--metadata", "kind=bot", "--yes", "--json"]).await.code(0);
    let status = run.json();
    assert_eq!((status["state"].as_str(), status["outcome"].as_str()), (Some("finalized"), Some("success")));
    assert_eq!((status["token_id"].as_str(), status["verify"]["match"].as_bool()), (Some("0"), Some(true)));
    assert_eq!(status["verify"]["anchored_sha256"], Sha256Digest::of(CARD.as_bytes()).to_string());
    // Before signing: network, contract, sender, change, energy and cost.
    for part in ["devnet", "CIS-8004.register", &bench.address(1), "kind = bot", "NRG", "CCD"] {
        assert!(run.stderr().contains(part), "{part}: {}", run.stderr());
    }
    let hash = status["transaction_hash"].as_str().unwrap();
    assert!(run.stderr().contains(hash), "the hash is told before waiting");

    bench.serve("/card.json", NEW);
    let card = bench.write("card.json", NEW);
    let run = bench.run_as(1, &["anchor", "0", "--card", &card, "--yes"]).await.code(0);
    assert!(run.stdout().contains("finalized") && run.stdout().contains("match"), "{}", run.stdout());
    for digest in [Sha256Digest::of(CARD.as_bytes()), Sha256Digest::of(NEW.as_bytes())] {
        assert!(run.stderr().contains(&digest.to_string()), "old and new are shown: {}", run.stderr());
    }
    // Once more: nothing to do, nothing sent.
    let run = bench.run_as(1, &["anchor", "0", "--card", &card, "--yes", "--json"]).await.code(0).says("nothing was sent");
    assert_eq!(run.json()["transaction_hash"], serde_json::Value::Null);
    assert_eq!(bench.sent_by(1).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn c_03_and_c_16_what_the_url_does_not_serve_is_not_anchored() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", NEW);
    let agent = bench.agent(&uri).await;
    let card = bench.write("card.json", NEW.trim_end());
    let run = bench.run_as(1, &["anchor", &agent, "--card", &card, "--yes", "--json"]).await.code(1);
    assert_eq!(run.error(), "card_differs");
    let offset = NEW.trim_end().len();
    let run =
        run.says(&Sha256Digest::of(NEW.as_bytes()).to_string()).says(&Sha256Digest::of(NEW.trim_end().as_bytes()).to_string());
    let _ = run.says(&format!("offset {offset}"));
    let set = ["tx", "set-agent-uri", &agent, "--card", &card, "--keep-uri", "--yes", "--json"];
    assert_eq!(bench.run_as(1, &set).await.code(1).error(), "card_differs");
    let register = ["register", "--card", &card, "--uri", &bench.url("/missing.json"), "--yes", "--json"];
    assert_eq!(bench.run_as(1, &register).await.code(3).error(), "card_not_fetched");
    assert_eq!(bench.sent_by(1).await, 1, "nothing was sent");

    let run = bench.run_as(1, &[&set[..], &["--no-url-check"]].concat()).await.code(0);
    assert_eq!(run.json()["outcome"], "success");
    // The verdict afterwards says what was done.
    let run = bench.run_as(1, &["anchor", &agent, "--card", &bench.write("x", "x"), "--no-url-check", "--yes", "--json"]).await;
    assert_eq!(run.code(1).json()["verify"]["reason"], "hash_mismatch");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uri_that_nobody_can_fetch_is_not_anchored_even_unchecked() {
    let bench = Bench::new().await;
    let agent = bench.agent(&bench.serve("/card.json", CARD)).await;
    let card = bench.write("card.json", CARD);
    let sent = bench.sent_by(1).await;
    for command in [&["anchor", &agent][..], &["register"]] {
        for uri in ["cards.example/card.json", "https://cards.example/\n", "https:///card.json"] {
            let args = [command, &["--card", &card, "--uri", uri, "--no-url-check", "--yes", "--json"]].concat();
            let run = bench.run_as(1, &args).await.code(2);
            assert_eq!(run.error(), "invalid_uri", "{uri:?}");
        }
        let args = [command, &["--card", &card, "--uri", "javascript:alert(1)", "--no-url-check", "--yes", "--json"]].concat();
        assert_eq!(bench.run_as(1, &args).await.code(2).error(), "unsupported_scheme");
    }
    assert_eq!(bench.sent_by(1).await, sent);
    // The file is read no further than any card can be long.
    let endless = ["anchor", &agent, "--card", "/dev/zero", "--yes", "--json"];
    let _ = bench.run_as(1, &endless).await.code(2).says("64 MiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_nothing_is_sent_unasked() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let card = bench.write("card.json", CARD);
    for args in [
        &["register", "--card", &card, "--uri", &uri, "--json"][..],
        &["anchor", "0", "--card", &card, "--json"],
        &["tx", "revoke", "0", "--json"],
    ] {
        assert_eq!(bench.run_as(1, args).await.code(2).says("--yes").error(), "confirmation_needed");
    }
    assert_eq!(bench.sent_by(1).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn c_84_a_second_registration_is_refused() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let card = bench.write("card.json", CARD);
    let register = ["register", "--card", &card, "--uri", &uri, "--yes", "--json"];
    bench.run_as(1, &register).await.code(0);
    let run = bench.run_as(1, &register).await.code(2).says("agent 0").says("--allow-duplicate");
    assert_eq!(run.error(), "duplicate");
    let run = bench.run_as(1, &[&register[..], &["--allow-duplicate"]].concat()).await.code(0);
    assert_eq!(run.json()["token_id"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_with_its_own_address_is_registered_in_two_steps() {
    let bench = Bench::new().await;
    let uri = bench.url("/card.json");
    let card = bench.write("card.json", "{ \"token\": \"{{badge}}\", \"caip19\": \"{{caip19}}\" }\n");
    let two_step = ["register", "--two-step", "--card", &card, "--uri", &uri, "--host-wait", "0s", "--yes", "--json"];
    let filled = bench.path("card.0.json");
    for _ in 0..2 {
        let run = bench.run_as(1, &two_step).await.code(3).says("card.0.json");
        assert_eq!(run.error(), "not_hosted");
        assert_eq!(bench.sent_by(1).await, 1);
    }
    // A chain that was started anew does not have the agent: the user is told what remembers it, and nothing is sent.
    let state = files(&bench.path("state"))
        .into_iter()
        .find(|path| path.components().any(|part| part.as_os_str() == "two-step"))
        .unwrap();
    let remembered = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, remembered.replace("\"token_id\": \"0\"", "\"token_id\": \"7\"")).unwrap();
    let gone = bench.run_as(1, &two_step).await.code(2).says(state.to_str().unwrap());
    assert_eq!(gone.error(), "agent_gone");
    std::fs::write(&state, remembered).unwrap();
    let content = std::fs::read(&filled).unwrap();
    bench.serve("/card.json", content.clone());
    let status = bench.run_as(1, &two_step).await.code(0).json();
    assert_eq!((status["token_id"].as_str(), status["verify"]["match"].as_bool()), (Some("0"), Some(true)));
    assert_eq!(status["verify"]["anchored_sha256"], Sha256Digest::of(&content).to_string());
    let badge = status["badge"].as_str().unwrap();
    assert!(String::from_utf8(content).unwrap().contains(badge));
    assert_eq!(bench.sent_by(1).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn c_30_the_digest_of_the_url_is_trusted_only_when_asked_to() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let agent = bench.agent(&uri).await;
    bench.run_as(1, &["anchor", &agent, "--yes"]).await.code(2).says("--card");
    let run = bench.run_as(1, &["anchor", &agent, "--trust-url", "--yes", "--json"]).await.code(0).says("taken on trust");
    assert_eq!(run.json()["verify"]["match"], true);
    let cut = Answer::head(200, &[("Content-Length", "9")]).write("{\"name\":\"a card\"}");
    let host = CardHost::http(move |_| cut.clone()).await;
    let run = bench.run_as(1, &["anchor", &agent, "--trust-url", "--uri", &host.url("/"), "--yes", "--json"]).await.code(3);
    assert_eq!(run.error(), "length_unverified");
    let _ = bench.run(&["hash", &host.url("/")]).await.code(3).says("complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_is_needed_and_named() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let agent = bench.agent(&uri).await;
    let card = bench.write("card.json", CARD);
    let run = bench.run_as(2, &["anchor", &agent, "--card", &card, "--yes", "--json"]).await.code(1).says(&bench.address(1));
    assert_eq!(run.error(), "not_owner");
    let run = bench.run_as(1, &["anchor", "55", "--card", &card, "--yes", "--json"]).await.code(1);
    assert_eq!(run.error(), "agent_not_found");
    bench.run_as(1, &["tx", "revoke", &agent, "--reason", "over", "--yes"]).await.code(0);
    let run = bench.run_as(1, &["anchor", &agent, "--card", &card, "--yes", "--json"]).await.code(1);
    assert_eq!(run.error(), "agent_revoked");
}

/// The JSON files below a folder.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else if entry.path().extension().is_some_and(|extension| extension == "json") {
            found.push(entry.path());
        }
    }
    found
}
