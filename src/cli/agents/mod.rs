//! The local agent list on the command line.

mod add;
mod change;
mod discover;
mod export;
mod import;
mod list;
mod onboard;
mod remove;
mod show;

use std::path::PathBuf;

use cardproof::agent_list::{ListError, ListFile};
use clap::builder::TypedValueParser;
use clap::Subcommand;

use super::exit::{CliError, Exit};
use super::options::OutputOptions;
use super::shell::Shell;

/// Keep the local list of agents (registry.json)
///
/// The list is made, empty, when there is none. Whatever other programs wrote into it stays as it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The list [default: registry.json in the current folder]
    #[arg(long, global = true, value_name = "FILE", env = "SOCIETY_REGISTRY",
        value_parser = clap::builder::OsStringValueParser::new().map(PathBuf::from))]
    registry: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Onboard(onboard::Args),
    Discover(Box<discover::Args>),
    Add(Box<add::Args>),
    Import(import::Args),
    List(list::Args),
    Show(show::Args),
    Remove(remove::Args),
    Export(export::Args),
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let file = open(args.registry.clone())?;
    match &args.command {
        Command::Onboard(args) => onboard::run(args, &file, shell, output),
        Command::Discover(args) => discover::run(args, &file, shell, output),
        Command::Add(args) => add::run(args, &file, shell, output),
        Command::Import(args) => import::run(args, &file, shell, output),
        Command::List(args) => list::run(args, &file, shell, output),
        Command::Show(args) => show::run(args, &file, shell, output),
        Command::Remove(args) => remove::run(args, &file, shell, output),
        Command::Export(args) => export::run(args, &file, shell, output),
    }
}

/// The list that was named, or the one in its usual place.
fn open(named: Option<PathBuf>) -> Result<ListFile, CliError> {
    let path = named.filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| PathBuf::from("registry.json"));
    ListFile::at(&path).map_err(failed)
}

/// What a failure of the list means for the process.
pub(crate) fn failed(error: ListError) -> CliError {
    let message = error.to_string();
    match error {
        ListError::Read { .. } => CliError::refused("list_unreadable", message),
        ListError::Create { .. } => CliError::refused("list_missing", message).hint("name a list elsewhere with --registry"),
        ListError::Write { .. } => CliError::internal(message),
        ListError::Locked { .. } => {
            CliError::cannot_tell("list_locked", message).hint("try again when the other program is done")
        }
        ListError::Corrupt { .. } => CliError::refused("list_corrupt", message)
            .hint("repair the file, or name another with --registry; it is never overwritten"),
        ListError::NotFound(_) => CliError::negative("agent_not_found", message),
        ListError::Conflicts(_) => CliError::refused("name_taken", format!("{message}, and nothing was changed"))
            .hint("say what to do with --on-conflict overwrite, skip or rename"),
        _ => CliError::usage(message),
    }
}
