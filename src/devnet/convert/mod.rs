//! Engine results, blocks and accounts as the node's protobuf messages.

mod account;
mod block;
mod parameters;
mod reject;
mod summary;

pub(super) use account::account_info;
pub(super) use block::{block_info, consensus_info};
pub(super) use parameters::{chain_parameters, cryptographic_parameters};
pub(super) use reject::reject_reason;
pub(super) use summary::{account_transaction_details, summary, trace};

use concordium_rust_sdk::base::transactions::{AccountTransaction, EncodedPayload};
use concordium_rust_sdk::v2::generated as proto;

use super::history::Hash;

/// Protocol version 9, as on the public networks.
pub(super) const PROTOCOL: proto::ProtocolVersion = proto::ProtocolVersion::ProtocolVersion9;

pub(super) fn block_hash(hash: &Hash) -> proto::BlockHash {
    proto::BlockHash { value: hash.to_vec() }
}

pub(super) fn transaction_hash(hash: &Hash) -> proto::TransactionHash {
    proto::TransactionHash { value: hash.to_vec() }
}

pub(super) fn timestamp(milliseconds: u64) -> proto::Timestamp {
    proto::Timestamp { value: milliseconds }
}

/// A transaction as it was sent, with its payload in raw bytes.
pub(super) fn account_transaction(item: &AccountTransaction<EncodedPayload>) -> proto::AccountTransaction {
    let payload = proto::account_transaction_payload::Payload::RawPayload(Vec::from(item.payload.clone()));
    proto::AccountTransaction {
        signature: Some((&item.signature).into()),
        header: Some((&item.header).into()),
        payload: Some(proto::AccountTransactionPayload { payload: Some(payload) }),
    }
}
