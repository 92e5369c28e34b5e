//! The result model's formats. Each format is a file; none of them decides anything.
//!
//! Names and shapes of the JSON documents are a contract with other programs: within a version they only grow.
//!
//! The report of one verdict is [`ReportDocument`] or [`lines`]. The report of a run over many agents is begun with
//! [`Format::begin`] and fed row by row through [`ReportWriter`].

#[cfg(feature = "audit")]
mod advice;
#[cfg(feature = "audit")]
mod csv;
mod document;
#[cfg(feature = "audit")]
mod foreign;
#[cfg(feature = "audit")]
mod format;
#[cfg(feature = "audit")]
mod html;
#[cfg(feature = "audit")]
mod json;
#[cfg(feature = "audit")]
mod junit;
#[cfg(feature = "audit")]
mod markdown;
#[cfg(feature = "audit")]
mod place;
#[cfg(feature = "audit")]
pub mod prometheus;
#[cfg(feature = "audit")]
mod run;
#[cfg(feature = "audit")]
mod sarif;
#[cfg(feature = "audit")]
mod tally;
mod text;

pub use document::{BlockDocument, ContractDocument, ReportDocument, SummaryDocument, VerifyDocument};
#[cfg(feature = "audit")]
pub use format::{Format, ReportOptions, ReportWriter};
#[cfg(feature = "audit")]
pub use place::{PlaceError, ReportPlace};
#[cfg(feature = "audit")]
pub use run::{Change, HistoryPoint, ReportRow, RunEnd, RunHeader, RunPoint};
#[cfg(feature = "audit")]
pub use tally::Tally;
pub use text::{details, lines, Line, Tone};
