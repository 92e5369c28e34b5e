//! Agents that were there and are not any more, and token ids that never had one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use cardproof::digest::Sha256Digest;
use cardproof::registry::{encode_agent_of, AgentRecord};
use serde_json::Value;

use crate::mock_node::{record, MockNode, World, GENESIS};
use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::Tool;

const CARD: &[u8] = b"a card";

/// A registry whose token ids have gaps, and the command that audits all of it.
struct Bench {
    node: MockNode,
    host: CardHost,
    /// Whether the host keeps everybody waiting.
    hold: Arc<AtomicBool>,
    tool: Tool,
    args: Vec<String>,
}

impl Bench {
    async fn start() -> Self {
        let hold = Arc::new(AtomicBool::new(false));
        let held = hold.clone();
        let answer = move || if held.load(Ordering::SeqCst) { Answer::default().then(Act::Hang) } else { Answer::ok(CARD) };
        let host = CardHost::http(move |_| answer()).await;
        let agent = |id: u64| {
            let (agent_uri, metadata_hash) = (Some(host.url(&format!("/{id}"))), Some(Sha256Digest::of(CARD)));
            encode_agent_of(Some(&AgentRecord { agent_uri, metadata_hash, ..record(id) }))
        };
        let agents = [0, 1, 3, 7, 8, 12].map(|id| (id, agent(id))).into();
        let node = MockNode::start(World { agents, ..World::default() }).await;
        let args = ["--network", "mainnet", "--genesis-hash", &hex::encode(GENESIS), "--node", &node.url].map(str::to_owned);
        let rest = ["--max-block-age", "10000d", "--allow-http", "--allow-private", "--json"].map(str::to_owned);
        Self { node, host, hold, tool: Tool::plain(), args: [&args[..], &rest].concat() }
    }

    /// Runs a command, and says its exit code and which agents it tells about, with their reasons.
    async fn audit(&self, command: &[&str]) -> (i32, Vec<(u64, String)>) {
        let args: Vec<&str> = command.iter().copied().chain(self.args.iter().map(String::as_str)).collect();
        let ran = self.tool.run(&args).await;
        assert!([0, 4].contains(&ran.code), "{}", ran.stderr);
        let results = ran.json()["results"].as_array().cloned().unwrap_or_default();
        let id = |result: &Value| result["token_id"].as_str().unwrap().parse().unwrap();
        let mut found: Vec<(u64, String)> =
            results.iter().map(|result| (id(result), result["reason"].as_str().unwrap().to_owned())).collect();
        found.sort();
        (ran.code, found)
    }

    /// How many agents of which class the newest run counted, and what changed in it.
    async fn newest(&self) -> (u64, u64, Vec<(String, String)>) {
        let network = &self.args[..2];
        let listed = |command: &'static str| {
            let network: Vec<&str> = network.iter().map(String::as_str).collect();
            let genesis: Vec<&str> = self.args[2..4].iter().map(String::as_str).collect();
            let args = [&["audit", command, "--json"][..], &network, &genesis].concat();
            async move { self.tool.run(&args).await.json() }
        };
        let (runs, diff) = (listed("runs").await, listed("diff").await);
        let summary = &runs["runs"][0]["summary"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut changes: Vec<_> =
            diff["transitions"].as_array().unwrap().iter().map(|one| (text(&one["token_id"]), text(&one["kind"]))).collect();
        changes.sort();
        (summary["match"].as_u64().unwrap(), summary["absent"].as_u64().unwrap(), changes)
    }

    /// The registry is another one now: these agents are not there any more.
    fn lose(&self, ids: &[u64]) {
        self.node.change(|world| {
            world.height += 1;
            world.agents.retain(|id, _| !ids.contains(id));
        });
    }
}

fn vanished(ids: &[u64]) -> Vec<(String, String)> {
    let mut vanished: Vec<_> = ids.iter().map(|id| (id.to_string(), "vanished".to_owned())).collect();
    vanished.sort();
    vanished
}

const ALL: [&str; 2] = ["audit", "--all"];
const SHARED: [&str; 3] = ["audit", "--all", "--share"];

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_known_and_is_gone_is_told_once_and_gaps_never_are() {
    let bench = Bench::start().await;
    assert_eq!(bench.audit(&ALL).await.1.len(), 6);
    assert_eq!(bench.newest().await, (6, 0, vec![]));
    // One in the middle, and the highest ones, beyond where the registry ends now.
    bench.lose(&[3, 8, 12]);
    let (code, found) = bench.audit(&ALL).await;
    let gone: Vec<_> = found.into_iter().filter(|(_, reason)| reason == "agent_not_found").map(|(id, _)| id).collect();
    assert_eq!((code, gone), (4, vec![3, 8, 12]), "and neither 2, 4, 9 nor any other gap");
    assert_eq!(bench.newest().await, (3, 3, vanished(&[3, 8, 12])));
    let (code, found) = bench.audit(&ALL).await;
    assert_eq!((code, found.len()), (0, 3), "what is known to be gone is a gap like others");
    assert_eq!(bench.newest().await, (3, 0, vec![]));
    // All of them.
    bench.lose(&[0, 1, 7]);
    assert_eq!(bench.audit(&ALL).await.0, 4);
    assert_eq!(bench.newest().await, (0, 3, vanished(&[0, 1, 7])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_tells_only_its_own_vanished_agents() {
    let bench = Bench::start().await;
    bench.audit(&ALL).await;
    bench.lose(&[3]);
    let stranger = cardproof::identity::AccountAddress([9; 32]).to_string();
    let args: Vec<&str> = ["audit", "--owner", &stranger].into_iter().chain(bench.args.iter().map(String::as_str)).collect();
    let ran = bench.tool.run(&args).await;
    assert_eq!((ran.code, ran.json()["code"].as_str()), (2, Some("empty_selection")), "{}", ran.stderr);
    let owner = record(3).owner_account.to_string();
    let (code, found) = bench.audit(&["audit", "--owner", &owner, "--status", "active"]).await;
    assert_eq!((code, found.len()), (4, 6));
    assert_eq!(bench.newest().await, (5, 1, vanished(&[3])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_run_tells_the_same_as_one_alone() {
    let bench = Bench::start().await;
    assert_eq!(bench.audit(&SHARED).await.0, 0);
    assert_eq!(bench.newest().await, (6, 0, vec![]), "a gap is no absent agent");
    bench.lose(&[3, 12]);
    assert_eq!(bench.audit(&SHARED).await.0, 4);
    assert_eq!(bench.newest().await, (4, 2, vanished(&[3, 12])));
    assert_eq!(bench.audit(&SHARED).await.0, 0);
    assert_eq!(bench.newest().await, (4, 0, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_joins_leaves_the_same_gaps_out() {
    let bench = Bench::start().await;
    bench.audit(&ALL).await;
    bench.lose(&[3, 12]);
    // The one that shares the run is killed while it waits for cards.
    bench.hold.store(true, Ordering::SeqCst);
    let asked = bench.host.requests().len();
    let args: Vec<&str> = SHARED.into_iter().chain(["--lease", "1s"]).chain(bench.args.iter().map(String::as_str)).collect();
    let mut first = bench.tool.command(&args).spawn().unwrap();
    // Only then is the run shared.
    while bench.host.requests().len() == asked {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    first.start_kill().unwrap();
    first.wait().await.unwrap();
    bench.hold.store(false, Ordering::SeqCst);
    let (code, _) = bench.audit(&["audit", "worker", "--lease", "1s"]).await;
    assert_eq!((code, bench.newest().await), (4, (4, 2, vanished(&[3, 12]))));
}
