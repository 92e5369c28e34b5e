//! The daemon's endpoint for monitoring: `/metrics`, `/healthz`, `/readyz`.
//!
//! It only tells: no request changes anything or starts a run. It has no password, so it belongs on an address that only the
//! monitoring reaches; what it shows are counts, never a URL or a hash (C-66).

mod duration_buckets;
mod endpoint;
mod socket;
mod state;

pub use endpoint::{Endpoint, EndpointLimits};
pub use state::{MetricsRun, MetricsSettings, MetricsState};

use std::net::SocketAddr;

/// Why the endpoint does not answer.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {cause}; name another address, or end the program that has this one")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        #[source]
        cause: std::io::Error,
    },
    /// Serving ended by itself.
    #[error("the metrics endpoint failed: {0}")]
    Serve(#[from] std::io::Error),
}
