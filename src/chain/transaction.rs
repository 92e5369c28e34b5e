use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use concordium_rust_sdk::base::common;
use concordium_rust_sdk::base::transactions::{BlockItem, EncodedPayload};
use concordium_rust_sdk::v2::generated::{
    self as api, account_transaction_effects::Effect, block_item_status::Status, block_item_summary::Details,
};
use tonic::Code;

use super::block::hash32;
use super::contract::{events, ContractEvent};
use super::node::Node;
use super::{AtBlock, Block, BlockHash, ChainClient, ChainError, ChainErrorKind, Rejection};
use crate::digest::{DigestError, Sha256Digest};
use crate::identity::{AccountAddress, ContractAddress};

/// The hash of a transaction: 32 bytes, written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionHash(pub [u8; 32]);

impl fmt::Display for TransactionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for TransactionHash {
    type Err = DigestError;

    /// Reads 64 hexadecimal digits in either case.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(|Sha256Digest(bytes)| Self(bytes))
    }
}

/// What became of a transaction that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// The node took it.
    Accepted(TransactionHash),
    /// The node knew it already: it was sent before, perhaps by the attempt whose answer was lost.
    AlreadyKnown,
    /// The node looked at it and turned it away: a used nonce, a wrong signature, a balance too low, an expiry passed. With its
    /// words. Nothing of it is on the chain, unless an earlier attempt was taken.
    Refused(String),
}

/// How far a transaction has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionStatus {
    /// The node does not know it.
    Unknown,
    /// The node knows it, and it is in no block yet.
    Received,
    /// It is in one or several blocks that are not finalized.
    Committed(Vec<TransactionOutcome>),
    /// It is in a finalized block, for good.
    Finalized(TransactionOutcome),
}

/// What a transaction did in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionOutcome {
    /// The block.
    pub block: BlockHash,
    /// The energy used (NRG), everything included.
    pub energy: Option<u64>,
    /// What it cost the sender, in microCCD.
    pub microccd: Option<u64>,
    /// Who sent it, if an account did.
    pub sender: Option<AccountAddress>,
    /// What came of it.
    pub effect: TransactionEffect,
}

/// What came of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionEffect {
    /// A call of a contract went through.
    Updated {
        /// The events logged by it and by the contracts it called, in order.
        events: Vec<ContractEvent>,
    },
    /// A contract was made.
    Initialized {
        /// Its address, when the node says so.
        contract: Option<ContractAddress>,
    },
    /// It was rejected. The energy is paid all the same.
    Rejected(Rejection),
    /// Something that this program neither sends nor knows.
    Other,
}

impl ChainClient {
    /// Sends a signed transaction: a block item as the chain serialises it, with or without the leading version byte 0.
    ///
    /// Repeating it is harmless, since a transaction is on the chain once or not at all.
    ///
    /// # Errors
    /// [`ChainErrorKind::Configuration`] when the bytes are no block item, and whatever keeps a node from answering: then it
    /// may have been taken all the same.
    pub async fn send(&self, block_item: &[u8]) -> Result<Sent, ChainError> {
        let item = parse(block_item)
            .ok_or_else(|| ChainError::new(ChainErrorKind::Configuration, "these bytes are not a signed transaction"))?;
        let item = &item;
        let send = |node: Arc<Node>| async move {
            node.ensure_network().await?;
            node.send(item).await
        };
        self.nodes.first(send).await
    }

    /// How far the transaction has come, and the newest finalized block before that was asked, by one and the same node: only then
    /// does not knowing it say anything about blocks up to that one.
    ///
    /// # Errors
    /// Whatever keeps a node from answering, and [`NodeBehind`](super::ChainErrorKind::NodeBehind) when the newest block of all is too
    /// old.
    pub async fn transaction_status_at(&self, transaction: TransactionHash) -> Result<(Block, TransactionStatus), ChainError> {
        let status = |node: Arc<Node>| async move {
            node.ensure_network().await?;
            // First the block, then the status: what is not on the chain after the block of this time never will be.
            let block = node.pin(AtBlock::LastFinalized).await?;
            self.check_age(&block).map_err(|why| node.error(ChainErrorKind::NodeBehind, format_args!("{why}")))?;
            Ok((block, node.transaction_status(transaction).await?))
        };
        self.nodes.first(status).await
    }

