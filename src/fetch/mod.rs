//! Bringing bytes from an untrusted URI: address policy, HTTP, content coding, `data:`, `ipfs:`, limits.
//!
//! A URI comes from a chain or a card: an attacker may have written it. This is the only place that builds an HTTP client,
//! and nothing here knows what the bytes mean.
//!
//! [`Fetcher`] is the front door. It also posts JSON to a URL of the user's own ([`PostUrl`]), through the same client. Behind it a URI becomes a target (`target`), each hop is checked (`target`, `port`,
//! [`AddressPolicy`]), its name resolved under guard (`resolve`), its answer judged by its head (`answer`) and its body
//! received (`receive`), decoded ([`coding`]) and hashed ([`BodyStream`]), all before one `deadline`.

mod address;
mod answer;
mod body;
mod client;
pub mod coding;
pub mod data_uri;
mod deadline;
mod explain;
mod fetcher;
mod ipfs;
mod limits;
mod outcome;
mod port;
mod post;
mod receive;
mod resolve;
mod retry;
mod reuse;
mod settings;
mod stop;
mod surplus;
mod target;
mod trust;

pub use address::{AddressClass, AddressPolicy};
pub use body::{Body, BodyStream, OverCap};
pub use fetcher::Fetcher;
pub use outcome::{FailureKind, FetchFailure, FetchTrace, Fetched, Hop};
pub use post::{PostUrl, Posted};
pub use resolve::{Lookup, Resolve, SystemResolver};
pub use settings::{FetchSettings, FetchSetupError, ProxyUrl};
#[cfg(feature = "verify")]
pub(crate) use target::asked_url;
pub use target::check_uri;
pub use trust::TrustRoots;

use std::future::Future;

use crate::digest::Sha256Digest;

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

    /// Looks once more at a body from `uri` that is not the `expected` one, before anybody calls it another card: whether it really
    /// came whole, and whether another source has the right one. What it returns is to be judged instead.
    fn look_again(&self, uri: &str, fetched: Fetched, expected: Sha256Digest) -> impl Future<Output = Fetched> + Send {
        let _ = (uri, expected);
        std::future::ready(fetched)
    }
}

/// A pointer to a fetcher fetches as what it points to.
macro_rules! fetch_through {
    ($($pointer:ty),*) => {$(
        impl<F: CardFetcher> CardFetcher for $pointer {
            fn fetch(&self, uri: &str, origin: Origin) -> impl Future<Output = Result<Fetched, FetchFailure>> + Send {
                (**self).fetch(uri, origin)
            }

            fn look_again(
                &self,
                uri: &str,
                fetched: Fetched,
                expected: Sha256Digest,
            ) -> impl Future<Output = Fetched> + Send {
                (**self).look_again(uri, fetched, expected)
            }
        }
    )*};
}

fetch_through!(&F, std::sync::Arc<F>);
