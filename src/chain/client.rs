use std::sync::Arc;
use std::time::Duration;

use super::foreign::shortened;
use super::module::ModuleStore;
use super::node::Node;
use super::several::Nodes;
use super::{
    AgentReader, AtBlock, Block, ChainError, ChainErrorKind, ChainSettings, DecodedWith, Instance, Invocation, Invoked, Module,
    ModuleRef, Reading, Rejection,
};
use crate::identity::{ContractAddress, TokenId};
use crate::registry::parameter::{AgentByExternalReference, AgentOf, Parameter};
use crate::registry::{self, AgentRecord, EncodeError, ExternalReference};

/// The name of a registry's contract (registry facts, section 2).
pub(super) const CONTRACT: &str = "CIS-8004";
/// The energy that a view is allowed at first: some fifty times what reading an ordinary record takes.
const VIEW_ENERGY: u64 = 100_000;

/// A chain, read through one node or several.
pub struct ChainClient {
    pub(super) settings: ChainSettings,
    pub(super) nodes: Nodes,
    pub(super) modules: ModuleStore,
}

impl ChainClient {
    /// A client for the chain and the nodes of `settings`. Nothing is sent before the first question.
    ///
    /// # Errors
    /// [`ChainErrorKind::Configuration`] for a URL or a certificate file that cannot be used, no node at all, or a quorum
    /// larger than the number of nodes.
    pub fn new(settings: ChainSettings) -> Result<Self, ChainError> {
        let nodes = Nodes::new(&settings)?;
        let modules = ModuleStore::new(settings.module_cache.clone());
        Ok(Self { settings, nodes, modules })
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &ChainSettings {
        &self.settings
    }

    /// Sentences about what went wrong since the last time and changed no result, such as a cache that cannot be written.
    pub fn take_warnings(&self) -> Vec<String> {
        self.modules.take_warnings()
    }

    /// The contract at `address`.
    ///
    /// # Errors
    /// [`ChainErrorKind::RegistryNotFound`] when there is none, and whatever keeps a node from answering.
    pub async fn instance(&self, block: &Block, address: ContractAddress) -> Result<Instance, ChainError> {
        let describe = |instance: &Instance| format!("{address} runs module {}", instance.module_ref);
        self.nodes.ask(describe, |node| async move { node.instance(block, address).await }).await
    }

    /// Tries a call at `block`. Nothing on the chain changes.
    ///
    /// # Errors
    /// Whatever keeps a node from answering. A rejection is an answer.
    pub async fn invoke(&self, block: &Block, call: &Invocation) -> Result<Invoked, ChainError> {
        let describe = |invoked: &Invoked| match invoked {
            Invoked::Returned { value, .. } => described_bytes(value),
            Invoked::Rejected { rejection, .. } => rejection.to_string(),
        };
        self.nodes.ask(describe, |node| async move { node.invoke(block, call).await }).await
    }

    /// What an entry point that only reads returns.
    ///
    /// `contract_name` is the contract's name without `init_`, such as `CIS-8004`.
    ///
    /// # Errors
    /// [`ChainErrorKind::NodeError`] when the call is rejected, and whatever keeps a node from answering.
    pub async fn view(
        &self,
        block: &Block,
        contract: ContractAddress,
        contract_name: &str,
        entry_point: &str,
        parameter: Vec<u8>,
    ) -> Result<Vec<u8>, ChainError> {
        let call = view_of(contract, contract_name, entry_point, parameter);
        let call = &call;
        let describe = |outcome: &Result<Vec<u8>, Rejection>| match outcome {
            Ok(value) => described_bytes(value),
            Err(rejection) => rejection.to_string(),
        };
        let outcome = self.nodes.ask(describe, |node| async move { node.view(block, call).await }).await?;
        outcome.map_err(|rejection| rejected(&call.receive_name, &rejection))
    }

    /// The agent bound to an external reference, as a record: not as a token id (registry facts, section 9).
    ///
    /// # Errors
    /// As [`AgentReader::read`], and [`ChainErrorKind::Configuration`] for a reference that is too long for a parameter.
    pub async fn agent_by_external_reference(&self, block: &Block, reference: &ExternalReference) -> Result<Reading, ChainError> {
        self.record(block, &AgentByExternalReference(reference.clone())).await
    }

    /// A module, from memory, the cache folder or a node.
    ///
    /// # Errors
    /// Whatever keeps a node from sending it. A module whose schema cannot be read is no error.
    pub async fn module(&self, block: &Block, reference: ModuleRef) -> Result<Arc<Module>, ChainError> {
        // The reference proves the source: one node is enough, whatever the quorum.
        let download = self.nodes.first(|node| async move {
            node.ensure_network().await?;
            node.module_source(block, reference).await
        });
        self.modules.get(reference, download).await
    }

    /// The configured registry's module at `block`: what its schema says about parameters and events.
    ///
    /// # Errors
    /// As [`ChainClient::instance`] and [`ChainClient::module`].
    pub async fn registry_module(&self, block: &Block) -> Result<Arc<Module>, ChainError> {
        let instance = self.instance(block, self.settings.registry).await?;
        self.module(block, instance.module_ref).await
    }

    async fn record<P: Parameter>(&self, block: &Block, question: &P) -> Result<Reading, ChainError> {
        let entry_point = P::ENTRY_POINT.name();
        let unusable = |error: EncodeError| ChainError::new(ChainErrorKind::Configuration, format!("{entry_point}: {error}"));
        let call = view_of(self.settings.registry, CONTRACT, entry_point, question.to_bytes().map_err(unusable)?);
        let call = &call;
        let answer = self.nodes.ask(Answer::describe, |node| async move { Answer::of(&node, block, call).await }).await?;
        let value = match answer.outcome {
            Ok(value) => value,
            Err(rejection) if means_no_agent(&rejection) => {
                let module_ref = answer.module_ref;
                return Ok(Reading { record: None, decoded_with: None, schema_problem: None, module_ref });
            }
            Err(rejection) => return Err(rejected(&call.receive_name, &rejection)),
        };
        let (module, schema_problem) = match self.module(block, answer.module_ref).await {
            Ok(module) => {
                let unreadable = |problem| format!("the schema embedded in it cannot be read: {problem}");
                let problem = module.schema_problem.as_ref().map(unreadable);
                (Some(module), problem)
            }
            Err(error) => {
                self.modules.warn(format!("records are read by the fixed layout: {error}"));
                (None, Some(error.message))
            }
        };
        let schema = module.as_ref().and_then(|module| module.return_type(CONTRACT, entry_point));
        let (record, decoded_with) = match schema {
            Some(schema) => (registry::schema::decode_agent_of_with_schema(schema, &value), DecodedWith::Schema),
            None => (registry::decode_agent_of(&value), DecodedWith::Layout),
        };
        let record = record.map_err(|error| undecodable(&call.receive_name, &error.to_string()))?;
        Ok(Reading { record, decoded_with: Some(decoded_with), schema_problem, module_ref: answer.module_ref })
    }

    /// Refuses a block that is too old to say how things stand, or whose age nobody can tell.
    pub(super) fn check_age(&self, block: &Block) -> Result<(), String> {
        let Some(limit) = self.settings.max_block_age else { return Ok(()) };
        let now = (self.settings.clock)();
        let ahead = Duration::from_millis(block.time.0.saturating_sub(now.0));
        if ahead > limit {
            return Err(format!(
                "says that its newest finalized block, at height {}, was made {} from now, so its age cannot be told: set this \
                 machine's clock, or ask another node",
                block.height,
                in_words(ahead)
            ));
        }
        let age = Duration::from_millis(now.0.saturating_sub(block.time.0));
        if age <= limit {
            return Ok(());
        }
        let (age, limit) = (in_words(age), in_words(limit));
        Err(format!(
            "is behind: its newest finalized block, at height {}, is {age} old, more than the {limit} allowed",
            block.height
        ))
    }
}

impl AgentReader for ChainClient {
    async fn pin(&self, at: AtBlock) -> Result<Block, ChainError> {
        match at {
            AtBlock::LastFinalized => self.nodes.pin(at, |block| self.check_age(block)).await,
            named => self.nodes.pin(named, |_| Ok(())).await,
        }
    }

