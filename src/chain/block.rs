use concordium_rust_sdk::v2::generated::{self as api, block_hash_input::BlockHashInput as Input};
use tonic::Code;

use super::node::Node;
use super::{AtBlock, Block, BlockHash, ChainError, ChainErrorKind};
use crate::registry::Timestamp;

/// What a node says about the chain as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Consensus {
    /// The height of the newest block it has finalized.
    pub(crate) finalized_height: u64,
    /// The protocol version, 1 for the first. May be one that this program has never heard of.
    pub(crate) protocol_version: i64,
}

/// A block with what ties it to the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// The block itself.
    pub(crate) block: Block,
    /// The hash of the block before it, if the node says.
    pub(crate) parent: Option<BlockHash>,
    /// How many transactions it holds.
    pub(crate) transactions: u32,
}

impl Node {
    /// The consensus status. The genesis hash is compared on the way: a node of another network says nothing more.
    pub(crate) async fn consensus(&self) -> Result<Consensus, ChainError> {
        let status = self
            .call("GetConsensusInfo", api::Empty {}, |mut node, request| async move { node.get_consensus_info(request).await })
            .await?;
        self.check_genesis(status.genesis_block.map(|hash| hash.value))?;
        let height = status.last_finalized_block_height;
        Ok(Consensus {
            finalized_height: height
                .ok_or_else(|| self.lacks("GetConsensusInfo", "the height of its last finalized block"))?
                .value,
            // The wire counts from 0, and a version newer than this program is a number like any other.
            protocol_version: i64::from(status.protocol_version) + 1,
        })
    }

    /// A finalized block, with the network checked by the same round of calls.
    pub(crate) async fn pin(&self, at: AtBlock) -> Result<Block, ChainError> {
        let (consensus, block) = tokio::join!(self.consensus(), self.finalized_block(at));
        let newest = consensus?.finalized_height;
        match at {
            AtBlock::Height(height) if height > newest => {
                let what = format_args!("has finalized blocks up to height {newest}: there is none at height {height} yet");
                Err(self.error(ChainErrorKind::BlockNotFound, what))
            }
            _ => block,
        }
    }

    /// A finalized block of a node whose network is known, or is being checked.
    pub(crate) async fn finalized_block(&self, at: AtBlock) -> Result<Block, ChainError> {
        self.link(at).await.map(|link| link.block)
    }

    /// A finalized block with what ties it to the chain.
    pub(crate) async fn link(&self, at: AtBlock) -> Result<Link, ChainError> {
        let input = match at {
            AtBlock::LastFinalized => Input::LastFinal(api::Empty {}),
            AtBlock::Hash(hash) => Input::Given(hash.into()),
            AtBlock::Height(height) => Input::AbsoluteHeight(api::AbsoluteBlockHeight { value: height }),
        };
        let request = api::BlockHashInput { block_hash_input: Some(input) };
        let answer =
            self.answer("GetBlockInfo", request, |mut node, request| async move { node.get_block_info(request).await }).await;
        let answer = match (answer, at) {
            (Ok(answer), _) => answer,
            (Err(failure), AtBlock::Hash(hash)) if failure.code == Code::NotFound => {
                return Err(self.error(ChainErrorKind::BlockNotFound, format_args!("knows no block {hash}")));
            }
            (Err(failure), AtBlock::Height(height)) if failure.code == Code::NotFound => {
                return Err(self.error(ChainErrorKind::BlockNotFound, format_args!("knows no single block at height {height}")));
            }
            (Err(failure), _) => return Err(failure.error),
        };
        let (metadata, info, _) = answer.into_parts();
        let lacks = |what| self.lacks("GetBlockInfo", what);
        let hash = info.hash.and_then(|hash| hash32(&hash.value)).ok_or_else(|| lacks("the block's hash"))?;
        let block = Block {
            hash: BlockHash(hash),
            height: info.height.ok_or_else(|| lacks("the block's height"))?.value,
            time: Timestamp(info.slot_time.ok_or_else(|| lacks("the block's time"))?.value),
        };
        self.check_block("GetBlockInfo", block.hash, &metadata)?;
        let as_asked = match at {
            AtBlock::LastFinalized => true,
            AtBlock::Hash(hash) => hash == block.hash,
            AtBlock::Height(height) => height == block.height,
        };
        if !as_asked {
            return Err(self.error(ChainErrorKind::NodeError, "answered GetBlockInfo with another block than the one asked for"));
        }
        if !info.finalized {
            return Err(self.error(ChainErrorKind::BlockNotFound, format_args!("has not finalized block {} yet", block.hash)));
        }
        let parent = info.parent_block.and_then(|hash| hash32(&hash.value)).map(BlockHash);
        Ok(Link { block, parent, transactions: info.transaction_count })
    }
}

impl From<BlockHash> for api::BlockHash {
    fn from(hash: BlockHash) -> Self {
        Self { value: hash.0.to_vec() }
    }
}

impl From<BlockHash> for api::BlockHashInput {
    fn from(hash: BlockHash) -> Self {
        Self { block_hash_input: Some(Input::Given(hash.into())) }
    }
}

/// 32 bytes of a node's answer.
pub(super) fn hash32(bytes: &[u8]) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}
