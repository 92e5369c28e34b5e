//! The fixed layout of the record, for a contract whose module has no schema (registry facts, section 2).

use serde_json::{json, Value as Json};

use crate::identity::{ContractAddress, TokenId};

use super::schema::{Fields, Type};
use super::wire::{variant, wire_list, wire_struct, Lengths, Reader, Wire, Writer};
use super::{AgentRecord, AgentStatus, DecodeError, ExternalReference, MetadataEntry, ReferenceKind, Timestamp};

wire_struct!(AgentRecord {
    token_id: TokenId,
    owner_account: crate::identity::AccountAddress,
    agent_uri: Option<String>,
    metadata_hash: Option<crate::digest::Sha256Digest>,
    external_reference: Option<ExternalReference>,
    agent_wallet: Option<crate::identity::AccountAddress>,
    status: AgentStatus,
    registered_at: Timestamp,
    revoked_at: Option<Timestamp>,
    revocation_reason: Option<String>,
    on_chain_metadata: Vec<MetadataEntry>,
});
wire_struct!(ExternalReference { contract_address: ContractAddress, kind: ReferenceKind });
wire_struct!(MetadataEntry { key: String, value: Vec<u8> });
wire_list!(MetadataEntry);

impl Wire for AgentStatus {
    fn schema() -> Type {
        Type::Enum(vec![("Active".into(), Fields::None), ("Revoked".into(), Fields::None)])
    }

    fn put(&self, out: &mut Writer) {
        out.byte(match self {
            Self::Active => 0,
            Self::Revoked => 1,
        });
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match from.byte(what)? {
            0 => Ok(Self::Active),
            1 => Ok(Self::Revoked),
            tag => Err(from.bad_tag(tag, what)),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Active => json!({ "Active": [] }),
            Self::Revoked => json!({ "Revoked": [] }),
        }
    }
}

impl Wire for ReferenceKind {
    fn schema() -> Type {
        let named = |names: [&str; 3]| {
            let types = [String::schema(), String::schema(), Vec::<u8>::schema()];
            Type::Struct(Fields::Named(names.into_iter().map(String::from).zip(types).collect()))
        };
        Type::Enum(vec![
            variant("Cis8", named(["namespace", "key_type", "public_key"])),
            variant("Cis10", named(["namespace", "identifier_type", "identifier"])),
        ])
    }

    fn put(&self, out: &mut Writer) {
        let (tag, namespace, kind, bytes) = match self {
            Self::Cis8 { namespace, key_type, public_key } => (0, namespace, key_type, public_key),
            Self::Cis10 { namespace, identifier_type, identifier } => (1, namespace, identifier_type, identifier),
        };
        out.byte(tag);
        namespace.put(out);
        kind.put(out);
        bytes.put(out);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match from.byte(what)? {
            0 => Ok(Self::Cis8 {
                namespace: String::take(from, "the reference's namespace")?,
                key_type: String::take(from, "the reference's key_type")?,
                public_key: Vec::take(from, "the reference's public_key")?,
            }),
            1 => Ok(Self::Cis10 {
                namespace: String::take(from, "the reference's namespace")?,
                identifier_type: String::take(from, "the reference's identifier_type")?,
                identifier: Vec::take(from, "the reference's identifier")?,
            }),
            tag => Err(from.bad_tag(tag, what)),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Cis8 { namespace, key_type, public_key } => {
                json!({ "Cis8": [{ "namespace": namespace, "key_type": key_type, "public_key": public_key }] })
            }
            Self::Cis10 { namespace, identifier_type, identifier } => {
                json!({ "Cis10": [{ "namespace": namespace, "identifier_type": identifier_type, "identifier": identifier }] })
            }
        }
    }
}

impl AgentRecord {
    /// The record in the contract's layout, without the byte of an outer `Option`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.put(&mut out);
        out.into_bytes()
    }

    /// The record as the contract's own schema prints it in JSON (registry facts, section 2).
    pub fn to_schema_json(&self) -> Json {
        self.json()
    }

    /// The schema of this layout, which is what the registry's module embeds as far as it is published.
    pub fn schema() -> Type {
        <Self as Wire>::schema()
    }
}

impl ExternalReference {
    /// The reference as the contract's own schema prints it in JSON.
    pub fn to_schema_json(&self) -> Json {
        self.json()
    }
}

