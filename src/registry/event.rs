use serde_json::{json, Value as Json};

use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, TokenId};

use super::answer::MetadataUrl;
use super::document::Document;
use super::parameter::{Address, OperatorChange, TokenAmount};
use super::wire::{Reader, Wire, Writer};
use super::{DecodeError, EncodeError, ExternalReference, Timestamp};

/// The time at the end of an event that may have one: 0 or 8 bytes.
///
/// The deployed contract ends its `Registered` and `URIUpdated` events in a time that the proposal lacks. Of the other events
/// only the proposal's layout is known, so both are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTime(pub Option<Timestamp>);

/// A field of an event: anything the contracts write, or something that may be missing at the end.
pub(super) trait EventField: Sized {
    fn put_field(&self, out: &mut Writer);
    fn take_field(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError>;
}

impl<T: Wire> EventField for T {
    fn put_field(&self, out: &mut Writer) {
        self.put(out);
    }

    fn take_field(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        T::take(from, what)
    }
}

impl EventField for EventTime {
    fn put_field(&self, out: &mut Writer) {
        if let Some(time) = self.0 {
            time.put(out);
        }
    }

    fn take_field(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match from.left() {
            0 => Ok(Self(None)),
            _ => Timestamp::take(from, what).map(|time| Self(Some(time))),
        }
    }
}

impl Document for EventTime {
    fn document(&self) -> Json {
        self.0.document()
    }
}

macro_rules! events {
    ($(#[$enum_doc:meta])* $enum:ident {
        $($(#[$doc:meta])* $tag:literal $variant:ident $name:literal {
            $($(#[$field_doc:meta])* $field:ident : $type:ty),+ $(,)?
        })+
    }) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $enum {
            $($(#[$doc])* $variant { $($(#[$field_doc])* $field: $type),+ },)+
            /// An event that is not known, or whose bytes are not laid out as expected. Data to show, never an error.
            Unknown {
                /// Its first byte. An event may also be empty.
                tag: Option<u8>,
                /// All its bytes, the first included.
                bytes: Vec<u8>,
            },
        }

        impl $enum {
            /// Reads an event as the contract logged it.
            pub fn parse(bytes: &[u8]) -> Self {
                Self::known(bytes).unwrap_or_else(|_| Self::Unknown { tag: bytes.first().copied(), bytes: bytes.to_vec() })
            }

            fn known(bytes: &[u8]) -> Result<Self, $crate::registry::DecodeError> {
                const WHAT: &str = "the event";
                let mut from = $crate::registry::wire::Reader::new(bytes);
                let event = match from.byte(WHAT)? {
                    $($tag => Self::$variant { $($field: $crate::registry::event::EventField::take_field(&mut from, stringify!($field))?),+ },)+
                    tag => return Err(from.bad_tag(tag, WHAT)),
                };
                from.finish(WHAT)?;
                Ok(event)
            }

            /// The event's bytes.
            ///
            /// # Errors
            /// [`EncodeError`] when a text is longer than its length can say.
            pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
                let mut out = $crate::registry::wire::Writer::default();
                match self {
                    $(Self::$variant { $($field),+ } => {
                        out.byte($tag);
                        $($crate::registry::event::EventField::put_field($field, &mut out);)+
                    })+
                    Self::Unknown { bytes, .. } => out.bytes(bytes),
                }
                out.finish()
            }

            /// The event's name, as the standard calls it, or `Unknown`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)+
                    Self::Unknown { .. } => "Unknown",
                }
            }

            /// The event in one of our documents: `{"tag", "name", …}` with a member per field; an unknown one has `bytes` in
            /// hexadecimal.
            pub fn to_json(&self) -> Json {
                match self {
                    $(Self::$variant { $($field),+ } => json!({
                        "tag": $tag,
                        "name": $name,
                        $(stringify!($field): $field.document()),+
                    }),)+
                    Self::Unknown { tag, bytes } => json!({ "tag": tag, "name": "Unknown", "bytes": hex::encode(bytes) }),
                }
            }
        }
    };
}
pub(super) use events;

events! {
    /// An event of the CIS-8004 registry, those of CIS-2 among them (registry facts, section 4).
    ///
    /// Other standards use some of the same tags: decide by the contract that logged it, not by the tag.
    RegistryEvent {
        /// Tag 240: a new agent. Of a register transaction it is the second event, after `Mint`.
        240 Registered "Registered" {
            /// The agent.
            token_id: TokenId,
            /// Its owner.
            owner: AccountAddress,
            /// Where its card is.
            agent_uri: Option<String>,
            /// The card's digest.
            metadata_hash: Option<Sha256Digest>,
            /// What it is bound to.
            external_reference: Option<ExternalReference>,
            /// When.
            time: Timestamp,
        }
        /// Tag 241: another URI or hash.
        241 UriUpdated "URIUpdated" {
            /// The agent.
            token_id: TokenId,
            /// Where its card is now.
            agent_uri: Option<String>,
            /// The card's digest now.
            metadata_hash: Option<Sha256Digest>,
            /// When.
            time: Timestamp,
        }
        /// Tag 242: another external reference.
        242 ExternalReferenceSet "ExternalReferenceSet" {
            /// The agent.
            token_id: TokenId,
            /// What it is bound to now.
            external_reference: Option<ExternalReference>,
            /// When, if the contract says.
            time: EventTime,
        }
        /// Tag 243: another value of a metadata key.
        243 MetadataSet "MetadataSet" {
            /// The agent.
            token_id: TokenId,
            /// The key.
            key: String,
            /// The value's bytes.
            value: Vec<u8>,
            /// When, if the contract says.
            time: EventTime,
        }
        /// Tag 244: the end of an agent.
        244 Revoked "Revoked" {
            /// The agent.
            token_id: TokenId,
            /// Its owner.
            owner: AccountAddress,
            /// Why.
            reason: Option<String>,
            /// When, if the contract says.
            time: EventTime,
        }
        /// Tag 245: another wallet.
        245 AgentWalletSet "AgentWalletSet" {
            /// The agent.
            token_id: TokenId,
            /// Its wallet now.
            wallet: Option<AccountAddress>,
            /// When, if the contract says.
            time: EventTime,
        }
        /// Tag 255 (CIS-2): a token changed hands.
        255 Transfer "Transfer" {
            /// The token.
            token_id: TokenId,
            /// How much of it.
            amount: TokenAmount,
            /// Whose it was.
            from: Address,
            /// Whose it is.
            to: Address,
        }
        /// Tag 254 (CIS-2): a token came to be.
        254 Mint "Mint" {
            /// The token.
            token_id: TokenId,
            /// How much of it.
            amount: TokenAmount,
            /// Whose it is.
            owner: Address,
        }
        /// Tag 253 (CIS-2): a token ceased to be.
        253 Burn "Burn" {
            /// The token.
            token_id: TokenId,
            /// How much of it.
            amount: TokenAmount,
            /// Whose it was.
            owner: Address,
        }
        /// Tag 252 (CIS-2): an operator was added or removed.
        252 UpdateOperator "UpdateOperator" {
            /// Added or removed.
            update: OperatorChange,
            /// Whose operator.
            owner: Address,
            /// Who.
            operator: Address,
        }
        /// Tag 251 (CIS-2): where the token's metadata is.
        251 TokenMetadata "TokenMetadata" {
            /// The token.
            token_id: TokenId,
            /// Where.
            metadata_url: MetadataUrl,
        }
    }
}

impl RegistryEvent {
    /// The token that the event is about; an operator's change is about none.
    pub fn token_id(&self) -> Option<TokenId> {
        match self {
            Self::Registered { token_id, .. }
            | Self::UriUpdated { token_id, .. }
            | Self::ExternalReferenceSet { token_id, .. }
            | Self::MetadataSet { token_id, .. }
            | Self::Revoked { token_id, .. }
            | Self::AgentWalletSet { token_id, .. }
            | Self::Transfer { token_id, .. }
            | Self::Mint { token_id, .. }
            | Self::Burn { token_id, .. }
            | Self::TokenMetadata { token_id, .. } => Some(*token_id),
            Self::UpdateOperator { .. } | Self::Unknown { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_the_proposal_are_read_with_and_without_a_time() {
        let revoked = [&[244, 8][..], &14u64.to_le_bytes(), &[7; 32], &[0]].concat();
        let json = RegistryEvent::parse(&revoked).to_json();
        assert_eq!((&json["name"], &json["reason"], &json["time"]), (&json!("Revoked"), &Json::Null, &Json::Null));
        let timed = [&revoked[..], &1u64.to_le_bytes()].concat();
        assert_eq!(RegistryEvent::parse(&timed).to_json()["time"], "1970-01-01T00:00:00.001Z");
        assert!(matches!(RegistryEvent::parse(&timed[..timed.len() - 1]), RegistryEvent::Unknown { tag: Some(244), .. }));
    }

    #[test]
    fn c_86_an_unknown_tag_and_an_empty_event_are_data() {
        assert_eq!(RegistryEvent::parse(&[7, 1]).to_json(), json!({ "tag": 7, "name": "Unknown", "bytes": "0701" }));
        assert_eq!(RegistryEvent::parse(&[]).to_json(), json!({ "tag": null, "name": "Unknown", "bytes": "" }));
    }

    #[test]
    fn a_mint_names_its_token_and_owner() {
        let mint = [&[254, 8][..], &14u64.to_le_bytes(), &[1, 0], &[7; 32]].concat();
        let event = RegistryEvent::parse(&mint);
        assert_eq!(event.token_id(), Some(TokenId(14)));
        assert_eq!(event.to_json()["amount"], "1");
        assert_eq!(event.to_json()["owner"], AccountAddress([7; 32]).to_string());
    }
}
