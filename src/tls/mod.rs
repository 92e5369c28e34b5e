//! What nodes and hosts have in common when they are connected to over TLS: how a server's certificate is verified, and what a
//! failure is called. Nothing here connects to anything.

mod causes;
mod explain;
mod verifier;

pub(crate) use causes::find;
#[cfg(feature = "fetch")]
pub(crate) use causes::links;
pub(crate) use explain::explain;
pub(crate) use verifier::client_config;
