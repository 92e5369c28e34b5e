//! The [`Wire`] form of the plain types that records, parameters and events are made of.

use std::borrow::Cow;

use serde_json::{json, Value as Json};

use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, ContractAddress, TokenId};

use super::schema::{SizeLength, Type};
use super::wire::{Reader, Wire, Writer};
use super::{DecodeError, Timestamp};

impl Wire for u64 {
    fn schema() -> Type {
        Type::U64
    }

    fn put(&self, out: &mut Writer) {
        out.bytes(&self.to_le_bytes());
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        from.u64(what)
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

impl Wire for Timestamp {
    fn schema() -> Type {
        Type::Timestamp
    }

    fn put(&self, out: &mut Writer) {
        self.0.put(out);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        from.u64(what).map(Self)
    }

    fn json(&self) -> Json {
        json!(self.to_schema_json())
    }
}

impl Wire for String {
    fn schema() -> Type {
        Type::String(SizeLength::U32)
    }

    fn put(&self, out: &mut Writer) {
        out.length::<4>(self.len(), "a text");
        out.bytes(self.as_bytes());
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let length = from.length(what)?;
        from.text(length, what)
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

/// Bytes, whose schema is a list of numbers.
impl Wire for Vec<u8> {
    fn schema() -> Type {
        Type::List(SizeLength::U32, Box::new(Type::U8))
    }

    fn put(&self, out: &mut Writer) {
        out.length::<4>(self.len(), "a byte list");
        out.bytes(self);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let length = from.length(what)?;
        from.bytes(length, what).map(<[u8]>::to_vec)
    }

    fn json(&self) -> Json {
        json!(self)
    }
}

/// A token id: a length byte `08`, then 8 bytes.
impl Wire for TokenId {
    fn schema() -> Type {
        Type::ByteList(SizeLength::U8)
    }

    fn put(&self, out: &mut Writer) {
        out.byte(8);
        self.0.put(out);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let offset = from.offset();
        match from.byte(what)? {
            8 => from.u64(what).map(Self),
            _ => Err(DecodeError::Malformed { what: Cow::Borrowed(what), offset, why: "is not a token id of 8 bytes" }),
        }
    }

    fn json(&self) -> Json {
        json!(self.to_schema_hex())
    }
}

impl Wire for AccountAddress {
    fn schema() -> Type {
        Type::AccountAddress
    }

    fn put(&self, out: &mut Writer) {
        out.bytes(self.bytes());
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        from.array(what).map(Self)
    }

    fn json(&self) -> Json {
        json!(self.to_string())
    }
}

impl Wire for ContractAddress {
    fn schema() -> Type {
        Type::ContractAddress
    }

    fn put(&self, out: &mut Writer) {
        self.index.put(out);
        self.subindex.put(out);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        Ok(Self::new(from.u64(what)?, from.u64(what)?))
    }

    fn json(&self) -> Json {
        json!({ "index": self.index, "subindex": self.subindex })
    }
}

/// A digest: 32 bytes, in schema JSON an array of numbers.
impl Wire for Sha256Digest {
    fn schema() -> Type {
        Type::Array(32, Box::new(Type::U8))
    }

    fn put(&self, out: &mut Writer) {
        out.bytes(&self.0);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        from.array(what).map(Self)
    }

    fn json(&self) -> Json {
        json!(self.0)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn schema() -> Type {
        Type::option(T::schema())
    }

    fn put(&self, out: &mut Writer) {
        match self {
            None => out.byte(0),
            Some(value) => {
                out.byte(1);
                value.put(out);
            }
        }
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        match from.byte(what)? {
            0 => Ok(None),
            1 => T::take(from, what).map(Some),
            tag => Err(from.bad_tag(tag, what)),
        }
    }

    fn json(&self) -> Json {
        match self {
            None => json!({ "None": [] }),
            Some(value) => json!({ "Some": [value.json()] }),
        }
    }
}
