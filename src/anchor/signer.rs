use std::collections::BTreeMap;
use std::future::Future;

use serde_json::{json, Value};

use crate::identity::AccountAddress;

use super::{AnchorError, PublicKeys, Transaction};

/// Signatures of an account: by the index of a credential, and within it by the index of a key.
///
/// Ed25519, 64 bytes each. JSON form: `{"0": {"0": "<128 hex>"}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signatures(pub BTreeMap<u8, BTreeMap<u8, [u8; 64]>>);

impl Signatures {
    /// How many signatures there are.
    pub fn count(&self) -> u32 {
        self.0.values().map(|keys| keys.len() as u32).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// `{"0": {"0": "<128 hex>"}}`: by credential and key index.
    pub fn to_json(&self) -> Value {
        let hex = |keys: &BTreeMap<u8, [u8; 64]>| keys.iter().map(|(key, bytes)| (key.to_string(), hex::encode(bytes))).collect();
        let by_credential: BTreeMap<String, BTreeMap<String, String>> =
            self.0.iter().map(|(credential, keys)| (credential.to_string(), hex(keys))).collect();
        json!(by_credential)
    }

    /// Adds the signatures of another signer.
    ///
    /// # Errors
    /// [`AnchorError::SignatureConflict`] when both hold a different signature of the same key. (Ed25519 signatures are
    /// deterministic, so two of one key over the same bytes are equal, or one is of something else.)
    pub fn merge(&mut self, other: Self) -> Result<(), AnchorError> {
        for (credential, keys) in other.0 {
            let known = self.0.entry(credential).or_default();
            for (key, signature) in keys {
                if known.insert(key, signature).is_some_and(|before| before != signature) {
                    return Err(AnchorError::SignatureConflict { credential, key });
                }
            }
        }
        Ok(())
    }
}

/// What a signer is asked to sign.
#[derive(Debug, Clone, Copy)]
pub enum ToSign<'a> {
    /// A transaction: its [`Transaction::hash_to_sign`]. A device that shows what it signs has the whole of it.
    Transaction(&'a Transaction),
    /// Bytes that the chain checks with `check_account_signature`, as they are, without any prefix: the message of
    /// setAgentWallet (registry facts, section 3).
    Message(&'a [u8]),
}

impl ToSign<'_> {
    /// The bytes that each key signs.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Transaction(transaction) => transaction.hash_to_sign().to_vec(),
            Self::Message(message) => message.to_vec(),
        }
    }
}

/// Something that signs for an account: keys in memory, a hardware device, a remote service.
pub trait Signer: Send + Sync {
    /// The account it signs for.
    fn address(&self) -> AccountAddress;

    /// The keys it signs with, by credential and key index: compared with the account's before anything is signed.
    fn public_keys(&self) -> PublicKeys;

    /// How many signatures [`Signer::sign`] returns. A transaction pays 100 NRG for each, and the header fixes it before.
    fn signature_count(&self) -> u32 {
        self.public_keys().values().map(|keys| keys.len() as u32).sum()
    }

    /// Signs.
    ///
    /// # Errors
    /// [`AnchorError::Signer`] when the device or service fails or refuses.
    fn sign(&self, what: ToSign<'_>) -> impl Future<Output = Result<Signatures, AnchorError>> + Send;
}
