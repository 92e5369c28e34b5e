//! How the contracts write values as bytes: a bounds-checked reader, a writer, and one trait that ties the bytes of a type to
//! its schema and its schema JSON.
//!
//! Numbers are little-endian. Texts, byte lists and lists carry a 4-byte length (registry facts, section 1), an optional value
//! starts with 0 or 1.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::schema::{Fields, Type};
use super::{DecodeError, EncodeError};

/// The width of the lengths that precede texts and lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lengths {
    /// 2 bytes: the older layout, recognised so that it can be named.
    Two,
    /// 4 bytes: the layout of the deployed contracts.
    Four,
}

/// Takes values off the front of bytes that may be hostile. Never allocates more than the bytes that are there.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
    lengths: Lengths,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self::with_lengths(bytes, Lengths::Four)
    }

    pub(super) fn with_lengths(bytes: &'a [u8], lengths: Lengths) -> Self {
        Self { rest: bytes, offset: 0, lengths }
    }

    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// The next byte, which stays.
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(super) fn bytes(&mut self, count: u64, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let split = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = split.ok_or_else(|| self.truncated(count, what))?;
        self.rest = rest;
        self.offset += taken.len();
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated(N as u64, what))?;
        self.rest = rest;
        self.offset += N;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// The length of a text or a list, in this reader's width.
    pub(super) fn length(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        match self.lengths {
            Lengths::Two => self.u16(what).map(u64::from),
            Lengths::Four => self.u32(what).map(u64::from),
        }
    }

    /// `count` items, each of which takes at least one byte: a count beyond the bytes that are left is refused at once.
    pub(super) fn items<T>(
        &mut self,
        count: u64,
        what: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        if count > self.rest.len() as u64 {
            return Err(self.truncated(count, what));
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn text(&mut self, length: u64, what: &'static str) -> Result<String, DecodeError> {
        let offset = self.offset;
        let bytes = self.bytes(length, what)?;
        let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::Text { what: Cow::Borrowed(what), offset })?;
        Ok(text.to_string())
    }

    /// An unsigned LEB128 number below 2^64.
    pub(super) fn uleb128(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        let offset = self.offset;
        let malformed = |why| DecodeError::Malformed { what: Cow::Borrowed(what), offset, why };
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return if byte == 0 && shift > 0 { Err(malformed("is not in its shortest form")) } else { Ok(value) };
            }
        }
        Err(malformed("does not fit into 64 bits"))
    }

    /// Everything must have been read.
    pub(super) fn finish(&self, what: &'static str) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(DecodeError::Trailing { what: Cow::Borrowed(what), offset: self.offset, left }),
        }
    }

    /// The error for the byte just read.
    pub(super) fn bad_tag(&self, tag: u8, what: &'static str) -> DecodeError {
        DecodeError::Tag { what: Cow::Borrowed(what), offset: self.offset.saturating_sub(1), tag: u16::from(tag) }
    }

    fn truncated(&self, needed: u64, what: &'static str) -> DecodeError {
        DecodeError::Truncated { what: Cow::Borrowed(what), offset: self.offset, needed, left: self.rest.len() }
    }
}

/// Collects bytes; remembers the first length that did not fit its field.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    too_long: Option<(&'static str, u8)>,
}

impl Writer {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(super) fn length<const N: usize>(&mut self, length: usize, what: &'static str) {
        let bytes = (length as u64).to_le_bytes();
        let (low, high) = bytes.split_at(N);
        if high.iter().any(|byte| *byte != 0) {
            self.too_long.get_or_insert((what, N as u8));
        }
        self.bytes(low);
    }

    pub(super) fn uleb128(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    pub(super) fn finish(self) -> Result<Vec<u8>, EncodeError> {
        match self.too_long {
            None => Ok(self.bytes),
            Some((what, bytes)) => Err(EncodeError::TooLong { what: Cow::Borrowed(what), bytes }),
        }
    }

    /// The bytes, where every length has 4 bytes: a text of 4 GiB would not have fitted into memory beside its copy here.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A type as the contracts write it: its bytes, its schema and its schema JSON.
pub(super) trait Wire: Sized {
    /// The schema of these bytes.
    fn schema() -> Type;
    /// Writes the bytes.
    fn put(&self, out: &mut Writer);
    /// Reads the bytes; `what` names the value in an error.
    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError>;
    /// The value as the schema's JSON.
    fn json(&self) -> Json;

    /// Reads a value that must use up all bytes.
    fn from_all(bytes: &[u8], what: &'static str) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::take(&mut reader, what)?;
        reader.finish(what)?;
        Ok(value)
    }
}

/// Implements [`Wire`] for a struct whose fields follow each other.
macro_rules! wire_struct {
    ($name:ident { $($field:ident : $type:ty),+ $(,)? }) => {
        impl $crate::registry::wire::Wire for $name {
            fn schema() -> $crate::registry::schema::Type {
                $crate::registry::schema::Type::Struct($crate::registry::schema::Fields::Named(vec![
                    $((stringify!($field).to_string(), <$type as $crate::registry::wire::Wire>::schema())),+
                ]))
            }

            fn put(&self, out: &mut $crate::registry::wire::Writer) {
                $($crate::registry::wire::Wire::put(&self.$field, out);)+
            }

            fn take(
                from: &mut $crate::registry::wire::Reader<'_>,
                _what: &'static str,
            ) -> Result<Self, $crate::registry::DecodeError> {
                Ok(Self { $($field: $crate::registry::wire::Wire::take(from, stringify!($field))?),+ })
            }

            fn json(&self) -> serde_json::Value {
                serde_json::Value::Object(
                    [$((stringify!($field).to_string(), $crate::registry::wire::Wire::json(&self.$field))),+]
                        .into_iter()
                        .collect(),
                )
            }
        }
    };
}
pub(super) use wire_struct;

/// Implements [`Wire`] for `Vec` of a struct, with a 4-byte count.
macro_rules! wire_list {
    ($name:ty) => {
        impl $crate::registry::wire::Wire for Vec<$name> {
            fn schema() -> $crate::registry::schema::Type {
                $crate::registry::schema::Type::List(
                    $crate::registry::schema::SizeLength::U32,
                    Box::new(<$name as $crate::registry::wire::Wire>::schema()),
                )
            }

            fn put(&self, out: &mut $crate::registry::wire::Writer) {
                out.length::<4>(self.len(), "a list");
                self.iter().for_each(|item| $crate::registry::wire::Wire::put(item, out));
            }

            fn take(
                from: &mut $crate::registry::wire::Reader<'_>,
                what: &'static str,
            ) -> Result<Self, $crate::registry::DecodeError> {
                let count = from.length(what)?;
                from.items(count, what, |from| $crate::registry::wire::Wire::take(from, what))
            }

            fn json(&self) -> serde_json::Value {
                serde_json::Value::Array(self.iter().map($crate::registry::wire::Wire::json).collect())
            }
        }
    };
}
pub(super) use wire_list;

/// A variant of an enum in a schema, with named fields in a struct of its own.
pub(super) fn variant(name: &str, content: Type) -> (String, Fields) {
    (name.to_string(), Fields::Unnamed(vec![content]))
}
