//! Finding the fields of a value by name, and taking them in whatever shape a schema may give them.

use std::borrow::Cow;

use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, ContractAddress, TokenId};
use crate::registry::{DecodeError, Timestamp};

use super::{FieldValues, Value};

pub(super) fn wrong(field: &'static str, why: &'static str) -> DecodeError {
    DecodeError::Field { field: Cow::Borrowed(field), why }
}

/// The fields of a struct, by name.
#[derive(Clone, Copy)]
pub(super) struct Named<'a>(pub(super) &'a [(String, Value)]);

impl<'a> Named<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::Struct(FieldValues::Named(fields)) => Some(Self(fields)),
            _ => None,
        }
    }

    pub(super) fn get(self, field: &'static str) -> Result<&'a Value, DecodeError> {
        let found = self.0.iter().find(|(name, _)| name == field);
        found.map(|(_, value)| value).ok_or(wrong(field, "is missing"))
    }

    pub(super) fn read<T>(
        self,
        field: &'static str,
        why: &'static str,
        shape: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, DecodeError> {
        shape(self.get(field)?).ok_or(wrong(field, why))
    }
}

/// `Some(content)` when the value is one of an enum of `None` and `Some`.
pub(super) fn option(value: &Value) -> Option<Option<&Value>> {
    match value {
        Value::Enum(name, FieldValues::None) if name == "None" => Some(None),
        Value::Enum(name, FieldValues::Unnamed(values)) => match (name.as_str(), values.as_slice()) {
            ("Some", [content]) => Some(Some(content)),
            ("None", []) => Some(None),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn optional<T>(value: &Value, shape: impl FnOnce(&Value) -> Option<T>) -> Option<Option<T>> {
    match option(value)? {
        None => Some(None),
        Some(content) => shape(content).map(Some),
    }
}

pub(super) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Bytes(bytes) | Value::Numbers(bytes) => Some(bytes),
        _ => None,
    }
}

pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Unsigned(number) | Value::Amount(number) => Some(*number),
        Value::Signed(number) => u64::try_from(*number).ok(),
        Value::U128(number) => u64::try_from(*number).ok(),
        Value::I128(number) => u64::try_from(*number).ok(),
        Value::Integer(digits) => digits.parse().ok(),
        _ => None,
    }
}

pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

pub(super) fn token_id(value: &Value) -> Option<TokenId> {
    match value {
        Value::Text(digits) => TokenId::from_schema_hex(digits).ok(),
        other => match bytes(other) {
            Some(bytes) => bytes.try_into().ok().map(|bytes| TokenId(u64::from_le_bytes(bytes))),
            None => number(other).map(TokenId),
        },
    }
}

pub(super) fn account(value: &Value) -> Option<AccountAddress> {
    match value {
        Value::Account(account) => Some(*account),
        other => bytes(other)?.try_into().ok().map(AccountAddress),
    }
}

pub(super) fn contract(value: &Value) -> Option<ContractAddress> {
    match value {
        Value::Contract(contract) => Some(*contract),
        other => {
            let fields = Named::of(other)?;
            Some(ContractAddress::new(number(fields.get("index").ok()?)?, number(fields.get("subindex").ok()?)?))
        }
    }
}

pub(super) fn digest(value: &Value) -> Option<Sha256Digest> {
    bytes(value)?.try_into().ok().map(Sha256Digest)
}

pub(super) fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Timestamp(time) => Some(*time),
        other => number(other).map(Timestamp),
    }
}
