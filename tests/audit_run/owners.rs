//! Two processes on one database and registry: a run that is alive is nobody else's.
#![cfg(unix)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use serde_json::Value;
use tokio::process::Child;

use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::Tool;

const CARD: &[u8] = b"a card";
const LOOPBACK: [&str; 6] = ["--allow-http", "--allow-private", "--per-host", "2", "--per-host-rate", "0"];
const AGENTS: usize = 30;

struct Bench {
    _net: Devnet,
    host: CardHost,
    pause: Arc<AtomicU64>,
    tool: Tool,
}

impl Bench {
    /// A host that answers as slowly as it is told.
    async fn start() -> Self {
        let net = Devnet::start().await.unwrap();
        let pause = Arc::new(AtomicU64::new(100));
        let milliseconds = pause.clone();
        let host = CardHost::http(move |_| {
            let wait = Act::Pause(Duration::from_millis(milliseconds.load(Ordering::SeqCst)));
            Answer(std::iter::once(wait).chain(Answer::ok(CARD).0).collect())
        })
        .await;
        let base = host.url("/");
        net.preload_agents(1, AGENTS, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
        let tool = Tool::on(&net);
        Self { _net: net, host, pause, tool }
    }

    fn spawn(&self, args: &[&str]) -> Child {
        self.tool.command(&[args, &LOOPBACK].concat()).spawn().unwrap()
    }

    async fn until(&self, what: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let runs = self.tool.run(&["audit", "runs", "--json"]).await.json()["runs"].as_array().cloned().unwrap_or_default();
            if what(&runs) {
                return runs;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{runs:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn is_under_way(runs: &[Value]) -> bool {
    runs.first().is_some_and(|run| run["summary"]["agents"].as_u64() > Some(0) && run["finished_at"].is_null())
}

/// Ends a daemon in order and returns what it said.
async fn stop(daemon: Child) -> String {
    assert!(std::process::Command::new("kill").args(["-TERM", &daemon.id().unwrap().to_string()]).status().unwrap().success());
    let output = daemon.wait_with_output().await.unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn resume_leaves_a_run_alone_that_is_alive_and_says_whose_it_is() {
    let bench = Bench::start().await;
    let mut first = bench.spawn(&["audit", "--all"]);
    let pid = first.id().unwrap();
    bench.until(is_under_way).await;
    let resume = ["audit", "--all", "--resume", "--json", "--allow-http", "--allow-private"];
    let refused = bench.tool.run(&resume).await;
    assert_eq!((refused.code, &refused.json()["code"]), (2, &Value::from("run_is_alive")), "{}", refused.stderr);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with(&format!("run 1 is alive: process {pid}")) && message.contains("in hand since 20"), "{message}");
    assert!(refused.json()["hint"].as_str().unwrap().contains("at once if it was killed"), "{}", refused.stdout);
    // Somebody who wants a run of their own gets one, and is told of the other.
    let own = bench.tool.run(&["audit", "--ids", "0", "--allow-http", "--allow-private"]).await;
    assert!(own.code == 0 && own.stderr.contains("run 1 goes on besides"), "{}", own.stderr);
    assert!(own.stderr.contains(&format!("process {pid}")), "{}", own.stderr);
    first.start_kill().unwrap();
    first.wait().await.unwrap();
    assert!(bench.host.requests().len() < AGENTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_waits_for_its_next_time_while_a_run_is_alive() {
    let bench = Bench::start().await;
    let first = bench.spawn(&["audit", "--all", "--every", "1h"]);
    bench.until(is_under_way).await;
    let second = bench.spawn(&["audit", "--all", "--every", "1s"]);
    let runs = bench.until(|runs| runs.iter().filter(|run| !run["finished_at"].is_null()).count() >= 2).await;
    let (oldest, next) = (&runs[runs.len() - 1], &runs[runs.len() - 2]);
    assert!(oldest["finished_at"].as_str() <= next["started_at"].as_str(), "{runs:#?}");
    assert!(runs.iter().all(|run| run["finished_at"].is_null() || run["summary"]["agents"] == AGENTS));
    let (said, first_said) = (stop(second).await, stop(first).await);
    assert!(said.contains("run 1 is alive: process") && said.contains("; this daemon waits for its next time"), "{said}");
    assert!(!said.contains("a run failed") && !said.contains("going on with run 1"), "{said}");
    assert!(!first_said.contains("taken"), "{first_said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_takes_up_the_run_of_one_that_was_killed() {
    let bench = Bench::start().await;
    let mut first = bench.spawn(&["audit", "--all", "--every", "1h"]);
    bench.until(is_under_way).await;
    let second = bench.spawn(&["audit", "--all", "--every", "1s"]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    first.start_kill().unwrap();
    first.wait().await.unwrap();
    bench.pause.store(0, Ordering::SeqCst);
    let runs = bench.until(|runs| runs.last().is_some_and(|run| !run["finished_at"].is_null())).await;
    assert_eq!(runs[runs.len() - 1]["summary"]["agents"], AGENTS);
    let said = stop(second).await;
    assert!(said.contains("going on with run 1"), "{said}");
}
