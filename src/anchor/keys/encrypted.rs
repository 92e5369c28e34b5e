use concordium_rust_sdk::common::encryption::{decrypt, EncryptedData, Password};
use serde_json::json;
use zeroize::Zeroizing;

use super::json::Json;
use super::KeyError;

/// Wallets use 100,000 rounds. A file may not ask for so many that reading it never ends.
const MOST_ROUNDS: u64 = 10_000_000;

/// Whether this is the `{metadata, cipherText}` that concordium-client and the mobile wallets write.
pub(super) fn is_encrypted(json: &Json<'_>) -> bool {
    json.get("cipherText").is_some() && json.get("metadata").is_some()
}

/// Decrypts `{metadata, cipherText}`: AES-256 in CBC mode under a key derived by PBKDF2 with HMAC-SHA-256.
///
/// The SDK keeps a copy of the password while it works and does not erase it; the plaintext is erased.
pub(super) fn decrypted(json: &Json<'_>, password: &str, format: &'static str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let malformed = |what: &str| KeyError::Malformed { format, what: what.to_owned() };
    let metadata = json.get("metadata").ok_or_else(|| malformed("its metadata is missing"))?;
    let text = |field: &str| metadata.get(field).and_then(Json::text);
    if text("encryptionMethod") != Some("AES-256") || text("keyDerivationMethod") != Some("PBKDF2WithHmacSHA256") {
        return Err(malformed("it is encrypted by another method than AES-256 with PBKDF2WithHmacSHA256, the one that is read"));
    }
    let rounds = metadata.get("iterations").and_then(Json::number).filter(|rounds| (1..=MOST_ROUNDS).contains(rounds));
    let rounds = rounds.ok_or_else(|| malformed("its number of key derivation rounds is missing or out of range"))?;
    let encrypted: EncryptedData = serde_json::from_value(json!({
        "metadata": {
            "encryptionMethod": "AES-256",
            "keyDerivationMethod": "PBKDF2WithHmacSHA256",
            "iterations": rounds,
            "salt": text("salt"),
            "initializationVector": text("initializationVector"),
        },
        "cipherText": json.get("cipherText").and_then(Json::text),
    }))
    .map_err(|_| malformed("its salt, initialization vector or cipher text is not base64 of the right length"))?;
    let plain = decrypt(&Password::from(password.to_owned()), &encrypted).map_err(|_| KeyError::WrongPassword(format))?;
    Ok(Zeroizing::new(plain))
}
