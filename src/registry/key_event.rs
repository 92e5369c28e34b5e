use serde_json::{json, Value as Json};

use crate::identity::AccountAddress;

use super::document::Document;
use super::event::{events, EventField};
use super::parameter::{ExternalKeyId, KeyMetadataEntry};
use super::wire::{Reader, Wire, Writer};
use super::{DecodeError, EncodeError, EventTime};

events! {
    /// An event of a CIS-8 External Key Registry (registry facts, section 10). Read only what such a contract logged as one:
    /// the tags are not its own.
    ///
    /// The layouts are stated, not proven; each may end in a time of 8 bytes. Earlier texts of the standard have `Registered`
    /// end after the key: that is read too.
    KeyEvent {
        /// Tag 231: a key was bound to an account.
        231 Registered "ExternalKeyRegistered" {
            /// The account.
            owner: AccountAddress,
            /// The key.
            external_key: ExternalKeyId,
            /// By which proof.
            proof_scheme: Added<String>,
            /// What is stored with it.
            metadata: Added<Vec<KeyMetadataEntry>>,
            /// When, if the contract says.
            time: EventTime,
        }
        /// Tag 232: a binding ended, by its owner or because another account took it over.
        232 Revoked "ExternalKeyRevoked" {
            /// The account.
            owner: AccountAddress,
            /// The key.
            external_key: ExternalKeyId,
            /// When, if the contract says.
            time: EventTime,
        }
        /// Tag 233: other values are stored with a key.
        233 MetadataUpdated "UpdateMetadata" {
            /// The account.
            owner: AccountAddress,
            /// The key.
            external_key: ExternalKeyId,
            /// What is stored now.
            metadata: Vec<KeyMetadataEntry>,
            /// When, if the contract says.
            time: EventTime,
        }
    }
}

/// A field of `Registered` that earlier texts of the standard lack; `None` when the event, but for a time, ends before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added<T>(pub Option<T>);

impl<T: Wire> EventField for Added<T> {
    fn put_field(&self, out: &mut Writer) {
        if let Some(value) = &self.0 {
            value.put(out);
        }
    }

    fn take_field(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match from.left() {
            // Nothing, or a time. (An empty scheme and no metadata would be 8 bytes too, but a proof always has a scheme.)
            0 | 8 => Ok(Self(None)),
            _ => T::take(from, what).map(|value| Self(Some(value))),
        }
    }
}

impl<T: Document> Document for Added<T> {
    fn document(&self) -> Json {
        self.0.document()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::RegistryEvent;

    fn registered() -> KeyEvent {
        KeyEvent::Registered {
            owner: AccountAddress([7; 32]),
            external_key: ExternalKeyId { namespace: "a".into(), key_type: "ed25519".into(), public_key: vec![9; 32] },
            proof_scheme: Added(Some("solana-ed25519".into())),
            metadata: Added(Some(vec![])),
            time: EventTime(None),
        }
    }

    #[test]
    fn a_registration_is_read_with_and_without_what_was_added_later() {
        let whole = registered().to_bytes().unwrap();
        assert_eq!(KeyEvent::parse(&whole), registered());
        let short = &whole[..whole.len() - 4 - 14 - 4];
        let json = KeyEvent::parse(short).to_json();
        assert_eq!((&json["name"], &json["proof_scheme"]), (&json!("ExternalKeyRegistered"), &Json::Null));
        let timed = [short, &5u64.to_le_bytes()].concat();
        assert_eq!(KeyEvent::parse(&timed).to_json()["time"], "1970-01-01T00:00:00.005Z");
        let timed = [&whole[..], &5u64.to_le_bytes()].concat();
        assert_eq!(KeyEvent::parse(&timed).to_json()["proof_scheme"], "solana-ed25519");
    }

    #[test]
    fn the_contract_decides_what_a_tag_means() {
        let bytes = registered().to_bytes().unwrap();
        assert!(matches!(RegistryEvent::parse(&bytes), RegistryEvent::Unknown { tag: Some(231), .. }));
        assert!(matches!(KeyEvent::parse(&[240, 8]), KeyEvent::Unknown { tag: Some(240), .. }));
    }
}
