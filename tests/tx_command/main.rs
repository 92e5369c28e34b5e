//! The transaction commands as processes, against the embedded chain and a loopback host.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod advice;
mod attacks;
mod bench;
#[path = "../support/card_host.rs"]
#[allow(dead_code, unreachable_pub, reason = "this file uses a part of it")]
mod card_host;
mod first_use;
mod high_level;
mod killed;
mod low_level;
mod order;
mod unspent;
