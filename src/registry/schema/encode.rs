use crate::registry::wire::{Wire, Writer};
use crate::registry::EncodeError;

use super::{leb128, FieldValues, Fields, SizeLength, Type, Value};

impl Type {
    /// The bytes of `value`, which must have been read by this type or be shaped like it.
    ///
    /// # Errors
    /// [`EncodeError`], which names the place in the value.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, EncodeError> {
        let mut out = Writer::default();
        put(self, value, &mut out)?;
        out.finish()
    }
}

fn put(ty: &Type, value: &Value, out: &mut Writer) -> Result<(), EncodeError> {
    match (ty, value) {
        (Type::Unit, Value::Unit) => {}
        (Type::Bool, Value::Bool(truth)) => out.byte(u8::from(*truth)),
        (Type::U8, Value::Unsigned(number)) => out.bytes(&narrow::<u8, _>(*number)?.to_le_bytes()),
        (Type::U16, Value::Unsigned(number)) => out.bytes(&narrow::<u16, _>(*number)?.to_le_bytes()),
        (Type::U32, Value::Unsigned(number)) => out.bytes(&narrow::<u32, _>(*number)?.to_le_bytes()),
        (Type::U64, Value::Unsigned(number)) => out.bytes(&number.to_le_bytes()),
        (Type::U128, Value::U128(number)) => out.bytes(&number.to_le_bytes()),
        (Type::I8, Value::Signed(number)) => out.bytes(&narrow::<i8, _>(*number)?.to_le_bytes()),
        (Type::I16, Value::Signed(number)) => out.bytes(&narrow::<i16, _>(*number)?.to_le_bytes()),
        (Type::I32, Value::Signed(number)) => out.bytes(&narrow::<i32, _>(*number)?.to_le_bytes()),
        (Type::I64, Value::Signed(number)) => out.bytes(&number.to_le_bytes()),
        (Type::I128, Value::I128(number)) => out.bytes(&number.to_le_bytes()),
        (Type::Amount, Value::Amount(number)) | (Type::Duration, Value::Duration(number)) => number.put(out),
        (Type::Timestamp, Value::Timestamp(time)) => time.put(out),
        (Type::AccountAddress, Value::Account(account)) => account.put(out),
        (Type::ContractAddress, Value::Contract(contract)) => contract.put(out),
        (Type::Pair(left, right), Value::Pair(pair)) => {
            put(left, &pair.0, out).map_err(|error| error.inside("0"))?;
            put(right, &pair.1, out).map_err(|error| error.inside("1"))?;
        }
        (Type::List(size, item) | Type::Set(size, item), Value::Numbers(bytes)) if **item == Type::U8 => {
            put_length(bytes.len(), *size, out);
            out.bytes(bytes);
        }
        (Type::List(size, item) | Type::Set(size, item), Value::List(items)) => {
            put_length(items.len(), *size, out);
            put_items(item, items, out)?;
        }
        (Type::Array(count, item), Value::Numbers(bytes)) if **item == Type::U8 => {
            same_count(*count, bytes.len())?;
            out.bytes(bytes);
        }
        (Type::Array(count, item), Value::List(items)) => {
            same_count(*count, items.len())?;
            put_items(item, items, out)?;
        }
        (Type::Map(size, key_type, value_type), Value::Map(entries)) => {
            put_length(entries.len(), *size, out);
            for (position, (key, value)) in entries.iter().enumerate() {
                put(key_type, key, out).map_err(|error| error.inside(&position.to_string()))?;
                put(value_type, value, out).map_err(|error| error.inside(&position.to_string()))?;
            }
        }
        (Type::Struct(fields), Value::Struct(values)) => put_fields(fields, values, out)?,
        (Type::Enum(variants), Value::Enum(name, values)) => {
            let (tag, (_, fields)) =
                variants.iter().enumerate().find(|(_, (known, _))| known == name).ok_or_else(|| no_variant(name))?;
            match variants.len() {
                0..=256 => out.length::<1>(tag, "an enum"),
                _ => out.length::<2>(tag, "an enum"),
            }
            put_fields(fields, values, out).map_err(|error| error.inside(name))?;
        }
        (Type::TaggedEnum(variants), Value::Enum(name, values)) => {
            let (tag, (_, fields)) = variants.iter().find(|(_, (known, _))| known == name).ok_or_else(|| no_variant(name))?;
            out.byte(*tag);
            put_fields(fields, values, out).map_err(|error| error.inside(name))?;
        }
        (Type::String(size), Value::Text(text)) => put_text(text, *size, out),
        (Type::ContractName(size), Value::ContractName(contract)) => put_text(&format!("init_{contract}"), *size, out),
        (Type::ReceiveName(size), Value::ReceiveName { contract, func }) => put_text(&format!("{contract}.{func}"), *size, out),
        (Type::ULeb128(limit), Value::Integer(digits)) => out.bytes(&leb128::encode(digits, *limit, false)?),
        (Type::ILeb128(limit), Value::Integer(digits)) => out.bytes(&leb128::encode(digits, *limit, true)?),
        (Type::ByteList(size), Value::Bytes(bytes)) => {
            put_length(bytes.len(), *size, out);
            out.bytes(bytes);
        }
        (Type::ByteArray(count), Value::Bytes(bytes)) => {
            same_count(*count, bytes.len())?;
            out.bytes(bytes);
        }
        _ => return Err(EncodeError::mismatch("the value has another type than the schema says")),
    }
    Ok(())
}

