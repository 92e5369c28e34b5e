use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::Path;

use concordium_rust_sdk::base::common::to_bytes;
use concordium_rust_sdk::base::common::types::{CredentialIndex, KeyIndex, KeyPair};
use concordium_rust_sdk::base::contracts_common::{AccountThreshold, SignatureThreshold};
use concordium_rust_sdk::base::curve_arithmetic::Curve;
use concordium_rust_sdk::base::ed25519::SigningKey;
use concordium_rust_sdk::base::id::constants::ArCurve;
use concordium_rust_sdk::base::id::types::{account_address_from_registration_id, AccountKeys, CredentialData};
use sha2::{Digest, Sha512};

use super::DevnetError;
use crate::identity::AccountAddress;

/// What a test account shall be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AccountSpec {
    /// How many credentials it has, 1 to 10.
    pub credentials: u8,
    /// How many of them must sign.
    pub account_threshold: u8,
    /// How many keys each credential has, 1 to 10.
    pub keys: u8,
    /// How many of them must sign.
    pub key_threshold: u8,
    /// Its balance at genesis, in microCCD.
    pub micro_ccd: u64,
}

impl AccountSpec {
    /// One credential with one key.
    pub const fn simple(micro_ccd: u64) -> Self {
        Self { credentials: 1, account_threshold: 1, keys: 1, key_threshold: 1, micro_ccd }
    }

    /// One credential of which `threshold` of `keys` keys must sign.
    pub const fn multi_signature(keys: u8, threshold: u8, micro_ccd: u64) -> Self {
        Self { credentials: 1, account_threshold: 1, keys, key_threshold: threshold, micro_ccd }
    }

    pub(super) fn check(&self) -> Result<(), DevnetError> {
        let good = (1..=10).contains(&self.credentials)
            && (1..=10).contains(&self.keys)
            && (1..=self.credentials).contains(&self.account_threshold)
            && (1..=self.keys).contains(&self.key_threshold);
        if good {
            return Ok(());
        }
        Err(DevnetError::Configuration(
            "an account has 1 to 10 credentials with 1 to 10 keys, and no threshold above its count".into(),
        ))
    }
}

/// A funded account of the local chain, with its secret keys.
///
/// The keys follow from the chain's seed, so everybody has them: never use them on a real network.
pub struct TestAccount {
    pub(super) keys: AccountKeys,
    pub(super) address: concordium_rust_sdk::base::contracts_common::AccountAddress,
    pub(super) registration_ids: BTreeMap<u8, ArCurve>,
    pub(super) encryption_key: ArCurve,
    spec: AccountSpec,
}

