use std::borrow::Cow;

use crate::identity::{AccountAddress, ContractAddress};
use crate::registry::wire::{Reader, Wire};
use crate::registry::{DecodeError, Timestamp};

use super::{leb128, FieldValues, Fields, SizeLength, Type, Value, MAX_VALUES};

impl Type {
    /// Reads a value of this type, which must use up all bytes.
    ///
    /// Recursion is as deep as the type, so at most [`super::MAX_DEPTH`] for one read from a schema.
    ///
    /// # Errors
    /// [`DecodeError`], which names the place in the value.
    pub fn decode(&self, bytes: &[u8]) -> Result<Value, DecodeError> {
        let mut decoder = Decoder { from: Reader::new(bytes), values: 0 };
        let value = decoder.value(self)?;
        decoder.from.finish("the value")?;
        Ok(value)
    }
}

struct Decoder<'a> {
    from: Reader<'a>,
    values: usize,
}

impl Decoder<'_> {
    fn value(&mut self, ty: &Type) -> Result<Value, DecodeError> {
        // Counted because an item may take no bytes at all: four billion of them fit into four bytes.
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(DecodeError::TooManyValues { limit: MAX_VALUES });
        }
        const NUMBER: &str = "a number";
        Ok(match ty {
            Type::Unit => Value::Unit,
            Type::Bool => match self.from.byte("a truth value")? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                tag => return Err(self.from.bad_tag(tag, "a truth value")),
            },
            Type::U8 => Value::Unsigned(self.from.byte(NUMBER)?.into()),
            Type::U16 => Value::Unsigned(self.from.u16(NUMBER)?.into()),
            Type::U32 => Value::Unsigned(self.from.u32(NUMBER)?.into()),
            Type::U64 => Value::Unsigned(self.from.u64(NUMBER)?),
            Type::U128 => Value::U128(u128::from_le_bytes(self.from.array(NUMBER)?)),
            Type::I8 => Value::Signed(i8::from_le_bytes(self.from.array(NUMBER)?).into()),
            Type::I16 => Value::Signed(i16::from_le_bytes(self.from.array(NUMBER)?).into()),
            Type::I32 => Value::Signed(i32::from_le_bytes(self.from.array(NUMBER)?).into()),
            Type::I64 => Value::Signed(i64::from_le_bytes(self.from.array(NUMBER)?)),
            Type::I128 => Value::I128(i128::from_le_bytes(self.from.array(NUMBER)?)),
            Type::Amount => Value::Amount(self.from.u64("an amount")?),
            Type::AccountAddress => Value::Account(AccountAddress::take(&mut self.from, "an account address")?),
            Type::ContractAddress => Value::Contract(ContractAddress::take(&mut self.from, "a contract address")?),
            Type::Timestamp => Value::Timestamp(Timestamp::take(&mut self.from, "a time")?),
            Type::Duration => Value::Duration(self.from.u64("a duration")?),
            Type::Pair(left, right) => {
                let left = self.value(left).map_err(|error| error.inside("0"))?;
                let right = self.value(right).map_err(|error| error.inside("1"))?;
                Value::Pair(Box::new((left, right)))
            }
            Type::List(size, item) | Type::Set(size, item) => {
                let count = self.length(*size)?;
                self.items(count, item)?
            }
            Type::Array(count, item) => self.items(u64::from(*count), item)?,
            Type::Map(size, key, value) => {
                let count = self.length(*size)?;
                let mut entries = Vec::new();
                for position in 0..count {
                    let key = self.value(key).map_err(|error| error.inside(&position.to_string()))?;
                    let value = self.value(value).map_err(|error| error.inside(&position.to_string()))?;
                    entries.push((key, value));
                }
                Value::Map(entries)
            }
            Type::Struct(fields) => Value::Struct(self.fields(fields)?),
            Type::Enum(variants) => {
                let offset = self.from.offset();
                let tag = match variants.len() {
                    0..=256 => self.from.byte("a variant")?.into(),
                    _ => self.from.u16("a variant")?,
                };
                match variants.get(usize::from(tag)) {
                    Some((name, fields)) => self.variant(name, fields)?,
                    None => return Err(DecodeError::Tag { what: Cow::Borrowed("a variant"), offset, tag }),
                }
            }
            Type::TaggedEnum(variants) => {
                let tag = self.from.byte("a variant")?;
                match variants.get(&tag) {
                    Some((name, fields)) => self.variant(name, fields)?,
                    None => return Err(self.from.bad_tag(tag, "a variant")),
                }
            }
            Type::String(size) => Value::Text(self.text(*size, "a text")?),
            Type::ContractName(size) => {
                let offset = self.from.offset();
                let name = self.text(*size, "a contract name")?;
                let contract = name.strip_prefix("init_").filter(|contract| !contract.contains('.') && is_name(&name));
                let malformed = || DecodeError::Malformed {
                    what: Cow::Borrowed("a contract name"),
                    offset,
                    why: "is not init_ and up to 95 printable characters without a dot",
                };
                Value::ContractName(contract.ok_or_else(malformed)?.to_string())
            }
            Type::ReceiveName(size) => {
                let offset = self.from.offset();
                let name = self.text(*size, "a receive name")?;
                let parts = name.split_once('.').filter(|_| is_name(&name));
                let malformed = || DecodeError::Malformed {
                    what: Cow::Borrowed("a receive name"),
                    offset,
                    why: "is not <contract>.<function> in up to 100 printable characters",
                };
                let (contract, func) = parts.ok_or_else(malformed)?;
                Value::ReceiveName { contract: contract.to_string(), func: func.to_string() }
            }
            Type::ULeb128(limit) => Value::Integer(leb128::take(&mut self.from, *limit, false)?),
            Type::ILeb128(limit) => Value::Integer(leb128::take(&mut self.from, *limit, true)?),
            Type::ByteList(size) => {
                let count = self.length(*size)?;
                Value::Bytes(self.from.bytes(count, "a byte list")?.to_vec())
            }
            Type::ByteArray(count) => Value::Bytes(self.from.bytes(u64::from(*count), "a byte array")?.to_vec()),
        })
    }

    fn items(&mut self, count: u64, item: &Type) -> Result<Value, DecodeError> {
        if *item == Type::U8 {
            return Ok(Value::Numbers(self.from.bytes(count, "a list of bytes")?.to_vec()));
        }
        let mut items = Vec::new();
        for position in 0..count {
            items.push(self.value(item).map_err(|error| error.inside(&position.to_string()))?);
        }
        Ok(Value::List(items))
    }

    fn variant(&mut self, name: &str, fields: &Fields) -> Result<Value, DecodeError> {
        let fields = self.fields(fields).map_err(|error| error.inside(name))?;
        Ok(Value::Enum(name.to_string(), fields))
    }

    fn fields(&mut self, fields: &Fields) -> Result<FieldValues, DecodeError> {
        Ok(match fields {
            Fields::Named(fields) => {
                let mut values = Vec::new();
                for (name, ty) in fields {
                    values.push((name.clone(), self.value(ty).map_err(|error| error.inside(name))?));
                }
                FieldValues::Named(values)
            }
            Fields::Unnamed(types) => {
                let mut values = Vec::new();
                for (position, ty) in types.iter().enumerate() {
                    values.push(self.value(ty).map_err(|error| error.inside(&position.to_string()))?);
                }
                FieldValues::Unnamed(values)
            }
            Fields::None => FieldValues::None,
        })
    }

    fn length(&mut self, size: SizeLength) -> Result<u64, DecodeError> {
        const WHAT: &str = "a length";
        match size {
            SizeLength::U8 => self.from.byte(WHAT).map(u64::from),
            SizeLength::U16 => self.from.u16(WHAT).map(u64::from),
            SizeLength::U32 => self.from.u32(WHAT).map(u64::from),
            SizeLength::U64 => self.from.u64(WHAT),
        }
    }

    fn text(&mut self, size: SizeLength, what: &'static str) -> Result<String, DecodeError> {
        let length = self.length(size)?;
        self.from.text(length, what)
    }
}

/// The rule of the chain for names: at most 100 characters, all of them ASCII letters, digits or punctuation.
fn is_name(name: &str) -> bool {
    name.len() <= 100 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte.is_ascii_punctuation())
}
