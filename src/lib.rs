//! Proves whether an AI agent's published card is the one anchored on the Concordium blockchain.
//!
//! The library is split by noun, in floors that import only from the floors below; a Cargo feature adds each:
//!
//! | floor | module | feature | what |
//! |---|---|---|---|
//! | 4 | [`devnet`] | `devnet` | an embedded local chain that other programs can connect to |
//! | 3 | [`anchor`] | `anchor` | transactions: build, sign, send, follow |
//! | 3 | [`audit`] | `audit` | many agents: targets, runs, their memory, what changed |
//! | 2 | [`verify`], [`report`] | `verify` | the verdict and its formats |
//! | 2 | [`agent_list`] | `agents` | the local agent list, and finding the card of a running agent |
//! | 1 | [`chain`], [`fetch`], [`card`] | of the same name | a node; an untrusted URI; the document |
//! | 1 | `tls` (private) | `chain` or `fetch` | what connecting to a node and to a host have in common, below both |
//! | 0 | [`registry`], [`identity`], [`digest`], [`amount`], [`credentials`] | none | the standard, without I/O; always there |

pub mod amount;
pub mod credentials;
pub mod digest;
pub mod identity;
pub mod registry;

#[cfg(feature = "agents")]
pub mod agent_list;
#[cfg(feature = "anchor")]
pub mod anchor;
#[cfg(feature = "audit")]
pub mod audit;
#[cfg(feature = "card")]
pub mod card;
#[cfg(feature = "chain")]
pub mod chain;
#[cfg(feature = "devnet")]
pub mod devnet;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "verify")]
pub mod report;
#[cfg(any(feature = "card", feature = "verify"))]
mod severity;
#[cfg(any(feature = "chain", feature = "fetch"))]
mod tls;
#[cfg(feature = "verify")]
pub mod verify;

#[cfg(any(feature = "card", feature = "verify"))]
pub use severity::Severity;

/// The examples of the README are compiled with those of the documentation.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../README.md")]
mod readme {}
