//! Several nodes, their networks, and the block that a verdict is reached at.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/mock_node.rs"]
mod mock_node;

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use cardproof::chain::{AgentReader, AtBlock, BlockHash, ChainClient, ChainErrorKind, ChainSettings};
use cardproof::identity::{ContractAddress, TokenId};
use cardproof::registry::{encode_agent_of, Timestamp};
use mock_node::{record, rejected, settings, settings_for, Answer, MockNode, World, NOW};
use tonic::Code;

const AGENT: TokenId = TokenId(287);

fn in_order(nodes: &[&MockNode]) -> ChainClient {
    ChainClient::new(settings(nodes)).unwrap()
}

fn quorum(of: usize, nodes: &[&MockNode]) -> ChainClient {
    ChainClient::new(ChainSettings { quorum: NonZeroUsize::new(of), ..settings(nodes) }).unwrap()
}

fn foreign() -> World {
    World { genesis: [0x42; 32], ..World::default() }
}

/// An address where nothing listens.
async fn dead() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_node_of_another_network_is_refused_before_a_record_is_read() {
    let node = MockNode::start(foreign()).await;
    let client = in_order(&[&node]);
    let error = client.pin(AtBlock::LastFinalized).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::WrongNetwork);
    assert!(error.message.contains(&"42".repeat(32)) && error.message.contains("mocknet"), "{}", error.message);
    // Nor without a block of its own choosing.
    let other = MockNode::start(World::default()).await;
    let block = in_order(&[&other]).pin(AtBlock::LastFinalized).await.unwrap();
    let error = in_order(&[&node]).read(&block, AGENT).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::WrongNetwork);
    assert!(!node.calls().iter().any(|call| call == "GetInstanceInfo" || call == "InvokeInstance"));
}

#[tokio::test]
async fn each_of_several_nodes_must_be_of_the_network() {
    let (good, bad) = (MockNode::start(World::default()).await, MockNode::start(foreign()).await);
    for client in [in_order(&[&good, &bad]), in_order(&[&bad, &good]), quorum(1, &[&good, &bad]), quorum(2, &[&good, &bad])] {
        let error = client.pin(AtBlock::LastFinalized).await.unwrap_err();
        assert_eq!(error.kind, ChainErrorKind::WrongNetwork, "{}", error.message);
        assert!(error.message.contains(&bad.url), "{}", error.message);
    }
}

#[tokio::test]
async fn the_next_node_is_asked_when_one_does_not_answer_and_kept_to() {
    let (first, second) = (MockNode::start(World::default()).await, MockNode::start(World::default()).await);
    let client = ChainClient::new(settings_for(vec![dead().await, first.url.clone(), second.url.clone()])).unwrap();
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert!(client.read(&block, AGENT).await.unwrap().record.is_some());
    // The one in reserve was asked for its network and nothing else.
    assert_eq!(second.calls(), ["GetConsensusInfo"]);
    // It breaks down in the middle: the reserve takes over at the same block.
    first.on("InvokeInstance", |_, _| Some(Answer::Status(Code::Unavailable, "shutting down")));
    first.on("GetInstanceInfo", |_, _| Some(Answer::Reset));
    assert!(client.read(&block, TokenId(5)).await.unwrap().record.is_none());
    assert!(second.calls().contains(&"InvokeInstance".to_string()));
    first.calls();
    client.read(&block, AGENT).await.unwrap();
    assert!(first.calls().is_empty(), "the node that answered last is asked first");
}

#[tokio::test]
async fn when_no_node_answers_each_is_named() {
    let (one, other) = (dead().await, dead().await);
    let client = ChainClient::new(settings_for(vec![one.clone(), other.clone()])).unwrap();
    let error = client.pin(AtBlock::LastFinalized).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains(&one) && error.message.contains(&other), "{}", error.message);
}

#[tokio::test]
async fn a_reserve_node_that_lacks_the_block_does_not_hide_that_the_first_is_gone() {
    let (first, behind) =
        (MockNode::start(World::default()).await, MockNode::start(World { height: 90, ..World::default() }).await);
    let client = in_order(&[&first, &behind]);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    first.on("InvokeInstance", |_, _| Some(Answer::Status(Code::Unavailable, "")));
    let error = client.read(&block, AGENT).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("knows no block"), "{}", error.message);
}

#[tokio::test]
async fn c_80_a_node_that_is_catching_up_says_nothing_about_the_present() {
    let old = Timestamp(NOW.0 - 11 * 60 * 1000);
    let stale = MockNode::start(World { block_time: old, ..World::default() }).await;
    let client = in_order(&[&stale]);
    let error = client.pin(AtBlock::LastFinalized).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeBehind);
    assert!(error.message.contains("11 minutes old") && error.message.contains("10 minutes allowed"), "{}", error.message);
    // The past may be as old as it is.
    assert_eq!(client.pin(AtBlock::Height(100)).await.unwrap().time, old);
    // Another node may be up to date.
    let fresh = MockNode::start(World::default()).await;
    assert_eq!(in_order(&[&stale, &fresh]).pin(AtBlock::LastFinalized).await.unwrap().time, World::default().block_time);
    // It is a matter of the limit.
    let lenient = ChainClient::new(ChainSettings { max_block_age: None, ..settings(&[&stale]) }).unwrap();
    assert!(lenient.pin(AtBlock::LastFinalized).await.is_ok());
    let exact = ChainSettings { max_block_age: Some(Duration::from_secs(660)), ..settings(&[&stale]) };
    assert!(ChainClient::new(exact).unwrap().pin(AtBlock::LastFinalized).await.is_ok());
    assert_eq!(quorum(1, &[&stale]).pin(AtBlock::LastFinalized).await.unwrap_err().kind, ChainErrorKind::NodeBehind);
}

