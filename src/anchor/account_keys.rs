use std::collections::BTreeMap;

use ed25519_dalek::{Signature, VerifyingKey};

use crate::chain::Account;

use super::{AnchorError, Signatures};

/// Public keys by the index of a credential, and within it by the index of a key.
pub type PublicKeys = BTreeMap<u8, BTreeMap<u8, [u8; 32]>>;

/// Requires every key to be one of the account's, and says whether together they reach its thresholds.
///
/// The chain wants as many credentials as the account's threshold says, and of **every** credential that signs as many keys as that
/// credential's threshold says.
///
/// # Errors
/// [`AnchorError::ForeignKey`] for a key that is not the account's.
pub fn check_keys(account: &Account, keys: &PublicKeys) -> Result<bool, AnchorError> {
    for (&credential, by_key) in keys {
        for (&key, public) in by_key {
            if held(account, credential, key) != Some(public) {
                return Err(AnchorError::ForeignKey { address: account.address, credential, key });
            }
        }
    }
    let counts = keys.iter().map(|(&credential, by_key)| (credential, by_key.len()));
    Ok(reaches_thresholds(account, counts))
}

/// Requires every signature over `message` to be by a key of the account, and says whether they reach its thresholds.
///
/// # Errors
/// [`AnchorError::BadSignature`] for one that the account's key does not verify, [`AnchorError::ForeignKey`] for one of a key that
/// the account does not have.
pub fn check_signatures(account: &Account, message: &[u8], signatures: &Signatures) -> Result<bool, AnchorError> {
    let address = account.address;
    for (&credential, by_key) in &signatures.0 {
        for (&key, signature) in by_key {
            let public = held(account, credential, key).ok_or(AnchorError::ForeignKey { address, credential, key })?;
            let verified = VerifyingKey::from_bytes(public)
                .and_then(|public| public.verify_strict(message, &Signature::from_bytes(signature)));
            verified.map_err(|_| AnchorError::BadSignature { address, credential, key })?;
        }
    }
    Ok(reaches_thresholds(account, signatures.0.iter().map(|(&credential, by_key)| (credential, by_key.len()))))
}

/// How many signatures an account needs at least: the thresholds of as many credentials as its own threshold says, lowest
/// indices first.
pub fn signatures_needed(account: &Account) -> u32 {
    account.credentials.values().take(account.threshold as usize).map(|credential| credential.threshold).sum::<u32>().max(1)
}

fn held(account: &Account, credential: u8, key: u8) -> Option<&[u8; 32]> {
    account.credentials.get(&u32::from(credential))?.keys.get(&u32::from(key))
}

fn reaches_thresholds(account: &Account, counts: impl Iterator<Item = (u8, usize)>) -> bool {
    let mut credentials = 0u64;
    for (credential, count) in counts.filter(|(_, count)| *count > 0) {
        credentials += 1;
        let threshold = account.credentials.get(&u32::from(credential)).map_or(u32::MAX, |held| held.threshold);
        if (count as u64) < u64::from(threshold) {
            return false;
        }
    }
    credentials >= u64::from(account.threshold.max(1))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;
    use crate::chain::Credential;
    use crate::identity::AccountAddress;

    fn secret(key: u8) -> SigningKey {
        SigningKey::from_bytes(&[key + 1; 32])
    }

    fn public(key: u8) -> [u8; 32] {
        secret(key).verifying_key().to_bytes()
    }

    /// Two credentials must sign: the first with two of three keys, the second with its one.
    fn account() -> Account {
        let credential = |threshold, keys: &[u8]| Credential {
            threshold,
            keys: keys.iter().map(|&key| (u32::from(key), public(key))).collect(),
        };
        Account {
            address: AccountAddress([1; 32]),
            next_nonce: 1,
            balance: 0,
            available: None,
            threshold: 2,
            credentials: [(0, credential(2, &[0, 1, 2])), (1, credential(1, &[5]))].into(),
        }
    }

    fn each<T>(pairs: &[(u8, u8)], make: impl Fn(u8) -> T) -> BTreeMap<u8, BTreeMap<u8, T>> {
        let mut made: BTreeMap<u8, BTreeMap<u8, T>> = BTreeMap::new();
        for &(credential, key) in pairs {
            made.entry(credential).or_default().insert(key, make(key));
        }
        made
    }

    #[test]
    fn keys_must_be_the_accounts_and_reach_its_thresholds() {
        let keys = |pairs: &[(u8, u8)]| check_keys(&account(), &each(pairs, public));
        assert_eq!(signatures_needed(&account()), 3);
        assert!(keys(&[(0, 0), (0, 2), (1, 5)]).unwrap());
        assert!(!keys(&[(0, 0), (1, 5)]).unwrap(), "credential 0 needs two");
        assert!(!keys(&[(0, 0), (0, 1)]).unwrap(), "two credentials are needed");
        assert!(!keys(&[]).unwrap());
        assert!(matches!(keys(&[(1, 0)]), Err(AnchorError::ForeignKey { credential: 1, key: 0, .. })));
        assert!(keys(&[(7, 0)]).is_err());
    }

    #[test]
    fn a_signature_of_something_else_is_found() {
        let sign =
            |message: &'static [u8], pairs: &[(u8, u8)]| Signatures(each(pairs, |key| secret(key).sign(message).to_bytes()));
        let all = [(0, 1), (0, 2), (1, 5)];
        assert!(check_signatures(&account(), b"this", &sign(b"this", &all)).unwrap());
        assert!(!check_signatures(&account(), b"this", &sign(b"this", &all[..2])).unwrap());
        let other = check_signatures(&account(), b"this", &sign(b"that", &all));
        assert!(matches!(other, Err(AnchorError::BadSignature { credential: 0, key: 1, .. })));
    }
}