    /// How far the transaction has come, by the first node that answers.
    ///
    /// # Errors
    /// Whatever keeps a node from answering. [`TransactionStatus::Unknown`] is an answer.
    pub async fn transaction_status(&self, transaction: TransactionHash) -> Result<TransactionStatus, ChainError> {
        let status = |node: Arc<Node>| async move {
            node.ensure_network().await?;
            node.transaction_status(transaction).await
        };
        self.nodes.first(status).await
    }
}

/// A block item begins with its kind, 0 to 3, and version 0 before it is written as a byte 0. A transaction (kind 0) without
/// the version never parses with it: the next byte would be the number of signing credentials, which is not 0.
fn parse(bytes: &[u8]) -> Option<BlockItem<EncodedPayload>> {
    let whole = |bytes: &[u8]| {
        let mut rest = std::io::Cursor::new(bytes);
        let item = common::from_bytes::<BlockItem<EncodedPayload>, _>(&mut rest).ok()?;
        (rest.position() == bytes.len() as u64).then_some(item)
    };
    let versioned = bytes.strip_prefix(&[0]).and_then(whole);
    versioned.or_else(|| whole(bytes))
}

impl Node {
    async fn send(&self, item: &BlockItem<EncodedPayload>) -> Result<Sent, ChainError> {
        match self.call("SendBlockItem", item, |mut node, request| async move { node.send_block_item(request).await }).await {
            Ok(hash) => {
                let hash = hash32(&hash.value).ok_or_else(|| self.lacks("SendBlockItem", "the transaction's hash"))?;
                Ok(Sent::Accepted(TransactionHash(hash)))
            }
            Err(failure) if failure.code == Code::AlreadyExists => Ok(Sent::AlreadyKnown),
            Err(failure) if failure.code == Code::InvalidArgument => Ok(Sent::Refused(failure.error.message)),
            Err(failure) => Err(failure.error),
        }
    }

    async fn transaction_status(&self, transaction: TransactionHash) -> Result<TransactionStatus, ChainError> {
        let method = "GetBlockItemStatus";
        let request = api::TransactionHash { value: transaction.0.to_vec() };
        let answer =
            self.call(method, request, |mut node, request| async move { node.get_block_item_status(request).await }).await;
        let status = match answer {
            Err(failure) if failure.code == Code::NotFound => return Ok(TransactionStatus::Unknown),
            answer => answer?.status,
        };
        let lacks = |what| self.lacks(method, what);
        match status.ok_or_else(|| lacks("a status it knows"))? {
            Status::Received(_) => Ok(TransactionStatus::Received),
            Status::Committed(committed) => {
                let outcomes =
                    committed.outcomes.into_iter().map(|in_block| outcome(in_block).ok_or_else(|| lacks("an outcome")));
                Ok(TransactionStatus::Committed(outcomes.collect::<Result<_, _>>()?))
            }
            Status::Finalized(finalized) => {
                let outcome = finalized.outcome.and_then(outcome).ok_or_else(|| lacks("an outcome"))?;
                Ok(TransactionStatus::Finalized(outcome))
            }
        }
    }
}

/// `None` when the block is missing. What else is missing or newer than this program is left out: the transaction is on the
/// chain, and not understanding the details must not hide it.
fn outcome(in_block: api::BlockItemSummaryInBlock) -> Option<TransactionOutcome> {
    let block = BlockHash(hash32(&in_block.block_hash?.value)?);
    let summary = in_block.outcome.unwrap_or_default();
    let energy = summary.energy_cost.map(|energy| energy.value);
    let Some(Details::AccountTransaction(details)) = summary.details else {
        return Some(TransactionOutcome { block, energy, microccd: None, sender: None, effect: TransactionEffect::Other });
    };
    let effect = match details.effects.and_then(|effects| effects.effect) {
        Some(Effect::ContractUpdateIssued(issued)) => TransactionEffect::Updated { events: events(issued.effects) },
        Some(Effect::ContractInitialized(made)) => TransactionEffect::Initialized {
            contract: made.address.map(|address| ContractAddress::new(address.index, address.subindex)),
        },
        Some(Effect::None(rejected)) => TransactionEffect::Rejected(Rejection::from_api(rejected.reject_reason)),
        _ => TransactionEffect::Other,
    };
    let sender = details.sender.and_then(|sender| hash32(&sender.value)).map(AccountAddress);
    Some(TransactionOutcome { block, energy, microccd: details.cost.map(|cost| cost.value), sender, effect })
}
