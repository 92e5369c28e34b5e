//! What the local chain takes, what it refuses, and what it rejects in a block with which reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/devnet_client.rs"]
mod devnet_client;

use std::collections::BTreeMap;

use cardproof::devnet::{AccountSpec, Devnet};
use concordium_rust_sdk::base::base::{Energy, Nonce};
use concordium_rust_sdk::base::common::types::{CredentialIndex, KeyIndex, KeyPair, TransactionTime};
use concordium_rust_sdk::base::contracts_common::{
    AccountAddress, Address, Amount, ContractAddress, OwnedContractName, OwnedParameter, OwnedReceiveName,
};
use concordium_rust_sdk::base::smart_contracts::{ContractTraceElement, WasmModule};
use concordium_rust_sdk::base::transactions::{
    send, sign_transaction, AccountTransaction, EncodedPayload, InitContractPayload, Payload, PayloadLike, RegisteredData,
    TransactionHeader, UpdateContractPayload,
};
use concordium_rust_sdk::endpoints::RPCError;
use concordium_rust_sdk::types::{
    AccountTransactionEffects, BlockItemSummary, BlockItemSummaryDetails, RejectReason, WalletAccount,
};
use concordium_rust_sdk::v2::generated::queries_client::QueriesClient;
use concordium_rust_sdk::v2::generated::{self as proto, send_block_item_request::BlockItem};
use concordium_rust_sdk::v2::{AccountIdentifier, BlockIdentifier, Client};
use devnet_client::{call, client, cost, register, registry, rejection, signed, soon, token, transfer, wallet};

const CCD: u64 = 1_000_000;

/// Sends a transaction and gives its outcome.
async fn outcome(node: &mut Client, transaction: AccountTransaction<EncodedPayload>) -> BlockItemSummary {
    let hash = node.send_account_transaction(transaction).await.unwrap();
    node.wait_until_finalized(&hash).await.unwrap().1
}

/// Sends a transaction that shall be refused, and gives the sentence.
async fn refusal(node: &mut Client, transaction: AccountTransaction<EncodedPayload>) -> String {
    let error = node.send_account_transaction(transaction).await.unwrap_err();
    assert!(error.is_invalid_argument(), "{error:?}");
    let RPCError::CallError(status) = error else { panic!("{error:?}") };
    status.message().to_owned()
}

async fn balance(node: &mut Client, address: AccountAddress) -> u64 {
    let info = node.get_account_info(&AccountIdentifier::Address(address), BlockIdentifier::LastFinal).await.unwrap();
    assert_eq!(info.response.account_amount, info.response.available_balance);
    info.response.account_amount.micro_ccd()
}

fn header(
    wallet: &WalletAccount,
    nonce: u64,
    energy: u64,
    expiry: TransactionTime,
    payload: &EncodedPayload,
) -> TransactionHeader {
    TransactionHeader {
        sender: wallet.address,
        nonce: Nonce { nonce },
        energy_amount: Energy::from(energy),
        payload_size: payload.size(),
        expiry,
    }
}

/// A transaction with the total energy and expiry given.
fn raw(
    wallet: &WalletAccount,
    nonce: u64,
    energy: u64,
    expiry: TransactionTime,
    payload: &Payload,
) -> AccountTransaction<EncodedPayload> {
    let payload = payload.encode();
    sign_transaction(wallet, header(wallet, nonce, energy, expiry, &payload), payload)
}

fn some_update(net: &Devnet) -> Payload {
    Payload::Update { payload: call(net, "register", register("https://a.example/")) }
}

