use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use concordium_rust_sdk::v2::generated::{queries_client::QueriesClient, Empty};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{sleep, timeout, Instant};
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use super::contract::Instance;
use super::foreign::shortened;
use super::reach;
use super::target::Target;
use super::{BlockHash, ChainError, ChainErrorKind, ModuleRef, NodeSettings};
use crate::identity::{ContractAddress, GenesisHash, Network};
use crate::tls;

/// How many blocks' instances a node's answers are remembered for.
const REMEMBERED_INSTANCES: usize = 8;
/// Where an answer says which block it was made at, in hexadecimal digits.
const ANSWERED_AT: &str = "blockhash";

/// The client of the node's API as it is generated from its definition.
pub(crate) type Queries = QueriesClient<Channel>;

/// What a node said about one contract at one block, for all who ask at once: a failure as well, so that they do not
/// wait for one failure after the other.
pub(super) type InstanceCell = Arc<OnceCell<Result<Instance, ChainError>>>;

/// One node: a connection that is made when needed, and calls that are repeated when it is worth it.
pub(crate) struct Node {
    target: Target,
    settings: NodeSettings,
    network: String,
    expected: GenesisHash,
    channel: Mutex<Option<Channel>>,
    in_flight: Semaphore,
    /// Whether the node behind the present connection was found to be of the expected network.
    verified: AtomicBool,
    instances: Mutex<VecDeque<((BlockHash, ContractAddress), InstanceCell)>>,
    /// The modules in whose place the node sent something else. It is not asked for them again.
    other_modules: Mutex<HashSet<ModuleRef>>,
}

/// A call that failed.
#[derive(Debug)]
pub(crate) struct CallError {
    /// The status the node answered with, `Unavailable` when it did not answer.
    pub(crate) code: Code,
    /// The failure for those who do not care about the code.
    pub(crate) error: ChainError,
}

impl From<CallError> for ChainError {
    fn from(failure: CallError) -> Self {
        failure.error
    }
}

impl Node {
    pub(crate) fn new(url: &str, settings: &NodeSettings, network: &Network) -> Result<Self, ChainError> {
        Ok(Self {
            target: Target::new(url, settings)?,
            settings: settings.clone(),
            network: network.name.to_string(),
            expected: network.genesis,
            channel: Mutex::new(None),
            in_flight: Semaphore::new(settings.max_in_flight.max(1)),
            verified: AtomicBool::new(false),
            instances: Mutex::new(VecDeque::new()),
            other_modules: Mutex::default(),
        })
    }

