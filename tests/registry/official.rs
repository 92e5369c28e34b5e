//! Against Concordium's own Rust crates, which read and write the same bytes and the same JSON.

use std::collections::BTreeMap;

use cardproof::identity::{AccountAddress, ContractAddress, TokenId};
use cardproof::registry::parameter::{
    AccountSignatures, AdditionalData, Address, BalanceOf, BalanceQuery, EntryPoint, OperatorChange, Parameter, Receiver,
    Register, SetAgentWallet, TokenAmount, Transfer, Transfers, UpdateOperator, UpdateOperators,
};
use cardproof::registry::schema::{FieldValues, Fields, FunctionSchema, ModuleSchema, SizeLength, Type, Value};
use cardproof::registry::Timestamp;
use concordium_rust_sdk::base::contracts_common::schema::{self as theirs, SchemaType};
use concordium_rust_sdk::base::contracts_common::{self as common, from_bytes, to_bytes, Cursor};
use concordium_rust_sdk::cis2;
use proptest::prelude::*;
use serde_json::json;

use crate::strategies::{signatures, typed_value};

fn official(ty: &Type) -> theirs::Type {
    from_bytes(&ty.to_bytes()).unwrap()
}

proptest! {
    #[test]
    fn types_values_and_json_are_those_of_the_official_tools((ty, value) in typed_value()) {
        let official = official(&ty);
        prop_assert_eq!(to_bytes(&official), ty.to_bytes());
        let bytes = ty.encode(&value).unwrap();
        let json = value.to_json();
        let mut cursor = Cursor::new(&bytes);
        prop_assert_eq!(&official.to_json(&mut cursor).unwrap(), &json);
        prop_assert_eq!(cursor.offset, bytes.len());
        prop_assert_eq!(official.to_json_string_pretty(&bytes).unwrap(), serde_json::to_string_pretty(&json).unwrap());
        prop_assert_eq!(&official.serial_value(&json).unwrap(), &bytes);
        prop_assert_eq!(ty.encode_json(&json).unwrap(), bytes);
    }

    #[test]
    fn account_signatures_are_those_of_concordium_std(signatures in signatures()) {
        let parameter = SetAgentWallet {
            token_id: TokenId(1), new_wallet: AccountAddress([1; 32]), deadline: Timestamp(2), signatures: signatures.clone(),
        };
        let bytes = parameter.to_bytes().unwrap();
        let official: common::AccountSignatures = from_bytes(&bytes[9 + 32 + 8..]).unwrap();
        prop_assert_eq!(official.sigs.len(), signatures.0.len());
        prop_assert_eq!(&to_bytes(&official)[..], &bytes[9 + 32 + 8..]);
    }

    /// The two read the same bytes alike, except that ours asks for every byte and stops at its limits. (No byte is 255: a
    /// time with all high bits set is a number to us, where theirs wraps around to a date before 1970.)
    #[test]
    fn what_ours_reads_theirs_reads_alike((ty, _) in typed_value(), bytes in proptest::collection::vec(0..255u8, 0..60)) {
        if let Ok(value) = ty.decode(&bytes) {
            prop_assert_eq!(official(&ty).to_json(&mut Cursor::new(&bytes)).unwrap(), value.to_json());
        }
    }
}

#[test]
fn the_schema_of_account_signatures_is_that_of_concordium_std() {
    let Type::Struct(Fields::Named(fields)) = SetAgentWallet::schema() else { panic!("not a struct") };
    let (_, signatures) = fields.iter().find(|(name, _)| name == "signatures").unwrap();
    assert_eq!(signatures.to_bytes(), to_bytes(&common::AccountSignatures::get_type()));
    let json = SetAgentWallet {
        token_id: TokenId(1),
        new_wallet: AccountAddress([1; 32]),
        deadline: Timestamp(2),
        signatures: AccountSignatures(BTreeMap::from([(0, BTreeMap::from([(0, [0xab; 64])]))])),
    }
    .to_schema_json();
    assert_eq!(json["signatures"], json!([[0, [[0, { "Ed25519": ["ab".repeat(64)] }]]]]));
}

#[test]
fn the_register_vector_is_built_by_the_official_schema_types() {
    let vectors = crate::vectors::read("parameters.json");
    let json = json!({
        "agent_uri": { "Some": [vectors["cases"][0]["agent_uri"]] },
        "metadata_hash": { "Some": [hex::decode(vectors["cases"][0]["metadata_hash"].as_str().unwrap()).unwrap()] },
        "external_reference": { "None": [] },
        "initial_metadata": [],
    });
    let bytes = official(&Register::schema()).serial_value(&json).unwrap();
    assert_eq!(hex::encode(&bytes), vectors["cases"][0]["hex"]);
    let ours = EntryPoint::Register.parameter_from_json(&json).unwrap();
    assert_eq!(ours, bytes);
}

