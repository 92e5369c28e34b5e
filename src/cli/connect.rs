//! Makes a chain reader and a card fetcher out of what the user chose.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use cardproof::chain::{AtBlock, ChainClient, ChainError, ChainErrorKind, ChainSettings};
use cardproof::fetch::{FetchSettings, Fetcher};
use cardproof::identity::{ContractAddress, Network};

use super::config::Config;
use super::exit::CliError;
use super::options::{FetchOptions, NodeOptions, TlsOptions};
use super::settings::{parse, parse_duration, NodeChoice};

/// A client for the registry `contract` of `network`.
pub(crate) fn chain(
    options: &NodeOptions,
    tls: &TlsOptions,
    config: &Config,
    network: &Network,
    contract: ContractAddress,
    at: AtBlock,
) -> Result<ChainClient, CliError> {
    ChainClient::new(chain_settings(options, tls, config, network, contract, at)?).map_err(refused)
}

/// How such a client is set up.
pub(crate) fn chain_settings(
    options: &NodeOptions,
    tls: &TlsOptions,
    config: &Config,
    network: &Network,
    contract: ContractAddress,
    at: AtBlock,
) -> Result<ChainSettings, CliError> {
    let choice = NodeChoice::resolve(options, config, network)?;
    let mut settings = ChainSettings::new(network.clone());
    settings.registry = contract;
    settings.nodes = choice.urls;
    settings.quorum = choice.quorum.and_then(|n| NonZeroUsize::new(n.into()));
    // A block of the past is old by intention.
    settings.max_block_age = (at == AtBlock::LastFinalized).then_some(choice.max_block_age);
    settings.module_cache = choice.cache.map(|folder| folder.join("modules"));
    if let Some(timeout) = choice.timeout {
        settings.node.call_deadline = timeout;
        settings.node.connect_timeout = settings.node.connect_timeout.min(timeout);
        settings.node.patience = settings.node.patience.max(timeout);
    }
    settings.node.ca_files = ca_files(tls, config);
    settings.node.native_roots = native_roots(tls, config);
    Ok(settings)
}

/// The one guarded fetcher.
pub(crate) fn fetcher(options: &FetchOptions, tls: &TlsOptions, config: &Config) -> Result<Fetcher, CliError> {
    fetcher_of(fetch_settings(options, tls, config)?)
}

/// A fetcher with these settings.
pub(crate) fn fetcher_of(settings: FetchSettings) -> Result<Fetcher, CliError> {
    Fetcher::new(settings).map_err(|error| CliError::refused("configuration", error.to_string()))
}

/// How such a fetcher is set up.
pub(crate) fn fetch_settings(options: &FetchOptions, tls: &TlsOptions, config: &Config) -> Result<FetchSettings, CliError> {
    let configured = &config.fetch;
    let mut settings = FetchSettings {
        allow_http: options.allow_http.unwrap_or(configured.allow_http),
        allow_private: options.allow_private.unwrap_or(configured.allow_private),
        // A no that was said holds for what was typed, too.
        typed_http: options.allow_http != Some(false),
        typed_private: options.allow_private != Some(false),
        allow_hosts: if options.allow_host.is_empty() { configured.allow_host.clone() } else { options.allow_host.clone() },
        ipfs_gateways: if options.ipfs_gateway.is_empty() {
            configured.ipfs_gateway.clone()
        } else {
            options.ipfs_gateway.clone()
        },
        extra_roots: ca_files(tls, config),
        native_roots: native_roots(tls, config),
        ..FetchSettings::default()
    };
    if let Some(size) = options.max_bytes {
        settings.max_bytes = size.as_u64();
    } else if let Some(text) = &configured.max_bytes {
        settings.max_bytes = parse::<bytesize::ByteSize>("fetch.max_bytes", text)?.as_u64();
    }
    if let Some(timeout) = options.timeout {
        settings.deadline = timeout;
    } else if let Some(text) = &configured.timeout {
        settings.deadline = parse_duration("fetch.timeout", text)?;
    }
    if settings.deadline.is_zero() {
        return Err(CliError::usage(
            "a timeout of no time lets no card be fetched (--timeout, CARDPROOF_TIMEOUT or fetch.timeout)",
        ));
    }
    if let Some(proxy) = proxy(options, config)? {
        settings.proxy = Some(
            proxy
                .parse()
                .map_err(|error: cardproof::fetch::FetchSetupError| CliError::refused("configuration", error.to_string()))?,
        );
    }
    Ok(settings)
}

