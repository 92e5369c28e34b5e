//! Runs of an audit: against scripted seams, and as the command against the local chain.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alerts;
mod changed;
mod command;
mod daemon;
mod engine;
mod inputs;
mod interrupted;
#[path = "../support/mock_node.rs"]
mod mock_node;
mod node;
mod owners;
mod past;
mod ranges;
mod registries;
mod reports;
mod seams;
mod shared;
#[path = "../support/mod.rs"]
mod support;
mod unattended;
mod vanished;
