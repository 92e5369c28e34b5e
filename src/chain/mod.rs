//! A node: transport, a snapshot at one finalized block, reading the registry, several nodes together.
//!
//! Built on the SDK's gRPC types, none of which appears in a public signature: their semver is not ours.

mod reading;

pub use reading::{AtBlock, Block, BlockHash, ChainError, ChainErrorKind, DecodedWith, ModuleRef, Reading};

use std::future::Future;

use crate::identity::TokenId;

/// The seam between a verdict and a node: something that reads agents from a chain at one finalized block.
pub trait AgentReader: Send + Sync {
    /// Chooses the finalized block that all reads of a verdict share.
    ///
    /// # Errors
    /// [`ChainError`] when no node can say.
    fn pin(&self, at: AtBlock) -> impl Future<Output = Result<Block, ChainError>> + Send;

    /// Reads one agent at `block`.
    ///
    /// # Errors
    /// [`ChainError`] when no node answers, or none answers with something that can be read.
    fn read(&self, block: &Block, agent: TokenId) -> impl Future<Output = Result<Reading, ChainError>> + Send;
}
