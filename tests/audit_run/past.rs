//! Judging at a block of the past, beside what is remembered of now.

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::registry::parameter::{Parameter, SetAgentUri};
use serde_json::Value;

use crate::support::card_host::{Answer, CardHost};
use crate::support::command::Tool;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_at_an_older_block_tells_and_remembers_nothing() {
    let net = Devnet::start().await.unwrap();
    let host = CardHost::http(|_| Answer::ok(b"new card")).await;
    let agent = net.register_agent(0, Some(&host.url("/old")), Some(Sha256Digest::of(b"old card").0)).await.unwrap();
    let tool = Tool::on(&net);
    let audit = |more: &'static [&'static str]| {
        let tool = &tool;
        async move { tool.run(&[&["audit", "--all", "--json", "--allow-http", "--allow-private"], more].concat()).await }
    };
    let first = audit(&[]).await;
    let height = first.json()["run"]["block"]["height"].as_str().unwrap().to_owned();
    let (uri, hash) = (Some(host.url("/new")), Some(Sha256Digest::of(b"new card")));
    let change = SetAgentUri { token_id: agent, agent_uri: uri, metadata_hash: hash }.to_bytes().unwrap();
    net.update(0, net.registry(), "setAgentURI", &change).await.unwrap();
    let moved = audit(&[]).await;
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert!(!moved.stderr.contains("is before block"), "{}", moved.stderr);
    let history = |document: Value| [document["class"].clone(), document["agent_uri"].clone(), document["since"].clone()];
    let before = history(tool.run(&["audit", "history", "0", "--json"]).await.json());

    let args = ["audit", "--all", "--json", "--allow-http", "--allow-private", "--at-block", &height];
    let past = tool.run(&args).await;
    assert_eq!((past.code, &past.json()["results"][0]["transition"]), (1, &Value::Null), "{}", past.stderr);
    assert_eq!(past.json()["results"][0]["notes"].as_array().unwrap().len(), 0, "the card is of a newer record, not of an older");
    assert_eq!(past.stderr.matches("which was audited already").count(), 1, "{}", past.stderr);
    let after = tool.run(&["audit", "history", "0", "--json"]).await.json();
    assert_eq!(after["results"].as_array().unwrap().len(), 3, "the result itself is kept");
    assert_eq!(history(after), before);
    let again = audit(&[]).await;
    assert_eq!((again.code, &again.json()["results"][0]["transition"]), (0, &Value::Null));
}