/// The proxy from the command line, the environment or the configuration, in this order.
fn proxy<'a>(options: &'a FetchOptions, config: &'a Config) -> Result<Option<Cow<'a, str>>, CliError> {
    if let Some(typed) = &options.proxy {
        // Other users of the machine can read a command line.
        if typed.contains('@') {
            return Err(CliError::usage("a proxy URL with a user name or password may not stand on the command line")
                .hint("put it into CARDPROOF_PROXY or, as fetch.proxy, into the configuration"));
        }
        return Ok(Some(Cow::Borrowed(typed)));
    }
    let environment = std::env::var("CARDPROOF_PROXY").ok().filter(|proxy| !proxy.is_empty());
    Ok(environment.map(Cow::Owned).or(config.fetch.proxy.as_deref().map(Cow::Borrowed)))
}

fn ca_files(tls: &TlsOptions, config: &Config) -> Vec<std::path::PathBuf> {
    if tls.ca_file.is_empty() {
        config.ca_file.clone()
    } else {
        tls.ca_file.clone()
    }
}

fn native_roots(tls: &TlsOptions, config: &Config) -> bool {
    tls.native_roots.or(config.native_roots).unwrap_or(false)
}

/// A chain error that ends the whole command, with the exit code that fits it.
pub(crate) fn refused(error: ChainError) -> CliError {
    match error.kind {
        ChainErrorKind::WrongNetwork => CliError::refused("wrong_network", error.message)
            .hint("choose the network with --network, or its genesis block with --genesis-hash"),
        ChainErrorKind::BlockNotFound => CliError::refused("block_not_found", error.message),
        ChainErrorKind::Configuration => CliError::refused("configuration", error.message),
        ChainErrorKind::RegistryNotFound => {
            CliError::refused("registry_not_found", error.message).hint("check --contract and --network")
        }
        ChainErrorKind::NodeUnavailable => CliError::cannot_tell("node_unavailable", error.message)
            .hint("check the node with cardproof doctor, or name another with --node"),
        ChainErrorKind::NodeError => CliError::cannot_tell("node_error", error.message),
        ChainErrorKind::NodeBehind => CliError::cannot_tell("node_behind", error.message)
            .hint("wait until the node has caught up, or accept older blocks with --max-block-age"),
        ChainErrorKind::NodesDisagree => CliError::cannot_tell("nodes_disagree", error.message),
        ChainErrorKind::RecordUndecodable => CliError::cannot_tell("record_undecodable", error.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_on_the_command_line_or_in_the_environment_wins_over_a_yes_in_the_file() {
        let mut config = Config::default();
        (config.fetch.allow_http, config.fetch.allow_private, config.native_roots) = (true, true, Some(true));
        let chosen = |choice| {
            let options = FetchOptions { allow_http: choice, allow_private: choice, ..Default::default() };
            let tls = TlsOptions { native_roots: choice, ..Default::default() };
            let settings = fetch_settings(&options, &tls, &config).unwrap();
            [settings.allow_http, settings.allow_private, settings.native_roots]
        };
        assert_eq!(chosen(Some(false)), [false; 3]);
        assert_eq!(chosen(Some(true)), [true; 3]);
        assert_eq!(chosen(None), [true; 3], "what is not said is left to the file");
    }
}
