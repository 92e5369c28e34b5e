//! Keeping the chain on disk: an append-only log of blocks, and a lock against a second process.
//!
//! A block is on disk (`fsync`) before anybody hears of it. Only the inputs are kept, that is the transactions and the time of
//! each block; a start replays them. The log is written by appending alone, so a process killed at any time leaves at worst an
//! unfinished last record, which nobody heard of and which the next start cuts off. Any other difference is damage: the start
//! fails, says where, and changes nothing.

mod folder;
mod log;

pub(super) use folder::DataFolder;
pub(super) use log::{Log, Record};
