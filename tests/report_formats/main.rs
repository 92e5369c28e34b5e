//! The report of a run in each of its formats, against golden files, schemas and readers that others wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod active;
mod browser;
mod deploy;
mod endpoint;
mod golden;
mod html;
mod junit;
mod prometheus;
mod sample;
mod sarif;
mod spreadsheet;
