//! What the tests of the local chain share: an SDK client, wallets, parameters, hand-made transactions.
#![allow(dead_code)]

use std::str::FromStr;

use cardproof::devnet::Devnet;
use concordium_rust_sdk::base::base::{Energy, Nonce};
use concordium_rust_sdk::base::common::types::TransactionTime;
use concordium_rust_sdk::base::contracts_common::{AccountAddress, Amount, ContractAddress, OwnedParameter, OwnedReceiveName};
use concordium_rust_sdk::base::transactions::{send, AccountTransaction, EncodedPayload, UpdateContractPayload};
use concordium_rust_sdk::types::{
    AccountTransactionEffects, BlockItemSummary, BlockItemSummaryDetails, RejectReason, WalletAccount,
};
use concordium_rust_sdk::v2::{Client, Endpoint};

/// A client of the chain's node.
pub(crate) async fn client(net: &Devnet) -> Client {
    Client::new(Endpoint::from_str(net.node_url()).unwrap()).await.unwrap()
}

/// A test account as its wallet file gives it.
pub(crate) fn wallet(net: &Devnet, index: usize) -> WalletAccount {
    WalletAccount::from_json_str(&net.account(index).unwrap().wallet_export()).unwrap()
}

/// The registry's address as the SDK writes it.
pub(crate) fn registry(net: &Devnet) -> ContractAddress {
    ContractAddress::new(net.registry().index, net.registry().subindex)
}

/// The parameter of `register`: a URI, no hash, no reference, no metadata.
pub(crate) fn register(uri: &str) -> OwnedParameter {
    let mut bytes = vec![1];
    bytes.extend(u32::try_from(uri.len()).unwrap().to_le_bytes());
    bytes.extend(uri.as_bytes());
    bytes.extend([0; 6]);
    OwnedParameter::try_from(bytes).unwrap()
}

/// The parameter of `agentOf` and others: a token id.
pub(crate) fn token(id: u64) -> OwnedParameter {
    let mut bytes = vec![8];
    bytes.extend(id.to_le_bytes());
    OwnedParameter::try_from(bytes).unwrap()
}

/// A call of the registry.
pub(crate) fn call(net: &Devnet, entry_point: &str, message: OwnedParameter) -> UpdateContractPayload {
    UpdateContractPayload {
        amount: Amount::zero(),
        address: registry(net),
        receive_name: OwnedReceiveName::new(format!("CIS-8004.{entry_point}")).unwrap(),
        message,
    }
}

/// Ten minutes from now.
pub(crate) fn soon() -> TransactionTime {
    TransactionTime::minutes_after(10)
}

/// A signed update; `energy` is for the execution alone.
pub(crate) fn signed(
    wallet: &WalletAccount,
    nonce: u64,
    payload: UpdateContractPayload,
    energy: u64,
) -> AccountTransaction<EncodedPayload> {
    send::update_contract(wallet, wallet.address, Nonce { nonce }, soon(), payload, Energy::from(energy))
}

/// A signed transfer.
pub(crate) fn transfer(
    wallet: &WalletAccount,
    nonce: u64,
    to: AccountAddress,
    amount: Amount,
) -> AccountTransaction<EncodedPayload> {
    send::transfer(wallet, wallet.address, Nonce { nonce }, soon(), to, amount)
}

/// Why a transaction in a block was rejected.
pub(crate) fn rejection(summary: &BlockItemSummary) -> RejectReason {
    let details = summary.details.as_ref().known_or_err().unwrap();
    let BlockItemSummaryDetails::AccountTransaction(details) = details else { panic!("{details:?}") };
    match details.effects.as_ref().known_or_err().unwrap() {
        AccountTransactionEffects::None { reject_reason, .. } => reject_reason.clone().known_or_err().unwrap(),
        other => panic!("it was not rejected: {other:?}"),
    }
}

/// What a transaction cost, in microCCD.
pub(crate) fn cost(summary: &BlockItemSummary) -> u64 {
    let details = summary.details.as_ref().known_or_err().unwrap();
    let BlockItemSummaryDetails::AccountTransaction(details) = details else { panic!("{details:?}") };
    details.cost.micro_ccd()
}
