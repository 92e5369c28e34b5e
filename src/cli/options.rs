//! Options that several commands share.

use std::path::PathBuf;
use std::time::Duration;

use cardproof::identity::{ContractAddress, GenesisHash};
use clap::{ArgAction, Args};

use super::switch::Switch;

/// What every command understands.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputOptions {
    /// Print one JSON document instead of text
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Say more on stderr (stdout never changes)
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Output")]
    pub(crate) verbose: u8,
    /// Say nothing but errors, warnings and the hash of what is sent, by which it is found again, on stderr (stdout never changes)
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// The configuration file [default: cardproof/cardproof.toml in the XDG configuration folder]
    #[arg(long, global = true, value_name = "FILE", env = "CARDPROOF_CONFIG", help_heading = "Output")]
    pub(crate) config: Option<PathBuf>,
    /// Whether the network was chosen on the command line, which means more than a setting made for all commands.
    #[arg(skip)]
    pub(crate) network_is_typed: bool,
}

/// Which network and registry.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkOptions {
    /// mainnet, testnet, devnet, or a network of the configuration [default: mainnet]
    #[arg(long, value_name = "NAME", env = "CARDPROOF_NETWORK")]
    pub(crate) network: Option<String>,
    /// The registry's contract address: 10082,0 or <10082,0> or 10082 [default: the network's]
    #[arg(long, value_name = "INDEX,SUBINDEX", env = "CARDPROOF_CONTRACT")]
    pub(crate) contract: Option<ContractAddress>,
    /// Also accept badges that name this contract (repeatable)
    #[arg(long, value_name = "INDEX,SUBINDEX", env = "CARDPROOF_TRUST_CONTRACT", value_delimiter = ';')]
    pub(crate) trust_contract: Vec<ContractAddress>,
    /// The genesis hash the node must have [default: the network's]
    #[arg(long, value_name = "HEX", env = "CARDPROOF_GENESIS_HASH")]
    pub(crate) genesis_hash: Option<GenesisHash>,
}

/// Which nodes to ask, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Node")]
pub(crate) struct NodeOptions {
    #[command(flatten)]
    pub(crate) network: NetworkOptions,
    /// URL of a node's gRPC API v2; repeat it, or write commas between several, to have others to fall back on [default: the
    /// network's]
    #[arg(long, value_name = "URL", env = "CARDPROOF_NODE", value_delimiter = ',')]
    pub(crate) node: Vec<String>,
    /// Believe only what this many of the nodes agree on
    #[arg(long, value_name = "N", env = "CARDPROOF_QUORUM", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) quorum: Option<u16>,
    /// How old the newest finalized block may be [default: 10m]
    #[arg(long, value_name = "DURATION", env = "CARDPROOF_MAX_BLOCK_AGE", value_parser = humantime::parse_duration)]
    pub(crate) max_block_age: Option<Duration>,
    /// How long one call to a node may take [default: 10s]
    #[arg(long, value_name = "DURATION", env = "CARDPROOF_NODE_TIMEOUT", value_parser = humantime::parse_duration)]
    pub(crate) node_timeout: Option<Duration>,
    /// Neither read nor write the cache of contract modules
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// The folder of the cache [default: cardproof in the XDG cache folder]
    #[arg(long, value_name = "FOLDER", env = "CARDPROOF_CACHE_DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Do only what needs no network
    #[arg(long, env = "CARDPROOF_OFFLINE", value_parser = Switch, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) offline: Option<bool>,
}

impl NodeOptions {
    /// Whether nothing may be asked of a network.
    pub(crate) fn is_offline(&self) -> bool {
        self.offline.unwrap_or(false)
    }
}

/// Whom to trust for TLS, for nodes and hosts alike.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsOptions {
    /// Also trust the certificate authorities in this PEM file (repeatable)
    #[arg(long, value_name = "PEM", env = "CARDPROOF_CA_FILE", value_delimiter = ',')]
    pub(crate) ca_file: Vec<PathBuf>,
    /// Trust the system's certificate authorities instead of the compiled-in ones
    #[arg(long, env = "CARDPROOF_NATIVE_ROOTS", value_parser = Switch, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) native_roots: Option<bool>,
}

/// How cards are fetched.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fetching")]
pub(crate) struct FetchOptions {
    /// Also fetch plain http URLs
    #[arg(long, env = "CARDPROOF_ALLOW_HTTP", value_parser = Switch, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_http: Option<bool>,
    /// Also fetch from loopback and private addresses (never from link-local ones)
    #[arg(long, env = "CARDPROOF_ALLOW_PRIVATE", value_parser = Switch, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_private: Option<bool>,
    /// Also fetch from this host when its address is loopback or private (repeatable)
    #[arg(long, value_name = "NAME", env = "CARDPROOF_ALLOW_HOST", value_delimiter = ',')]
    pub(crate) allow_host: Vec<String>,
    /// The largest card, after content decoding [default: 8MiB]
    #[arg(long, value_name = "SIZE", env = "CARDPROOF_MAX_BYTES")]
    pub(crate) max_bytes: Option<bytesize::ByteSize>,
    /// How long a fetch may take, redirects and retries included [default: 20s]
    #[arg(long, value_name = "DURATION", env = "CARDPROOF_TIMEOUT", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Fetch ipfs: URIs through this gateway (repeatable, tried in order); the hash still decides
    #[arg(long, value_name = "URL", env = "CARDPROOF_IPFS_GATEWAY", value_delimiter = ',')]
    pub(crate) ipfs_gateway: Vec<String>,
    /// Fetch through this proxy; one with a password belongs in CARDPROOF_PROXY or the configuration
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
}
