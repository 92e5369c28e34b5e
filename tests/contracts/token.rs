//! The agent as a CIS-2 token, and what the registry says it is.

use concordium_smart_contract_testing::{AccountAddress, Address};

use crate::{
    layout::{account, concat, contract, register, revoke, some, token, transfer, Record},
    world::{code, World, ADMIN, ALICE, BOB, START},
};

const URI: &str = "https://example.org/agent-card.json";
const HASH: [u8; 32] = [0x5a; 32];

fn balance(world: &World, id: u64, owner: AccountAddress) -> Vec<u8> {
    world.ask("balanceOf", concat(&[&1u16.to_le_bytes(), &token(id), &account(owner)])).unwrap()
}

fn update_operator(add: bool, operator: &[u8]) -> Vec<u8> {
    concat(&[&1u16.to_le_bytes(), &[u8::from(add)], operator])
}

fn is_operator(world: &World, owner: AccountAddress, operator: &[u8]) -> bool {
    let answer = world.ask("operatorOf", concat(&[&1u16.to_le_bytes(), &account(owner), operator])).unwrap();
    assert_eq!(answer[..2], 1u16.to_le_bytes());
    answer[2] == 1
}

#[test]
fn the_owner_has_a_balance_of_one_and_everyone_else_of_zero() {
    let mut world = World::new();
    world.register_bare(ALICE);
    assert_eq!(balance(&world, 0, ALICE), [1, 0, 1]);
    assert_eq!(balance(&world, 0, BOB), [1, 0, 0]);
    let of_contract = concat(&[&1u16.to_le_bytes(), &token(0), &[1], &contract(world.cis8)]);
    assert_eq!(world.ask("balanceOf", of_contract).unwrap(), [1, 0, 0]);
    world.send(ALICE, "revoke", revoke(0, None)).unwrap();
    assert_eq!(balance(&world, 0, ALICE), [1, 0, 1]);
}

#[test]
fn cis2_queries_about_a_missing_token_are_invalid_token_id() {
    let mut world = World::new();
    let one = 1u16.to_le_bytes();
    assert_eq!(code(world.ask("balanceOf", concat(&[&one, &token(0), &account(ALICE)]))), -42000001);
    assert_eq!(code(world.ask("tokenMetadata", concat(&[&one, &token(0)]))), -42000001);
    assert_eq!(code(world.send(ALICE, "transfer", transfer(0, 1, &account(ALICE), BOB))), -42000001);
}

#[test]
fn token_metadata_is_the_card_and_its_hash() {
    let mut world = World::new();
    world.send(ALICE, "register", register(Some(URI), Some(HASH), None, &[])).unwrap();
    world.register_bare(ALICE);
    let answer = world.ask("tokenMetadata", concat(&[&2u16.to_le_bytes(), &token(0), &token(1)])).unwrap();
    let length = u16::try_from(URI.len()).unwrap().to_le_bytes();
    assert_eq!(answer, concat(&[&2u16.to_le_bytes(), &length, URI.as_bytes(), &some(&HASH), &[0, 0], &[0]]));
}

#[test]
fn a_transfer_changes_the_owner_and_clears_the_wallet_but_nothing_else() {
    let mut world = World::new();
    world.send(ALICE, "register", register(Some(URI), Some(HASH), None, &[("zone", b"eu")])).unwrap();
    world.wait(5);
    let events = world.send(ALICE, "transfer", transfer(0, 1, &account(ALICE), BOB)).unwrap().events;

    let transferred = concat(&[&[255], &token(0), &[1], &account(ALICE), &account(BOB)]);
    let reference = concat(&[&[242], &token(0), &[0]]);
    let wallet = concat(&[&[245], &token(0), &[0]]);
    assert_eq!(events, [transferred, reference, wallet]);
    let expected = Record {
        uri: Some(URI.into()),
        hash: Some(HASH),
        wallet: None,
        metadata: vec![("zone".into(), b"eu".to_vec())],
        ..Record::bare(0, BOB, START)
    };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
    assert_eq!((balance(&world, 0, ALICE), balance(&world, 0, BOB)), (vec![1, 0, 0], vec![1, 0, 1]));
    assert_eq!(code(world.send(ALICE, "revoke", revoke(0, None))), -7201);
    world.send(BOB, "revoke", revoke(0, None)).unwrap();
}

#[test]
fn a_stranger_cannot_transfer_and_an_operator_can_until_removed() {
    let mut world = World::new();
    world.register_bare(ALICE);
    world.register_bare(ALICE);
    assert_eq!(code(world.send(BOB, "transfer", transfer(0, 1, &account(ALICE), BOB))), -42000003);
    assert!(!is_operator(&world, ALICE, &account(BOB)));

    let events = world.send(ALICE, "updateOperator", update_operator(true, &account(BOB))).unwrap().events;
    assert_eq!(events, [concat(&[&[252], &[1], &account(ALICE), &account(BOB)])]);
    assert!(is_operator(&world, ALICE, &account(BOB)));
    assert!(!is_operator(&world, BOB, &account(ALICE)));
    world.send(BOB, "transfer", transfer(0, 1, &account(ALICE), ADMIN)).unwrap();

    world.send(ALICE, "updateOperator", update_operator(false, &account(BOB))).unwrap();
    assert!(!is_operator(&world, ALICE, &account(BOB)));
    assert_eq!(code(world.send(BOB, "transfer", transfer(1, 1, &account(ALICE), BOB))), -42000003);
}

