//! The memory of audits: the same tests over SQLite and over a PostgreSQL of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/card_host.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses a part of it")]
mod card_host;
mod files;
mod postgres;
mod record;
mod retention;
mod stage;
mod transitions;
mod workers;
