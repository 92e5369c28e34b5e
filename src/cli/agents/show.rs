use cardproof::agent_list::{ListError, ListFile};
use serde::Serialize;
use serde_json::Value;

use super::failed;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// Print one agent of the list
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
}

/// `cardproof.agents-show/1`: one entry as it stands in the file.
#[derive(Serialize)]
struct EntryDocument {
    schema: &'static str,
    registry: String,
    agent: Value,
}

pub(super) fn run(args: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let list = file.read_or_create().map_err(failed)?;
    let entry = list.get(&args.name).ok_or_else(|| failed(ListError::NotFound(args.name.clone())))?;
    if output.json {
        let registry = file.path().display().to_string();
        shell.document(&EntryDocument { schema: "cardproof.agents-show/1", registry, agent: entry.value() });
    } else {
        // Line by line, because each line is escaped for the terminal.
        entry.pretty().lines().for_each(|line| shell.line(line));
    }
    Ok(Exit::Ok)
}
