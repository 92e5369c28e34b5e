//! `tx`: building, trying, signing, sending, following.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use cardproof::anchor::{Document, SignedTransaction};
use cardproof::devnet::Devnet;
use serde_json::{json, Value};

use crate::bench::{is_valid, Bench};

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_built_signed_sent_and_followed_at_four_stations() {
    let bench = Bench::new().await;
    let (unsigned, signed) = (bench.text("unsigned.json"), bench.text("signed.json"));
    let sender = bench.address(1);
    let uri = bench.url("/card.json");
    let build =
        bench.run(&["tx", "register", "--uri", &uri, "--sender", &sender, "--build-only", "--out", &unsigned]).await.code(0);
    assert!(build.stdout().is_empty(), "the document is in the file");
    let built = bench.json_file("unsigned.json");
    is_valid(&built);
    assert_eq!((built["header"]["nonce"].as_str(), built["network"].as_str()), (Some("1"), Some("devnet")));
    assert!(built["estimate"]["energy"].as_str().unwrap().parse::<u64>().unwrap() > 0);
    bench.run(&["tx", "inspect", &unsigned]).await.code(0);
    let not_signed = bench.run(&["tx", "send", &unsigned, "--yes", "--json"]).await.code(2);
    assert_eq!(not_signed.error(), "not_enough_signatures");

    bench.run_as(1, &["tx", "sign", &unsigned, "--out", &signed]).await.code(0);
    let document = bench.json_file("signed.json");
    is_valid(&document);
    let hash = document["transaction_hash"].as_str().unwrap().to_owned();
    let inspected = bench.run(&["tx", "inspect", &signed, "--json"]).await.code(0).json();
    assert_eq!(inspected, document);
    let by_bytes = bench.run(&["tx", "inspect", document["block_item_hex"].as_str().unwrap(), "--json"]).await.code(0).json();
    assert_eq!((by_bytes["transaction_hash"].as_str(), &by_bytes["network"]), (Some(hash.as_str()), &Value::Null));

    let unknown = bench.run(&["tx", "status", &signed, "--no-wait", "--json"]).await.code(3).json();
    assert_eq!(unknown["state"], "unknown");
    let sent = bench.run(&["tx", "send", &signed, "--yes", "--json"]).await.code(0).says(&hash).json();
    assert_eq!((sent["state"].as_str(), sent["transaction_hash"].as_str()), (Some("finalized"), Some(hash.as_str())));
    // Sent again, it is not sent again.
    let again = bench.run(&["tx", "send", &signed, "--yes", "--json"]).await.code(0).json();
    assert_eq!(again["block"], sent["block"]);
    let followed = bench.run(&["tx", "status", &hash, "--json"]).await.code(0).json();
    assert_eq!(followed, sent);
    assert_eq!((followed["token_id"].as_str(), bench.sent_by(1).await), (Some("0"), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_signed_and_not_sent_is_in_the_journal_and_can_be_sent_from_there() {
    let bench = Bench::new().await;
    let signed = bench.text("signed.json");
    let register = ["tx", "register", "--uri", "https://a.example/c"];
    bench.run_as(1, &[&register[..], &["--sign-only", "--out", &signed]].concat()).await.code(0);
    // As if the machine had stopped between writing it down and sending it.
    let transaction = Document::from_json(&bench.json_file("signed.json")).unwrap().signed().unwrap();
    let (hash, sender) = (transaction.hash().to_string(), transaction.transaction.sender());
    let journal = cardproof::anchor::journal::Journal::of(&bench.path("state"), &bench.net.genesis_hash(), sender);
    let lock = journal.lock(Duration::ZERO).await.unwrap();
    lock.record(&transaction, cardproof::registry::Timestamp(1_700_000_000_000)).unwrap();
    drop(lock);
    let run =
        bench.run_as(1, &[&register[..], &["--yes", "--json"]].concat()).await.code(2).says(&format!("cardproof tx send {hash}"));
    assert_eq!((run.error().as_str(), bench.sent_by(1).await), ("already_signed", 0));
    assert_eq!(bench.run(&["tx", "send", &hash, "--yes", "--json"]).await.code(0).json()["outcome"], "success");
    assert_eq!(bench.sent_by(1).await, 1);
    // A hash that nobody knows and nobody vouches for is not waited for.
    bench.run(&["tx", "status", &"ab".repeat(32), "--json"]).await.code(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_entry_point_is_a_command() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let success = async |account: usize, args: &[&str]| -> Value {
        let run = bench.run_as(account, &[&["tx"], args, &["--yes", "--json"]].concat()).await.code(0);
        let status = run.json();
        assert_eq!(status["outcome"], "success", "{args:?}");
        status
    };
    success(1, &["set-agent-uri", &agent, "--clear-hash", "--uri", "https://b.example/card.json"]).await;
    success(1, &["set-metadata", &agent, "--metadata", "k=v=w"]).await;
    success(1, &["set-metadata", &agent, "--key", "raw", "--value-hex", "00ff"]).await;

    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let (public, account) = (hex::encode(key.verifying_key().to_bytes()), bench.address(1));
    let named = ["--namespace", "solana:main", "--key-type", "ed25519", "--public-key", &public];
    let message = [&["tx", "message", "external-key", "--account", &account, "--scheme", "solana-ed25519"], &named[..]].concat();
    let message = bench.run(&[&message[..], &["--json"]].concat()).await.code(0).json();
    let bytes = hex::decode(message["message_hex"].as_str().unwrap()).unwrap();
    let signature = hex::encode(ed25519_dalek::Signer::sign(&key, &bytes).to_bytes());
    let register =
        [&["cis8-register-external-key"], &named[..], &["--scheme", "solana-ed25519", "--signature", &signature]].concat();
    assert_eq!(success(1, &register).await["events"][0]["name"], "ExternalKeyRegistered");
    success(1, &[&["set-external-reference", agent.as_str()], &named[..]].concat()).await;
    success(1, &["set-external-reference", &agent, "--clear-reference"]).await;
    success(1, &[&["cis8-update-metadata"], &named[..], &["--metadata", "a=b"]].concat()).await;
    assert_eq!(success(1, &[&["cis8-revoke"], &named[..]].concat()).await["events"][0]["name"], "ExternalKeyRevoked");

    // The wallet signs on its own machine; the owner sends.
    let (wallet, deadline) = (bench.address(2), "2099-01-01T00:00:00Z");
    let message = ["tx", "message", "agent-wallet", &agent, "--wallet", &wallet, "--deadline", deadline];
    let printed = bench.run(&[&message[..], &["--json"]].concat()).await.code(0).json();
    assert_eq!((printed["bytes"].as_u64(), &printed["signatures"]), (Some(162), &Value::Null));
    let signatures = bench.run_as(2, &message).await.code(0).stdout();
    let signatures = bench.write("wallet-signatures.json", signatures);
    let set = ["set-agent-wallet", &agent, "--wallet", &wallet, "--deadline", deadline];
    success(1, &[&set[..], &["--signatures", &signatures]].concat()).await;
    // Or both are in one hand.
    let (wallet, keys) = (bench.address(3), bench.text("3.json"));
    let both = ["tx", "set-agent-wallet", &agent, "--wallet", &wallet, "--deadline", "10m", "--wallet-keys", &keys, "--yes"];
    let _ = bench.run_as(1, &both).await.code(0).says(&format!("account {wallet} becomes the wallet of agent {agent}"));

    success(1, &["update-operator", "--add", &bench.address(4)]).await;
    success(4, &["transfer", &agent, "--from", &bench.address(1), "--to", &bench.address(5)]).await;
    assert_eq!(success(5, &["revoke", &agent, "--reason", "done"]).await["token_id"], agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_can_be_given_as_a_whole() {
    let bench = Bench::new().await;
    let parameter = json!({
        "agent_uri": {"Some": ["https://a.example/c"]}, "metadata_hash": {"None": []},
        "external_reference": {"None": []}, "initial_metadata": [],
    });
    let file = bench.write("parameter.json", parameter.to_string());
    let offline = ["--sender", &bench.address(1), "--build-only", "--nonce", "1", "--expiry", "1h", "--execution-energy", "9000"];
    let built =
        bench.run(&[&["tx", "register", "--parameter-json", &file, "--json"], &offline[..]].concat()).await.code(0).json();
    assert_eq!((&built["schema_json"], &built["estimate"]), (&parameter, &Value::Null));
    let hex = built["hex"].as_str().unwrap();
    let same = bench.run(&[&["tx", "register", "--parameter-hex", hex, "--json"], &offline[..]].concat()).await.code(0).json();
    assert_eq!(same["payload_hex"], built["payload_hex"]);
    bench
        .run(&[&["tx", "revoke", "--parameter-hex", hex], &offline[..]].concat())
        .await
        .code(2)
        .says("no parameter of CIS-8004.revoke");
    bench.write("bad.json", "{\"agent_uri\": 1}");
    bench.run(&[&["tx", "register", "--parameter-json", &bench.text("bad.json")], &offline[..]].concat()).await.code(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_tells_what_would_happen_and_sends_nothing() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let tried = bench.run_as(1, &["tx", "revoke", &agent, "--dry-run", "--json"]).await.code(0).json();
    assert_eq!(
        (tried["dry_run"]["outcome"].as_str(), tried["dry_run"]["events"][0]["name"].as_str()),
        (Some("success"), Some("Revoked"))
    );
    let run = bench.run(&["tx", "revoke", &agent, "--sender", &bench.address(2), "--dry-run", "--json"]).await.code(1);
    assert_eq!(run.says("Unauthorized (-7201)").error(), "would_be_rejected");
    let run =
        bench.run_as(1, &["tx", "revoke", &agent, "--energy", "400", "--yes", "--json"]).await.code(1).says("out of energy");
    assert_eq!(run.error(), "out_of_energy");
    assert_eq!(bench.sent_by(1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_on_the_chain_has_its_name() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let signed = bench.text("signed.json");
    let offline = ["--nonce", "1", "--expiry", "10m", "--execution-energy", "20000", "--sign-only", "--out", &signed];
    bench.run_as(2, &[&["tx", "revoke", &agent], &offline[..]].concat()).await.code(0);
    let run = bench.run(&["tx", "send", &signed, "--no-dry-run", "--yes", "--json"]).await.code(1);
    let status = run.json();
    assert_eq!((status["state"].as_str(), status["outcome"].as_str()), (Some("finalized"), Some("rejected")));
    assert_eq!(status["reject"], json!({"code": -7201, "name": "Unauthorized"}));
    let run = bench.run(&["tx", "status", status["transaction_hash"].as_str().unwrap()]).await.code(1);
    assert!(run.stdout().contains("Unauthorized (-7201)"), "{}", run.stdout());
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_of_several_people_are_collected_in_a_file() {
    let bench = Bench::new().await;
    let file = bench.text("tx.json");
    let register = ["tx", "register", "--uri", "https://m.example/c"];
    let run = bench.run_as(9, &[&register[..], &["--signers", "0:1", "--yes", "--json"]].concat()).await.code(2);
    assert_eq!(run.says("--sign-only").error(), "not_enough_signatures");
    bench.run_as(9, &[&register[..], &["--signers", "0:1", "--sign-only", "--out", &file]].concat()).await.code(0).says("1 more");
    assert!(bench.json_file("tx.json").get("transaction_hash").is_none());
    let run = bench.run_as(1, &["tx", "sign", &file, "--json"]).await.code(2);
    assert_eq!(run.error(), "wrong_sender");
    bench.run_as(9, &["tx", "sign", &file, "--signers", "0:2", "--out", &file]).await.code(0);
    assert_eq!(bench.run(&["tx", "send", &file, "--yes", "--json"]).await.code(0).json()["outcome"], "success");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_planned_for_too_few_signatures_says_how_it_is_built_for_more() {
    let bench = Bench::new().await;
    let (sender, built, one, two) = (bench.address(9), bench.text("off.json"), bench.text("one.json"), bench.text("two.json"));
    let set = ["tx", "set-metadata", "0", "--metadata", "team=red"];
    let few = ["tx", "set-metadata", "0", "--metadata", "team=red", "--yes", "--signers", "0:1"];
    let agent = bench.run_as(9, &["tx", "register", "--uri", "https://m.example/c", "--yes"]).await;
    agent.code(0);
    let run = bench.run_as(9, &few).await;
    run.code(2).says("`cardproof tx set-metadata … --sign-only");
    let offline =
        ["--sender", &sender, "--build-only", "--offline", "--nonce", "2", "--expiry", "10m", "--execution-energy", "2000"];
    let offline = [&set[..], &offline].concat();
    let run = bench.run(&[&offline[..], &["--out", &built]].concat()).await.code(0);
    run.says("it is planned for 1").says("--signature-count <N>");
    bench.run_as(9, &["tx", "sign", &built, "--signers", "0:1", "--out", &one]).await.code(0);
    let run = bench.run(&["tx", "send", &one, "--yes"]).await.code(2).says("`cardproof tx set-metadata … --signature-count 2");
    assert!(!run.stderr().contains("tx register"), "{}", run.stderr());
    bench.run_as(9, &["tx", "sign", &built]).await.code(2).says("with --signature-count 2");

    // Built for two: each signs for itself, and one puts the other's document to the own.
    let run = bench.run(&[&offline[..], &["--signature-count", "2", "--out", &built]].concat()).await.code(0);
    assert!(!run.stderr().contains("is planned for"), "{}", run.stderr());
    bench.run_as(9, &["tx", "sign", &built, "--signers", "0:1", "--out", &one]).await.code(0).says("1 more");
    bench.run_as(9, &["tx", "sign", &built, "--signers", "0:2", "--out", &two]).await.code(0).says("1 more");
    let whole = bench.run(&["tx", "sign", &one, "--signatures", &two]).await.code(0).json();
    assert!(whole["transaction_hash"].is_string(), "{whole:#}");
    let run = bench.run(&["tx", "sign", &one, "--signatures", &built, "--json"]).await.code(2);
    assert_eq!(run.error(), "not_enough_signatures");
    let other = [&set[..], &["--sender", &sender, "--sign-only", "--offline", "--nonce", "3", "--expiry", "10m"]].concat();
    let other =
        [&other[..], &["--execution-energy", "2000", "--signers", "0:2", "--signature-count", "2", "--out", &two]].concat();
    bench.run_as(9, &other).await.code(0);
    let run = bench.run(&["tx", "sign", &one, "--signatures", &two, "--json"]).await.code(2);
    assert_eq!(run.error(), "another_transaction");
}

#[tokio::test(flavor = "multi_thread")]
async fn c_76_networks_must_agree_before_signing_and_sending() {
    let bench = Bench::new().await;
    let register = ["tx", "register", "--uri", "https://a.example/c", "--yes", "--json"];
    let run = bench.run_as(1, &[&register[..], &["--network", "wrongnet"]].concat()).await.code(2);
    assert_eq!(run.error(), "wrong_network");
    // The same chain under another name: the wallet says devnet.
    let run = bench.run_as(1, &[&register[..], &["--network", "othernet"]].concat()).await.code(2).says("devnet");
    assert_eq!(run.error(), "wrong_network");
    let offline = ["--nonce", "1", "--expiry", "10m", "--execution-energy", "20000", "--sign-only"];
    let run = bench.run_as(1, &[&["tx", "revoke", "0", "--network", "testnet", "--json"], &offline[..]].concat()).await.code(2);
    assert_eq!(run.error(), "wrong_network");
    let unsigned = bench.text("unsigned.json");
    let build = ["tx", "revoke", "0", "--sender", &bench.address(1), "--build-only", "--out", &unsigned];
    bench.run(&[&build[..], &offline[..6]].concat()).await.code(0);
    let run = bench.run_as(1, &["tx", "sign", &unsigned, "--network", "testnet", "--json"]).await.code(2);
    assert_eq!(run.error(), "wrong_network");
    assert_eq!(bench.sent_by(1).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inconsistent_document_is_neither_signed_nor_sent() {
    let bench = Bench::new().await;
    let file = bench.text("tx.json");
    let build = ["tx", "register", "--uri", "https://a.example/c", "--sender", &bench.address(1), "--build-only", "--out", &file];
    bench.run(&build).await.code(0);
    let mut document = bench.json_file("tx.json");
    document["schema_json"]["agent_uri"] = json!({"Some": ["https://evil.example/c"]});
    bench.write("tx.json", document.to_string());
    for args in
        [&["tx", "inspect", &file, "--json"][..], &["tx", "sign", &file, "--json"], &["tx", "send", &file, "--yes", "--json"]]
    {
        let run = bench.run_as_needed(args).await.code(1).says("schema_json");
        assert_eq!(run.error(), "inconsistent");
    }
}

impl Bench {
    async fn run_as_needed(&self, args: &[&str]) -> crate::bench::Run {
        if args[1] == "sign" {
            self.run_as(1, args).await
        } else {
            self.run(args).await
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c_75_two_builds_do_not_share_a_nonce_without_a_word() {
    let bench = Bench::new().await;
    let build = async |uri: &str, more: &[&str]| {
        let args = ["tx", "register", "--uri", uri, "--sender", &bench.address(1), "--build-only", "--json"];
        bench.run(&[&args[..], more].concat()).await.code(0)
    };
    assert!(!build("https://a.example/1", &[]).await.stderr().contains("nonce"));
    build("https://a.example/2", &[]).await.says("same nonce").says("--nonce 2");
    assert_eq!(build("https://a.example/2", &["--nonce", "2"]).await.json()["header"]["nonce"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn c_75_a_pending_transaction_of_others_is_not_guessed_around() {
    let bench = Bench::built(Devnet::builder().manual()).await;
    let first = bench.text("first.json");
    let offline = ["--nonce", "1", "--expiry", "1h", "--execution-energy", "20000", "--sign-only", "--out", &first];
    bench.run_as(1, &[&["tx", "register", "--uri", "https://a.example/1"], &offline[..]].concat()).await.code(0);
    let elsewhere = bench.text("elsewhere");
    let run = bench.run(&["tx", "send", &first, "--yes", "--no-wait", "--state-dir", &elsewhere, "--json"]).await.code(0);
    assert_eq!(run.json()["state"], "received");
    let next = ["tx", "register", "--uri", "https://a.example/2", "--yes", "--no-wait", "--json"];
    let build = ["tx", "register", "--uri", "https://a.example/2", "--build-only", "--json"];
    let run = bench.run_as(1, &build).await.code(3).says("--nonce 2").says("again when they are finalized");
    assert_eq!(run.error(), "pending_transactions");
    let run = bench.run_as(1, &[&next[..], &["--nonce", "3"]].concat()).await.code(2);
    assert_eq!(run.error(), "nonce_gap");
    bench.run_as(1, &[&next[..], &["--nonce", "2"]].concat()).await.code(0);
    bench.net.advance().await.unwrap();
    assert_eq!(bench.sent_by(1).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_come_from_a_private_file_or_a_pipe() {
    let bench = Bench::new().await;
    let open = bench.text("1.json");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let register = ["tx", "register", "--uri", "https://a.example/c", "--yes", "--json"];
    let run = bench.run_as(1, &register).await.code(2).says("chmod 600");
    assert_eq!(run.error(), "key_file_open_to_others");
    bench.run_as(1, &[&register[..], &["--allow-open-key-file"]].concat()).await.code(0);

    let mut command = bench.command(&[&["tx", "revoke", "0", "--yes", "--json"][..], &["--keys", "-"]].concat());
    let export = std::fs::read(&open).unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&export).unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bench.holds_no_secret(&format!("{output:?}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_key_file_signs_with_its_password() {
    let bench = Bench::new().await;
    let fixture: Value = serde_json::from_str(include_str!("../data/keys/formats.json")).unwrap();
    for name in ["mobile_wallet_encrypted", "client_encrypted"] {
        let keys = bench.write("keys.json", fixture[name].to_string());
        let password = bench.write("password", format!("{}\n", fixture["password"].as_str().unwrap()));
        for file in [&keys, &password] {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let offline = ["--nonce", "1", "--expiry", "1798761600", "--execution-energy", "20000", "--sign-only", "--json"];
        let sender = fixture["address"].as_str().unwrap();
        let args = ["tx", "revoke", "0", "--network", "testnet", "--sender", sender, "--keys", &keys];
        let run = bench.run(&[&args[..], &offline[..]].concat()).await.code(2);
        assert_eq!(run.error(), "password_needed", "{name}");
        let run = bench.run(&[&args[..], &offline[..], &["--password-file", &password]].concat()).await.code(0);
        let document = Document::from_json(&run.json()).unwrap();
        assert_eq!(document.signatures.count(), 2, "{name}");
        assert!(!run.text().contains(fixture["password"].as_str().unwrap()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn set_agent_uri_erases_nothing_unsaid() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let hash = "00".repeat(32);
    for args in [&["--hash", &hash][..], &["--clear-hash"], &["--uri", "https://b.example"], &["--keep-uri"], &[]] {
        let run = bench.run_as(1, &[&["tx", "set-agent-uri", &agent, "--yes", "--json"], args].concat()).await.code(2);
        assert!(run.says("both must be said").stderr().contains("--clear-uri"));
    }
    bench.run_as(1, &["tx", "set-agent-uri", &agent, "--hash", &hash, "--clear-hash", "--keep-uri", "--yes"]).await.code(2);
    bench.run_as(1, &["tx", "set-agent-uri", &agent, "--clear-hash", "--clear-uri", "--yes"]).await.code(0);
    assert_eq!(bench.sent_by(1).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn not_waiting_returns_when_the_node_has_it_and_waiting_has_an_end() {
    let bench = Bench::built(Devnet::builder().manual()).await;
    let register = ["tx", "register", "--uri", "https://a.example/1", "--yes", "--json"];
    let run = bench.run_as(1, &[&register[..], &["--wait-timeout", "200ms"]].concat()).await.code(3);
    assert_eq!(run.json()["state"], "received");
    let again = bench.run_as(1, &[&register[..], &["--no-wait"]].concat()).await.code(2);
    assert_eq!(again.error(), "already_signed");
    bench.net.commit().await.unwrap();
    let hash = run.json()["transaction_hash"].as_str().unwrap().to_owned();
    let committed = bench.run(&["tx", "status", &hash, "--no-wait", "--json"]).await.code(3).json();
    assert_eq!((committed["state"].as_str(), committed["token_id"].as_str()), (Some("committed"), Some("0")));
    bench.net.finalize();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(bench.run(&["tx", "status", &hash, "--json"]).await.code(0).json()["state"], "finalized");
}

#[test]
fn what_the_javascript_sdk_signed_is_inspected() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/transactions.json")).unwrap();
    for case in vectors["cases"].as_array().unwrap() {
        let hex = case["blockItemHex"].as_str().unwrap();
        let signed = SignedTransaction::from_block_item(&hex::decode(hex).unwrap()).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_cardproof"))
            .args(["tx", "inspect", hex, "--json"])
            .env_clear()
            .output()
            .unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        is_valid(&json);
        assert_eq!(json["transaction_hash"], case["transactionHash"]);
        assert_eq!(json["transaction_hash"], signed.hash().to_string());
    }
}
