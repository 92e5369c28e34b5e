use std::collections::BTreeMap;

use crate::registry::wire::{Reader, Wire, Writer};
use crate::registry::DecodeError;

use super::{SchemaError, MAX_DEPTH, MAX_SCHEMA_BYTES};

/// The type of a value in a contract's bytes. In a schema each is one tag byte, given here, and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// No bytes. Tag 0.
    Unit,
    /// One byte, 0 or 1. Tag 1.
    Bool,
    /// 1 byte. Tag 2.
    U8,
    /// 2 bytes, little-endian as all numbers. Tag 3.
    U16,
    /// 4 bytes. Tag 4.
    U32,
    /// 8 bytes. Tag 5.
    U64,
    /// 16 bytes. Tag 23.
    U128,
    /// 1 byte. Tag 6.
    I8,
    /// 2 bytes. Tag 7.
    I16,
    /// 4 bytes. Tag 8.
    I32,
    /// 8 bytes. Tag 9.
    I64,
    /// 16 bytes. Tag 24.
    I128,
    /// An amount of microCCD in 8 bytes. Tag 10.
    Amount,
    /// 32 bytes. Tag 11.
    AccountAddress,
    /// Index and subindex, 8 bytes each. Tag 12.
    ContractAddress,
    /// Milliseconds since 1970 in 8 bytes. Tag 13.
    Timestamp,
    /// Milliseconds in 8 bytes. Tag 14.
    Duration,
    /// One value after the other. Tag 15.
    Pair(Box<Type>, Box<Type>),
    /// A count and the items. Tag 16.
    List(SizeLength, Box<Type>),
    /// A count and the items. Tag 17.
    Set(SizeLength, Box<Type>),
    /// A count, then keys and values by turns. Tag 18.
    Map(SizeLength, Box<Type>, Box<Type>),
    /// As many items as it says, without a count. Tag 19.
    Array(u32, Box<Type>),
    /// The fields after each other. Tag 20.
    Struct(Fields),
    /// The variant's position (1 byte up to 256 variants, else 2), then its fields. Tag 21.
    Enum(Vec<(String, Fields)>),
    /// A length and UTF-8. Tag 22.
    String(SizeLength),
    /// A length and `init_<contract>`. Tag 25.
    ContractName(SizeLength),
    /// A length and `<contract>.<function>`. Tag 26.
    ReceiveName(SizeLength),
    /// An unsigned LEB128 number of at most so many bytes. Tag 27.
    ULeb128(u32),
    /// A signed LEB128 number of at most so many bytes. Tag 28.
    ILeb128(u32),
    /// A length and bytes, in JSON hexadecimal. Tag 29.
    ByteList(SizeLength),
    /// As many bytes as it says, in JSON hexadecimal. Tag 30.
    ByteArray(u32),
    /// The variant's own tag, 1 byte, then its fields. Tag 31.
    TaggedEnum(BTreeMap<u8, (String, Fields)>),
}

/// The fields of a struct or of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fields {
    /// With names.
    Named(Vec<(String, Type)>),
    /// Without names.
    Unnamed(Vec<Type>),
    /// None at all.
    None,
}

/// How many bytes the length of a text or list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeLength {
    /// 1 byte.
    U8,
    /// 2 bytes.
    U16,
    /// 4 bytes.
    U32,
    /// 8 bytes.
    U64,
}

impl SizeLength {
    /// How many bytes the length has.
    pub fn bytes(self) -> u8 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 => 8,
        }
    }
}

impl Type {
    /// An optional value: an enum of `None` and `Some(content)`.
    pub fn option(content: Type) -> Self {
        Self::Enum(vec![("None".to_string(), Fields::None), ("Some".to_string(), Fields::Unnamed(vec![content]))])
    }

    /// Reads a type from its bytes in a schema, all of which it must use up.
    ///
    /// # Errors
    /// [`SchemaError`] for bytes that are no type, or one too deep or too large.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SchemaError> {
        check_size(bytes)?;
        let mut reader = Reader::new(bytes);
        let ty = take_type(&mut reader, MAX_DEPTH)?;
        reader.finish("the schema type")?;
        Ok(ty)
    }

    /// The type's bytes in a schema.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        put_type(self, &mut out);
        out.into_bytes()
    }
}

