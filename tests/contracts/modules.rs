//! The committed files: what `modules.json` says of them, and the schemas in them.

use std::fs;

use concordium_rust_sdk::{
    base::contracts_common::{
        schema::{ContractV3, Fields, FunctionV2, Type, VersionedModuleSchema},
        to_bytes, Cursor,
    },
    smart_contracts::engine::utils::get_embedded_schema_v1,
};
use sha2::{Digest, Sha256};

use crate::{
    layout::{some, token, Record},
    world::{module, modules_folder, World, ALICE, START},
};

/// The schema of one of the two contracts.
fn contract(module_name: &str, name: &str) -> ContractV3 {
    let schema = get_embedded_schema_v1(module(module_name).source.as_ref()).unwrap();
    let VersionedModuleSchema::V3(schema) = schema else { panic!("the schema should have version 3") };
    assert_eq!(schema.contracts.len(), 1);
    schema.contracts[name].clone()
}

fn agent_registry() -> ContractV3 {
    contract("cis8004-registry", "CIS-8004")
}

/// The schema of an entry point of the CIS-8004 registry.
fn function(entry_point: &str) -> FunctionV2 {
    agent_registry().receive[entry_point].clone()
}

fn variant_names(schema: Option<&Type>) -> Vec<String> {
    let Some(Type::Enum(variants)) = schema else { panic!("this should be an enum: {schema:?}") };
    variants.iter().map(|(name, _)| name.clone()).collect()
}

/// Tag and name of every event, all of which have named fields.
fn event_names(contract: &ContractV3) -> Vec<(u8, &str)> {
    let Some(Type::TaggedEnum(events)) = &contract.event else { panic!("events should be tagged") };
    assert!(events.values().all(|(_, fields)| matches!(fields, Fields::Named(_))));
    events.iter().map(|(tag, (name, _))| (*tag, name.as_str())).collect()
}

/// The names of an entry point's errors, in the order of their numbers on the wire.
pub(crate) fn error_names(entry_point: &str) -> Vec<String> {
    variant_names(function(entry_point).error())
}

