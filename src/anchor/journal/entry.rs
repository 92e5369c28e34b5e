use serde_json::{json, Value};

use crate::anchor::json::{fault, read_json};
use crate::anchor::SignedTransaction;
use crate::chain::TransactionHash;
use crate::registry::Timestamp;

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JournalState {
    /// Signed. Written before it is sent, so it may or may not have reached a node.
    Signed,
    /// A node took it.
    Sent,
    /// A node refused it outright, so it is on no chain.
    Refused,
    /// It is in a finalized block.
    Finalized,
    /// It is past its expiry by the time of a finalized block and not on the chain: it never will be.
    Expired,
}

impl JournalState {
    const ALL: [Self; 5] = [Self::Signed, Self::Sent, Self::Refused, Self::Finalized, Self::Expired];

    /// `signed`, `sent`, `refused`, `finalized` or `expired`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Sent => "sent",
            Self::Refused => "refused",
            Self::Finalized => "finalized",
            Self::Expired => "expired",
        }
    }

    /// Whether the transaction may still end up in a block.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Signed | Self::Sent)
    }
}

/// One transaction of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What became of it.
    pub state: JournalState,
    /// When that was written down.
    pub time: Timestamp,
    /// The transaction.
    pub signed: SignedTransaction,
}

impl Entry {
    /// The hash that names the transaction.
    pub fn hash(&self) -> TransactionHash {
        self.signed.hash()
    }

    /// The line of the first entry about a transaction, which holds it whole.
    pub(super) fn to_json(&self) -> Value {
        let transaction = &self.signed.transaction;
        json!({
            "schema": "cardproof.journal/1",
            "time": self.time.to_rfc3339(),
            "time_ms": self.time.0,
            "state": self.state.as_str(),
            "transaction_hash": self.hash().to_string(),
            "nonce": transaction.nonce().to_string(),
            "expiry": transaction.expiry(),
            "receive_name": transaction.call().receive_name,
            "block_item_hex": hex::encode(self.signed.block_item()),
        })
    }

    /// The line of a later one.
    pub(super) fn change_to_json(hash: TransactionHash, state: JournalState, time: Timestamp) -> Value {
        json!({
            "schema": "cardproof.journal/1",
            "time": time.to_rfc3339(),
            "time_ms": time.0,
            "state": state.as_str(),
            "transaction_hash": hash.to_string(),
        })
    }

    /// Applies a line to the entries read so far.
    pub(super) fn apply(line: &str, entries: &mut Vec<Self>) -> Result<(), String> {
        let json = read_json(line.as_bytes()).map_err(|error| fault(&error))?;
        let text = |field: &str| json.get(field).and_then(Value::as_str);
        if text("schema") != Some("cardproof.journal/1") {
            return Err("it is not of the schema cardproof.journal/1".into());
        }
        let state = JournalState::ALL.into_iter().find(|state| Some(state.as_str()) == text("state"));
        let state = state.ok_or("it has no known state")?;
        let time = Timestamp(json.get("time_ms").and_then(Value::as_u64).ok_or("it has no time")?);
        let hash: TransactionHash =
            text("transaction_hash").and_then(|hash| hash.parse().ok()).ok_or("it names no transaction")?;
        match text("block_item_hex") {
            Some(item) => {
                let bytes = hex::decode(item).map_err(|_| "its block item is not hexadecimal")?;
                let signed = SignedTransaction::from_block_item(&bytes).map_err(|error| error.to_string())?;
                if signed.hash() != hash {
                    return Err("its block item has another hash than it says".into());
                }
                entries.push(Self { state, time, signed });
            }
            None => {
                let known = entries.iter_mut().rev().find(|entry| entry.hash() == hash);
                let entry = known.ok_or("it is about a transaction that no line before it holds")?;
                (entry.state, entry.time) = (state, time);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_says_something_twice_is_damage() {
        let line =
            r#"{"schema": "cardproof.journal/1", "time_ms": 1, "state": "sent", "state": "expired", "transaction_hash": ""}"#;
        let why = Entry::apply(line, &mut Vec::new()).unwrap_err();
        assert!(why.contains("the field state appears twice"), "{why}");
    }
}