pub(super) fn check_size(bytes: &[u8]) -> Result<(), SchemaError> {
    match bytes.len() {
        0..=MAX_SCHEMA_BYTES => Ok(()),
        bytes => Err(SchemaError::TooLarge { bytes }),
    }
}

/// Reads one type. `depth` is how many more levels may be opened below.
pub(super) fn take_type(from: &mut Reader<'_>, depth: usize) -> Result<Type, SchemaError> {
    const WHAT: &str = "a schema type";
    let depth = depth.checked_sub(1).ok_or(SchemaError::TooDeep)?;
    let boxed = |from: &mut Reader<'_>| take_type(from, depth).map(Box::new);
    Ok(match from.byte(WHAT)? {
        0 => Type::Unit,
        1 => Type::Bool,
        2 => Type::U8,
        3 => Type::U16,
        4 => Type::U32,
        5 => Type::U64,
        6 => Type::I8,
        7 => Type::I16,
        8 => Type::I32,
        9 => Type::I64,
        10 => Type::Amount,
        11 => Type::AccountAddress,
        12 => Type::ContractAddress,
        13 => Type::Timestamp,
        14 => Type::Duration,
        15 => Type::Pair(boxed(from)?, boxed(from)?),
        16 => Type::List(take_size(from)?, boxed(from)?),
        17 => Type::Set(take_size(from)?, boxed(from)?),
        18 => Type::Map(take_size(from)?, boxed(from)?, boxed(from)?),
        19 => Type::Array(from.u32(WHAT)?, boxed(from)?),
        20 => Type::Struct(take_fields(from, depth)?),
        21 => Type::Enum(take_list(from, "an enum", |from| Ok((take_name(from)?, take_fields(from, depth)?)))?),
        22 => Type::String(take_size(from)?),
        23 => Type::U128,
        24 => Type::I128,
        25 => Type::ContractName(take_size(from)?),
        26 => Type::ReceiveName(take_size(from)?),
        27 => Type::ULeb128(from.u32(WHAT)?),
        28 => Type::ILeb128(from.u32(WHAT)?),
        29 => Type::ByteList(take_size(from)?),
        30 => Type::ByteArray(from.u32(WHAT)?),
        31 => Type::TaggedEnum(take_variants(from, depth)?),
        tag => return Err(from.bad_tag(tag, WHAT).into()),
    })
}

fn take_variants(from: &mut Reader<'_>, depth: usize) -> Result<BTreeMap<u8, (String, Fields)>, SchemaError> {
    let mut variants = BTreeMap::new();
    for (tag, variant) in take_list(from, "a tagged enum", |from| {
        Ok((from.byte("a variant's tag")?, (take_name(from)?, take_fields(from, depth)?)))
    })? {
        if variants.insert(tag, variant).is_some() {
            return Err(SchemaError::Duplicate { what: format!("the variant with tag {tag}") });
        }
    }
    Ok(variants)
}

fn take_fields(from: &mut Reader<'_>, depth: usize) -> Result<Fields, SchemaError> {
    Ok(match from.byte("the fields of a type")? {
        0 => Fields::Named(take_list(from, "named fields", |from| Ok((take_name(from)?, take_type(from, depth)?)))?),
        1 => Fields::Unnamed(take_list(from, "unnamed fields", |from| take_type(from, depth))?),
        2 => Fields::None,
        tag => return Err(from.bad_tag(tag, "the fields of a type").into()),
    })
}

fn take_size(from: &mut Reader<'_>) -> Result<SizeLength, DecodeError> {
    Ok(match from.byte("the width of a length")? {
        0 => SizeLength::U8,
        1 => SizeLength::U16,
        2 => SizeLength::U32,
        3 => SizeLength::U64,
        tag => return Err(from.bad_tag(tag, "the width of a length")),
    })
}

