use std::path::PathBuf;

use super::exit::{CliError, Exit};
use super::shell::Shell;

/// Print the manual page, or write one page per command into a folder
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write cardproof.1 and a page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match &args.out {
        Some(folder) => {
            std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(super::command(), folder)).map_err(
                |error| CliError::internal(format!("the pages could not be written to {}: {error}", folder.display())),
            )?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(super::command())
                .render(&mut page)
                .map_err(|error| CliError::internal(format!("the manual page could not be made: {error}")))?;
            shell.raw(&page);
        }
    }
    Ok(Exit::Ok)
}
