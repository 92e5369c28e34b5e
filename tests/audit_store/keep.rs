//! `cardproof audit --keep`, as the command: what is old is forgotten, and what is known about each agent is not.

use std::time::Duration;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use serde_json::Value;

use super::postgres;
use super::support::card_host::{Answer, CardHost};
use super::support::command::Tool;

const CARD: &[u8] = b"a card";

#[tokio::test(flavor = "multi_thread")]
async fn agents_outlive_their_results_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    agents_outlive_their_results(folder.path().join("audit.db").to_str().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_outlive_their_results_in_postgres() {
    if let Some(url) = postgres::new_database().await {
        agents_outlive_their_results(&url).await;
    }
}

async fn agents_outlive_their_results(store: &str) {
    let net = Devnet::start().await.unwrap();
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switch = broken.clone();
    let host = CardHost::http(move |request| {
        let other = request.path == "/1" && switch.load(std::sync::atomic::Ordering::SeqCst);
        Answer::ok(if other { b"another card" } else { CARD })
    })
    .await;
    for path in ["/0", "/1"] {
        net.register_agent(0, Some(&host.url(path)), Some(Sha256Digest::of(CARD).0)).await.unwrap();
    }
    let tool = Tool::on(&net);
    let run = async |args: &[&str]| {
        let mut command = tool.command(args);
        let output = command.env("CARDPROOF_STORE", store).output().await.unwrap();
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let document: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"));
        (output.status.code().unwrap(), document)
    };
    let audit =
        async |more: &[&str]| run(&[&["audit", "--all", "--json", "--allow-http", "--allow-private"][..], more].concat()).await;
    let history = async |agent: &str| run(&["audit", "history", agent, "--json"]).await.1;
    let runs = async || run(&["audit", "runs", "--json"]).await.1["runs"].as_array().unwrap().len();
    let length = |document: &Value, name: &str| document[name].as_array().unwrap().len();

    assert_eq!(audit(&[]).await.0, 0);
    broken.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(audit(&["--keep", "1h"]).await.0, 1);
    assert_eq!(audit(&[]).await.0, 1);
    let before = history("1").await;
    assert_eq!((runs().await, length(&before, "results"), length(&before, "transitions")), (3, 3, 1), "nothing is an hour old");

    tokio::time::sleep(Duration::from_millis(50)).await;
    let (code, document) = audit(&["--keep", "0s"]).await;
    assert_eq!((code, &document["summary"]["mismatch"]), (1, &Value::from(1)));
    assert_eq!(runs().await, 1, "the newest run stays");
    let after = history("1").await;
    assert_eq!((length(&after, "results"), length(&after, "transitions")), (1, 0));
    for kept in ["first_seen", "since", "last_match"] {
        assert!(before[kept].is_string(), "{kept}: {before:#}");
        assert_eq!(after[kept], before[kept], "{kept}");
    }
    assert_eq!((&before["consecutive"], &after["consecutive"]), (&Value::from(2), &Value::from(3)), "{after:#}");
    assert_eq!(length(&after, "anchors"), 1);

    // What was forgotten is no reason to tell it again, and what comes after it is told.
    assert_eq!(length(&audit(&[]).await.1["results"][1], "transitions"), 0);
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    let (code, document) = audit(&["--keep", "0s"]).await;
    let results = document["results"].as_array().unwrap();
    let told: Vec<&Value> = results.iter().filter_map(|result| result["transition"].as_object()?.get("kind")).collect();
    assert_eq!((code, told), (0, vec![&Value::from("mismatch_to_match")]));
    assert_eq!(history("1").await["first_seen"], before["first_seen"]);
}
