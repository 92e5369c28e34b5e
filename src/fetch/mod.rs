//! Bringing bytes from an untrusted URI: address policy, HTTP, content coding, `data:`, `ipfs:`, limits.
//!
//! A URI comes from a chain or a card: an attacker may have written it. This is the only place that builds an HTTP client,
//! and nothing here knows what the bytes mean.

mod outcome;

pub use outcome::{Body, FailureKind, FetchFailure, FetchTrace, Fetched, Hop};

use std::future::Future;

/// Who wrote a URI: the first hop of a URI that the user typed may be loopback or private, anything else may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A chain or a card: anyone.
    Untrusted,
    /// The user, on the command line.
    User,
}

/// The seam between a verdict and the network: something that brings the bytes behind a URI.
pub trait CardFetcher: Send + Sync {
    /// Brings the complete body of a `200` answer, or says why there is none.
    ///
    /// # Errors
    /// [`FetchFailure`] for anything short of the complete body.
    fn fetch(&self, uri: &str, origin: Origin) -> impl Future<Output = Result<Fetched, FetchFailure>> + Send;
}

impl<F: CardFetcher> CardFetcher for &F {
    fn fetch(&self, uri: &str, origin: Origin) -> impl Future<Output = Result<Fetched, FetchFailure>> + Send {
        (**self).fetch(uri, origin)
    }
}
