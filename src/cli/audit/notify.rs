//! Telling of what changed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cardproof::audit::notify::{CommandSink, LineSink, Notifier, NotifySettings, Sink, Webhook, WebhookSecret};
use cardproof::audit::store::Store;
use cardproof::audit::RunScope;
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
    /// Start this program for each change, with the change as a line of JSON on its standard input; it acknowledges by exiting
    /// with 0. With arguments it is audit.notify_command in the configuration
    #[arg(long, value_name = "PROGRAM")]
    notify_command: Option<PathBuf>,
    /// Print each change as a line of JSON on stdout, and no results
    #[arg(long, conflicts_with = "json")]
    pub(super) notify_stdout: bool,
    /// The file with the secret that messages to the webhook are signed with (whsec_…), readable for its owner alone, who runs the
    /// audit (one of root's also for a group, as systemd and Kubernetes lend it); the secret
    /// itself can also stand in CARDPROOF_WEBHOOK_SECRET. The webhook's URL may be a secret, too: it comes from
    /// CARDPROOF_WEBHOOK_URL or, as audit.webhook_url, from the configuration
    #[arg(long, value_name = "FILE", env = "CARDPROOF_WEBHOOK_SECRET_FILE")]
    webhook_secret_file: Option<PathBuf>,
    /// How long to keep trying to tell changes before the command ends; what is left is told by the next run, and with
    /// 0s everything
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
        if let Some((url, setting)) = webhook_url(config) {
            let url = url.parse().map_err(|_| {
                CliError::refused("configuration", format!("the webhook's URL in {setting} is no http or https URL"))
            })?;
            let secrets = self.secrets(config)?;
            sinks
                .push(Sink::Webhook(Webhook::new(url, secrets, connect::fetcher(fetch, tls, config)?).map_err(|e| refused(&e))?));
        }
        let typed = self.notify_command.as_ref().map(|program| vec![program.clone().into_os_string()]);
        let command = typed.unwrap_or_else(|| configured.notify_command.iter().map(Into::into).collect());
        if let Some(program) = command.first() {
            refuse_shell_words(program, command.len())?;
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

    /// Without a memory nothing can be told: what was asked for by a setting for all commands is not left out silently.
    pub(super) fn refuse_without_store(&self, config: &Config, shell: &Shell) -> Result<(), CliError> {
        if from_environment(URL).is_some() {
            let message = format!("--no-store tells no changes, and {URL} names a webhook to tell them to");
            return Err(CliError::usage(message).hint(format!("unset {URL}, or leave out --no-store")));
        }
        if config.audit.webhook_url.is_some() || !config.audit.notify_command.is_empty() {
            shell.warning("the webhook or command of the configuration is told nothing: --no-store tells no changes");
        }
        Ok(())
    }

    /// The file with the webhook's secret.
    pub(super) fn secret_file<'a>(&'a self, config: &'a Config) -> Option<&'a Path> {
        self.webhook_secret_file.as_deref().or(config.audit.webhook_secret_file.as_deref())
    }

    fn secrets(&self, config: &Config) -> Result<Vec<WebhookSecret>, CliError> {
        let mut texts = Vec::new();
        if let Some(path) = self.secret_file(config) {
            let text = read_secret(path)?;
            // While a secret is replaced, the file has two lines.
            texts.extend(text.lines().map(|line| (line.to_owned(), path.display().to_string())));
        }
        texts.extend(from_environment(SECRET).map(|text| (text, SECRET.to_owned())));
        let used = texts.iter().filter(|(text, _)| !text.trim().is_empty());
        let secrets: Vec<WebhookSecret> = used
            .map(|(text, setting)| {
                text.parse()
                    .map_err(|error| CliError::refused("configuration", format!("the secret in {setting} is none: {error}")))
            })
            .collect::<Result<_, _>>()?;
        if secrets.is_empty() {
            return Err(CliError::refused("configuration", "the webhook has no secret to sign its messages with").hint(format!(
                "name the file that holds it with --webhook-secret-file, CARDPROOF_WEBHOOK_SECRET_FILE or audit.webhook_secret_file, \
                 or put it into {SECRET}"
            )));
        }
        Ok(secrets)
    }
}

/// Refuses a program of this name that is not there and looks like a command with its arguments: nothing is told by way of a shell.
fn refuse_shell_words(program: &OsStr, words: usize) -> Result<(), CliError> {
    if words > 1 || !program.as_encoded_bytes().contains(&b' ') || Path::new(program).exists() {
        return Ok(());
    }
    let message = format!("there is no program {} to tell changes to", Path::new(program).display());
    Err(CliError::refused("configuration", message).hint(
        "a program with arguments is a list in the configuration: in the table [audit], notify_command = [\"/bin/program\", \"argument\"]",
    ))
}

const URL: &str = "CARDPROOF_WEBHOOK_URL";
const SECRET: &str = "CARDPROOF_WEBHOOK_SECRET";

