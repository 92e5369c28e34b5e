//! The other questions to a chain: views, references, accounts, prices, transactions, and the diagnosis of all of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/mock_node.rs"]
mod mock_node;

use std::collections::HashMap;

use cardproof::chain::{
    diagnose, AgentReader, AtBlock, Block, ChainClient, ChainErrorKind, ChainSettings, Diagnosis, Health, Invocation, Invoked,
    Rejection, TransactionEffect, TransactionHash, TransactionStatus,
};
use cardproof::identity::{AccountAddress, ContractAddress, TokenId};
use cardproof::registry::parameter::{AgentByExternalReference, Parameter};
use cardproof::registry::{encode_agent_of, ExternalReference, ReferenceKind, Timestamp};
use concordium_rust_sdk::v2::generated as api;
use mock_node::{record, rejected_with, returned, settings, Answer, MockNode, World, NOW, REGISTRY};
use prost::Message;
use tonic::Code;

const ACCOUNT: AccountAddress = AccountAddress([7; 32]);

async fn pinned(world: World) -> (MockNode, ChainClient, Block) {
    let node = MockNode::start(world).await;
    let client = ChainClient::new(settings(&[&node])).unwrap();
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    (node, client, block)
}

#[tokio::test]
async fn a_view_returns_its_bytes_or_says_why_it_was_rejected() {
    let (node, client, block) = pinned(World::default()).await;
    node.on("InvokeInstance", |request, _| {
        let request = api::InvokeInstanceRequest::decode(request).unwrap();
        match request.entrypoint.unwrap().value.as_str() {
            "CIS-8004.getAgentWalletNonce" => Some(returned(request.parameter.unwrap().value)),
            _ => Some(rejected_with(-7204)),
        }
    });
    let answer = client.view(&block, REGISTRY, "CIS-8004", "getAgentWalletNonce", vec![1, 2, 3]).await.unwrap();
    assert_eq!(answer, [1, 2, 3]);
    let error = client.view(&block, REGISTRY, "CIS-8004", "anything", vec![]).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeError);
    assert!(error.message.contains("ExternalReferenceTaken (-7204)"), "{}", error.message);
}

/// A tool that took the answer for a token id failed after the money was spent (registry facts, section 9).
#[tokio::test]
async fn an_external_reference_leads_to_a_record() {
    let (node, client, block) = pinned(World::default()).await;
    let reference = ExternalReference {
        contract_address: ContractAddress::new(10081, 0),
        kind: ReferenceKind::Cis8 { namespace: "solana:x".into(), key_type: "ed25519".into(), public_key: vec![9; 32] },
    };
    let expected = AgentByExternalReference(reference.clone()).to_bytes().unwrap();
    node.on("InvokeInstance", move |request, _| {
        let request = api::InvokeInstanceRequest::decode(request).unwrap();
        assert_eq!(request.entrypoint.unwrap().value, "CIS-8004.agentByExternalReference");
        assert_eq!(request.parameter.unwrap().value, expected);
        Some(returned(encode_agent_of(Some(&record(12)))))
    });
    let reading = client.agent_by_external_reference(&block, &reference).await.unwrap();
    assert_eq!(reading.record.unwrap().token_id, TokenId(12));
}

