//! Two runs at once, a journal that was touched, a URI that no verifier would follow, a key where a file belongs.

use std::time::Duration;

use cardproof::anchor::Document;
use cardproof::devnet::Devnet;

use crate::bench::{Bench, Run};

const CARD: &str = "{\"name\":\"agent\"}\n";

#[tokio::test(flavor = "multi_thread")]
async fn c_84_runs_at_the_same_time_register_one_agent() {
    let bench = Bench::built(Devnet::builder()).await;
    let uri = bench.serve("/card.json", CARD);
    let card = bench.write("card.json", CARD);
    // Three different calls, so that only the look at the registry can tell that they are one agent.
    let register = async |value: &str| {
        bench.run_as(1, &["register", "--card", &card, "--uri", &uri, "--metadata", value, "--yes", "--json"]).await
    };
    let (first, second, third) = tokio::join!(register("run=1"), register("run=2"), register("run=3"));
    let mut codes = [first, second, third].map(|run| (run.0.status.code().unwrap(), run.text()));
    codes.sort();
    assert_eq!(codes.clone().map(|(code, _)| code), [0, 2, 2], "{codes:?}");
    assert!(codes[1..].iter().all(|(_, text)| text.contains("\"duplicate\"")), "{codes:?}");
    assert_eq!(bench.sent_by(1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uri_goes_on_the_chain_only_as_a_verifier_would_follow_it() {
    let bench = Bench::new().await;
    let uri = bench.serve("/card.json", CARD);
    let card = bench.write("card.json", CARD);
    // Without the allowances of the configuration.
    let config = std::fs::read_to_string(bench.path("cardproof.toml")).unwrap();
    std::fs::write(bench.path("cardproof.toml"), config.replace("allow_http = true\nallow_private = true\n", "")).unwrap();
    let register = ["register", "--card", &card, "--uri", &uri, "--yes", "--json"];
    let run = bench.run_as(1, &register).await.code(2).says("--allow-http").says("--allow-private");
    assert_eq!((run.error().as_str(), bench.sent_by(1).await), ("unsupported_scheme", 0));
    let run = bench.run_as(1, &[&register[..], &["--allow-http", "--allow-private"]].concat()).await.code(0);
    assert_eq!(run.json()["verify"]["match"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_on_the_command_line_is_not_repeated() {
    let bench = Bench::new().await;
    for key in ["ab".repeat(32), "{\"signKey\":\"abab\"}".to_owned()] {
        let run = bench.run(&["tx", "revoke", "0", "--yes", "--keys", &key, "--json"]).await.code(2).says("command line");
        assert!(!run.text().contains("abab"), "{}", run.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_not_text_stops_everything_and_is_not_cut() {
    let bench = Bench::new().await;
    bench.agent("https://a.example/c").await;
    let folder = std::fs::read_dir(bench.path("state/transactions")).unwrap().next().unwrap().unwrap().path();
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let journal = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let damaged = [&std::fs::read(&journal).unwrap()[..], b"\xff\0"].concat();
    std::fs::write(&journal, &damaged).unwrap();
    let run = bench.run_as(1, &["tx", "register", "--uri", "https://b.example/c", "--yes", "--json"]).await.code(2);
    assert_eq!((run.error().as_str(), bench.sent_by(1).await), ("journal_damaged", 1));
    assert_eq!(std::fs::read(&journal).unwrap(), damaged);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sent_transaction_keeps_its_hash_when_the_node_is_gone() {
    let bench = Bench::built(Devnet::builder().commit_delay(Duration::from_secs(60))).await;
    // The chain of another test may get the port that this one leaves: it must not have the same transaction.
    let out = bench.text("sent.json");
    let keys = bench.text("1.json");
    let mut command = bench.command(&["tx", "register", "--uri", "https://gone.example/c", "--keys", &keys, "--yes", "--json"]);
    command.args(["--out", &out, "--wait-timeout", "3s", "--node-timeout", "1s"]);
    let waiting = tokio::task::spawn_blocking(move || command.output().unwrap());
    let path = bench.path("sent.json");
    let Bench { net, folder: _folder, .. } = bench;
    let end = async {
        // Written before it is sent; the node is gone a little later.
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        net.shutdown().await;
    };
    let (output, ()) = tokio::join!(waiting, end);
    let run = Run(output.unwrap()).code(3);
    let status = run.json();
    let document = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let signed = Document::from_json(&document).unwrap().signed().unwrap();
    let hash = signed.hash().to_string();
    assert_eq!((status["state"].as_str(), status["transaction_hash"].as_str()), (Some("unknown"), Some(hash.as_str())));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_not_given_to_an_account_that_does_not_exist() {
    let bench = Bench::new().await;
    let agent = bench.agent("https://a.example/c").await;
    let nobody = cardproof::identity::AccountAddress([9; 32]).to_string();
    for args in [
        &["tx", "transfer", &agent, "--to", &nobody][..],
        &["tx", "update-operator", "--add", &nobody],
        &["tx", "set-agent-wallet", &agent, "--wallet", &nobody, "--deadline", "10m"],
    ] {
        let run = bench.run_as(1, &[args, &["--yes", "--json"]].concat()).await.code(2).says(&nobody);
        assert_eq!(run.error(), "no_such_account");
    }
    assert_eq!(bench.sent_by(1).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_that_no_node_accepts_is_refused_before_anything_is_signed() {
    let bench = Bench::new().await;
    let register = ["tx", "register", "--uri", "https://a.example/c", "--yes", "--json"];
    let run = bench.run_as(1, &[&register[..], &["--expiry", "3h"]].concat()).await.code(2).says("two hours");
    assert_eq!((run.error().as_str(), bench.sent_by(1).await), ("expiry_too_far", 0));
    bench.run_as(1, &[&register[..], &["--expiry", "110m"]].concat()).await.code(0);
    bench.run_as(1, &[&register[..], &["--wait", "--no-wait"]].concat()).await.code(2);
    bench.run(&["tx", "inspect", "abc"]).await.code(2).says("not a transaction");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duration_counts_for_each_of_two_steps() {
    let bench = Bench::new().await;
    let uri = bench.url("/card.json");
    let card = bench.write("card.json", "{ \"token\": \"{{badge}}\" }\n");
    let register = ["register", "--two-step", "--card", &card, "--uri", &uri, "--expiry", "3s", "--yes", "--json"];
    let filled = bench.path("card.0.json");
    let host = async {
        while !filled.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Longer than the first transaction had.
        tokio::time::sleep(Duration::from_secs(4)).await;
        bench.serve("/card.json", std::fs::read(&filled).unwrap());
    };
    let (run, ()) = tokio::join!(bench.run_as(1, &register), host);
    assert_eq!(run.code(0).json()["verify"]["match"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_inspect_says_about_bytes_is_a_document_itself() {
    let bench = Bench::new().await;
    let signed = bench.text("signed.json");
    bench.run_as(1, &["tx", "register", "--uri", "https://a.example/c", "--sign-only", "--out", &signed]).await.code(0);
    let item = bench.json_file("signed.json")["block_item_hex"].as_str().unwrap().to_owned();
    let said = bench.run(&["tx", "inspect", &item, "--json"]).await.code(0);
    let inspected = bench.write("inspected.json", said.stdout());
    assert_eq!(bench.run(&["tx", "inspect", &inspected, "--json"]).await.code(0).json(), said.json());
    let changed = said.stdout().replace("https://a.example/c", "https://b.example/c");
    let changed = bench.write("changed.json", changed);
    assert_eq!(bench.run(&["tx", "inspect", &changed, "--json"]).await.code(1).error(), "inconsistent");
    assert_eq!(bench.run(&["tx", "send", &inspected, "--yes", "--json"]).await.code(0).json()["outcome"], "success");
}

/// Another program may take the other one of the two.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_says_something_twice_is_neither_shown_nor_signed_nor_sent() {
    let bench = Bench::new().await;
    let file = bench.text("tx.json");
    let build = ["tx", "revoke", "0", "--build-only", "--sender", &bench.address(1), "--out", &file];
    bench.run(&[&build[..], &["--nonce", "1", "--expiry", "10m", "--energy", "9000"]].concat()).await.code(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let depths = [("\"signature_count\": 1", "signature_count"), ("\"nonce\": \"1\"", "nonce"), ("\"index\": \"", "index")];
    for (field, name) in depths {
        let twice = text.replacen(field, &format!("\"{name}\": \"7\", {field}"), 1);
        assert_ne!(twice, text);
        let twice = bench.write("twice.json", twice);
        for command in [&["tx", "inspect"][..], &["tx", "sign", "--yes"], &["tx", "send", "--yes"], &["tx", "status"]] {
            let run = bench
                .run(&[command, &[&twice, "--json"]].concat())
                .await
                .code(1)
                .says(&format!("the field {name} appears twice"));
            assert_eq!(run.error(), "inconsistent");
        }
    }
    let signatures = bench.write("signatures.json", r#"{"0": {"0": "ab", "0": "cd"}}"#);
    bench.run(&["tx", "sign", &file, "--signatures", &signatures]).await.code(2).says("the field 0 appears twice");
    let parameter = bench.write("parameter.json", r#"{"token_id": "01", "token_id": "02", "reason": {"None": []}}"#);
    bench
        .run_as(1, &["tx", "revoke", "--build-only", "--parameter-json", &parameter])
        .await
        .code(2)
        .says("the field token_id appears twice");
}
