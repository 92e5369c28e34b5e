//! `cardproof tx`: every entry point as a command, and the stations of a transaction: built, signed, sent, followed.

mod cis8;
mod entry_point;
mod file;
mod inspect;
mod message;
pub(crate) mod options;
mod parameters;
mod readable;
mod run;
mod send;
mod sign;
pub(crate) mod status;

pub(crate) use parameters::{key_value, metadata_entries};

use clap::Subcommand;

use super::exit::{CliError, Exit};
use super::options::OutputOptions;
use super::shell::Shell;

/// Build, sign, send and follow transactions
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 rejected, or would be (then nothing was sent), expired, inconsistent, or other bytes \
    than the URI serves; 2 refused for what was typed or configured; 3 cannot tell now; 5 internal error."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Build(Box<entry_point::Build>),
    /// Print a message that is signed outside of a transaction
    #[command(subcommand)]
    Message(Box<message::Message>),
    /// Derive everything about a transaction from its bytes again, and fail on any inconsistency
    Inspect(inspect::Args),
    /// Add signatures to a transaction document
    Sign(Box<sign::Args>),
    /// Send a signed transaction
    Send(Box<send::Args>),
    /// Follow a transaction to its end
    Status(Box<status::Args>),
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    match &args.command {
        Command::Build(build) => run::run(build, shell, output),
        Command::Message(message) => message::run(message, shell, output),
        Command::Inspect(args) => inspect::run(args, shell, output),
        Command::Sign(args) => sign::run(args, shell, output),
        Command::Send(args) => send::run(args, shell, output),
        Command::Status(args) => status::run(args, shell, output),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_option_refers_to_options_that_exist() {
        crate::cli::command().debug_assert();
    }
}
