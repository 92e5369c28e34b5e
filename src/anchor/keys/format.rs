use std::collections::BTreeMap;
use std::fmt;

use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

use crate::identity::AccountAddress;

use super::encrypted::{decrypted, is_encrypted};
use super::json::Json;
use super::signer::Keys;
use super::{AccountSigner, AskPassword, KeyError, KeySelection};

const BROWSER_WALLET: &str = "an export of the browser wallet";
const MOBILE_WALLET: &str = "an export of the mobile wallet";
const ACCOUNT: &str = "an account with its keys, as the genesis tool writes it";
const CLIENT: &str = "account keys of concordium-client";
const SIMPLE: &str = "keys by credential and key index";
const ENCRYPTED: &str = "a file encrypted with a password";

/// The accounts that a key file holds, and what else it says.
///
/// | format | how it is recognised |
/// |---|---|
/// | browser wallet export | `type` is `concordium-browser-wallet-account`, `v` is 0 |
/// | mobile wallet export, decrypted | `type` is `concordium-mobile-wallet-data`, `v` is 1 |
/// | genesis account, or `{address, accountKeys}` | `accountKeys` |
/// | concordium-client's account keys | `{"0": {"0": {"encryptedSignKey": …, "verifyKey": …}}}` |
/// | simple | `{"0": {"0": "<64 hex>"}}`; both indices are numbers below 256 |
/// | any of them, encrypted | `{metadata, cipherText}` |
pub struct KeyFile {
    environment: Option<String>,
    accounts: Vec<AccountKeys>,
}

struct AccountKeys {
    address: Option<AccountAddress>,
    keys: Keys,
    /// How many credentials must sign, and how many keys of each; `None` where the file does not say: then all sign.
    thresholds: Option<(u8, BTreeMap<u8, u8>)>,
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.accounts.iter().map(|account| account.address).collect();
        let mut text = f.debug_struct("KeyFile");
        text.field("environment", &self.environment).field("accounts", &addresses).finish_non_exhaustive()
    }
}

impl KeyFile {
    /// Reads the bytes of a key file, asking for a password only when it is encrypted.
    ///
    /// # Errors
    /// [`KeyError`] with a sentence that names the format and the field, and never quotes the file.
    pub fn read(bytes: &[u8], ask_password: AskPassword<'_>) -> Result<Self, KeyError> {
        let json = Json::parse(bytes)?;
        let mut password = Passwords { ask: ask_password, known: None };
        if is_encrypted(&json) {
            let plain = decrypted(&json, password.get()?, ENCRYPTED)?;
            // Right padding with a wrong password has a chance of 1 in 256; what comes out is then not JSON.
            let json = Json::parse(&plain).map_err(|_| KeyError::WrongPassword(ENCRYPTED))?;
            return Self::from_json(&json, &mut password);
        }
        Self::from_json(&json, &mut password)
    }

    fn from_json(json: &Json<'_>, password: &mut Passwords<'_>) -> Result<Self, KeyError> {
        let fields = json.object().ok_or(KeyError::Unsupported(
            "this is not a key file: give an export of the browser wallet, a genesis account, {\"address\", \"accountKeys\"}, or \
             {\"<credential>\": {\"<key>\": \"<64 hex>\"}}",
        ))?;
        let environment = json.get("environment").and_then(Json::text).map(str::to_owned);
        let version = json.get("v").and_then(Json::number);
        let kind = json.get("type").map(|kind| kind.text().unwrap_or_default());
        let accounts = match kind {
            Some("concordium-browser-wallet-account") if version == Some(0) => {
                let value = json.get("value").ok_or_else(|| malformed(BROWSER_WALLET, "value is missing"))?;
                vec![account(value, BROWSER_WALLET, password)?]
            }
            Some("concordium-mobile-wallet-data") if version == Some(1) => mobile_accounts(json, password)?,
            Some("concordium-browser-wallet-account" | "concordium-mobile-wallet-data") => {
                return Err(KeyError::Unsupported("this is a wallet export of a version that cardproof does not know"));
            }
            Some("encrypted" | "unencrypted") if json.get("contents").is_some() => {
                return Err(KeyError::Unsupported(
                    "this is a backup of concordium-client's configuration, which cardproof does not read: give the file with \
                     the account's keys from that configuration, or an export of the wallet",
                ));
            }
            Some(_) => return Err(KeyError::Unsupported("this is a file of a type that cardproof does not know")),
            None if json.get("accountKeys").is_some() => vec![account(json, ACCOUNT, password)?],
            None if !fields.is_empty() && fields.keys().all(|name| index(name).is_some()) => {
                let encrypted =
                    fields.values().filter_map(Json::object).flat_map(BTreeMap::values).any(|key| key.object().is_some());
                let format = if encrypted { CLIENT } else { SIMPLE };
                vec![AccountKeys {
                    address: None,
                    keys: credentials(json, format, password, &mut BTreeMap::new())?,
                    thresholds: None,
                }]
            }
            None => {
                return Err(KeyError::Unsupported(
                    "this JSON is none of the key file formats: an export of the browser or the mobile wallet, a genesis account, \
                     {\"address\", \"accountKeys\"}, account keys of concordium-client, or {\"<credential>\": {\"<key>\": \"<64 hex>\"}}",
                ));
            }
        };
        Ok(Self { environment, accounts })
    }

