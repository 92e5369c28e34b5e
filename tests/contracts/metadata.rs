//! Data about an agent that contracts can read.

use crate::{
    layout::{bytes, concat, option, register, revoke, set_metadata, string, token, Record},
    world::{code, World, ALICE, START},
};

fn get(world: &World, key: &str) -> Vec<u8> {
    world.ask("getMetadata", concat(&[&token(0), &string(key)])).unwrap()
}

#[test]
fn a_value_can_be_set_read_and_replaced_and_keeps_its_place() {
    let mut world = World::new();
    world.register_bare(ALICE);
    assert_eq!(get(&world, "zone"), [0]);

    let events = world.send(ALICE, "setMetadata", set_metadata(0, "zone", b"eu")).unwrap().events;
    assert_eq!(events, [concat(&[&[243], &token(0), &string("zone"), &bytes(b"eu")])]);
    world.send(ALICE, "setMetadata", set_metadata(0, "model", b"m1")).unwrap();
    world.send(ALICE, "setMetadata", set_metadata(0, "zone", &[])).unwrap();

    assert_eq!(get(&world, "zone"), option(Some(bytes(&[]))));
    assert_eq!(get(&world, "model"), option(Some(bytes(b"m1"))));
    let metadata = vec![("zone".into(), vec![]), ("model".into(), b"m1".to_vec())];
    let expected = Record { metadata, ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
}

#[test]
fn a_revoked_agents_metadata_can_still_be_read() {
    let mut world = World::new();
    world.send(ALICE, "register", register(None, None, None, &[("zone", b"eu")])).unwrap();
    world.send(ALICE, "revoke", revoke(0, None)).unwrap();
    assert_eq!(get(&world, "zone"), option(Some(bytes(b"eu"))));
}

#[test]
fn the_wallets_key_is_reserved() {
    let mut world = World::new();
    world.register_bare(ALICE);
    assert_eq!(code(world.send(ALICE, "setMetadata", set_metadata(0, "agentWallet", b"x"))), -7211);
    assert_eq!(code(world.send(ALICE, "register", register(None, None, None, &[("agentWallet", b"x")]))), -7211);
    // Not reserved: keys are compared byte by byte.
    world.send(ALICE, "setMetadata", set_metadata(0, "agentwallet", b"x")).unwrap();
}

#[test]
fn keys_and_values_have_limits() {
    let mut world = World::new();
    world.register_bare(ALICE);
    world.send(ALICE, "setMetadata", set_metadata(0, &"k".repeat(64), &[7; 256])).unwrap();
    for (key, value) in [("k".repeat(65), vec![]), (String::new(), vec![]), ("k".into(), vec![7; 257])] {
        assert_eq!(code(world.send(ALICE, "setMetadata", set_metadata(0, &key, &value))), -7208);
        assert_eq!(code(world.send(ALICE, "register", register(None, None, None, &[(&key, &value)]))), -7208);
    }
}

#[test]
fn an_agent_has_at_most_32_entries_and_they_can_all_be_full() {
    let mut world = World::new();
    let keys: Vec<String> = (0..33).map(|n| format!("{n:0>64}")).collect();
    let entries: Vec<(&str, &[u8])> = keys.iter().map(|key| (key.as_str(), [7u8; 256].as_slice())).collect();
    assert_eq!(code(world.send(ALICE, "register", register(None, None, None, &entries))), -7208);
    world.send(ALICE, "register", register(None, None, None, &entries[..32])).unwrap();

    let metadata = entries[..32].iter().map(|(key, value)| ((*key).to_owned(), value.to_vec())).collect();
    let expected = Record { metadata, ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
    assert_eq!(code(world.send(ALICE, "setMetadata", set_metadata(0, &keys[32], b""))), -7208);
    world.send(ALICE, "setMetadata", set_metadata(0, &keys[31], b"")).unwrap();
}

#[test]
fn a_key_given_twice_is_refused() {
    let mut world = World::new();
    let parameter = register(None, None, None, &[("zone", b"eu"), ("zone", b"us")]);
    assert_eq!(code(world.send(ALICE, "register", parameter)), -7208);
}
