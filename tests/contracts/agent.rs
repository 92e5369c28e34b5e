//! Registering, reading, re-pointing and revoking.

use concordium_smart_contract_testing::Address;
use sha2::{Digest, Sha256};

use crate::{
    layout::{self, concat, option, revoke, set_uri, some, string, token, Record},
    world::{code, World, ALICE, BOB, START},
};

const URI: &str = "https://example.org/agent-card.json";
const HASH: [u8; 32] = [0x5a; 32];
const LATER: u64 = 12_000;

#[test]
fn token_ids_count_from_zero() {
    let mut world = World::new();
    for id in 0..3u64 {
        let done = world.send(ALICE, "register", layout::register(None, None, None, &[])).unwrap();
        assert_eq!(done.events[1][1..10], token(id)[..]);
        assert_eq!(world.ask("agentOf", token(id)).unwrap(), Record::bare(id, ALICE, START).answer());
    }
}

#[test]
fn a_missing_agent_is_none_and_not_a_rejection() {
    assert_eq!(World::new().ask("agentOf", token(0)).unwrap(), [0]);
}

#[test]
fn a_registered_agent_has_all_that_was_given_and_its_owner_as_wallet() {
    let mut world = World::new();
    let metadata: [(&str, &[u8]); 2] = [("zone", b"eu"), ("model", &[])];
    world.send(ALICE, "register", layout::register(Some(URI), Some(HASH), None, &metadata)).unwrap();

    let expected = Record {
        uri: Some(URI.into()),
        hash: Some(HASH),
        metadata: vec![("zone".into(), b"eu".to_vec()), ("model".into(), vec![])],
        ..Record::bare(0, ALICE, START)
    };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
}

#[test]
fn registering_logs_mint_then_registered_then_the_wallet_and_the_metadata() {
    let mut world = World::new();
    let parameter = layout::register(Some(URI), Some(HASH), None, &[("zone", b"eu")]);
    let events = world.send(ALICE, "register", parameter).unwrap().events;

    let mint = concat(&[&[254], &token(0), &[1], &layout::account(ALICE)]);
    let registered = concat(&[&[240], &token(0), &ALICE.0, &some(&string(URI)), &some(&HASH), &[0], &START.to_le_bytes()]);
    let wallet = concat(&[&[245], &token(0), &some(&ALICE.0)]);
    let metadata = concat(&[&[243], &token(0), &string("zone"), &layout::bytes(b"eu")]);
    assert_eq!(events, [mint, registered, wallet, metadata, token_metadata(0, URI, Some(HASH))]);
}

#[test]
fn registering_without_a_uri_logs_no_token_metadata() {
    let mut world = World::new();
    let events = world.send(ALICE, "register", layout::register(None, Some(HASH), None, &[])).unwrap().events;
    assert_eq!(events.iter().map(|event| event[0]).collect::<Vec<_>>(), [254, 240, 245]);
}

#[test]
fn the_register_parameter_of_a_real_transaction_is_accepted() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("../vectors/parameters.json")).unwrap();
    let case = cases["cases"].as_array().unwrap().iter().find(|case| case["name"] == "register").unwrap();
    let parameter = hex::decode(case["hex"].as_str().unwrap()).unwrap();
    assert_eq!(hex::encode(Sha256::digest(&parameter)), case["sha256"].as_str().unwrap());

    let mut world = World::new();
    world.send(ALICE, "register", parameter).unwrap();
    let hash = hex::decode(case["metadata_hash"].as_str().unwrap()).unwrap();
    let expected = Record {
        uri: Some(case["agent_uri"].as_str().unwrap().into()),
        hash: Some(hash.try_into().unwrap()),
        ..Record::bare(0, ALICE, START)
    };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
}

#[test]
fn events_have_the_layout_of_real_ones() {
    // The published events of mainnet token 14, made again here: only the bytes of id, owner and time may differ.
    let cases: serde_json::Value = serde_json::from_str(include_str!("../vectors/events.json")).unwrap();
    let real = |name: &str| {
        let case = cases["cases"].as_array().unwrap().iter().find(|case| case["event"] == name).unwrap().clone();
        (hex::decode(case["hex"].as_str().unwrap()).unwrap(), case)
    };
    let mut world = World::new();

    let (bytes, case) = real("Registered");
    let uri = case["agent_uri"].as_str();
    let made = world.send(ALICE, "register", layout::register(uri, None, None, &[])).unwrap().events.remove(1);
    assert_eq!(made.len(), bytes.len());
    assert_eq!(made[42..made.len() - 8], bytes[42..bytes.len() - 8]);

    let (bytes, case) = real("URIUpdated");
    let uri = case["agent_uri"].as_str();
    let hash = hex::decode(case["metadata_hash"].as_str().unwrap()).unwrap().try_into().unwrap();
    let made = world.send(ALICE, "setAgentURI", set_uri(0, uri, Some(hash))).unwrap().events.remove(0);
    assert_eq!(made.len(), bytes.len());
    assert_eq!(made[10..made.len() - 8], bytes[10..bytes.len() - 8]);
}