#[test]
fn a_contract_can_be_an_operator_but_not_an_owner() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let sender = Address::Contract(world.cis8);
    let contract_address = concat(&[&[1], &contract(world.cis8)]);
    assert_eq!(code(world.send_as(sender, "transfer", transfer(0, 1, &account(ALICE), BOB))), -42000003);
    // A contract's own tokens: it may try, and has none.
    assert_eq!(code(world.send_as(sender, "transfer", transfer(0, 1, &contract_address, BOB))), -42000002);
    assert_eq!(code(world.send_as(sender, "updateOperator", update_operator(true, &account(BOB)))), -7201);

    world.send(ALICE, "updateOperator", update_operator(true, &contract_address)).unwrap();
    world.send_as(sender, "transfer", transfer(0, 1, &account(ALICE), BOB)).unwrap();
    assert_eq!(balance(&world, 0, BOB), [1, 0, 1]);

    let hook = concat(&[&5u16.to_le_bytes(), b"agent"]);
    let to_contract = concat(&[&1u16.to_le_bytes(), &token(0), &[1], &account(BOB), &contract_address, &hook, &[0, 0]]);
    assert_eq!(code(world.send(BOB, "transfer", to_contract)), -7203);
}

#[test]
fn a_transfer_of_more_than_there_is_is_insufficient_funds() {
    let mut world = World::new();
    world.register_bare(ALICE);
    assert_eq!(code(world.send(ALICE, "transfer", transfer(0, 2, &account(ALICE), BOB))), -42000002);
    assert_eq!(code(world.send(BOB, "transfer", transfer(0, 1, &account(BOB), ALICE))), -42000002);
}

#[test]
fn a_transfer_of_zero_is_logged_and_changes_nothing() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let events = world.send(BOB, "transfer", transfer(0, 0, &account(BOB), ALICE)).unwrap().events;
    assert_eq!(events, [concat(&[&[255], &token(0), &[0], &account(BOB), &account(ALICE)])]);
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), Record::bare(0, ALICE, START).answer());
}

#[test]
fn one_refused_transfer_undoes_the_others_of_its_call() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let good = transfer(0, 1, &account(ALICE), BOB)[2..].to_vec();
    let bad = transfer(9, 1, &account(ALICE), BOB)[2..].to_vec();
    assert_eq!(code(world.send(ALICE, "transfer", concat(&[&2u16.to_le_bytes(), &good, &bad]))), -42000001);
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), Record::bare(0, ALICE, START).answer());
}

#[test]
fn aliases_of_an_account_are_the_account() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let alias = |address: AccountAddress| {
        let mut bytes = address.0;
        bytes[29..].copy_from_slice(&[1, 2, 3]);
        AccountAddress(bytes)
    };
    assert_eq!(balance(&world, 0, alias(ALICE)), [1, 0, 1]);
    world.send(ALICE, "updateOperator", update_operator(true, &account(alias(BOB)))).unwrap();
    assert!(is_operator(&world, alias(ALICE), &account(BOB)));
    world.send(BOB, "transfer", transfer(0, 1, &account(alias(ALICE)), alias(BOB))).unwrap();
    assert_eq!(balance(&world, 0, BOB), [1, 0, 1]);
    world.send(BOB, "revoke", revoke(0, None)).unwrap();
}

#[test]
fn the_registry_supports_cis0_cis2_and_cis8004_only() {
    let world = World::new();
    let names = ["CIS-0", "CIS-2", "CIS-8004", "CIS-8", "CIS-1", "cis-2"];
    let answer = world.ask("supports", standards(&names)).unwrap();
    assert_eq!(answer, [6, 0, 1, 1, 1, 0, 0, 0]);
}

/// The parameter of `supports`: a 2-byte count, then names with 1-byte lengths.
pub(crate) fn standards(names: &[&str]) -> Vec<u8> {
    let mut out = u16::try_from(names.len()).unwrap().to_le_bytes().to_vec();
    for name in names {
        out.push(u8::try_from(name.len()).unwrap());
        out.extend(name.as_bytes());
    }
    out
}

#[test]
fn an_error_is_named_by_the_value_it_is_rejected_with() {
    let mut world = World::new();
    world.register_bare(ALICE);
    // Variant 4 of the contract's error is Unauthorized; in CIS-2 entry points it is inside variant 3, Custom.
    assert_eq!(world.send(BOB, "revoke", revoke(0, None)).unwrap_err().value, [4]);
    let sender = Address::Contract(world.cis8);
    let refused = world.send_as(sender, "updateOperator", update_operator(true, &account(BOB))).unwrap_err();
    assert_eq!(refused.value, [3, 4]);
    let names = crate::modules::error_names("revoke");
    assert_eq!(names[4], "Unauthorized");
}
