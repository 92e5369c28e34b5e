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
#[command(after_help = "Exit codes: 0 nothing waits any more, or --forget gave up what did; 1 nothing waits for the sink \
    of --forget; 2 refused; 3 something still waits; 5 database failure.")]
pub(super) struct RetryArgs {
    /// Give up all changes, of every registry, that wait for this sink (webhook, command), and tell nobody
    #[arg(long, value_name = "SINK", conflicts_with_all = ["notify_command", "notify_stdout", "webhook_secret_file"])]
    forget: Option<String>,
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
    forgotten: u64,
}

pub(super) fn run(args: &RetryArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    if let Some(sink) = &args.forget {
        return forget(args, sink, &config, shell, output);
    }
    let (done, interrupted) = crate::cli::block_on(async {
        let store = args.store.open_existing(&config).await?;
        let notifier = args.notify.notifier(&config, &args.fetch, &args.tls, &store, shell)?;
        let Some(notifier) = notifier else {
            return Err(CliError::refused("configuration", "there is nobody to tell")
                .hint("name a webhook in CARDPROOF_WEBHOOK_URL or audit.webhook_url, or a program with --notify-command; --forget gives up what waits"));
        };
        for sink in Notifier::keys(&notifier) {
            store.enable_sink(&sink).await.map_err(database::failed)?;
        }
        let mut stop = Stop::on_signals()?;
        let done = notify::deliver((&store, None), Some(&notifier), args.notify.notify_patience, &mut stop, shell).await?;
        store.close().await;
        Ok((done, stop.is_told()))
    })?;
    let (told, waiting) = done;
    if interrupted {
        return Ok(Exit::Interrupted);
    }
    if output.json {
        shell.document(&RetryDocument { schema: "cardproof.audit-retry/1", told, waiting, forgotten: 0 });
    } else {
        shell.note(&format!("{told} changes told, {waiting} still wait"));
    }
    Ok(if waiting == 0 { Exit::Ok } else { Exit::CannotTell })
}

/// Gives up what waits for a sink, such as one that is not configured any more.
fn forget(args: &RetryArgs, sink: &str, config: &Config, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let (forgotten, waiting) = crate::cli::block_on(async {
        let store = args.store.open_existing(config).await?;
        let forgotten = store.give_up(sink).await.map_err(database::failed)?;
        let waiting = store.waiting(None).await.map_err(database::failed)?;
        store.close().await;
        Ok((forgotten, waiting))
    })?;
    if forgotten == 0 {
        let names: Vec<_> = waiting.iter().map(|waiting| waiting.sink.as_str()).collect();
        let hint =
            if names.is_empty() { "nothing waits".to_owned() } else { format!("what waits, waits for: {}", names.join(", ")) };
        return Err(CliError::negative("nothing_waits", format!("nothing waits for a sink of the name {sink}")).hint(hint));
    }
    let waiting = waiting.iter().map(|waiting| waiting.count).sum();
    if output.json {
        shell.document(&RetryDocument { schema: "cardproof.audit-retry/1", told: 0, waiting, forgotten });
    } else {
        shell.note(&format!("{forgotten} changes given up that waited for {sink}; {waiting} still wait for others"));
    }
    Ok(Exit::Ok)
}