#[tokio::test]
async fn what_is_wrong_before_a_block_is_refused_with_a_sentence() {
    let accounts = vec![AccountSpec::simple(1_000_000 * CCD), AccountSpec::simple(1_000_000 * CCD), AccountSpec::simple(CCD)];
    let net = Devnet::builder().accounts(accounts).start().await.unwrap();
    let mut node = client(&net).await;
    let (rich, other, poor) = (wallet(&net, 0), wallet(&net, 1), wallet(&net, 2));
    let update = some_update(&net);

    let mut forged = raw(&rich, 1, 30_000, soon(), &update);
    forged.signature = raw(&other, 1, 30_000, soon(), &update).signature;
    assert!(refusal(&mut node, forged).await.contains("signatures"));
    let mut changed = raw(&rich, 1, 30_000, soon(), &update);
    changed.header.energy_amount = Energy::from(30_001);
    assert!(refusal(&mut node, changed).await.contains("signatures"));
    let mut unsigned = raw(&rich, 1, 30_000, soon(), &update);
    unsigned.signature.signatures.clear();
    assert!(refusal(&mut node, unsigned).await.contains("signatures"));

    assert!(refusal(&mut node, raw(&rich, 2, 30_000, soon(), &update))
        .await
        .contains("too large; the next one of the account is 1"));
    assert!(refusal(&mut node, raw(&rich, 0, 30_000, soon(), &update))
        .await
        .contains("used before; the next one of the account is 1"));
    let past = TransactionTime::from_seconds(1_600_000_000);
    assert!(refusal(&mut node, raw(&rich, 1, 30_000, past, &update)).await.contains("expired at 1600000000"));
    assert!(refusal(&mut node, raw(&rich, 1, 100, soon(), &update)).await.contains("checking it costs"));
    assert!(refusal(&mut node, raw(&rich, 1, 3_000_001, soon(), &update)).await.contains("a block has only 3000000"));
    assert!(refusal(&mut node, raw(&poor, 1, 30_000, soon(), &update)).await.contains("1.000000 CCD to spend"));
    let stranger = WalletAccount { address: AccountAddress([9; 32]), ..wallet(&net, 0) };
    assert!(refusal(&mut node, raw(&stranger, 1, 30_000, soon(), &update)).await.contains("there is no account"));
    let scheduled = Payload::TransferWithSchedule { to: other.address, schedule: vec![] };
    assert!(refusal(&mut node, raw(&rich, 1, 30_000, soon(), &scheduled)).await.contains("does not execute"));

    // Nothing of all this cost anything or used a sequence number.
    assert_eq!(balance(&mut node, rich.address).await, 1_000_000 * CCD);
    let next = node.get_next_account_sequence_number(&rich.address).await.unwrap();
    assert_eq!((next.nonce.nonce, next.all_final), (1, true));
    assert_eq!(net.best_block().height, node.get_consensus_info().await.unwrap().best_block_height.height);

    let good = raw(&rich, 1, 30_000, soon(), &update);
    outcome(&mut node, good.clone()).await;
    assert!(node.send_account_transaction(good).await.unwrap_err().is_duplicate());
    assert!(refusal(&mut node, raw(&rich, 1, 30_001, soon(), &update)).await.contains("the next one of the account is 2"));
    net.shutdown().await;
}

#[tokio::test]
async fn garbage_block_items_are_refused_and_the_chain_goes_on() {
    let net = Devnet::start().await.unwrap();
    let mut raw = QueriesClient::connect(net.node_url().to_owned()).await.unwrap();
    let mut items: Vec<Option<BlockItem>> = vec![None];
    for bytes in
        [vec![], vec![0], vec![0, 0, 1], vec![7; 300], vec![0xff; 70_000], [vec![0, 0, 1, 0, 1, 0, 0, 64], vec![1; 90]].concat()]
    {
        items.push(Some(BlockItem::RawBlockItem(bytes)));
    }
    items.push(Some(BlockItem::AccountTransaction(proto::AccountTransaction { signature: None, header: None, payload: None })));
    items.push(Some(BlockItem::AccountTransactionV1(proto::AccountTransactionV1 {
        signatures: None,
        header: None,
        payload: None,
    })));
    items.push(Some(BlockItem::CredentialDeployment(proto::CredentialDeployment { message_expiry: None, payload: None })));
    items.push(Some(BlockItem::UpdateInstruction(proto::UpdateInstruction { signatures: None, header: None, payload: None })));
    for block_item in items {
        let error = raw.send_block_item(proto::SendBlockItemRequest { block_item }).await.unwrap_err();
        assert_eq!(error.code(), tonic::Code::InvalidArgument, "{error}");
        assert!(error.message().len() > 10, "{error}");
    }
    let sponsored =
        BlockItem::AccountTransactionV1(proto::AccountTransactionV1 { signatures: None, header: None, payload: None });
    let error = raw.send_block_item(proto::SendBlockItemRequest { block_item: Some(sponsored) }).await.unwrap_err();
    assert!(error.message().contains("sponsored transactions"), "{error}");

    let invoke = proto::InvokeInstanceRequest {
        block_hash: Some((&BlockIdentifier::Best).into()),
        invoker: None,
        instance: Some((&registry(&net)).into()),
        amount: None,
        entrypoint: Some(proto::ReceiveName { value: "CIS-8004.agentOf".into() }),
        parameter: Some(proto::Parameter { value: vec![0; 65_536] }),
        energy: None,
    };
    let error = raw.invoke_instance(invoke.clone()).await.unwrap_err();
    assert!(error.message().contains("65535 bytes"), "{error}");
    for broken in [
        proto::InvokeInstanceRequest { instance: None, ..invoke.clone() },
        proto::InvokeInstanceRequest { block_hash: None, ..invoke.clone() },
        proto::InvokeInstanceRequest {
            entrypoint: Some(proto::ReceiveName { value: "x".repeat(500) }),
            parameter: None,
            ..invoke
        },
    ] {
        assert_eq!(raw.invoke_instance(broken).await.unwrap_err().code(), tonic::Code::InvalidArgument);
    }
    net.register_agent(0, Some("https://still.here.example/"), None).await.unwrap();
    net.shutdown().await;
}

