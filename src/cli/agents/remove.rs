use cardproof::agent_list::{Imported, ListFile};

use super::change::ChangeDocument;
use super::failed;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// Remove agents from the list
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Their names; all of them are in the list, or nothing is removed
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

pub(super) fn run(args: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let mut names: Vec<String> = Vec::new();
    for name in &args.names {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    file.update(|list| names.iter().try_for_each(|name| list.remove(name).map(drop))).map_err(failed)?;
    Ok(ChangeDocument::of(Imported::default(), names, file).report(shell, output))
}
