use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use concordium_rust_sdk::base::contracts_common::{AccountAddress, Timestamp};
use concordium_rust_sdk::base::transactions::{AccountTransaction, EncodedPayload};
use tokio::sync::{broadcast, watch, Notify};
use tokio::time::Instant;

use super::admission::{self, Refusal};
use super::draft::Draft;
use super::engine::{execute, Execution, View, World};
use super::genesis::Genesis;
use super::history::{Block, Hash, History, Transaction};
use super::pending::Pending;
use super::store::{Log, Record};
use super::wallet::TestAccount;
use super::DevnetError;

/// How many blocks' views are kept ready; others are made again when they are asked for.
const READY_VIEWS: usize = 4;
/// How far a listener to new blocks may fall behind before it misses some.
const LISTENER_QUEUE: usize = 1024;

/// When blocks are made and finalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timing {
    /// By the clock.
    Automatic {
        /// A block without transactions comes this long after the block before.
        block_time: Duration,
        /// A transaction waits this long for its block; zero is at once.
        commit_delay: Duration,
        /// A block waits this long to be finalized; zero is at once.
        finality_delay: Duration,
    },
    /// Only when the program that embeds the chain says so.
    Manual,
}

/// Which of the waiting transactions a block shall hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that have waited as long as they shall.
    Due,
    /// All.
    All,
}

/// Why a transaction was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum SubmitError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Failed(#[from] DevnetError),
}

struct State {
    history: History,
    pending: Pending,
    /// Blocks that wait to be finalized, and until when.
    unfinalized: VecDeque<(u64, Instant)>,
    last_block_at: Instant,
}

/// The only node of the chain.
pub(super) struct Node {
    pub(super) genesis: Genesis,
    pub(super) accounts: Vec<TestAccount>,
    pub(super) started: std::time::Instant,
    timing: Timing,
    state: RwLock<State>,
    /// Held while a block is made, so that there is one at a time; the log is written meanwhile.
    making: Mutex<Option<Log>>,
    views: Mutex<VecDeque<(Hash, Arc<View>)>>,
    arrived: broadcast::Sender<Arc<Block>>,
    finalized: broadcast::Sender<Arc<Block>>,
    wake: Notify,
    closed: watch::Sender<bool>,
}

impl Node {
    /// A node whose chain is the genesis block alone.
    pub(super) fn new(genesis: Genesis, timing: Timing) -> Result<Self, DevnetError> {
        let accounts = genesis.test_accounts()?;
        let block = genesis.block(&accounts)?;
        let state = State {
            history: History::new(block),
            pending: Pending::default(),
            unfinalized: VecDeque::new(),
            last_block_at: Instant::now(),
        };
        Ok(Self {
            genesis,
            accounts,
            started: std::time::Instant::now(),
            timing,
            state: RwLock::new(state),
            making: Mutex::new(None),
            views: Mutex::new(VecDeque::new()),
            arrived: broadcast::channel(LISTENER_QUEUE).0,
            finalized: broadcast::channel(LISTENER_QUEUE).0,
            wake: Notify::new(),
            closed: watch::channel(false).0,
        })
    }

    /// Makes the blocks of a log again, and writes to it from now on. All of them are final: they were promised.
    pub(super) fn resume(&self, log: Log, records: Vec<Record>) -> Result<(), DevnetError> {
        for record in records {
            let parent = self.best();
            let mut world = (*parent.world).clone();
            let mut transactions = Vec::new();
            for bytes in &record.transactions {
                let item = bytes.split_first().filter(|(version, _)| **version == 0);
                let item = item.and_then(|(_, mut rest)| {
                    let read = concordium_rust_sdk::common::from_bytes::<AccountTransaction<EncodedPayload>, _>(&mut rest);
                    read.ok().filter(|_| rest.is_empty())
                });
                let item = item.ok_or_else(|| log.replay_differs(record.height))?;
                let transaction = Arc::new(Transaction::new(item));
                let execution =
                    execute(&mut world, &transaction.order(), Timestamp::from_timestamp_millis(record.time), &self.genesis.rates);
                transactions.push((transaction, execution));
            }
            let block = Self::assemble(&parent, record.time, world, transactions);
            if block.hash != record.hash || block.height != record.height {
                return Err(log.replay_differs(record.height));
            }
            let mut state = self.write();
            let height = block.height;
            state.history.push(Arc::new(block));
            state.history.finalize(height);
        }
        *lock(&self.making) = Some(log);
        Ok(())
    }

