//! `cardproof audit retry`: telling what waits.

use cardproof::audit::notify::Notifier;
use serde::Serialize;

use super::database::{self, StoreOptions};
use super::notify::{self, NotifyOptions};
use super::stop::Stop;
use crate::cli::config::Config;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{FetchOptions, OutputOptions, TlsOptions};
use crate::cli::shell::Shell;

/// Tell the changes that wait, also to a webhook that has asked to be left alone
///
/// A webhook that answers 410 is told nothing any more. This tells it again, with all that waits, and audits nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 nothing waits any more; 2 refused; 3 something still waits; 5 database failure.")]
pub(super) struct RetryArgs {
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    notify: NotifyOptions,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

#[derive(Serialize)]
struct RetryDocument {
    schema: &'static str,
    told: u64,
    waiting: u64,
}

pub(super) fn run(args: &RetryArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let (done, interrupted) = crate::cli::block_on(async {
        let store = args.store.open_existing(&config).await?;
        let notifier = args.notify.notifier(&config, &args.fetch, &args.tls, &store, shell)?;
        let Some(notifier) = notifier else {
            return Err(CliError::refused("configuration", "there is nobody to tell")
                .hint("name a webhook in CARDPROOF_WEBHOOK_URL or audit.webhook_url, or a program with --notify-command"));
        };
        for sink in Notifier::keys(&notifier) {
            store.enable_sink(&sink).await.map_err(database::failed)?;
        }
        let mut stop = Stop::on_signals()?;
        let done = notify::deliver(&store, Some(&notifier), args.notify.notify_patience, &mut stop, shell).await?;
        store.close().await;
        Ok((done, stop.is_told()))
    })?;
    let (told, waiting) = done;
    if interrupted {
        return Ok(Exit::Interrupted);
    }
    if output.json {
        shell.document(&RetryDocument { schema: "cardproof.audit-retry/1", told, waiting });
    } else {
        shell.note(&format!("{told} changes told, {waiting} still wait"));
    }
    Ok(if waiting == 0 { Exit::Ok } else { Exit::CannotTell })
}
