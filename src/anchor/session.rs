use std::path::Path;
use std::time::Duration;

use crate::chain::{AgentReader, AtBlock, ChainClient, Sent, TransactionHash, TransactionStatus};
use crate::identity::{AccountAddress, MAINNET, TESTNET};
use crate::registry::Timestamp;

use super::follow::is_past;
use super::journal::{Entry, Journal, JournalError, JournalLock, JournalState};
use super::plan::check_sendable;
use super::{AnchorError, Call, SignedTransaction};

/// How long a run waits for another run of the same account, and for its own earlier transactions to be finalized.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it looks.
const INTERVAL: Duration = Duration::from_millis(500);

/// Holds an account from before its record is read to having sent: meanwhile no other run of cardproof does the same for it.
pub struct Session<'a> {
    chain: &'a ChainClient,
    lock: JournalLock,
    sender: AccountAddress,
}

impl<'a> Session<'a> {
    /// Waits for other runs of the account, holds it, and writes down what became of transactions that an earlier run left open.
    ///
    /// # Errors
    /// [`AnchorError`] when another run does not let go, or the journal or the node cannot be read.
    pub async fn open(chain: &'a ChainClient, state_folder: &Path, sender: AccountAddress) -> Result<Self, AnchorError> {
        Self::open_telling(chain, state_folder, sender, &mut |_| {}).await
    }

