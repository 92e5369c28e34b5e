//! The contracts in `contracts/modules/`, run by the chain's own execution engine.
//!
//! Parameters, answers and events are written here byte by byte, not with the contracts' own types: a layout that is
//! wrong on both sides would agree with itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent;
mod energy;
mod external_key;
mod layout;
mod metadata;
mod modules;
mod reference;
mod token;
mod upgrade;
mod wallet;
mod world;
