use std::time::{SystemTime, UNIX_EPOCH};

use concordium_rust_sdk::base::base::Energy;
use concordium_rust_sdk::base::smart_contracts::WasmVersion;
use concordium_rust_sdk::base::transactions::{AccountTransaction, EncodedPayload, Payload};

use super::engine::{Rates, World, MAX_BLOCK_ENERGY};
use super::history::Transaction;
use crate::amount::MicroCcd;

/// How far ahead a transaction may expire, in seconds: what nodes accept unless they are told otherwise.
const LONGEST_LIFE: u64 = 2 * 60 * 60;

/// Why a transaction may not wait for a block. It is forgotten, and nothing is charged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("this transaction was received before")]
    Duplicate,
    #[error("there is no account {0}")]
    NoAccount(String),
    #[error("the signatures do not satisfy the account's keys and thresholds")]
    Signature,
    #[error("the sequence number {given} was used before; the next one of the account is {next}")]
    NonceTooSmall { given: u64, next: u64 },
    #[error("the sequence number {given} is too large; the next one of the account is {next}")]
    NonceTooLarge { given: u64, next: u64 },
    #[error("the transaction expired at {expiry} (seconds since 1970), before the time of the next block")]
    Expired { expiry: u64 },
    #[error("the transaction expires at {expiry} (seconds since 1970), more than two hours from now")]
    ExpiryTooFar { expiry: u64 },
    #[error("the transaction allows {given} energy, but checking it costs {base} alone")]
    EnergyTooLow { given: u64, base: u64 },
    #[error("the transaction allows {given} energy, but a block has only {MAX_BLOCK_ENERGY}")]
    EnergyTooHigh { given: u64 },
    #[error("the account has {} to spend, but a deposit of {} for the energy is due", MicroCcd(*available), MicroCcd(*deposit))]
    InsufficientFunds { available: u64, deposit: u64 },
    #[error("this devnet does not execute {0}")]
    Unsupported(String),
    #[error("the block item cannot be read: {0}")]
    Malformed(String),
}

/// Checks all that does not change from block to block: kind, energy limits and signatures.
pub(super) fn check_form(item: AccountTransaction<EncodedPayload>, world: &World) -> Result<Transaction, Refusal> {
    let transaction = Transaction::new(item);
    let order = transaction.order();
    if order.energy > Energy::from(MAX_BLOCK_ENERGY) {
        return Err(Refusal::EnergyTooHigh { given: order.energy.energy });
    }
    let base = order.base_cost();
    if order.energy < base {
        return Err(Refusal::EnergyTooLow { given: order.energy.energy, base: base.energy });
    }
    // A payload that cannot be read is a node's business to reject in a block, so it passes here.
    if let Ok(payload) = order.payload.decode() {
        check_kind(&payload)?;
    }
    let keys = world.keys(order.sender).ok_or_else(|| Refusal::NoAccount(order.sender.to_string()))?;
    if order.signatures == 0 || !transaction.item.verify_transaction_signature(keys) {
        return Err(Refusal::Signature);
    }
    Ok(transaction)
}

fn check_kind(payload: &Payload) -> Result<(), Refusal> {
    match payload {
        Payload::DeployModule { module } if module.version == WasmVersion::V0 => {
            Err(Refusal::Unsupported("contracts of version 0".into()))
        }
        Payload::DeployModule { .. }
        | Payload::InitContract { .. }
        | Payload::Update { .. }
        | Payload::Transfer { .. }
        | Payload::TransferWithMemo { .. }
        | Payload::RegisterData { .. } => Ok(()),
        other => Err(Refusal::Unsupported(format!(
            "transactions of the kind {:?}, only contract, module, transfer and data transactions",
            other.transaction_type()
        ))),
    }
}

/// Checks what changes from block to block, against the newest state and the account's next free sequence number.
pub(super) fn check_now(
    transaction: &Transaction,
    world: &World,
    next: u64,
    block_time: u64,
    rates: &Rates,
) -> Result<(), Refusal> {
    let given = transaction.nonce();
    if given < next {
        return Err(Refusal::NonceTooSmall { given, next });
    }
    if given > next {
        return Err(Refusal::NonceTooLarge { given, next });
    }
    if expired(transaction, block_time) {
        return Err(Refusal::Expired { expiry: transaction.item.header.expiry.seconds });
    }
    let expiry = transaction.item.header.expiry.seconds;
    if expiry > (block_time / 1000).saturating_add(LONGEST_LIFE) {
        return Err(Refusal::ExpiryTooFar { expiry });
    }
    let available = world.balance(transaction.sender()).micro_ccd();
    let deposit = rates.price(transaction.item.header.energy_amount).micro_ccd();
    if available < deposit {
        return Err(Refusal::InsufficientFunds { available, deposit });
    }
    Ok(())
}

/// Whether a block of this time may no longer hold the transaction.
pub(super) fn expired(transaction: &Transaction, block_time: u64) -> bool {
    transaction.item.header.expiry.seconds.saturating_mul(1000) < block_time
}

/// Now, in milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
