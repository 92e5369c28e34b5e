//! The local chain inside a program: many senders at once, bulk loading, and hostile amounts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/devnet_client.rs"]
mod devnet_client;

use std::collections::BTreeSet;
use std::sync::Arc;

use cardproof::devnet::{Devnet, DevnetError};
use cardproof::identity::DEVNET;
use concordium_rust_sdk::base::contracts_common::Amount;
use concordium_rust_sdk::base::transactions::UpdateContractPayload;
use concordium_rust_sdk::types::smart_contracts::{ContractContext, InvokeContractResult};
use concordium_rust_sdk::types::RejectReason;
use concordium_rust_sdk::v2::BlockIdentifier;
use devnet_client::{call, client, register, rejection, signed, wallet};

#[tokio::test]
async fn the_table_of_networks_knows_the_default_chain() {
    let net = Devnet::start().await.unwrap();
    assert_eq!((net.genesis_hash(), net.registry(), net.cis8()), (DEVNET.genesis, DEVNET.registry, DEVNET.cis8));
    net.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_senders_at_once_are_all_served_and_every_agent_has_its_own_number() {
    let net = Arc::new(Devnet::start().await.unwrap());
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let net = net.clone();
            tokio::spawn(async move { net.register_agent(number % 10, Some("https://agents.example/"), None).await.unwrap() })
        })
        .collect();
    let mut ids = BTreeSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap().0);
    }
    assert_eq!(ids, (0..40).collect());
}

#[tokio::test]
async fn a_bulk_load_is_one_block_and_costs_nothing() {
    let net = Devnet::start().await.unwrap();
    let before = (net.balance(2), net.best_block().height);
    let block = net.preload_agents(2, 200, |number| (format!("https://agents.example/{number}"), None)).await.unwrap();
    assert_eq!((net.balance(2), net.last_finalized()), (before.0, block));
    assert_eq!(block.height, before.1 + 1);
    assert_eq!(net.register_agent(2, None, None).await.unwrap().0, 200);
    let too_long = "x".repeat(5000);
    let refused = net.preload_agents(2, 1, move |_| (too_long.clone(), None)).await;
    assert!(matches!(refused, Err(DevnetError::Refused(_))), "{refused:?}");
    let folder = tempfile::tempdir().unwrap();
    let kept = Devnet::builder().data_dir(folder.path()).start().await.unwrap();
    let refused = kept.preload_agents(2, 1, |_| (String::new(), None)).await;
    assert!(matches!(refused, Err(DevnetError::Configuration(_))), "{refused:?}");
    kept.shutdown().await;
    net.shutdown().await;
}

#[tokio::test]
async fn amounts_that_cannot_be_are_rejected_and_the_chain_goes_on() {
    let net = Devnet::start().await.unwrap();
    let mut node = client(&net).await;
    let alice = wallet(&net, 1);
    for (nonce, amount) in [(1, u64::MAX), (2, u64::MAX / 2), (3, 1_000_000_000_001)] {
        let amount = Amount::from_micro_ccd(amount);
        let payload = UpdateContractPayload { amount, ..call(&net, "register", register("https://a.example/")) };
        let context = ContractContext::new_from_payload(alice.address, None, payload.clone());
        let dry = node.invoke_instance(BlockIdentifier::Best, &context).await.unwrap().response;
        let InvokeContractResult::Failure { reason, .. } = dry else { panic!("{dry:?}") };
        assert!(matches!(reason.known_or_err().unwrap(), RejectReason::AmountTooLarge { .. }));
        let hash = node.send_account_transaction(signed(&alice, nonce, payload, 20_000)).await.unwrap();
        let summary = node.wait_until_finalized(&hash).await.unwrap().1;
        assert!(matches!(rejection(&summary), RejectReason::AmountTooLarge { .. }));
    }
    net.register_agent(1, None, None).await.unwrap();
    net.shutdown().await;
}

#[tokio::test]
async fn a_chain_that_is_shut_down_frees_its_port_and_ends_its_streams() {
    use futures_util::StreamExt;
    let net = Devnet::start().await.unwrap();
    let address = net.address();
    let mut blocks = client(&net).await.get_finalized_blocks().await.unwrap();
    net.shutdown().await;
    let end = tokio::time::timeout(std::time::Duration::from_secs(5), async { while blocks.next().await.is_some() {} });
    assert!(end.await.is_ok(), "the stream goes on");
    let again = Devnet::builder().listen(address).start().await.unwrap();
    assert_eq!(again.address(), address);
}
