//! Transactions that anchor cards: build, sign, send, follow.
//!
//! Nothing here prints, and nothing here asks: a caller that needs a yes from a person gives a callback. The SDK's types
//! build and parse the bytes and appear in no public signature.

pub mod journal;
pub mod keys;

mod error;
mod signer;
mod transaction;

pub use error::AnchorError;
pub use signer::{Signatures, Signer, ToSign};
pub use transaction::{Call, Energy, SignedTransaction, Transaction, TransactionHash};
