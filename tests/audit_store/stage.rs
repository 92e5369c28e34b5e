//! A store over either database, and verdicts to put into it.

use std::time::Duration;

use cardproof::audit::store::{NewRun, Patience, RecordSettings, Store, StoreLocation};
use cardproof::audit::{AuditOutcome, RunInfo, RunScope, TransitionKind};
use cardproof::chain::{Block, BlockHash};
use cardproof::digest::Sha256Digest;
use cardproof::fetch::FetchTrace;
use cardproof::identity::{AccountAddress, Caip2, ContractAddress, GenesisHash, TokenId};
use cardproof::registry::{AgentStatus, Timestamp};
use cardproof::verify::{Anchor, Evidence, Reason, Subject, Verdict};
use tempfile::TempDir;

/// A test's store. Its file goes with it.
pub struct Stage {
    pub store: Store,
    pub location: StoreLocation,
    _folder: Option<TempDir>,
}

impl Stage {
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = StoreLocation::file(folder.path().join("audit.db"));
        Self { store: Store::open(&location).await.unwrap(), location, _folder: Some(folder) }
    }

    pub async fn postgres() -> Option<Self> {
        let location: StoreLocation = super::postgres::new_database().await?.parse().unwrap();
        Some(Self::at(Store::open(&location).await.unwrap(), location))
    }

    /// A store that is open already.
    pub fn at(store: Store, location: StoreLocation) -> Self {
        Self { store, location, _folder: None }
    }

    /// Another process's view of the same store.
    pub async fn second(&self) -> Store {
        Store::open(&self.location).await.unwrap()
    }

    /// A run of these verdicts from beginning to end.
    pub async fn run(&self, verdicts: Vec<Verdict>, settings: &RecordSettings) -> Vec<AuditOutcome> {
        let run = self.begin().await;
        let outcomes = self.store.record(&run, verdicts, settings).await.unwrap();
        self.store.finish_run(&run).await.unwrap();
        outcomes
    }

    pub async fn begin(&self) -> RunInfo {
        self.begin_at(Some(block(1000))).await
    }

    pub async fn begin_at(&self, block: Option<Block>) -> RunInfo {
        self.store.begin_run(&scope(), NewRun { block, selection: "every agent", ..NewRun::default() }).await.unwrap()
    }
}

/// Makes a module of two tests from one function: one over each database.
macro_rules! on_both {
    ($($name:ident)*) => {
        $(mod $name {
            #[tokio::test]
            async fn sqlite() {
                super::$name(crate::stage::Stage::sqlite().await).await;
            }

            #[tokio::test]
            async fn postgres() {
                if let Some(stage) = crate::stage::Stage::postgres().await {
                    super::$name(stage).await;
                }
            }
        })*
    };
}
pub(crate) use on_both;

pub fn scope() -> RunScope {
    RunScope { network: "devnet".into(), genesis: GenesisHash([7; 32]), contract: ContractAddress::new(9001, 0) }
}

pub fn block(height: u64) -> Block {
    Block { hash: BlockHash([3; 32]), height, time: Timestamp(1_785_000_000_000 + height) }
}

pub fn digest(text: &str) -> Sha256Digest {
    Sha256Digest::of(text.as_bytes())
}

pub fn settings() -> RecordSettings {
    RecordSettings::default()
}

pub fn patient(min_consecutive: u64, undecided_after: u64) -> RecordSettings {
    RecordSettings { patience: Patience { min_consecutive, undecided_after }, sinks: Vec::new() }
}

/// An agent as a test describes it, and what its check found.
#[derive(Clone)]
pub struct Agent {
    pub id: u64,
    pub reason: Reason,
    pub anchored: Option<&'static str>,
    pub body: Option<&'static str>,
    pub uri: Option<String>,
    pub owner: u8,
    pub status: AgentStatus,
    pub at: u64,
    pub registered_at: Option<u64>,
}

pub fn agent(id: u64) -> Agent {
    Agent {
        id,
        reason: Reason::Match,
        anchored: Some("card"),
        body: Some("card"),
        uri: Some(format!("https://cards.example/{id}")),
        owner: 1,
        status: AgentStatus::Active,
        at: 1_790_000_000_000,
        registered_at: None,
    }
}

impl Agent {
    pub fn matching(self) -> Verdict {
        self.verdict()
    }

    pub fn mismatching(self) -> Verdict {
        Self { reason: Reason::HashMismatch, body: Some("another card"), ..self }.verdict()
    }

    pub fn undecided(self) -> Verdict {
        Self { reason: Reason::Timeout, body: None, ..self }.verdict()
    }

    pub fn unread(self) -> Verdict {
        Verdict {
            anchor: None,
            agent_uri: None,
            anchored_sha256: None,
            ..Self { reason: Reason::NodeUnavailable, body: None, ..self }.verdict()
        }
    }

    pub fn missing(self) -> Verdict {
        Verdict { reason: Reason::AgentNotFound, ..self.unread() }
    }

    pub fn at(self, at: u64) -> Self {
        Self { at, ..self }
    }

    pub fn verdict(self) -> Verdict {
        let evidence = Evidence {
            trace: FetchTrace {
                final_url: self.uri.clone(),
                status: self.body.map(|_| 200),
                elapsed: Duration::from_millis(12),
                ..FetchTrace::default()
            },
            bytes: self.body.map(|body| body.len() as u64),
            sha256: self.body.map(digest),
            wire_sha256: self.body.map(digest),
        };
        Verdict {
            subject: Some(Subject {
                network: scope().network,
                chain: Caip2::of(&scope().genesis),
                contract: scope().contract,
                token_id: TokenId(self.id),
            }),
            block: Some(block(1000)),
            anchor: Some(Anchor {
                owner: AccountAddress([self.owner; 32]),
                status: self.status,
                registered_at: self.registered_at.map(Timestamp),
            }),
            agent_uri: self.uri,
            anchored_sha256: self.anchored.map(digest),
            reason: self.reason,
            message: self.reason.sentence().to_owned(),
            evidence: Some(evidence),
            notes: Vec::new(),
            checks: Vec::new(),
            decoded_with: None,
            module_ref: None,
            started_at: Timestamp(self.at),
            elapsed: Duration::from_millis(15),
        }
    }
}

/// The kinds of the transitions of outcomes, in order.
pub fn kinds(outcomes: &[AuditOutcome]) -> Vec<TransitionKind> {
    outcomes.iter().flat_map(|outcome| &outcome.transitions).map(|transition| transition.kind).collect()
}
