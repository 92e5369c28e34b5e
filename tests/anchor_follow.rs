//! What a node says about a transaction, however strange, becomes a status and never a crash.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/mock_node.rs"]
mod mock_node;

use std::process::Command;
use std::time::Duration;

use cardproof::anchor::{follow, status, AnchorError, State};
use cardproof::chain::{ChainClient, ChainErrorKind, TransactionHash};
use cardproof::registry::Timestamp;
use concordium_rust_sdk::v2::generated as api;
use mock_node::{Answer, MockNode, World, GENESIS, NOW, REGISTRY};
use serde_json::Value;
use tonic::Code;

const HASH: TransactionHash = TransactionHash([5; 32]);

/// A finalized update of the registry in the newest block that logged these events.
fn finalized(world: &World, events: &[Vec<u8>]) -> Answer {
    let events = events.iter().map(|event| api::ContractEvent { value: event.clone() }).collect();
    let updated = api::InstanceUpdatedEvent {
        address: Some(api::ContractAddress { index: REGISTRY.index, subindex: REGISTRY.subindex }),
        receive_name: Some(api::ReceiveName { value: "CIS-8004.register".into() }),
        events,
        ..Default::default()
    };
    let element = api::ContractTraceElement { element: Some(api::contract_trace_element::Element::Updated(updated)) };
    let issued = api::account_transaction_effects::ContractUpdateIssued { effects: vec![element] };
    let effect = api::account_transaction_effects::Effect::ContractUpdateIssued(issued);
    let details = api::AccountTransactionDetails {
        cost: Some(api::Amount { value: 15_430_833 }),
        effects: Some(api::AccountTransactionEffects { effect: Some(effect) }),
        ..Default::default()
    };
    let summary = api::BlockItemSummary {
        energy_cost: Some(api::Energy { value: 2334 }),
        details: Some(api::block_item_summary::Details::AccountTransaction(details)),
        ..Default::default()
    };
    let block = api::BlockHash { value: world.block_hash(world.height).0.to_vec() };
    let in_block = api::BlockItemSummaryInBlock { block_hash: Some(block), outcome: Some(summary) };
    let status = api::block_item_status::Status::Finalized(api::block_item_status::Finalized { outcome: Some(in_block) });
    Answer::of(&api::BlockItemStatus { status: Some(status) })
}

/// Of a register transaction: the CIS-2 Mint, a Registered event in a layout that nobody knows, and an event of an unknown tag.
fn strange_events() -> Vec<Vec<u8>> {
    let mint = [&[254, 8][..], &14u64.to_le_bytes(), &[1, 0], &[7; 32]].concat();
    vec![mint, vec![240, 99, 1, 2], vec![77, 0xde, 0xad]]
}

async fn node(events: Vec<Vec<u8>>) -> (MockNode, ChainClient) {
    let node = MockNode::start(World::default()).await;
    node.on("GetBlockItemStatus", move |_, _| Some(finalized(&World::default(), &events)));
    let client = ChainClient::new(mock_node::settings_for(vec![node.url.clone()])).unwrap();
    (node, client)
}

#[tokio::test]
async fn c_86_events_that_cannot_be_decoded_are_data_and_the_transaction_is_finalized() {
    let (_node, client) = node(strange_events()).await;
    let status = status(&client, HASH, None).await.unwrap();
    assert!(status.is_success());
    let json = status.to_json(&client, None);
    assert_eq!((json["state"].as_str(), json["outcome"].as_str()), (Some("finalized"), Some("success")));
    assert_eq!(json["token_id"], "14", "the Mint event tells it");
    assert_eq!((json["energy"].as_str(), json["microccd"].as_str()), (Some("2334"), Some("15430833")));
    assert_eq!(json["block"]["height"], "100");
    let event = &json["events"][2];
    assert_eq!(
        (event["tag"].as_u64(), event["name"].as_str(), event["bytes"].as_str()),
        (Some(77), Some("Unknown"), Some("4ddead"))
    );
}

#[tokio::test]
async fn c_89_an_outcome_newer_than_this_program_is_still_finalized() {
    let (node, client) = node(vec![]).await;
    node.on("GetBlockItemStatus", |_, _| {
        let world = World::default();
        let block = api::BlockHash { value: world.block_hash(world.height).0.to_vec() };
        let in_block = api::BlockItemSummaryInBlock { block_hash: Some(block), outcome: Some(api::BlockItemSummary::default()) };
        let status = api::block_item_status::Status::Finalized(api::block_item_status::Finalized { outcome: Some(in_block) });
        Some(Answer::of(&api::BlockItemStatus { status: Some(status) }))
    });
    let status = status(&client, HASH, None).await.unwrap();
    assert_eq!((status.state, status.token_id), (State::Finalized, None));
    assert!(!status.is_success(), "what it did is not known, so it is not called a success");
    assert_eq!(status.to_json(&client, None)["outcome"], Value::Null);
}