#[tokio::test]
async fn a_dry_run_gives_energy_and_events_or_the_rejection() {
    let (node, client, block) = pinned(World::default()).await;
    let call = Invocation {
        contract: REGISTRY,
        receive_name: "CIS-8004.register".into(),
        parameter: vec![1],
        invoker: Some(ACCOUNT),
        microccd: 0,
        energy: Some(10_000),
    };
    node.on("InvokeInstance", |request, _| {
        let request = api::InvokeInstanceRequest::decode(request).unwrap();
        let Some(api::address::Type::Account(invoker)) = request.invoker.unwrap().r#type else { panic!("an account calls") };
        assert_eq!((invoker.value, request.energy.unwrap().value), (vec![7; 32], 10_000));
        use api::contract_trace_element::Element;
        let address = Some(api::ContractAddress { index: 10082, subindex: 0 });
        let event = |byte| vec![api::ContractEvent { value: vec![byte] }];
        let trace = vec![
            Some(Element::Interrupted(api::contract_trace_element::Interrupted { address, events: event(254) })),
            Some(Element::Resumed(api::contract_trace_element::Resumed { address, success: true })),
            // A step newer than this program.
            None,
            Some(Element::Updated(api::InstanceUpdatedEvent { address, events: event(240), ..Default::default() })),
        ];
        let success = api::invoke_instance_response::Success {
            return_value: Some(vec![]),
            used_energy: Some(api::Energy { value: 1663 }),
            effects: trace.into_iter().map(|element| api::ContractTraceElement { element }).collect(),
        };
        Some(Answer::of(&api::InvokeInstanceResponse { result: Some(api::invoke_instance_response::Result::Success(success)) }))
    });
    let Invoked::Returned { energy, events, .. } = client.invoke(&block, &call).await.unwrap() else { panic!("it goes through") };
    assert_eq!(energy, 1663);
    assert_eq!(
        events.iter().map(|event| (event.contract, event.bytes[0])).collect::<Vec<_>>(),
        [(REGISTRY, 254), (REGISTRY, 240)]
    );
    node.on("InvokeInstance", |_, _| Some(rejected_with(-7208)));
    let rejected = client.invoke(&block, &call).await.unwrap();
    assert_eq!(
        rejected,
        Invoked::Rejected { rejection: Rejection::Contract { contract: Some(REGISTRY), code: -7208 }, energy: 600 }
    );
}

#[tokio::test]
async fn an_account_its_nonce_and_the_price_of_energy_are_read() {
    let (node, client, block) = pinned(World::default()).await;
    node.on("GetAccountInfo", |_, _| {
        let key = |byte| api::AccountVerifyKey { key: Some(api::account_verify_key::Key::Ed25519Key(vec![byte; 32])) };
        let keys = api::CredentialPublicKeys {
            keys: HashMap::from([(0, key(1)), (1, key(2)), (2, api::AccountVerifyKey { key: None })]),
            threshold: Some(api::SignatureThreshold { value: 2 }),
        };
        let values = api::NormalCredentialValues { keys: Some(keys), ..Default::default() };
        let credential =
            api::AccountCredential { credential_values: Some(api::account_credential::CredentialValues::Normal(values)) };
        Some(Answer::of(&api::AccountInfo {
            address: Some(api::AccountAddress { value: vec![7; 32] }),
            sequence_number: Some(api::SequenceNumber { value: 12 }),
            amount: Some(api::Amount { value: 5_000_000 }),
            threshold: Some(api::AccountThreshold { value: 1 }),
            creds: HashMap::from([(0, credential)]),
            ..Default::default()
        }))
    });
    let account = client.account(&block, ACCOUNT).await.unwrap().unwrap();
    assert_eq!((account.next_nonce, account.balance, account.threshold), (12, 5_000_000, 1));
    assert_eq!((account.credentials[&0].threshold, account.credentials[&0].keys.len()), (2, 2));
    node.on("GetAccountInfo", |_, _| Some(Answer::Status(Code::NotFound, "account or block not found")));
    assert_eq!(client.account(&block, ACCOUNT).await.unwrap(), None);

    node.on("GetNextAccountSequenceNumber", |_, _| {
        let sequence_number = Some(api::SequenceNumber { value: 13 });
        Some(Answer::of(&api::NextAccountSequenceNumber { sequence_number, all_final: false }))
    });
    let next = client.next_nonce(ACCOUNT).await.unwrap();
    assert_eq!((next.nonce, next.all_final), (13, false));

    node.on("GetBlockChainParameters", |_, _| {
        let rate = |numerator, denominator| Some(api::ExchangeRate { value: Some(api::Ratio { numerator, denominator }) });
        let parameters = api::ChainParametersV3 {
            euro_per_energy: rate(1, 50_000),
            micro_ccd_per_euro: rate(300_000_000, 1),
            ..Default::default()
        };
        Some(Answer::of(&api::ChainParameters { parameters: Some(api::chain_parameters::Parameters::V3(parameters)) }))
    });
    assert_eq!(client.energy_price(&block).await.unwrap().microccd(2334), Some(14_004_000));
    node.on("GetBlockChainParameters", |_, _| Some(Answer::of(&api::ChainParameters { parameters: None })));
    assert_eq!(client.energy_price(&block).await.unwrap_err().kind, ChainErrorKind::NodeError);
}

