//! The command line: one file per command. [`shell`] is the only place that prints.

mod agents;
mod anchor;
mod anchoring;
mod audit;
mod card;
mod completions;
mod conclude;
mod config;
mod connect;
mod demo;
mod devnet;
mod doctor;
mod exit;
mod failure;
mod hash;
mod input;
mod interrupt;
mod look;
mod man;
mod misgiving;
mod options;
mod register;
mod resume;
mod settings;
mod shell;
mod show;
mod signals;
mod switch;
mod tally;
mod targets;
mod terminal;
mod token;
mod tx;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use exit::{CliError, Exit};
use options::OutputOptions;
use shell::Shell;

/// Proves whether an AI agent's published card is the one anchored on the Concordium blockchain.
#[derive(Debug, Parser)]
#[command(name = "cardproof", version, max_term_width = 110, propagate_version = true, subcommand_required = true)]
struct Cli {
    #[command(flatten)]
    output: OutputOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(Box<verify::Args>),
    Audit(Box<audit::Args>),
    Show(show::Args),
    Hash(hash::Args),
    Card(Box<card::Args>),
    Token(token::Args),
    Agents(agents::Args),
    Demo(demo::Args),
    Doctor(doctor::Args),
    Anchor(Box<anchor::Args>),
    Register(Box<register::Args>),
    Tx(tx::Args),
    Devnet(devnet::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs one command and says how the process ends.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => return shell::print_usage(&error, args.iter().any(|arg| arg == "--json")),
    };
    let shell = Shell::new(&cli.output);
    match dispatch(cli.command, &shell, &cli.output) {
        Ok(exit) => exit.into(),
        Err(error) => {
            shell.failure(&error);
            error.exit.into()
        }
    }
}

fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = switch::forget_empty_variables(Cli::command());
    let mut matches = command.try_get_matches_from_mut(args)?;
    let network_is_typed = is_typed(&matches, "network");
    let mut cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
    cli.output.network_is_typed = network_is_typed;
    Ok(cli)
}

/// Whether an option of the command stands on the command line, and not in the environment.
fn is_typed(matches: &ArgMatches, option: &str) -> bool {
    let here = matches.try_contains_id(option).is_ok() && matches.value_source(option) == Some(ValueSource::CommandLine);
    here || matches.subcommand().is_some_and(|(_, matches)| is_typed(matches, option))
}

fn dispatch(command: Command, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    match command {
        Command::Verify(args) => verify::run(&args, shell, output),
        Command::Audit(args) => audit::run(&args, shell, output),
        Command::Show(args) => show::run(&args, shell, output),
        Command::Hash(args) => hash::run(&args, shell, output),
        Command::Card(args) => card::run(&args, shell, output),
        Command::Anchor(args) => anchor::run(&args, shell, output),
        Command::Register(args) => register::run(&args, shell, output),
        Command::Tx(args) => tx::run(&args, shell, output),
        Command::Token(args) => token::run(&args, shell, output),
        Command::Agents(args) => agents::run(&args, shell, output),
        Command::Demo(args) => demo::run(&args, shell, output),
        Command::Doctor(args) => doctor::run(&args, shell, output),
        Command::Devnet(args) => devnet::run(&args, shell, output),
        Command::Completions(args) => completions::run(&args, shell),
        Command::Man(args) => man::run(&args, shell),
    }
}

/// The whole command line, for completions and the manual.
fn command() -> clap::Command {
    Cli::command()
}

/// Runs an asynchronous command on a runtime of its own.
///
/// A name look-up by the system resolver can hold a thread past any deadline, so the runtime is not waited for.
fn block_on<T>(work: impl std::future::Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    run_on(tokio::runtime::Builder::new_multi_thread().worker_threads(2), work)
}

/// Runs an asynchronous command that does one thing on this thread: a body is then hashed before more of it is read, and fewer
/// buffers are in use at the same time.
fn block_on_here<T>(work: impl std::future::Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    run_on(&mut tokio::runtime::Builder::new_current_thread(), work)
}

fn run_on<T>(
    builder: &mut tokio::runtime::Builder,
    work: impl std::future::Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| CliError::internal(format!("the asynchronous runtime could not be started: {error}")))?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}
