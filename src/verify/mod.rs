//! The verdict: match true, false or null, with its reason and near misses.
//!
//! Written against the two seams [`AgentReader`](crate::chain::AgentReader) and [`CardFetcher`](crate::fetch::CardFetcher),
//! so it knows neither gRPC nor HTTP. It never parses a card before it has hashed it.
//!
//! ```no_run
//! use cardproof::chain::{ChainClient, ChainSettings};
//! use cardproof::fetch::{FetchSettings, Fetcher};
//! use cardproof::identity::{TokenId, TESTNET};
//! use cardproof::verify::{Class, Verifier, VerifySettings};
//!
//! # async fn doc() -> Result<(), Box<dyn std::error::Error>> {
//! let chain = ChainClient::new(ChainSettings::new(TESTNET.network()))?;
//! let settings = VerifySettings::new(chain.settings());
//! let verifier = Verifier::new(chain, Fetcher::new(FetchSettings::default())?, settings);
//! let verdict = verifier.verify(TokenId(287)).await?;
//! // Absent and undecided are no mismatch: the reason says what kept it from being decided.
//! assert_eq!(verdict.class(), Class::Match, "{}: {}", verdict.reason.as_str(), verdict.message);
//! # Ok(()) }
//! ```

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
pub use judge::{judge_body, settled, Judged};
pub use note::{Note, NoteCode};
pub use once::OncePerUrl;
pub use reason::{Class, Reason};
pub use verdict::{Anchor, Evidence, Subject, Summary, Verdict};
pub use verifier::{Run, Verifier, VerifySettings};