#[tokio::test]
async fn the_status_of_a_transaction_is_read_and_c_89_unknown_effects_do_not_hide_it() {
    let (node, client, _) = pinned(World::default()).await;
    let hash = TransactionHash([3; 32]);
    let finalized = |details: Option<api::block_item_summary::Details>| {
        let outcome = api::BlockItemSummary { energy_cost: Some(api::Energy { value: 2334 }), details, ..Default::default() };
        let in_block =
            api::BlockItemSummaryInBlock { block_hash: Some(api::BlockHash { value: vec![8; 32] }), outcome: Some(outcome) };
        let status = api::block_item_status::Status::Finalized(api::block_item_status::Finalized { outcome: Some(in_block) });
        Answer::of(&api::BlockItemStatus { status: Some(status) })
    };
    node.on("GetBlockItemStatus", |_, _| Some(Answer::Status(Code::NotFound, "")));
    assert_eq!(client.transaction_status(hash).await.unwrap(), TransactionStatus::Unknown);
    node.on("GetBlockItemStatus", move |_, _| Some(finalized(None)));
    let TransactionStatus::Finalized(outcome) = client.transaction_status(hash).await.unwrap() else { panic!("it is finalized") };
    assert_eq!((outcome.block.0, outcome.energy, outcome.effect), ([8; 32], Some(2334), TransactionEffect::Other));

    node.on("GetBlockItemStatus", move |_, _| {
        use api::account_transaction_effects::{Effect, None as Rejected};
        let reason = api::reject_reason::Reason::OutOfEnergy(api::Empty {});
        let reject_reason = Some(api::RejectReason { reason: Some(reason) });
        let effect = Effect::None(Rejected { transaction_type: None, reject_reason });
        let details = api::AccountTransactionDetails {
            cost: Some(api::Amount { value: 15_430_833 }),
            sender: Some(api::AccountAddress { value: vec![7; 32] }),
            effects: Some(api::AccountTransactionEffects { effect: Some(effect) }),
            sponsor: None,
        };
        Some(finalized(Some(api::block_item_summary::Details::AccountTransaction(details))))
    });
    let TransactionStatus::Finalized(outcome) = client.transaction_status(hash).await.unwrap() else { panic!("it is finalized") };
    assert_eq!(outcome.effect, TransactionEffect::Rejected(Rejection::OutOfEnergy));
    assert_eq!((outcome.microccd, outcome.sender), (Some(15_430_833), Some(ACCOUNT)));
}

#[tokio::test]
async fn what_is_no_transaction_is_not_sent() {
    let (node, client, _) = pinned(World::default()).await;
    node.calls();
    for bytes in [&[][..], &[0], &[0, 0, 1, 2, 3], &[0xff; 200]] {
        assert_eq!(client.send(bytes).await.unwrap_err().kind, ChainErrorKind::Configuration);
    }
    assert!(node.calls().is_empty());
}

/// The health and the sentence of one finding.
fn finding<'a>(diagnosis: &'a Diagnosis, name: &str) -> (Health, &'a str) {
    let finding = diagnosis.findings.iter().find(|finding| finding.name == name);
    let finding = finding.unwrap_or_else(|| panic!("{name} is missing in {:?}", diagnosis.findings));
    (finding.health, &finding.message)
}

fn talkative(node: &MockNode) {
    node.on("GetNodeInfo", |_, _| {
        let local_time = Some(api::Timestamp { value: NOW.0 + 1000 });
        Some(Answer::of(&api::NodeInfo { peer_version: "9.0.7".into(), local_time, ..Default::default() }))
    });
    node.on("InvokeInstance", |_, _| Some(returned(vec![1, 0, 1])));
}

