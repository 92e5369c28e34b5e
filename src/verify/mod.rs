//! The verdict: match true, false or null, with its reason and near misses.
//!
//! Written against the two seams [`AgentReader`](crate::chain::AgentReader) and [`CardFetcher`](crate::fetch::CardFetcher),
//! so it knows neither gRPC nor HTTP. It never parses a card before it has hashed it.

#[cfg(feature = "card")]
mod card_checks;
mod check;
mod judge;
pub mod near_miss;
mod note;
mod once;
mod reason;
mod verdict;
mod verifier;

#[cfg(feature = "card")]
pub use card_checks::{card_checks, LintCheck};
pub use check::{CardCheck, Check};
pub use judge::{judge_body, Judged};
pub use note::{Note, NoteCode};
pub use once::OncePerUrl;
pub use reason::{Class, Reason};
pub use verdict::{Anchor, Evidence, Subject, Summary, Verdict};
pub use verifier::{Run, Verifier, VerifySettings};
