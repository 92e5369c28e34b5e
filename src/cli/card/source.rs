//! Where a card comes from: a file, standard input, a URL, or an agent's record on chain.

use std::ffi::OsStr;
use std::path::Path;

use cardproof::card::convert::NotACard;
use cardproof::chain::{AgentReader, AtBlock};
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{CardFetcher, Fetcher, Origin};
use cardproof::identity::{AgentName, Network};
use cardproof::registry::AgentRecord;

use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::CliError;
use crate::cli::failure;
use crate::cli::hash::{is_url, needs_network};
use crate::cli::input;
use crate::cli::options::{FetchOptions, NodeOptions, OutputOptions, TlsOptions};
use crate::cli::settings::NetworkSettings;

/// How cards are brought that are not local.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct SourceOptions {
    #[command(flatten)]
    pub(super) node: NodeOptions,
    #[command(flatten)]
    pub(super) fetch: FetchOptions,
    #[command(flatten)]
    pub(super) tls: TlsOptions,
}

/// A card's bytes and where they came from.
pub(super) struct Source {
    /// What the user named.
    pub(super) name: String,
    /// The URL that was fetched, if one was.
    pub(super) url: Option<String>,
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: Sha256Digest,
    /// The agent that was named, if one was: its record, and the network with the registry it was found in.
    pub(super) agent: Option<(Network, AgentRecord)>,
}

impl Source {
    /// What the user gave is no card, so nothing is done with it; that a host serves none is an answer about the host.
    pub(super) fn is_no_card(&self, error: &NotACard) -> CliError {
        let message = format!("{}: {error}", self.name);
        match self.url {
            Some(_) => CliError::negative("not_a_card", message),
            None => CliError::refused("not_a_card", message),
        }
    }
}

/// The agent that an argument names. A file of that name comes before it, which is rare and can be told apart by `./`.
pub(super) fn named_agent(name: &OsStr) -> Option<AgentName> {
    let text = name.to_str()?;
    if text == "-" || is_url(text) || Path::new(text).exists() {
        return None;
    }
    text.parse().ok()
}

/// Brings the bytes of what the user named. A file of that name comes before an agent.
pub(super) fn load(named: &OsStr, options: &SourceOptions, output: &OutputOptions) -> Result<Source, CliError> {
    // The name of a file need not be text; a URL and an agent are.
    let name = named.to_string_lossy().into_owned();
    if let Some(name) = named.to_str().filter(|name| is_url(name)) {
        needs_network(options.node.is_offline(), name)?;
        let config = Config::load(output.config.as_deref())?;
        let fetcher = connect::fetcher(&options.fetch, &options.tls, &config)?;
        return crate::cli::block_on(fetched(&fetcher, name, name, Origin::User));
    }
    if let Some(agent) = named_agent(named) {
        return of_agent(&name, &agent, options, output);
    }
    let bytes = input::bytes(Path::new(named))?;
    Ok(Source { name, url: None, sha256: Sha256Digest::of(&bytes), bytes, agent: None })
}

/// The record of an agent, and the network with the registry it was found in.
pub(super) async fn record(
    agent: &AgentName,
    node: &NodeOptions,
    tls: &TlsOptions,
    config: &Config,
) -> Result<(Network, AgentRecord), CliError> {
    let settings = NetworkSettings::resolve(&node.network, config)?;
    let (contract, token_id) = settings.locate(agent)?;
    let reader = connect::chain(node, tls, config, &settings.network, contract, AtBlock::LastFinalized)?;
    let block = reader.pin(AtBlock::LastFinalized).await.map_err(connect::refused)?;
    let reading = reader.read(&block, token_id).await.map_err(connect::refused)?;
    let record = reading.record.ok_or_else(|| {
        let name = &settings.network.name;
        CliError::negative("agent_not_found", format!("the registry {contract} of {name} has no agent {token_id}"))
    })?;
    Ok((Network { registry: contract, ..settings.network }, record))
}

fn of_agent(name: &str, agent: &AgentName, options: &SourceOptions, output: &OutputOptions) -> Result<Source, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let fetcher = connect::fetcher(&options.fetch, &options.tls, &config)?;
    crate::cli::block_on(async {
        let (network, record) = record(agent, &options.node, &options.tls, &config).await?;
        let uri = record
            .agent_uri
            .clone()
            .ok_or_else(|| CliError::negative("no_uri_on_chain", format!("the agent {name} has no card: its URI is not set")))?;
        let source = fetched(&fetcher, name, &uri, Origin::Untrusted).await?;
        Ok(Source { agent: Some((network, record)), ..source })
    })
}

async fn fetched(fetcher: &Fetcher, name: &str, url: &str, origin: Origin) -> Result<Source, CliError> {
    let body = match fetcher.fetch(url, origin).await {
        Ok(fetched) if fetched.length_verified => fetched.body,
        Ok(_) => {
            let message = format!("{url}: nothing proves that the body is complete");
            return Err(CliError::cannot_tell("truncated", message));
        }
        Err(failure) => return Err(failure::of_fetch(url, &failure, origin)),
    };
    let Some(bytes) = body.kept else {
        let message = format!("{url}: the body has {} bytes, which is more than a card may have here", body.bytes);
        return Err(CliError::cannot_tell("too_large", message).hint("save it to a file, and name the file"));
    };
    Ok(Source { name: name.to_owned(), url: Some(url.to_owned()), bytes: bytes.to_vec(), sha256: body.sha256, agent: None })
}