fn put_items(item: &Type, items: &[Value], out: &mut Writer) -> Result<(), EncodeError> {
    items
        .iter()
        .enumerate()
        .try_for_each(|(position, value)| put(item, value, out).map_err(|error| error.inside(&position.to_string())))
}

fn put_fields(fields: &Fields, values: &FieldValues, out: &mut Writer) -> Result<(), EncodeError> {
    match (fields, values) {
        (Fields::Named(fields), FieldValues::Named(values)) if fields.len() == values.len() => {
            for ((name, ty), (given, value)) in fields.iter().zip(values) {
                if name != given {
                    return Err(EncodeError::mismatch(format!("the field {name} is expected here, not {given}")));
                }
                put(ty, value, out).map_err(|error| error.inside(name))?;
            }
            Ok(())
        }
        (Fields::Unnamed(types), FieldValues::Unnamed(values)) if types.len() == values.len() => types
            .iter()
            .zip(values)
            .enumerate()
            .try_for_each(|(position, (ty, value))| put(ty, value, out).map_err(|error| error.inside(&position.to_string()))),
        (Fields::None, FieldValues::None) => Ok(()),
        _ => Err(EncodeError::mismatch("the fields are not those that the schema says")),
    }
}

fn put_text(text: &str, size: SizeLength, out: &mut Writer) {
    put_length(text.len(), size, out);
    out.bytes(text.as_bytes());
}

fn put_length(length: usize, size: SizeLength, out: &mut Writer) {
    match size {
        SizeLength::U8 => out.length::<1>(length, "a text or list"),
        SizeLength::U16 => out.length::<2>(length, "a text or list"),
        SizeLength::U32 => out.length::<4>(length, "a text or list"),
        SizeLength::U64 => out.length::<8>(length, "a text or list"),
    }
}

fn narrow<T: TryFrom<N>, N: Copy + std::fmt::Display>(number: N) -> Result<T, EncodeError> {
    T::try_from(number).map_err(|_| EncodeError::mismatch(format!("the number {number} does not fit its type")))
}

pub(super) fn same_count(wanted: u32, given: usize) -> Result<(), EncodeError> {
    match given as u64 == u64::from(wanted) {
        true => Ok(()),
        false => Err(EncodeError::mismatch(format!("{wanted} items are expected here, {given} are given"))),
    }
}

pub(super) fn no_variant(name: &str) -> EncodeError {
    EncodeError::mismatch(format!("there is no variant {name}"))
}