#[tokio::test]
async fn rejections_are_in_a_block_with_the_reasons_of_a_node() {
    let net = Devnet::start().await.unwrap();
    let mut node = client(&net).await;
    let (alice, bob) = (wallet(&net, 1), wallet(&net, 2));
    let mut before = balance(&mut node, alice.address).await;
    let mut paid = 0;

    // The contract's own code, and what was called.
    let unknown =
        signed(&alice, 1, call(&net, "revoke", OwnedParameter::try_from([token(9).as_ref(), &[0]].concat()).unwrap()), 20_000);
    let summary = outcome(&mut node, unknown).await;
    let RejectReason::RejectedReceive { reject_reason, contract_address, receive_name, .. } = rejection(&summary) else {
        panic!("{summary:?}")
    };
    // AgentNotFound (registry facts, section 5).
    assert_eq!((reject_reason, contract_address), (-7200, registry(&net)));
    assert_eq!(receive_name.to_string(), "CIS-8004.revoke");
    paid += cost(&summary);

    // All the energy is gone when it was too little.
    let summary = outcome(&mut node, signed(&alice, 2, call(&net, "register", register("https://a.example/")), 400)).await;
    assert!(matches!(rejection(&summary), RejectReason::OutOfEnergy));
    assert_eq!(
        summary.energy_cost.energy,
        400 + 100 + 60 + 1 + 8 + 16 + 2 + 17 + 2 + register("https://a.example/").as_ref().len() as u64
    );
    paid += cost(&summary);

    let nowhere = ContractAddress::new(999, 0);
    let payload = UpdateContractPayload { address: nowhere, ..call(&net, "register", register("https://a.example/")) };
    let summary = outcome(&mut node, signed(&alice, 3, payload, 20_000)).await;
    assert!(matches!(rejection(&summary), RejectReason::InvalidContractAddress { contents } if contents == nowhere));
    paid += cost(&summary);

    let summary = outcome(&mut node, signed(&alice, 4, call(&net, "noSuchThing", token(1)), 20_000)).await;
    assert!(
        matches!(rejection(&summary), RejectReason::InvalidReceiveMethod { contents: (_, name) } if name.as_receive_name().entrypoint_name() == "noSuchThing")
    );
    paid += cost(&summary);

    let too_much = Amount::from_ccd(2_000_000);
    let summary = outcome(&mut node, transfer(&alice, 5, bob.address, too_much)).await;
    let contents = (Address::Account(alice.address), too_much);
    assert!(matches!(rejection(&summary), RejectReason::AmountTooLarge { contents: found } if found == contents));
    paid += cost(&summary);

    let nobody = AccountAddress([7; 32]);
    let summary = outcome(&mut node, transfer(&alice, 6, nobody, Amount::from_ccd(1))).await;
    assert!(matches!(rejection(&summary), RejectReason::InvalidAccountReference { contents } if contents == nobody));
    paid += cost(&summary);

    let expiry = soon();
    let module =
        WasmModule { source: vec![1, 2, 3].into(), version: concordium_rust_sdk::base::smart_contracts::WasmVersion::V1 };
    let summary = outcome(&mut node, send::deploy_module(&alice, alice.address, Nonce { nonce: 7 }, expiry, module)).await;
    assert!(matches!(rejection(&summary), RejectReason::ModuleNotWF));
    paid += cost(&summary);

    let init =
        |nonce, payload| send::init_contract(&alice, alice.address, Nonce { nonce }, expiry, payload, Energy::from(20_000));
    let make = |module: [u8; 32], name: &str| InitContractPayload {
        amount: Amount::zero(),
        mod_ref: module.into(),
        init_name: OwnedContractName::new(format!("init_{name}")).unwrap(),
        param: OwnedParameter::empty(),
    };
    let summary = outcome(&mut node, init(8, make([3; 32], "CIS-8004"))).await;
    assert!(matches!(rejection(&summary), RejectReason::InvalidModuleReference { .. }));
    paid += cost(&summary);
    let summary = outcome(&mut node, init(9, make(net.module_ref(), "Other"))).await;
    assert!(matches!(rejection(&summary), RejectReason::InvalidInitMethod { .. }));
    paid += cost(&summary);
    // The init function cannot read its parameter: ParseError of concordium-std (registry facts, section 5).
    let summary = outcome(&mut node, init(10, make(net.module_ref(), "CIS-8004"))).await;
    assert!(matches!(rejection(&summary), RejectReason::RejectedInit { reject_reason } if reject_reason < 0), "{summary:?}");
    paid += cost(&summary);

    // A payload that cannot be read is paid for, too.
    let payload = EncodedPayload::try_from(vec![2, 1, 2, 3]).unwrap();
    let garbage = sign_transaction(&alice, header(&alice, 11, 20_000, soon(), &payload), payload);
    let summary = outcome(&mut node, garbage).await;
    assert!(matches!(rejection(&summary), RejectReason::SerializationFailure));
    paid += cost(&summary);

    before -= paid;
    assert_eq!(balance(&mut node, alice.address).await, before, "rejected transactions are paid for, and do nothing else");
    assert_eq!(balance(&mut node, bob.address).await, 1_000_000 * CCD);
    net.shutdown().await;
}

