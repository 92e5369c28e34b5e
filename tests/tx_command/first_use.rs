//! What somebody meets who uses `anchor`, `register` and `tx` for the first time, and gets something wrong.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use cardproof::anchor::journal::Journal;
use cardproof::anchor::Document;
use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::identity::AccountAddress;
use cardproof::registry::Timestamp;

use crate::bench::Bench;

const CARD: &str = "{\"name\":\"agent\"}\n";

/// Signs an anchoring of account 1 and writes it into its journal, as a run does that is stopped before it sends.
async fn interrupted(bench: &Bench, agent: &str, nonce: &str) -> String {
    let (card, out) = (bench.write("card.json", CARD), bench.text(&format!("signed-{agent}.json")));
    let set = ["tx", "set-agent-uri", agent, "--keep-uri", "--card", &card, "--sign-only", "--nonce", nonce, "--out", &out];
    bench.run_as(1, &set).await.code(0);
    let signed = Document::from_json(&bench.json_file(&format!("signed-{agent}.json"))).unwrap().signed().unwrap();
    let journal = Journal::of(&bench.path("state"), &bench.net.genesis_hash(), signed.transaction.sender());
    let lock = journal.lock(Duration::ZERO).await.unwrap();
    lock.record(&signed, Timestamp(1_700_000_000_000)).unwrap();
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn anchor_resume_alone_goes_on_with_the_only_anchoring_that_is_open() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let first = bench.agent(&uri).await;
    let second = bench.agent(&bench.serve("/second.json", CARD)).await;
    assert_eq!(bench.run(&["anchor", "--resume", "--json"]).await.code(2).error(), "nothing_to_resume");
    let signed = interrupted(&bench, &first, "3").await;
    let elsewhere = bench.text("elsewhere");
    bench.run(&["tx", "send", &signed, "--yes", "--state-dir", &elsewhere]).await.code(0);
    let run = bench.run(&["anchor", "--resume", "--json"]).await.code(0);
    let run = run.says(&format!("agent {first}")).says(&bench.address(1));
    assert_eq!(run.json()["verify"]["match"], true);
    // It is not open any more; who names it is told how it ended.
    assert_eq!(bench.run(&["anchor", "--resume", "--json"]).await.code(2).error(), "nothing_to_resume");
    bench.run(&["anchor", &first, "--resume"]).await.code(0);

    interrupted(&bench, &first, "4").await;
    interrupted(&bench, &second, "5").await;
    let run = bench.run(&["anchor", "--resume", "--json"]).await.code(2).says(&format!("agent {second}")).says("--sender");
    assert_eq!(run.error(), "several_to_resume");
    // Without --resume an agent must be named.
    bench.run(&["anchor", "--trust-url"]).await.code(2).says("AGENT");
}

