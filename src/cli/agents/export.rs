use std::path::PathBuf;

use cardproof::agent_list::{replace_file, ListFile};
use cardproof::digest::Sha256Digest;
use serde::Serialize;

use super::failed;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// Write the list to another file, or print it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write; without it the list is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// `cardproof.agents-export/1`: where the list was written.
#[derive(Serialize)]
struct ExportDocument {
    schema: &'static str,
    registry: String,
    /// The file; without one the list itself stands in `list`.
    output: Option<String>,
    /// The exact text, when it was not written to a file.
    list: Option<String>,
    agents: usize,
    bytes: usize,
    sha256: String,
}

pub(super) fn run(args: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let list = file.read_or_create().map_err(failed)?;
    let text = list.to_text();
    if let Some(path) = &args.output {
        replace_file(path, text.as_bytes())
            .map_err(|error| CliError::internal(format!("{} cannot be written: {error}", path.display())))?;
    }
    let document = ExportDocument {
        schema: "cardproof.agents-export/1",
        registry: file.path().display().to_string(),
        output: args.output.as_ref().map(|path| path.display().to_string()),
        list: args.output.is_none().then(|| text.clone()),
        agents: list.entries().len(),
        bytes: text.len(),
        sha256: Sha256Digest::of(text.as_bytes()).to_string(),
    };
    if output.json {
        shell.document(&document);
    } else if let Some(written) = &document.output {
        shell.note(&format!("{} agents written to {written}", document.agents));
    } else {
        shell.bytes(text.as_bytes());
    }
    Ok(Exit::Ok)
}
