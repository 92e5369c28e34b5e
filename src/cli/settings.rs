//! What a command works with, after flags, environment, configuration and defaults, in this order of precedence.

use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use cardproof::identity::{AgentName, ContractAddress, Network, TokenId};

use super::config::{Config, NetworkConfig};
use super::exit::CliError;
use super::options::{NetworkOptions, NodeOptions};

/// The network, its registry, and which other contracts a badge may name.
#[derive(Debug, Clone)]
pub(crate) struct NetworkSettings {
    /// The network; its `registry` is the contract in use.
    pub(crate) network: Network,
    /// Contracts that badges may name besides the registry in use.
    pub(crate) trusted: Vec<ContractAddress>,
}

impl NetworkSettings {
    pub(crate) fn resolve(options: &NetworkOptions, config: &Config) -> Result<Self, CliError> {
        let name = options.network.as_deref().unwrap_or(config.own_network());
        let mut network = match config.networks.get(name) {
            Some(table) => from_table(name, table)?,
            None => Network::built_in(name).ok_or_else(|| unknown_network(name, config))?,
        };
        if let Some(genesis) = options.genesis_hash {
            network.genesis = genesis;
        }
        if let Some(contract) = options.contract {
            network.registry = contract;
        } else if let Some(contract) = config.contract.as_ref().filter(|_| name == config.own_network()) {
            network.registry = parse("contract", contract)?;
        }
        let mut trusted = options.trust_contract.clone();
        for contract in &config.trust_contract {
            trusted.push(parse("trust_contract", contract)?);
        }
        Ok(Self { network, trusted })
    }

    /// Which token of which contract a name means, or why it is refused: a badge names its own contract, and following
    /// one to a contract nobody vouches for would let an impostor's registry answer.
    pub(crate) fn locate(&self, agent: &AgentName) -> Result<(ContractAddress, TokenId), CliError> {
        if let AgentName::Caip19(caip) = agent {
            if caip.chain != self.network.caip2() {
                let message = format!("{agent} is on another network than {} ({})", self.network.name, self.network.caip2());
                let home = Network::built_in_names().filter_map(Network::built_in).find(|other| other.caip2() == caip.chain);
                let hint = home.map_or("choose its network with --network".into(), |other| {
                    format!("choose it with --network {}", other.name)
                });
                return Err(CliError::refused("wrong_network", message).hint(hint));
            }
        }
        let Some(badge) = agent.badge() else {
            return Ok((self.network.registry, agent.token_id()));
        };
        if badge.contract == self.network.registry || self.trusted.contains(&badge.contract) {
            return Ok((badge.contract, badge.token_id));
        }
        let message = format!(
            "{agent} was issued by the contract {}, not by the registry {} of {}",
            badge.contract, self.network.registry, self.network.name
        );
        let home = Network::built_in_names().filter_map(Network::built_in).find(|other| other.registry == badge.contract);
        let hint = match home {
            Some(other) => format!("that is the registry of {}: choose it with --network {}", other.name, other.name),
            None => format!("allow it with --trust-contract {},{}", badge.contract.index, badge.contract.subindex),
        };
        Err(CliError::refused("untrusted_contract", message).hint(hint))
    }
}

fn from_table(name: &str, table: &NetworkConfig) -> Result<Network, CliError> {
    let registry: ContractAddress = parse(&format!("networks.{name}.registry"), &table.registry)?;
    let cis8 = match &table.cis8 {
        Some(contract) => parse(&format!("networks.{name}.cis8"), contract)?,
        // The registries of both public networks were made one after the other, the CIS-8 one first.
        None => ContractAddress::new(registry.index.saturating_sub(1), 0),
    };
    Ok(Network {
        name: Cow::Owned(name.to_owned()),
        genesis: parse(&format!("networks.{name}.genesis_hash"), &table.genesis_hash)?,
        registry,
        cis8,
        nodes: table.node.iter().cloned().map(Cow::Owned).collect(),
        explorer: table.explorer.clone().map(Cow::Owned),
    })
}

fn unknown_network(name: &str, config: &Config) -> CliError {
    let mut known: Vec<&str> = Network::built_in_names().collect();
    known.extend(config.networks.keys().map(String::as_str));
    CliError::refused("unknown_network", format!("there is no network named {name}; there are {}", known.join(", ")))
        .hint("describe it in the configuration under [networks.<name>] with genesis_hash, registry and node")
}