#[tokio::test(flavor = "multi_thread")]
async fn anchor_resume_follows_a_registration_that_was_left() {
    let delay = Duration::from_secs(2);
    let bench = Bench::built(Devnet::builder().commit_delay(delay).finality_delay(delay)).await;
    let (uri, card) = (bench.serve("/card.json", CARD), bench.write("card.json", CARD));
    let register = ["register", "--card", &card, "--uri", &uri, "--yes"];
    bench.run_as(1, &[&register[..], &["--no-wait"]].concat()).await.code(0);
    let run = bench.run(&["anchor", "--resume", "--json"]).await.code(0);
    let run = run.says(&format!("the registration of an agent by account {}", bench.address(1)));
    let json = run.json();
    assert_eq!((json["token_id"].as_str(), json["verify"]["match"].as_bool()), (Some("0"), Some(true)), "{json:#}");
    assert_eq!(bench.run(&["anchor", "--resume", "--json"]).await.code(2).error(), "nothing_to_resume");
    assert_eq!(bench.sent_by(1).await, 1);
    // The first of two steps goes on by itself.
    let template = bench.write("template.json", "{\"t\":\"{{badge}}\"}");
    let two_step = ["register", "--two-step", "--card", &template, "--uri", &bench.url("/own.json"), "--yes", "--no-wait"];
    bench.run_as(1, &two_step).await.code(3);
    let run = bench.run(&["anchor", "--resume", "--json"]).await.code(2).says("register --two-step");
    assert_eq!(run.error(), "nothing_to_resume");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_what_no_node_knows_is_told_so_at_once() {
    let bench = Bench::new().await;
    let signed = bench.text("signed.json");
    bench.run_as(1, &["tx", "register", "--uri", "https://a.example/c", "--sign-only", "--out", &signed]).await.code(0);
    let status = ["tx", "status", &signed];
    let run = bench.run(&[&status[..], &["--wait-timeout", "100ms"]].concat()).await.code(3);
    run.says("does not know it yet: waiting until it comes, or expires at 20").says("--no-wait");
    let run = bench.run(&[&status[..], &["--no-wait"]].concat()).await.code(3);
    assert!(!run.stderr().contains("waiting"), "{}", run.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_shows_everything_and_needs_no_keys() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let agent = bench.agent(&uri).await;
    let (card, sender) = (bench.write("card.json", CARD), bench.address(1));
    let other = bench.serve("/other.json", CARD);
    for args in [&["anchor", &agent, "--card", &card][..], &["register", "--card", &card, "--uri", &other]] {
        let dry_run = [args, &["--dry-run", "--sender", &sender]].concat();
        let run = bench.run(&dry_run).await.code(0).says("nothing was signed");
        assert!(run.stdout().contains(&Sha256Digest::of(CARD.as_bytes()).to_string()), "{}", run.stdout());
        let json = bench.run(&[&dry_run[..], &["--json"]].concat()).await.code(0).json();
        assert_eq!(json["dry_run"]["outcome"], "success");
        // What it takes, and the most that it may take, are two things.
        let number = |text: &serde_json::Value| text.as_str().unwrap().parse::<u64>().unwrap();
        let (expected, most) = (number(&json["estimate"]["energy"]), number(&json["header"]["energy"]));
        assert!(expected < most, "{expected} {most}");
        let text = format!("{expected} NRG expected, {most} at most");
        assert!(run.stdout().contains(&text), "{text}: {}", run.stdout());
        // Hints name what the command has.
        bench.run(&[args, &["--yes"]].concat()).await.code(2).says("--dry-run");
        bench.run_as(1, args).await.code(2).says("--dry-run").says("--yes");
    }
    let refused = bench.run_as(2, &["anchor", &agent, "--card", &card, "--dry-run", "--json"]).await.code(1);
    assert_eq!(refused.error(), "not_owner");
    assert_eq!(bench.sent_by(1).await, 1);
    bench.run(&["tx", "revoke", &agent, "--yes"]).await.code(2).says("--build-only");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_is_no_account_is_called_so() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let (card, nobody) = (bench.write("card.json", CARD), AccountAddress([9; 32]).to_string());
    let register = ["register", "--card", &card, "--uri", &uri, "--dry-run", "--sender", &nobody, "--json"];
    let run = bench.run(&register).await.code(2).says(&nobody);
    assert_eq!(run.error(), "no_such_account");
    let tried = ["tx", "register", "--uri", &uri, "--dry-run", "--sender", &nobody, "--json"];
    assert_eq!(bench.run(&tried).await.code(2).error(), "no_such_account");
    let no_uri = ["register", "--card", &card, "--uri", "cards/card.json", "--dry-run", "--sender", &bench.address(1), "--json"];
    assert_eq!(bench.run(&no_uri).await.code(2).says("--uri").error(), "invalid_uri");
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_while_it_waits_it_says_how_to_go_on() {
    let bench = Bench::built(Devnet::builder().commit_delay(Duration::from_secs(60))).await;
    let keys = bench.text("1.json");
    let mut command = bench.command(&["tx", "register", "--uri", "https://a.example/c", "--keys", &keys, "--yes", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("signed: the transaction is ") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it comes this far");
        }
        let hash = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        (child.wait_with_output().unwrap(), hash, rest)
    });
    let (output, hash, rest) = ended.await.unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    assert!(rest.contains(&format!("interrupted; follow it with cardproof tx status {hash}")), "{rest}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["code"], "interrupted");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_transaction_is_called_so() {
    let bench = Bench::new().await;
    let card = bench.write("card.json", CARD);
    bench.run(&["tx", "status", "5055"]).await.code(2).says("64 hexadecimal digits");
    bench.run(&["tx", "inspect", "zz"]).await.code(2).says("zz is neither a transaction");
    let hash = "ab".repeat(32);
    bench.run(&["tx", "inspect", &hash]).await.code(2).says("tx status");
    let run = bench.run(&["tx", "inspect", &card, "--json"]).await.code(2).says("is not a transaction document");
    assert_eq!(run.error(), "not_a_transaction");
    let run = bench.run(&["tx", "status", &hash]).await.code(3);
    assert!(run.stdout().contains("unknown") && !run.stdout().contains("has not expired"), "{}", run.stdout());
    let run = bench.run(&["tx", "status", &hash, "--expiry", "2099-01-01T00:00:00Z", "--no-wait"]).await;
    assert!(run.stdout().contains("has not expired"), "{}", run.stdout());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_shown_in_words_and_asked_about_only_when_it_is_signed() {
    let bench = Bench::new().await;
    let (sender, digest, out) = (bench.address(1), Sha256Digest::of(CARD.as_bytes()).to_string(), bench.text("tx.json"));
    let build =
        ["tx", "set-agent-uri", "261", "--uri", "https://a.example/c", "--hash", &digest, "--sender", &sender, "--out", &out];
    let offline = ["--build-only", "--offline"];
    bench.run(&[&build[..], &offline].concat()).await.code(2).says("--nonce, --expiry and --energy");
    let header = ["--nonce", "1", "--expiry", "10m", "--energy", "5000"];
    bench.run(&[&build[..], &offline, &header].concat()).await.code(0);
    let shown = bench.run(&["tx", "inspect", &out]).await.code(0).stdout();
    assert!(shown.contains("token_id = 261") && shown.contains(&format!("metadata_hash = {digest}")), "{shown}");
    assert_eq!(bench.run(&["tx", "send", &out, "--json"]).await.code(2).says("tx sign").error(), "not_enough_signatures");
}
