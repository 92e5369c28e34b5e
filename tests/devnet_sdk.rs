//! The official Rust SDK against the local chain: connect, read, dry-run, send, wait, index.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/devnet_client.rs"]
mod devnet_client;

use std::str::FromStr;
use std::time::Duration;

use cardproof::devnet::{Devnet, Preset};
use concordium_rust_sdk::base::base::{Energy, Nonce};
use concordium_rust_sdk::base::common::types::TransactionTime;
use concordium_rust_sdk::base::contracts_common::{Address, Amount, ContractAddress, OwnedContractName, OwnedParameter};
use concordium_rust_sdk::base::smart_contracts::WasmModule;
use concordium_rust_sdk::base::transactions::send;
use concordium_rust_sdk::cis0::{self, StandardIdentifier};
use concordium_rust_sdk::cis2::{Cis2Contract, Cis2QueryError, TokenId};
use concordium_rust_sdk::contract_client::{
    ContractClient, ContractInitBuilder, ContractUpdateBuilder, ModuleDeployBuilder, ViewError,
};
use concordium_rust_sdk::indexer::{TransactionIndexer, TraverseConfig};
use concordium_rust_sdk::types::queries::ProtocolVersionInt;
use concordium_rust_sdk::types::smart_contracts::{ContractContext, InvokeContractResult};
use concordium_rust_sdk::types::{AbsoluteBlockHeight, TransactionStatus};
use concordium_rust_sdk::v2::generated::{self as proto, queries_client::QueriesClient};
use concordium_rust_sdk::v2::{AccountIdentifier, BlockIdentifier, Endpoint};
use devnet_client::{call, client, register, registry, token, wallet};
use futures_util::StreamExt;

/// Names a contract whose entry points this test calls.
enum Registry {}

