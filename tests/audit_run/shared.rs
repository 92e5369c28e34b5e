//! Several workers on one run.

use std::collections::HashMap;
use std::time::Duration;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::registry::parameter::{Parameter, Revoke};
use serde_json::Value;

use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::{assert_valid, Tool};

const CARD: &[u8] = b"a card";
const LOOPBACK: [&str; 6] = ["--allow-http", "--allow-private", "--per-host", "4", "--per-host-rate", "0"];

async fn slow_host() -> CardHost {
    CardHost::http(|_| Answer(std::iter::once(Act::Pause(Duration::from_millis(10))).chain(Answer::ok(CARD).0).collect())).await
}

async fn preload(net: &Devnet, host: &CardHost, count: usize) {
    let base = host.url("/");
    net.preload_agents(1, count, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
}

/// How often each path was asked for.
fn asked(host: &CardHost) -> HashMap<String, usize> {
    let mut asked = HashMap::new();
    host.requests().into_iter().for_each(|request| *asked.entry(request.path).or_default() += 1);
    asked
}

fn judged(stderr: &[u8]) -> usize {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().find_map(|line| line.strip_prefix("this worker judged ")).unwrap_or_else(|| panic!("{text}"));
    line.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_split_a_run_and_check_no_agent_twice() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    preload(&net, &host, 1000).await;
    let tool = Tool::on(&net);
    let lonely = tool.run(&["audit", "worker"]).await;
    assert!(lonely.code == 2 && lonely.stderr.contains("no shared run"), "{}", lonely.stderr);
    let first = tool.command(&[&["audit", "--all", "--share", "--json"][..], &LOOPBACK].concat()).spawn().unwrap();
    while host.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = tool.run(&[&["audit", "worker", "--json"][..], &LOOPBACK].concat()).await;
    let first = first.wait_with_output().await.unwrap();
    assert_eq!((first.status.code(), second.code), (Some(0), 0), "{}", second.stderr);
    let run: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_valid("audit", &run);
    assert_eq!((&run["summary"]["match"], run["results"].as_array().unwrap().len()), (&Value::from(1000), 1000));
    assert_valid("audit-runs", &second.json());
    assert!(!second.stderr.contains("audit report"), "who began it is there: {}", second.stderr);
    let (one, other) = (judged(&first.stderr), judged(second.stderr.as_bytes()));
    assert!(one > 0 && other > 0 && one + other == 1000, "{one} and {other}");
    let asked = asked(&host);
    assert!(asked.len() == 1000 && asked.values().all(|times| *times == 1), "an agent was checked twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_run_is_shared_too() {
    let net = Devnet::start().await.unwrap();
    let pause = Act::Pause(Duration::from_millis(400));
    let host = CardHost::http(move |_| Answer(std::iter::once(pause.clone()).chain(Answer::ok(CARD).0).collect())).await;
    preload(&net, &host, 31).await;
    let tool = Tool::on(&net);
    let first = tool.command(&[&["audit", "--all", "--share", "--json"][..], &LOOPBACK].concat()).spawn().unwrap();
    while host.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = tool.run(&[&["audit", "worker", "--json"][..], &LOOPBACK].concat()).await;
    let first = first.wait_with_output().await.unwrap();
    assert_eq!((first.status.code(), second.code), (Some(0), 0), "{}", second.stderr);
    let (one, other) = (judged(&first.stderr), judged(second.stderr.as_bytes()));
    assert!(one > 0 && other > 0 && one + other == 31, "{one} and {other}");
    let said = format!("{}{}", String::from_utf8_lossy(&first.stderr), second.stderr);
    assert!(said.contains("waiting for other workers, who have the last "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_share_of_a_killed_worker_is_finished_by_another() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    preload(&net, &host, 600).await;
    let tool = Tool::on(&net);
    let mut killed = tool.command(&[&["audit", "--all", "--share", "--lease", "1s"][..], &LOOPBACK].concat()).spawn().unwrap();
    while host.requests().len() < 50 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    killed.start_kill().unwrap();
    killed.wait().await.unwrap();
    let other = tool.run(&[&["audit", "worker", "--lease", "1s", "--json"][..], &LOOPBACK].concat()).await;
    assert_eq!(other.code, 0, "{}", other.stderr);
    let summary = other.json()["runs"][0]["summary"].clone();
    assert_eq!((&summary["agents"], &summary["match"]), (&Value::from(600), &Value::from(600)));
    // The report that the one who began it would have written.
    assert!(
        other.stderr.contains("who began run 1 is gone and has written no report: cardproof audit report 1 does"),
        "{}",
        other.stderr
    );
    let file = tool.folder().join("a.xml");
    let report = tool.run(&["audit", "report", "1", "--json", "--report", &format!("junit={}", file.display())]).await;
    assert_valid("audit", &report.json());
    assert_eq!((report.code, report.json()["results"].as_array().unwrap().len()), (0, 600), "{}", report.stderr);
    assert_eq!((&report.json()["run"]["complete"], &report.json()["run"]["id"]), (&Value::from(true), &Value::from("1")));
    assert!(std::fs::read_to_string(file).unwrap().contains(r#"tests="600""#));
}

/// Whoever began a run may be gone, so whoever ends it says how it ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_a_run_exits_by_its_verdicts() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    preload(&net, &host, 300).await;
    net.register_agent(0, Some(&host.url("/wrong")), Some([1; 32])).await.unwrap();
    let tool = Tool::on(&net);
    let mut killed = tool.command(&[&["audit", "--all", "--share", "--lease", "1s"][..], &LOOPBACK].concat()).spawn().unwrap();
    while host.requests().len() < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    killed.start_kill().unwrap();
    killed.wait().await.unwrap();
    let other = tool.run(&[&["audit", "worker", "--lease", "1s", "--json"][..], &LOOPBACK].concat()).await;
    assert_eq!((other.code, &other.json()["runs"][0]["summary"]["mismatch"]), (1, &Value::from(1)), "{}", other.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_requires_active_agents_counts_a_revoked_one_as_a_mismatch() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    preload(&net, &host, 300).await;
    let agent = net.register_agent(0, Some(&host.url("/revoked")), Some(Sha256Digest::of(CARD).0)).await.unwrap();
    let revoke = Revoke { token_id: agent, reason: None }.to_bytes().unwrap();
    net.update(0, net.registry(), "revoke", &revoke).await.unwrap();
    let tool = Tool::on(&net);
    for (more, code) in [(&["--require-active"][..], 1), (&["--require-active", "--fail-on", "absent"], 0), (&[], 0)] {
        let before = host.requests().len();
        let mut killed =
            tool.command(&[&["audit", "--all", "--share", "--lease", "1s"][..], &LOOPBACK].concat()).spawn().unwrap();
        while host.requests().len() < before + 20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        killed.start_kill().unwrap();
        killed.wait().await.unwrap();
        let other = tool.run(&[&["audit", "worker", "--lease", "1s"][..], more, &LOOPBACK].concat()).await;
        assert_eq!(other.code, code, "{more:?}: {}", other.stderr);
        let said = format!("agent {agent} is revoked, which --require-active counts as a mismatch");
        assert_eq!(other.stderr.contains(&said), !more.is_empty(), "{}", other.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_judges_by_the_options_of_the_run_or_not_at_all() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    preload(&net, &host, 300).await;
    let tool = Tool::on(&net);
    let args = [&["audit", "--all", "--share", "--lease", "1s", "--max-bytes", "3B"][..], &LOOPBACK].concat();
    let mut killed = tool.command(&args).spawn().unwrap();
    while host.requests().len() < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    killed.start_kill().unwrap();
    killed.wait().await.unwrap();
    let refused = tool.run(&["audit", "worker", "--allow-http", "--json"]).await;
    assert_eq!((refused.code, refused.json()["code"].as_str()), (2, Some("other_options")), "{}", refused.stderr);
    let message = "run 1 is judged by other options than these: --allow-private is set there, and not set here";
    assert_eq!(refused.json()["message"], message);
    let joined = tool.run(&[&["audit", "worker", "--lease", "1s", "--timeout", "9s", "--json"][..], &LOOPBACK].concat()).await;
    assert_eq!((joined.code, &joined.json()["runs"][0]["summary"]["undecided"]), (3, &Value::from(300)), "{}", joined.stderr);
    assert!(joined.stderr.contains("taken over from run 1: --max-bytes 3, --timeout 20s"), "{}", joined.stderr);
}

/// The same for who goes on alone: half of a run must not be judged by other options than the rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_gone_on_with_is_judged_by_the_options_it_was_begun_with() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    preload(&net, &host, 100).await;
    let tool = Tool::on(&net);
    let mut killed = tool.command(&[&["audit", "--all", "--max-bytes", "3B"][..], &LOOPBACK].concat()).spawn().unwrap();
    while host.requests().len() < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    killed.start_kill().unwrap();
    killed.wait().await.unwrap();
    let refused = tool.run(&["audit", "--all", "--resume"]).await;
    assert!(refused.code == 2 && refused.stderr.contains("--allow-http is set there, and not set here"), "{}", refused.stderr);
    let resumed = tool.run(&[&["audit", "--all", "--resume", "--json"][..], &LOOPBACK].concat()).await;
    assert_eq!((resumed.code, &resumed.json()["summary"]["undecided"]), (3, &Value::from(100)), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("taken over from run 1: --max-bytes 3"), "{}", resumed.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn c_57_a_url_is_fetched_once_in_all_parts_of_a_process() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    let one = host.url("/one");
    net.preload_agents(1, 700, move |_| (one.clone(), Some(Sha256Digest::of(CARD).0))).await.unwrap();
    let tool = Tool::on(&net);
    let ran = tool.run(&[&["audit", "--all", "--share", "--json"][..], &LOOPBACK].concat()).await;
    assert_eq!((ran.code, &ran.json()["summary"]["match"]), (0, &Value::from(700)), "{}", ran.stderr);
    assert_eq!(asked(&host), HashMap::from([("/one".to_owned(), 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_or_a_share_of_all_ids_takes_no_memory() {
    let net = Devnet::start().await.unwrap();
    let tool = Tool::on(&net);
    let all = "0-18446744073709551615";
    let share = tool.run(&["audit", "--ids", all, "--share"]).await;
    assert_eq!(share.code, 4, "what lies beyond the end has one result: {}", share.stderr);
    let runs = tool.run(&["audit", "runs", "--json"]).await.json();
    assert_eq!(runs["runs"][0]["summary"]["absent"], 1, "{runs:#}");
    let sample = tool.run(&["audit", "--ids", all, "--sample", "5", "--json"]).await;
    assert_eq!((sample.code, sample.json()["summary"]["absent"].as_u64()), (4, Some(5)), "{}", sample.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_run_is_gone_on_with_alone_once_nobody_is_at_it() {
    let (net, host) = (Devnet::start().await.unwrap(), slow_host().await);
    preload(&net, &host, 300).await;
    let tool = Tool::on(&net);
    let mut killed = tool.command(&[&["audit", "--all", "--share", "--lease", "2s"][..], &LOOPBACK].concat()).spawn().unwrap();
    while host.requests().len() < 50 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    killed.start_kill().unwrap();
    killed.wait().await.unwrap();
    let resume = [&["audit", "--all", "--resume", "--json"][..], &LOOPBACK].concat();
    let early = tool.run(&resume).await;
    assert_eq!((early.code, early.json()["code"].as_str()), (2, Some("run_is_alive")), "{}", early.stdout);
    assert!(early.json()["hint"].as_str().unwrap().contains("within 2 s if it is gone without a word"), "{}", early.stdout);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let resumed = tool.run(&resume).await;
    assert_eq!((resumed.code, &resumed.json()["summary"]["match"]), (0, &Value::from(300)), "{}", resumed.stderr);
    let worker = tool.run(&[&["audit", "worker"][..], &LOOPBACK].concat()).await;
    assert!(worker.code == 2 && worker.stderr.contains("no shared run"), "{}", worker.stderr);
}
