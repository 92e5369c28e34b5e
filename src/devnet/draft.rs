use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use concordium_rust_sdk::base::contracts_common::Timestamp;

use super::admission::{self, Refusal};
use super::engine::{execute, Execution, Rates, World, MAX_BLOCK_ENERGY};
use super::history::{Hash, Transaction};

/// A block in the making.
pub(super) struct Draft {
    time: u64,
    pub(super) world: World,
    pub(super) transactions: Vec<(Arc<Transaction>, Execution)>,
    /// What need not wait any more: it is in the block, or can be in none.
    pub(super) done: Vec<Hash>,
    energy_left: u64,
}

impl Draft {
    pub(super) fn on(world: World, time: u64) -> Self {
        Self { time, world, transactions: Vec::new(), done: Vec::new(), energy_left: MAX_BLOCK_ENERGY }
    }

    /// Executes what it is the turn of, and leaves in `queue` what comes after a transaction that is missing. Says whether it is
    /// worth trying those again.
    pub(super) fn take(&mut self, queue: &mut Vec<Arc<Transaction>>, rates: &Rates) -> bool {
        let taken = self.transactions.len();
        let mut held = Vec::new();
        for transaction in std::mem::take(queue) {
            let order = transaction.order();
            if order.energy.energy > self.energy_left {
                // What is left waits for the next block, which comes at once.
                return false;
            }
            let next = self.world.nonce(order.sender);
            match admission::check_now(&transaction, &self.world, next, self.time, rates) {
                Ok(()) => {}
                Err(Refusal::NonceTooLarge { .. }) if !admission::expired(&transaction, self.time) => {
                    held.push(transaction);
                    continue;
                }
                // What was true on arrival may not be any more: the transaction is dropped, as a validator would.
                Err(_) => {
                    self.done.push(transaction.hash);
                    continue;
                }
            }
            self.done.push(transaction.hash);
            let before = self.world.clone();
            let run = || execute(&mut self.world, &order, Timestamp::from_timestamp_millis(self.time), rates);
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(execution) => {
                    self.energy_left = self.energy_left.saturating_sub(execution.energy.energy);
                    self.transactions.push((transaction, execution));
                }
                // A contract that trips a precondition of the engine must not take the chain down.
                Err(_) => self.world = before,
            }
        }
        *queue = held;
        self.transactions.len() > taken
    }
}