#[test]
fn setting_the_uri_replaces_uri_and_hash_and_logs_the_time() {
    let mut world = World::new();
    world.register_bare(ALICE);
    world.wait(LATER);
    let events = world.send(ALICE, "setAgentURI", set_uri(0, Some(URI), Some(HASH))).unwrap().events;

    let updated = concat(&[&[241], &token(0), &some(&string(URI)), &some(&HASH), &(START + LATER).to_le_bytes()]);
    assert_eq!(events, [updated, token_metadata(0, URI, Some(HASH))]);
    let expected = Record { uri: Some(URI.into()), hash: Some(HASH), ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
}

#[test]
fn what_is_absent_in_set_agent_uri_is_cleared() {
    let mut world = World::new();
    world.send(ALICE, "register", layout::register(Some(URI), Some(HASH), None, &[])).unwrap();
    world.send(ALICE, "setAgentURI", set_uri(0, Some(URI), None)).unwrap();
    let without_hash = Record { uri: Some(URI.into()), ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), without_hash.answer());

    let events = world.send(ALICE, "setAgentURI", set_uri(0, None, None)).unwrap().events;
    assert_eq!(events[0], concat(&[&[241], &token(0), &[0, 0], &START.to_le_bytes()]));
    assert_eq!(events[1], token_metadata(0, "", None));
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), Record::bare(0, ALICE, START).answer());
}

#[test]
fn a_uri_of_4096_bytes_is_kept_and_4097_are_refused() {
    let mut world = World::new();
    let longest = "u".repeat(4096);
    let too_long = "u".repeat(4097);
    world.send(ALICE, "register", layout::register(Some(&longest), None, None, &[])).unwrap();
    world.send(ALICE, "setAgentURI", set_uri(0, Some(&longest), Some(HASH))).unwrap();
    let expected = Record { uri: Some(longest), hash: Some(HASH), ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());

    assert_eq!(code(world.send(ALICE, "register", layout::register(Some(&too_long), None, None, &[]))), -7208);
    assert_eq!(code(world.send(ALICE, "setAgentURI", set_uri(0, Some(&too_long), None))), -7208);
}

#[test]
fn an_event_that_the_chain_would_find_too_large_is_logged_without_its_uri() {
    let mut world = World::new();
    // 512 bytes are allowed; Registered has 89 besides the URI, with a hash and without a reference.
    let longest_logged = "u".repeat(512 - 89);
    let parameter = layout::register(Some(&longest_logged), Some(HASH), None, &[]);
    let events = world.send(ALICE, "register", parameter).unwrap().events;
    assert_eq!(events[1].len(), 512);
    assert_eq!(events[3], token_metadata(0, &longest_logged, Some(HASH)));

    let longer = "u".repeat(512 - 88);
    let events = world.send(ALICE, "register", layout::register(Some(&longer), Some(HASH), None, &[])).unwrap().events;
    let registered = concat(&[&[240], &token(1), &ALICE.0, &[0], &some(&HASH), &[0], &START.to_le_bytes()]);
    assert_eq!(events[1], registered);
    assert_eq!(events[3], token_metadata(1, &longer, Some(HASH)));

    let longest = "u".repeat(4096);
    let events = world.send(ALICE, "setAgentURI", set_uri(1, Some(&longest), Some(HASH))).unwrap().events;
    assert_eq!(events, [concat(&[&[241], &token(1), &[0], &some(&HASH), &START.to_le_bytes()])]);
}

#[test]
fn a_rejected_register_uses_up_no_token_id() {
    let mut world = World::new();
    let too_long = "u".repeat(4097);
    code(world.send(ALICE, "register", layout::register(Some(&too_long), None, None, &[])));
    world.register_bare(ALICE);
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), Record::bare(0, ALICE, START).answer());
    assert_eq!(world.ask("agentOf", token(1)).unwrap(), [0]);
}

#[test]
fn a_contract_may_neither_register_nor_change_an_agent() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let sender = Address::Contract(world.cis8);
    let calls = [
        ("register", layout::register(None, None, None, &[])),
        ("setAgentURI", set_uri(0, None, None)),
        ("setExternalReference", concat(&[&token(0), &[0]])),
        ("setMetadata", layout::set_metadata(0, "zone", b"eu")),
        ("revoke", revoke(0, None)),
        ("setAgentWallet", concat(&[&token(0), &ALICE.0, &u64::MAX.to_le_bytes(), &[0]])),
    ];
    for (entry_point, parameter) in calls {
        assert_eq!(code(world.send_as(sender, entry_point, parameter)), -7201, "{entry_point}");
    }
}