    async fn read(&self, block: &Block, agent: TokenId) -> Result<Reading, ChainError> {
        let reading = self.record(block, &AgentOf(agent)).await?;
        match &reading.record {
            Some(AgentRecord { token_id, .. }) if *token_id != agent => {
                Err(undecodable("agentOf", &format!("it is of agent {token_id}, and agent {agent} was asked for")))
            }
            _ => Ok(reading),
        }
    }
}

/// What one node says about an agent, before anything in it is read.
#[derive(PartialEq)]
struct Answer {
    module_ref: ModuleRef,
    outcome: Result<Vec<u8>, Rejection>,
}

impl Answer {
    async fn of(node: &Node, block: &Block, call: &Invocation) -> Result<Self, ChainError> {
        let (instance, outcome) = tokio::join!(node.instance(block, call.contract), node.view(block, call));
        let instance = instance?.if_registry(call.contract)?;
        Ok(Self { module_ref: instance.module_ref, outcome: outcome? })
    }

    fn describe(&self) -> String {
        let value = match &self.outcome {
            Ok(value) => value,
            Err(rejection) => return format!("{rejection}, by module {}", self.module_ref),
        };
        let record = match registry::decode_agent_of(value) {
            Ok(None) => "there is no such agent".into(),
            Ok(Some(record)) => {
                let uri = record.agent_uri.as_deref().map_or("none".into(), shortened);
                let hash = record.metadata_hash.map_or("none".into(), |hash| hash.to_string());
                format!("the URI is {uri}, the hash {hash}, the status {}", record.status.as_str())
            }
            Err(_) => "its record cannot be read".into(),
        };
        format!("{record} ({}, by module {})", described_bytes(value), self.module_ref)
    }
}

impl Instance {
    /// This contract, if it is a registry by its name.
    pub(super) fn if_registry(self, address: ContractAddress) -> Result<Self, ChainError> {
        let what = match self.init_name.strip_prefix("init_") {
            Some(CONTRACT) if !self.is_v0 => return Ok(self),
            Some(CONTRACT) => "it is of the first kind of contracts, which answer no questions".into(),
            _ => format!("its name is {}", shortened(&self.init_name)),
        };
        let message = format!("the contract at {address} is no {CONTRACT} registry: {what}");
        Err(ChainError::new(ChainErrorKind::RegistryNotFound, message))
    }
}

impl Node {
    /// Calls an entry point that only reads. One that needs more energy than usual gets what the node allows.
    async fn view(&self, block: &Block, call: &Invocation) -> Result<Result<Vec<u8>, Rejection>, ChainError> {
        let mut invoked = self.invoke(block, call).await?;
        if matches!(invoked, Invoked::Rejected { rejection: Rejection::OutOfEnergy, .. }) {
            invoked = self.invoke(block, &Invocation { energy: None, ..call.clone() }).await?;
        }
        match invoked {
            Invoked::Returned { value, .. } => Ok(Ok(value)),
            // How much a node allows is its own affair, and no answer.
            Invoked::Rejected { rejection: Rejection::OutOfEnergy, .. } => {
                let what =
                    format_args!("allows too little energy for the answer of {}; another node may allow more", call.receive_name);
                Err(self.error(ChainErrorKind::NodeError, what))
            }
            Invoked::Rejected { rejection, .. } => Ok(Err(rejection)),
        }
    }
}

fn view_of(contract: ContractAddress, name: &str, entry_point: &str, parameter: Vec<u8>) -> Invocation {
    let receive_name = format!("{name}.{entry_point}");
    Invocation { contract, receive_name, parameter, invoker: None, microccd: 0, energy: Some(VIEW_ENERGY) }
}

/// The proposal's way to say that there is no agent. The deployed registry returns `None` instead (registry facts, section 1).
fn means_no_agent(rejection: &Rejection) -> bool {
    const AGENT_NOT_FOUND: i32 = -7200;
    const INVALID_TOKEN_ID: i32 = -42_000_001;
    matches!(rejection.code(), Some(AGENT_NOT_FOUND | INVALID_TOKEN_ID))
}

fn rejected(receive_name: &str, rejection: &Rejection) -> ChainError {
    let hint = rejection.code().and_then(|code| registry::Rejection::of(code).hint);
    let hint = hint.map(|hint| format!(". {hint}")).unwrap_or_default();
    ChainError::new(ChainErrorKind::NodeError, format!("{receive_name} was rejected: {rejection}{hint}"))
}

fn undecodable(receive_name: &str, why: &str) -> ChainError {
    let why = shortened(why);
    ChainError::new(ChainErrorKind::RecordUndecodable, format!("the answer of {receive_name} is not a record: {why}"))
}

fn described_bytes(value: &[u8]) -> String {
    format!("the answer is {} bytes with SHA-256 {}", value.len(), crate::digest::Sha256Digest::of(value))
}

pub(super) fn in_words(time: Duration) -> String {
    let millis = time.subsec_millis();
    match time.as_secs() {
        0 if millis == 1 => "1 millisecond".into(),
        0 => format!("{millis} milliseconds"),
        1 if millis == 0 => "1 second".into(),
        seconds @ 1..=9 if millis != 0 => format!("{} seconds", format!("{seconds}.{millis:03}").trim_end_matches('0')),
        seconds @ 1..=119 => format!("{seconds} seconds"),
        seconds @ 120..=7199 => format!("{} minutes", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} hours", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_time_is_never_said_to_be_nothing_when_it_is_something() {
        for (millis, words) in [
            (0, "0 milliseconds"),
            (1, "1 millisecond"),
            (999, "999 milliseconds"),
            (1_000, "1 second"),
            (1_500, "1.5 seconds"),
            (10_001, "10 seconds"),
            (119_000, "119 seconds"),
            (120_000, "2 minutes"),
            (7_200_000, "2 hours"),
            (172_800_000, "2 days"),
        ] {
            assert_eq!(in_words(Duration::from_millis(millis)), words);
        }
    }
}
