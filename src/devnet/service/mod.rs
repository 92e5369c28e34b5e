//! The calls of the node's gRPC API v2, by topic. The table of calls is in `build.rs`; a call that is not there is answered
//! UNIMPLEMENTED.
//!
//! Answers that belong to a block carry its hash in the header `blockhash`, as the SDKs require.

#![allow(clippy::result_large_err, reason = "a call is answered with tonic's Status, whose size is tonic's choice")]

mod accounts;
mod blocks;
mod consensus;
mod contracts;
mod dry_run;
mod lookup;
mod transactions;

use std::pin::Pin;
use std::sync::Arc;

use concordium_rust_sdk::v2::generated as proto;
use futures_util::Stream;
use tonic::{Request, Response, Status};

use super::node::Node;

/// Made by `build.rs` from the table of calls.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/concordium.v2.Queries.rs"));
    include!(concat!(env!("OUT_DIR"), "/concordium.health.Health.rs"));
}

use generated::health_server::{Health, HealthServer};
use generated::queries_server::{Queries, QueriesServer};

type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;
type Answer<T> = Result<Response<T>, Status>;

/// The largest request that is read: a module with its transaction around it, and room to refuse what is larger by its size.
const MAX_REQUEST: usize = 2 << 20;

/// The service of a node, ready to be served.
pub(super) fn service(node: Arc<Node>) -> QueriesServer<Service> {
    QueriesServer::new(Service { node }).max_decoding_message_size(MAX_REQUEST).max_encoding_message_size(usize::MAX)
}

/// The health check of a node: whoever answers it is healthy.
pub(super) fn health() -> HealthServer<impl Health> {
    HealthServer::new(Healthy)
}

struct Healthy;

#[tonic::async_trait]
impl Health for Healthy {
    async fn check(&self, _: Request<proto::Empty>) -> Answer<proto::Empty> {
        Ok(Response::new(proto::Empty {}))
    }
}

/// Answers calls from a node's state.
pub(super) struct Service {
    node: Arc<Node>,
}

/// All of `items` as a stream that ends.
fn stream<T: Send + 'static>(items: impl IntoIterator<Item = T, IntoIter: Send + 'static>) -> Streamed<T> {
    Box::pin(tokio_stream::iter(items.into_iter().map(Ok)))
}

#[tonic::async_trait]
impl Queries for Service {
    type GetBlocksStream = Streamed<proto::ArrivedBlockInfo>;
    type GetFinalizedBlocksStream = Streamed<proto::FinalizedBlockInfo>;
    type GetAncestorsStream = Streamed<proto::BlockHash>;
    type GetBlockItemsStream = Streamed<proto::BlockItem>;
    type GetBlockTransactionEventsStream = Streamed<proto::BlockItemSummary>;
    type GetBlockSpecialEventsStream = Streamed<proto::BlockSpecialEvent>;
    type GetBlockPendingUpdatesStream = Streamed<proto::PendingUpdate>;
    type GetAccountListStream = Streamed<proto::AccountAddress>;
    type GetAccountNonFinalizedTransactionsStream = Streamed<proto::TransactionHash>;
    type GetModuleListStream = Streamed<proto::ModuleRef>;
    type GetInstanceListStream = Streamed<proto::ContractAddress>;
    type GetInstanceStateStream = Streamed<proto::InstanceStateKvPair>;
    type DryRunStream = Streamed<proto::DryRunResponse>;
    type GetIdentityProvidersStream = Streamed<proto::IpInfo>;
    type GetAnonymityRevokersStream = Streamed<proto::ArInfo>;
    type GetTokenListStream = Streamed<proto::plt::TokenId>;

    async fn get_consensus_info(&self, _: Request<proto::Empty>) -> Answer<proto::ConsensusInfo> {
        consensus::consensus_info(&self.node)
    }

    async fn get_node_info(&self, _: Request<proto::Empty>) -> Answer<proto::NodeInfo> {
        consensus::node_info(&self.node)
    }

    async fn get_peers_info(&self, _: Request<proto::Empty>) -> Answer<proto::PeersInfo> {
        Ok(Response::new(proto::PeersInfo { peers: Vec::new() }))
    }

    async fn get_blocks(&self, _: Request<proto::Empty>) -> Answer<Self::GetBlocksStream> {
        consensus::arrived_blocks(&self.node)
    }

    async fn get_finalized_blocks(&self, _: Request<proto::Empty>) -> Answer<Self::GetFinalizedBlocksStream> {
        consensus::finalized_blocks(&self.node)
    }

    async fn get_block_info(&self, request: Request<proto::BlockHashInput>) -> Answer<proto::BlockInfo> {
        blocks::info(&self.node, request.into_inner())
    }

    async fn get_blocks_at_height(
        &self,
        request: Request<proto::BlocksAtHeightRequest>,
    ) -> Answer<proto::BlocksAtHeightResponse> {
        blocks::at_height(&self.node, request.into_inner())
    }

    async fn get_ancestors(&self, request: Request<proto::AncestorsRequest>) -> Answer<Self::GetAncestorsStream> {
        blocks::ancestors(&self.node, request.into_inner())
    }

    async fn get_block_items(&self, request: Request<proto::BlockHashInput>) -> Answer<Self::GetBlockItemsStream> {
        blocks::items(&self.node, request.into_inner())
    }

