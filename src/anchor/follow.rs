use std::path::Path;
use std::time::Duration;

use serde_json::{json, Value};
use tokio::time::Instant;

use crate::chain::{
    AgentReader, AtBlock, Block, BlockHash, ChainClient, ChainErrorKind, ContractEvent, Rejection, TransactionEffect,
    TransactionHash, TransactionOutcome, TransactionStatus,
};
use crate::identity::{Badge, Caip19, TokenId};

use super::describe::{event_json, rejection_name, token_of, Registries};
use super::flow::{Attendant, Step};
use super::journal::{Journal, JournalError, JournalState};
use super::AnchorError;

/// How often the node is asked at first; each time a little less often.
const FIRST_INTERVAL: Duration = Duration::from_millis(50);
/// The longest pause between two questions.
const LONGEST_INTERVAL: Duration = Duration::from_secs(2);

/// Whether a transaction that a node does not know is past its expiry (seconds since 1970) by that node's newest finalized block.
pub(super) fn is_past(chain: &ChainClient, expiry: u64, newest: &Block) -> bool {
    newest.time.0 / 1000 > expiry.saturating_add(chain.settings().expiry_margin.as_secs())
}

/// How far a transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// A node has it.
    Received,
    /// It is in a block that is not finalized.
    Committed,
    /// It is in a finalized block, for good.
    Finalized,
    /// It is past its expiry, by a minute and by the time of a finalized block, and the node of that block does not know it. The only
    /// safe cue to build a new one.
    Expired,
    /// The node does not know it, which may mean anything.
    Unknown,
}

impl State {
    /// `received`, `committed`, `finalized`, `expired` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Committed => "committed",
            Self::Finalized => "finalized",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        }
    }

    /// Whether nothing can change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Finalized | Self::Expired)
    }
}

/// What is known of a transaction.
#[derive(Debug, Clone)]
pub struct Status {
    /// The transaction.
    pub hash: TransactionHash,
    /// How far it has come.
    pub state: State,
    /// What it did, in the block it is in.
    pub outcome: Option<TransactionOutcome>,
    /// That block, when it is finalized and known.
    pub block: Option<Block>,
    /// When it expires, in seconds since 1970, as far as whoever asked knew.
    pub expiry: Option<u64>,
    /// The token that it is about, when its events name one.
    pub token_id: Option<TokenId>,
    /// Whether a node was asked and answered; otherwise the state is [`State::Unknown`] because nobody said.
    pub answered: bool,
    /// Why its end could not be written down in the journal. The chain has it all the same.
    pub unrecorded: Option<String>,
    registries: Registries,
}

impl Status {
    /// The status of a transaction that nobody could be asked about.
    pub fn unknown(chain: &ChainClient, hash: TransactionHash, expiry: Option<u64>) -> Self {
        let registries = Registries::of(&chain.settings().network, chain.settings().registry);
        let (answered, unrecorded) = (false, None);
        Self { hash, state: State::Unknown, outcome: None, block: None, expiry, token_id: None, answered, unrecorded, registries }
    }

    /// Why it was rejected, if it was.
    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.outcome.as_ref()?.effect {
            TransactionEffect::Rejected(rejection) => Some(rejection),
            _ => None,
        }
    }

    /// The rejection's code and name and what to do, in words, if it was rejected.
    pub fn rejection_words(&self) -> Option<String> {
        self.rejection().map(super::describe::rejection_words)
    }

    /// Whether it is finalized and did what it should.
    pub fn is_success(&self) -> bool {
        let updated = self.outcome.as_ref().is_some_and(|outcome| matches!(outcome.effect, TransactionEffect::Updated { .. }));
        self.state == State::Finalized && updated
    }

    fn events(&self) -> &[ContractEvent] {
        match self.outcome.as_ref().map(|outcome| &outcome.effect) {
            Some(TransactionEffect::Updated { events }) => events,
            _ => &[],
        }
    }

    /// The document `cardproof.tx-status/1`, with `verify` as given.
    pub fn to_json(&self, chain: &ChainClient, verify: Option<&Value>) -> Value {
        let network = &chain.settings().network;
        let outcome = self.outcome.as_ref();
        let badge = self.token_id.map(|token_id| Badge { contract: self.registries.cis8004, token_id });
        let block = match (&self.block, outcome) {
            (Some(block), _) => json!({
                "hash": block.hash.to_string(), "height": block.height.to_string(), "time": block.time.to_rfc3339(),
            }),
            (None, Some(outcome)) => json!({"hash": outcome.block.to_string(), "height": null, "time": null}),
            (None, None) => Value::Null,
        };
        json!({
            "schema": "cardproof.tx-status/1",
            "network": network.name,
            "transaction_hash": self.hash.to_string(),
            "state": self.state.as_str(),
            "block": block,
            "outcome": outcome.and_then(|outcome| match outcome.effect {
                TransactionEffect::Updated { .. } | TransactionEffect::Initialized { .. } => Some("success"),
                TransactionEffect::Rejected(_) => Some("rejected"),
                // Newer than this program: finalized all the same.
                TransactionEffect::Other => None,
            }),
            "reject": self.rejection().map(|rejection| json!({"code": rejection.code(), "name": rejection_name(rejection)})),
            "energy": outcome.and_then(|outcome| outcome.energy).map(|energy| energy.to_string()),
            "microccd": outcome.and_then(|outcome| outcome.microccd).map(|microccd| microccd.to_string()),
            "events": self.events().iter().map(|event| event_json(event, &self.registries)).collect::<Vec<_>>(),
            "token_id": self.token_id.map(|token_id| token_id.to_string()),
            "badge": badge.map(|badge| badge.to_string()),
            "caip19": badge.map(|badge| Caip19 { chain: network.caip2(), badge }.to_string()),
            "explorer": network.explorer.as_ref().map(|explorer| format!("{explorer}{}", self.hash)),
            "verify": verify,
        })
    }
}

