//! Transactions that anchor cards: build, sign, send, follow.
//!
//! Nothing here prints, and nothing here asks: a caller that needs a yes from a person gives a callback. The SDK's types
//! build and parse the bytes and appear in no public signature.

pub mod flow;
pub mod journal;
pub mod keys;

mod account_keys;
mod describe;
mod document;
mod error;
mod follow;
mod json;
mod plan;
mod session;
mod signer;
mod sponsored;
mod transaction;

pub use account_keys::{check_keys, check_signatures, signatures_needed, PublicKeys};
pub use describe::{parameter_call, schema_json};
pub use document::{signatures_from_json, Document, Estimate};
pub use error::AnchorError;
use follow::follow_sent;
pub use follow::{follow, status, State, Status};
pub use json::read_json;
use plan::check_sendable;
pub use plan::{check_environment, dry_run, plan, Choices, Plan, DEFAULT_EXPIRY_SECONDS};
pub use session::{Session, Turn};
pub use signer::{Signatures, Signer, ToSign};
pub use sponsored::SponsoredTransaction;
pub use transaction::{Call, Energy, SignedTransaction, Transaction};