/// Reads a value of the configuration.
pub(crate) fn parse<T: FromStr<Err: std::fmt::Display>>(key: &str, text: &str) -> Result<T, CliError> {
    text.parse().map_err(|error| CliError::refused("configuration", format!("{key} in the configuration: {error}")))
}

/// Reads a duration of the configuration.
pub(crate) fn parse_duration(key: &str, text: &str) -> Result<Duration, CliError> {
    humantime::parse_duration(text).map_err(|error| {
        CliError::refused("configuration", format!("{key} in the configuration is not a duration such as 10m: {error}"))
    })
}

/// Which nodes to ask, and how.
#[derive(Debug, Clone)]
pub(crate) struct NodeChoice {
    pub(crate) urls: Vec<String>,
    pub(crate) quorum: Option<u16>,
    pub(crate) max_block_age: Duration,
    pub(crate) timeout: Option<Duration>,
    /// Where contract modules are kept; `None` when nowhere.
    pub(crate) cache: Option<PathBuf>,
}

/// How old the newest finalized block may be when nothing else is said.
const MAX_BLOCK_AGE: Duration = Duration::from_secs(600);

impl NodeChoice {
    pub(crate) fn resolve(options: &NodeOptions, config: &Config, network: &Network) -> Result<Self, CliError> {
        if options.is_offline() {
            return Err(CliError::refused("offline", "this needs a node, and --offline forbids it")
                .hint("leave --offline out, or verify a file with --expect-hash <hex> --file <card>"));
        }
        let configured = if network.name == config.own_network() { config.node.as_slice() } else { &[] };
        let urls = [options.node.as_slice(), configured].into_iter().find(|urls| !urls.is_empty()).map(<[String]>::to_vec);
        let urls = urls.unwrap_or_else(|| network.nodes.iter().map(|url| url.clone().into_owned()).collect());
        if urls.is_empty() {
            return Err(CliError::refused("configuration", format!("no node is known for the network {}", network.name))
                .hint("name one with --node <URL>"));
        }
        if urls.iter().any(|url| url.trim().contains(char::is_whitespace)) {
            return Err(CliError::usage("the URL of a node has a space in it, and no URL has")
                .hint("write a comma between several nodes (--node, CARDPROOF_NODE), or repeat --node"));
        }
        if let Some(bare) = urls.iter().find(|url| !url.contains("://")) {
            return Err(without_scheme(bare));
        }
        let quorum = options.quorum.or(config.quorum);
        if quorum.is_some_and(|n| usize::from(n) > urls.len()) {
            let message =
                format!("a quorum of {} needs as many nodes, and {} given", quorum.unwrap_or(0), count(urls.len(), "is", "are"));
            return Err(CliError::usage(message).hint("name more nodes with --node <URL>"));
        }
        let configured = |key, text: &Option<String>| text.as_deref().map(|text| parse_duration(key, text)).transpose();
        let max_block_age =
            options.max_block_age.or(configured("max_block_age", &config.max_block_age)?).unwrap_or(MAX_BLOCK_AGE);
        let timeout = options.node_timeout.or(configured("node_timeout", &config.node_timeout)?);
        let cache = options.cache_dir.clone().or_else(|| config.cache_dir.clone()).or_else(usual_cache);
        Ok(Self { urls, quorum, max_block_age, timeout, cache: cache.filter(|_| !options.no_cache) })
    }
}

/// A node that was named by host and port alone.
fn without_scheme(node: &str) -> CliError {
    // Anything beyond a host and a port may be a secret, and is not repeated.
    let is_plain = !node.is_empty() && node.chars().all(|c| c.is_ascii_alphanumeric() || ".:-[]".contains(c));
    if !is_plain {
        return CliError::usage("a node is named by a URL such as https://grpc.testnet.concordium.com:20000");
    }
    let host = node.rsplit_once(':').map_or(node, |(host, _)| host).trim_matches(['[', ']']);
    let scheme = if host == "localhost" || host.parse::<std::net::IpAddr>().is_ok() { "http" } else { "https" };
    CliError::usage(format!("the node {node} is not named by a URL: its scheme is missing")).hint(format!("{scheme}://{node}"))
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `cardproof` in the XDG cache folder; none where there is no home folder, which costs speed and nothing else.
fn usual_cache() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::base_strategy::Xdg::new().ok()?.cache_dir().join("cardproof"))
}