#[tokio::test]
async fn contract_client_dry_runs_sends_and_reads_back() {
    let net = Devnet::builder().preset(Preset::MainnetLike).start().await.unwrap();
    let mut node = client(&net).await;
    let wallet = wallet(&net, 1);
    let mut contract = ContractClient::<Registry>::create(node.clone(), registry(&net)).await.unwrap();
    assert_eq!(contract.address, ContractAddress::new(10082, 0));

    let message = register("https://agents.example/card.json");
    let payload = call(&net, "register", message.clone());
    // Payload as in registry facts, section 8: a tag, the amount, the contract, and two byte strings with 2-byte lengths.
    let size = 1 + 8 + 16 + 2 + "CIS-8004.register".len() + 2 + message.as_ref().len();
    let context = ContractContext::new_from_payload(wallet.address, None, payload);
    let dry = node.invoke_instance(BlockIdentifier::LastFinal, &context).await.unwrap().response;
    let InvokeContractResult::Success { used_energy, .. } = dry else { panic!("{dry:?}") };

    let builder = contract.dry_run_update_raw::<ViewError>("register", Amount::zero(), wallet.address, message).await;
    let builder: ContractUpdateBuilder = builder.unwrap();
    let outcome = builder.send(&wallet).await.unwrap().wait_for_finalization().await.unwrap();
    assert_eq!(outcome.energy_cost.energy, used_energy.energy + 100 + 60 + size as u64);
    let tree = outcome.execution_tree.known_or_err().unwrap();
    let events: Vec<_> = tree.events().flat_map(|logged| logged.known_or_err().unwrap().2.to_vec()).collect();
    assert_eq!(events[1].as_ref()[..10], [240, 8, 0, 0, 0, 0, 0, 0, 0, 0], "the first agent is number 0");

    let record = contract.invoke_raw::<ViewError>("agentOf", Amount::zero(), None, token(0), BlockIdentifier::LastFinal).await;
    let InvokeContractResult::Success { return_value: Some(record), .. } = record.unwrap() else { panic!("no record") };
    assert_eq!(record.value[..10], [1, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(record.value[10..42], wallet.address.0);
    net.shutdown().await;
}

#[tokio::test]
async fn cis2_and_cis0_queries_work() {
    let net = Devnet::start().await.unwrap();
    let owner = wallet(&net, 2);
    let id = net.register_agent(2, Some("https://agents.example/card.json"), Some([7; 32])).await.unwrap();
    let mut contract = Cis2Contract::create(client(&net).await, registry(&net)).await.unwrap();
    let token = |id: u64| TokenId::new_unchecked(id.to_le_bytes().to_vec());
    let at = BlockIdentifier::LastFinal;
    let balance = contract.balance_of_single(at, token(id.0), Address::Account(owner.address)).await.unwrap();
    assert_eq!(balance.to_string(), "1");
    let unknown = contract.balance_of_single(at, token(999), Address::Account(owner.address)).await;
    assert!(matches!(unknown, Err(Cis2QueryError::NodeRejected(_))), "{unknown:?}");
    let metadata = contract.token_metadata_single(at, token(id.0)).await.unwrap();
    assert_eq!(metadata.url(), "https://agents.example/card.json");
    let name = OwnedContractName::new_unchecked("init_CIS-8004".into());
    let mut node = client(&net).await;
    let supports = cis0::supports(&mut node, &at, registry(&net), name.as_contract_name(), StandardIdentifier::CIS2);
    assert!(supports.await.unwrap().response.is_support());
    net.shutdown().await;
}

#[tokio::test]
async fn waiting_works_with_delayed_commit_and_finality() {
    let net = Devnet::builder()
        .block_time(Duration::from_millis(100))
        .commit_delay(Duration::from_millis(60))
        .finality_delay(Duration::from_millis(120))
        .start()
        .await
        .unwrap();
    let mut node = client(&net).await;
    let wallet = wallet(&net, 1);
    let transaction = devnet_client::signed(&wallet, 1, call(&net, "register", register("https://a.example/")), 30_000);
    let hash = node.send_account_transaction(transaction).await.unwrap();
    let mut seen = vec![state(&mut node, &hash).await];
    while seen.last() != Some(&"finalized") {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let next = state(&mut node, &hash).await;
        if seen.last() != Some(&next) {
            seen.push(next);
        }
    }
    assert_eq!(seen, ["received", "committed", "finalized"]);
    let (block, _) = node.wait_until_finalized(&hash).await.unwrap();
    assert_eq!(node.get_finalized_block_item(hash).await.unwrap().1, block);

    // Also when the waiting begins before the transaction is in a block.
    let transaction = devnet_client::signed(&wallet, 2, call(&net, "register", register("https://b.example/")), 30_000);
    let hash = node.send_account_transaction(transaction).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(10), node.wait_until_finalized(&hash)).await;
    assert!(waited.unwrap().unwrap().1.is_success().known_or_err().unwrap());
    net.shutdown().await;
}

/// An empty block that is due does not take along what shall still wait.
#[tokio::test]
async fn a_transaction_waits_for_its_block_as_long_as_it_shall_whatever_empty_blocks_come() {
    let delay = Duration::from_millis(700);
    let net = Devnet::builder().block_time(Duration::from_millis(100)).commit_delay(delay).start().await.unwrap();
    let mut node = client(&net).await;
    let wallet = wallet(&net, 1);
    let mut sent = Vec::new();
    for nonce in 1..=3 {
        let call = call(&net, "register", register("https://a.example/"));
        let began = std::time::Instant::now();
        let hash = node.send_account_transaction(devnet_client::signed(&wallet, nonce, call, 30_000)).await.unwrap();
        sent.push((hash, began, net.best_block().height));
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let mut heights = Vec::new();
    for (hash, began, height) in sent {
        while state(&mut node, &hash).await == "received" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let waited = began.elapsed();
        assert!(waited >= delay && waited < delay * 3, "{waited:?}");
        let block = node.wait_until_finalized(&hash).await.unwrap().0;
        heights.push(node.get_block_info(block).await.unwrap().response.block_height.height);
        assert!(heights.last().unwrap() > &(height + 2), "empty blocks came meanwhile");
    }
    assert!(heights.windows(2).all(|pair| pair[0] < pair[1]), "each waits for itself: {heights:?}");
    net.shutdown().await;
}

/// A transaction that comes after one which expired waits until its own expiry, and follows when another closes the gap.
#[tokio::test]
async fn a_later_transaction_outlives_the_one_before_it_until_its_own_expiry() {
    let net = Devnet::builder().manual().start().await.unwrap();
    let mut node = client(&net).await;
    let wallet = wallet(&net, 1);
    let signed = |nonce: u64, seconds: u32| {
        let expiry = TransactionTime::seconds_after(seconds);
        let call = call(&net, "register", register("https://a.example/"));
        send::update_contract(&wallet, wallet.address, Nonce { nonce }, expiry, call, Energy::from(30_000))
    };
    let first = node.send_account_transaction(signed(1, 1)).await.unwrap();
    let second = node.send_account_transaction(signed(2, 600)).await.unwrap();
    let third = node.send_account_transaction(signed(3, 1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2100)).await;
    net.advance().await.unwrap();
    assert!(node.get_block_item_status(&first).await.unwrap_err().is_not_found());
    assert!(node.get_block_item_status(&third).await.unwrap_err().is_not_found());
    assert_eq!(state(&mut node, &second).await, "received");
    net.advance().await.unwrap();
    assert_eq!(state(&mut node, &second).await, "received");
    // The gap is the next number that is free; the two together then go into one block.
    assert_eq!(node.get_next_account_sequence_number(&wallet.address).await.unwrap().nonce.nonce, 1);
    let instead = node.send_account_transaction(signed(1, 600)).await.unwrap();
    assert_eq!(node.get_next_account_sequence_number(&wallet.address).await.unwrap().nonce.nonce, 3);
    net.advance().await.unwrap();
    assert_eq!((state(&mut node, &instead).await, state(&mut node, &second).await), ("finalized", "finalized"));
    net.shutdown().await;
}

/// The same on a chain that makes its blocks by itself, which must not look for the missing one without pause.
#[tokio::test]
async fn a_gap_is_closed_on_a_chain_that_keeps_its_own_time() {
    let net =
        Devnet::builder().block_time(Duration::from_secs(60)).commit_delay(Duration::from_millis(1500)).start().await.unwrap();
    let mut node = client(&net).await;
    let wallet = wallet(&net, 1);
    let signed = |nonce: u64, seconds: u32| {
        let call = call(&net, "register", register("https://a.example/"));
        send::update_contract(
            &wallet,
            wallet.address,
            Nonce { nonce },
            TransactionTime::seconds_after(seconds),
            call,
            Energy::from(30_000),
        )
    };
    let first = node.send_account_transaction(signed(1, 0)).await;
    // At the very end of a second it has expired already.
    if let Ok(first) = first {
        let second = node.send_account_transaction(signed(2, 600)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1800)).await;
        assert!(node.get_block_item_status(&first).await.unwrap_err().is_not_found());
        assert_eq!(state(&mut node, &second).await, "received");
        let height = net.best_block().height;
        let instead = node.send_account_transaction(signed(1, 600)).await.unwrap();
        let done = tokio::time::timeout(Duration::from_secs(5), node.wait_until_finalized(&second)).await.unwrap().unwrap().0;
        assert_eq!(node.wait_until_finalized(&instead).await.unwrap().0, done);
        assert_eq!(net.best_block().height, height + 1);
    }
    net.shutdown().await;
}

/// Calls that wallets make at their start, and that have one honest answer here.
#[tokio::test]
async fn what_there_is_none_of_is_said_to_be_none() {
    let net =
        Devnet::builder().finality_delay(Duration::from_secs(60)).block_time(Duration::from_secs(60)).start().await.unwrap();
    let mut raw = QueriesClient::connect(net.node_url().to_owned()).await.unwrap();
    let best =
        || proto::BlockHashInput { block_hash_input: Some(proto::block_hash_input::BlockHashInput::Best(proto::Empty {})) };
    assert!(raw.get_token_list(best()).await.unwrap().into_inner().message().await.unwrap().is_none());
    assert!(raw.get_identity_providers(best()).await.unwrap().into_inner().message().await.unwrap().is_none());
    assert!(raw.get_anonymity_revokers(best()).await.unwrap().into_inner().message().await.unwrap().is_none());
    let token_id = Some(proto::plt::TokenId { value: "EURe".into() });
    let request = proto::TokenInfoRequest { block_hash: Some(best()), token_id };
    assert_eq!(raw.get_token_info(request).await.unwrap_err().code(), tonic::Code::NotFound);
    let mut node = client(&net).await;
    let numbers = node.get_next_update_sequence_numbers(BlockIdentifier::Best).await.unwrap().response;
    assert_eq!((numbers.root_keys.number, numbers.protocol_level_tokens.number), (1, 1));

    let finalized = net.last_finalized();
    let blocks = [net.commit().await.unwrap(), net.commit().await.unwrap()];
    let branch = raw.get_branches(proto::Empty {}).await.unwrap().into_inner();
    let hash = |branch: &proto::Branch| branch.block_hash.clone().unwrap().value;
    assert_eq!(hash(&branch), finalized.hash);
    assert_eq!((branch.children.len(), hash(&branch.children[0])), (1, blocks[0].hash.to_vec()));
    assert_eq!(hash(&branch.children[0].children[0]), blocks[1].hash);
    assert!(branch.children[0].children[0].children.is_empty());
    net.shutdown().await;
}

async fn state(
    node: &mut concordium_rust_sdk::v2::Client,
    hash: &concordium_rust_sdk::types::hashes::TransactionHash,
) -> &'static str {
    let status = node.get_block_item_status(hash).await.unwrap();
    match status {
        TransactionStatus::Received => "received",
        TransactionStatus::Committed(_) => "committed",
        TransactionStatus::Finalized(_) => "finalized",
    }
}

