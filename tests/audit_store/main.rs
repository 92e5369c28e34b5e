//! The memory of audits: the same tests over SQLite and over a PostgreSQL of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod held;
mod holds;
mod keep;
mod killed;
mod notify;
mod postgres;
mod record;
mod retention;
mod stage;
#[path = "../support/mod.rs"]
mod support;
mod transitions;
mod workers;