    /// The network that the wallet says the keys are for (`mainnet`, `testnet`), when the file says one.
    ///
    /// It must agree with the node's before anything is signed (fault C-76).
    pub fn environment(&self) -> Option<&str> {
        self.environment.as_deref()
    }

    /// A signer with the keys of one account.
    ///
    /// `sender` names the account; without it the file must hold just one. `selection` names the keys; without it as many
    /// sign as the thresholds in the file ask for, lowest indices first, or all when it has no thresholds.
    ///
    /// # Errors
    /// [`KeyError`] when the account or a key is not in the file, or the account is not named by either.
    pub fn signer(self, sender: Option<AccountAddress>, selection: Option<&KeySelection>) -> Result<AccountSigner, KeyError> {
        let count = self.accounts.len();
        let mut accounts = self.accounts.into_iter();
        let account = match sender {
            None if count > 1 => return Err(KeyError::SeveralAccounts(count)),
            None => accounts.next(),
            Some(sender) => accounts.find(|account| account.address.is_none_or(|address| address == sender)),
        };
        let account = match (account, sender) {
            (Some(account), _) => account,
            (None, Some(sender)) => return Err(KeyError::OtherAccount(sender)),
            (None, None) => return Err(KeyError::Unsupported("the wallet export holds no account")),
        };
        let address = sender.or(account.address).ok_or(KeyError::SenderNeeded)?;
        let keys = match (selection, account.thresholds) {
            (Some(selection), _) => AccountSigner::selected(account.keys, selection)?,
            (None, Some((threshold, each))) => {
                let take = |(credential, keys): (u8, BTreeMap<u8, SigningKey>)| {
                    let needed = each.get(&credential).copied().unwrap_or(u8::MAX);
                    (credential, keys.into_iter().take(needed.into()).collect())
                };
                account.keys.into_iter().take(threshold.into()).map(take).collect()
            }
            (None, None) => account.keys,
        };
        Ok(AccountSigner::new(address, keys))
    }
}

/// The password, asked for once.
struct Passwords<'a> {
    ask: AskPassword<'a>,
    known: Option<Zeroizing<String>>,
}

impl Passwords<'_> {
    fn get(&mut self) -> Result<&str, KeyError> {
        if self.known.is_none() {
            self.known = Some((self.ask)()?);
        }
        Ok(self.known.as_deref().map_or("", String::as_str))
    }
}

fn malformed(format: &'static str, what: impl Into<String>) -> KeyError {
    KeyError::Malformed { format, what: what.into() }
}

fn index(text: &str) -> Option<u8> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn mobile_accounts(json: &Json<'_>, password: &mut Passwords<'_>) -> Result<Vec<AccountKeys>, KeyError> {
    let identities = json.get("value").and_then(|value| value.get("identities")).and_then(Json::list);
    let identities = identities.ok_or_else(|| malformed(MOBILE_WALLET, "value.identities is missing"))?;
    let mut accounts = Vec::new();
    for identity in identities {
        for entry in identity.get("accounts").and_then(Json::list).unwrap_or_default() {
            accounts.push(account(entry, MOBILE_WALLET, password)?);
        }
    }
    Ok(accounts)
}

