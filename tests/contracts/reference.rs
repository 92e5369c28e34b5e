//! Linking an agent to a key in the CIS-8 registry.

use concordium_smart_contract_testing::{Address, ContractAddress};

use crate::{
    external_key::{self, solana_id, solana_key},
    layout::{account, bytes, cis8_reference, concat, contract, option, register, revoke, some, string, token, transfer, Record},
    world::{code, World, ALICE, BOB, START},
};

fn set(id: u64, reference: Option<&[u8]>) -> Vec<u8> {
    concat(&[&token(id), &option(reference.map(Vec::from))])
}

/// A world where Alice holds a key, and the reference to it.
fn world_with_key() -> (World, Vec<u8>) {
    let mut world = World::new();
    external_key::register(&mut world, ALICE, &solana_key(1)).unwrap();
    let reference = cis8_reference(world.cis8, &solana_id(&solana_key(1)));
    (world, reference)
}

#[test]
fn an_agent_can_be_registered_with_a_reference_and_found_by_it() {
    let (mut world, reference) = world_with_key();
    assert_eq!(world.ask("agentByExternalReference", reference.clone()).unwrap(), [0]);
    let events = world.send(ALICE, "register", register(None, None, Some(reference.clone()), &[])).unwrap().events;

    let registered = concat(&[&[240], &token(0), &ALICE.0, &[0, 0], &some(&reference), &START.to_le_bytes()]);
    assert_eq!(events[1], registered);
    let expected = Record { reference: Some(reference.clone()), ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
    assert_eq!(world.ask("agentByExternalReference", reference).unwrap(), expected.answer());
}

#[test]
fn a_reference_can_be_set_set_again_and_cleared() {
    let (mut world, reference) = world_with_key();
    world.register_bare(ALICE);
    for _ in 0..2 {
        let events = world.send(ALICE, "setExternalReference", set(0, Some(&reference))).unwrap().events;
        assert_eq!(events, [concat(&[&[242], &token(0), &some(&reference)])]);
    }
    let events = world.send(ALICE, "setExternalReference", set(0, None)).unwrap().events;
    assert_eq!(events, [concat(&[&[242], &token(0), &[0]])]);
    assert_eq!(world.ask("agentByExternalReference", reference).unwrap(), [0]);
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), Record::bare(0, ALICE, START).answer());
}

#[test]
fn a_new_reference_frees_the_old_one() {
    let (mut world, first) = world_with_key();
    external_key::register(&mut world, ALICE, &solana_key(2)).unwrap();
    let second = cis8_reference(world.cis8, &solana_id(&solana_key(2)));
    world.send(ALICE, "register", register(None, None, Some(first.clone()), &[])).unwrap();
    world.send(ALICE, "setExternalReference", set(0, Some(&second))).unwrap();
    world.send(ALICE, "register", register(None, None, Some(first.clone()), &[])).unwrap();

    let expected = Record { reference: Some(first.clone()), ..Record::bare(1, ALICE, START) };
    assert_eq!(world.ask("agentByExternalReference", first).unwrap(), expected.answer());
}

#[test]
fn two_active_agents_cannot_share_a_reference() {
    let (mut world, reference) = world_with_key();
    world.register_bare(ALICE);
    world.send(ALICE, "setExternalReference", set(0, Some(&reference))).unwrap();
    world.register_bare(ALICE);
    assert_eq!(code(world.send(ALICE, "setExternalReference", set(1, Some(&reference)))), -7204);
    assert_eq!(code(world.send(ALICE, "register", register(None, None, Some(reference), &[]))), -7204);
}

#[test]
fn a_key_that_changed_hands_stays_taken_by_the_agent_that_has_it() {
    let (mut world, reference) = world_with_key();
    world.send(ALICE, "register", register(None, None, Some(reference.clone()), &[])).unwrap();
    external_key::register(&mut world, BOB, &solana_key(1)).unwrap();
    assert_eq!(code(world.send(BOB, "register", register(None, None, Some(reference.clone()), &[]))), -7204);
    // Alice no longer holds it, so she cannot set it anew either.
    assert_eq!(code(world.send(ALICE, "setExternalReference", set(0, Some(&reference)))), -7206);
}