/// A name: a 4-byte length and UTF-8. Every value read by the schema repeats the names of its fields, so they are kept short.
pub(super) fn take_name(from: &mut Reader<'_>) -> Result<String, DecodeError> {
    const WHAT: &str = "a name in the schema";
    let offset = from.offset();
    let name = String::take(from, WHAT)?;
    match name.len() {
        0..=255 => Ok(name),
        _ => Err(DecodeError::Malformed { what: WHAT.into(), offset, why: "has more than 255 bytes" }),
    }
}

/// A 4-byte count and items, each of at least one byte: a count beyond what is left is refused before anything is allocated.
pub(super) fn take_list<T>(
    from: &mut Reader<'_>,
    what: &'static str,
    mut item: impl FnMut(&mut Reader<'_>) -> Result<T, SchemaError>,
) -> Result<Vec<T>, SchemaError> {
    let count = u64::from(from.u32(what)?);
    if count > from.left() as u64 {
        from.bytes(count, what)?;
    }
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(item(from)?);
    }
    Ok(items)
}

fn put_type(ty: &Type, out: &mut Writer) {
    let sized = |out: &mut Writer, tag: u8, size: &SizeLength| {
        out.byte(tag);
        out.byte(match size {
            SizeLength::U8 => 0,
            SizeLength::U16 => 1,
            SizeLength::U32 => 2,
            SizeLength::U64 => 3,
        });
    };
    let numbered = |out: &mut Writer, tag: u8, number: u32| {
        out.byte(tag);
        out.bytes(&number.to_le_bytes());
    };
    match ty {
        Type::Unit => out.byte(0),
        Type::Bool => out.byte(1),
        Type::U8 => out.byte(2),
        Type::U16 => out.byte(3),
        Type::U32 => out.byte(4),
        Type::U64 => out.byte(5),
        Type::I8 => out.byte(6),
        Type::I16 => out.byte(7),
        Type::I32 => out.byte(8),
        Type::I64 => out.byte(9),
        Type::Amount => out.byte(10),
        Type::AccountAddress => out.byte(11),
        Type::ContractAddress => out.byte(12),
        Type::Timestamp => out.byte(13),
        Type::Duration => out.byte(14),
        Type::Pair(left, right) => {
            out.byte(15);
            put_type(left, out);
            put_type(right, out);
        }
        Type::List(size, item) => {
            sized(out, 16, size);
            put_type(item, out);
        }
        Type::Set(size, item) => {
            sized(out, 17, size);
            put_type(item, out);
        }
        Type::Map(size, key, value) => {
            sized(out, 18, size);
            put_type(key, out);
            put_type(value, out);
        }
        Type::Array(count, item) => {
            numbered(out, 19, *count);
            put_type(item, out);
        }
        Type::Struct(fields) => {
            out.byte(20);
            put_fields(fields, out);
        }
        Type::Enum(variants) => {
            out.byte(21);
            out.length::<4>(variants.len(), "an enum");
            for (name, fields) in variants {
                name.put(out);
                put_fields(fields, out);
            }
        }
        Type::String(size) => sized(out, 22, size),
        Type::U128 => out.byte(23),
        Type::I128 => out.byte(24),
        Type::ContractName(size) => sized(out, 25, size),
        Type::ReceiveName(size) => sized(out, 26, size),
        Type::ULeb128(bytes) => numbered(out, 27, *bytes),
        Type::ILeb128(bytes) => numbered(out, 28, *bytes),
        Type::ByteList(size) => sized(out, 29, size),
        Type::ByteArray(count) => numbered(out, 30, *count),
        Type::TaggedEnum(variants) => {
            out.byte(31);
            out.length::<4>(variants.len(), "a tagged enum");
            for (tag, (name, fields)) in variants {
                out.byte(*tag);
                name.put(out);
                put_fields(fields, out);
            }
        }
    }
}

fn put_fields(fields: &Fields, out: &mut Writer) {
    match fields {
        Fields::Named(fields) => {
            out.byte(0);
            out.length::<4>(fields.len(), "named fields");
            for (name, ty) in fields {
                name.put(out);
                put_type(ty, out);
            }
        }
        Fields::Unnamed(types) => {
            out.byte(1);
            out.length::<4>(types.len(), "unnamed fields");
            types.iter().for_each(|ty| put_type(ty, out));
        }
        Fields::None => out.byte(2),
    }
}
