use concordium_rust_sdk::v2::generated::{self as proto, blocks_at_height_request::BlocksAtHeight};
use tonic::Response;

use super::super::convert;
use super::super::node::Node;
use super::lookup::{at, block, missing};
use super::{stream, Answer, Streamed};

pub(super) fn info(node: &Node, request: proto::BlockHashInput) -> Answer<proto::BlockInfo> {
    let block = block(node, Some(request))?;
    at(&block, node.history(|history| convert::block_info(&block, history)))
}

pub(super) fn at_height(node: &Node, request: proto::BlocksAtHeightRequest) -> Answer<proto::BlocksAtHeightResponse> {
    let height = match request.blocks_at_height.ok_or_else(|| missing("a height"))? {
        BlocksAtHeight::Absolute(absolute) => Some(absolute.height.ok_or_else(|| missing("a height"))?.value),
        BlocksAtHeight::Relative(relative) => {
            let height = relative.height.ok_or_else(|| missing("a height"))?.value;
            (relative.genesis_index.unwrap_or_default().value == 0).then_some(height)
        }
    };
    let hash = node.history(|history| history.at_height(height?).map(|block| block.hash));
    let blocks = hash.iter().map(convert::block_hash).collect();
    Ok(Response::new(proto::BlocksAtHeightResponse { blocks }))
}

pub(super) fn ancestors(node: &Node, request: proto::AncestorsRequest) -> Answer<Streamed<proto::BlockHash>> {
    let block = block(node, request.block_hash)?;
    let first = (block.height + 1).saturating_sub(request.amount);
    let hashes: Vec<_> = node.history(|history| {
        let blocks = (first..=block.height).rev().filter_map(|height| history.at_height(height));
        blocks.map(|block| convert::block_hash(&block.hash)).collect()
    });
    at(&block, stream(hashes))
}

pub(super) fn items(node: &Node, request: proto::BlockHashInput) -> Answer<Streamed<proto::BlockItem>> {
    let block = block(node, Some(request))?;
    let item = |(transaction, _): &(std::sync::Arc<super::super::history::Transaction>, _)| proto::BlockItem {
        hash: Some(convert::transaction_hash(&transaction.hash)),
        block_item: Some(proto::block_item::BlockItem::AccountTransaction(convert::account_transaction(&transaction.item))),
    };
    let items: Vec<_> = block.transactions.iter().map(item).collect();
    at(&block, stream(items))
}

pub(super) fn transaction_events(node: &Node, request: proto::BlockHashInput) -> Answer<Streamed<proto::BlockItemSummary>> {
    let block = block(node, Some(request))?;
    let summaries = block.transactions.iter().enumerate();
    let summaries: Vec<_> =
        summaries.map(|(place, (transaction, execution))| convert::summary(place, transaction, execution)).collect();
    at(&block, stream(summaries))
}

/// For what there is none of here: rewards, updates of the chain's parameters, identity providers, tokens of the chain itself.
pub(super) fn nothing<T: Send + 'static>(node: &Node, request: proto::BlockHashInput) -> Answer<Streamed<T>> {
    at(&*block(node, Some(request))?, stream(Vec::new()))
}

/// The chain itself has no tokens, so there is none of this name.
pub(super) fn no_token(node: &Node, request: proto::TokenInfoRequest) -> Answer<proto::TokenInfo> {
    block(node, request.block_hash)?;
    Err(tonic::Status::not_found("there is no such token"))
}

/// The chain's parameters are never updated, so the next update of each kind would be the first.
pub(super) fn next_update_numbers(node: &Node, request: proto::BlockHashInput) -> Answer<proto::NextUpdateSequenceNumbers> {
    let first = Some(proto::SequenceNumber { value: 1 });
    let numbers = proto::NextUpdateSequenceNumbers {
        root_keys: first,
        level1_keys: first,
        level2_keys: first,
        protocol: first,
        election_difficulty: first,
        euro_per_energy: first,
        micro_ccd_per_euro: first,
        foundation_account: first,
        mint_distribution: first,
        transaction_fee_distribution: first,
        gas_rewards: first,
        pool_parameters: first,
        add_anonymity_revoker: first,
        add_identity_provider: first,
        cooldown_parameters: first,
        time_parameters: first,
        timeout_parameters: first,
        min_block_time: first,
        block_energy_limit: first,
        finalization_committee_parameters: first,
        validator_score_parameters: first,
        protocol_level_tokens: first,
    };
    at(&*block(node, Some(request))?, numbers)
}

pub(super) fn chain_parameters(node: &Node, request: proto::BlockHashInput) -> Answer<proto::ChainParameters> {
    let block = block(node, Some(request))?;
    let foundation = node.accounts.first().ok_or_else(|| tonic::Status::internal("the chain has no account"))?;
    at(&block, convert::chain_parameters(&node.genesis, (&foundation.address).into(), node.block_time()))
}

pub(super) fn cryptographic_parameters(node: &Node, request: proto::BlockHashInput) -> Answer<proto::CryptographicParameters> {
    at(&*block(node, Some(request))?, convert::cryptographic_parameters())
}