    /// As [`Session::open`], and says in words, before it waits for another run, that it does.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub async fn open_telling(
        chain: &'a ChainClient,
        state_folder: &Path,
        sender: AccountAddress,
        tell: &mut (dyn FnMut(String) + Send),
    ) -> Result<Self, AnchorError> {
        let journal = Journal::of(state_folder, &chain.settings().network.genesis, sender);
        let mut waiting = |process: Option<u32>| {
            let which = process.map(|process| format!(" (process {process})")).unwrap_or_default();
            let most = PATIENCE.as_secs();
            tell(format!("waiting for another run of cardproof{which} that holds account {sender}, {most} seconds at most"));
        };
        let session = Self { chain, lock: journal.lock_telling(PATIENCE, &mut waiting).await?, sender };
        session.settle().await?;
        Ok(session)
    }

    /// The journal that is held.
    pub fn journal(&self) -> &Journal {
        self.lock.journal()
    }

    fn now(&self) -> Timestamp {
        (self.chain.settings().clock)()
    }

    /// Asks the chain about every transaction that may still end up in a block. One that a node refused is asked about too, until it
    /// has expired: the refusal may have been about the repetition of an attempt that another node took.
    async fn settle(&self) -> Result<(), AnchorError> {
        let now = self.now();
        let is_doubtful = |entry: &Entry| {
            let expiry = Timestamp(entry.signed.transaction.expiry().saturating_mul(1000));
            entry.state.is_open() || (entry.state == JournalState::Refused && expiry > now)
        };
        for entry in self.journal().entries()?.into_iter().filter(is_doubtful) {
            if let Some(state) = settled(self.chain, &entry).await? {
                self.lock.change(entry.hash(), state, self.now())?;
            }
        }
        Ok(())
    }

    /// Whether the journal knows how a transaction ended.
    ///
    /// # Errors
    /// [`AnchorError::Journal`].
    pub fn is_settled(&self, hash: TransactionHash) -> Result<bool, AnchorError> {
        let entries = self.journal().entries()?;
        Ok(entries
            .iter()
            .any(|entry| entry.hash() == hash && matches!(entry.state, JournalState::Finalized | JournalState::Expired)))
    }

    /// Refuses a transaction when another with the same call was signed before and may still be carried out: the same thing would be
    /// done twice.
    ///
    /// # Errors
    /// [`AnchorError::Repeated`].
    pub fn refuse_repetition(&self, signed: &SignedTransaction) -> Result<(), AnchorError> {
        self.refuse_repeated_call(signed.transaction.call(), Some(signed.hash()))
    }

    /// As [`Session::refuse_repetition`], for a call that is not signed yet.
    ///
    /// # Errors
    /// [`AnchorError::Repeated`].
    pub fn refuse_repeated_call(&self, call: &Call, except: Option<TransactionHash>) -> Result<(), AnchorError> {
        let same =
            |entry: &Entry| entry.state.is_open() && entry.signed.transaction.call() == call && Some(entry.hash()) != except;
        match self.journal().entries()?.into_iter().find(same) {
            None => Ok(()),
            Some(entry) => Err(AnchorError::Repeated {
                hash: entry.hash(),
                signed: entry.time,
                nonce: entry.signed.transaction.nonce(),
                expiry: Timestamp(entry.signed.transaction.expiry().saturating_mul(1000)),
                is_local: ![MAINNET, TESTNET].iter().any(|public| public.genesis == self.chain.settings().network.genesis),
            }),
        }
    }

    /// The nonce for the next transaction, or the chosen one when it can be used: see [`Session::turn`].
    ///
    /// # Errors
    /// [`AnchorError::Pending`], [`AnchorError::NonceUsed`] or [`AnchorError::NonceGap`] (fault C-75).
    pub async fn nonce(&self, chosen: Option<u64>) -> Result<u64, AnchorError> {
        Ok(self.turn(chosen).await?.nonce)
    }

    /// Waits until the account's earlier transactions are finalized: what is read and tried before they are is not what the next one
    /// meets.
    ///
    /// Whoever sent them, they are waited for, at most for a minute; after that the next nonce is a guess. A nonce chosen on purpose
    /// waits only for our own: it may follow the others all the same, or take the place of one, and the answer says so.
    ///
    /// # Errors
    /// [`AnchorError::Pending`], [`AnchorError::NonceUsed`] or [`AnchorError::NonceGap`] (fault C-75).
    pub async fn turn(&self, chosen: Option<u64>) -> Result<Turn, AnchorError> {
        let address = self.sender;
        let give_up = tokio::time::Instant::now() + PATIENCE;
        let mut has_waited = false;
        let turn = loop {
            let Progress { next, finalized, all_final } = self.progress().await?;
            match chosen {
                Some(nonce) if nonce > next => return Err(AnchorError::NonceGap { address, nonce, next }),
                Some(nonce) if nonce < finalized => return Err(AnchorError::NonceUsed { address, nonce, next }),
                Some(nonce) if nonce == finalized => break Turn { nonce, after_pending: false },
                None if next == finalized => break Turn { nonce: next, after_pending: false },
                _ => {}
            }
            let ours = |entry: &Entry| {
                entry.state.is_open() && chosen.is_some_and(|nonce| entry.signed.transaction.nonce() == nonce.saturating_sub(1))
            };
            // A block that is behind what the node says is waited for too.
            let will_pass = all_final || chosen.is_none() || self.journal().entries()?.iter().any(ours);
            if !will_pass || tokio::time::Instant::now() > give_up {
                let nonce = chosen.ok_or(AnchorError::Pending { address, next })?;
                break Turn { nonce, after_pending: true };
            }
            has_waited = true;
            tokio::time::sleep(INTERVAL).await;
        };
        if has_waited {
            self.settle().await?;
        }
        Ok(turn)
    }

    /// Whether no transaction of the account is on its way, as far as the node knows.
    ///
    /// # Errors
    /// [`AnchorError::Chain`].
    pub async fn is_quiet(&self) -> Result<bool, AnchorError> {
        let progress = self.progress().await?;
        Ok(progress.next == progress.finalized)
    }

    /// How far the chain is with the account.
    pub(super) async fn progress(&self) -> Result<Progress, AnchorError> {
        // In this order: the block is then not older than the guess.
        let next = self.chain.next_nonce(self.sender).await?;
        let block = self.chain.pin(AtBlock::LastFinalized).await?;
        let finalized = self.chain.account(&block, self.sender).await?.map_or(1, |account| account.next_nonce);
        Ok(Progress { next: next.nonce.max(finalized), finalized, all_final: next.all_final })
    }

    /// Writes a signed transaction down, before it is sent. It is on the disk when this returns.
    ///
    /// # Errors
    /// [`AnchorError::Journal`]; the transaction must not be sent then. [`AnchorError::Expired`] when it is too late for it.
    pub fn record(&self, signed: &SignedTransaction) -> Result<(), AnchorError> {
        check_sendable(signed.transaction.expiry(), self.now())?;
        let hash = signed.hash();
        if self.journal().entries()?.into_iter().any(|entry| entry.hash() == hash) {
            return Ok(());
        }
        Ok(self.lock.record(signed, self.now())?)
    }

    /// Sends a transaction that was written down, once. Returns why it could not be written down that a node has it: that changes
    /// nothing about it being on its way, and the chain is asked the next time.
    ///
    /// # Errors
    /// [`AnchorError::Refused`] when the node turned it away, [`AnchorError::SendUnclear`] when it may have been taken.
    pub async fn send(&self, signed: &SignedTransaction) -> Result<Option<JournalError>, AnchorError> {
        self.record(signed)?;
        let hash = signed.hash();
        let note = |state| self.lock.change(hash, state, self.now()).err();
        match self.chain.send(&signed.block_item()).await {
            Ok(Sent::Accepted(_) | Sent::AlreadyKnown) => Ok(note(JournalState::Sent)),
            Ok(Sent::Refused(why)) => {
                // An earlier attempt with these bytes may have been taken, and this answer be about its repetition.
                match self.chain.transaction_status(hash).await {
                    Ok(TransactionStatus::Unknown) => {
                        note(JournalState::Refused);
                        Err(AnchorError::Refused { hash, why })
                    }
                    Ok(_) => Ok(note(JournalState::Sent)),
                    Err(cause) => Err(AnchorError::SendUnclear { hash, cause }),
                }
            }
            Err(cause) => Err(AnchorError::SendUnclear { hash, cause }),
        }
    }
}

/// A transaction's place in the order of its account's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Its nonce.
    pub nonce: u64,
    /// Whether transactions before it are on their way, so that what can be read and tried now may not be what it meets.
    pub after_pending: bool,
}

/// How far the chain is with an account.
pub(super) struct Progress {
    /// The node's guess of the next nonce.
    pub(super) next: u64,
    /// The next nonce after the newest finalized block.
    pub(super) finalized: u64,
    /// Whether the node knows of no transaction that is not finalized.
    all_final: bool,
}

/// What became of a transaction, when that is certain.
async fn settled(chain: &ChainClient, entry: &Entry) -> Result<Option<JournalState>, AnchorError> {
    let transaction = &entry.signed.transaction;
    let (block, status) = chain.transaction_status_at(entry.hash()).await?;
    Ok(match status {
        TransactionStatus::Finalized(_) => Some(JournalState::Finalized),
        TransactionStatus::Unknown if is_past(chain, transaction.expiry(), &block) => Some(JournalState::Expired),
        // Also when its nonce is used: behind one address there may be several nodes, one that lags and one that knows it was this one.
        TransactionStatus::Unknown => None,
        TransactionStatus::Received | TransactionStatus::Committed(_) => {
            (entry.state != JournalState::Sent).then_some(JournalState::Sent)
        }
    })
}
