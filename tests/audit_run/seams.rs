//! A chain and hosts in memory, which count what is asked of them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use cardproof::audit::{Audit, AuditSettings};
use cardproof::chain::{
    AgentReader, AtBlock, Block, BlockHash, ChainError, ChainErrorKind, ChainSettings, DecodedWith, ModuleRef, Reading,
};
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{Body, CardFetcher, FailureKind, FetchFailure, FetchTrace, Fetched, Origin};
use cardproof::identity::{AccountAddress, TokenId, TESTNET};
use cardproof::registry::{AgentRecord, AgentStatus, Timestamp};
use cardproof::verify::{Verdict, VerifySettings};

type Records = Arc<dyn Fn(u64, u64) -> Result<Option<AgentRecord>, ChainErrorKind> + Send + Sync>;

/// A chain whose record of an agent is what a function of height and token id says. Each pin finds one more block.
#[derive(Clone)]
pub struct Chain {
    records: Records,
    pub height: Arc<AtomicU64>,
    pub reads: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    silence: Duration,
}

impl Chain {
    pub fn of(records: impl Fn(u64, u64) -> Result<Option<AgentRecord>, ChainErrorKind> + Send + Sync + 'static) -> Self {
        Self {
            records: Arc::new(records),
            height: Arc::default(),
            reads: Arc::default(),
            most: Arc::default(),
            open: Arc::default(),
            silence: Duration::ZERO,
        }
    }

    /// That the node is unavailable is found out only after so long.
    pub fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    pub fn most_reads(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

pub fn record(id: u64, uri: &str, card: &[u8]) -> AgentRecord {
    AgentRecord {
        token_id: TokenId(id),
        owner_account: AccountAddress([7; 32]),
        agent_uri: Some(uri.to_owned()),
        metadata_hash: Some(Sha256Digest::of(card)),
        external_reference: None,
        agent_wallet: None,
        status: AgentStatus::Active,
        registered_at: Timestamp(0),
        revoked_at: None,
        revocation_reason: None,
        on_chain_metadata: Vec::new(),
    }
}

impl AgentReader for Chain {
    async fn pin(&self, at: AtBlock) -> Result<Block, ChainError> {
        let height = match at {
            AtBlock::Height(height) => height,
            _ => self.height.fetch_add(1, Ordering::SeqCst) + 1,
        };
        Ok(Block { hash: BlockHash([height as u8; 32]), height, time: Timestamp(0) })
    }

    async fn read(&self, block: &Block, agent: TokenId) -> Result<Reading, ChainError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.open.fetch_sub(1, Ordering::SeqCst);
        let told = (self.records)(block.height, agent.0);
        if told == Err(ChainErrorKind::NodeUnavailable) {
            tokio::time::sleep(self.silence).await;
        }
        match told {
            Ok(record) => Ok(Reading {
                record,
                decoded_with: Some(DecodedWith::Layout),
                schema_problem: None,
                module_ref: ModuleRef([7; 32]),
            }),
            Err(kind) => Err(ChainError { kind, message: "the node said no".into() }),
        }
    }
}

type Answers = Arc<dyn Fn(&str, usize) -> Result<Vec<u8>, FailureKind> + Send + Sync>;

/// Hosts that answer what a function of the URL and of how often it was asked for says.
#[derive(Clone)]
pub struct Hosts {
    answers: Answers,
    asked: Arc<Mutex<HashMap<String, usize>>>,
    open: Arc<Mutex<HashMap<String, usize>>>,
    most: Arc<Mutex<HashMap<String, usize>>>,
    most_in_all: Arc<AtomicUsize>,
    latency: Duration,
    slow: Arc<HashSet<String>>,
}

impl Hosts {
    pub fn of(answers: impl Fn(&str, usize) -> Result<Vec<u8>, FailureKind> + Send + Sync + 'static) -> Self {
        Self {
            answers: Arc::new(answers),
            asked: Arc::default(),
            open: Arc::default(),
            most: Arc::default(),
            most_in_all: Arc::default(),
            latency: Duration::from_millis(1),
            slow: Arc::default(),
        }
    }

    /// Every host takes so long for an answer.
    pub fn with_latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// These hosts answer only after 20 seconds.
    pub fn with_slow(mut self, hosts: &[&str]) -> Self {
        self.slow = Arc::new(hosts.iter().map(|host| (*host).to_owned()).collect());
        self
    }

    /// How often each URL was asked for.
    pub fn asked(&self) -> HashMap<String, usize> {
        self.asked.lock().unwrap().clone()
    }

    /// The most requests at one time to each host.
    pub fn most(&self) -> HashMap<String, usize> {
        self.most.lock().unwrap().clone()
    }

    pub fn most_in_all(&self) -> usize {
        self.most_in_all.load(Ordering::SeqCst)
    }
}

impl CardFetcher for Hosts {
    async fn fetch(&self, uri: &str, _: Origin) -> Result<Fetched, FetchFailure> {
        let host = uri.split('/').nth(2).unwrap_or_default().to_owned();
        let times = {
            let mut asked = self.asked.lock().unwrap();
            let times = asked.entry(uri.to_owned()).or_default();
            *times += 1;
            *times
        };
        {
            let mut open = self.open.lock().unwrap();
            let now = open.entry(host.clone()).or_default();
            *now += 1;
            let mut most = self.most.lock().unwrap();
            let most = most.entry(host.clone()).or_default();
            *most = (*most).max(*now);
            self.most_in_all.fetch_max(open.values().sum(), Ordering::SeqCst);
        }
        let latency = if self.slow.contains(&host) { Duration::from_secs(20) } else { self.latency };
        tokio::time::sleep(latency).await;
        *self.open.lock().unwrap().get_mut(&host).unwrap() -= 1;
        let trace = FetchTrace { final_url: Some(uri.to_owned()), status: Some(200), ..FetchTrace::default() };
        match (self.answers)(uri, times) {
            Ok(body) => Ok(Fetched {
                trace,
                wire_sha256: Sha256Digest::of(&body),
                body: Body { sha256: Sha256Digest::of(&body), bytes: body.len() as u64, kept: Some(Bytes::from(body)) },
                looks_like_bot_wall: false,
                length_verified: true,
            }),
            Err(kind) => Err(FetchFailure { kind, message: "the host said no".into(), retryable: true, trace }),
        }
    }
}

pub fn settings() -> AuditSettings {
    AuditSettings::new(VerifySettings::new(&ChainSettings::new(TESTNET.network())))
}

/// All verdicts of a run, by token id. Each agent has exactly one, or this panics.
pub async fn verdicts(
    chain: &Chain,
    hosts: &Hosts,
    settings: AuditSettings,
    targets: impl Iterator<Item = u64> + Send + 'static,
) -> HashMap<u64, Verdict> {
    let audit = Audit::begin(chain.clone(), hosts.clone(), settings).await.unwrap();
    let mut running = audit.start(targets.map(TokenId));
    let mut verdicts = HashMap::new();
    while let Some(verdict) = running.next().await {
        let verdict = verdict.unwrap();
        let id = verdict.subject.as_ref().unwrap().token_id.0;
        assert!(verdicts.insert(id, verdict).is_none(), "agent {id} has two results");
    }
    verdicts
}