/// Reads what `agentOf` and `agentByExternalReference` return, by the fixed layout.
///
/// The deployed contracts return `Option<record>`: `00`, or `01` and the record. A contract that keeps to the proposal's text
/// returns the plain record (and rejects when there is none): its first byte is the length of the token id, `08`. The first
/// byte therefore tells the two apart, and every byte must be used up.
///
/// # Errors
/// [`DecodeError`], which names the field; [`DecodeError::OlderLayout`] when the bytes are a whole record in the older layout
/// with 2-byte lengths. Such a record is never accepted: who wrote it is not the registry as deployed.
pub fn decode_agent_of(bytes: &[u8]) -> Result<Option<AgentRecord>, DecodeError> {
    decode(Reader::new(bytes)).map_err(|error| match is_older_layout(bytes) {
        true => DecodeError::OlderLayout,
        false => error,
    })
}

/// The bytes that `agentOf` returns: `00` for no such agent, `01` and the record otherwise.
pub fn encode_agent_of(record: Option<&AgentRecord>) -> Vec<u8> {
    match record {
        None => vec![0],
        Some(record) => {
            let mut out = Writer::default();
            out.byte(1);
            record.put(&mut out);
            out.into_bytes()
        }
    }
}

fn decode(mut reader: Reader<'_>) -> Result<Option<AgentRecord>, DecodeError> {
    const WHAT: &str = "the agent's record";
    let record = match reader.peek() {
        Some(8) => Some(AgentRecord::take(&mut reader, WHAT)?),
        _ => Wire::take(&mut reader, WHAT)?,
    };
    reader.finish(WHAT)?;
    Ok(record)
}

