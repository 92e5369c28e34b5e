use cardproof::agent_list::{discover, entry_of_card, ListFile};
use serde::Serialize;

use super::change::{self, ChangeDocument, ConflictOptions};
use super::failed;
use crate::cli::card::fetch::{nothing_found, AttemptDocument};
use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{FetchOptions, OutputOptions, TlsOptions};
use crate::cli::shell::Shell;

/// Add a running agent by what its card says
///
/// Tries the URL itself and the well-known places, /.well-known/agent-card.json and /.well-known/agent.json. A card without a name
/// needs --name.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The URL of the agent, its card or its site
    #[arg(value_name = "URL")]
    url: String,
    /// The name in the list [default: the one in the card]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    conflicts: ConflictOptions,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

/// `cardproof.agents-discover/1`: where the card was, and what was done to the list.
#[derive(Serialize)]
struct DiscoverDocument {
    schema: &'static str,
    attempts: Vec<AttemptDocument>,
    card_url: String,
    sha256: String,
    caip19: Option<String>,
    change: ChangeDocument,
}

pub(super) fn run(args: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let fetcher = connect::fetcher(&crate::cli::card::fetch::typed(&args.fetch, &args.url), &args.tls, &config)?;
    let discovery = crate::cli::block_on(async { discover(&fetcher, &args.url).await.map_err(failed) })?;
    let attempts: Vec<AttemptDocument> = discovery.attempts.iter().map(AttemptDocument::from).collect();
    let Some(found) = discovery.found else {
        if !output.json {
            attempts.iter().for_each(|attempt| shell.note(&attempt.line()));
        }
        return Err(nothing_found(&args.url, &discovery.attempts, output));
    };
    attempts.iter().for_each(|attempt| shell.detail(&attempt.line()));
    let mut entry = match &args.name {
        // A card without a name is no obstacle when the user gives one.
        Some(name) => {
            let mut reading = found.reading.clone();
            name.clone_into(&mut reading.profile.name);
            entry_of_card(&reading, &found.final_url)
        }
        None => entry_of_card(&found.reading, &found.final_url),
    }
    .map_err(failed)?;
    if let Some(name) = &args.name {
        entry = entry.renamed(name).map_err(failed)?;
    }
    let caip19 = found.reading.identity.and_then(|identity| identity.caip19()).map(|token| token.to_string());
    let done = change::add(vec![entry], &args.conflicts, file, shell)?;
    let change = ChangeDocument::of(done, Vec::new(), file);
    if !output.json {
        shell.note(&format!("the card is at {}", found.url));
        return Ok(change.report(shell, output));
    }
    shell.document(&DiscoverDocument {
        schema: "cardproof.agents-discover/1",
        attempts,
        card_url: found.url,
        sha256: found.sha256.to_string(),
        caip19,
        change,
    });
    Ok(Exit::Ok)
}
