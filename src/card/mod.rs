//! The document: recognising its dialects, linting, building.
//!
//! Bytes in, findings out: nothing here talks to a network or a chain, and nothing here decides whether a card is the anchored
//! one. A card is judged in two separate verdicts, integrity (`verify`) and content (here); the second never changes the first.

pub mod build;
pub mod convert;
pub mod diff;
pub mod edit;
pub mod explain;

mod code;
mod dialect;
mod document;
mod findings;
mod invisible;
mod layout;
mod lint;
mod parse;
mod report;
mod rules;
mod structure;

pub use crate::Severity;
pub use code::Code;
pub use dialect::{recognise, Dialect};
pub use document::{Document, Kind, Member, Node, Position};
#[cfg(feature = "agents")]
pub(crate) use invisible::hidden;
#[cfg(feature = "agents")]
pub(crate) use layout::Layout;
pub use lint::{lint, ChainFacts, LintContext};
pub use report::{Finding, LintReport};
