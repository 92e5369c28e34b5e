//! The daemon left to itself: killed, slow, configured anew.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::registry::{encode_agent_of, AgentRecord};
use serde_json::Value;
use tokio::process::Child;

use crate::mock_node::{self, MockNode, World};
use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::Tool;

const CARD: &[u8] = b"a card";
const DAEMON: [&str; 8] = ["audit", "--all", "--every", "1s", "--allow-http", "--allow-private", "--per-host-rate", "0"];

/// A chain with so many agents, their host, which answers after as many milliseconds as it is told, and the command.
struct Bench {
    net: Devnet,
    host: CardHost,
    pause: Arc<AtomicU64>,
    tool: Tool,
}

impl Bench {
    async fn start(agents: usize, pause: u64) -> Self {
        let net = Devnet::start().await.unwrap();
        let pause = Arc::new(AtomicU64::new(pause));
        let milliseconds = pause.clone();
        let host = CardHost::http(move |_| {
            let wait = Act::Pause(Duration::from_millis(milliseconds.load(Ordering::SeqCst)));
            Answer(std::iter::once(wait).chain(Answer::ok(CARD).0).collect())
        })
        .await;
        let base = host.url("/");
        net.preload_agents(1, agents, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
        let tool = Tool::on(&net);
        Self { net, host, pause, tool }
    }

    fn daemon(&self, more: &[&str]) -> Child {
        self.tool.command(&[&DAEMON[..], more].concat()).spawn().unwrap()
    }

    /// The runs, the oldest first.
    async fn runs(&self) -> Vec<Value> {
        let ran = self.tool.run(&["audit", "runs", "--json"]).await;
        let mut runs = ran.json()["runs"].as_array().cloned().unwrap_or_default();
        runs.reverse();
        runs
    }

    async fn until(&self, what: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let runs = self.runs().await;
            if what(&runs) {
                return runs;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{runs:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn judged(run: &Value) -> u64 {
    run["summary"]["agents"].as_u64().unwrap()
}

async fn kill(mut daemon: Child) {
    daemon.start_kill().unwrap();
    daemon.wait().await.unwrap();
}

/// Ends the daemon in order and returns what it said.
async fn stop(daemon: Child) -> String {
    signal(&daemon, "-TERM");
    let output = daemon.wait_with_output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

fn signal(daemon: &Child, name: &str) {
    let status = std::process::Command::new("kill").args([name, &daemon.id().unwrap().to_string()]).status().unwrap();
    assert!(status.success());
}

/// `CARDPROOF_SOAK_KILLS` says how often it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_goes_on_with_its_own_run_and_checks_nothing_twice() {
    let kills = std::env::var("CARDPROOF_SOAK_KILLS").map_or(2, |text| text.parse().unwrap());
    tokio::join!(killed(kills, &[]), killed(kills, &["--changed"]));
}

async fn killed(kills: u64, more: &[&str]) {
    let agents = 10 * kills + 40;
    let bench = Bench::start(agents as usize, 100).await;
    for killed in 1..=kills {
        let daemon = bench.daemon(&[more, &["--per-host", "2"]].concat());
        bench.until(|runs| runs.last().is_some_and(|run| judged(run) >= killed * 10)).await;
        kill(daemon).await;
    }
    let left = bench.runs().await;
    assert_eq!((left.len(), &left[0]["finished_at"]), (1, &Value::Null));
    let (before, done) = (bench.host.requests().len(), judged(&left[0]) as usize);
    bench.pause.store(0, Ordering::SeqCst);
    let args = [&["audit", "--all", "--every", "1h"][..], more, &DAEMON[4..]].concat();
    let daemon = bench.tool.command(&args).spawn().unwrap();
    let runs = bench.until(|runs| !runs[0]["finished_at"].is_null()).await;
    assert_eq!((runs.len(), judged(&runs[0])), (1, agents));
    assert_eq!(bench.host.requests().len() - before, agents as usize - done);
    let said = stop(daemon).await;
    assert!(said.contains("going on with run 1"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_leaves_what_is_not_its_own() {
    let bench = Bench::start(30, 100).await;
    // A run that somebody began by hand, and one of another daemon over other agents.
    let by_hand = bench.tool.command(&[&["audit", "--all"][..], &DAEMON[4..], &["--per-host", "2"]].concat()).spawn().unwrap();
    bench.until(|runs| runs.last().is_some_and(|run| judged(run) > 0)).await;
    kill(by_hand).await;
    let other = bench.daemon(&["--per-host", "2"]);
    bench.until(|runs| runs.len() == 2 && judged(&runs[1]) > 0).await;
    kill(other).await;
    bench.pause.store(0, Ordering::SeqCst);
    let args = [&["audit", "--ids", "0-9", "--every", "1h"][..], &DAEMON[4..]].concat();
    let daemon = bench.tool.command(&args).spawn().unwrap();
    let runs = bench.until(|runs| runs.len() == 3 && !runs[2]["finished_at"].is_null()).await;
    assert!(runs[0]["finished_at"].is_null() && runs[1]["finished_at"].is_null());
    let said = stop(daemon).await;
    assert!(said.contains("run 2 is not finished") && said.contains("stays so"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_block_is_gone_does_not_hold_the_daemon_up() {
    let bench = Bench::start(30, 100).await;
    let daemon = bench.daemon(&["--per-host", "2"]);
    bench.until(|runs| runs.last().is_some_and(|run| judged(run) > 0)).await;
    kill(daemon).await;
    bench.pause.store(0, Ordering::SeqCst);
    let Bench { net, host, tool, .. } = bench;
    net.shutdown().await;
    let net = Devnet::start().await.unwrap();
    net.register_agent(0, Some(&host.url("/0")), Some(Sha256Digest::of(CARD).0)).await.unwrap();
    let args = [&["audit", "--all", "--every", "1h", "--node", net.node_url()][..], &DAEMON[4..]].concat();
    let daemon = tool.command(&args).spawn().unwrap();
    let begun = Instant::now();
    loop {
        let runs = tool.run(&["audit", "runs", "--json"]).await.json();
        if !runs["runs"][0]["finished_at"].is_null() {
            assert_eq!(runs["runs"].as_array().unwrap().len(), 2);
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{runs:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let said = stop(daemon).await;
    assert!(said.contains("cannot be gone on with, and a new one is begun"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_is_heard_while_the_node_does_not_answer() {
    let node = MockNode::start(World::default()).await;
    node.on("InvokeInstance", |_, _| Some(mock_node::Answer::Hang));
    let tool = Tool::plain();
    let genesis = hex::encode(mock_node::GENESIS);
    let args = ["audit", "--all", "--network", "mainnet", "--genesis-hash", &genesis, "--node", &node.url];
    let args = [&args[..], &["--max-block-age", "10000d", "--node-timeout", "60s"]].concat();
    for (more, name, code) in [(&[][..], "-INT", 130), (&["--every", "1h"], "-TERM", 0)] {
        let child = tool.command(&[&args[..], more].concat()).spawn().unwrap();
        while !node.calls().iter().any(|method| method == "InvokeInstance") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let begun = Instant::now();
        signal(&child, name);
        let output = child.wait_with_output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("interrupted before the first agent was judged"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_failed_on_the_way_is_gone_on_with_when_the_next_one_is_due() {
    // Behind the same address there is a node of another network when the mismatch is to be looked at again.
    let elsewhere = Arc::new(AtomicBool::new(false));
    let (away, once) = (elsewhere.clone(), AtomicBool::new(false));
    let host = CardHost::http(move |_| {
        if !once.swap(true, Ordering::SeqCst) {
            away.store(true, Ordering::SeqCst);
        }
        Answer::ok(CARD)
    })
    .await;
    let agent = |id: u64| {
        let card = if id == 4 { b"another" } else { CARD };
        let record = mock_node::record(id);
        encode_agent_of(Some(&AgentRecord {
            agent_uri: Some(host.url(&format!("/{id}"))),
            metadata_hash: Some(Sha256Digest::of(card)),
            ..record
        }))
    };
    let node = MockNode::start(World { agents: (0..5).map(|id| (id, agent(id))).collect(), ..World::default() }).await;
    let (away, other) = (elsewhere.clone(), World { genesis: [1; 32], ..World::default() });
    node.on("GetConsensusInfo", move |_, _| away.load(Ordering::SeqCst).then(|| mock_node::Answer::of(&other.consensus())));
    let tool = Tool::plain();
    let genesis = hex::encode(mock_node::GENESIS);
    let network = ["--network", "mainnet", "--genesis-hash", &genesis];
    let args = [&DAEMON[..], &network, &["--max-block-age", "10000d", "--node", &node.url]].concat();
    let daemon = tool.command(&args).spawn().unwrap();
    let begun = Instant::now();
    loop {
        let runs = tool.run(&[&["audit", "runs", "--json"][..], &network].concat()).await.json();
        let oldest = runs["runs"].as_array().and_then(|runs| runs.last()).cloned().unwrap_or_default();
        if oldest["summary"]["match"] == 4 && host.requests().len() == 5 {
            elsewhere.store(false, Ordering::SeqCst);
        }
        if !oldest["finished_at"].is_null() {
            assert_eq!(oldest["summary"]["mismatch"], 1, "{oldest:#}");
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{runs:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(host.requests().len(), 5, "the mismatch is not fetched again by the next run");
    let said = stop(daemon).await;
    assert!(said.contains("a run failed") && said.contains("going on with run 1: 4 agents are done already"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_longer_than_the_interval_is_not_overtaken() {
    let bench = Bench::start(16, 1300).await;
    let daemon = bench.daemon(&["--per-host", "8"]);
    let runs = bench.until(|runs| runs.len() >= 3 && !runs[1]["finished_at"].is_null()).await;
    for pair in runs.windows(2) {
        let (ended, begun) = (pair[0]["finished_at"].as_str().unwrap(), pair[1]["started_at"].as_str().unwrap());
        assert!(ended <= begun, "{runs:#?}");
        assert_eq!(judged(&pair[0]), 16);
    }
    kill(daemon).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_reads_the_configuration_again_and_a_wrong_one_changes_nothing() {
    let bench = Bench::start(2, 0).await;
    let folder = bench.tool.folder();
    let (config, other) = (folder.join("cardproof.toml"), folder.join("other.db"));
    std::fs::write(&config, "").unwrap();
    let daemon = bench.daemon(&["--config", config.to_str().unwrap(), "--resume"]);
    bench.until(|runs| runs.len() >= 2).await;
    std::fs::write(&config, "[audit]\nstore = ").unwrap();
    signal(&daemon, "-HUP");
    let before = bench.runs().await.len();
    bench.until(|runs| runs.len() >= before + 2).await;
    std::fs::write(&config, format!("[audit]\nstore = {:?}\n", other.to_str().unwrap())).unwrap();
    signal(&daemon, "-HUP");
    let begun = Instant::now();
    loop {
        let there = bench.tool.run(&["audit", "runs", "--json", "--store", other.to_str().unwrap()]).await;
        if there.code == 0 && there.json()["runs"].as_array().is_some_and(|runs| runs.len() >= 2) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{} {}", there.stdout, there.stderr);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let said = stop(daemon).await;
    assert!(said.contains("the configuration stays as it was") && said.contains("the configuration was read again"), "{said}");
    assert!(!said.contains("a run failed"), "with nothing to resume a daemon begins: {said}");
}
