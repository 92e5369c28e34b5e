use std::sync::Arc;

use concordium_rust_sdk::v2::generated::{self as proto, block_hash_input::BlockHashInput as Input};
use tonic::metadata::MetadataValue;
use tonic::{Response, Status};

use super::super::history::{Block, Hash};
use super::super::node::Node;
use super::Answer;

/// The block that a request names.
pub(super) fn block(node: &Node, input: Option<proto::BlockHashInput>) -> Result<Arc<Block>, Status> {
    let input = input.and_then(|input| input.block_hash_input).ok_or_else(|| missing("which block is meant"))?;
    let found = match input {
        Input::Best(_) => Some(node.best()),
        Input::LastFinal(_) => Some(node.history(|history| history.last_finalized().clone())),
        Input::Given(given) => {
            let hash = hash(&given.value)?;
            node.history(|history| history.by_hash(&hash).cloned())
        }
        Input::AbsoluteHeight(height) => node.history(|history| history.at_height(height.value).cloned()),
        // There is one genesis, so heights in its era are absolute ones.
        Input::RelativeHeight(relative) => {
            let (Some(index), Some(height)) = (relative.genesis_index, relative.height) else {
                return Err(missing("a genesis index and a height"));
            };
            let height = (index.value == 0).then_some(height.value);
            node.history(|history| history.at_height(height?).cloned())
        }
    };
    found.ok_or_else(|| Status::not_found("there is no such block"))
}

/// A part of a request as the SDK's type. What cannot be read is the request's fault.
pub(super) fn read<A, B: TryFrom<A, Error = Status>>(part: A) -> Result<B, Status> {
    B::try_from(part).map_err(|status| Status::invalid_argument(format!("the request cannot be read: {}", status.message())))
}

/// 32 bytes that name something.
pub(super) fn hash(bytes: &[u8]) -> Result<Hash, Status> {
    bytes.try_into().map_err(|_| Status::invalid_argument("a hash has 32 bytes"))
}

/// An answer that belongs to a block.
pub(super) fn at<T>(block: &Block, message: T) -> Answer<T> {
    let mut response = Response::new(message);
    let hash = MetadataValue::try_from(hex::encode(block.hash));
    let hash = hash.map_err(|_| Status::internal("a block hash is not a header value"))?;
    response.metadata_mut().insert("blockhash", hash);
    Ok(response)
}

/// The request lacks something.
pub(super) fn missing(what: &str) -> Status {
    Status::invalid_argument(format!("the request does not say {what}"))
}