/// Whether the bytes are a whole record with 2-byte lengths, with the eleventh field or, as in the proposal, without it.
fn is_older_layout(bytes: &[u8]) -> bool {
    let with_no_metadata = [bytes, &[0, 0]].concat();
    let whole = |bytes: &[u8]| matches!(decode(Reader::with_lengths(bytes, Lengths::Two)), Ok(Some(_)));
    whole(bytes) || whole(&with_no_metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::AccountAddress;
    use crate::registry::schema::decode_agent_of_with_schema;

    /// The recorded live value of testnet token 287 (registry facts, section 2).
    fn agent_287() -> AgentRecord {
        let owner: AccountAddress = "4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7".parse().unwrap();
        AgentRecord {
            token_id: TokenId(287),
            owner_account: owner,
            agent_uri: Some("https://rgraulus.github.io/xcf-demo4-agent-card/agent-card.json".into()),
            metadata_hash: Some("6ac669950e9b18c444e549474615c0ce6555910b1e59ab6a599351cf31e10c38".parse().unwrap()),
            external_reference: Some(ExternalReference {
                contract_address: ContractAddress::new(12801, 0),
                kind: ReferenceKind::Cis8 {
                    namespace: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1".into(),
                    key_type: "ed25519".into(),
                    public_key: hex::decode("a4abdcb4dc5d6d81bab06361ab860f819d820f6cadc33e8641cd6733f3baa5d3").unwrap(),
                },
            }),
            agent_wallet: Some(owner),
            status: AgentStatus::Active,
            registered_at: Timestamp(1_785_771_369_045),
            revoked_at: None,
            revocation_reason: None,
            on_chain_metadata: vec![],
        }
    }

    #[test]
    fn the_recorded_agent_prints_as_its_schema_json() {
        let json = agent_287().to_schema_json();
        assert_eq!(json["token_id"], "1f01000000000000");
        assert_eq!(json["owner_account"], "4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7");
        assert_eq!(json["metadata_hash"]["Some"][0][0], 0x6a);
        assert_eq!(json["external_reference"]["Some"][0]["contract_address"], json!({ "index": 12801, "subindex": 0 }));
        assert_eq!(json["external_reference"]["Some"][0]["kind"]["Cis8"][0]["key_type"], "ed25519");
        assert_eq!(json["status"], json!({ "Active": [] }));
        assert_eq!(json["registered_at"], "2026-08-03T15:36:09.045+00:00");
        assert_eq!(json["revoked_at"], json!({ "None": [] }));
        assert_eq!(json["on_chain_metadata"], json!([]));
        let by_schema = AgentRecord::schema().decode(&agent_287().to_bytes()).unwrap();
        assert_eq!(by_schema.to_json(), json);
    }

    #[test]
    fn both_return_forms_are_read_by_layout_and_by_schema() {
        let record = agent_287();
        let optional = Type::option(AgentRecord::schema());
        assert_eq!(decode_agent_of(&encode_agent_of(None)), Ok(None));
        assert_eq!(decode_agent_of(&encode_agent_of(Some(&record))), Ok(Some(record.clone())));
        assert_eq!(decode_agent_of(&record.to_bytes()), Ok(Some(record.clone())));
        assert_eq!(decode_agent_of_with_schema(&optional, &[0]), Ok(None));
        assert_eq!(decode_agent_of_with_schema(&optional, &encode_agent_of(Some(&record))), Ok(Some(record.clone())));
        assert_eq!(decode_agent_of_with_schema(&AgentRecord::schema(), &record.to_bytes()), Ok(Some(record)));
    }

    #[test]
    fn a_cut_record_and_one_byte_too_many_are_refused_with_the_place() {
        let bytes = encode_agent_of(Some(&agent_287()));
        for end in 0..bytes.len() {
            let error = decode_agent_of(&bytes[..end]).unwrap_err();
            assert!(matches!(error, DecodeError::Truncated { .. }), "{end}: {error}");
        }
        let error = decode_agent_of(&bytes[..60]).unwrap_err();
        assert_eq!(error.to_string(), "the bytes end inside agent_uri: 63 bytes were due at offset 47, 13 are left");
        let error = decode_agent_of(&[&bytes[..], &[0]].concat()).unwrap_err();
        assert_eq!(error.to_string(), format!("1 bytes follow where the agent's record ends, at offset {}", bytes.len()));
        assert!(matches!(decode_agent_of(&[0, 0]), Err(DecodeError::Trailing { .. })));
        assert!(matches!(decode_agent_of(&[2]), Err(DecodeError::Tag { tag: 2, offset: 0, .. })));
    }

    #[test]
    fn the_older_layout_is_named_and_never_accepted() {
        fn shorten(record: &AgentRecord, metadata: bool) -> Vec<u8> {
            let text = |text: &str| [&(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
            let uri = record.agent_uri.as_deref().unwrap();
            let mut bytes =
                [&[1, 8][..], &287u64.to_le_bytes(), record.owner_account.bytes(), &[1], &text(uri), &[0, 0, 0, 1]].concat();
            bytes.extend(record.registered_at.0.to_le_bytes());
            bytes.push(1);
            bytes.extend(5u64.to_le_bytes());
            bytes.push(1);
            bytes.extend(text("moved"));
            if metadata {
                bytes.extend(1u16.to_le_bytes());
                bytes.extend(text("category"));
                bytes.extend(text("market"));
            }
            bytes
        }
        for metadata in [true, false] {
            assert_eq!(decode_agent_of(&shorten(&agent_287(), metadata)), Err(DecodeError::OlderLayout));
        }
        assert!(DecodeError::OlderLayout.to_string().starts_with("the record uses the older layout with 2-byte lengths"));
    }

    #[test]
    fn a_length_of_four_gibibytes_is_refused_before_anything_is_allocated() {
        let record = AgentRecord { agent_uri: None, ..agent_287() };
        let mut bytes = record.to_bytes();
        let count = bytes.len() - 4;
        bytes[count..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(decode_agent_of(&bytes), Err(DecodeError::Truncated { needed: 0xffff_ffff, left: 0, .. })));
    }

    #[test]
    fn contradictions_in_a_record_are_named() {
        use crate::registry::Inconsistency::*;
        assert_eq!(agent_287().consistency(TokenId(287)), []);
        let record = AgentRecord { revoked_at: Some(Timestamp(1)), revocation_reason: Some("lost".into()), ..agent_287() };
        assert_eq!(
            record.consistency(TokenId(1)),
            [OtherToken { asked: TokenId(1), got: TokenId(287) }, ActiveWithRevocationTime, ActiveWithReason]
        );
        let record = AgentRecord { status: AgentStatus::Revoked, ..agent_287() };
        assert_eq!(record.consistency(TokenId(287)), [RevokedWithoutTime]);
    }
}
