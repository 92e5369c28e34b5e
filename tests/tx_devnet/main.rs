//! Transactions from end to end, on the embedded chain with the real contracts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod entry_points;
mod flows;
mod order;
mod refusals;
mod rejections;
mod world;
