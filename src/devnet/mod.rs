//! The embedded local chain: a node others can connect to, for development and tests only.
//!
//! It answers the calls that the official SDKs make (gRPC API v2), executes signed transactions on Concordium's own
//! contract execution engine, and keeps the state of every block. It is **not** a consensus node: one process makes all
//! blocks, there are no validators and no peers, fees are burnt, and its accounts' keys are public knowledge.
//!
//! It also speaks gRPC-web over HTTP/1.1 for pages in a browser, of any origin: a hostile page can do with this chain what anybody
//! can, who knows the published keys. Nothing else on the machine is reachable through it.
//!
//! | room | what |
//! |---|---|
//! | `engine` | the state of the chain and what a transaction or a view does to it |
//! | `history` | blocks, each with the state at its end |
//! | `admission`, `pending` | what a transaction must satisfy before it may wait for a block; those that wait |
//! | `node`, `draft` | making and finalizing blocks; one in the making |
//! | `store` | keeping them on disk |
//! | `convert` | engine results as the node's messages |
//! | `service`, `web` | the calls, by topic; the same calls from a browser |
//! | `wallet`, `genesis` | test accounts; the first block |
//!
//! ```no_run
//! # async fn doc() -> Result<(), cardproof::devnet::DevnetError> {
//! let net = cardproof::devnet::Devnet::start().await?;
//! let (node, registry) = (net.node_url(), net.registry());
//! let agent = net.register_agent(1, Some("https://agents.example/card.json"), None).await?;
//! # Ok(()) }
//! ```

mod admission;
mod builder;
mod convert;
mod draft;
mod engine;
mod error;
mod genesis;
mod history;
mod net;
mod node;
mod pending;
mod server;
mod service;
mod store;
mod wallet;
mod web;

pub use builder::{Builder, Preset};
pub use error::DevnetError;
pub use net::{BlockRef, Devnet, TransactionResult};
pub use wallet::{AccountSpec, TestAccount};