#[tokio::test]
async fn a_healthy_chain_is_good_in_every_finding_but_the_missing_schema() {
    let folder = tempfile::tempdir().unwrap();
    let node = MockNode::start(World::default()).await;
    talkative(&node);
    let settings = ChainSettings { module_cache: Some(folder.path().to_owned()), ..settings(&[&node]) };
    let diagnosis = diagnose(&ChainClient::new(settings).unwrap()).await;
    let names: Vec<_> = diagnosis.findings.iter().map(|finding| finding.name).collect();
    let expected = [
        "node",
        "network",
        "protocol",
        "finalized_block",
        "clock",
        "node_version",
        "registry",
        "supports",
        "module",
        "schema",
        "module_cache",
    ];
    assert_eq!(names, expected);
    for name in expected {
        let wanted = if name == "schema" { Health::Warning } else { Health::Good };
        assert_eq!(finding(&diagnosis, name).0, wanted, "{name}: {}", finding(&diagnosis, name).1);
    }
    assert_eq!(finding(&diagnosis, "protocol").1, "it runs version 9 of the protocol");
    assert!(finding(&diagnosis, "node_version").1.contains("9.0.7"));
    assert_eq!((diagnosis.has_schema, diagnosis.nodes[0].finalized.unwrap().height), (Some(false), 100));
    assert_eq!(diagnosis.module_ref.unwrap().0, World::default().module_ref());
}

#[tokio::test]
async fn each_thing_that_is_wrong_has_its_finding() {
    let diagnosed = |world: World| async move {
        let node = MockNode::start(world).await;
        diagnose(&ChainClient::new(settings(&[&node])).unwrap()).await
    };
    let foreign = diagnosed(World { genesis: [1; 32], ..World::default() }).await;
    assert_eq!(finding(&foreign, "network").0, Health::Bad);
    assert!(!foreign.findings.iter().any(|finding| finding.name == "registry"), "nothing is read from it");

    let stale = diagnosed(World { block_time: Timestamp(NOW.0 - 3_600_000), ..World::default() }).await;
    assert_eq!(finding(&stale, "finalized_block").0, Health::Bad);
    assert_eq!(finding(&stale, "registry").0, Health::Good);

    let early = diagnosed(World { block_time: Timestamp(NOW.0 + 3_600_000), ..World::default() }).await;
    assert_eq!(finding(&early, "finalized_block").0, Health::Bad);
    assert_eq!(finding(&early, "clock"), (Health::Warning, "this machine's clock is at least 60 minutes behind"));

    let empty = diagnosed(World { contract: ContractAddress::new(1, 0), ..World::default() }).await;
    assert_eq!(finding(&empty, "registry").0, Health::Bad);
    let other = diagnosed(World { init_name: "init_CIS-8".into(), ..World::default() }).await;
    assert_eq!(finding(&other, "registry").0, Health::Bad);
    // The mock knows no supports: the contract rejects it.
    let silent = diagnosed(World::default()).await;
    assert_eq!(finding(&silent, "supports").0, Health::Warning);
    assert_eq!(finding(&silent, "node_version").0, Health::Good);
}

#[tokio::test]
async fn a_dead_node_and_an_unusable_cache_are_findings_too() {
    let node = MockNode::start(World::default()).await;
    let url = node.url.clone();
    drop(node);
    let file = tempfile::NamedTempFile::new().unwrap();
    let settings = ChainSettings { module_cache: Some(file.path().join("modules")), ..mock_node::settings_for(vec![url]) };
    let diagnosis = diagnose(&ChainClient::new(settings).unwrap()).await;
    assert_eq!(finding(&diagnosis, "node").0, Health::Bad);
    assert_eq!(finding(&diagnosis, "module_cache").0, Health::Warning);
    assert_eq!(diagnosis.nodes[0].finalized, None);
}
