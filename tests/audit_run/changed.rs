//! Runs over what has changed: by the registry's events, or by reading every record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use cardproof::chain::{AgentReader, AtBlock, ChainClient, ChainErrorKind, RegistryChanges};
use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::identity::{AccountAddress, ContractAddress, TokenId};
use cardproof::registry::parameter::{Parameter, Revoke, SetAgentUri, SetMetadata};
use cardproof::registry::{encode_agent_of, AgentRecord, EventTime, RegistryEvent, Timestamp};
use concordium_rust_sdk::v2::generated::{
    self as api, account_transaction_effects as effects, account_transaction_effects::Effect, block_hash_input::BlockHashInput,
    block_item_summary::Details, contract_trace_element as trace, contract_trace_element::Element,
};
use prost::Message;
use serde_json::Value;

use crate::mock_node::{record, settings, Answer, MockNode, World, GENESIS, REGISTRY};
use crate::support::card_host::{Answer as HostAnswer, CardHost};
use crate::support::command::{assert_valid, Tool};

const CARD: &[u8] = b"a card";
const LOOPBACK: [&str; 6] = ["--allow-http", "--allow-private", "--per-host", "4", "--per-host-rate", "0"];

/// Runs `audit --jsonl` and says how it ended, which agents were checked, and what stderr says.
async fn audit(tool: &Tool, args: &[&str]) -> (i32, Vec<u64>, String) {
    let ran = tool.run(&[&["audit", "--jsonl"][..], args, &LOOPBACK].concat()).await;
    let results = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ids: Vec<u64> = results.map(|result| result["token_id"].as_str().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    (ran.code, ids, ran.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_has_changed_or_is_due_is_checked() {
    let net = Devnet::start().await.unwrap();
    let host = CardHost::http(|_| HostAnswer::ok(CARD)).await;
    let base = host.url("/");
    net.preload_agents(1, 30, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
    let hash = Some(Sha256Digest::of(CARD).0);
    let moved = net.register_agent(0, Some(&host.url("/mine")), hash).await.unwrap();
    let given = net.register_agent(0, Some(&host.url("/given")), hash).await.unwrap();
    let bare = net.register_agent(0, Some(&host.url("/bare")), None).await.unwrap();
    let broken = net.register_agent(0, Some(&host.url("/broken")), Some([1; 32])).await.unwrap();
    let tool = Tool::on(&net);
    let (code, ids, said) = audit(&tool, &["--all", "--changed"]).await;
    assert_eq!((code, ids.len()), (1, 34));
    assert!(said.contains("every record is read") && said.contains("no finished run before this one"), "{said}");

    let (code, ids, said) = audit(&tool, &["--all", "--changed"]).await;
    assert_eq!((code, ids), (1, vec![broken.0]), "what did not match is looked at each time, what has nothing to compare is not");
    assert!(said.contains("what has changed since run 1 is known from the registry's events"), "{said}");

    let known = tool.run(&[&["audit", "--all", "--changed", "--json"][..], &LOOPBACK].concat()).await.json();
    assert_valid("audit", &known);
    let results = known["results"].as_array().unwrap();
    assert!(results.len() == 34 && results.iter().all(|result| result["block"]["hash"].is_string()), "{known:#}");
    let left_out = results.iter().filter(|result| result["message"].as_str().unwrap().contains("Nothing has changed since"));
    let runs = tool.run(&["audit", "runs", "--json"]).await.json();
    let (first, blocks) = (&runs["runs"][2]["block"], left_out.map(|result| &result["block"]).collect::<Vec<_>>());
    assert!(blocks.len() == 33 && blocks.iter().all(|block| *block == first), "the block of the verdict that is repeated");

    let update = async |entry_point: &str, parameter: Vec<u8>| {
        net.update(0, net.registry(), entry_point, &parameter).await.unwrap();
    };
    let elsewhere =
        SetAgentUri { token_id: moved, agent_uri: Some(host.url("/elsewhere")), metadata_hash: hash.map(Sha256Digest) };
    update("setAgentURI", elsewhere.to_bytes().unwrap()).await;
    update("revoke", Revoke { token_id: given, reason: None }.to_bytes().unwrap()).await;
    let metadata = SetMetadata { token_id: bare, key: "zone".into(), value: b"eu".to_vec() };
    update("setMetadata", metadata.to_bytes().unwrap()).await;
    let new = net.register_agent(1, Some(&host.url("/new")), hash).await.unwrap();
    let before = host.requests().len();
    let (code, ids, said) = audit(&tool, &["--all", "--changed"]).await;
    assert_eq!((code, ids), (1, vec![moved.0, given.0, broken.0, new.0]), "metadata is no part of a verdict\n{said}");
    assert_eq!(host.requests().len(), before + 4);
    let diff = tool.run(&["audit", "diff", "--json"]).await.json();
    let mut kinds: Vec<&str> =
        diff["transitions"].as_array().unwrap().iter().map(|change| change["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["new", "revoked", "uri_changed"]);

    let unanchored = ["--all", "--changed", "--fetch-unanchored"];
    assert_eq!(audit(&tool, &unanchored).await.1, [bare.0, broken.0], "its card was never fetched");
    assert_eq!(audit(&tool, &unanchored).await.1, [broken.0]);

    // What is due by its age, and a selection of its own, for which a run over all agents counts as well.
    assert_eq!(audit(&tool, &["--all", "--changed", "--max-age", "0s"]).await.1.len(), 35);
    let named = format!("0-5,{broken}");
    let (_, ids, said) = audit(&tool, &["--ids", &named, "--changed"]).await;
    assert_eq!(ids, [broken.0], "{said}");
    assert!(said.contains("known from the registry's events"), "{said}");
    let owner = net.account(0).unwrap().address().to_string();
    let (_, ids, said) = audit(&tool, &["--owner", &owner, "--changed"]).await;
    assert_eq!(ids, [broken.0], "{said}");
    // These were not about all: the next run over all agents goes back to the one before.
    net.register_agent(1, Some(&host.url("/newer")), hash).await.unwrap();
    let (_, ids, said) = audit(&tool, &["--all", "--changed"]).await;
    assert_eq!(ids, [broken.0, new.0 + 1], "{said}");
    assert!(said.contains("since run 7 "), "{said}");

    // More blocks than agents.
    for _ in 0..40 {
        net.advance().await.unwrap();
    }
    let (_, ids, said) = audit(&tool, &["--all", "--changed"]).await;
    assert_eq!(ids, [broken.0], "reading every record leaves the same ones out");
    assert!(said.contains("every record is read") && said.contains("more than there are agents (36)"), "{said}");
    // An older block that was looked at meanwhile: what it wrote down is not known to have stayed so.
    let at_block = net.last_finalized().height - 30;
    audit(&tool, &["--ids", "3", "--at-block", &at_block.to_string()]).await;
    let (_, _, said) = audit(&tool, &["--all", "--changed"]).await;
    assert!(said.contains("has looked at an older block since run"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_was_started_anew_is_read_and_the_vanished_are_told() {
    let host = CardHost::http(|_| HostAnswer::ok(CARD)).await;
    let hash = Some(Sha256Digest::of(CARD).0);
    let first = Devnet::start().await.unwrap();
    for number in 0..4 {
        first.register_agent(0, Some(&host.url(&format!("/{number}"))), hash).await.unwrap();
    }
    let tool = Tool::on(&first);
    assert_eq!(audit(&tool, &["--all"]).await.1.len(), 4);
    first.shutdown().await;
    let second = Devnet::start().await.unwrap();
    second.register_agent(0, Some(&host.url("/0")), hash).await.unwrap();
    for _ in 0..5 {
        second.advance().await.unwrap();
    }
    let node = ["--node", second.node_url()];
    let (code, ids, said) = audit(&tool, &[&["--all", "--changed"], &node[..]].concat()).await;
    assert_eq!((code, ids), (4, vec![1, 2, 3]), "{said}");
    assert!(said.contains("every record is read") && said.contains("knows no block"), "{said}");
}

/// The registry's events by the height of their block, as the mock node sends them.
type Blocks = Arc<Mutex<BTreeMap<u64, Option<Details>>>>;

/// A node whose blocks hold one transaction each, and nothing where none is said.
async fn node_with(world: World, blocks: Blocks) -> MockNode {
    let held = Arc::clone(&blocks);
    let transactions = Arc::new(move |height| u32::from(held.lock().unwrap().contains_key(&height)));
    let node = MockNode::start(World { transactions, ..world }).await;
    node.on("GetBlockTransactionEvents", move |request, _| {
        let input = api::BlockHashInput::decode(request).unwrap().block_hash_input;
        let Some(BlockHashInput::Given(hash)) = input else { panic!("a height may be another block: {input:?}") };
        let height = u64::from_be_bytes(hash.value[24..].try_into().unwrap());
        let summary = blocks.lock().unwrap().get(&height).cloned();
        let empty = Answer::Status(tonic::Code::Ok, "");
        Some(summary.map_or(empty, |details| Answer::of(&api::BlockItemSummary { details, ..api::BlockItemSummary::default() })))
    });
    node
}

fn transaction(effect: Effect) -> Option<Details> {
    let effects = Some(api::AccountTransactionEffects { effect: Some(effect) });
    Some(Details::AccountTransaction(api::AccountTransactionDetails { effects, ..Default::default() }))
}

fn update(steps: Vec<Element>) -> Option<Details> {
    let effects = steps.into_iter().map(|element| api::ContractTraceElement { element: Some(element) }).collect();
    transaction(Effect::ContractUpdateIssued(effects::ContractUpdateIssued { effects }))
}

fn address(contract: ContractAddress) -> Option<api::ContractAddress> {
    Some(api::ContractAddress { index: contract.index, subindex: contract.subindex })
}

fn logged(events: &[RegistryEvent]) -> Vec<api::ContractEvent> {
    events.iter().map(|event| api::ContractEvent { value: event.to_bytes().unwrap() }).collect()
}

fn updated(contract: ContractAddress, events: &[RegistryEvent]) -> Element {
    let (address, events) = (address(contract), logged(events));
    Element::Updated(api::InstanceUpdatedEvent { address, events, ..Default::default() })
}

fn interrupted(contract: ContractAddress, events: &[RegistryEvent]) -> Element {
    Element::Interrupted(trace::Interrupted { address: address(contract), events: logged(events) })
}

fn resumed(contract: ContractAddress) -> Element {
    Element::Resumed(trace::Resumed { address: address(contract), success: true })
}

fn uri_updated(id: u64) -> RegistryEvent {
    RegistryEvent::UriUpdated { token_id: TokenId(id), agent_uri: None, metadata_hash: None, time: Timestamp(0) }
}

fn revoked(id: u64) -> RegistryEvent {
    RegistryEvent::Revoked { token_id: TokenId(id), owner: AccountAddress([7; 32]), reason: None, time: EventTime(None) }
}

const OTHER: ContractAddress = ContractAddress::new(77, 0);

/// What the blocks 91 to 100 say when these are among them.
async fn changes(blocks: impl IntoIterator<Item = (u64, Option<Details>)>) -> RegistryChanges {
    let node = node_with(World::default(), Arc::new(Mutex::new(blocks.into_iter().collect()))).await;
    let client = ChainClient::new(settings(&[&node])).unwrap();
    let (after, upto) = (client.pin(AtBlock::Height(90)).await.unwrap(), client.pin(AtBlock::Height(100)).await.unwrap());
    client.registry_changes(&after, &upto).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_found_wherever_in_a_call_the_registry_logged_them() {
    let called = update(vec![
        interrupted(OTHER, &[uri_updated(90)]),
        interrupted(REGISTRY, &[uri_updated(3)]),
        updated(OTHER, &[revoked(91)]),
        resumed(REGISTRY),
        updated(REGISTRY, &[revoked(4)]),
        resumed(OTHER),
        updated(OTHER, &[uri_updated(92)]),
        Element::Upgraded(trace::Upgraded { address: address(OTHER), from: None, to: None }),
    ]);
    let rejected = transaction(Effect::None(effects::None::default()));
    let found = changes([
        (90, update(vec![updated(REGISTRY, &[uri_updated(1)])])),
        (91, update(vec![updated(REGISTRY, &[uri_updated(2)])])),
        (92, called),
        (93, rejected),
        (94, transaction(Effect::AccountTransfer(effects::AccountTransfer::default()))),
        (95, Some(Details::AccountCreation(api::AccountCreationDetails::default()))),
        (100, update(vec![updated(REGISTRY, &[uri_updated(5), uri_updated(2)])])),
        (101, update(vec![updated(REGISTRY, &[uri_updated(6)])])),
    ])
    .await;
    let agents = BTreeSet::from([2, 3, 4, 5].map(TokenId));
    assert_eq!(found, RegistryChanges { agents, unclear: None });
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_do_not_tell_all_say_so() {
    let unknown = RegistryEvent::Unknown { tag: Some(9), bytes: vec![9, 1, 2] };
    let upgraded = Element::Upgraded(trace::Upgraded { address: address(REGISTRY), from: None, to: None });
    let made = api::ContractInitializedEvent { address: address(REGISTRY), ..Default::default() };
    let no_element = api::ContractTraceElement { element: None };
    let no_effect = Some(Details::AccountTransaction(api::AccountTransactionDetails::default()));
    for (details, word) in [
        (update(vec![updated(REGISTRY, &[uri_updated(2), unknown])]), "an event in block 95 that cannot be read (tag 9)"),
        (update(vec![upgraded, updated(REGISTRY, &[])]), "the registry's code was replaced in block 95"),
        (transaction(Effect::ContractInitialized(made)), "the registry was made in block 95"),
        (
            transaction(Effect::ContractUpdateIssued(effects::ContractUpdateIssued { effects: vec![no_element] })),
            "block 95 holds a kind of transaction that this program does not know",
        ),
        (no_effect, "block 95 holds a kind of transaction"),
        (None, "block 95 holds a kind of transaction"),
    ] {
        let why = changes([(95, details)]).await.unclear.unwrap();
        assert!(why.contains(word), "{why}");
    }
}

/// A stream that is cut, by a proxy or a node that ends, looks like one that has ended.
#[tokio::test(flavor = "multi_thread")]
async fn events_that_were_not_all_told_are_not_taken_for_all() {
    let blocks: Blocks = Arc::new(Mutex::new([(95, update(vec![updated(REGISTRY, &[uri_updated(2)])]))].into()));
    for (holds, told) in [(2, "1 of the 2"), (1, "")] {
        let node = node_with(World::default(), Arc::clone(&blocks)).await;
        node.change(|world| world.transactions = Arc::new(move |height| if height == 95 { holds } else { 0 }));
        let client = ChainClient::new(settings(&[&node])).unwrap();
        let (after, upto) = (client.pin(AtBlock::Height(90)).await.unwrap(), client.pin(AtBlock::Height(100)).await.unwrap());
        let changes = client.registry_changes(&after, &upto).await.unwrap();
        assert!(changes.unclear.unwrap_or_default().contains(told), "{told}");
    }
}

/// Behind one address there may be several nodes, one of them on another branch or not so far yet.
#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_another_chain_in_between_are_noticed() {
    let node = node_with(World::default(), Blocks::default()).await;
    let client = ChainClient::new(settings(&[&node])).unwrap();
    let (after, upto) = (client.pin(AtBlock::Height(90)).await.unwrap(), client.pin(AtBlock::Height(100)).await.unwrap());
    assert_eq!(client.registry_changes(&after, &upto).await.unwrap(), RegistryChanges::default());
    let fork = World { fork: 7, ..World::default() };
    node.on("GetBlockInfo", move |request, _| {
        let input = api::BlockHashInput::decode(request).unwrap();
        matches!(input.block_hash_input, Some(BlockHashInput::AbsoluteHeight(ref height)) if height.value == 95)
            .then(|| fork.block_info(input))
    });
    let why = client.registry_changes(&after, &upto).await.unwrap().unclear.unwrap();
    assert!(why.contains("not all of the same chain"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_a_quorum_must_agree_on_the_events() {
    let one = node_with(World::default(), Arc::default()).await;
    let silent: Blocks = Arc::new(Mutex::new([(95, update(vec![updated(REGISTRY, &[uri_updated(2)])]))].into()));
    let other = node_with(World::default(), silent).await;
    let settings = cardproof::chain::ChainSettings { quorum: std::num::NonZeroUsize::new(2), ..settings(&[&one, &other]) };
    let client = ChainClient::new(settings).unwrap();
    let (after, upto) = (client.pin(AtBlock::Height(90)).await.unwrap(), client.pin(AtBlock::Height(100)).await.unwrap());
    let error = client.registry_changes(&after, &upto).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodesDisagree, "{error}");
}

/// The command against a node that counts what it is asked.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_event_is_about_is_not_read_at_all() {
    let host = CardHost::http(|_| HostAnswer::ok(CARD)).await;
    let agent = |id: u64, path: &str| {
        let (agent_uri, metadata_hash) = (Some(host.url(path)), Some(Sha256Digest::of(CARD)));
        encode_agent_of(Some(&AgentRecord { agent_uri, metadata_hash, ..record(id) }))
    };
    let agents: BTreeMap<u64, Vec<u8>> = (0..50).map(|id| (id, agent(id, &format!("/{id}")))).collect();
    let blocks = Blocks::default();
    let node = node_with(World { agents, ..World::default() }, blocks.clone()).await;
    let genesis = hex::encode(GENESIS);
    let tool = Tool::plain();
    let args = ["--all", "--network", "mainnet", "--genesis-hash", &genesis, "--node", &node.url, "--max-block-age", "10000d"];
    let run = async |more: &[&str]| audit(&tool, &[&args[..], more].concat()).await;
    let reads = |node: &MockNode| node.calls().iter().filter(|method| *method == "InvokeInstance").count();
    assert_eq!(run(&[]).await.1.len(), 50);
    assert!(reads(&node) > 50);

    node.change(|world| {
        world.height += 10;
        world.agents.insert(7, agent(7, "/moved"));
        world.agents.insert(50, agent(50, "/new"));
    });
    blocks.lock().unwrap().insert(103, update(vec![updated(REGISTRY, &[uri_updated(7)])]));
    blocks.lock().unwrap().insert(110, update(vec![updated(REGISTRY, &[uri_updated(50)])]));
    let (code, ids, said) = run(&["--changed"]).await;
    assert_eq!((code, ids), (0, vec![7, 50]), "{said}");
    assert_eq!(reads(&node), 2, "whom no event is about is not read, and the end of the registry is not looked for");

    // The code was replaced: what the events say is not relied on. The first block that says nothing new says so.
    let replaced = Element::Upgraded(trace::Upgraded { address: address(REGISTRY), from: None, to: None });
    node.change(|world| {
        world.height += 5;
        world.agents.insert(9, agent(9, "/moved too"));
    });
    blocks.lock().unwrap().insert(112, update(vec![replaced]));
    let (code, ids, said) = run(&["--changed"]).await;
    assert_eq!((code, ids), (0, vec![9]), "{said}");
    assert!(said.contains("every record is read") && said.contains("code was replaced in block 112"), "{said}");
    assert!(reads(&node) >= 51);

    // A node that does not tell events.
    node.change(|world| world.height += 5);
    blocks.lock().unwrap().insert(118, update(vec![updated(OTHER, &[uri_updated(9)])]));
    node.on("GetBlockTransactionEvents", |_, _| Some(Answer::Status(tonic::Code::Unimplemented, "not here")));
    let (code, ids, said) = run(&["--changed"]).await;
    assert_eq!((code, ids), (0, vec![]), "{said}");
    assert!(said.contains("cannot be read") && said.contains("not here"), "{said}");
    assert!(said.contains("no agent has changed"), "{said}");
}

/// Whoever is left out because nothing has changed is still there: in reports, in counts and for the exit code.
#[tokio::test(flavor = "multi_thread")]
async fn reports_of_a_run_over_what_has_changed_hold_every_agent() {
    let host = CardHost::http(|_| HostAnswer::ok(CARD)).await;
    let net = Devnet::start().await.unwrap();
    let hash = Some(Sha256Digest::of(CARD).0);
    for number in 0..4 {
        net.register_agent(0, Some(&host.url(&format!("/{number}"))), hash).await.unwrap();
    }
    let revoked = net.register_agent(0, Some(&host.url("/4")), hash).await.unwrap();
    let revoke = Revoke { token_id: revoked, reason: None }.to_bytes().unwrap();
    net.update(0, net.registry(), "revoke", &revoke).await.unwrap();
    let tool = Tool::on(&net);
    assert_eq!(audit(&tool, &["--all"]).await.1.len(), 5);
    let metrics = tool.folder().join("audit.prom");
    let report = format!("prometheus={}", metrics.display());
    let args = ["audit", "--all", "--changed", "--json", "--report", &report];
    let ran = tool.run(&[&args[..], &LOOPBACK].concat()).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    assert_valid("audit", &document);
    assert_eq!((&document["summary"]["agents"], &document["summary"]["match"]), (&Value::from(5), &Value::from(5)));
    assert!(document["results"][0]["message"].as_str().unwrap().contains("not checked again"), "{document:#}");
    let metrics = std::fs::read_to_string(metrics).unwrap();
    assert!(metrics.lines().any(|line| line.contains("class=\"match\"") && line.ends_with(" 5")), "{metrics}");
    assert_eq!(host.requests().len(), 5, "nothing was fetched again");
    let runs = tool.run(&["audit", "runs", "--json"]).await.json();
    assert_eq!(runs["runs"][0]["summary"]["match"], 5);
    let demanding = tool.run(&[&["audit", "--all", "--changed", "--require-active"][..], &LOOPBACK].concat()).await;
    assert_eq!(demanding.code, 1, "{}", demanding.stderr);
    let one = tool.run(&[&["audit", "--ids", "1", "--changed", "--json"][..], &LOOPBACK].concat()).await;
    assert_eq!(one.json()["summary"]["agents"], 1, "a run is about those alone that it names");
}

/// Whoever is no longer of the status or the owner that the run is about has not been left out for being unchanged.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_left_the_selection_does_not_come_back_as_unchanged() {
    let host = CardHost::http(|_| HostAnswer::ok(CARD)).await;
    let net = Devnet::start().await.unwrap();
    for number in 0..5 {
        net.register_agent(0, Some(&host.url(&format!("/{number}"))), Some(Sha256Digest::of(CARD).0)).await.unwrap();
    }
    let tool = Tool::on(&net);
    let ids = async |more: &[&str]| {
        let ran = tool.run(&[&["audit", "--json"][..], more, &LOOPBACK].concat()).await;
        let results = ran.json()["results"].as_array().unwrap().clone();
        let mut ids: Vec<String> = results.iter().map(|result| result["token_id"].as_str().unwrap().to_owned()).collect();
        ids.sort_unstable();
        (ids.join(","), ran.stderr)
    };
    let owner = net.accounts()[0].address().to_string();
    assert_eq!(ids(&["--all"]).await.0, "0,1,2,3,4");
    let active = ["--all", "--status", "active"];
    let owned = ["--all", "--owner", owner.as_str()];
    assert_eq!(ids(&active).await.0, "0,1,2,3,4");
    let revoke = Revoke { token_id: TokenId(2), reason: None }.to_bytes().unwrap();
    net.update(0, net.registry(), "revoke", &revoke).await.unwrap();
    for _ in 0..2 {
        let (found, said) = ids(&[&active[..], &["--changed"]].concat()).await;
        assert_eq!(found, "0,1,3,4", "{said}");
    }
    // Also when every record is read, because more blocks than agents lie in between.
    for _ in 0..7 {
        net.advance().await.unwrap();
    }
    let (found, said) = ids(&[&active[..], &["--changed"]].concat()).await;
    assert_eq!(found, "0,1,3,4", "{said}");
    assert!(said.contains("every record is read"), "{said}");
    assert_eq!(ids(&[&owned[1..], &["--changed"]].concat()).await.0, "0,1,2,3,4");
    let past = tool.run(&[&["audit", "--all", "--changed", "--at-block", "3"][..], &LOOPBACK].concat()).await;
    assert_eq!(past.code, 2, "what has changed since a newer block says nothing about an older one: {}", past.stderr);
}

/// A report that is made later says what the run said, or says that it cannot.
#[tokio::test(flavor = "multi_thread")]
async fn a_later_report_holds_those_who_were_left_out_or_is_refused() {
    let host = CardHost::http(|_| HostAnswer::ok(CARD)).await;
    let net = Devnet::start().await.unwrap();
    for number in 0..4 {
        net.register_agent(0, Some(&host.url(&format!("/{number}"))), Some(Sha256Digest::of(CARD).0)).await.unwrap();
    }
    net.register_agent(0, Some(&host.url("/bare")), None).await.unwrap();
    let tool = Tool::on(&net);
    let run = async |args: &[&str]| tool.run(&[&["audit", "--json"][..], args, &LOOPBACK].concat()).await;
    let report = async |args: &[&str]| tool.run(&[&["audit", "report"][..], args].concat()).await;
    let told = |document: &Value| {
        let mut results: Vec<Value> = document["results"].as_array().unwrap().clone();
        results.sort_by_key(|result| result["token_id"].as_str().unwrap().to_owned());
        let of = |name: &'static str| results.iter().map(|result| result[name].clone()).collect::<Vec<_>>();
        (document["summary"].clone(), document["counted"].clone(), of("token_id"), of("reason"), of("owner"), of("sha256"))
    };
    assert_eq!(run(&["--all"]).await.code, 4);
    let changed = run(&["--all", "--changed"]).await;
    assert_eq!((changed.code, &changed.json()["summary"]["agents"]), (4, &Value::from(5)), "{}", changed.stderr);
    let again = report(&["2", "--json"]).await;
    assert_eq!((again.code, told(&again.json())), (4, told(&changed.json())), "{}", again.stderr);
    assert_valid("audit", &again.json());
    assert!(again.stderr.contains("5 of these agents run 2 did not check"), "{}", again.stderr);
    let junit = report(&["2", "--format", "junit"]).await;
    assert!(junit.code == 4 && junit.stdout.contains(r#"tests="5""#), "{}", junit.stdout);
    assert_eq!(report(&["2", "--jsonl"]).await.stdout.lines().count(), 5);

    let some = run(&["--ids", "1-2", "--changed"]).await;
    let again = report(&["3", "--json"]).await;
    assert_eq!((again.code, told(&again.json())), (0, told(&some.json())), "a run is about those alone that it names");
    assert_eq!(
        told(&report(&["2", "--json"]).await.json()),
        told(&changed.json()),
        "a run that judged nobody takes nothing away"
    );

    assert_eq!(run(&["--ids", "2"]).await.code, 0);
    for (number, code) in [("1", 4), ("2", 3), ("3", 3), ("4", 0)] {
        let ran = report(&[number, "--format", "junit"]).await;
        assert_eq!((ran.code, ran.stdout.is_empty()), (code, code == 3), "run {number}: {}", ran.stderr);
    }
    let refused = report(&["2", "--json"]).await;
    assert_eq!((refused.code, refused.json()["code"].as_str()), (3, Some("report_not_whole")), "{}", refused.stdout);
}