/// Asks once what is known of a transaction. `expiry` is in seconds since 1970; without it, it is never called expired.
///
/// # Errors
/// [`AnchorError::Chain`] when no node answers.
pub async fn status(chain: &ChainClient, hash: TransactionHash, expiry: Option<u64>) -> Result<Status, AnchorError> {
    let registries = Registries::of(&chain.settings().network, chain.settings().registry);
    let (newest, status) = chain.transaction_status_at(hash).await?;
    let (state, outcome) = match status {
        TransactionStatus::Finalized(outcome) => (State::Finalized, Some(outcome)),
        TransactionStatus::Committed(mut outcomes) => (State::Committed, outcomes.pop()),
        TransactionStatus::Received => (State::Received, None),
        TransactionStatus::Unknown if expiry.is_some_and(|expiry| is_past(chain, expiry, &newest)) => (State::Expired, None),
        TransactionStatus::Unknown => (State::Unknown, None),
    };
    let block = match (state, &outcome) {
        (State::Finalized, Some(outcome)) => finalized_block(chain, outcome.block).await,
        _ => None,
    };
    let (answered, unrecorded) = (true, None);
    let mut status = Status { hash, state, outcome, block, expiry, token_id: None, answered, unrecorded, registries };
    status.token_id = token_of(status.events(), &registries);
    Ok(status)
}

/// A block of a transaction that is finalized. That it cannot be described changes nothing about that.
async fn finalized_block(chain: &ChainClient, hash: BlockHash) -> Option<Block> {
    chain.pin(AtBlock::Hash(hash)).await.ok()
}

/// Follows a transaction until it is finalized or expired, at most for `wait`; `None` asks once. What is found out is written in
/// the account's journal, if the transaction is in one; that this fails changes nothing about what was found out
/// ([`Status::unrecorded`]).
///
/// A node that cannot be reached for a while does not end it: the transaction makes its way all the same.
///
/// # Errors
/// [`AnchorError::Chain`] when no node answers until the time is over.
pub async fn follow(
    chain: &ChainClient,
    state_folder: &Path,
    hash: TransactionHash,
    expiry: Option<u64>,
    wait: Option<Duration>,
    on_change: &mut (dyn FnMut(State) + Send),
) -> Result<Status, AnchorError> {
    let give_up = Instant::now() + wait.unwrap_or_default();
    let mut interval = FIRST_INTERVAL;
    let mut last = None;
    loop {
        let answer = status(chain, hash, expiry).await;
        let over = wait.is_none() || Instant::now() >= give_up;
        match answer {
            Ok(mut status) => {
                if last.replace(status.state) != Some(status.state) {
                    on_change(status.state);
                }
                if status.state.is_final() {
                    let noted = note_in_journal(chain, state_folder, &status).await;
                    status.unrecorded = noted.err().map(|error| error.to_string());
                    return Ok(status);
                }
                if over {
                    return Ok(status);
                }
            }
            Err(error) if over || !may_pass(&error) => return Err(error),
            Err(_) => {}
        }
        tokio::time::sleep(interval.min(give_up.saturating_duration_since(Instant::now()))).await;
        interval = (interval * 3 / 2).min(LONGEST_INTERVAL);
    }
}

/// Follows a transaction that was sent: that no node answers any more says nothing about it, and its hash must not be lost. It is
/// [`State::Unknown`] then, and the attendant hears why.
pub(super) async fn follow_sent(
    chain: &ChainClient,
    state_folder: &Path,
    hash: TransactionHash,
    expiry: Option<u64>,
    wait: Option<Duration>,
    attendant: &mut dyn Attendant,
) -> Result<Status, AnchorError> {
    let mut on_change = |state: State| attendant.step(&Step::State(hash, state));
    match follow(chain, state_folder, hash, expiry, wait, &mut on_change).await {
        Err(error) if may_pass(&error) => {
            attendant.step(&Step::Note(format!("it is sent, and what became of it cannot be told now: {error}")));
            Ok(Status::unknown(chain, hash, expiry))
        }
        status => status,
    }
}

fn may_pass(error: &AnchorError) -> bool {
    use ChainErrorKind::{BlockNotFound, NodeBehind, NodeError, NodeUnavailable};
    matches!(error, AnchorError::Chain(error) if matches!(error.kind, NodeUnavailable | NodeError | NodeBehind | BlockNotFound))
}

/// Writes an end down, in the journal of the account that the transaction is in.
async fn note_in_journal(chain: &ChainClient, state_folder: &Path, status: &Status) -> Result<(), AnchorError> {
    let state = match status.state {
        State::Finalized => JournalState::Finalized,
        State::Expired => JournalState::Expired,
        _ => return Ok(()),
    };
    let found = Journal::find(state_folder, &chain.settings().network.genesis, status.hash)?;
    let Some((journal, entry)) = found.filter(|(_, entry)| entry.state != state) else { return Ok(()) };
    match journal.lock(Duration::from_secs(1)).await {
        Ok(lock) => Ok(lock.change(entry.hash(), state, (chain.settings().clock)())?),
        // Whoever holds the account next asks the chain again.
        Err(JournalError::Busy(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