    /// Scheme, host and port.
    pub(crate) fn url(&self) -> &str {
        &self.target.url
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn uses_tls(&self) -> bool {
        self.target.tls
    }

    /// An error that begins with the node's name.
    pub(crate) fn error(&self, kind: ChainErrorKind, what: impl std::fmt::Display) -> ChainError {
        ChainError::new(kind, format!("the node at {} {what}", self.url()))
    }

    /// The error for an answer that lacks something.
    pub(crate) fn lacks(&self, method: &str, what: &str) -> ChainError {
        self.error(ChainErrorKind::NodeError, format_args!("answered {method} without {what}"))
    }

    /// Calls `method` and repeats it while the failure may pass: load shedding for as long as the node's patience lasts,
    /// a broken or missing connection as often as the settings say. Every call of it ends in bounded time.
    pub(crate) async fn call<R, T, F, Fut>(&self, method: &str, request: R, ask: F) -> Result<T, CallError>
    where
        R: Clone,
        F: Fn(Queries, R) -> Fut,
        Fut: Future<Output = Result<Response<T>, Status>>,
    {
        self.answer(method, request, ask).await.map(Response::into_inner)
    }

    /// As [`call`](Self::call), for an answer that must be of `block`: one that names another block answers another question.
    pub(crate) async fn call_at<R, T, F, Fut>(&self, method: &str, block: BlockHash, request: R, ask: F) -> Result<T, CallError>
    where
        R: Clone,
        F: Fn(Queries, R) -> Fut,
        Fut: Future<Output = Result<Response<T>, Status>>,
    {
        let answer = self.answer(method, request, ask).await?;
        self.check_block(method, block, answer.metadata())?;
        Ok(answer.into_inner())
    }

    /// Compares the block that an answer says it was made at with the one that was named. A node need not say it.
    pub(super) fn check_block(&self, method: &str, asked: BlockHash, metadata: &MetadataMap) -> Result<(), CallError> {
        for told in metadata.get_all(ANSWERED_AT) {
            let mut hash = [0; 32];
            let what = match hex::decode_to_slice(told.as_bytes(), &mut hash) {
                Ok(()) if hash == asked.0 => continue,
                Ok(()) => format!("answered {method} at block {}, where block {asked} was asked about", BlockHash(hash)),
                Err(_) => format!("answered {method} at a block whose hash cannot be read"),
            };
            return Err(CallError { code: Code::Unknown, error: self.error(ChainErrorKind::NodeError, what) });
        }
        Ok(())
    }

    /// The answer with its metadata, under the rules of [`call`](Self::call).
    pub(super) async fn answer<R, T, F, Fut>(&self, method: &str, request: R, ask: F) -> Result<Response<T>, CallError>
    where
        R: Clone,
        F: Fn(Queries, R) -> Fut,
        Fut: Future<Output = Result<Response<T>, Status>>,
    {
        // Held during the waits as well: a node that sheds load is not helped by more callers.
        let _permit = self.in_flight.acquire().await;
        let give_up = Instant::now() + self.settings.patience;
        let (mut repeated, mut breaks) = (0, 0);
        loop {
            let failure = match timeout(self.settings.call_deadline, ask(self.client(), request.clone())).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => Failure::Status(status),
                Err(_) => {
                    // The connection may be half open: the next call gets a new one.
                    self.disconnect();
                    Failure::Deadline
                }
            };
            breaks += u32::from(!failure.is_load_shedding());
            let wait = self.backoff(repeated);
            repeated += 1;
            let worth_it = failure.may_pass() && breaks <= self.settings.retries && Instant::now() + wait < give_up;
            if !worth_it {
                return Err(self.describe(method, failure).await);
            }
            sleep(wait).await;
        }
    }

    /// Makes sure, once per connection, that the node is of the expected network.
    pub(crate) async fn ensure_network(&self) -> Result<(), ChainError> {
        if !self.verified.load(Ordering::Acquire) {
            let consensus = self
                .call("GetConsensusInfo", Empty {}, |mut node, request| async move { node.get_consensus_info(request).await })
                .await?;
            self.check_genesis(consensus.genesis_block.map(|hash| hash.value))?;
        }
        Ok(())
    }

    /// Compares the genesis hash of a consensus status with the expected one.
    pub(crate) fn check_genesis(&self, genesis: Option<Vec<u8>>) -> Result<(), ChainError> {
        let genesis: [u8; 32] = genesis
            .and_then(|hash| hash.try_into().ok())
            .ok_or_else(|| self.lacks("GetConsensusInfo", "the hash of its genesis block"))?;
        let genesis = GenesisHash(genesis);
        if genesis != self.expected {
            let name = Network::name_of(&genesis).map(|name| format!(" ({name})")).unwrap_or_default();
            let what = format_args!(
                "is of the network with genesis block {genesis}{name}, not of {} ({})",
                shortened(&self.network),
                self.expected
            );
            return Err(self.error(ChainErrorKind::WrongNetwork, what));
        }
        self.verified.store(true, Ordering::Release);
        Ok(())
    }

    /// The place where what the node says about a contract at a block is remembered.
    pub(super) fn remembered(&self, block: BlockHash, contract: ContractAddress) -> InstanceCell {
        let mut known = locked(&self.instances);
        let key = (block, contract);
        if let Some((_, cell)) = known.iter().find(|(known_key, _)| *known_key == key) {
            return cell.clone();
        }
        if known.len() >= REMEMBERED_INSTANCES {
            known.pop_front();
        }
        let cell = Arc::new(OnceCell::new());
        known.push_back((key, cell.clone()));
        cell
    }

    /// Lets the next one who wants to know ask again.
    pub(super) fn forget(&self, failed: &InstanceCell) {
        locked(&self.instances).retain(|(_, cell)| !Arc::ptr_eq(cell, failed));
    }

