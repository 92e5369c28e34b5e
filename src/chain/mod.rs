//! A node: transport, a snapshot at one finalized block, reading the registry, several nodes together.
//!
//! Built on the SDK's gRPC types, none of which appears in a public signature: their semver is not ours. The generated
//! messages are used rather than the SDK's conversions, which refuse values newer than the SDK.

mod account;
mod block;
mod cache;
mod changes;
mod client;
mod connector;
mod contract;
mod diagnose;
mod foreign;
mod module;
mod node;
mod reach;
mod reading;
mod reject;
mod settings;
mod several;
mod target;
mod transaction;

pub use account::{Account, Credential, EnergyPrice, NextNonce};
pub use changes::RegistryChanges;
pub use client::ChainClient;
pub use contract::{ContractEvent, Instance, Invocation, Invoked};
pub use diagnose::{diagnose, Diagnosis, Finding, Health, NodeFacts};
pub use module::Module;
pub use reading::{AtBlock, Block, BlockHash, ChainError, ChainErrorKind, DecodedWith, ModuleRef, Reading};
pub use reject::Rejection;
pub use settings::{ChainSettings, NodeSettings};
pub use transaction::{Sent, TransactionEffect, TransactionHash, TransactionOutcome, TransactionStatus};

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

impl<R: AgentReader> AgentReader for &R {
    fn pin(&self, at: AtBlock) -> impl Future<Output = Result<Block, ChainError>> + Send {
        (**self).pin(at)
    }

    fn read(&self, block: &Block, agent: TokenId) -> impl Future<Output = Result<Reading, ChainError>> + Send {
        (**self).read(block, agent)
    }
}