    /// Writes blocks to this log from now on.
    pub(super) fn record_to(&self, log: Log) {
        *lock(&self.making) = Some(log);
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks something up in the history. Keep it short: blocks wait.
    pub(super) fn history<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.read().history)
    }

    /// The newest block.
    pub(super) fn best(&self) -> Arc<Block> {
        self.history(|history| history.best().clone())
    }

    /// Listens to new blocks.
    pub(super) fn arrivals(&self) -> broadcast::Receiver<Arc<Block>> {
        self.arrived.subscribe()
    }

    /// Listens to newly finalized blocks.
    pub(super) fn finalizations(&self) -> broadcast::Receiver<Arc<Block>> {
        self.finalized.subscribe()
    }

    /// How long after a block an empty one comes, in milliseconds; 0 when only on demand.
    pub(super) fn block_time(&self) -> u64 {
        match self.timing {
            Timing::Automatic { block_time, .. } => u64::try_from(block_time.as_millis()).unwrap_or(u64::MAX),
            Timing::Manual => 0,
        }
    }

    fn commit_delay(&self) -> Duration {
        match self.timing {
            Timing::Automatic { commit_delay, .. } => commit_delay,
            Timing::Manual => Duration::ZERO,
        }
    }

    /// Whether blocks are made on demand only.
    pub(super) fn is_manual(&self) -> bool {
        self.timing == Timing::Manual
    }

    /// Stops making blocks and closes the log. Streams of blocks end.
    pub(super) fn close(&self) {
        self.closed.send_replace(true);
        *lock(&self.making) = None;
    }

    /// Ends when the node is closed.
    pub(super) fn closing(&self) -> impl std::future::Future<Output = ()> + Send + 'static {
        let mut closed = self.closed.subscribe();
        async move {
            // An error means that the node itself is gone.
            let _ = closed.wait_for(|closed| *closed).await;
        }
    }

    /// The engine over the state of a block.
    pub(super) fn view(&self, block: &Block) -> Arc<View> {
        if let Some((_, view)) = lock(&self.views).iter().find(|(hash, _)| *hash == block.hash) {
            return view.clone();
        }
        let time = Timestamp::from_timestamp_millis(block.time);
        let view = Arc::new(View::new(block.world.clone(), time, self.genesis.rates));
        let mut views = lock(&self.views);
        views.push_front((block.hash, view.clone()));
        views.truncate(READY_VIEWS);
        view
    }

    /// Whether a transaction waits for a block.
    pub(super) fn is_pending(&self, hash: &Hash) -> bool {
        self.read().pending.contains(hash)
    }

    /// The account's next free sequence number, and whether all before it are finalized.
    pub(super) fn next_nonce(&self, account: AccountAddress) -> (u64, bool) {
        let state = self.read();
        let finalized = state.history.last_finalized().world.nonce(account);
        let next = next_nonce(&state, account);
        (next, next == finalized)
    }

    /// The account's transactions that are not finalized, in order.
    pub(super) fn unfinalized_of(&self, account: AccountAddress) -> Vec<Hash> {
        let state = self.read();
        let first = state.history.last_finalized().height + 1;
        let blocks = (first..=state.history.best().height).filter_map(|height| state.history.at_height(height));
        let committed = blocks.flat_map(|block| block.transactions.iter().map(|(transaction, _)| transaction));
        let all = committed.chain(state.pending.all()).filter(|transaction| transaction.sender().is_alias(&account));
        all.map(|transaction| transaction.hash).collect()
    }

    /// Takes a transaction in. When blocks come at once, it is in one when this returns.
    pub(super) async fn submit(self: &Arc<Self>, item: AccountTransaction<EncodedPayload>) -> Result<Hash, SubmitError> {
        let world = self.best().world.clone();
        let transaction = Arc::new(admission::check_form(item, &world)?);
        let hash = transaction.hash;
        {
            let mut state = self.write();
            let known = state.history.transaction(&hash).is_some() || state.pending.contains(&hash);
            if known {
                return Err(Refusal::Duplicate.into());
            }
            let next = next_nonce(&state, transaction.sender());
            let best = state.history.best();
            admission::check_now(&transaction, &best.world, next, time_after(best), &self.genesis.rates)?;
            state.pending.push(transaction, Instant::now() + self.commit_delay());
        }
        match self.timing {
            Timing::Automatic { commit_delay: Duration::ZERO, .. } => {
                self.make_blocks(Which::Due, false).await?;
            }
            _ => self.wake.notify_one(),
        }
        Ok(hash)
    }

    /// Makes blocks until nothing of it waits; with `even_empty`, at least one.
    pub(super) async fn make_blocks(self: &Arc<Self>, which: Which, even_empty: bool) -> Result<(), DevnetError> {
        let node = self.clone();
        let made = tokio::task::spawn_blocking(move || {
            let mut even_empty = even_empty;
            while node.make_block(which, even_empty)? {
                even_empty = false;
            }
            Ok(())
        });
        let result = made.await.map_err(|error| DevnetError::Internal(format!("making a block ended: {error}")))?;
        self.wake.notify_one();
        result
    }

    /// Makes one block. Says whether it made one.
    fn make_block(&self, which: Which, even_empty: bool) -> Result<bool, DevnetError> {
        let mut log = lock(&self.making);
        if *self.closed.borrow() {
            return Err(DevnetError::Internal("it was shut down".into()));
        }
        let (parent, queue) = {
            let state = self.read();
            let queue = match which {
                Which::All => state.pending.all().cloned().collect(),
                Which::Due => state.pending.due(Instant::now()),
            };
            (state.history.best().clone(), queue)
        };
        if queue.is_empty() && !even_empty {
            return Ok(false);
        }
        let time = time_after(&parent);
        let mut draft = Draft::on((*parent.world).clone(), time);
        // One that came too early may follow one of its account that came later.
        let mut held = queue;
        while draft.take(&mut held, &self.genesis.rates) && !held.is_empty() {}
        let Draft { world, transactions, done, .. } = draft;
        if transactions.is_empty() && !even_empty {
            Self::settle(&mut self.write(), &done, &held);
            return Ok(false);
        }
        let block = Arc::new(Self::assemble(&parent, time, world, transactions));
        if let Some(log) = log.as_mut() {
            if let Err(error) = log.append(&block) {
                Self::settle(&mut self.write(), &done, &held);
                return Err(error);
            }
        }
        let mut state = self.write();
        state.history.push(block.clone());
        Self::settle(&mut state, &done, &held);
        let now = Instant::now();
        state.last_block_at = now;
        // Sent under the lock, so that nobody sees a block out of order.
        let _ = self.arrived.send(block.clone());
        match self.timing {
            Timing::Automatic { finality_delay: Duration::ZERO, .. } => self.finalize_in(&mut state, block.height),
            Timing::Automatic { finality_delay, .. } => {
                state.unfinalized.push_back((block.height, now + finality_delay));
            }
            Timing::Manual => {}
        }
        Ok(true)
    }

    fn assemble(parent: &Block, time: u64, world: World, transactions: Vec<(Arc<Transaction>, Execution)>) -> Block {
        let height = parent.height + 1;
        Block {
            height,
            hash: Block::hash_of(&parent.hash, height, time, &transactions),
            parent: parent.hash,
            time,
            // Without a transaction nothing changed.
            world: if transactions.is_empty() { parent.world.clone() } else { Arc::new(world) },
            transactions,
        }
    }

    fn settle(state: &mut State, done: &[Hash], held: &[Arc<Transaction>]) {
        state.pending.remove(done);
        state.pending.hold(held);
    }

    /// Finalizes all blocks up to this height.
    pub(super) fn finalize(&self, height: u64) {
        self.finalize_in(&mut self.write(), height);
    }

    fn finalize_in(&self, state: &mut State, height: u64) {
        for block in state.history.finalize(height) {
            let _ = self.finalized.send(block);
        }
    }

    /// Adds a block that was made elsewhere than from waiting transactions.
    pub(super) fn insert(&self, world: World) -> Result<Arc<Block>, DevnetError> {
        let log = lock(&self.making);
        if log.is_some() {
            return Err(DevnetError::Configuration("a chain with a data folder cannot be loaded in bulk".into()));
        }
        let parent = self.best();
        let mut block = Self::assemble(&parent, time_after(&parent), World::default(), Vec::new());
        block.world = Arc::new(world);
        let block = Arc::new(block);
        let mut state = self.write();
        state.history.push(block.clone());
        self.finalize_in(&mut state, block.height);
        Ok(block)
    }

    /// Makes empty blocks, delayed blocks and delayed finality happen, for ever.
    pub(super) async fn keep_time(self: Arc<Self>) {
        let Timing::Automatic { block_time, .. } = self.timing else { return };
        loop {
            let (empty_at, commit_at, finalize_at) = {
                let state = self.read();
                let empty_at = state.last_block_at + block_time;
                (empty_at, state.pending.next_due(), state.unfinalized.front().map(|(_, at)| *at))
            };
            let next = [commit_at, finalize_at].into_iter().flatten().fold(empty_at, Instant::min);
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = self.wake.notified() => continue,
            }
            let now = Instant::now();
            if finalize_at.is_some_and(|at| at <= now) {
                let mut state = self.write();
                while let Some((height, _)) = state.unfinalized.front().copied().filter(|(_, at)| *at <= now) {
                    state.unfinalized.pop_front();
                    self.finalize_in(&mut state, height);
                }
            }
            let due = commit_at.is_some_and(|at| at <= now);
            if (due || empty_at <= now) && self.make_blocks(Which::Due, empty_at <= now).await.is_err() {
                // The disk may be full: whoever sends a transaction hears of it. Do not spin.
                tokio::time::sleep(block_time).await;
            }
        }
    }
}

fn next_nonce(state: &State, account: AccountAddress) -> u64 {
    state.pending.next_nonce(account, state.history.best().world.nonce(account))
}

/// The time of the block after this one: now, and later than it.
fn time_after(block: &Block) -> u64 {
    admission::now().max(block.time + 1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