/// How much energy a node allows is its own affair: another may allow more, and a quorum does not disagree over it.
#[tokio::test]
async fn a_node_that_allows_too_little_energy_has_no_answer() {
    use concordium_rust_sdk::v2::generated as api;
    let (thrifty, generous) = (MockNode::start(World::default()).await, MockNode::start(World::default()).await);
    thrifty.on("InvokeInstance", |_, _| Some(rejected(api::reject_reason::Reason::OutOfEnergy(api::Empty {}))));
    let client = in_order(&[&thrifty, &generous]);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert!(client.read(&block, AGENT).await.unwrap().record.is_some());
    let client = quorum(2, &[&thrifty, &generous]);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    let error = client.read(&block, AGENT).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable, "{error}");
    assert!(error.message.contains("too little energy"), "{error}");
}

#[tokio::test]
async fn c_80_a_block_from_the_future_has_no_age_that_could_be_told() {
    let at = |minutes: u64| World { block_time: Timestamp(NOW.0 + minutes * 60 * 1000), ..World::default() };
    let (early, soon) = (MockNode::start(at(11)).await, MockNode::start(at(9)).await);
    let error = in_order(&[&early]).pin(AtBlock::LastFinalized).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeBehind);
    assert!(error.message.contains("11 minutes from now") && error.message.contains("clock"), "{}", error.message);
    assert!(in_order(&[&soon]).pin(AtBlock::LastFinalized).await.is_ok(), "clocks differ a little");
}

#[tokio::test]
async fn a_past_block_is_named_by_hash_or_height() {
    let node = MockNode::start(World::default()).await;
    let client = in_order(&[&node]);
    let hash = World::default().block_hash(42);
    for at in [AtBlock::Hash(hash), AtBlock::Height(42)] {
        let block = client.pin(at).await.unwrap();
        assert_eq!((block.hash, block.height), (hash, 42));
        assert!(client.read(&block, AGENT).await.unwrap().record.is_some());
    }
}

#[tokio::test]
async fn a_block_that_is_unknown_or_not_final_is_not_found() {
    let node = MockNode::start(World::default()).await;
    let client = in_order(&[&node]);
    let unfinished = World::default().block_hash(101);
    for (at, word) in [
        (AtBlock::Hash(BlockHash([0xee; 32])), "knows no block"),
        (AtBlock::Hash(unfinished), "not finalized"),
        (AtBlock::Height(101), "up to height 100"),
        (AtBlock::Height(u64::MAX), "up to height 100"),
    ] {
        let error = client.pin(at).await.unwrap_err();
        assert_eq!(error.kind, ChainErrorKind::BlockNotFound);
        assert!(error.message.contains(word), "{}", error.message);
        let together = quorum(1, &[&node]).pin(at).await.unwrap_err();
        assert_eq!(together.kind, ChainErrorKind::BlockNotFound);
    }
}

#[tokio::test]
async fn a_quorum_reads_at_the_newest_block_that_enough_nodes_have_finalized() {
    let nodes = [
        MockNode::start(World { height: 103, ..World::default() }).await,
        MockNode::start(World { height: 100, ..World::default() }).await,
        MockNode::start(World { height: 102, ..World::default() }).await,
    ];
    let nodes: Vec<&MockNode> = nodes.iter().collect();
    for (of, height) in [(1, 103), (2, 102), (3, 100)] {
        let client = quorum(of, &nodes);
        let block = client.pin(AtBlock::LastFinalized).await.unwrap();
        assert_eq!(block.height, height, "{of} nodes");
        assert_eq!(client.read(&block, AGENT).await.unwrap().record, Some(record(287)));
    }
}

#[tokio::test]
async fn a_quorum_does_without_a_dead_node_and_not_without_two() {
    let (one, two) = (MockNode::start(World::default()).await, MockNode::start(World::default()).await);
    let urls = vec![one.url.clone(), dead().await, two.url.clone()];
    let of = |n| ChainClient::new(ChainSettings { quorum: NonZeroUsize::new(n), ..settings_for(urls.clone()) }).unwrap();
    let client = of(2);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert!(client.read(&block, AGENT).await.is_ok());
    let error = of(3).pin(AtBlock::LastFinalized).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("2 of the 3 nodes"), "{}", error.message);
    // One falls silent later.
    two.on("InvokeInstance", |_, _| Some(Answer::Status(Code::Unavailable, "")));
    assert_eq!(client.read(&block, AGENT).await.unwrap_err().kind, ChainErrorKind::NodeUnavailable);
}

