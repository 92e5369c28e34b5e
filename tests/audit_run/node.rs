//! Runs against a node that misbehaves.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cardproof::audit::{Audit, AuditSettings};
use cardproof::chain::{ChainClient, ChainSettings, NodeSettings};
use cardproof::identity::TokenId;

use crate::mock_node::{quick, record, settings, settings_for, Answer, MockNode, Relay, World};
use crate::seams::{self, Hosts};
use cardproof::registry::encode_agent_of;

fn world(count: u64) -> World {
    let agents: BTreeMap<u64, Vec<u8>> = (0..count).map(|id| (id, encode_agent_of(Some(&record(id))))).collect();
    World { agents, ..World::default() }
}

/// The reasons of a run over agents 0 to `count`, each of which has exactly one result.
async fn reasons(chain: ChainSettings, count: u64) -> BTreeMap<&'static str, usize> {
    let hosts = Hosts::of(|_, _| Ok(b"card".to_vec()));
    let audit_settings = AuditSettings { node_concurrency: 24, ..seams::settings() };
    let audit = Audit::begin(ChainClient::new(chain).unwrap(), hosts, audit_settings).await.unwrap();
    let mut running = audit.start((0..count).map(TokenId));
    let (mut seen, mut reasons) = (std::collections::HashSet::new(), BTreeMap::new());
    while let Some(verdict) = running.next().await {
        let verdict = verdict.unwrap();
        assert!(seen.insert(verdict.subject.as_ref().unwrap().token_id), "an agent has two results");
        *reasons.entry(verdict.reason.as_str()).or_default() += 1;
    }
    reasons
}

#[tokio::test(flavor = "multi_thread")]
async fn c_81_a_node_that_sheds_thirty_percent_of_its_calls_loses_no_agent() {
    let node = MockNode::start(world(500)).await;
    node.on("InvokeInstance", |_, times| (times % 10 < 3).then_some(Answer::Status(tonic::Code::ResourceExhausted, "busy")));
    let found = reasons(settings(&[&node]), 500).await;
    assert_eq!(found, BTreeMap::from([("match", 500)]));
    let asked = node.calls().iter().filter(|method| *method == "InvokeInstance").count();
    assert!(asked >= 500 * 10 / 7, "{asked} calls: those that were shed were made again");
    assert_eq!(node.connections(), 1, "all reads share one connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn c_83_a_connection_that_goes_silent_is_given_up_and_the_run_goes_on() {
    let node = MockNode::start(world(400)).await;
    let relay = Relay::to(node.address).await;
    let url = relay.url.clone();
    node.on("InvokeInstance", move |_, times| {
        if times == 100 {
            relay.go_silent();
        }
        None
    });
    let mut chain = settings_for(vec![url]);
    chain.node = NodeSettings {
        keep_alive_interval: Duration::from_millis(200),
        keep_alive_timeout: Duration::from_millis(200),
        ..quick()
    };
    let begun = Instant::now();
    let found = reasons(chain, 400).await;
    assert_eq!(found, BTreeMap::from([("match", 400)]));
    assert!(begun.elapsed() < Duration::from_secs(10));
}