#[tokio::test]
async fn the_indexer_traverses_every_block_from_genesis() {
    let net = Devnet::builder().block_time(Duration::from_millis(200)).start().await.unwrap();
    for number in 0..3 {
        net.register_agent(number, Some("https://agents.example/"), None).await.unwrap();
    }
    let (sender, mut receiver) = tokio::sync::mpsc::channel(10);
    let endpoint = Endpoint::from_str(net.node_url()).unwrap();
    let config = TraverseConfig::new_single(endpoint, AbsoluteBlockHeight::from(0u64));
    let traversal = tokio::spawn(config.traverse(TransactionIndexer, sender));
    let mut transactions = 0;
    // Blocks from before, the transaction sent meanwhile, and empty blocks by the clock.
    for expected in 0..8u64 {
        if expected == 5 {
            net.register_agent(5, Some("https://agents.example/"), None).await.unwrap();
        }
        let next = tokio::time::timeout(Duration::from_secs(10), receiver.recv()).await.unwrap();
        let (block, items) = next.unwrap();
        assert_eq!(block.block_height, AbsoluteBlockHeight::from(expected));
        assert_eq!(block.transaction_count as usize, items.len());
        transactions += items.len();
    }
    assert!(transactions >= 3, "{transactions}");
    drop(receiver);
    tokio::time::timeout(Duration::from_secs(5), traversal).await.unwrap().unwrap().unwrap();
    net.shutdown().await;
}

