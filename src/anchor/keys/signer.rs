use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signer as _, SigningKey};

use crate::anchor::{AnchorError, PublicKeys, Signatures, Signer, ToSign};
use crate::identity::AccountAddress;

use super::KeyError;

/// Signing keys by credential and key index. They erase themselves when dropped.
pub(super) type Keys = BTreeMap<u8, BTreeMap<u8, SigningKey>>;

/// Which keys of an account sign: what `--signers` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySelection(Vec<(u8, u8)>);

impl FromStr for KeySelection {
    type Err = KeyError;

    /// Reads `0:0,0:1,2:0`, as concordium-client does: pairs of a credential's and a key's index.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let index = |text: &str| -> Option<u8> {
            let text = text.trim();
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
        };
        let pairs = text.split(',').map(|pair| {
            let (credential, key) = pair.split_once(':')?;
            Some((index(credential)?, index(key)?))
        });
        pairs.collect::<Option<Vec<_>>>().map(Self).ok_or(KeyError::Selection)
    }
}

/// Signs with keys in memory, each of which gives one signature.
pub struct AccountSigner {
    address: AccountAddress,
    keys: Keys,
}

impl AccountSigner {
    /// A signer for `address` that uses all of `keys`.
    pub(super) fn new(address: AccountAddress, keys: Keys) -> Self {
        Self { address, keys }
    }

    /// Of all keys, those that `selection` names.
    pub(super) fn selected(mut keys: Keys, selection: &KeySelection) -> Result<Keys, KeyError> {
        let mut chosen = Keys::new();
        for &(credential, key) in &selection.0 {
            let taken = keys.get_mut(&credential).and_then(|keys| keys.remove(&key));
            let known = chosen.entry(credential).or_default();
            match taken {
                Some(signing) => drop(known.insert(key, signing)),
                None if known.contains_key(&key) => {}
                None => return Err(KeyError::NoSuchKey { credential, key }),
            }
        }
        Ok(chosen)
    }
}

impl fmt::Debug for AccountSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().flat_map(|(c, keys)| keys.keys().map(move |k| format!("{c}:{k}"))).collect();
        f.debug_struct("AccountSigner").field("address", &self.address).field("keys", &keys).finish_non_exhaustive()
    }
}

impl Signer for AccountSigner {
    fn address(&self) -> AccountAddress {
        self.address
    }

    fn public_keys(&self) -> PublicKeys {
        let public = |keys: &BTreeMap<u8, SigningKey>| keys.iter().map(|(&k, key)| (k, key.verifying_key().to_bytes())).collect();
        self.keys.iter().map(|(&credential, keys)| (credential, public(keys))).collect()
    }

    async fn sign(&self, what: ToSign<'_>) -> Result<Signatures, AnchorError> {
        let bytes = what.bytes();
        let sign = |keys: &BTreeMap<u8, SigningKey>| keys.iter().map(|(&k, key)| (k, key.sign(&bytes).to_bytes())).collect();
        Ok(Signatures(self.keys.iter().map(|(&credential, keys)| (credential, sign(keys))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        let key = |byte| SigningKey::from_bytes(&[byte; 32]);
        BTreeMap::from([(0, BTreeMap::from([(0, key(1)), (1, key(2))])), (2, BTreeMap::from([(0, key(3))]))])
    }

    #[test]
    fn a_selection_names_pairs() {
        assert_eq!("0:1, 2:0".parse::<KeySelection>().unwrap(), KeySelection(vec![(0, 1), (2, 0)]));
        for text in ["", "0", "0:", ":0", "0:256", "0:0,", "+0:0", "a:b", "0:0:0"] {
            assert!(text.parse::<KeySelection>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_selected_keys_sign() {
        let chosen = AccountSigner::selected(keys(), &"0:1,2:0,0:1".parse().unwrap()).unwrap();
        let signer = AccountSigner::new(AccountAddress([7; 32]), chosen);
        assert_eq!(signer.signature_count(), 2);
        let missing = AccountSigner::selected(keys(), &"0:1,2:1".parse().unwrap()).unwrap_err();
        assert!(matches!(missing, KeyError::NoSuchKey { credential: 2, key: 1 }));
    }

    #[test]
    fn debug_shows_indices_and_no_key() {
        let signer = AccountSigner::new(AccountAddress([7; 32]), keys());
        let text = format!("{signer:?}");
        assert!(text.contains("0:1") && text.contains("2:0"));
        for byte in 1..=3u8 {
            assert!(!text.contains(&hex::encode([byte; 32])) && !text.contains(&format!("{:?}", [byte; 32])), "{text}");
        }
    }
}