impl fmt::Debug for TestAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestAccount").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl TestAccount {
    /// The account number `index` of the chain with this seed.
    pub(super) fn derive(seed: &str, index: usize, spec: &AccountSpec) -> Result<Self, DevnetError> {
        spec.check()?;
        let mut keys = BTreeMap::new();
        let mut registration_ids = BTreeMap::new();
        for credential in 0..spec.credentials {
            let pairs = (0..spec.keys).map(|key| {
                let secret = derive(seed, &format!("account {index} credential {credential} key {key}"));
                let mut half = [0; 32];
                half.copy_from_slice(secret.split_at(32).0);
                (KeyIndex(key), KeyPair::from(SigningKey::from_bytes(&half)))
            });
            let threshold = SignatureThreshold::try_from(spec.key_threshold);
            let threshold = threshold.map_err(|_| DevnetError::Configuration("a threshold is at least 1".into()))?;
            keys.insert(CredentialIndex { index: credential }, CredentialData { keys: pairs.collect(), threshold });
            registration_ids.insert(credential, point(seed, &format!("account {index} credential {credential} registration")));
        }
        let threshold = AccountThreshold::try_from(spec.account_threshold);
        let threshold = threshold.map_err(|_| DevnetError::Configuration("a threshold is at least 1".into()))?;
        let first = registration_ids.get(&0).ok_or_else(|| DevnetError::Configuration("an account has a credential".into()))?;
        Ok(Self {
            address: account_address_from_registration_id(first),
            keys: AccountKeys { keys, threshold },
            registration_ids,
            encryption_key: point(seed, &format!("account {index} encryption")),
            spec: spec.clone(),
        })
    }

    /// The account's address.
    pub fn address(&self) -> AccountAddress {
        AccountAddress(self.address.0)
    }

    /// Its balance at genesis, in microCCD.
    pub fn initial_micro_ccd(&self) -> u64 {
        self.spec.micro_ccd
    }

    /// How many keys it has and how many signatures it takes, over all credentials.
    pub fn spec(&self) -> &AccountSpec {
        &self.spec
    }

    /// The secret keys: credential index, then key index, then the 32 bytes of the ed25519 signing key.
    pub fn signing_keys(&self) -> BTreeMap<u8, BTreeMap<u8, [u8; 32]>> {
        let secrets = |data: &CredentialData| {
            data.keys.iter().map(|(key, pair)| (key.0, SigningKey::from(pair.clone()).to_bytes())).collect()
        };
        self.keys.keys.iter().map(|(credential, data)| (credential.index, secrets(data))).collect()
    }

    /// The account in the form in which the browser wallet exports one. It holds the secret keys.
    pub fn wallet_export(&self) -> String {
        let key = |pair: &KeyPair| {
            serde_json::json!({
                "signKey": hex::encode(SigningKey::from(pair.clone()).to_bytes()),
                "verifyKey": hex::encode(pair.public().to_bytes()),
            })
        };
        let credential = |data: &CredentialData| {
            let keys: BTreeMap<String, _> = data.keys.iter().map(|(index, pair)| (index.0.to_string(), key(pair))).collect();
            serde_json::json!({ "keys": keys, "threshold": u8::from(data.threshold) })
        };
        let keys: BTreeMap<String, _> =
            self.keys.keys.iter().map(|(index, data)| (index.index.to_string(), credential(data))).collect();
        let ids: BTreeMap<String, String> =
            self.registration_ids.iter().map(|(index, id)| (index.to_string(), hex::encode(to_bytes(id)))).collect();
        let export = serde_json::json!({
            "type": "concordium-browser-wallet-account",
            "v": 0,
            "environment": "devnet",
            "value": {
                "accountKeys": { "keys": keys, "threshold": u8::from(self.keys.threshold) },
                "credentials": ids,
                "address": self.address.to_string(),
            }
        });
        format!("{export:#}\n")
    }

    /// Writes [`wallet_export`](Self::wallet_export) to a file that only its owner may read (mode 0600).
    ///
    /// # Errors
    /// [`DevnetError::File`] when the file cannot be written.
    pub fn write_wallet_export(&self, path: &Path) -> Result<(), DevnetError> {
        let failed = |cause| DevnetError::File { action: "write", path: path.to_owned(), cause };
        let folder = path.parent().unwrap_or(Path::new("."));
        // A temporary file is made with mode 0600, and renamed only when it is complete.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(self.wallet_export().as_bytes()).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// 64 bytes that follow from the chain's seed and a purpose.
fn derive(seed: &str, purpose: &str) -> [u8; 64] {
    let mut hasher = Sha512::new();
    hasher.update(b"cardproof devnet, never for real money\0");
    hasher.update((seed.len() as u64).to_be_bytes());
    hasher.update(seed.as_bytes());
    hasher.update(purpose.as_bytes());
    hasher.finalize().into()
}

/// A valid point of the chain's curve; nobody knows proofs about it, and the local chain needs none.
fn point(seed: &str, purpose: &str) -> ArCurve {
    ArCurve::one_point().mul_by_scalar(&ArCurve::scalar_from_bytes(derive(seed, purpose)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use concordium_rust_sdk::types::WalletAccount;

    #[test]
    fn the_wallet_export_is_read_by_the_sdk() {
        let account = TestAccount::derive("seed", 3, &AccountSpec::multi_signature(3, 2, 7)).unwrap();
        let read = WalletAccount::from_json_str(&account.wallet_export()).unwrap();
        assert_eq!(read.address, account.address);
        assert_eq!(read.keys.keys.len(), 1);
        assert_eq!(account.signing_keys()[&0].len(), 3);
        assert_eq!(u8::from(read.keys.keys[&CredentialIndex { index: 0 }].threshold), 2);
    }

    #[test]
    fn accounts_follow_from_the_seed() {
        let address = |seed, index| TestAccount::derive(seed, index, &AccountSpec::simple(1)).unwrap().address().to_string();
        assert_eq!(address("a", 0), address("a", 0));
        assert_ne!(address("a", 0), address("a", 1));
        assert_ne!(address("a", 0), address("b", 0));
    }

    #[cfg(unix)]
    #[test]
    fn the_wallet_file_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.export");
        let account = TestAccount::derive("seed", 0, &AccountSpec::simple(1)).unwrap();
        account.write_wallet_export(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{account:?}").contains(&hex::encode(account.signing_keys()[&0][&0])));
    }

    #[test]
    fn impossible_accounts_are_refused() {
        for spec in
            [AccountSpec::multi_signature(2, 3, 1), AccountSpec::multi_signature(0, 0, 1), AccountSpec::multi_signature(11, 1, 1)]
        {
            assert!(TestAccount::derive("seed", 0, &spec).is_err());
        }
    }
}
