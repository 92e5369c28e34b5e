//! What is known to fail is not sent; what is signed is shown; what is needed to go on is told.

use cardproof::digest::Sha256Digest;
use serde_json::{json, Value};

use crate::bench::Bench;

const OFFLINE: [&str; 6] = ["--nonce", "1", "--expiry", "10m", "--execution-energy", "20000"];

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_transaction_that_would_fail_is_not_sent() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let signed = |name: &str| bench.text(name);
    let (stranger, starved) = (signed("stranger.json"), signed("starved.json"));
    bench.run_as(2, &[&["tx", "revoke", &agent, "--sign-only", "--out", &stranger][..], &OFFLINE].concat()).await.code(0);
    let few = ["--nonce", "2", "--expiry", "10m", "--energy", "400", "--sign-only", "--out", &starved];
    bench.run_as(1, &[&["tx", "revoke", &agent], &few[..]].concat()).await.code(0);
    for (file, code, says) in [(&stranger, "would_be_rejected", "Unauthorized"), (&starved, "out_of_energy", "out of energy")] {
        let run = bench.run(&["tx", "send", file, "--yes", "--json"]).await.code(1).says(says).says("--no-dry-run");
        assert_eq!(run.error(), code);
    }
    assert_eq!((bench.sent_by(1).await, bench.sent_by(2).await), (1, 0));
    // Whoever wants it that way may have it.
    let run = bench.run(&["tx", "send", &stranger, "--yes", "--json", "--no-dry-run"]).await.code(1);
    assert_eq!((run.json()["outcome"].as_str(), bench.sent_by(2).await), (Some("rejected"), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_that_inspect_cannot_read_is_not_sent() {
    use cardproof::anchor::keys::KeyFile;
    use cardproof::anchor::{Call, Energy, SignedTransaction, Signer, ToSign, Transaction};

    let bench = Bench::new().await;
    let export = bench.net.account(1).unwrap().wallet_export();
    let signer = KeyFile::read(export.as_bytes(), &mut || panic!("no password")).unwrap().signer(None, None).unwrap();
    let call = Call { contract: bench.net.registry(), receive_name: "CIS-8004.revoke".into(), parameter: vec![1, 2, 3] };
    let expiry = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 600;
    let transaction = Transaction::new(call, signer.address(), 1, expiry, Energy::Execution(20_000), 1).unwrap();
    let signatures = signer.sign(ToSign::Transaction(&transaction)).await.unwrap();
    let item = hex::encode(SignedTransaction { transaction, signatures }.block_item());
    let _ = bench.run(&["tx", "inspect", &item, "--json"]).await.code(2).says("none of CIS-8004.revoke");
    let run = bench.run(&["tx", "send", &item, "--yes", "--json"]).await.code(2).says("none of CIS-8004.revoke");
    assert_eq!((run.error().as_str(), bench.sent_by(1).await), ("unreadable_parameter", 0));
    bench.run(&["tx", "send", &item, "--yes", "--json", "--no-dry-run"]).await.code(1);
    assert_eq!(bench.sent_by(1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_signed_is_shown_before() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let (unsigned, signed) = (bench.text("unsigned.json"), bench.text("signed.json"));
    let owner = bench.address(1);
    let shown = ["network    devnet", "CIS-8004.revoke", owner.as_str(), "energy     ", "cost       ", "expires    "];
    let shows = |stderr: String| {
        for part in shown {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
    };
    let revoke = ["tx", "revoke", &agent];
    let run = bench.run_as(1, &[&revoke[..], &["--sign-only", "--json"]].concat()).await.code(0);
    shows(run.stderr());
    assert!(run.stderr().contains("CCD expected") && run.stderr().contains("revoked for good"), "{}", run.stderr());
    let offline = bench.run_as(1, &[&revoke[..], &["--sign-only", "--json"], &OFFLINE].concat()).await.code(0);
    shows(offline.stderr());
    bench.run_as(1, &[&revoke[..], &["--build-only", "--out", &unsigned]].concat()).await.code(0);
    for more in [&["--yes"][..], &[]] {
        let run = bench.run_as(1, &[&["tx", "sign", &unsigned, "--out", &signed], more].concat()).await.code(0);
        shows(run.stderr());
        assert!(run.stderr().contains("by the estimate in the document"), "{}", run.stderr());
    }
    assert_eq!(bench.sent_by(1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wallets_message_tells_what_the_owner_goes_on_with() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/card.json").await;
    let wallet = bench.address(2);
    // A duration: what it comes to is nowhere but in the message.
    let message = ["tx", "message", "agent-wallet", &agent, "--wallet", &wallet, "--deadline", "1h"];
    let text =
        bench.run(&message).await.code(0).says("wallet nonce 0").says("deadline   20").says("cardproof tx set-agent-wallet");
    assert_eq!(text.stdout().trim().len(), 324);
    let printed = bench.run_as(2, &[&message[..], &["--json"]].concat()).await.code(0).json();
    assert_eq!((&printed["wallet_nonce"], &printed["owner"]), (&json!("0"), &json!(bench.address(1))));
    let signatures = bench.write("signatures.json", printed["signatures"].to_string());
    let next =
        printed["next"].as_str().unwrap().replace("<FILE>", &signatures).replace("<THE OWNER'S KEYS>", &bench.text("1.json"));
    let next: Vec<&str> = next.split_whitespace().skip(1).chain(["--yes", "--json"]).collect();
    assert_eq!(bench.run(&next).await.code(0).json()["outcome"], "success");
}

#[tokio::test(flavor = "multi_thread")]
async fn inspect_shows_the_genesis_hash_and_refuses_a_contradiction() {
    let bench = Bench::new().await;
    let file = bench.text("tx.json");
    let register =
        ["tx", "register", "--uri", "https://a.example/c", "--sender", &bench.address(1), "--build-only", "--out", &file];
    bench.run(&register).await.code(0);
    let run = bench.run(&["tx", "inspect", &file]).await.code(0);
    assert!(run.stdout().contains(&bench.net.genesis_hash().to_string()), "{}", run.stdout());
    let document = bench.json_file("tx.json");
    let changed = |field: &str, value: Value| {
        let mut changed = document.clone();
        changed[field] = value;
        bench.write("changed.json", changed.to_string())
    };
    let mainnet = cardproof::identity::MAINNET.genesis.to_string();
    for (field, value) in [
        ("genesis_hash", json!(mainnet)),
        ("estimate", json!({"energy": "1", "microccd": "1"})),
        ("estimate", json!({"energy": "99999999", "microccd": "1"})),
    ] {
        let run = bench.run(&["tx", "inspect", &changed(field, value), "--json"]).await.code(1).says(field);
        assert_eq!(run.error(), "inconsistent");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uri_that_is_not_spelled_as_the_standard_wants_is_warned_of() {
    let bench = Bench::new().await;
    let card = bench.write("card.json", "{}");
    let agent = bench.agent("https://a.example/c").await;
    let uri = "https://a.example/my card.json";
    for args in [
        &["anchor", &agent, "--card", &card, "--uri", uri, "--no-url-check"][..],
        &["register", "--card", &card, "--uri", uri, "--no-url-check"],
        &["tx", "set-agent-uri", &agent, "--clear-hash", "--uri", uri],
        &["tx", "register", "--uri", uri],
    ] {
        let run = bench.run_as(1, &[args, &["--dry-run"]].concat()).await.code(0).says("a space, which must be written as %20");
        assert_eq!(run.stderr().matches("RFC 3986").count(), 1, "{}", run.stderr());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_that_is_spelled_otherwise_ends_two_steps_before_anything_is_sent() {
    let bench = Bench::new().await;
    let uri = bench.url("/card.json");
    for almost in ["{{ token_id }}", "{{TOKEN-ID}}"] {
        let card = bench.write("card.json", format!("{{\"token\": \"{{{{badge}}}}\", \"id\": \"{almost}\"}}"));
        let register = ["register", "--two-step", "--card", &card, "--uri", &uri, "--host-wait", "0s", "--yes", "--json"];
        let _ = bench.run_as(1, &register).await.code(2).says(almost);
    }
    assert_eq!(bench.sent_by(1).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_chain_would_not_take_is_a_negative_answer_and_nothing_is_sent() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", "card");
    let (agent, card) = (bench.agent(&uri).await, bench.write("card.json", "card"));
    let anchor = ["anchor", &agent, "--card", &card, "--json"];
    for (account, more, code) in [(2, &[][..], "not_owner"), (1, &["--energy", "500"], "out_of_energy")] {
        for mode in ["--yes", "--dry-run"] {
            let run = bench.run_as(account, &[&anchor[..], more, &[mode]].concat()).await.code(1);
            assert_eq!(run.error(), code);
        }
    }
    assert_eq!(bench.sent_by(1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sponsors_signature_to_come_is_no_energy_for_the_contract() {
    let bench = Bench::new().await;
    let vector: Value = serde_json::from_str(include_str!("../vectors/sponsored.json")).unwrap();
    for item in ["blockItemHex", "unsponsoredHex"] {
        let json = bench.run(&["tx", "inspect", vector[item].as_str().unwrap(), "--json"]).await.code(0).json();
        assert_eq!(json["execution_energy"], vector["maxContractExecutionEnergy"].to_string(), "{item}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_others_may_read_is_closed_to_them_by_whoever_reads_it() {
    use std::os::unix::fs::PermissionsExt;

    let bench = Bench::new().await;
    bench.agent("https://a.example/card.json").await;
    let address = bench.net.account(1).unwrap().address();
    let journal = cardproof::anchor::journal::Journal::of(&bench.path("state"), &bench.net.genesis_hash(), address);
    std::fs::set_permissions(journal.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(bench.run(&["anchor", "--resume", "--json"]).await.code(2).error(), "nothing_to_resume");
    assert_eq!(std::fs::metadata(journal.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sponsored_transaction_is_shown_and_neither_signed_nor_sent() {
    let bench = Bench::new().await;
    let signed = bench.text("signed.json");
    let register = ["tx", "register", "--uri", "https://a.example/c", "--sign-only", "--out", &signed];
    bench.run_as(1, &[&register[..], &OFFLINE].concat()).await.code(0);
    let item = hex::decode(bench.json_file("signed.json")["block_item_hex"].as_str().unwrap()).unwrap();
    // Version, tag, one signature by one key of one credential: then the header of 60 bytes, and the payload.
    let (signatures, rest) = item[2..].split_at(70);
    let (header, payload) = rest.split_at(60);
    let sponsor = bench.net.account(2).unwrap().address();
    let sponsored = [&[3], signatures, signatures, &[0, 1], header, sponsor.bytes(), payload].concat();
    let item = hex::encode(&sponsored);
    let json = bench.run(&["tx", "inspect", &item, "--json"]).await.code(0).json();
    assert_eq!(json["header"]["sponsor"], sponsor.to_string());
    assert_eq!(json["transaction_hash"], Sha256Digest::of(&sponsored).to_string());
    assert!(json["sponsor_signatures"]["0"]["0"].is_string());
    let text = bench.run(&["tx", "inspect", &item]).await.code(0).stdout();
    assert!(text.contains(&format!("{sponsor} pays; 1 signature(s) of the sponsor")), "{text}");
    // What inspect says about it is a document that it reads.
    let said = bench.write("said.json", json.to_string());
    assert_eq!(bench.run(&["tx", "inspect", &said, "--json"]).await.code(0).json(), json);
    let changed = bench.write("changed.json", json.to_string().replace(&sponsor.to_string(), &bench.address(3)));
    assert_eq!(bench.run(&["tx", "inspect", &changed, "--json"]).await.code(1).error(), "inconsistent");
    for args in [&["tx", "send", &item, "--yes", "--json"][..], &["tx", "sign", &item, "--json"]] {
        assert_eq!(bench.run(args).await.code(2).says("sponsored").error(), "sponsored_transaction");
    }
    assert_eq!(bench.sent_by(1).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_by_its_name() {
    let bench = Bench::new().await;
    let (empty, card) = (bench.write("empty.json", ""), bench.write("card.json", "{}"));
    let agent = bench.agent("https://a.example/c").await;
    for args in [&["register", "--uri", "https://b.example/c"][..], &["anchor", &agent]] {
        for mode in ["--dry-run", "--yes"] {
            let run = bench.run_as(1, &[args, &["--card", &empty, "--no-url-check", mode, "--json"]].concat()).await.code(2);
            assert_eq!(run.says("0 bytes").error(), "empty_card");
        }
    }
    let trusted = ["register", "--uri", &bench.serve("/empty.json", ""), "--trust-url", "--yes", "--json"];
    assert_eq!(bench.run_as(1, &trusted).await.code(1).says("serves 0 bytes").error(), "empty_card");
    let twice = ["--uri", "https://b.example/c", "--metadata", "a=1", "--metadata", "b=1", "--metadata", "a=2", "--dry-run"];
    bench.run_as(1, &[&["register", "--card", &card][..], &twice].concat()).await.code(2).says("the key a twice");
    bench.run_as(1, &[&["tx", "register"][..], &twice].concat()).await.code(2).says("the key a twice");
    let nothing = bench.run(&["tx", "set-metadata", &agent]).await.code(2).says("--metadata <KEY=VALUE>");
    assert!(!nothing.stderr().contains("terminal"), "{}", nothing.stderr());
    let key = ["tx", "set-metadata", &agent, "--key", "k", "--value-hex", "00", "--dry-run"];
    bench.run_as(1, &key).await.code(0);
    // The CIS-8 registry is a contract, and none of agents.
    let cis8 = format!("{},0", bench.net.cis8().index);
    let other = ["--uri", "https://b.example/c", "--contract", &cis8, "--dry-run"];
    let run = bench.run_as(1, &[&["tx", "register"][..], &other].concat()).await.code(1);
    run.says(&format!("there is no CIS-8004 registry at <{cis8}>"));
    assert_eq!(bench.sent_by(1).await, 1);
}
