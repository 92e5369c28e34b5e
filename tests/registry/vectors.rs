use cardproof::digest::Sha256Digest;
use cardproof::identity::{AccountAddress, ContractAddress, TokenId, TESTNET};
use cardproof::registry::parameter::{
    key_binding_message, set_agent_wallet_message, AgentOf, EntryPoint, ExternalKeyId, Parameter, Register, Revoke, SetAgentUri,
    SetExternalReference,
};
use cardproof::registry::schema::Type;
use cardproof::registry::{ExternalReference, ReferenceKind, RegistryEvent, Timestamp};
use serde_json::{json, Value};

pub(crate) fn read(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_string()
}

/// Builds the parameter that a case of `parameters.json` describes.
fn build(case: &Value) -> (EntryPoint, Vec<u8>, Value) {
    fn of<P: Parameter>(parameter: P) -> (EntryPoint, Vec<u8>, Value) {
        (P::ENTRY_POINT, parameter.to_bytes().unwrap(), parameter.to_schema_json())
    }
    let token_id = TokenId(case["token_id"].as_u64().unwrap_or_default());
    match case["name"].as_str().unwrap() {
        "register" => of(Register {
            agent_uri: Some(text(&case["agent_uri"])),
            metadata_hash: Some(text(&case["metadata_hash"]).parse().unwrap()),
            ..Register::default()
        }),
        "setExternalReference" => {
            let reference = &case["external_reference"];
            let contract = |i: usize| reference["contract"][i].as_u64().unwrap();
            of(SetExternalReference {
                token_id,
                external_reference: Some(ExternalReference {
                    contract_address: ContractAddress::new(contract(0), contract(1)),
                    kind: ReferenceKind::Cis8 {
                        namespace: text(&reference["cis8"]["namespace"]),
                        key_type: text(&reference["cis8"]["key_type"]),
                        public_key: hex::decode(text(&reference["cis8"]["public_key"])).unwrap(),
                    },
                }),
            })
        }
        "agentOf" => of(AgentOf(token_id)),
        "revoke" => of(Revoke { token_id, reason: None }),
        other => panic!("a vector without a test: {other}"),
    }
}

#[test]
fn published_parameters_are_built_byte_for_byte() {
    let vectors = read("parameters.json");
    for case in vectors["cases"].as_array().unwrap() {
        let (entry_point, bytes, json) = build(case);
        assert_eq!(hex::encode(&bytes), text(&case["hex"]), "{}", case["name"]);
        assert_eq!(Sha256Digest::of(&bytes).to_string(), text(&case["sha256"]));
        assert_eq!(entry_point.name(), case["name"]);
        assert_eq!(entry_point.parameter_json(&bytes).unwrap(), json);
        assert_eq!(entry_point.parameter_from_json(&json).unwrap(), bytes);
    }
}

#[test]
fn the_parameters_in_published_transactions_read_and_build() {
    let vectors = read("transactions.json");
    for case in vectors["cases"].as_array().unwrap() {
        let bytes = hex::decode(text(&case["parameterHex"])).unwrap();
        let entry_point = EntryPoint::from_receive_name(case["receiveName"].as_str().unwrap()).unwrap();
        let json = entry_point.parameter_json(&bytes).unwrap();
        assert_eq!(entry_point.parameter_from_json(&json).unwrap(), bytes);
        assert_eq!(Sha256Digest::of(&bytes).to_string(), text(&case["parameterSha256"]));
    }
    let update = SetAgentUri {
        token_id: TokenId(484),
        agent_uri: Some("https://agents.example.com/market-data/card.json".into()),
        metadata_hash: Some("1253bd8fa1618f6b5fd2ff741cc8f4d60a0e6ac0f8ea5f32640c71540001e0d0".parse().unwrap()),
    };
    assert_eq!(hex::encode(update.to_bytes().unwrap()), text(&vectors["cases"][1]["parameterHex"]));
}