#[test]
fn revoking_an_agent_clears_and_frees_its_reference() {
    let (mut world, reference) = world_with_key();
    world.send(ALICE, "register", register(None, None, Some(reference.clone()), &[])).unwrap();
    let events = world.send(ALICE, "revoke", revoke(0, None)).unwrap().events;
    let cleared = concat(&[&[242], &token(0), &[0]]);
    assert_eq!(events, [cleared, concat(&[&[244], &token(0), &ALICE.0, &[0]])]);
    let expected = Record { revoked: Some((START, None)), ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
    assert_eq!(world.ask("agentByExternalReference", reference.clone()).unwrap(), [0]);
    world.send(ALICE, "register", register(None, None, Some(reference), &[])).unwrap();
}

#[test]
fn a_transfer_clears_and_frees_the_reference() {
    let (mut world, reference) = world_with_key();
    world.send(ALICE, "register", register(None, None, Some(reference.clone()), &[])).unwrap();
    world.send(ALICE, "transfer", transfer(0, 1, &account(ALICE), BOB)).unwrap();
    let expected = Record { wallet: None, ..Record::bare(0, BOB, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
    world.send(ALICE, "register", register(None, None, Some(reference), &[])).unwrap();
}

#[test]
fn a_reference_that_is_not_the_senders_active_key_here_is_invalid() {
    let (mut world, reference) = world_with_key();
    let elsewhere = ContractAddress { index: world.cis8.index + 7, subindex: 0 };
    let id = solana_id(&solana_key(1));
    let cis10 = concat(&[&contract(world.cis8), &[1], &string("x"), &string("handle"), &bytes(b"alice")]);
    let invalid = [
        cis8_reference(elsewhere, &id),
        cis8_reference(world.registry, &id),
        cis8_reference(world.cis8, &solana_id(&solana_key(2))),
        cis10,
    ];
    for (position, reference) in invalid.iter().enumerate() {
        let parameter = register(None, None, Some(reference.clone()), &[]);
        assert_eq!(code(world.send(ALICE, "register", parameter)), -7206, "case {position}");
    }
    assert_eq!(code(world.send(BOB, "register", register(None, None, Some(reference.clone()), &[]))), -7206);

    world.send_cis8(Address::Account(ALICE), "revoke", id).unwrap();
    assert_eq!(code(world.send(ALICE, "register", register(None, None, Some(reference), &[]))), -7206);
}

#[test]
fn a_registry_told_of_a_cis8_registry_that_is_none_accepts_no_reference() {
    // Nothing there; and the CIS-8004 registry itself (index 1), which has no ownerOfKey.
    for index in [99, 1] {
        let told = ContractAddress { index, subindex: 0 };
        let mut world = World::with_cis8(Some(told));
        let reference = cis8_reference(told, &solana_id(&solana_key(1)));
        assert_eq!(code(world.send(ALICE, "register", register(None, None, Some(reference), &[]))), -7206);
        world.register_bare(ALICE);
    }
}

#[test]
fn the_parameter_of_a_real_set_external_reference_parses() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("../vectors/parameters.json")).unwrap();
    let case = cases["cases"].as_array().unwrap().iter().find(|case| case["name"] == "setExternalReference").unwrap();
    let parameter = hex::decode(case["hex"].as_str().unwrap()).unwrap();
    // It names token 287, which is not here: the answer is about the agent, so every byte before was understood.
    assert_eq!(code(World::new().send(ALICE, "setExternalReference", parameter.clone())), -7200);
    assert_eq!(code(World::new().send(ALICE, "setExternalReference", parameter[..parameter.len() - 1].to_vec())), i32::MIN + 2);
}
