use std::time::Duration;

use concordium_rust_sdk::v2::generated as api;
use futures_util::future::join_all;

use super::client::{in_words, CONTRACT};
use super::foreign::shortened;
use super::node::Node;
use super::{AtBlock, Block, ChainClient, ChainError, ChainErrorKind, Instance, ModuleRef};
use crate::identity::{GenesisHash, MAINNET, TESTNET};
use crate::registry::parameter::{Parameter, Supports};
use crate::registry::{self, Support, Timestamp};

/// How far two clocks may differ before it is worth a word: blocks are seconds apart.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// The registry's modules seen so far (registry facts, section 6). For information: the contract is upgraded in place.
const KNOWN_MODULES: [(GenesisHash, &str); 4] = [
    (MAINNET.genesis, "ba03e95330de2ad70cb8551d132bc7afe291b22068172a44e3a00dc09b63855f"),
    (TESTNET.genesis, "2e4fd18a59868e9dbadc03bfab505d307b3f3f5ce9c704e6284d2a626a8e3e41"),
    (TESTNET.genesis, "33e6e42b9d6610acc6c556aaba003cbc4d0de3c6089eab434ef9f7024b72d833"),
    (TESTNET.genesis, "4195e865dc2e4d0da10fc4b2315efedc068b932d050c60f2947dbb5c886f33ac"),
];

/// How one thing that was looked at stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Health {
    /// As it should be.
    Good,
    /// Worth knowing: something works less well, or will not work for long.
    Warning,
    /// Verdicts cannot be reached as long as this stands.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at: `node`, `network`, `protocol`, `finalized_block`, `clock`, `node_version`, `agreement`, `registry`,
    /// `supports`, `module`, `schema`, `module_cache`.
    pub name: &'static str,
    /// How it stands.
    pub health: Health,
    /// One sentence.
    pub message: String,
}

/// What a node says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its URL.
    pub url: String,
    /// The version of the protocol it runs, 1 for the first.
    pub protocol_version: Option<i64>,
    /// The newest block it has finalized.
    pub finalized: Option<Block>,
    /// Its software's version, as it gives it.
    pub version: Option<String>,
}

/// The state of the nodes and of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnosis {
    /// The nodes, in the order of the settings.
    pub nodes: Vec<NodeFacts>,
    /// The module the registry runs.
    pub module_ref: Option<ModuleRef>,
    /// Whether that module carries a schema for `agentOf`.
    pub has_schema: Option<bool>,
    /// Everything that was looked at, in the order in which one thing rests on the other.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    fn add(&mut self, name: &'static str, health: Health, message: impl Into<String>) {
        self.findings.push(Finding { name, health, message: message.into() });
    }
}

/// Looks at each node, at the registry on the chain, at its module, and at the module cache. A failure is a finding, not an error.
pub async fn diagnose(chain: &ChainClient) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    for (facts, findings) in join_all(chain.nodes.all().iter().map(|node| look_at_node(chain, node))).await {
        diagnosis.nodes.push(facts);
        diagnosis.findings.extend(findings);
    }
    if diagnosis.nodes.iter().any(|node| node.finalized.is_some()) {
        // The age of the block was judged above, and need not keep us from looking at the registry.
        match chain.nodes.pin(AtBlock::LastFinalized, |_| Ok(())).await {
            Ok(block) => {
                if let Some(quorum) = chain.nodes.quorum() {
                    let message = format!("{quorum} nodes agree on block {} at height {}", block.hash, block.height);
                    diagnosis.add("agreement", Health::Good, message);
                }
                look_at_registry(chain, &block, &mut diagnosis).await;
            }
            Err(error) => diagnosis.add("agreement", Health::Bad, error.message),
        }
    }
    look_at_cache(chain, &mut diagnosis);
    diagnosis
}

async fn look_at_node(chain: &ChainClient, node: &Node) -> (NodeFacts, Vec<Finding>) {
    let url = node.url().to_owned();
    let mut facts = NodeFacts { url: url.clone(), protocol_version: None, finalized: None, version: None };
    let mut findings = Vec::new();
    let mut add = |name, health, message: String| findings.push(Finding { name, health, message });
    let consensus = match node.consensus().await {
        Ok(consensus) => consensus,
        Err(error) => {
            let name = if error.kind == ChainErrorKind::WrongNetwork { "network" } else { "node" };
            add(name, Health::Bad, error.message);
            return (facts, findings);
        }
    };
    let how = if node.uses_tls() { "over TLS" } else { "without encryption" };
    add("node", Health::Good, format!("the node at {url} answers {how}"));
    let network = &chain.settings.network;
    let name = shortened(&network.name);
    add("network", Health::Good, format!("it is of {name}: its genesis block is {}", network.genesis));
    add("protocol", Health::Good, format!("it runs version {} of the protocol", consensus.protocol_version));
    facts.protocol_version = Some(consensus.protocol_version);

    let now = (chain.settings.clock)();
    let (block, info) = tokio::join!(node.finalized_block(AtBlock::LastFinalized), node.info());
    match block {
        Ok(block) => {
            facts.finalized = Some(block);
            let age = since(block.time, now);
            let sentence = format!("its newest finalized block, at height {}, is {} old", block.height, in_words(age));
            let ahead = since(now, block.time);
            match chain.settings.max_block_age {
                Some(limit) if age > limit => {
                    let why = format!("{sentence}, more than the {} allowed: it may be catching up", in_words(limit));
                    add("finalized_block", Health::Bad, why);
                }
                Some(limit) if ahead > limit => {
                    let why = format!("its newest finalized block was made {} from now: its age cannot be told", in_words(ahead));
                    add("finalized_block", Health::Bad, why);
                }
                _ => add("finalized_block", Health::Good, sentence),
            }
            let (health, sentence) = compare_clocks(block.time, info.as_ref().ok().and_then(|info| info.time), now);
            add("clock", health, sentence);
        }
        Err(error) => add("finalized_block", Health::Bad, error.message),
    }
    match info {
        Ok(info) => {
            add("node_version", Health::Good, format!("its software has version {}", info.version));
            facts.version = Some(info.version);
        }
        Err(_) => add("node_version", Health::Good, "it does not say which version its software has".into()),
    }
    (facts, findings)
}

