use concordium_rust_sdk::v2::generated as proto;

use super::super::history::{Block, History};
use super::{block_hash, timestamp, PROTOCOL};

/// How long an epoch is said to be: one hour, in milliseconds. The local chain has none.
const EPOCH: u64 = 3_600_000;

/// What the node says about a block.
pub(in crate::devnet) fn block_info(block: &Block, history: &History) -> proto::BlockInfo {
    // On a chain that never branches, the last block finalized when this one was made is at most its parent.
    let last_finalized = match history.is_finalized(block.height) {
        true => block.parent,
        false => history.last_finalized().hash,
    };
    proto::BlockInfo {
        hash: Some(block_hash(&block.hash)),
        height: Some(proto::AbsoluteBlockHeight { value: block.height }),
        parent_block: Some(block_hash(&block.parent)),
        last_finalized_block: Some(block_hash(&last_finalized)),
        genesis_index: Some(proto::GenesisIndex { value: 0 }),
        era_block_height: Some(proto::BlockHeight { value: block.height }),
        receive_time: Some(timestamp(block.time)),
        arrive_time: Some(timestamp(block.time)),
        slot_number: None,
        slot_time: Some(timestamp(block.time)),
        baker: (block.height > 0).then_some(proto::BakerId { value: 0 }),
        finalized: history.is_finalized(block.height),
        transaction_count: u32::try_from(block.transactions.len()).unwrap_or(u32::MAX),
        transactions_energy_cost: Some(proto::Energy { value: block.energy() }),
        transactions_size: u32::try_from(block.size()).unwrap_or(u32::MAX),
        // The state has no hash of its own here; the block's covers all that leads to it.
        state_hash: Some(proto::StateHash { value: block.hash.to_vec() }),
        protocol_version: PROTOCOL.into(),
        round: Some(proto::Round { value: block.height }),
        epoch: Some(epoch(block, history)),
    }
}

fn epoch(block: &Block, history: &History) -> proto::Epoch {
    let genesis = history.at_height(0).map_or(0, |genesis| genesis.time);
    proto::Epoch { value: block.time.saturating_sub(genesis) / EPOCH }
}

/// What the node says about the chain.
pub(in crate::devnet) fn consensus_info(history: &History) -> proto::ConsensusInfo {
    let (best, finalized) = (history.best(), history.last_finalized());
    let genesis = history.at_height(0).unwrap_or(best);
    let blocks = u32::try_from(best.height).unwrap_or(u32::MAX);
    let latest = (best.height > 0).then(|| timestamp(best.time));
    proto::ConsensusInfo {
        best_block: Some(block_hash(&best.hash)),
        genesis_block: Some(block_hash(&genesis.hash)),
        genesis_time: Some(timestamp(genesis.time)),
        slot_duration: None,
        epoch_duration: Some(proto::Duration { value: EPOCH }),
        last_finalized_block: Some(block_hash(&finalized.hash)),
        best_block_height: Some(proto::AbsoluteBlockHeight { value: best.height }),
        last_finalized_block_height: Some(proto::AbsoluteBlockHeight { value: finalized.height }),
        blocks_received_count: blocks,
        block_last_received_time: latest,
        blocks_verified_count: blocks,
        block_last_arrived_time: latest,
        finalization_count: u32::try_from(finalized.height).unwrap_or(u32::MAX),
        last_finalized_time: (finalized.height > 0).then(|| timestamp(finalized.time)),
        protocol_version: PROTOCOL.into(),
        genesis_index: Some(proto::GenesisIndex { value: 0 }),
        current_era_genesis_block: Some(block_hash(&genesis.hash)),
        current_era_genesis_time: Some(timestamp(genesis.time)),
        current_timeout_duration: Some(proto::Duration { value: 10_000 }),
        current_round: Some(proto::Round { value: best.height + 1 }),
        current_epoch: Some(epoch(best, history)),
        trigger_block_time: Some(timestamp(genesis.time.saturating_add((epoch(best, history).value + 1) * EPOCH))),
        // The local chain measures no latencies.
        ..proto::ConsensusInfo::default()
    }
}
