use clap::ValueEnum;
use clap_complete::Shell as ForShell;

use super::exit::{CliError, Exit};
use super::shell::Shell;

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to complete for
    #[arg(value_name = "SHELL")]
    shell: Name,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

pub(crate) fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let generator = match args.shell {
        Name::Bash => ForShell::Bash,
        Name::Elvish => ForShell::Elvish,
        Name::Fish => ForShell::Fish,
        Name::Powershell => ForShell::PowerShell,
        Name::Zsh => ForShell::Zsh,
    };
    let mut script = Vec::new();
    clap_complete::generate(generator, &mut super::command(), "cardproof", &mut script);
    shell.raw(&script);
    Ok(Exit::Ok)
}