#[tokio::test]
async fn everything_the_sdk_parses_parses() {
    let net = Devnet::start().await.unwrap();
    net.register_agent(3, Some("https://agents.example/"), None).await.unwrap();
    let mut node = client(&net).await;
    let at = BlockIdentifier::Best;
    let consensus = node.get_consensus_info().await.unwrap();
    assert_eq!(consensus.genesis_block.bytes, net.genesis_hash().0);
    assert_eq!(consensus.protocol_version, ProtocolVersionInt(9));
    assert_eq!(consensus.last_finalized_block, consensus.best_block);

    let block = node.get_block_info(at).await.unwrap();
    // Blocks go on by the clock.
    let at = BlockIdentifier::Given(block.block_hash);
    assert_eq!(block.block_hash, block.response.block_hash);
    assert!(block.response.finalized);
    let parameters = node.get_block_chain_parameters(at).await.unwrap().response;
    let (euro, micro_ccd) = (parameters.euro_per_energy.unwrap(), parameters.micro_ccd_per_euro.unwrap());
    assert_eq!(micro_ccd.numerator() / micro_ccd.denominator() / euro.denominator(), 6611, "microCCD per energy");
    let cryptographic = node.get_cryptographic_parameters(at).await.unwrap().response;
    assert_eq!(cryptographic.genesis_string, "cardproof devnet");

    let accounts: Vec<_> = node.get_account_list(at).await.unwrap().response.map(Result::unwrap).collect().await;
    assert_eq!(accounts.len(), 10);
    for (index, address) in accounts.iter().enumerate() {
        let info = node.get_account_info(&AccountIdentifier::Address(*address), at).await.unwrap().response;
        assert_eq!(info.account_index.index, index as u64);
        assert_eq!(info.account_nonce.nonce, if index == 3 { 2 } else { 1 });
        let by_index = AccountIdentifier::Index(info.account_index);
        assert_eq!(node.get_account_info(&by_index, at).await.unwrap().response.account_address, *address);
    }
    let modules: Vec<_> = node.get_module_list(at).await.unwrap().response.map(Result::unwrap).collect().await;
    assert_eq!(modules.len(), 2);
    for module in modules {
        assert_eq!(node.get_module_source(&module, at).await.unwrap().response.get_module_ref(), module);
    }
    let instances: Vec<_> = node.get_instance_list(at).await.unwrap().response.map(Result::unwrap).collect().await;
    assert_eq!(instances.len(), 2);
    let state: Vec<_> = node.get_instance_state(registry(&net), at).await.unwrap().response.map(Result::unwrap).collect().await;
    let (key, value) = &state[0];
    let looked_up = node.instance_state_lookup(registry(&net), key.clone(), at).await.unwrap().response;
    assert_eq!(looked_up, *value);
    assert_eq!(node.get_node_info().await.unwrap().version.major, 9);
    assert!(node.get_block_special_events(at).await.unwrap().response.collect::<Vec<_>>().await.is_empty());
    let items: Vec<_> = node.get_block_items(at).await.unwrap().response.map(Result::unwrap).collect().await;
    assert_eq!(items.len() as u64, block.response.transaction_count);
    net.shutdown().await;
}

