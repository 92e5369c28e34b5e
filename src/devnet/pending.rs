use std::sync::Arc;

use concordium_rust_sdk::base::contracts_common::AccountAddress;
use tokio::time::Instant;

use super::history::{Hash, Transaction};

/// The transactions that were received and are in no block yet, in the order of arrival.
#[derive(Default)]
pub(super) struct Pending(Vec<Waiting>);

struct Waiting {
    transaction: Arc<Transaction>,
    /// When it may be in a block. `None` when it was its turn, and a transaction of the same account that must come before it is
    /// missing: it waits for that one.
    due: Option<Instant>,
}

impl Pending {
    /// Takes in a transaction that may be in a block from `due` on.
    pub(super) fn push(&mut self, transaction: Arc<Transaction>, due: Instant) {
        self.0.push(Waiting { transaction, due: Some(due) });
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Transaction>> {
        self.0.iter().map(|waiting| &waiting.transaction)
    }

    pub(super) fn contains(&self, hash: &Hash) -> bool {
        self.all().any(|transaction| transaction.hash == *hash)
    }

    /// Those that may be in a block made at `now`.
    pub(super) fn due(&self, now: Instant) -> Vec<Arc<Transaction>> {
        let due = self.0.iter().filter(|waiting| waiting.due.is_none_or(|due| due <= now));
        due.map(|waiting| waiting.transaction.clone()).collect()
    }

    /// When the next one may be in a block.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.0.iter().filter_map(|waiting| waiting.due).min()
    }

    /// The lowest sequence number of the account, from `first` on, that no transaction here has: those after a gap cannot be
    /// in a block before it is closed.
    pub(super) fn next_nonce(&self, account: AccountAddress, first: u64) -> u64 {
        let mut taken: Vec<u64> =
            self.all().filter(|other| other.sender().is_alias(&account)).map(|other| other.nonce()).collect();
        taken.sort_unstable();
        taken.into_iter().fold(first, |next, nonce| if nonce == next { next + 1 } else { next })
    }

    /// Removes those that are in a block now, or never will be.
    pub(super) fn remove(&mut self, hashes: &[Hash]) {
        self.0.retain(|waiting| !hashes.contains(&waiting.transaction.hash));
    }

    /// These were due, and wait for others of their accounts.
    pub(super) fn hold(&mut self, transactions: &[Arc<Transaction>]) {
        for waiting in &mut self.0 {
            if transactions.iter().any(|held| held.hash == waiting.transaction.hash) {
                waiting.due = None;
            }
        }
    }
}
