use cardproof::registry::parameter::EntryPoint;
use cardproof::registry::schema::{
    decode_agent_of_with_schema, Fields, ModuleSchema, SchemaError, SizeLength, Type, MAX_DEPTH, MAX_SCHEMA_BYTES, MAX_VALUES,
};
use cardproof::registry::{
    decode_agent_of, decode_agent_wallet, decode_balances, decode_metadata, decode_supports, decode_token_metadata,
    encode_agent_of, AgentRecord, DecodeError, KeyEvent, RegistryEvent,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::*;

fn read_as_everything(bytes: &[u8]) {
    let _ = decode_agent_of(bytes);
    let _ = decode_agent_of_with_schema(&Type::option(AgentRecord::schema()), bytes);
    let _ = (decode_agent_wallet(bytes), decode_balances(bytes), decode_metadata(bytes), decode_supports(bytes));
    let _ = decode_token_metadata(bytes);
    let _ = (RegistryEvent::parse(bytes).to_json(), KeyEvent::parse(bytes).to_json());
    for entry_point in EntryPoint::ALL {
        let _ = entry_point.parameter_json(bytes);
    }
    let _ = (Type::from_bytes(bytes), ModuleSchema::parse(bytes), ModuleSchema::from_module_source(bytes));
    for version in 0..=4 {
        let _ = ModuleSchema::parse_unversioned(bytes, version);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in vec(any::<u8>(), 0..200), first in 0..32u8) {
        read_as_everything(&bytes);
        read_as_everything(&[&[first][..], &bytes].concat());
        read_as_everything(&[&[0xff, 0xff, first % 5][..], &bytes].concat());
        read_as_everything(&[b"\0asm\x01\0\0\0", &bytes[..]].concat());
    }

    #[test]
    fn no_change_to_a_record_makes_a_decoder_panic(record in record(), at: prop::sample::Index, byte: u8) {
        let mut bytes = encode_agent_of(Some(&record));
        let at = at.index(bytes.len());
        read_as_everything(&bytes[..at]);
        bytes[at] = byte;
        read_as_everything(&bytes);
    }

    #[test]
    fn no_bytes_make_a_type_panic(ty in schema_type(), bytes in vec(any::<u8>(), 0..100)) {
        if let Ok(value) = ty.decode(&bytes) {
            let _ = (value.to_json(), ty.encode(&value));
        }
    }

    #[test]
    fn no_change_to_a_type_makes_the_parser_panic(ty in schema_type(), at: prop::sample::Index, byte: u8) {
        let mut bytes = ty.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(ty) = Type::from_bytes(&bytes) {
            // Not always the same bytes: variants may come in any order, as the official parser has it.
            prop_assert_eq!(Type::from_bytes(&ty.to_bytes()).unwrap(), ty);
        }
    }
}

#[test]
fn nesting_stops_at_the_limit() {
    // tag 16 (a list), width 0, again and again.
    let nested = |levels: usize| [[16, 0].repeat(levels - 1), vec![0]].concat();
    assert!(Type::from_bytes(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(Type::from_bytes(&nested(MAX_DEPTH + 1)), Err(SchemaError::TooDeep));
    assert_eq!(Type::from_bytes(&nested(100_000)), Err(SchemaError::TooDeep));
    let fields = [20, 1, 1, 0, 0, 0].repeat(50_000);
    assert_eq!(Type::from_bytes(&fields), Err(SchemaError::TooDeep));
    let module = [&[0xff, 0xff, 3, 1, 0, 0, 0, 1, 0, 0, 0, b'c', 1, 0][..], &nested(1000)].concat();
    assert_eq!(ModuleSchema::parse(&module), Err(SchemaError::TooDeep));
}

#[test]
fn counts_beyond_the_bytes_are_refused_before_anything_is_allocated() {
    let huge = [0xff; 4];
    for start in [&[20, 0][..], &[20, 1], &[21], &[31], &[22, 2, 0]] {
        assert!(Type::from_bytes(&[start, &huge].concat()).is_err());
    }
    for start in [&[0xff, 0xff, 3][..], &[0xff, 0xff, 3, 1, 0, 0, 0]] {
        assert!(matches!(ModuleSchema::parse(&[start, &huge].concat()), Err(SchemaError::Bytes(DecodeError::Truncated { .. }))));
    }
    let list = Type::List(SizeLength::U32, Box::new(Type::U16));
    assert!(matches!(list.decode(&huge), Err(DecodeError::Inside { .. })));
    assert!(matches!(Type::ByteList(SizeLength::U64).decode(&[0xff; 8]), Err(DecodeError::Truncated { needed: u64::MAX, .. })));
    assert!(matches!(Type::String(SizeLength::U32).decode(&huge), Err(DecodeError::Truncated { .. })));
    assert!(matches!(Type::ByteArray(u32::MAX).decode(&[0]), Err(DecodeError::Truncated { .. })));
}

#[test]
fn items_without_bytes_are_counted() {
    let too_many = Err(DecodeError::TooManyValues { limit: MAX_VALUES });
    let nothing = || Box::new(Type::Unit);
    assert_eq!(Type::List(SizeLength::U32, nothing()).decode(&[0xff; 4]), too_many);
    assert_eq!(Type::Map(SizeLength::U64, nothing(), nothing()).decode(&[0xff; 8]), too_many);
    let inner = Type::Array(u32::MAX, Box::new(Type::Struct(Fields::None)));
    assert_eq!(Type::Array(u32::MAX, Box::new(inner)).decode(&[]), too_many);
}

#[test]
fn a_schema_too_large_or_with_long_names_is_refused() {
    let bytes = vec![0; MAX_SCHEMA_BYTES + 1];
    assert_eq!(Type::from_bytes(&bytes), Err(SchemaError::TooLarge { bytes: bytes.len() }));
    let named = |length: usize| Type::Struct(Fields::Named(vec![("x".repeat(length), Type::Unit)])).to_bytes();
    assert!(Type::from_bytes(&named(255)).is_ok());
    assert!(Type::from_bytes(&named(256)).is_err());
}

#[test]
fn names_and_tags_given_twice_are_refused() {
    let variant = [7, 1, 0, 0, 0, b'a', 2];
    let twice = [&[31, 2, 0, 0, 0][..], &variant, &variant].concat();
    assert_eq!(Type::from_bytes(&twice).unwrap_err().to_string(), "the schema describes the variant with tag 7 twice");
    let contract = [1, 0, 0, 0, b'c', 0, 0, 0, 0, 0, 0];
    let twice = [&[0xff, 0xff, 3, 2, 0, 0, 0][..], &contract, &contract].concat();
    assert_eq!(ModuleSchema::parse(&twice).unwrap_err().to_string(), "the schema describes the contract c twice");
}

#[test]
fn versions_that_are_not_known_are_named() {
    assert_eq!(ModuleSchema::parse(&[0xff, 0xff, 4, 0, 0, 0, 0]), Err(SchemaError::Version(4)));
    assert_eq!(ModuleSchema::parse(&[0, 0, 0, 0]), Err(SchemaError::Unversioned));
    assert!(ModuleSchema::parse(&[0xff, 0xff]).is_err());
}

#[test]
fn a_module_that_is_not_well_formed_is_refused() {
    let wasm = b"\0asm\x01\0\0\0";
    for bytes in [
        &b""[..],
        b"\0asm",
        b"\0asm\x02\0\0\0",
        b"\0\0\0\x01\0\0\0\x09\0asm\x01\0\0\0",
        b"\0\0\0\x02\0\0\0\x08\0asm\x01\0\0\0",
        &[&wasm[..], &[0]].concat(),
        &[&wasm[..], &[0, 5, 1]].concat(),
        &[&wasm[..], &[0, 2, 9, 0]].concat(),
        &[&wasm[..], &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat(),
        &[&wasm[..], &[1, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat(),
    ] {
        assert!(matches!(ModuleSchema::from_module_source(bytes), Err(SchemaError::Module(_))), "{bytes:?}");
    }
    assert_eq!(ModuleSchema::from_module_source(wasm), Ok(None));
    assert_eq!(ModuleSchema::from_module_source(b"\0\0\0\x01\0\0\0\x08\0asm\x01\0\0\0"), Ok(None));
}
