//! Many agents: running an audit, and asking what earlier ones found.

mod args;
mod daemon;
mod database;
mod history;
mod left_out;
mod notify;
mod output;
mod plan;
mod pump;
mod report;
mod retry;
mod run;
mod select;
mod stop;
mod terms;
mod worker;

use clap::Subcommand;

use super::exit::{CliError, Exit};
use super::options::OutputOptions;
use super::shell::Shell;

/// Audit many agents, with memory
///
/// Judges every selected agent at one finalized block, fetches each distinct URL once, looks at mismatches again together at
/// one newer block, and remembers the results, so that the next run tells what changed.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Exit codes: 0 every agent matches; 1 a mismatch; 2 refused before any work, or nothing selected; 3 undecided, no \
    mismatch; 4 only absent ones besides matches; 5 internal error or database failure; 130 interrupted.\n\n\
    Settings with no flag of their own: CARDPROOF_STORE (a file or the URL of a PostgreSQL database), CARDPROOF_WEBHOOK_URL and \
    CARDPROOF_WEBHOOK_SECRET. In cardproof.toml the table [audit] has store, webhook_url, webhook_secret_file, notify_command (a \
    list: the program and its arguments) and keep."
)]
pub(crate) struct Args {
    #[command(flatten)]
    run: args::RunArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    History(Box<history::HistoryArgs>),
    Diff(Box<history::DiffArgs>),
    Runs(Box<history::RunsArgs>),
    Report(Box<report::ReportArgs>),
    Worker(Box<worker::WorkerArgs>),
    Retry(Box<retry::RetryArgs>),
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    match &args.command {
        None => match args.run.daemon.every {
            Some(every) => daemon::run(&args.run, every, shell, output),
            None => run::run(&args.run, shell, output),
        },
        Some(Command::History(args)) => history::history(args, shell, output),
        Some(Command::Diff(args)) => history::diff(args, shell, output),
        Some(Command::Runs(args)) => history::runs(args, shell, output),
        Some(Command::Report(args)) => report::run(args, shell, output),
        Some(Command::Worker(args)) => worker::run(args, shell, output),
        Some(Command::Retry(args)) => retry::run(args, shell, output),
    }
}
