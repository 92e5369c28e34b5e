//! The `cardproof` command: parses, dispatches, exits.

#![allow(missing_docs, reason = "a command has no public items")]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