#[test]
fn the_other_vectors_are_built_by_the_official_schema_types() {
    let vectors = crate::vectors::read("parameters.json");
    for case in vectors["cases"].as_array().unwrap() {
        let entry_point = EntryPoint::ALL.iter().find(|entry_point| entry_point.name() == case["name"]).unwrap();
        let bytes = hex::decode(case["hex"].as_str().unwrap()).unwrap();
        let json = entry_point.parameter_json(&bytes).unwrap();
        assert_eq!(official(&entry_point.parameter_schema()).serial_value(&json).unwrap(), bytes, "{}", case["name"]);
    }
}

#[test]
fn cis_2_parameters_are_those_of_the_sdk() {
    let account = AccountAddress([3; 32]);
    let their_account = common::AccountAddress([3; 32]);
    let their_contract = common::ContractAddress::new(10, 1);
    let transfer = |to| Transfer {
        token_id: TokenId(287),
        amount: TokenAmount(300),
        from: Address::Account(account),
        to,
        data: AdditionalData(vec![1, 2, 3]),
    };
    let their_transfer = |to| cis2::Transfer {
        token_id: cis2::TokenId::new(287u64.to_le_bytes().to_vec()).unwrap(),
        amount: cis2::TokenAmount::from(300u64),
        from: common::Address::Account(their_account),
        to,
        data: cis2::AdditionalData::new(vec![1, 2, 3]).unwrap(),
    };
    let ours = Transfers(vec![
        transfer(Receiver::Account(account)),
        transfer(Receiver::Contract(ContractAddress::new(10, 1), "c.onReceive".into())),
    ]);
    // The SDK wants a receive name where the standard has an entry point; the bytes are laid out alike.
    let entry_point = common::OwnedReceiveName::new("c.onReceive".into()).unwrap();
    let their = cis2::TransferParams::new(vec![
        their_transfer(cis2::Receiver::Account(their_account)),
        their_transfer(cis2::Receiver::Contract(their_contract, entry_point)),
    ])
    .unwrap();
    assert_eq!(ours.to_bytes().unwrap(), to_bytes(&their));

    let ours = UpdateOperators(vec![UpdateOperator {
        update: OperatorChange::Add,
        operator: Address::Contract(ContractAddress::new(10, 1)),
    }]);
    let their = cis2::UpdateOperatorParams::new(vec![cis2::UpdateOperator {
        update: cis2::OperatorUpdate::Add,
        operator: common::Address::Contract(their_contract),
    }])
    .unwrap();
    assert_eq!(ours.to_bytes().unwrap(), to_bytes(&their));

    let ours = BalanceOf(vec![BalanceQuery { token_id: TokenId(287), address: Address::Account(account) }]);
    let their = cis2::BalanceOfQueryParams::new(vec![cis2::BalanceOfQuery {
        token_id: cis2::TokenId::new(287u64.to_le_bytes().to_vec()).unwrap(),
        address: common::Address::Account(their_account),
    }])
    .unwrap();
    assert_eq!(ours.to_bytes().unwrap(), to_bytes(&their));
}

#[test]
fn an_enum_with_more_than_256_variants_has_a_two_byte_position() {
    let ty = Type::Enum((0..300).map(|i| (format!("Variant{i}"), Fields::None)).collect());
    let value = Value::Enum("Variant299".into(), FieldValues::None);
    let bytes = ty.encode(&value).unwrap();
    assert_eq!(bytes, [43, 1]);
    assert_eq!(official(&ty).serial_value(&value.to_json()).unwrap(), bytes);
    assert_eq!(ty.decode(&bytes).unwrap(), value);
}

#[test]
fn json_that_does_not_fit_is_refused_with_its_place() {
    let ty = Register::schema();
    let mut json = Register::default().to_schema_json();
    json["initial_metadata"] = json!([{ "key": "a", "value": [1, 256] }]);
    assert_eq!(
        ty.encode_json(&json).unwrap_err().to_string(),
        "in initial_metadata.0.value.1: a whole number from 0 to 255 is expected here"
    );
    json["initial_metadata"] = json!([]);
    json["agentUri"] = json!(null);
    assert_eq!(ty.encode_json(&json).unwrap_err().to_string(), "there is no field agentUri");
    let mut json = Register::default().to_schema_json();
    json["agent_uri"] = json!("https://example.com");
    assert!(ty.encode_json(&json).unwrap_err().to_string().starts_with("in agent_uri: an object with one variant"));
    json.as_object_mut().unwrap().remove("agent_uri");
    assert_eq!(ty.encode_json(&json).unwrap_err().to_string(), "the field agent_uri is missing");
}