#[test]
fn only_the_owner_changes_an_agent_not_even_an_operator() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let add_bob = concat(&[&1u16.to_le_bytes(), &[1], &layout::account(BOB)]);
    world.send(ALICE, "updateOperator", add_bob).unwrap();
    let calls = [
        ("setAgentURI", set_uri(0, Some(URI), None)),
        ("setExternalReference", concat(&[&token(0), &[0]])),
        ("setMetadata", layout::set_metadata(0, "zone", b"eu")),
        ("revoke", revoke(0, None)),
        ("setAgentWallet", concat(&[&token(0), &BOB.0, &u64::MAX.to_le_bytes(), &[0]])),
    ];
    for (entry_point, parameter) in calls {
        assert_eq!(code(world.send(BOB, entry_point, parameter)), -7201, "{entry_point}");
    }
}

#[test]
fn changes_to_a_missing_agent_are_agent_not_found() {
    let mut world = World::new();
    let calls = [
        ("setAgentURI", set_uri(7, None, None)),
        ("setExternalReference", concat(&[&token(7), &[0]])),
        ("setMetadata", layout::set_metadata(7, "zone", b"eu")),
        ("revoke", revoke(7, None)),
        ("setAgentWallet", concat(&[&token(7), &BOB.0, &u64::MAX.to_le_bytes(), &[0]])),
    ];
    for (entry_point, parameter) in calls {
        assert_eq!(code(world.send(ALICE, entry_point, parameter)), -7200, "{entry_point}");
    }
    for (entry_point, parameter) in
        [("getMetadata", concat(&[&token(7), &string("zone")])), ("getAgentWallet", token(7)), ("getAgentWalletNonce", token(7))]
    {
        assert_eq!(code(world.ask(entry_point, parameter)), -7200, "{entry_point}");
    }
}

#[test]
fn revoking_keeps_the_record_and_says_when_and_why() {
    let mut world = World::new();
    world.send(ALICE, "register", layout::register(Some(URI), Some(HASH), None, &[])).unwrap();
    world.wait(LATER);
    let events = world.send(ALICE, "revoke", revoke(0, Some("key lost"))).unwrap().events;

    assert_eq!(events, [concat(&[&[244], &token(0), &ALICE.0, &some(&string("key lost"))])]);
    let expected = Record {
        uri: Some(URI.into()),
        hash: Some(HASH),
        revoked: Some((START + LATER, Some("key lost".into()))),
        ..Record::bare(0, ALICE, START)
    };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
}

#[test]
fn a_revoked_agent_refuses_every_change_and_a_second_revocation() {
    let mut world = World::new();
    world.register_bare(ALICE);
    world.send(ALICE, "revoke", revoke(0, None)).unwrap();
    let calls = [
        ("setAgentURI", set_uri(0, Some(URI), None)),
        ("setExternalReference", concat(&[&token(0), &[0]])),
        ("setMetadata", layout::set_metadata(0, "zone", b"eu")),
        ("revoke", revoke(0, None)),
        ("setAgentWallet", concat(&[&token(0), &ALICE.0, &u64::MAX.to_le_bytes(), &[0]])),
        ("transfer", layout::transfer(0, 1, &layout::account(ALICE), BOB)),
    ];
    for (entry_point, parameter) in calls {
        assert_eq!(code(world.send(ALICE, entry_point, parameter)), -7202, "{entry_point}");
    }
}

#[test]
fn a_revocation_reason_has_a_limit() {
    let mut world = World::new();
    world.register_bare(ALICE);
    assert_eq!(code(world.send(ALICE, "revoke", revoke(0, Some(&"r".repeat(257))))), -7208);
    world.send(ALICE, "revoke", revoke(0, Some(&"r".repeat(256)))).unwrap();
}

#[test]
fn a_parameter_that_does_not_parse_is_a_parse_error() {
    let mut world = World::new();
    let short_token = concat(&[&[4], &0u32.to_le_bytes()]);
    // A URI with a 2-byte length, as an outdated copy of the proposal has it.
    let short_length = concat(&[&[1], &[3, 0], b"abc", &[0, 0], &[0, 0]]);
    let not_utf8 = concat(&[&[1], &layout::bytes(&[0xff]), &[0], &[0], &[0; 4]]);
    assert_eq!(code(world.ask("agentOf", short_token)), i32::MIN + 2);
    assert_eq!(code(world.ask("agentOf", vec![])), i32::MIN + 2);
    assert_eq!(code(world.send(ALICE, "register", short_length)), i32::MIN + 2);
    assert_eq!(code(world.send(ALICE, "register", not_utf8)), i32::MIN + 2);
}

/// CIS-2 TokenMetadata: the URL has a 2-byte length.
fn token_metadata(id: u64, url: &str, hash: Option<[u8; 32]>) -> Vec<u8> {
    let length = u16::try_from(url.len()).unwrap().to_le_bytes();
    concat(&[&[251], &token(id), &length, url.as_bytes(), &option(hash.map(Vec::from))])
}
