use std::collections::BTreeMap;

use cardproof::agent_list::{Entry, ListError, ListFile, OnChain, Transport, TransportKind};
use cardproof::identity::AgentName;

use super::change::{self, ChangeDocument, ConflictOptions};
use super::failed;
use crate::cli::config::Config;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{NetworkOptions, OutputOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;

/// Add an agent by name and URL
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its name, unique in the list
    #[arg(value_name = "NAME")]
    name: String,
    /// Where it is reached
    #[arg(value_name = "URL")]
    url: String,
    /// What it does
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its version
    #[arg(long, value_name = "VERSION")]
    agent_version: Option<String>,
    /// How it is reached when not over HTTP: ssh, docker or stdio
    #[arg(long, value_name = "KIND")]
    transport: Option<TransportKind>,
    /// A setting of the transport (repeatable); ssh needs host
    #[arg(long, value_name = "KEY=VALUE", requires = "transport")]
    transport_config: Vec<String>,
    /// Its identity on chain: a token id, a badge or a CAIP-19 identifier
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    #[command(flatten)]
    conflicts: ConflictOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(super) fn run(args: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let mut entry = entry(args).map_err(failed)?;
    if let Some(agent) = &args.agent {
        let config = Config::load(output.config.as_deref())?;
        let settings = NetworkSettings::resolve(&args.network, &config)?;
        settings.locate(agent)?;
        entry.set_on_chain(&OnChain::of_name(agent, &settings.network)).map_err(failed)?;
    }
    let done = change::add(vec![entry], &args.conflicts, file, shell)?;
    Ok(ChangeDocument::of(done, Vec::new(), file).report(shell, output))
}

fn entry(args: &Args) -> Result<Entry, ListError> {
    let mut entry = Entry::new(&args.name, &args.url)?;
    if let Some(description) = &args.description {
        entry.set("description", description)?;
    }
    if let Some(version) = &args.agent_version {
        entry.set("version", version)?;
    }
    let transport = args.transport.map(|kind| Transport::new(kind, settings(&args.transport_config)?)).transpose()?;
    entry.set("transport", &transport)?;
    entry.require_reachable()?;
    Ok(entry)
}

fn settings(pairs: &[String]) -> Result<BTreeMap<String, String>, ListError> {
    pairs
        .iter()
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(ListError::Invalid(format!("a setting of a transport is written key=value, and {pair} is not"))),
        })
        .collect()
}
