//! One run: every target judged at one finalized block, each URL fetched once, mismatches looked at again at the end.
//!
//! [`Audit::begin`] pins the block, [`Audit::start`] makes a [`Running`], whose [`Running::next`] drives the work and hands on
//! one verdict after the other. Everything waits in bounded queues or as a bare token id, so the memory of a run is flat
//! but for what it must remember of each distinct URL (`urls`, at most 64 bytes).

mod check;
mod hosts;
mod outage;
mod running;
mod second_look;
mod settings;
mod urls;

pub use running::{Found, Progress, Running};
pub use settings::AuditSettings;

use std::sync::{Arc, Mutex};

use crate::chain::{AgentReader, AtBlock, Block, ChainError};
use crate::fetch::CardFetcher;
use crate::identity::TokenId;
use crate::verify::{Reason, Verdict};

use super::{find_end, RegistryEnd};
use check::Checker;

/// A run that has its block and not yet its targets.
pub struct Audit<R, F> {
    checker: Arc<Checker<R, F>>,
}

impl<R: AgentReader + 'static, F: CardFetcher + 'static> Audit<R, F> {
    /// Pins the finalized block that all verdicts of the run share.
    ///
    /// # Errors
    /// [`ChainError`] when the run is refused as a whole: a node of another network, an unknown block, an unusable
    /// configuration. A node that cannot be asked is no error: every verdict of the run then says so.
    pub async fn begin(reader: R, fetcher: F, settings: AuditSettings) -> Result<Self, ChainError> {
        let at = settings.verify.at;
        Self::pinned_to(at, reader, fetcher, settings).await
    }

    /// Goes on at the block that an interrupted run was pinned to.
    ///
    /// # Errors
    /// As [`Audit::begin`].
    pub async fn resume(reader: R, fetcher: F, settings: AuditSettings, block: Block) -> Result<Self, ChainError> {
        Self::pinned_to(AtBlock::Hash(block.hash), reader, fetcher, settings).await
    }

    async fn pinned_to(at: AtBlock, reader: R, fetcher: F, settings: AuditSettings) -> Result<Self, ChainError> {
        let pinned = match reader.pin(at).await {
            Err(error) if Reason::of_chain_error(error.kind).is_none() => return Err(error),
            pinned => pinned,
        };
        Ok(Self { checker: Arc::new(Checker { reader, fetcher, settings, pinned, urls: Mutex::default() }) })
    }

    /// The block of the run, or why there is none.
    ///
    /// # Errors
    /// [`ChainError`] when no node could be asked.
    pub fn block(&self) -> Result<Block, ChainError> {
        self.checker.pinned.clone()
    }

    /// The reader of the run, to ask it for what it has to say besides.
    pub fn reader(&self) -> &R {
        &self.checker.reader
    }

    /// Finds where the registry ends at the run's block.
    ///
    /// # Errors
    /// See [`find_end`].
    pub async fn find_end(&self) -> Result<RegistryEnd, ChainError> {
        find_end(&self.checker.reader, self.block()?).await
    }

    /// Begins with the work on `targets`, which must name each agent once. What the parts of a run that were ended before have
    /// brought of URLs is not fetched again.
    pub fn start(&self, targets: impl Iterator<Item = TokenId> + Send + 'static) -> Running<R, F> {
        self.go_on(targets, Vec::new())
    }

    /// As [`Audit::start`], with mismatches that an earlier part of the run has found and that await their second look: they are not
    /// fetched again, and `targets` do not name them.
    pub fn go_on(&self, targets: impl Iterator<Item = TokenId> + Send + 'static, mismatches: Vec<Verdict>) -> Running<R, F> {
        Running::new(Arc::clone(&self.checker), Box::new(targets), mismatches)
    }
}