#[tokio::test]
async fn ccd_move_and_data_are_registered() {
    let net = Devnet::start().await.unwrap();
    let mut node = client(&net).await;
    let (alice, bob) = (wallet(&net, 1), wallet(&net, 2));
    let first = outcome(&mut node, transfer(&alice, 1, bob.address, Amount::from_ccd(5))).await;
    // 60 + 1 + 32 + 8 bytes, one signature, and 300 for a transfer.
    assert_eq!(first.energy_cost.energy, 101 + 100 + 300);
    let memo = vec![0x64, b't', b'e', b's', b't'].try_into().unwrap();
    let with_memo =
        send::transfer_with_memo(&alice, alice.address, Nonce { nonce: 2 }, soon(), bob.address, Amount::from_ccd(7), memo);
    let second = outcome(&mut node, with_memo).await;
    let details = second.details.as_ref().known_or_err().unwrap();
    let BlockItemSummaryDetails::AccountTransaction(details) = details else { panic!("{details:?}") };
    let effects = details.effects.as_ref().known_or_err().unwrap();
    assert!(
        matches!(effects, AccountTransactionEffects::AccountTransferWithMemo { amount, .. } if *amount == Amount::from_ccd(7))
    );
    assert_eq!(balance(&mut node, bob.address).await, 1_000_012 * CCD);
    assert_eq!(balance(&mut node, alice.address).await, 1_000_000 * CCD - 12 * CCD - cost(&first) - cost(&second));

    let data = RegisteredData::try_from(vec![1, 2, 3]).unwrap();
    let third = outcome(&mut node, send::register_data(&alice, alice.address, Nonce { nonce: 3 }, soon(), data)).await;
    assert!(third.is_success().known_or_err().unwrap());
    // An alias of an account is the account.
    let alias = bob.address.get_alias(5).unwrap();
    outcome(&mut node, transfer(&alice, 4, alias, Amount::from_ccd(1))).await;
    assert_eq!(balance(&mut node, bob.address).await, 1_000_013 * CCD);
    net.shutdown().await;
}