    /// Whether the node sent something else in the place of this module before.
    pub(super) fn sent_another(&self, module: ModuleRef) -> bool {
        locked(&self.other_modules).contains(&module)
    }

    /// Remembers that the node sent something else in the place of this module.
    pub(super) fn remember_another(&self, module: ModuleRef) {
        locked(&self.other_modules).insert(module);
    }

    fn client(&self) -> Queries {
        let mut channel = locked(&self.channel);
        QueriesClient::new(channel.get_or_insert_with(|| self.target.channel()).clone())
    }

    fn disconnect(&self) {
        self.verified.store(false, Ordering::Release);
        *locked(&self.channel) = None;
    }

    fn backoff(&self, repeated: u32) -> Duration {
        let full = self.settings.first_backoff.saturating_mul(2_u32.saturating_pow(repeated)).min(self.settings.longest_backoff);
        full / 2 + full.mul_f64(fastrand::f64() / 2.0)
    }

    async fn describe(&self, method: &str, failure: Failure) -> CallError {
        let status = match failure {
            Failure::Deadline => {
                let cause = format!("no answer to {method} within {:.0?}", self.settings.call_deadline);
                return self.unreachable(&cause).await;
            }
            // Only a status of our own transport has a source: the wire carries none.
            Failure::Status(status) if status.source().is_some() => return self.unreachable(&reach::cause(&status)).await,
            Failure::Status(status) => status,
        };
        if let Some(http) = http_status_of_a_proxy(&status) {
            let kind = match http {
                429 | 502..=504 => ChainErrorKind::NodeUnavailable,
                _ => ChainErrorKind::NodeError,
            };
            let what = format_args!("gives no answer: something in front of it answered {method} with HTTP {http}");
            return CallError { code: status.code(), error: self.error(kind, what) };
        }
        // The client's own refusal of a long message comes as a status, too.
        if status.code() == Code::OutOfRange && status.message().contains("message length too large") {
            let what = format_args!("answered {method} with more bytes than are read: {}", shortened(status.message()));
            return CallError { code: status.code(), error: self.error(ChainErrorKind::NodeError, what) };
        }
        let kind = match status.code() {
            Code::Unavailable | Code::ResourceExhausted => ChainErrorKind::NodeUnavailable,
            _ => ChainErrorKind::NodeError,
        };
        let text = match status.message() {
            "" => String::new(),
            text => format!(": {}", shortened(text)),
        };
        let what = format_args!("answered {method} with status {} ({}){text}", status.code() as i32, status.code());
        CallError { code: status.code(), error: self.error(kind, what) }
    }

    async fn unreachable(&self, cause: &str) -> CallError {
        let why = reach::explain(&self.target, &self.settings, cause).await;
        let error = self.error(ChainErrorKind::NodeUnavailable, format_args!("gives no answer: {why}"));
        CallError { code: Code::Unavailable, error }
    }
}

/// The status of an answer that is none of gRPC: an error page of a proxy, which the client cannot read as a message.
fn http_status_of_a_proxy(status: &Status) -> Option<u16> {
    let (_, after) = status.message().split_once("while receiving response with status: ")?;
    after.get(..3)?.parse().ok().filter(|http| *http != 200)
}

enum Failure {
    Status(Status),
    Deadline,
}

impl Failure {
    fn is_load_shedding(&self) -> bool {
        matches!(self, Self::Status(status) if status.code() == Code::ResourceExhausted)
    }

    /// Whether asking again may help. A node in a protocol update fails with `Internal`, a reset stream with `Cancelled`
    /// or `Unknown`. A certificate stays what it is.
    fn may_pass(&self) -> bool {
        let Self::Status(status) = self else { return true };
        if matches!(tls::find(status), Some(rustls::Error::InvalidCertificate(_))) {
            return false;
        }
        matches!(
            status.code(),
            Code::Unavailable
                | Code::ResourceExhausted
                | Code::Internal
                | Code::Unknown
                | Code::Cancelled
                | Code::Aborted
                | Code::DeadlineExceeded
                | Code::DataLoss
        )
    }
}

/// Locks what no holder can leave half-written.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
