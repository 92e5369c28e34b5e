use std::collections::HashMap;
use std::sync::Arc;

use concordium_rust_sdk::base::common::to_bytes;
use concordium_rust_sdk::base::contracts_common::AccountAddress;
use concordium_rust_sdk::base::transactions::{AccountTransaction, EncodedPayload};
use prost::Message;
use sha2::{Digest, Sha256};

use super::convert;
use super::engine::{Execution, Order, World};

/// The 32 bytes that name a block or a transaction.
pub(super) type Hash = [u8; 32];

/// A transaction that was admitted.
#[derive(Debug)]
pub(super) struct Transaction {
    /// The hash that names it.
    pub(super) hash: Hash,
    /// As it was signed.
    pub(super) item: AccountTransaction<EncodedPayload>,
}

impl Transaction {
    /// The transaction of this block item, which is a normal account transaction.
    pub(super) fn new(item: AccountTransaction<EncodedPayload>) -> Self {
        let mut transaction = Self { hash: [0; 32], item };
        transaction.hash = Sha256::digest(transaction.bytes()).into();
        transaction
    }

    /// The account that pays.
    pub(super) fn sender(&self) -> AccountAddress {
        self.item.header.sender
    }

    /// Its sequence number.
    pub(super) fn nonce(&self) -> u64 {
        self.item.header.nonce.nonce
    }

    /// Its place in an account's queue and what it orders.
    pub(super) fn order(&self) -> Order {
        Order {
            sender: self.item.header.sender,
            energy: self.item.header.energy_amount,
            signatures: self.item.signature.num_signatures(),
            payload: self.item.payload.clone(),
        }
    }

    /// The bytes that a node stores: version byte 0, signatures, header, payload.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend(to_bytes(&self.item));
        bytes
    }
}

/// A block, and the state of the chain at its end.
#[derive(Debug)]
pub(super) struct Block {
    /// Its height; the genesis block's is 0.
    pub(super) height: u64,
    /// The hash that names it.
    pub(super) hash: Hash,
    /// The hash of the block before it; its own for the genesis block.
    pub(super) parent: Hash,
    /// Its slot time, in milliseconds since 1970.
    pub(super) time: u64,
    /// Its transactions with their outcomes, in order.
    pub(super) transactions: Vec<(Arc<Transaction>, Execution)>,
    /// The state at its end.
    pub(super) world: Arc<World>,
}

impl Block {
    /// The hash of a block with these contents. It covers the outcomes, so that a chain that is replayed by another version of
    /// the engine and comes to other results is noticed.
    pub(super) fn hash_of(parent: &Hash, height: u64, time: u64, transactions: &[(Arc<Transaction>, Execution)]) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(b"cardproof devnet block\0");
        hasher.update(parent);
        hasher.update(height.to_be_bytes());
        hasher.update(time.to_be_bytes());
        for (place, (transaction, execution)) in transactions.iter().enumerate() {
            hasher.update(Sha256::digest(convert::summary(place, transaction, execution).encode_to_vec()));
        }
        hasher.finalize().into()
    }

    /// Energy used by all its transactions.
    pub(super) fn energy(&self) -> u64 {
        self.transactions.iter().map(|(_, execution)| execution.energy.energy).sum()
    }

    /// Size of all its transactions in bytes.
    pub(super) fn size(&self) -> usize {
        self.transactions.iter().map(|(transaction, _)| transaction.bytes().len()).sum()
    }
}

/// All blocks, in order. The chain never branches.
pub(super) struct History {
    blocks: Vec<Arc<Block>>,
    heights: HashMap<Hash, u64>,
    /// Height of the block, and place in it.
    transactions: HashMap<Hash, (u64, usize)>,
    best: Arc<Block>,
    finalized: Arc<Block>,
}

impl History {
    /// A chain of the genesis block alone, which is finalized.
    pub(super) fn new(genesis: Block) -> Self {
        let heights = HashMap::from([(genesis.hash, 0)]);
        let genesis = Arc::new(genesis);
        let (best, finalized) = (genesis.clone(), genesis.clone());
        Self { blocks: vec![genesis], heights, transactions: HashMap::new(), best, finalized }
    }

    /// Adds the next block.
    pub(super) fn push(&mut self, block: Arc<Block>) {
        self.heights.insert(block.hash, block.height);
        for (place, (transaction, _)) in block.transactions.iter().enumerate() {
            self.transactions.insert(transaction.hash, (block.height, place));
        }
        self.blocks.push(block.clone());
        self.best = block;
    }

    /// Finalizes all blocks up to this height, and says which ones are new.
    pub(super) fn finalize(&mut self, height: u64) -> Vec<Arc<Block>> {
        let first = self.finalized.height + 1;
        let newly: Vec<_> = (first..=height.min(self.best.height)).filter_map(|at| self.at_height(at).cloned()).collect();
        if let Some(last) = newly.last() {
            self.finalized = last.clone();
        }
        newly
    }

    /// The newest block.
    pub(super) fn best(&self) -> &Arc<Block> {
        &self.best
    }

    /// The newest finalized block.
    pub(super) fn last_finalized(&self) -> &Arc<Block> {
        &self.finalized
    }

    /// The block at this height.
    pub(super) fn at_height(&self, height: u64) -> Option<&Arc<Block>> {
        self.blocks.get(usize::try_from(height).ok()?)
    }

    /// The block with this hash.
    pub(super) fn by_hash(&self, hash: &Hash) -> Option<&Arc<Block>> {
        self.at_height(*self.heights.get(hash)?)
    }

    /// The block a transaction is in, and its place there.
    pub(super) fn transaction(&self, hash: &Hash) -> Option<(&Arc<Block>, usize)> {
        let (height, place) = *self.transactions.get(hash)?;
        Some((self.at_height(height)?, place))
    }

    /// Whether the block at this height is finalized.
    pub(super) fn is_finalized(&self, height: u64) -> bool {
        height <= self.finalized.height
    }
}