/// A clock that is behind takes a stale block for a fresh one; one that is ahead takes a fresh one for stale.
fn compare_clocks(block: Timestamp, node: Option<Timestamp>, now: Timestamp) -> (Health, String) {
    let behind = since(now, block).max(node.map_or(Duration::ZERO, |node| since(now, node)));
    let ahead = node.map_or(Duration::ZERO, |node| since(node, now));
    if behind > CLOCK_TOLERANCE {
        (Health::Warning, format!("this machine's clock is at least {} behind", in_words(behind)))
    } else if ahead > CLOCK_TOLERANCE {
        (Health::Warning, format!("this machine's clock is {} ahead of the node's", in_words(ahead)))
    } else if node.is_some() {
        (Health::Good, "this machine's clock agrees with the node's".into())
    } else {
        (Health::Good, "this machine's clock is not behind the chain's".into())
    }
}

/// How long after `earlier` is `later`; nothing when it is not.
fn since(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::from_millis(later.0.saturating_sub(earlier.0))
}

async fn look_at_registry(chain: &ChainClient, block: &Block, diagnosis: &mut Diagnosis) {
    let address = chain.settings.registry;
    let instance = match chain.instance(block, address).await.and_then(|instance| instance.if_registry(address)) {
        Ok(instance) => instance,
        Err(error) => return diagnosis.add("registry", Health::Bad, error.message),
    };
    diagnosis.add("registry", Health::Good, format!("contract {address} is a {CONTRACT} registry"));
    let (health, message) = match supports(chain, block).await {
        Ok(Some(Support::Yes)) => (Health::Good, format!("it says that it supports {CONTRACT}")),
        Ok(Some(Support::By(others))) => {
            let others = others.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            (Health::Warning, format!("it says that others support {CONTRACT} in its place: {others}"))
        }
        Ok(_) => (Health::Warning, format!("it says that it does not support {CONTRACT}")),
        Err(error) => (Health::Warning, format!("it does not say whether it supports {CONTRACT}: {}", error.message)),
    };
    diagnosis.add("supports", health, message);
    look_at_module(chain, block, &instance, diagnosis).await;
}

async fn look_at_module(chain: &ChainClient, block: &Block, instance: &Instance, diagnosis: &mut Diagnosis) {
    let reference = instance.module_ref;
    diagnosis.module_ref = Some(reference);
    let genesis = chain.settings.network.genesis;
    let known: Vec<&str> = KNOWN_MODULES.iter().filter(|(network, _)| *network == genesis).map(|(_, module)| *module).collect();
    let remark = match known.contains(&reference.to_string().as_str()) {
        true => ", which is known",
        false if known.is_empty() => "",
        false => ", which this program does not know: the registry was upgraded since",
    };
    let message = format!("it runs module {reference}{remark}");
    diagnosis.add("module", Health::Good, message);
    let (has_schema, message) = match chain.module(block, reference).await {
        Err(error) => (None, format!("its module cannot be had, records are read by the fixed layout: {}", error.message)),
        Ok(module) => match (module.return_type(CONTRACT, "agentOf"), &module.schema, &module.schema_problem) {
            (Some(_), Some(schema), _) => (Some(true), format!("its module carries a schema (version {})", schema.version)),
            (_, _, Some(problem)) => (Some(false), format!("records are read by the fixed layout: {problem}")),
            _ => (Some(false), "its module carries no schema for agentOf: records are read by the fixed layout".into()),
        },
    };
    diagnosis.has_schema = has_schema;
    diagnosis.add("schema", if has_schema == Some(true) { Health::Good } else { Health::Warning }, message);
}

async fn supports(chain: &ChainClient, block: &Block) -> Result<Option<Support>, ChainError> {
    let unreadable = |why: String| ChainError::new(ChainErrorKind::NodeError, why);
    let question = Supports(vec![CONTRACT.into()]).to_bytes().map_err(|error| unreadable(error.to_string()))?;
    let answer = chain.view(block, chain.settings.registry, CONTRACT, "supports", question).await?;
    let answers = registry::decode_supports(&answer).map_err(|error| unreadable(shortened(&error.to_string())))?;
    Ok(answers.into_iter().next())
}

fn look_at_cache(chain: &ChainClient, diagnosis: &mut Diagnosis) {
    match chain.modules.folder() {
        None => diagnosis.add("module_cache", Health::Good, "no module cache is used"),
        Some((folder, Ok(()))) => {
            diagnosis.add("module_cache", Health::Good, format!("modules are kept in {}", folder.display()));
        }
        Some((folder, Err(error))) => {
            let message = format!("the module cache in {} cannot be written: {error}", folder.display());
            diagnosis.add("module_cache", Health::Warning, message);
        }
    }
}

/// What a node says about its software.
struct NodeInfo {
    version: String,
    time: Option<Timestamp>,
}

impl Node {
    async fn info(&self) -> Result<NodeInfo, ChainError> {
        let info =
            self.call("GetNodeInfo", api::Empty {}, |mut node, request| async move { node.get_node_info(request).await }).await?;
        Ok(NodeInfo { version: shortened(&info.peer_version), time: info.local_time.map(|time| Timestamp(time.value)) })
    }
}