#[tokio::test]
async fn a_multi_signature_account_needs_its_threshold() {
    let net = Devnet::start().await.unwrap();
    let mut node = client(&net).await;
    let (all, bob) = (wallet(&net, 9), wallet(&net, 1));
    let pairs = all.keys.keys.iter().map(|(index, data)| (*index, data.keys.clone()));
    let pairs: BTreeMap<CredentialIndex, BTreeMap<KeyIndex, KeyPair>> = pairs.collect();
    let signed_by = |nonce, first: usize, count: usize| {
        let chosen = |keys: &BTreeMap<KeyIndex, KeyPair>| keys.clone().into_iter().skip(first).take(count).collect();
        let signer: BTreeMap<_, BTreeMap<_, _>> = pairs.iter().map(|(index, keys)| (*index, chosen(keys))).collect();
        send::transfer(&signer, all.address, Nonce { nonce }, soon(), bob.address, Amount::from_ccd(1))
    };
    assert!(refusal(&mut node, signed_by(1, 0, 1)).await.contains("thresholds"));
    // 60 + 41 bytes, 300 for a transfer, and 100 for each signature.
    assert_eq!(outcome(&mut node, signed_by(1, 0, 2)).await.energy_cost.energy, 401 + 200);
    assert_eq!(outcome(&mut node, signed_by(2, 1, 2)).await.energy_cost.energy, 401 + 200);
    assert_eq!(outcome(&mut node, signed_by(3, 0, 3)).await.energy_cost.energy, 401 + 300);
    let mut forged = signed_by(4, 0, 3);
    let last = forged.signature.signatures.values_mut().next().unwrap().values_mut().last().unwrap();
    last.sig[5] ^= 1;
    assert!(refusal(&mut node, forged).await.contains("signatures"), "a wrong signature beyond the threshold counts, too");
    net.shutdown().await;
}

#[tokio::test]
async fn waiting_transactions_count_for_the_next_sequence_number() {
    let net = Devnet::builder().manual().start().await.unwrap();
    let mut node = client(&net).await;
    let alice = wallet(&net, 1);
    let asking = node.clone();
    let next = || next_nonce(asking.clone(), alice.address);
    assert_eq!(next().await, (1, true));
    let first = signed(&alice, 1, call(&net, "register", register("https://a.example/")), 20_000);
    let hash = node.send_account_transaction(first).await.unwrap();
    assert_eq!(next().await, (2, false), "received");
    assert!(refusal(&mut node, signed(&alice, 3, call(&net, "register", register("https://a.example/")), 20_000))
        .await
        .contains("is 2"));
    let second = node
        .send_account_transaction(signed(&alice, 2, call(&net, "register", register("https://b.example/")), 20_000))
        .await
        .unwrap();
    net.commit().await.unwrap();
    assert_eq!(next().await, (3, false), "committed");
    assert!(node.get_block_item_status(&hash).await.unwrap().is_finalized().is_none());
    let block = net.finalize();
    assert_eq!(next().await, (3, true), "finalized");
    let status = node.get_block_item_status(&second).await.unwrap();
    let (at, summary) = status.is_finalized().unwrap();
    assert_eq!((at.bytes, summary.index.index), (block.hash, 1), "both are in one block, in the order of their arrival");

    // A transaction that expires while it waits is in no block.
    let expiry = TransactionTime::seconds_after(1);
    let late = raw(&alice, 3, 20_000, expiry, &some_update(&net));
    let hash = node.send_account_transaction(late).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
    net.advance().await.unwrap();
    assert!(node.get_block_item_status(&hash).await.unwrap_err().is_not_found());
    assert_eq!(next().await, (3, true));
    net.shutdown().await;
}

async fn next_nonce(mut node: Client, address: AccountAddress) -> (u64, bool) {
    let next = node.get_next_account_sequence_number(&address).await.unwrap();
    (next.nonce.nonce, next.all_final)
}

fn alice_address(net: &Devnet) -> AccountAddress {
    AccountAddress(*net.account(1).unwrap().address().bytes())
}

#[tokio::test]
async fn reads_at_an_older_block_are_exact() {
    let net = Devnet::builder().manual().start().await.unwrap();
    let mut node = client(&net).await;
    let genesis = net.best_block();
    net.register_agent(1, Some("https://first.example/"), None).await.unwrap();
    let registered = net.best_block();
    let mut parameter = token(0).as_ref().to_vec();
    parameter.extend(register("https://second.example/").as_ref().iter().take(1 + 4 + 23 + 1));
    let changed = net.update(1, net.registry(), "setAgentURI", &parameter).await.unwrap();
    assert_eq!(changed.rejected, None);
    let record = |node: &Client, block: [u8; 32]| {
        let (mut node, payload) = (node.clone(), call(&net, "agentOf", token(0)));
        async move {
            let context = concordium_rust_sdk::types::smart_contracts::ContractContext {
                invoker: None,
                contract: payload.address,
                amount: payload.amount,
                method: payload.receive_name,
                parameter: payload.message,
                energy: None,
            };
            let answer = node.invoke_instance(BlockIdentifier::Given(block.into()), &context).await.unwrap();
            assert_eq!(answer.block_hash.bytes, block);
            let concordium_rust_sdk::types::smart_contracts::InvokeContractResult::Success { return_value, .. } = answer.response
            else {
                panic!("the view failed")
            };
            String::from_utf8_lossy(&return_value.unwrap().value).into_owned()
        }
    };
    assert_eq!(record(&node, genesis.hash).await, "\0", "there was none");
    assert!(record(&node, registered.hash).await.contains("https://first.example/"));
    assert!(record(&node, changed.block.hash).await.contains("https://second.example/"));
    assert!(record(&node, registered.hash).await.contains("https://first.example/"));

    let then = BlockIdentifier::Given(genesis.hash.into());
    let info = node.get_account_info(&AccountIdentifier::Address(alice_address(&net)), then).await.unwrap().response;
    assert_eq!((info.account_amount, info.account_nonce.nonce), (Amount::from_ccd(1_000_000), 1));
    net.shutdown().await;
}