/// The webhook's URL, and the setting that it comes from.
fn webhook_url(config: &Config) -> Option<(String, &'static str)> {
    let configured = || config.audit.webhook_url.clone().map(|url| (url, "audit.webhook_url of the configuration"));
    from_environment(URL).map(|url| (url, URL)).or_else(configured)
}

/// Reads a file that is this user's alone. One of root's may be readable for a group: the access that systemd and Kubernetes lend to the
/// user of a service looks like that.
fn read_secret(path: &Path) -> Result<String, CliError> {
    let unreadable = |error: io::Error| {
        CliError::refused("configuration", format!("the webhook's secret {} cannot be read: {error}", path.display()))
    };
    let mut file = File::open(path).map_err(unreadable)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let found = file.metadata().map_err(unreadable)?;
        let (mode, owner, me) = (found.permissions().mode() & 0o777, found.uid(), this_user());
        let lent = owner == 0 && me.is_some_and(|me| me != 0);
        let others = if lent { 0o037 } else { 0o077 };
        if found.is_file() && mode & others != 0 {
            let message = format!("other users can read or change the webhook's secret {} (mode {mode:o})", path.display());
            return Err(CliError::refused("configuration", message).hint(format!("chmod 600 {}", path.display())));
        }
        if found.is_file() && !lent && me.is_some_and(|me| me != owner) {
            let message = format!("the webhook's secret {} belongs to another user, who can read and change it", path.display());
            return Err(CliError::refused("configuration", message).hint("make it a file of the user who runs the audit"));
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Who this process is, by what a file of its own says.
#[cfg(unix)]
fn this_user() -> Option<u32> {
    tempfile::tempfile().and_then(|own| own.metadata()).map(|own| std::os::unix::fs::MetadataExt::uid(&own)).ok()
}

fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn refused(error: &dyn std::error::Error) -> CliError {
    CliError::refused("configuration", error.to_string())
}

/// Delivers what is due, and says what could not be delivered and what waits for whom. Returns how much was told, and how much
/// the notifier's sinks have still to take, of whichever registry. What waits for others is said of the registry `scope` alone, if
/// there is one. What is not delivered when the program is told to stop, the next run delivers.
pub(super) async fn deliver(
    (store, scope): (&Store, Option<&RunScope>),
    notifier: Option<&Notifier>,
    patience: Duration,
    stop: &mut Stop,
    shell: &Shell,
) -> Result<(u64, u64), CliError> {
    let mut told = 0;
    if let Some(notifier) = notifier {
        let delivered = tokio::select! {
            biased;
            delivered = notifier.drain(patience) => delivered.map_err(database::failed)?,
            () = stop.told() => {
                shell.warning("interrupted: changes that could not be told yet will be told by the next run");
                return Ok((0, 0));
            }
        };
        for trouble in &delivered.troubles {
            shell.warning(&format!("a change could not be told: {trouble}"));
        }
        told = delivered.acknowledged;
    }
    let configured = notifier.map(Notifier::names).unwrap_or_default();
    let mut waiting = store.waiting(None).await.map_err(database::failed)?;
    let left = waiting.iter().filter(|waiting| configured.contains(&waiting.sink)).map(|waiting| waiting.count).sum();
    for sink in notifier.map(Notifier::keys).unwrap_or_default() {
        if let Some(why) = store.disabled(&sink).await.map_err(database::failed)? {
            let name = &sink.name;
            let count = waiting.iter().find(|waiting| waiting.sink == *name).map_or(0, |waiting| waiting.count);
            waiting.retain(|waiting| waiting.sink != *name);
            shell.warning(&format!(
                "the {name} is disabled: its receiver asked to be left alone ({why}); {}; cardproof audit retry tells it again, and another URL is told at once",
                wait(count)
            ));
        }
    }
    waiting.retain(|waiting| configured.contains(&waiting.sink));
    for sink in notifier.map(Notifier::keys).unwrap_or_default() {
        let Some(waiting) = waiting.iter().find(|waiting| waiting.sink == sink.name) else { continue };
        let due_in = store.outstanding(&sink).await.map_err(database::failed)?.due_in.unwrap_or_default();
        shell.warning(&format!("{} to be told to the {}; {}", wait(waiting.count), sink.name, tried_again(due_in)));
    }
    for other in store.waiting(scope).await.map_err(database::failed)? {
        let (sink, changes) = (&other.sink, wait(other.count));
        if !configured.contains(sink) {
            shell.warning(&format!(
                "{changes} for a sink that is not configured now: {sink}; cardproof audit retry --forget {sink} gives up what waits for it"
            ));
        }
    }
    Ok((told, left))
}

/// When a delivery that failed is tried again.
fn tried_again(due_in: Duration) -> String {
    // Whole seconds, and not fewer than there are.
    match due_in.as_millis().div_ceil(1000) {
        0 => "the next run tries again".to_owned(),
        seconds => {
            let wait = humantime::format_duration(Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX)));
            format!("a run that is at it in {wait} or later tries again, and cardproof audit retry at once")
        }
    }
}

fn wait(count: u64) -> String {
    match count {
        1 => "1 change waits".to_owned(),
        count => format!("{count} changes wait"),
    }
}
