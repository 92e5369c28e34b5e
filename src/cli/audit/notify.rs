//! Telling of what changed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use cardproof::audit::notify::{CommandSink, LineSink, Notifier, NotifyError, NotifySettings, Sink, Webhook, WebhookSecret};
use cardproof::audit::store::Store;
use cardproof::fetch::FetchSetupError;
use clap::Args;

use super::database;
use super::stop::Stop;
use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::CliError;
use crate::cli::options::{FetchOptions, TlsOptions};
use crate::cli::shell::Shell;

/// Whom to tell. A webhook's URL may be a secret: it comes from CARDPROOF_WEBHOOK_URL or, as audit.webhook_url, from the
/// configuration.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Alerts")]
pub(super) struct NotifyOptions {
    /// Start this program for each change, with the change as a line of JSON on its standard input
    #[arg(long, value_name = "PROGRAM")]
    notify_command: Option<PathBuf>,
    /// Print each change as a line of JSON on stdout, and no results
    #[arg(long, conflicts_with = "json")]
    pub(super) notify_stdout: bool,
    /// The file with the secret of the webhook (whsec_…); it can also stand in CARDPROOF_WEBHOOK_SECRET
    #[arg(long, value_name = "FILE", env = "CARDPROOF_WEBHOOK_SECRET_FILE")]
    webhook_secret_file: Option<PathBuf>,
    /// How long to keep trying to deliver before the command ends; what is left is delivered by the next run
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(super) notify_patience: Duration,
}

/// How long a program may take for one change.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

impl NotifyOptions {
    /// The sinks that were chosen; `None` without any.
    pub(super) fn notifier(
        &self,
        config: &Config,
        fetch: &FetchOptions,
        tls: &TlsOptions,
        store: &Store,
        shell: &Shell,
    ) -> Result<Option<Notifier>, CliError> {
        let mut sinks = Vec::new();
        let configured = &config.audit;
        if let Some(url) = from_environment("CARDPROOF_WEBHOOK_URL").or_else(|| configured.webhook_url.clone()) {
            let url = url.parse().map_err(|error: FetchSetupError| refused(&error))?;
            let secrets = self.secrets(config)?;
            sinks
                .push(Sink::Webhook(Webhook::new(url, secrets, connect::fetcher(fetch, tls, config)?).map_err(|e| refused(&e))?));
        }
        let typed = self.notify_command.as_ref().map(|program| vec![program.clone().into_os_string()]);
        let command = typed.unwrap_or_else(|| configured.notify_command.iter().map(Into::into).collect());
        if !command.is_empty() {
            sinks.push(Sink::Command(CommandSink::new(command, COMMAND_TIMEOUT).map_err(|error| refused(&error))?));
        }
        if self.notify_stdout {
            let shell = shell.clone();
            let print = move |line: &str| -> io::Result<()> {
                shell.json_line(line);
                Ok(())
            };
            sinks.push(Sink::Line(LineSink::new(print)));
        }
        if sinks.is_empty() {
            return Ok(None);
        }
        Notifier::new(store.clone(), sinks, NotifySettings::default()).map(Some).map_err(|error| refused(&error))
    }

    fn secrets(&self, config: &Config) -> Result<Vec<WebhookSecret>, CliError> {
        let mut texts = Vec::new();
        if let Some(path) = self.webhook_secret_file.as_ref().or(config.audit.webhook_secret_file.as_ref()) {
            let text = std::fs::read_to_string(path).map_err(|error| {
                CliError::refused("configuration", format!("the webhook's secret {} cannot be read: {error}", path.display()))
            })?;
            // While a secret is replaced, the file has two lines.
            texts.extend(text.lines().map(str::to_owned));
        }
        texts.extend(from_environment("CARDPROOF_WEBHOOK_SECRET"));
        let parse = |text: &String| text.parse().map_err(|error: NotifyError| refused(&error));
        texts.iter().filter(|text| !text.trim().is_empty()).map(parse).collect()
    }
}

fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn refused(error: &dyn std::error::Error) -> CliError {
    CliError::refused("configuration", error.to_string())
}

/// Delivers what is due, and says what cannot be delivered. What is not delivered when the program is told to stop, the next run
/// delivers.
pub(super) async fn deliver(notifier: &Notifier, patience: Duration, stop: &mut Stop, shell: &Shell) -> Result<(), CliError> {
    let delivered = tokio::select! {
        biased;
        delivered = notifier.drain(patience) => delivered.map_err(database::failed)?,
        () = stop.told() => {
            shell.warning("interrupted: changes that could not be told yet will be told by the next run");
            return Ok(());
        }
    };
    for trouble in &delivered.troubles {
        shell.warning(&format!("a change could not be told and will be told again: {trouble}"));
    }
    Ok(())
}