#[tokio::test]
async fn a_view_sees_true_balances_and_changes_nothing() {
    let net =
        Devnet::builder().accounts(vec![AccountSpec::simple(1_000_000 * CCD), AccountSpec::simple(0)]).start().await.unwrap();
    let mut node = client(&net).await;
    let poor = wallet(&net, 1);
    // An account without CCD can dry-run, for views are free.
    let context = concordium_rust_sdk::types::smart_contracts::ContractContext::new_from_payload(
        poor.address,
        None,
        call(&net, "register", register("https://a.example/")),
    );
    let answer = node.invoke_instance(BlockIdentifier::Best, &context).await.unwrap().response;
    assert!(matches!(answer, concordium_rust_sdk::types::smart_contracts::InvokeContractResult::Success { .. }), "{answer:?}");
    let stranger = concordium_rust_sdk::types::smart_contracts::ContractContext {
        invoker: Some(Address::Account(AccountAddress([5; 32]))),
        ..context.clone()
    };
    let answer = node.invoke_instance(BlockIdentifier::Best, &stranger).await.unwrap().response;
    let concordium_rust_sdk::types::smart_contracts::InvokeContractResult::Failure { reason, used_energy, .. } = answer else {
        panic!("{answer:?}")
    };
    assert!(matches!(reason.known_or_err().unwrap(), RejectReason::InvalidAccountReference { .. }));
    assert_eq!(used_energy.energy, 0);
    let starved = concordium_rust_sdk::types::smart_contracts::ContractContext { energy: Some(Energy::from(300)), ..context };
    let answer = node.invoke_instance(BlockIdentifier::Best, &starved).await.unwrap().response;
    let concordium_rust_sdk::types::smart_contracts::InvokeContractResult::Failure { reason, used_energy, .. } = answer else {
        panic!("{answer:?}")
    };
    assert!(matches!(reason.known_or_err().unwrap(), RejectReason::OutOfEnergy));
    assert_eq!(used_energy.energy, 300);
    // Nothing was registered: the first agent still is number 0.
    assert_eq!(net.register_agent(0, None, None).await.unwrap().0, 0);
    net.shutdown().await;
}

#[tokio::test]
async fn events_and_items_of_a_block_are_listed() {
    use futures_util::StreamExt;
    let net = Devnet::builder().manual().start().await.unwrap();
    let mut node = client(&net).await;
    let alice = wallet(&net, 1);
    let sent = signed(&alice, 1, call(&net, "register", register("https://a.example/")), 20_000);
    let hash = node.send_account_transaction(sent.clone()).await.unwrap();
    let block = net.advance().await.unwrap();
    let at = BlockIdentifier::Given(block.hash.into());
    let events: Vec<_> = node.get_block_transaction_events(at).await.unwrap().response.map(Result::unwrap).collect().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].hash, hash);
    let details = events[0].details.as_ref().known_or_err().unwrap();
    let BlockItemSummaryDetails::AccountTransaction(details) = details else { panic!("{details:?}") };
    let AccountTransactionEffects::ContractUpdateIssued { effects } = details.effects.as_ref().known_or_err().unwrap() else {
        panic!("{details:?}")
    };
    let ContractTraceElement::Updated { data } = effects[0].as_ref().known_or_err().unwrap() else { panic!("{effects:?}") };
    assert_eq!(data.instigator, Address::Account(alice.address));
    assert_eq!(data.receive_name, OwnedReceiveName::new_unchecked("CIS-8004.register".into()));
    let items: Vec<_> = node.get_block_items(at).await.unwrap().response.map(Result::unwrap).collect().await;
    let item = items[0].clone().known_or_err().unwrap();
    assert_eq!(item.hash(), hash, "the item is the one that was signed");
    net.shutdown().await;
}
