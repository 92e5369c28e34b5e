use crate::amount::MicroCcd;
use crate::chain::{ChainError, TransactionHash};
use crate::identity::AccountAddress;
use crate::registry::Timestamp;

use super::flow::FlowError;
use super::journal::JournalError;
use super::keys::KeyError;

/// Why a transaction could not be built, signed, sent or followed.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// Account keys could not be read or used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The journal could not be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The chain could not be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// A card or its URI stands in the way.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// Two signers give different signatures of one key.
    #[error("there are two different signatures of key {key} of credential {credential}: one of them is of another transaction")]
    SignatureConflict {
        /// The credential's index.
        credential: u8,
        /// The key's index.
        key: u8,
    },
    /// A hardware or remote signer failed or refused.
    #[error("the signer did not sign: {0}")]
    Signer(String),
    /// A part of a transaction is out of range.
    #[error("the transaction cannot be built: {0}")]
    Build(String),
    /// Bytes that are not a transaction that cardproof understands, or that contradict themselves.
    #[error("this is not a transaction to a registry: {0}")]
    NotATransaction(String),
    /// A transaction document contradicts itself.
    #[error("the transaction document is inconsistent at {field}: {why}")]
    Document {
        /// Which field.
        field: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The wallet's keys are for another network (fault C-76).
    #[error("the keys were exported from a wallet on {wallet}, and the network is {network}: nothing is signed")]
    WalletNetwork {
        /// What the wallet says.
        wallet: String,
        /// The network in use.
        network: String,
    },
    /// The document was built for another network (fault C-76).
    #[error(
        "the transaction was built for the network with genesis hash {built}, and this is {network}: nothing is signed or sent"
    )]
    DocumentNetwork {
        /// The genesis hash in the document.
        built: String,
        /// The network in use.
        network: String,
    },
    /// The sender does not exist.
    #[error("there is no account {address} on {network}")]
    NoSuchAccount {
        /// The account.
        address: AccountAddress,
        /// The network in use.
        network: String,
    },
    /// A key is not one of the account's.
    #[error(
        "key {key} of credential {credential} is not the one that account {address} has there: the signature would not count"
    )]
    ForeignKey {
        /// The account.
        address: AccountAddress,
        /// The credential's index.
        credential: u8,
        /// The key's index.
        key: u8,
    },
    /// A signature is not one of the account's over this transaction.
    #[error("the signature by key {key} of credential {credential} of account {address} is not one of this transaction")]
    BadSignature {
        /// The account.
        address: AccountAddress,
        /// The credential's index.
        credential: u8,
        /// The key's index.
        key: u8,
    },
    /// The signatures do not reach the account's thresholds.
    #[error("the account needs {needed} signature(s) and these keys give {given}")]
    NotEnoughSignatures {
        /// How many there would be.
        given: u32,
        /// How many it takes.
        needed: u32,
    },
    /// The dry run was rejected, so the transaction would be too (fault C-72).
    #[error("{receive_name} would be rejected: {reason}; nothing was sent")]
    WouldBeRejected {
        /// Contract and entry point.
        receive_name: String,
        /// Code and name, in words.
        reason: String,
        /// The contract's code.
        code: Option<i32>,
        /// The code's name.
        name: Option<&'static str>,
    },
    /// The energy chosen is less than the dry run used (fault C-72).
    #[error("it takes {needed} NRG in all, and it was given {allowed}: it would run out of energy, and the fee would be lost")]
    OutOfEnergy {
        /// What the dry run used, with everything.
        needed: u64,
        /// The allowance.
        allowed: u64,
    },
    /// The sender cannot pay.
    #[error("account {address} has {} at its disposal, and the transaction may cost {}", MicroCcd(*available), MicroCcd(*cost))]
    InsufficientFunds {
        /// The account.
        address: AccountAddress,
        /// What it can spend, in microCCD.
        available: u64,
        /// What the energy allowance costs, in microCCD.
        cost: u64,
    },
    /// Transactions of the account are on their way, so the next nonce is a guess (fault C-75).
    #[error(
        "transactions of account {address} are not finalized yet, so its next nonce, {next}, is a guess: wait for them, or choose it \
         with --nonce {next}"
    )]
    Pending {
        /// The account.
        address: AccountAddress,
        /// The node's guess.
        next: u64,
    },
    /// The nonce chosen is in a finalized block already.
    #[error("the nonce {nonce} of account {address} is used: the next one is {next}")]
    NonceUsed {
        /// The account.
        address: AccountAddress,
        /// The nonce chosen.
        nonce: u64,
        /// The next one.
        next: u64,
    },
    /// A transaction with the nonce chosen could not run before others that do not exist (fault C-75).
    #[error("the nonce {nonce} leaves a gap: the next nonce of account {address} is {next}, and until then the transaction would wait")]
    NonceGap {
        /// The account.
        address: AccountAddress,
        /// The nonce chosen.
        nonce: u64,
        /// The next one.
        next: u64,
    },
    /// The expiry has passed.
    #[error("it expired at {0}: build it again")]
    Expired(Timestamp),
    /// The expiry is further ahead than nodes accept.
    #[error("it expires at {0}, and nodes take transactions that expire within two hours: send it later, or give it a nearer --expiry")]
    ExpiryTooFar(Timestamp),
    /// The same call was signed before and may still end up on the chain.
    #[error(
        "the same transaction was signed at {signed} with nonce {nonce} and may still reach the chain until {expiry}: its hash is {hash}; \
         follow it with `cardproof tx status {hash}`, or send it, if it was not, with `cardproof tx send {hash}`"
    )]
    Repeated {
        /// The earlier transaction.
        hash: TransactionHash,
        /// When it was signed.
        signed: Timestamp,
        /// Its nonce.
        nonce: u64,
        /// When it expires.
        expiry: Timestamp,
        /// Whether the chain is of nobody but the user: a local one that was started anew has forgotten it, and never takes it.
        is_local: bool,
    },
    /// The node turned the transaction away.
    #[error("the node refused the transaction {hash}, so it is not on the chain: {why}")]
    Refused {
        /// The transaction.
        hash: TransactionHash,
        /// The node's words.
        why: String,
    },
    /// It is not known whether the transaction was taken.
    #[error(
        "it is not known whether the node took the transaction {hash}: {cause}; it is in the journal, nothing is sent again, and \
         `cardproof tx status {hash}` tells what became of it"
    )]
    SendUnclear {
        /// The transaction.
        hash: TransactionHash,
        /// What happened.
        cause: ChainError,
    },
    /// Nobody said yes.
    #[error("it was not confirmed: nothing was signed or sent")]
    NotConfirmed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_in_sentences_are_in_ccd() {
        let error = AnchorError::InsufficientFunds { address: AccountAddress([7; 32]), available: 1_500_000, cost: 15_430_833 };
        let text = error.to_string();
        assert!(text.contains("1.500000 CCD at its disposal") && text.ends_with("may cost 15.430833 CCD"), "{text}");
        assert!(!text.contains("microCCD"), "{text}");
    }
}