#[test]
fn the_register_schema_is_the_published_one() {
    let vectors = read("parameters.json");
    let bytes = Register::schema().to_bytes();
    assert_eq!(bytes.len() as u64, vectors["register_schema_bytes"].as_u64().unwrap());
    assert_eq!(Sha256Digest::of(&bytes).to_string(), text(&vectors["register_schema_sha256"]));
    assert_eq!(Type::from_bytes(&bytes).unwrap(), Register::schema());
}

#[test]
fn the_key_binding_message_is_the_proven_one() {
    let key = ExternalKeyId {
        namespace: "xcf:phase5".into(),
        key_type: "ed25519".into(),
        public_key: hex::decode("e9d34013c5d042e38e8f8c43f0d7e2c326eafe70b40647319d39ade5ea8c18ad").unwrap(),
    };
    let account: AccountAddress = "4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7".parse().unwrap();
    let message = key_binding_message(&account, TESTNET.cis8, &TESTNET.genesis, "xcf:phase5", &key, "fetch-ai-ed25519");
    assert_eq!(message.len(), 193);
    assert_eq!(Sha256Digest::of(&message).to_string(), "09d6e43e745b3aa4c1e3749416d2f58ed89d0634b78180aaaeb3c216865dc377");
}

#[test]
fn the_wallet_message_has_its_fields_in_place() {
    let owner = AccountAddress([1; 32]);
    let wallet = AccountAddress([2; 32]);
    let registry = ContractAddress::new(12802, 0);
    let message =
        set_agent_wallet_message(TokenId(0x0807_0605), &owner, &wallet, 3, Timestamp(0x0100), registry, &TESTNET.genesis);
    assert_eq!(message.len(), 162);
    let expected = [
        b"CIS-8004/v1/setAgentWallet".as_slice(),
        &[5, 6, 7, 8, 0, 0, 0, 0],
        &[1; 32],
        &[2; 32],
        &[3, 0, 0, 0, 0, 0, 0, 0],
        &[0, 1, 0, 0, 0, 0, 0, 0],
        &[0x02, 0x32, 0, 0, 0, 0, 0, 0],
        &[0; 8],
        &TESTNET.genesis.0,
    ]
    .concat();
    assert_eq!(message, expected);
}

#[test]
fn schema_json_of_parameters_is_that_of_the_facts() {
    let register = Register { agent_uri: Some("https://example.com".into()), ..Register::default() };
    assert_eq!(
        register.to_schema_json(),
        json!({
            "agent_uri": { "Some": ["https://example.com"] },
            "metadata_hash": { "None": [] },
            "external_reference": { "None": [] },
            "initial_metadata": []
        })
    );
    assert_eq!(AgentOf(TokenId(287)).to_schema_json(), json!("1f01000000000000"));
}

#[test]
fn published_events_are_read_with_no_byte_left_over() {
    let vectors = read("events.json");
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let bytes = hex::decode(text(&case["hex"])).unwrap();
        assert_eq!(Sha256Digest::of(&bytes).to_string(), text(&case["sha256"]));
        let event = RegistryEvent::parse(&bytes);
        assert_eq!(event.name(), case["event"]);
        assert_eq!(event.to_bytes().unwrap(), bytes);
        let json = event.to_json();
        assert_eq!(json["tag"], bytes[0]);
        assert_eq!(json["token_id"], "14");
        assert_eq!(json["agent_uri"], case["agent_uri"]);
        assert_eq!(json["metadata_hash"], case["metadata_hash"]);
        assert_eq!(json["time"], Timestamp(case["time_ms"].as_u64().unwrap()).to_rfc3339());
        if event.name() == "Registered" {
            assert_eq!(json["owner"], case["owner"]);
            assert_eq!(json["external_reference"], Value::Null);
        }
        // A byte less or more makes it an unknown event, which is data.
        for bytes in [&bytes[..bytes.len() - 1], &[&bytes[..], &[0]].concat()] {
            let event = RegistryEvent::parse(bytes);
            assert_eq!(event, RegistryEvent::Unknown { tag: Some(bytes[0]), bytes: bytes.to_vec() });
            assert_eq!(event.to_json()["bytes"], hex::encode(bytes));
        }
    }
}
