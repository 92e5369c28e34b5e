//! Reading a record by a schema that differs from the fixed layout.

use cardproof::identity::{AccountAddress, TokenId};
use cardproof::registry::schema::{decode_agent_of_with_schema, FieldValues, Fields, SizeLength, Type, Value};
use cardproof::registry::{AgentRecord, AgentStatus, DecodeError, MetadataEntry, Timestamp};

fn agent() -> AgentRecord {
    AgentRecord {
        token_id: TokenId(287),
        owner_account: AccountAddress([5; 32]),
        agent_uri: Some("https://example.com/card.json".into()),
        metadata_hash: Some(cardproof::digest::Sha256Digest([9; 32])),
        external_reference: None,
        agent_wallet: None,
        status: AgentStatus::Active,
        registered_at: Timestamp(1_785_771_369_045),
        revoked_at: None,
        revocation_reason: None,
        on_chain_metadata: vec![MetadataEntry { key: "category".into(), value: b"market".to_vec() }],
    }
}

type Parts = (Vec<(String, Type)>, Vec<(String, Value)>);

/// The record's schema and value, as lists of fields that a test can change.
fn parts(record: &AgentRecord) -> Parts {
    let Type::Struct(Fields::Named(types)) = AgentRecord::schema() else { panic!("not a struct") };
    let Value::Struct(FieldValues::Named(values)) = AgentRecord::schema().decode(&record.to_bytes()).unwrap() else {
        panic!("not a struct")
    };
    (types, values)
}

fn read(types: Vec<(String, Type)>, values: Vec<(String, Value)>) -> Result<Option<AgentRecord>, DecodeError> {
    let ty = Type::Struct(Fields::Named(types));
    let bytes = ty.encode(&Value::Struct(FieldValues::Named(values))).unwrap();
    let plain = decode_agent_of_with_schema(&ty, &bytes);
    let optional = decode_agent_of_with_schema(&Type::option(ty), &[&[1], &bytes[..]].concat());
    assert_eq!(plain, optional);
    plain
}

/// Reads the record with one field of another type and value.
fn read_with(field: &str, ty: Type, value: Value) -> Result<Option<AgentRecord>, DecodeError> {
    let (mut types, mut values) = parts(&agent());
    types.iter_mut().find(|(name, _)| name == field).unwrap().1 = ty;
    values.iter_mut().find(|(name, _)| name == field).unwrap().1 = value;
    read(types, values)
}

fn some(value: Value) -> Value {
    Value::Enum("Some".into(), FieldValues::Unnamed(vec![value]))
}

#[test]
fn fields_may_be_reordered_and_added() {
    let (mut types, mut values) = parts(&agent());
    types.reverse();
    values.reverse();
    types.insert(3, ("score".into(), Type::option(Type::U128)));
    values.insert(3, ("score".into(), some(Value::U128(7))));
    assert_eq!(read(types, values), Ok(Some(agent())));
}

#[test]
fn a_record_without_the_eleventh_field_has_no_metadata() {
    let (mut types, mut values) = parts(&agent());
    types.pop();
    values.pop();
    assert_eq!(read(types, values), Ok(Some(AgentRecord { on_chain_metadata: vec![], ..agent() })));
}

#[test]
fn token_ids_numbers_and_bytes_may_have_other_types() {
    let expected = Ok(Some(agent()));
    let id = 287u64.to_le_bytes().to_vec();
    assert_eq!(read_with("token_id", Type::List(SizeLength::U8, Box::new(Type::U8)), Value::Numbers(id.clone())), expected);
    assert_eq!(read_with("token_id", Type::ByteList(SizeLength::U32), Value::Bytes(id.clone())), expected);
    assert_eq!(read_with("token_id", Type::ByteArray(8), Value::Bytes(id)), expected);
    assert_eq!(read_with("token_id", Type::String(SizeLength::U8), Value::Text("1f01000000000000".into())), expected);
    assert_eq!(read_with("token_id", Type::U32, Value::Unsigned(287)), expected);
    assert_eq!(read_with("token_id", Type::ULeb128(37), Value::Integer("287".into())), expected);
    let time = 1_785_771_369_045;
    assert_eq!(read_with("registered_at", Type::U64, Value::Unsigned(time)), expected);
    assert_eq!(read_with("registered_at", Type::I64, Value::Signed(time as i64)), expected);
    assert_eq!(read_with("registered_at", Type::U128, Value::U128(time.into())), expected);
    let hash = vec![9; 32];
    assert_eq!(read_with("metadata_hash", Type::option(Type::ByteArray(32)), some(Value::Bytes(hash.clone()))), expected);
    assert_eq!(
        read_with("metadata_hash", Type::option(Type::ByteList(SizeLength::U16)), some(Value::Bytes(hash.clone()))),
        expected
    );
    let list = Type::List(SizeLength::U32, Box::new(Type::U8));
    assert_eq!(read_with("metadata_hash", Type::option(list), some(Value::Numbers(hash))), expected);
    let bytes = Type::ByteArray(32);
    assert_eq!(read_with("owner_account", bytes, Value::Bytes(vec![5; 32])), expected);
}

