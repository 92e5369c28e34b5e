//! What the process-independent tests stand on: servers of their own, never the public internet.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses a part of it")]

pub mod authority;
pub mod card_host;
pub mod command;
pub mod encode;
pub mod names;
