//! `cardproof card`: what is done with a card document. One file per subcommand.

mod lint;

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
    Lint(lint::Args),
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    match &args.command {
        Command::Lint(args) => lint::run(args, shell, output),
    }
}