#[tokio::test]
async fn a_node_that_hangs_delays_a_complete_quorum_by_its_grace_only() {
    let (one, two, slow) = (
        MockNode::start(World::default()).await,
        MockNode::start(World::default()).await,
        MockNode::start(World::default()).await,
    );
    slow.on("GetConsensusInfo", |_, _| Some(Answer::Hang));
    let mut settings = settings(&[&one, &two, &slow]);
    settings.node.call_deadline = Duration::from_secs(60);
    settings.node.patience = Duration::from_secs(60);
    let client = ChainClient::new(ChainSettings { quorum: NonZeroUsize::new(2), ..settings }).unwrap();
    let start = Instant::now();
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert!(client.read(&block, AGENT).await.is_ok());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test]
async fn nodes_that_give_different_records_disagree() {
    let (honest, lying) = (MockNode::start(World::default()).await, MockNode::start(World::default()).await);
    let third = MockNode::start(World::default()).await;
    lying.change(|world| {
        let mut other = record(287);
        other.agent_uri = Some("https://evil.example/card.json".into());
        world.agents.insert(287, encode_agent_of(Some(&other)));
    });
    // Two agree, and that is no reason to trust them more than the third.
    let client = quorum(2, &[&honest, &lying, &third]);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    let error = client.read(&block, AGENT).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodesDisagree);
    for part in [&lying.url, "https://evil.example/card.json", &honest.url, "https://agents.example/287.json"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    // An alias of the owner's address is a different record too.
    lying.change(|world| {
        let mut other = record(287);
        other.owner_account.0[31] ^= 1;
        world.agents.insert(287, encode_agent_of(Some(&other)));
    });
    assert_eq!(client.read(&block, AGENT).await.unwrap_err().kind, ChainErrorKind::NodesDisagree);
    lying.change(|world| {
        world.agents.remove(&287);
    });
    let error = client.read(&block, AGENT).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodesDisagree);
    assert!(error.message.contains("no such agent"), "{}", error.message);
}

#[tokio::test]
async fn nodes_that_finalized_different_blocks_or_deny_the_registry_disagree() {
    let (one, fork) = (MockNode::start(World::default()).await, MockNode::start(World { fork: 1, ..World::default() }).await);
    let error = quorum(2, &[&one, &fork]).pin(AtBlock::LastFinalized).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodesDisagree);
    assert!(error.message.contains(&fork.url), "{}", error.message);

    let without = MockNode::start(World { contract: ContractAddress::new(1, 0), ..World::default() }).await;
    let client = quorum(1, &[&one, &without]);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert_eq!(client.read(&block, AGENT).await.unwrap_err().kind, ChainErrorKind::NodesDisagree);
    let client = quorum(1, &[&without]);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert_eq!(client.read(&block, AGENT).await.unwrap_err().kind, ChainErrorKind::RegistryNotFound);
}

#[tokio::test]
async fn impossible_settings_are_refused_at_once() {
    let kind = |settings| ChainClient::new(settings).err().unwrap().kind;
    assert_eq!(kind(settings_for(vec![])), ChainErrorKind::Configuration);
    assert_eq!(kind(settings_for(vec!["localhost:20000".into()])), ChainErrorKind::Configuration);
    // A node would agree with itself.
    let twice = ["http://localhost:20000", "http://LOCALHOST:20000/"].map(String::from).to_vec();
    assert_eq!(kind(settings_for(twice)), ChainErrorKind::Configuration);
    let one = settings_for(vec!["http://localhost:20000".into()]);
    assert_eq!(kind(ChainSettings { quorum: NonZeroUsize::new(2), ..one }), ChainErrorKind::Configuration);
}

#[tokio::test]
async fn one_node_under_two_names_is_no_quorum() {
    let node = MockNode::start(World::default()).await;
    let port = node.address.port();
    for other in ["localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let nodes = vec![node.url.clone(), format!("http://{other}:{port}")];
        let two = ChainSettings { quorum: NonZeroUsize::new(2), ..settings_for(nodes.clone()) };
        let error = ChainClient::new(two).err().unwrap();
        assert_eq!(error.kind, ChainErrorKind::Configuration);
        assert!(error.message.contains(&node.url) && error.message.contains(other), "{}", error.message);
        // Asked one after the other, two names do no harm.
        assert!(ChainClient::new(settings_for(nodes)).is_ok());
    }
}

#[tokio::test]
async fn a_limit_below_a_second_is_said_as_what_it_is() {
    let node = MockNode::start(World::default()).await;
    let strict = ChainSettings { max_block_age: Some(Duration::from_millis(1)), ..settings(&[&node]) };
    let error = ChainClient::new(strict).unwrap().pin(AtBlock::LastFinalized).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeBehind);
    assert!(error.message.contains("5 seconds old, more than the 1 millisecond allowed"), "{}", error.message);
}
