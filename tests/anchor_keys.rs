//! Every key file format gives the same signer, and no failure shows a secret.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cardproof::anchor::keys::{AccountSigner, KeyError, KeyFile};
use cardproof::anchor::Signer;
use serde_json::{json, Value};
use zeroize::Zeroizing;

fn fixture() -> Value {
    serde_json::from_str(include_str!("data/keys/formats.json")).unwrap()
}

fn read(file: &Value, password: Option<&str>) -> Result<KeyFile, KeyError> {
    let mut ask = || match password {
        Some(password) => Ok(Zeroizing::new(password.to_owned())),
        None => Err(KeyError::PasswordNeeded("test")),
    };
    KeyFile::read(file.to_string().as_bytes(), &mut ask)
}

fn signer(file: &Value, password: Option<&str>, sender: Option<&str>) -> Result<AccountSigner, KeyError> {
    read(file, password)?.signer(sender.map(|sender| sender.parse().unwrap()), None)
}

/// Everything about a failure that could reach a person or a log.
fn shown(error: &KeyError) -> String {
    format!("{error} {error:?}")
}

#[test]
fn every_format_gives_the_same_keys() {
    let fixture = fixture();
    let address = fixture["address"].as_str().unwrap();
    let password = fixture["password"].as_str();
    for name in ["account", "browser_wallet", "mobile_wallet_encrypted", "client_encrypted", "simple"] {
        let signer = signer(&fixture[name], password, Some(address)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(signer.address(), address.parse().unwrap(), "{name}");
        assert_eq!(signer.signature_count(), 2, "{name}");
        let public = signer.public_keys();
        for key in 0..2u8 {
            assert_eq!(hex::encode(public[&0][&key]), fixture["public"][usize::from(key)].as_str().unwrap(), "{name}");
        }
    }
}

#[test]
fn a_byte_order_mark_before_a_key_file_is_passed_by() {
    let text = format!("\u{feff}{}", fixture()["account"]);
    let file = KeyFile::read(text.as_bytes(), &mut || Err(KeyError::PasswordNeeded("test"))).unwrap();
    assert_eq!(file.signer(None, None).unwrap().signature_count(), 2);
}

#[test]
fn only_a_wallet_export_names_its_network() {
    let fixture = fixture();
    let password = fixture["password"].as_str();
    for (name, environment) in
        [("browser_wallet", Some("testnet")), ("mobile_wallet_encrypted", Some("testnet")), ("account", None), ("simple", None)]
    {
        assert_eq!(read(&fixture[name], password).unwrap().environment(), environment, "{name}");
    }
}

#[test]
fn the_sender_must_be_known_and_in_the_file() {
    let fixture = fixture();
    let other = "4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7";
    assert!(matches!(signer(&fixture["simple"], None, None), Err(KeyError::SenderNeeded)));
    assert!(matches!(signer(&fixture["account"], None, Some(other)), Err(KeyError::OtherAccount(_))));
    assert!(signer(&fixture["account"], None, None).is_ok());
}

#[test]
fn thresholds_in_the_file_limit_how_many_keys_sign() {
    let mut account = fixture()["account"].clone();
    account["accountKeys"]["keys"]["0"]["threshold"] = json!(1);
    assert_eq!(signer(&account, None, None).unwrap().signature_count(), 1);
    let selected = read(&account, None).unwrap().signer(None, Some(&"0:0,0:1".parse().unwrap())).unwrap();
    assert_eq!(selected.signature_count(), 2, "--signers overrides the threshold");
    account["accountKeys"]["keys"]["0"]["threshold"] = json!(0);
    assert!(signer(&account, None, None).is_err());
}

#[test]
fn an_encrypted_file_needs_its_password() {
    let fixture = fixture();
    for name in ["mobile_wallet_encrypted", "client_encrypted"] {
        assert!(matches!(read(&fixture[name], None), Err(KeyError::PasswordNeeded(_))), "{name}");
        let wrong = read(&fixture[name], Some("wrong")).unwrap_err();
        assert!(matches!(wrong, KeyError::WrongPassword(_)), "{name}: {wrong}");
        assert!(!shown(&wrong).contains("wrong horse"));
    }
    let mut endless = fixture["mobile_wallet_encrypted"].clone();
    endless["metadata"]["iterations"] = json!(4_000_000_000u64);
    assert!(read(&endless, Some("x")).unwrap_err().to_string().contains("rounds"));
    let mut other = fixture["mobile_wallet_encrypted"].clone();
    other["metadata"]["encryptionMethod"] = json!("ChaCha20");
    assert!(read(&other, Some("x")).unwrap_err().to_string().contains("AES-256"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let contents = json!({"metadata": {}, "cipherText": ""});
    let cases = [
        (json!({"type": "encrypted", "contents": contents}), "concordium-client's configuration"),
        (json!({"type": "concordium-browser-wallet-account", "v": 7}), "version"),
        (json!({"type": "something-else"}), "type"),
        (json!({"name": "x"}), "none of the key file formats"),
        (json!([1]), "not a key file"),
        (json!({"0": {}}), "no keys"),
        (json!({"0": {"0": "zz"}}), "64 hexadecimal"),
        (json!({"0": {"256": "00"}}), "0 to 255"),
        (json!({"address": "x", "accountKeys": {}}), "not an account address"),
    ];
    for (file, part) in cases {
        let error = read(&file, None).unwrap_err();
        assert!(error.to_string().contains(part), "{file}: {error}");
    }
}

/// Damages every text of every format in turn: no message may show eight characters of a secret.
#[test]
fn no_failure_shows_a_secret() {
    let fixture = fixture();
    let secrets: Vec<&str> = ["0", "1"].iter().map(|key| fixture["simple"]["0"][key].as_str().unwrap()).collect();
    let mut failures = 0;
    for name in ["account", "browser_wallet", "simple"] {
        let text = fixture[name].to_string();
        for (at, _) in text.char_indices().step_by(7) {
            for damage in ["", "\"", "}", "\\", "z"] {
                let damaged = format!("{}{damage}{}", &text[..at], text.get(at + 1..).unwrap_or_default());
                let read = KeyFile::read(damaged.as_bytes(), &mut || Err(KeyError::PasswordNeeded("test")));
                let outcome = match read {
                    Ok(file) => format!("{file:?}"),
                    Err(error) => shown(&error),
                };
                failures += 1;
                for secret in &secrets {
                    for part in secret.as_bytes().windows(8) {
                        assert!(!outcome.contains(std::str::from_utf8(part).unwrap()), "{name} at {at}: {outcome}");
                    }
                }
            }
        }
    }
    assert!(failures > 300);
}