#[test]
fn metadata_may_be_a_map_or_pairs() {
    let text = || Box::new(Type::String(SizeLength::U32));
    let bytes = || Box::new(Type::ByteList(SizeLength::U32));
    let entry = || (Value::Text("category".into()), Value::Bytes(b"market".to_vec()));
    let map = Type::Map(SizeLength::U32, text(), bytes());
    assert_eq!(read_with("on_chain_metadata", map, Value::Map(vec![entry()])), Ok(Some(agent())));
    let pairs = Type::List(SizeLength::U32, Box::new(Type::Pair(text(), bytes())));
    assert_eq!(read_with("on_chain_metadata", pairs, Value::List(vec![Value::Pair(Box::new(entry()))])), Ok(Some(agent())));
}

#[test]
fn wrong_shapes_are_refused_with_the_fields_name() {
    let refused = |field: &str, ty: Type, value: Value, sentence: &str| {
        assert_eq!(read_with(field, ty, value).unwrap_err().to_string(), sentence);
    };
    let text = |text: &str| (Type::String(SizeLength::U32), Value::Text(text.into()));
    let (ty, value) = text("x");
    refused("agent_uri", ty, value, "the field agent_uri of the record is not an optional text");
    let short = Type::option(Type::ByteArray(31));
    refused(
        "metadata_hash",
        short,
        some(Value::Bytes(vec![9; 31])),
        "the field metadata_hash of the record is not an optional list of 32 bytes",
    );
    refused(
        "token_id",
        Type::ByteArray(4),
        Value::Bytes(vec![1; 4]),
        "the field token_id of the record is not a token id of 8 bytes",
    );
    refused("registered_at", Type::I64, Value::Signed(-1), "the field registered_at of the record is not a time");
    let other = Type::Enum(vec![("Paused".into(), Fields::None)]);
    refused(
        "status",
        other,
        Value::Enum("Paused".into(), FieldValues::None),
        "the field status of the record is neither Active nor Revoked",
    );
    let (ty, value) = text("x");
    refused("on_chain_metadata", ty, value, "the field on_chain_metadata of the record is not a list of keys and values");
}

#[test]
fn a_missing_field_is_named_and_never_read_as_absent() {
    for field in ["token_id", "owner_account", "agent_uri", "metadata_hash", "external_reference", "agent_wallet", "revoked_at"] {
        let (types, values) = parts(&agent());
        let types = types.into_iter().filter(|(name, _)| name != field).collect();
        let values = values.into_iter().filter(|(name, _)| name != field).collect();
        assert_eq!(read(types, values).unwrap_err().to_string(), format!("the field {field} of the record is missing"));
    }
}

#[test]
fn what_is_no_record_is_refused() {
    assert!(matches!(decode_agent_of_with_schema(&Type::Bool, &[1]), Err(DecodeError::Field { .. })));
    let ty = Type::option(AgentRecord::schema());
    assert!(matches!(decode_agent_of_with_schema(&ty, &[2]), Err(DecodeError::Tag { .. })));
    assert!(matches!(decode_agent_of_with_schema(&ty, &[0, 0]), Err(DecodeError::Trailing { .. })));
    let bytes = [&[1], &agent().to_bytes()[..60]].concat();
    let error = decode_agent_of_with_schema(&ty, &bytes).unwrap_err();
    assert!(error.to_string().starts_with("in Some.0.agent_uri.Some.0: the bytes end inside a text"), "{error}");
}