#[tokio::test]
async fn unknown_blocks_and_unsupported_calls_are_told_apart() {
    let net = Devnet::start().await.unwrap();
    let mut node = client(&net).await;
    let nowhere = BlockIdentifier::Given([9; 32].into());
    assert!(node.get_block_info(nowhere).await.unwrap_err().is_not_found());
    assert!(node.get_instance_info(ContractAddress::new(77, 0), BlockIdentifier::Best).await.unwrap_err().is_not_found());
    assert!(node.get_block_item_status(&[9; 32].into()).await.unwrap_err().is_not_found());
    let pools = node.get_baker_list(BlockIdentifier::Best).await;
    // It has no validators, and its blocks name one all the same: no answer would be honest.
    let Err(error) = pools else { panic!("bakers on a devnet") };
    assert!(error.to_string().contains("not implemented") || format!("{error:?}").contains("Unimplemented"), "{error:?}");
    net.shutdown().await;
}

#[tokio::test]
async fn module_and_instance_builders_dry_run_and_send() {
    let net = Devnet::start().await.unwrap();
    let node = client(&net).await;
    let wallet = wallet(&net, 4);
    // The registry's module is there already; a module with an extra custom section is another module.
    let source = node.clone().get_module_source(&net.module_ref().into(), BlockIdentifier::Best).await.unwrap().response;
    let again = ModuleDeployBuilder::dry_run_module_deploy(node.clone(), wallet.address, source.clone()).await;
    assert!(again.err().unwrap().already_exists());
    let mut bytes: Vec<u8> = source.source.as_ref().to_vec();
    bytes.extend([0, 3, 1, b'x', 0]);
    let module = WasmModule { source: bytes.into(), ..source };
    let builder = ModuleDeployBuilder::dry_run_module_deploy(node.clone(), wallet.address, module.clone()).await.unwrap();
    let deployed = builder.send(&wallet).await.unwrap().wait_for_finalization().await.unwrap();
    assert_eq!(deployed.module_reference, module.get_module_ref());

    let mut parameter = wallet.address.0.to_vec();
    parameter.extend([0; 16]);
    parameter.extend(net.genesis_hash().0);
    let builder = ContractInitBuilder::<Registry>::dry_run_new_instance_raw(
        node,
        wallet.address,
        deployed.module_reference,
        "CIS-8004",
        Amount::zero(),
        OwnedParameter::try_from(parameter).unwrap(),
    );
    let (mut contract, _) = builder.await.unwrap().send(&wallet).await.unwrap().wait_for_finalization().await.unwrap();
    assert_eq!(contract.address, ContractAddress::new(3, 0), "the next index after the two registries");
    let missing = contract.invoke_raw::<ViewError>("agentOf", Amount::zero(), None, token(1), BlockIdentifier::LastFinal).await;
    let InvokeContractResult::Success { return_value: Some(missing), .. } = missing.unwrap() else { panic!("no answer") };
    assert_eq!(missing.value, [0]);
    net.shutdown().await;
}