/// The schemas of one contract in each version, in the official types.
fn module_schemas() -> [(u8, theirs::VersionedModuleSchema); 4] {
    use theirs::*;
    let name = || "CIS-8004".to_string();
    let parameter = || theirs::Type::U64;
    let record = || theirs::Type::Bool;
    let v0 = ContractV0 { state: Some(parameter()), init: None, receive: BTreeMap::from([("agentOf".to_string(), parameter())]) };
    let v1 = FunctionV1::Both { parameter: parameter(), return_value: record() };
    let v1 = ContractV1 { init: None, receive: BTreeMap::from([("agentOf".to_string(), v1)]) };
    let function = FunctionV2 { parameter: Some(parameter()), return_value: Some(record()), error: Some(theirs::Type::I32) };
    let v2 = ContractV2 { init: Some(function.clone()), receive: BTreeMap::from([("agentOf".to_string(), function.clone())]) };
    let v3 = ContractV3 {
        init: None,
        receive: BTreeMap::from([("agentOf".to_string(), function)]),
        event: Some(theirs::Type::String(theirs::SizeLength::U8)),
    };
    [
        (0, VersionedModuleSchema::V0(ModuleV0 { contracts: BTreeMap::from([(name(), v0)]) })),
        (1, VersionedModuleSchema::V1(ModuleV1 { contracts: BTreeMap::from([(name(), v1)]) })),
        (2, VersionedModuleSchema::V2(ModuleV2 { contracts: BTreeMap::from([(name(), v2)]) })),
        (3, VersionedModuleSchema::V3(ModuleV3 { contracts: BTreeMap::from([(name(), v3)]) })),
    ]
}

fn expected(version: u8) -> FunctionSchema {
    FunctionSchema {
        parameter: Some(Type::U64),
        return_value: (version >= 1).then_some(Type::Bool),
        error: (version >= 2).then_some(Type::I32),
    }
}

#[test]
fn module_schemas_of_every_version_are_read() {
    for (version, schema) in module_schemas() {
        let bytes = to_bytes(&schema);
        let read = ModuleSchema::parse(&bytes).unwrap();
        assert_eq!(read.version, version);
        assert_eq!(read.receive("CIS-8004", "agentOf"), Some(&expected(version)));
        assert_eq!(read.receive("CIS-8004", "register"), None);
        assert_eq!(read.receive("other", "agentOf"), None);
        assert_eq!(read.event("CIS-8004"), (version == 3).then_some(&Type::String(SizeLength::U8)));
        for end in 0..bytes.len() {
            assert!(ModuleSchema::parse(&bytes[..end]).is_err());
        }
        assert!(ModuleSchema::parse(&[&bytes[..], &[0]].concat()).is_err());
    }
}

#[test]
fn the_schema_is_found_in_a_module() {
    fn section(name: &str, content: &[u8]) -> Vec<u8> {
        let name_length = u8::try_from(name.len()).unwrap();
        let mut length = content.len() + name.len() + 1;
        let mut bytes = vec![0];
        while length >= 0x80 {
            bytes.push(length as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        [&bytes[..], &[name_length], name.as_bytes(), content].concat()
    }
    let module = |version: u32, sections: &[Vec<u8>]| {
        let wasm = [b"\0asm\x01\0\0\0".to_vec(), vec![1, 4, 1, 0x60, 0, 0], sections.concat()].concat();
        [&version.to_be_bytes()[..], &(wasm.len() as u32).to_be_bytes(), &wasm].concat()
    };
    let [(_, v0), (_, v1), _, (_, v3)] = module_schemas().map(|(version, schema)| (version, to_bytes(&schema)));
    let other = section("producers", &[1, 2, 3]);
    let read = |source: &[u8]| ModuleSchema::from_module_source(source).unwrap().unwrap();

    let source = module(1, &[other.clone(), section("concordium-schema", &v3)]);
    assert_eq!(read(&source).version, 3);
    assert_eq!(read(&source[8..]).receive("CIS-8004", "agentOf"), Some(&expected(3)));
    // The older sections hold the schema without its version.
    let old_1 = section("concordium-schema-v2", &v1[3..]);
    let old_0 = section("concordium-schema-v1", &v0[3..]);
    assert_eq!(read(&module(1, std::slice::from_ref(&old_1))).receive("CIS-8004", "agentOf"), Some(&expected(1)));
    assert_eq!(read(&module(0, std::slice::from_ref(&old_0))).receive("CIS-8004", "agentOf"), Some(&expected(0)));
    assert_eq!(read(&module(1, &[old_0, old_1, section("concordium-schema", &v3)])).version, 3);
    assert_eq!(ModuleSchema::from_module_source(&module(1, &[other])), Ok(None));
}
