use std::path::PathBuf;

use cardproof::agent_list::{discover, Attempt};
use serde::Serialize;

use super::write::to_file;
use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{FetchOptions, OutputOptions, TlsOptions};
use crate::cli::shell::Shell;

/// Find the card of a site or an agent at the well-known places
///
/// Tries /.well-known/agent-card.json and /.well-known/agent.json, and the URL itself, and says which answered. The card's bytes go to
/// stdout, or with --out to a file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The site: example.com, or a URL
    #[arg(value_name = "SITE")]
    site: String,
    /// Write the card to this file
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

/// One place that was tried.
#[derive(Debug, Serialize)]
pub(crate) struct AttemptDocument {
    url: String,
    found: bool,
    status: Option<u16>,
    message: Option<String>,
}

impl From<&Attempt> for AttemptDocument {
    fn from(attempt: &Attempt) -> Self {
        Self {
            url: attempt.url.clone(),
            found: attempt.failure.is_none(),
            status: attempt.status,
            message: attempt.failure.clone(),
        }
    }
}

impl AttemptDocument {
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.url, self.message.as_deref().unwrap_or("the card is here"))
    }
}

/// `cardproof.card-fetch/1`: where the card was.
#[derive(Serialize)]
struct FetchDocument {
    schema: &'static str,
    attempts: Vec<AttemptDocument>,
    url: String,
    final_url: String,
    sha256: String,
    bytes: usize,
    out: Option<String>,
    /// The exact text, when it was not written to a file.
    card: Option<String>,
}

pub(super) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let fetcher = connect::fetcher(&typed(&args.fetch, &args.site), &args.tls, &config)?;
    let discovery =
        crate::cli::block_on(async { discover(&fetcher, &args.site).await.map_err(|error| CliError::usage(error.to_string())) })?;
    let attempts: Vec<AttemptDocument> = discovery.attempts.iter().map(AttemptDocument::from).collect();
    if !output.json {
        attempts.iter().for_each(|attempt| shell.note(&attempt.line()));
    }
    let Some(found) = discovery.found else {
        return Err(nothing_found(&args.site, &discovery.attempts, output));
    };
    if !found.length_verified {
        shell.warning("nothing proves that the answer is complete, so its hash may not be that of the card");
    }
    if let Some(path) = &args.out {
        to_file(path, &found.bytes)?;
    }
    if output.json {
        shell.document(&FetchDocument {
            schema: "cardproof.card-fetch/1",
            attempts,
            url: found.url,
            final_url: found.final_url,
            sha256: found.sha256.to_string(),
            bytes: found.bytes.len(),
            out: args.out.as_ref().map(|path| path.display().to_string()),
            card: args.out.is_none().then(|| String::from_utf8_lossy(&found.bytes).into_owned()),
        });
    } else if let Some(path) = &args.out {
        shell.line(&format!("{}  {}", found.sha256, path.display()));
    } else {
        shell.bytes(&found.bytes);
        shell.note(&format!("sha256 {}", found.sha256));
    }
    Ok(Exit::Ok)
}

/// The options for a URL that the user typed: who types `http:` wants it, unless it was said that nobody does.
pub(crate) fn typed(options: &FetchOptions, url: &str) -> FetchOptions {
    let is_http = url.trim().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"));
    let allow_http = if is_http { options.allow_http.or(Some(true)) } else { options.allow_http };
    FetchOptions { allow_http, ..options.clone() }
}

/// No place had a card. Whether that is an answer depends on whether every place answered.
pub(crate) fn nothing_found(site: &str, attempts: &[Attempt], output: &OutputOptions) -> CliError {
    let telling = attempts.iter().find(|attempt| attempt.status.is_none()).or(attempts.first());
    let why = |attempt: &Attempt| attempt.failure.clone().unwrap_or_default();
    // People have read of each attempt already; a document stands alone.
    let why = match output.json {
        true => attempts.iter().map(|attempt| format!("{}: {}", attempt.url, why(attempt))).collect::<Vec<_>>().join("; "),
        false => telling.map(why).unwrap_or_default(),
    };
    let message = format!("no card was found at {site}, in {} places tried: {why}", attempts.len());
    if attempts.iter().all(|attempt| attempt.status.is_some() && !attempt.retryable) {
        CliError::negative("no_card", message)
    } else {
        CliError::cannot_tell("no_card", message)
    }
}
