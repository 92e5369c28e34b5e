//! `cardproof card`: what is done with a card document. One file per subcommand.

mod build;
mod convert;
mod diff;
mod explain;
pub(super) mod fetch;
mod identity;
mod lint;
mod set;
pub(super) mod source;
mod write;

use clap::Subcommand;

use super::exit::{CliError, Exit};
use super::options::OutputOptions;
use super::shell::Shell;

/// Read, check and make card documents
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Lint(Box<lint::Args>),
    Build(Box<build::Args>),
    Set(set::Args),
    Diff(Box<diff::Args>),
    Convert(Box<convert::Args>),
    Explain(Box<explain::Args>),
    Fetch(Box<fetch::Args>),
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    match &args.command {
        Command::Build(args) => build::run(args, shell, output),
        Command::Lint(args) => lint::run(args, shell, output),
        Command::Set(args) => set::run(args, shell, output),
        Command::Diff(args) => diff::run(args, shell, output),
        Command::Convert(args) => convert::run(args, shell, output),
        Command::Explain(args) => explain::run(args, shell, output),
        Command::Fetch(args) => fetch::run(args, shell, output),
    }
}
