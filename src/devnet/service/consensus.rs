use std::sync::Arc;

use concordium_rust_sdk::v2::generated as proto;
use futures_util::{Stream, StreamExt};
use tokio::sync::broadcast::Receiver;
use tokio_stream::wrappers::BroadcastStream;
use tonic::Response;

use super::super::history::Block;
use super::super::node::Node;
use super::super::{admission, convert};
use super::{Answer, Streamed};

pub(super) fn consensus_info(node: &Node) -> Answer<proto::ConsensusInfo> {
    Ok(Response::new(node.history(convert::consensus_info)))
}

/// The newest finalized block, with the one branch that grows on it.
pub(super) fn branches(node: &Node) -> Answer<proto::Branch> {
    let branch = |block: &Block, children| proto::Branch { block_hash: Some(convert::block_hash(&block.hash)), children };
    Ok(Response::new(node.history(|history| {
        let (finalized, best) = (history.last_finalized(), history.best());
        let above = (finalized.height + 1..=best.height).rev().filter_map(|height| history.at_height(height));
        let children = above.fold(Vec::new(), |children, block| vec![branch(block, children)]);
        branch(finalized, children)
    })))
}

pub(super) fn node_info(node: &Node) -> Answer<proto::NodeInfo> {
    use proto::node_info::{node::ConsensusStatus, Details, NetworkInfo, Node as NodeDetails};
    let uptime = u64::try_from(node.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Response::new(proto::NodeInfo {
        // The JavaScript SDK and others read a version out of this.
        peer_version: "9.0.0".into(),
        local_time: Some(convert::timestamp(admission::now())),
        peer_uptime: Some(proto::Duration { value: uptime }),
        network_info: Some(NetworkInfo {
            node_id: Some(proto::PeerId { value: "cardproof-devnet".into() }),
            peer_total_sent: 0,
            peer_total_received: 0,
            avg_bps_in: 0,
            avg_bps_out: 0,
        }),
        details: Some(Details::Node(NodeDetails { consensus_status: Some(ConsensusStatus::Passive(proto::Empty {})) })),
    }))
}

pub(super) fn arrived_blocks(node: &Node) -> Answer<Streamed<proto::ArrivedBlockInfo>> {
    let blocks = listen(node, node.arrivals()).map(|block| {
        Ok(proto::ArrivedBlockInfo {
            hash: Some(convert::block_hash(&block.hash)),
            height: Some(proto::AbsoluteBlockHeight { value: block.height }),
        })
    });
    Ok(Response::new(Box::pin(blocks)))
}

pub(super) fn finalized_blocks(node: &Node) -> Answer<Streamed<proto::FinalizedBlockInfo>> {
    let blocks = listen(node, node.finalizations()).map(|block| {
        Ok(proto::FinalizedBlockInfo {
            hash: Some(convert::block_hash(&block.hash)),
            height: Some(proto::AbsoluteBlockHeight { value: block.height }),
        })
    });
    Ok(Response::new(Box::pin(blocks)))
}

/// Blocks from now on. Who listens too slowly misses some, as with a node; heights always go up.
fn listen(node: &Node, receiver: Receiver<Arc<Block>>) -> impl Stream<Item = Arc<Block>> + use<> {
    let blocks = BroadcastStream::new(receiver).filter_map(|block| std::future::ready(block.ok()));
    blocks.take_until(Box::pin(node.closing()))
}
