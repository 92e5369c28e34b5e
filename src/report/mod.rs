//! The result model's formats. Each format is a file; none of them decides anything.
//!
//! Names and shapes of the JSON documents are a contract with other programs: within a version they only grow.

mod document;
mod text;

pub use document::{BlockDocument, ContractDocument, ReportDocument, SummaryDocument, VerifyDocument};
pub use text::{details, lines, Line, Tone};
