//! What `anchor` and `register` have in common.

use std::path::Path;

use cardproof::anchor::flow::Context;
use cardproof::chain::ChainClient;
use cardproof::fetch::Fetcher;

use super::tx::options::{HeaderOptions, ReachOptions, SendOptions, SenderOptions};

/// The options of a transaction that the command builds by itself.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AnchoringOptions {
    /// Go as far as the review and show what would change and cost; nothing is signed, and --sender will do without keys
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) header: HeaderOptions,
    #[command(flatten)]
    pub(crate) sender: SenderOptions,
    #[command(flatten)]
    pub(crate) send: SendOptions,
    #[command(flatten)]
    pub(crate) reach: ReachOptions,
}

impl AnchoringOptions {
    /// What a flow works with. `environment` is the network that the keys are for, where their file says one.
    pub(crate) fn context<'a>(
        &self,
        chain: &'a ChainClient,
        fetcher: &'a Fetcher,
        state_folder: &'a Path,
        environment: Option<&'a str>,
    ) -> Context<'a, Fetcher> {
        let (choices, wait) = (self.header.choices(), self.send.wait_for());
        Context { chain, fetcher, state_folder, environment, choices, wait }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    #[test]
    fn anchor_and_register_say_the_same_of_the_options_they_share() {
        let cli = crate::cli::command();
        let shared = AnchoringOptions::augment_args(Command::new("shared"));
        let said = |command: &Command, id: &str| {
            let arg = command.get_arguments().find(|arg| arg.get_id() == id).unwrap_or_else(|| panic!("there is no {id}"));
            (
                arg.get_long().map(str::to_owned),
                arg.get_help().map(ToString::to_string),
                arg.get_help_heading().map(str::to_owned),
            )
        };
        assert!(shared.get_arguments().count() > 20);
        for arg in shared.get_arguments() {
            for name in ["anchor", "register"] {
                let command = cli.find_subcommand(name).unwrap();
                assert_eq!(said(command, arg.get_id().as_str()), said(&shared, arg.get_id().as_str()), "{name}");
            }
        }
    }
}
