use std::sync::Arc;

use concordium_rust_sdk::base::common::from_bytes;
use concordium_rust_sdk::base::transactions::{
    compute_transaction_sign_hash, AccountTransaction, BlockItem, EncodedPayload, TransactionHeader,
};
use concordium_rust_sdk::v2::generated::{self as proto, block_item_status as status, send_block_item_request as send};
use tonic::{Response, Status};

use super::super::admission::Refusal;
use super::super::convert;
use super::super::node::{Node, SubmitError};
use super::lookup::{hash, missing, read};
use super::Answer;

pub(super) async fn send(node: &Arc<Node>, request: proto::SendBlockItemRequest) -> Answer<proto::TransactionHash> {
    let item = match request.block_item.ok_or_else(|| missing("a block item"))? {
        send::BlockItem::AccountTransaction(item) => read(item)?,
        send::BlockItem::RawBlockItem(bytes) => raw(&bytes).map_err(|refusal| Status::invalid_argument(refusal.to_string()))?,
        send::BlockItem::AccountTransactionV1(_) => return Err(unsupported("sponsored transactions")),
        send::BlockItem::CredentialDeployment(_) => return Err(unsupported("credential deployments")),
        send::BlockItem::UpdateInstruction(_) => return Err(unsupported("chain updates")),
    };
    match node.submit(item).await {
        Ok(hash) => Ok(Response::new(convert::transaction_hash(&hash))),
        Err(SubmitError::Refused(refusal @ Refusal::Duplicate)) => Err(Status::already_exists(refusal.to_string())),
        Err(SubmitError::Refused(refusal)) => Err(Status::invalid_argument(refusal.to_string())),
        Err(SubmitError::Failed(error)) => Err(Status::internal(error.to_string())),
    }
}

fn unsupported(what: &str) -> Status {
    Status::invalid_argument(Refusal::Unsupported(what.into()).to_string())
}

/// Reads a block item as it is serialised for a node: a version byte 0, the byte of its kind, the item. The version byte may
/// be missing; the two forms cannot be confused, for an item signed by no credential is none.
fn raw(bytes: &[u8]) -> Result<AccountTransaction<EncodedPayload>, Refusal> {
    let malformed = |why: &str| Refusal::Malformed(why.into());
    let mut item = match bytes {
        [0, 0, ..] => bytes.split_at(1).1,
        _ => bytes,
    };
    let read = from_bytes::<BlockItem<EncodedPayload>, _>(&mut item).map_err(|_| malformed("its bytes are no block item"))?;
    if !item.is_empty() {
        return Err(malformed("bytes follow it"));
    }
    match read {
        BlockItem::AccountTransaction(item) => Ok(item),
        _ => Err(Refusal::Unsupported("block items other than account transactions".into())),
    }
}

pub(super) fn status(node: &Node, request: proto::TransactionHash) -> Answer<proto::BlockItemStatus> {
    let hash = hash(&request.value)?;
    // Looked up first: a transaction leaves the queue at the moment in which it is in a block.
    let received = node.is_pending(&hash).then_some(status::Status::Received(proto::Empty {}));
    let outcome = node.history(|history| {
        let (block, place) = history.transaction(&hash)?;
        let (transaction, execution) = block.transactions.get(place)?;
        let outcome = proto::BlockItemSummaryInBlock {
            block_hash: Some(convert::block_hash(&block.hash)),
            outcome: Some(convert::summary(place, transaction, execution)),
        };
        Some(match history.is_finalized(block.height) {
            true => status::Status::Finalized(status::Finalized { outcome: Some(outcome) }),
            false => status::Status::Committed(status::Committed { outcomes: vec![outcome] }),
        })
    });
    let status = received.or(outcome).ok_or_else(|| Status::not_found("there is no such transaction"))?;
    Ok(Response::new(proto::BlockItemStatus { status: Some(status) }))
}

pub(super) fn sign_hash(request: proto::PreAccountTransaction) -> Answer<proto::AccountTransactionSignHash> {
    let payload = read::<_, EncodedPayload>(request.payload.ok_or_else(|| missing("a payload"))?)?;
    let header = request.header.ok_or_else(|| missing("a header"))?;
    let header = TransactionHeader {
        sender: read(header.sender.ok_or_else(|| missing("a sender"))?)?,
        nonce: header.sequence_number.ok_or_else(|| missing("a sequence number"))?.into(),
        energy_amount: header.energy_amount.ok_or_else(|| missing("an energy"))?.into(),
        payload_size: payload.size(),
        expiry: header.expiry.ok_or_else(|| missing("an expiry"))?.into(),
    };
    let hash = compute_transaction_sign_hash(&header, &payload);
    Ok(Response::new(proto::AccountTransactionSignHash { value: hash.as_ref().to_vec() }))
}
