use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::identity::{ContractAddress, Network};
use crate::registry::Timestamp;

/// How to talk to one node.
#[derive(Debug, Clone)]
pub struct NodeSettings {
    /// How long connecting may take, TLS included.
    pub connect_timeout: Duration,
    /// How long the node may take for one answer.
    pub call_deadline: Duration,
    /// How long one call may take with all its retries. Load shedding is retried for as long as this.
    pub patience: Duration,
    /// How often a connection is asked whether it still lives, also while nothing is asked of the node.
    pub keep_alive_interval: Duration,
    /// How long the answer to that may take before the connection is given up.
    pub keep_alive_timeout: Duration,
    /// How often a call is repeated when the node cannot be reached or breaks off.
    pub retries: u32,
    /// How long to wait before the first repetition. Doubles each time; up to half of it is left to chance.
    pub first_backoff: Duration,
    /// What the wait does not grow beyond.
    pub longest_backoff: Duration,
    /// How many calls may be under way at once.
    pub max_in_flight: usize,
    /// Certificates (PEM) of further authorities to trust.
    pub ca_files: Vec<PathBuf>,
    /// Trust the system's authorities instead of the compiled-in ones.
    pub native_roots: bool,
}

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            call_deadline: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            keep_alive_interval: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(5),
            retries: 4,
            first_backoff: Duration::from_millis(100),
            longest_backoff: Duration::from_secs(2),
            max_in_flight: 24,
            ca_files: Vec::new(),
            native_roots: false,
        }
    }
}

/// Which chain to read, from which nodes, and what to insist on.
#[derive(Debug, Clone)]
pub struct ChainSettings {
    /// The network. A node whose genesis block is another is refused.
    pub network: Network,
    /// The registry to read: the network's, unless set to another.
    pub registry: ContractAddress,
    /// URLs of the nodes' gRPC API v2, in order of preference: the network's, unless set to others.
    pub nodes: Vec<String>,
    /// How to talk to each.
    pub node: NodeSettings,
    /// How many nodes must give the same answer. `None` asks them in order until one answers.
    pub quorum: Option<NonZeroUsize>,
    /// How old the newest finalized block may be. `None` accepts any.
    pub max_block_age: Option<Duration>,
    /// How far the time of a node's newest finalized block must be past a transaction's expiry before that node is believed when it does
    /// not know the transaction: behind one address there may be several nodes.
    pub expiry_margin: Duration,
    /// The folder that keeps module sources by their reference. `None` keeps none.
    pub module_cache: Option<PathBuf>,
    /// The current time.
    pub clock: fn() -> Timestamp,
}

impl ChainSettings {
    /// The settings for `network`: its nodes in order, no quorum, blocks at most 10 minutes old, no module cache.
    pub fn new(network: Network) -> Self {
        Self {
            registry: network.registry,
            nodes: network.nodes.iter().map(|url| url.to_string()).collect(),
            network,
            node: NodeSettings::default(),
            quorum: None,
            max_block_age: Some(Duration::from_secs(600)),
            expiry_margin: Duration::from_secs(60),
            module_cache: None,
            clock: system_time,
        }
    }
}

/// The time of this machine's clock; 0 when it stands before 1970.
fn system_time() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}
