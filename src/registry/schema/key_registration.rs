use crate::identity::AccountAddress;
use crate::registry::parameter::{ExternalKeyId, KeyMetadataEntry};
use crate::registry::{DecodeError, Timestamp};

use super::by_name::{account, bytes, option, text, time, wrong, Named};
use super::{FieldValues, Type, Value};

/// What a CIS-8 registry holds about an external key (registry facts, section 10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRegistration {
    /// The account it is bound to.
    pub owner: AccountAddress,
    /// The key.
    pub external_key: ExternalKeyId,
    /// The scheme of the proof by which it was bound.
    pub proof_scheme: String,
    /// What is stored with it.
    pub metadata: Vec<KeyMetadataEntry>,
    /// Whether the binding is in force: a revoked one is answered too.
    pub active: bool,
    /// When it last changed.
    pub last_updated: Timestamp,
}

/// Reads what `ownerOfKey` returns, by the schema of the return value; `None` when the key was never registered.
///
/// There is no fixed layout to fall back on: the order of the fields in bytes is unpublished.
///
/// # Errors
/// [`DecodeError::Field`] with the field's name when one is missing or has another shape; otherwise [`DecodeError`] for bytes
/// that the schema does not fit.
pub fn decode_owner_of_key_with_schema(return_value: &Type, bytes: &[u8]) -> Result<Option<KeyRegistration>, DecodeError> {
    let value = return_value.decode(bytes)?;
    let registration = match option(&value) {
        Some(None) => return Ok(None),
        Some(Some(registration)) => registration,
        None => &value,
    };
    let fields = Named::of(registration).ok_or(wrong("owner", "is missing: what the contract returns has no named fields"))?;
    Ok(Some(KeyRegistration {
        owner: fields.read("owner", "is not an account address", account)?,
        external_key: fields.read("external_key", "is not a namespace, a key type and a public key", external_key)?,
        proof_scheme: fields.read("proof_scheme", "is not a text", text)?,
        metadata: fields.read("metadata", "is not a list of keys and values", metadata)?,
        active: fields.read("status", "is neither Active nor Revoked", active)?,
        last_updated: fields.read("last_updated", "is not a time", time)?,
    }))
}

fn external_key(value: &Value) -> Option<ExternalKeyId> {
    let fields = Named::of(value)?;
    Some(ExternalKeyId {
        namespace: text(fields.get("namespace").ok()?)?,
        key_type: text(fields.get("key_type").ok()?)?,
        public_key: bytes(fields.get("public_key").ok()?)?.to_vec(),
    })
}

fn metadata(value: &Value) -> Option<Vec<KeyMetadataEntry>> {
    let entry = |key: &Value, value: &Value| Some(KeyMetadataEntry { key: text(key)?, value: text(value)? });
    match value {
        Value::List(items) => items
            .iter()
            .map(|item| {
                let fields = Named::of(item)?;
                entry(fields.get("key").ok()?, fields.get("value").ok()?)
            })
            .collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| entry(key, value)).collect(),
        _ => None,
    }
}

fn active(value: &Value) -> Option<bool> {
    match value {
        Value::Enum(name, FieldValues::None) => match name.as_str() {
            "Active" => Some(true),
            "Revoked" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::parameter::{OwnerOfKey, Parameter, UpdateKeyMetadata};
    use crate::registry::schema::Fields;

    #[test]
    fn a_registration_is_read_by_name_with_its_status() {
        let field = |ty: Type, wanted: &str| match ty {
            Type::Struct(Fields::Named(fields)) => fields.into_iter().find(|(name, _)| name == wanted).unwrap(),
            _ => panic!("not a struct"),
        };
        let status = Type::Enum(vec![("Active".into(), Fields::None), ("Revoked".into(), Fields::None)]);
        let ty = Type::option(Type::Struct(Fields::Named(vec![
            ("status".into(), status),
            ("last_updated".into(), Type::Timestamp),
            field(OwnerOfKey::schema(), "external_key"),
            field(UpdateKeyMetadata::schema(), "metadata"),
            ("proof_scheme".into(), Type::String(super::super::SizeLength::U32)),
            ("owner".into(), Type::AccountAddress),
        ])));
        let owner = AccountAddress([7; 32]);
        let json = json!({ "Some": [{
            "status": { "Revoked": [] },
            "last_updated": "2026-08-03T15:36:09+00:00",
            "external_key": { "namespace": "a", "key_type": "ed25519", "public_key": [1, 2] },
            "metadata": [{ "key": "k", "value": "v" }],
            "proof_scheme": "solana-ed25519",
            "owner": owner.to_string(),
        }] });
        let read = decode_owner_of_key_with_schema(&ty, &ty.encode_json(&json).unwrap()).unwrap().unwrap();
        assert_eq!((read.owner, read.active, read.external_key.public_key), (owner, false, vec![1, 2]));
        assert_eq!(read.metadata, [KeyMetadataEntry { key: "k".into(), value: "v".into() }]);
        assert_eq!(decode_owner_of_key_with_schema(&ty, &[0]), Ok(None));
        assert!(decode_owner_of_key_with_schema(&Type::Unit, &[]).is_err());
    }
}