/// `{address, accountKeys: {keys: {"0": {keys: {"0": {signKey, verifyKey}}, threshold}}, threshold}}`.
fn account(json: &Json<'_>, format: &'static str, password: &mut Passwords<'_>) -> Result<AccountKeys, KeyError> {
    let address = json.get("address").and_then(Json::text).ok_or_else(|| malformed(format, "address is missing"))?;
    let address = address.parse().map_err(|_| malformed(format, "address is not an account address"))?;
    let account_keys = json.get("accountKeys").ok_or_else(|| malformed(format, "accountKeys is missing"))?;
    let keys = account_keys.get("keys").ok_or_else(|| malformed(format, "accountKeys.keys is missing"))?;
    let mut each = BTreeMap::new();
    let keys = credentials(keys, format, password, &mut each)?;
    let threshold =
        threshold(account_keys).ok_or_else(|| malformed(format, "accountKeys.threshold is not a number from 1 to 255"))?;
    Ok(AccountKeys { address: Some(address), keys, thresholds: Some((threshold, each)) })
}

fn threshold(json: &Json<'_>) -> Option<u8> {
    json.get("threshold").and_then(Json::number).and_then(|n| u8::try_from(n).ok()).filter(|&n| n > 0)
}

/// Reads `{"0": {keys: {"0": <pair>}, threshold}}` or `{"0": {"0": <pair>}}`, noting each credential's threshold.
fn credentials(
    json: &Json<'_>,
    format: &'static str,
    password: &mut Passwords<'_>,
    thresholds: &mut BTreeMap<u8, u8>,
) -> Result<Keys, KeyError> {
    let entries = json.object().ok_or_else(|| malformed(format, "the credentials are not an object"))?;
    let mut credentials = Keys::new();
    for (name, entry) in entries {
        let credential =
            index(name).ok_or_else(|| malformed(format, "the index of a credential is not a number from 0 to 255"))?;
        let pairs = match entry.get("keys") {
            Some(pairs) => {
                let threshold = threshold(entry).ok_or_else(|| {
                    malformed(format, format!("the threshold of credential {credential} is not a number from 1 to 255"))
                })?;
                thresholds.insert(credential, threshold);
                pairs
            }
            None => entry,
        };
        let pairs = pairs.object().filter(|pairs| !pairs.is_empty());
        let pairs = pairs.ok_or_else(|| malformed(format, format!("credential {credential} has no keys")))?;
        let mut keys = BTreeMap::new();
        for (name, pair) in pairs {
            let key = index(name).ok_or_else(|| malformed(format, "the index of a key is not a number from 0 to 255"))?;
            let wrong = |what| malformed(format, format!("key {key} of credential {credential} {what}"));
            if keys.insert(key, signing_key(pair, password, wrong)?).is_some() {
                return Err(wrong("appears twice"));
            }
        }
        if credentials.insert(credential, keys).is_some() {
            return Err(malformed(format, format!("credential {credential} appears twice")));
        }
    }
    if credentials.is_empty() {
        return Err(malformed(format, "it holds no credential"));
    }
    Ok(credentials)
}

/// Reads `"<hex>"`, `{signKey, verifyKey?}` or `{encryptedSignKey, verifyKey}`.
fn signing_key(
    pair: &Json<'_>,
    password: &mut Passwords<'_>,
    wrong: impl Fn(&'static str) -> KeyError,
) -> Result<SigningKey, KeyError> {
    let mut secret = Zeroizing::new([0u8; 32]);
    let mut read = |text: &str| hex::decode_to_slice(text, secret.as_mut()).map_err(|_| wrong("is not 64 hexadecimal digits"));
    if let Some(text) = pair.text().or_else(|| pair.get("signKey").and_then(Json::text)) {
        read(text)?;
    } else if let Some(encrypted) = pair.get("encryptedSignKey").filter(|value| is_encrypted(value)) {
        // concordium-client encrypts the JSON text of the key: 64 hexadecimal digits in quotes.
        let plain = decrypted(encrypted, password.get()?, CLIENT)?;
        let json = Json::parse(&plain).map_err(|_| KeyError::WrongPassword(CLIENT))?;
        read(json.text().unwrap_or_default())?;
    } else {
        return Err(wrong("has neither signKey nor encryptedSignKey"));
    }
    let key = SigningKey::from_bytes(&secret);
    if let Some(public) = pair.get("verifyKey") {
        if public.text() != Some(hex::encode(key.verifying_key().to_bytes()).as_str()) {
            return Err(wrong("does not belong to its verifyKey"));
        }
    }
    Ok(key)
}