#[tokio::test]
async fn a_node_that_stumbles_does_not_end_the_waiting() {
    let (node, client) = node(vec![]).await;
    node.on("GetBlockItemStatus", |_, before| match before {
        0..=2 => Some(Answer::Status(Code::FailedPrecondition, "protocol update")),
        3 => Some(Answer::Status(Code::NotFound, "")),
        _ => Some(finalized(&World::default(), &strange_events())),
    });
    let folder = tempfile::tempdir().unwrap();
    let mut states = Vec::new();
    let wait = Some(Duration::from_secs(30));
    let done = follow(&client, folder.path(), HASH, None, wait, &mut |state| states.push(state)).await.unwrap();
    assert_eq!(done.state, State::Finalized);
    assert_eq!(states, [State::Unknown, State::Finalized]);
}

#[tokio::test]
async fn waiting_for_a_node_that_is_gone_has_an_end() {
    let (node, client) = node(vec![]).await;
    node.on("GetBlockItemStatus", |_, _| Some(Answer::Status(Code::FailedPrecondition, "")));
    let folder = tempfile::tempdir().unwrap();
    let wait = Some(Duration::from_millis(300));
    let error = follow(&client, folder.path(), HASH, None, wait, &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, AnchorError::Chain(error) if error.kind == ChainErrorKind::NodeError));
}

#[tokio::test]
async fn expired_needs_the_time_of_a_finalized_block() {
    let (node, client) = node(vec![]).await;
    node.on("GetBlockItemStatus", |_, _| Some(Answer::Status(Code::NotFound, "")));
    // The newest finalized block is five seconds older than the clock.
    let block = NOW.0 / 1000 - 5;
    for (expiry, state) in [(block - 61, State::Expired), (block - 60, State::Unknown), (block + 3, State::Unknown)] {
        assert_eq!(status(&client, HASH, Some(expiry)).await.unwrap().state, state);
    }
    assert_eq!(status(&client, HASH, None).await.unwrap().state, State::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn c_86_the_command_says_finalized_and_recovers_the_token_id() {
    let (node, _) = node(strange_events()).await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("cardproof.toml");
    let text = format!(
        "network = \"mock\"\nstate_dir = \"{}\"\n[networks.mock]\ngenesis_hash = \"{}\"\nregistry = \"10082,0\"\nnode = [\"{}\"]\n",
        folder.path().join("state").display(),
        hex::encode(GENESIS),
        node.url
    );
    std::fs::write(&config, text).unwrap();
    let run = move |json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
        command.args(["tx", "status", &HASH.to_string(), "--max-block-age", "100000d", "--no-cache"]).env_clear();
        command.env("CARDPROOF_CONFIG", &config);
        if json {
            command.arg("--json");
        }
        command.output().unwrap()
    };
    let (text, json) = tokio::task::spawn_blocking(move || (run(false), run(true))).await.unwrap();
    let shown = String::from_utf8(text.stdout).unwrap();
    assert_eq!((text.status.code(), json.status.code()), (Some(0), Some(0)), "{shown}");
    for part in ["finalized", &HASH.to_string(), "14", "Unknown: bytes=4ddead"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((json["state"].as_str(), json["token_id"].as_str()), (Some("finalized"), Some("14")));
}

#[tokio::test]
async fn expired_is_only_said_by_a_node_that_has_the_blocks() {
    // One node is up to date and does not say what became of it; the other does not know it, and is far behind.
    let (current, _) = node(vec![]).await;
    current.on("GetBlockItemStatus", |_, _| Some(Answer::Status(Code::Unavailable, "")));
    let old = Timestamp(NOW.0 - 300_000);
    let behind = MockNode::start(World { height: 50, block_time: old, ..World::default() }).await;
    behind.on("GetBlockItemStatus", |_, _| Some(Answer::Status(Code::NotFound, "")));
    let client = ChainClient::new(mock_node::settings_for(vec![current.url.clone(), behind.url.clone()])).unwrap();
    let status = status(&client, HASH, Some(NOW.0 / 1000 - 150)).await.unwrap();
    assert_eq!(status.state, State::Unknown, "the node that does not know it has no block after its expiry");
}