#[test]
fn the_list_says_what_the_files_are() {
    let list: serde_json::Value = serde_json::from_slice(&fs::read(modules_folder().join("modules.json")).unwrap()).unwrap();
    let modules = list["modules"].as_array().unwrap();
    let files: Vec<&str> = modules.iter().map(|entry| entry["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["cis8004-registry.wasm.v1", "cis8-registry.wasm.v1"]);
    for entry in modules {
        let name = entry["file"].as_str().unwrap();
        let bytes = fs::read(modules_folder().join(name)).unwrap();
        assert_eq!(entry["bytes"], bytes.len(), "{name}");
        assert_eq!(entry["sha256"], hex::encode(Sha256::digest(&bytes)), "{name}");
        let module = module(name.strip_suffix(".wasm.v1").unwrap());
        assert_eq!(entry["module_reference"], hex::encode(module.get_module_ref()), "{name}");
        let schema = to_bytes(&get_embedded_schema_v1(module.source.as_ref()).unwrap());
        assert_eq!(entry["schema_bytes"], schema.len(), "{name}");
        assert_eq!(entry["schema_sha256"], hex::encode(Sha256::digest(&schema)), "{name}");
    }
}

#[test]
fn the_register_parameter_schema_is_the_deployed_contracts() {
    let schema = to_bytes(function("register").parameter().unwrap());
    assert_eq!(schema.len(), 374);
    assert_eq!(hex::encode(Sha256::digest(schema)), "0c90202dd63de2f031f3fcaec8dbd9d7194ac33cc12b7276bcdb349d76811fe9");
}

#[test]
fn every_entry_point_of_the_standards_is_there_and_has_a_schema() {
    let registry = agent_registry();
    let names: Vec<&str> = registry.receive.keys().map(String::as_str).collect();
    let expected = [
        "agentByExternalReference",
        "agentOf",
        "balanceOf",
        "getAgentWallet",
        "getAgentWalletNonce",
        "getMetadata",
        "operatorOf",
        "register",
        "revoke",
        "setAgentURI",
        "setAgentWallet",
        "setExternalReference",
        "setMetadata",
        "supports",
        "tokenMetadata",
        "transfer",
        "updateOperator",
        "upgrade",
    ];
    assert_eq!(names, expected);
}

#[test]
fn errors_carry_the_names_of_the_standard() {
    let expected = [
        "ParseError",
        "LogFull",
        "LogMalformed",
        "AgentNotFound",
        "Unauthorized",
        "AgentRevoked",
        "InvalidReceiver",
        "ExternalReferenceTaken",
        "InvalidExternalReference",
        "InvalidMetadata",
        "ReservedKey",
        "InvalidAgentWalletProof",
        "AgentWalletDeadlinePassed",
    ];
    assert_eq!(error_names("register"), expected);
    assert_eq!(error_names("transfer"), ["InvalidTokenId", "InsufficientFunds", "Unauthorized", "Custom"]);
}

#[test]
fn the_schema_shows_a_record_as_the_deployed_one_does() {
    let mut world = World::new();
    world.wait(1_234);
    let parameter = crate::layout::register(Some("https://example.org"), Some([7; 32]), None, &[("zone", &[1, 255])]);
    world.send(ALICE, "register", parameter).unwrap();
    let answer = world.ask("agentOf", token(0)).unwrap();
    let expected = Record {
        uri: Some("https://example.org".into()),
        hash: Some([7; 32]),
        metadata: vec![("zone".into(), vec![1, 255])],
        ..Record::bare(0, ALICE, START + 1_234)
    };
    assert_eq!(answer, expected.answer());

    let schema = function("agentOf");
    let shown = schema.return_value().unwrap().to_json(&mut Cursor::new(&answer)).unwrap();
    let record = &shown["Some"][0];
    assert_eq!(record["token_id"], "0000000000000000");
    assert_eq!(record["owner_account"], ALICE.to_string());
    assert_eq!(record["agent_uri"], serde_json::json!({"Some": ["https://example.org"]}));
    assert_eq!(record["metadata_hash"], serde_json::json!({"Some": [vec![7; 32]]}));
    assert_eq!(record["external_reference"], serde_json::json!({"None": []}));
    assert_eq!(record["agent_wallet"], serde_json::json!({"Some": [ALICE.to_string()]}));
    assert_eq!(record["status"], serde_json::json!({"Active": []}));
    assert_eq!(record["registered_at"], "2026-09-21T14:13:21.234+00:00");
    assert_eq!(record["revoked_at"], serde_json::json!({"None": []}));
    assert_eq!(record["revocation_reason"], serde_json::json!({"None": []}));
    assert_eq!(record["on_chain_metadata"], serde_json::json!([{"key": "zone", "value": [1, 255]}]));
    assert_eq!(record.as_object().unwrap().len(), 11);

    // The parameter of agentOf is the bare hex string.
    let parameter = schema.parameter().unwrap().serial_value(&serde_json::json!("1f01000000000000")).unwrap();
    assert_eq!(parameter, token(287));
}

#[test]
fn the_schema_shows_events_by_name() {
    let registry = agent_registry();
    let expected = [
        (240, "Registered"),
        (241, "URIUpdated"),
        (242, "ExternalReferenceSet"),
        (243, "MetadataSet"),
        (244, "Revoked"),
        (245, "AgentWalletSet"),
        (251, "TokenMetadata"),
        (252, "UpdateOperator"),
        (254, "Mint"),
        (255, "Transfer"),
    ];
    assert_eq!(event_names(&registry), expected);

    let mut world = World::new();
    let events = world.send(ALICE, "register", crate::layout::register(None, None, None, &[])).unwrap().events;
    let event_schema = registry.event.as_ref().unwrap();
    let shown = event_schema.to_json(&mut Cursor::new(&events[2])).unwrap();
    let wallet = serde_json::json!({"Some": [ALICE.to_string()]});
    assert_eq!(shown, serde_json::json!({"AgentWalletSet": {"token_id": "0000000000000000", "new_wallet": wallet}}));
    assert_eq!(events[2][10..], some(&ALICE.0)[..]);
}

#[test]
fn the_key_registrys_schema_has_the_names_of_its_standard() {
    let registry = contract("cis8-registry", "CIS-8");
    let entry_points: Vec<&str> = registry.receive.keys().map(String::as_str).collect();
    assert_eq!(entry_points, ["ownerOfKey", "registerExternalKey", "revoke", "supports", "updateMetadata"]);
    let events = [(231, "ExternalKeyRegistered"), (232, "ExternalKeyRevoked"), (233, "UpdateMetadata")];
    assert_eq!(event_names(&registry), events);
    let errors = [
        "ParseError",
        "LogFull",
        "LogMalformed",
        "InvalidProof",
        "UnsupportedProofScheme",
        "MalformedExternalKey",
        "Unauthorized",
        "AlreadyRegistered",
        "NotRegistered",
        "UnsupportedKeyType",
        "InvalidMetadata",
    ];
    assert_eq!(variant_names(registry.receive["registerExternalKey"].error()), errors);

    // ownerOfKey takes the key in a struct, where agentOf takes the bare token id.
    let key = serde_json::json!({"namespace": "n", "key_type": "ed25519", "public_key": [1, 2]});
    let parameter = registry.receive["ownerOfKey"].parameter().unwrap();
    let bytes = parameter.serial_value(&serde_json::json!({ "external_key": key })).unwrap();
    assert_eq!(bytes, crate::layout::key_id("n", "ed25519", &[1, 2]));
}
