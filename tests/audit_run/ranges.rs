//! Lists of token ids that go beyond the registry's end.

use std::time::{Duration, Instant};

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use serde_json::Value;

use crate::support::card_host::{Answer, CardHost};
use crate::support::command::{Ran, Tool};

const CARD: &[u8] = b"a card";

async fn bench(agents: usize) -> (Devnet, CardHost, Tool) {
    let (net, host) = (Devnet::start().await.unwrap(), CardHost::http(|_| Answer::ok(CARD)).await);
    let base = host.url("/");
    net.preload_agents(1, agents, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
    let tool = Tool::on(&net);
    (net, host, tool)
}

async fn audit(tool: &Tool, args: &[&str]) -> Ran {
    let loopback = ["--json", "--allow-http", "--allow-private", "--per-host", "64", "--per-host-rate", "0"];
    tool.run(&[&["audit"][..], args, &loopback].concat()).await
}

fn found(ran: &Ran) -> Vec<(u64, String)> {
    let document = ran.json();
    let result =
        |result: &Value| (result["token_id"].as_str().unwrap().parse().unwrap(), result["reason"].as_str().unwrap().to_owned());
    let mut found: Vec<_> = document["results"].as_array().unwrap().iter().map(result).collect();
    found.sort_unstable();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_beyond_the_end_of_a_long_list_are_reported_once() {
    let (_net, _host, tool) = bench(40).await;
    let begun = Instant::now();
    for (list, beyond, left) in
        [("0-99999999999", 40, 99_999_999_959_u64), ("5-18446744073709551615", 40, u64::MAX - 40), ("0-9,70-20000", 70, 19930)]
    {
        let ran = audit(&tool, &["--ids", list]).await;
        let found = found(&ran);
        let (missing, there): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, reason)| reason != "match");
        assert_eq!((ran.code, missing), (4, vec![(beyond, "agent_not_found".to_owned())]), "{list}: {}", ran.stderr);
        assert!(there.len() == if list.starts_with("0-9,") { 10 } else { beyond as usize - list[..1].parse::<usize>().unwrap() });
        let sentence = format!("{left} of these ids lie beyond the registry's end");
        let selection = ran.json()["run"]["selection"].as_str().unwrap().to_owned();
        assert!(ran.stderr.contains(&sentence) && selection.contains(&sentence), "{}\n{selection}", ran.stderr);
        assert!(selection.starts_with(&format!("the token ids {list}; ")), "{selection}");
    }
    assert!(begun.elapsed() < Duration::from_secs(30));
    // What has changed is asked about the same list, and is found as fast.
    let ran = audit(&tool, &["--ids", "0-99999999999", "--changed"]).await;
    assert_eq!((ran.code, ran.json()["summary"]["agents"].as_u64()), (4, Some(41)), "{}", ran.stderr);
    assert!(begun.elapsed() < Duration::from_secs(40));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_are_named_one_by_one_or_in_short_ranges_have_each_a_result() {
    let (_net, _host, tool) = bench(3).await;
    let ran = audit(&tool, &["--ids", "0-9,99999999999"]).await;
    let found = found(&ran);
    assert_eq!((ran.code, found.len()), (4, 11));
    assert_eq!(found.iter().filter(|(_, reason)| reason == "agent_not_found").count(), 8);
    assert!(!ran.stderr.contains("beyond"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_vanished_is_told_though_it_lies_beyond_the_end_of_a_long_list() {
    let (net, host, tool) = bench(50).await;
    assert_eq!(audit(&tool, &["--ids", "0-99999999999"]).await.code, 4);
    net.shutdown().await;
    // The same registry, of which only the beginning is left.
    let net = Devnet::start().await.unwrap();
    let base = host.url("/");
    net.preload_agents(1, 2, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
    let ran = audit(&tool, &["--ids", "0-99999999999", "--node", net.node_url()]).await;
    let vanished =
        ran.json()["results"].as_array().unwrap().iter().filter(|result| result["transition"]["kind"] == "vanished").count();
    assert_eq!((vanished, ran.json()["summary"]["agents"].as_u64()), (48, Some(51)), "{}", ran.stderr);
}