    async fn get_block_transaction_events(
        &self,
        request: Request<proto::BlockHashInput>,
    ) -> Answer<Self::GetBlockTransactionEventsStream> {
        blocks::transaction_events(&self.node, request.into_inner())
    }

    async fn get_block_special_events(
        &self,
        request: Request<proto::BlockHashInput>,
    ) -> Answer<Self::GetBlockSpecialEventsStream> {
        blocks::nothing(&self.node, request.into_inner())
    }

    async fn get_block_pending_updates(
        &self,
        request: Request<proto::BlockHashInput>,
    ) -> Answer<Self::GetBlockPendingUpdatesStream> {
        blocks::nothing(&self.node, request.into_inner())
    }

    async fn get_block_chain_parameters(&self, request: Request<proto::BlockHashInput>) -> Answer<proto::ChainParameters> {
        blocks::chain_parameters(&self.node, request.into_inner())
    }

    async fn get_cryptographic_parameters(
        &self,
        request: Request<proto::BlockHashInput>,
    ) -> Answer<proto::CryptographicParameters> {
        blocks::cryptographic_parameters(&self.node, request.into_inner())
    }

    async fn get_account_list(&self, request: Request<proto::BlockHashInput>) -> Answer<Self::GetAccountListStream> {
        accounts::list(&self.node, request.into_inner())
    }

    async fn get_account_info(&self, request: Request<proto::AccountInfoRequest>) -> Answer<proto::AccountInfo> {
        accounts::info(&self.node, request.into_inner())
    }

    async fn get_next_account_sequence_number(
        &self,
        request: Request<proto::AccountAddress>,
    ) -> Answer<proto::NextAccountSequenceNumber> {
        accounts::next_sequence_number(&self.node, request.into_inner())
    }

    async fn get_account_non_finalized_transactions(
        &self,
        request: Request<proto::AccountAddress>,
    ) -> Answer<Self::GetAccountNonFinalizedTransactionsStream> {
        accounts::unfinalized(&self.node, request.into_inner())
    }

    async fn get_module_list(&self, request: Request<proto::BlockHashInput>) -> Answer<Self::GetModuleListStream> {
        contracts::modules(&self.node, request.into_inner())
    }

    async fn get_module_source(&self, request: Request<proto::ModuleSourceRequest>) -> Answer<proto::VersionedModuleSource> {
        contracts::module_source(&self.node, request.into_inner())
    }

    async fn get_instance_list(&self, request: Request<proto::BlockHashInput>) -> Answer<Self::GetInstanceListStream> {
        contracts::instances(&self.node, request.into_inner())
    }

    async fn get_instance_info(&self, request: Request<proto::InstanceInfoRequest>) -> Answer<proto::InstanceInfo> {
        contracts::info(&self.node, request.into_inner())
    }

    async fn get_instance_state(&self, request: Request<proto::InstanceInfoRequest>) -> Answer<Self::GetInstanceStateStream> {
        contracts::state(&self.node, request.into_inner())
    }

    async fn instance_state_lookup(
        &self,
        request: Request<proto::InstanceStateLookupRequest>,
    ) -> Answer<proto::InstanceStateValueAtKey> {
        contracts::state_lookup(&self.node, request.into_inner())
    }

    async fn invoke_instance(&self, request: Request<proto::InvokeInstanceRequest>) -> Answer<proto::InvokeInstanceResponse> {
        contracts::invoke_instance(&self.node, request.into_inner())
    }

    async fn dry_run(&self, request: Request<tonic::Streaming<proto::DryRunRequest>>) -> Answer<Self::DryRunStream> {
        dry_run::session(self.node.clone(), request.into_inner())
    }

    async fn send_block_item(&self, request: Request<proto::SendBlockItemRequest>) -> Answer<proto::TransactionHash> {
        transactions::send(&self.node, request.into_inner()).await
    }

    async fn get_block_item_status(&self, request: Request<proto::TransactionHash>) -> Answer<proto::BlockItemStatus> {
        transactions::status(&self.node, request.into_inner())
    }

    async fn get_account_transaction_sign_hash(
        &self,
        request: Request<proto::PreAccountTransaction>,
    ) -> Answer<proto::AccountTransactionSignHash> {
        transactions::sign_hash(request.into_inner())
    }

    async fn get_branches(&self, _: Request<proto::Empty>) -> Answer<proto::Branch> {
        consensus::branches(&self.node)
    }

    async fn get_next_update_sequence_numbers(
        &self,
        request: Request<proto::BlockHashInput>,
    ) -> Answer<proto::NextUpdateSequenceNumbers> {
        blocks::next_update_numbers(&self.node, request.into_inner())
    }

    async fn get_identity_providers(&self, request: Request<proto::BlockHashInput>) -> Answer<Self::GetIdentityProvidersStream> {
        blocks::nothing(&self.node, request.into_inner())
    }

    async fn get_anonymity_revokers(&self, request: Request<proto::BlockHashInput>) -> Answer<Self::GetAnonymityRevokersStream> {
        blocks::nothing(&self.node, request.into_inner())
    }

    async fn get_token_list(&self, request: Request<proto::BlockHashInput>) -> Answer<Self::GetTokenListStream> {
        blocks::nothing(&self.node, request.into_inner())
    }

    async fn get_token_info(&self, request: Request<proto::TokenInfoRequest>) -> Answer<proto::TokenInfo> {
        blocks::no_token(&self.node, request.into_inner())
    }
}
