use crate::registry::{AgentRecord, AgentStatus, DecodeError, ExternalReference, MetadataEntry, ReferenceKind};

use super::by_name::{account, bytes, contract, digest, option, optional, text, time, token_id, wrong, Named};
use super::{FieldValues, Type, Value};

/// Reads what `agentOf` and `agentByExternalReference` return, by the schema of the return value.
///
/// Fields are found by name, so a schema may order them differently and have more of them; `on_chain_metadata` may be missing
/// (the proposal lacks it). The outer `Option` may be missing. A number may have any width, bytes may be a byte list, a byte
/// array or a list of numbers, and a token id also 16 hexadecimal digits (registry facts, section 2).
///
/// # Errors
/// [`DecodeError::Field`] with the field's name when one is missing or has another shape; otherwise [`DecodeError`] for bytes
/// that the schema does not fit.
pub fn decode_agent_of_with_schema(return_value: &Type, bytes: &[u8]) -> Result<Option<AgentRecord>, DecodeError> {
    let value = return_value.decode(bytes)?;
    let record = match option(&value) {
        Some(None) => return Ok(None),
        Some(Some(record)) => record,
        None => &value,
    };
    let Value::Struct(FieldValues::Named(fields)) = record else {
        return Err(wrong("token_id", "is missing: what the contract returns is not a record with named fields"));
    };
    record_from(Named(fields)).map(Some)
}

fn record_from(fields: Named<'_>) -> Result<AgentRecord, DecodeError> {
    Ok(AgentRecord {
        token_id: fields.read("token_id", "is not a token id of 8 bytes", token_id)?,
        owner_account: fields.read("owner_account", "is not an account address", account)?,
        agent_uri: fields.read("agent_uri", "is not an optional text", |value| optional(value, text))?,
        metadata_hash: fields.read("metadata_hash", "is not an optional list of 32 bytes", |value| optional(value, digest))?,
        external_reference: match option(fields.get("external_reference")?) {
            Some(None) => None,
            Some(Some(value)) => Some(reference(value)?),
            None => return Err(wrong("external_reference", "is not an optional reference")),
        },
        agent_wallet: fields.read("agent_wallet", "is not an optional account address", |value| optional(value, account))?,
        status: fields.read("status", "is neither Active nor Revoked", status)?,
        registered_at: fields.read("registered_at", "is not a time", time)?,
        revoked_at: fields.read("revoked_at", "is not an optional time", |value| optional(value, time))?,
        revocation_reason: fields.read("revocation_reason", "is not an optional text", |value| optional(value, text))?,
        on_chain_metadata: match fields.get("on_chain_metadata") {
            Ok(value) => metadata(value).ok_or(wrong("on_chain_metadata", "is not a list of keys and values"))?,
            Err(_) => Vec::new(),
        },
    })
}

fn status(value: &Value) -> Option<AgentStatus> {
    match value {
        Value::Enum(name, _) if name == "Active" => Some(AgentStatus::Active),
        Value::Enum(name, _) if name == "Revoked" => Some(AgentStatus::Revoked),
        _ => None,
    }
}

fn reference(value: &Value) -> Result<ExternalReference, DecodeError> {
    let fields = Named::of(value).ok_or(wrong("external_reference", "is not a struct"))?;
    let contract_address = fields.read("contract_address", "is not a contract address", contract)?;
    let Value::Enum(name, content) = fields.get("kind")? else {
        return Err(wrong("kind", "of the external reference is not an enum"));
    };
    // A variant's fields are its own, or those of a struct in it.
    let content = match content {
        FieldValues::Named(fields) => Some(Named(fields)),
        FieldValues::Unnamed(values) => match values.as_slice() {
            [only] => Named::of(only),
            _ => None,
        },
        FieldValues::None => None,
    };
    let content = content.ok_or(wrong("kind", "of the external reference has no named fields"))?;
    let texts = |field| content.read(field, "of the external reference is not a text", text);
    let byte_list =
        |field| content.read(field, "of the external reference is not a list of bytes", |value| bytes(value).map(<[u8]>::to_vec));
    let kind = match name.as_str() {
        "Cis8" => ReferenceKind::Cis8 {
            namespace: texts("namespace")?,
            key_type: texts("key_type")?,
            public_key: byte_list("public_key")?,
        },
        "Cis10" => ReferenceKind::Cis10 {
            namespace: texts("namespace")?,
            identifier_type: texts("identifier_type")?,
            identifier: byte_list("identifier")?,
        },
        _ => return Err(wrong("kind", "of the external reference is neither Cis8 nor Cis10")),
    };
    Ok(ExternalReference { contract_address, kind })
}

/// A list of structs with `key` and `value`, a list of pairs, or a map.
fn metadata(value: &Value) -> Option<Vec<MetadataEntry>> {
    match value {
        Value::List(items) => items
            .iter()
            .map(|item| match item {
                Value::Pair(pair) => entry(&pair.0, &pair.1),
                other => {
                    let fields = Named::of(other)?;
                    entry(fields.get("key").ok()?, fields.get("value").ok()?)
                }
            })
            .collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| entry(key, value)).collect(),
        _ => None,
    }
}

fn entry(key: &Value, value: &Value) -> Option<MetadataEntry> {
    let value = match value {
        Value::Text(text) => text.as_bytes(),
        other => bytes(other)?,
    };
    Some(MetadataEntry { key: text(key)?, value: value.to_vec() })
}
