use std::path::PathBuf;

use cardproof::agent_list::{AgentList, ListFile};

use super::change::{self, ChangeDocument, ConflictOptions};
use crate::cli::exit::{CliError, Exit};
use crate::cli::input::text;
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// Add the agents of another list
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// An agent list, or a JSON list of agents; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    conflicts: ConflictOptions,
}

pub(super) fn run(args: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let shown = args.file.display();
    let is_stdin = args.file.as_os_str() == "-";
    if is_stdin && args.conflicts.on_conflict.is_none() && shell.can_ask() {
        return Err(CliError::usage("the agents come from standard input, so no question can be answered there")
            .hint("say what to do about names that are taken with --on-conflict"));
    }
    let text = text(&args.file)?;
    let entries =
        AgentList::parse_import(&text).map_err(|error| CliError::usage(format!("{shown} cannot be imported: {error}")))?;
    let done = change::add(entries, &args.conflicts, file, shell)?;
    Ok(ChangeDocument::of(done, Vec::new(), file).report(shell, output))
}
