//! The CIS-8 registry: keys of other chains and the accounts that hold them.

use concordium_smart_contract_testing::{AccountAddress, Address, ContractAddress};
use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest, Sha256};

use crate::{
    layout::{bytes, concat, entries, key_id, some, string},
    token::standards,
    world::{code, Outcome, World, ALICE, BOB, GENESIS, START},
};

/// The namespace the keys here are of.
pub(crate) const NAMESPACE: &str = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";

/// What an external key signs.
pub(crate) fn canonical(
    account: AccountAddress,
    registry: ContractAddress,
    genesis: [u8; 32],
    namespace: &str,
    key_id: &[u8],
    scheme: &str,
) -> Vec<u8> {
    concat(&[
        b"CIS-8/v1/canonical",
        &account.0,
        &registry.index.to_le_bytes(),
        &registry.subindex.to_le_bytes(),
        &genesis,
        &string(namespace),
        key_id,
        &string(scheme),
    ])
}

/// The parameter of `registerExternalKey`.
fn parameter(key_id: &[u8], scheme: &str, signature: &[u8], metadata: &[(&str, &[u8])]) -> Vec<u8> {
    concat(&[key_id, &string(scheme), &bytes(signature), &entries(metadata)])
}

/// An ed25519 key of the other chain.
pub(crate) fn solana_key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

/// Its identifier.
pub(crate) fn solana_id(key: &SigningKey) -> Vec<u8> {
    key_id(NAMESPACE, "ed25519", key.verifying_key().as_bytes())
}

/// Registers an ed25519 key for an account, with a good proof.
pub(crate) fn register(world: &mut World, owner: AccountAddress, key: &SigningKey) -> Outcome {
    let scheme = "solana-ed25519";
    let id = solana_id(key);
    let message = canonical(owner, world.cis8, GENESIS, NAMESPACE, &id, scheme);
    let parameter = parameter(&id, scheme, &key.sign(&message).to_bytes(), &[]);
    world.send_cis8(Address::Account(owner), "registerExternalKey", parameter)
}

fn registration(owner: AccountAddress, id: &[u8], metadata: &[(&str, &[u8])], status: u8, time: u64) -> Vec<u8> {
    some(&concat(&[&owner.0, id, &string("solana-ed25519"), &entries(metadata), &[status], &time.to_le_bytes()]))
}

#[test]
fn the_canonical_message_is_the_published_one() {
    let account = "4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7".parse().unwrap();
    let genesis = hex::decode("4221332d34e1694168c2a0c0b3fd0f273809612cb13d000d5c2e00e85f50f796").unwrap();
    let key = hex::decode("e9d34013c5d042e38e8f8c43f0d7e2c326eafe70b40647319d39ade5ea8c18ad").unwrap();
    let registry = ContractAddress { index: 12801, subindex: 0 };
    let id = key_id("xcf:phase5", "ed25519", &key);
    let message = canonical(account, registry, genesis.try_into().unwrap(), "xcf:phase5", &id, "fetch-ai-ed25519");
    assert_eq!(message.len(), 193);
    assert_eq!(hex::encode(Sha256::digest(&message)), "09d6e43e745b3aa4c1e3749416d2f58ed89d0634b78180aaaeb3c216865dc377");
}

#[test]
fn an_account_registers_a_key_that_signed_for_it() {
    for scheme in ["solana-ed25519", "fetch-ai-ed25519"] {
        let mut world = World::new();
        let key = solana_key(1);
        let id = solana_id(&key);
        assert_eq!(world.ask_cis8("ownerOfKey", id.clone()).unwrap(), [0]);

        let metadata: [(&str, &[u8]); 1] = [("label", b"mine")];
        let message = canonical(ALICE, world.cis8, GENESIS, NAMESPACE, &id, scheme);
        let parameter = parameter(&id, scheme, &key.sign(&message).to_bytes(), &metadata);
        let events = world.send_cis8(Address::Account(ALICE), "registerExternalKey", parameter).unwrap().events;
        assert_eq!(events, [concat(&[&[231], &ALICE.0, &id, &string(scheme), &entries(&metadata)])]);
        let expected = concat(&[&ALICE.0, &id, &string(scheme), &entries(&metadata), &[0], &START.to_le_bytes()]);
        assert_eq!(world.ask_cis8("ownerOfKey", id).unwrap(), some(&expected));
    }
}

#[test]
fn a_signature_for_anything_else_is_no_proof() {
    let mut world = World::new();
    let key = solana_key(1);
    let id = solana_id(&key);
    let (scheme, cis8) = ("solana-ed25519", world.cis8);
    let other_contract = ContractAddress { index: cis8.index + 1, ..cis8 };
    let wrong = [
        canonical(BOB, cis8, GENESIS, NAMESPACE, &id, scheme),
        canonical(ALICE, other_contract, GENESIS, NAMESPACE, &id, scheme),
        canonical(ALICE, cis8, [0; 32], NAMESPACE, &id, scheme),
        canonical(ALICE, cis8, GENESIS, "solana:other", &id, scheme),
        canonical(ALICE, cis8, GENESIS, NAMESPACE, &solana_id(&solana_key(2)), scheme),
        canonical(ALICE, cis8, GENESIS, NAMESPACE, &id, "fetch-ai-ed25519"),
    ];
    let mut send = |signature: &[u8]| {
        code(world.send_cis8(Address::Account(ALICE), "registerExternalKey", parameter(&id, scheme, signature, &[])))
    };
    for (position, message) in wrong.iter().enumerate() {
        assert_eq!(send(&key.sign(message).to_bytes()), -7100, "field {position}");
    }
    let right = canonical(ALICE, cis8, GENESIS, NAMESPACE, &id, scheme);
    assert_eq!(send(&solana_key(2).sign(&right).to_bytes()), -7100);
    assert_eq!(send(&key.sign(&right).to_bytes()[..63]), -7100);
    assert_eq!(send(&[]), -7100);
}

/// A case of `ethereum-proofs.json`: key identifier and signature.
fn ethereum_case(position: usize) -> (String, Vec<u8>, Vec<u8>) {
    let proofs: serde_json::Value = serde_json::from_str(include_str!("ethereum-proofs.json")).unwrap();
    let case = &proofs["cases"][position];
    let text = |field: &str| case[field].as_str().unwrap().to_owned();
    (text("key_type"), hex::decode(text("public_key")).unwrap(), hex::decode(text("signature")).unwrap())
}

#[test]
fn an_ethereum_key_proves_itself_with_a_personal_signature() {
    let scheme = "ethereum-personal-sign";
    for position in 0..2 {
        let mut world = World::new();
        assert_eq!(world.cis8, ContractAddress { index: 0, subindex: 0 }, "the proofs are for this contract");
        let (key_type, key, signature) = ethereum_case(position);
        let id = key_id("eip155:1", &key_type, &key);
        let mut send = |owner, signature: &[u8]| {
            world.send_cis8(Address::Account(owner), "registerExternalKey", parameter(&id, scheme, signature, &[]))
        };
        assert_eq!(code(send(BOB, &signature)), -7100);
        assert_eq!(code(send(ALICE, &signature[..64])), -7100);
        let mut no_recovery_id = signature.clone();
        no_recovery_id[64] = 29;
        assert_eq!(code(send(ALICE, &no_recovery_id)), -7100);
        let mut altered = signature.clone();
        altered[40] ^= 1;
        assert_eq!(code(send(ALICE, &altered)), -7100);

        let events = send(ALICE, &signature).unwrap().events;
        assert_eq!(events, [concat(&[&[231], &ALICE.0, &id, &string(scheme), &entries(&[])])]);
    }
}

#[test]
fn an_uncompressed_key_must_be_a_point_of_the_curve() {
    let mut world = World::new();
    let (key_type, key, signature) = ethereum_case(1);
    let off_curve = |change: usize| {
        let mut key = key.clone();
        key[change] ^= 2;
        key_id("eip155:1", &key_type, &key)
    };
    // The first byte, x, and y with its parity kept.
    for change in [0, 32, 64] {
        let parameter = parameter(&off_curve(change), "ethereum-personal-sign", &signature, &[]);
        assert_eq!(code(world.send_cis8(Address::Account(ALICE), "registerExternalKey", parameter)), -7102, "byte {change}");
    }
}

#[test]
fn schemes_and_key_types_that_are_not_known_or_do_not_match_are_refused() {
    let mut world = World::new();
    let compressed = concat(&[&[2], &[0x11; 32]]);
    let cases: [(&str, &[u8], &str, i32); 10] = [
        ("ed25519", &[1; 32], "cosmos-secp256k1", -7101),
        ("ed25519", &[1; 32], "no-such-scheme", -7101),
        ("ed25519", &[1; 32], "ethereum-personal-sign", -7101),
        ("secp256k1-compressed", &compressed, "solana-ed25519", -7101),
        ("ed448", &[1; 32], "solana-ed25519", -7107),
        ("ed25519", &[1; 31], "solana-ed25519", -7102),
        ("ed25519", &[1; 33], "solana-ed25519", -7102),
        ("secp256k1-compressed", &[4; 33], "ethereum-personal-sign", -7102),
        ("secp256k1-uncompressed", &[4; 65], "ethereum-personal-sign", -7102),
        ("secp256k1-uncompressed", &compressed, "ethereum-personal-sign", -7102),
    ];
    for (key_type, key, scheme, expected) in cases {
        let parameter = parameter(&key_id(NAMESPACE, key_type, key), scheme, &[0; 64], &[]);
        let outcome = world.send_cis8(Address::Account(ALICE), "registerExternalKey", parameter);
        assert_eq!(code(outcome), expected, "{key_type} {scheme}");
    }
    for namespace in [String::new(), "n".repeat(65)] {
        let parameter = parameter(&key_id(&namespace, "ed25519", &[1; 32]), "solana-ed25519", &[0; 64], &[]);
        assert_eq!(code(world.send_cis8(Address::Account(ALICE), "registerExternalKey", parameter)), -7102);
    }
}

#[test]
fn the_owner_cannot_register_again_while_active() {
    let mut world = World::new();
    register(&mut world, ALICE, &solana_key(1)).unwrap();
    assert_eq!(code(register(&mut world, ALICE, &solana_key(1))), -7104);
}

#[test]
fn whoever_holds_the_key_takes_it_over_and_the_old_owner_is_told_first() {
    let mut world = World::new();
    let key = solana_key(1);
    let id = solana_id(&key);
    register(&mut world, ALICE, &key).unwrap();
    world.wait(9);
    let events = register(&mut world, BOB, &key).unwrap().events;
    let revoked = concat(&[&[232], &ALICE.0, &id]);
    let registered = concat(&[&[231], &BOB.0, &id, &string("solana-ed25519"), &entries(&[])]);
    assert_eq!(events, [revoked, registered]);
    assert_eq!(world.ask_cis8("ownerOfKey", id.clone()).unwrap(), registration(BOB, &id, &[], 0, START + 9));
}

#[test]
fn a_revoked_key_is_still_returned_and_can_be_registered_again() {
    let mut world = World::new();
    let key = solana_key(1);
    let id = solana_id(&key);
    register(&mut world, ALICE, &key).unwrap();
    world.wait(9);
    assert_eq!(code(world.send_cis8(Address::Account(BOB), "revoke", id.clone())), -7103);
    let events = world.send_cis8(Address::Account(ALICE), "revoke", id.clone()).unwrap().events;
    assert_eq!(events, [concat(&[&[232], &ALICE.0, &id])]);
    assert_eq!(world.ask_cis8("ownerOfKey", id.clone()).unwrap(), registration(ALICE, &id, &[], 1, START + 9));
    assert_eq!(code(world.send_cis8(Address::Account(ALICE), "revoke", id.clone())), -7105);

    let events = register(&mut world, ALICE, &key).unwrap().events;
    assert_eq!(events.len(), 1, "nobody is displaced");
    assert_eq!(world.ask_cis8("ownerOfKey", id.clone()).unwrap(), registration(ALICE, &id, &[], 0, START + 9));
}

#[test]
fn only_the_active_owner_updates_metadata() {
    let mut world = World::new();
    let key = solana_key(1);
    let id = solana_id(&key);
    let update = |metadata: &[(&str, &[u8])]| concat(&[&id, &entries(metadata)]);
    assert_eq!(code(world.send_cis8(Address::Account(ALICE), "updateMetadata", update(&[]))), -7105);
    register(&mut world, ALICE, &key).unwrap();
    assert_eq!(code(world.send_cis8(Address::Account(BOB), "updateMetadata", update(&[]))), -7103);
    world.wait(9);

    let long: [(&str, &[u8]); 2] = [("label", b"a longer text"), ("more", b"yes")];
    let short: [(&str, &[u8]); 1] = [("label", b"b")];
    world.send_cis8(Address::Account(ALICE), "updateMetadata", update(&long)).unwrap();
    let events = world.send_cis8(Address::Account(ALICE), "updateMetadata", update(&short)).unwrap().events;
    assert_eq!(events, [concat(&[&[233], &ALICE.0, &id, &entries(&short)])]);
    assert_eq!(world.ask_cis8("ownerOfKey", id.clone()).unwrap(), registration(ALICE, &id, &short, 0, START + 9));

    world.send_cis8(Address::Account(ALICE), "revoke", id.clone()).unwrap();
    assert_eq!(code(world.send_cis8(Address::Account(ALICE), "updateMetadata", update(&[]))), -7105);
}

#[test]
fn metadata_has_limits_and_what_is_within_them_can_be_logged() {
    let mut world = World::new();
    // Nearly the largest event there can be: an Ethereum key and its scheme would add 54 bytes, to 478 of 512.
    let namespace = "n".repeat(64);
    let key = solana_key(1);
    let id = key_id(&namespace, "ed25519", key.verifying_key().as_bytes());
    let scheme = "fetch-ai-ed25519";
    let message = canonical(ALICE, world.cis8, GENESIS, &namespace, &id, scheme);
    let longest = vec![b'v'; 256 - 4 - 4 - 1 - 4];
    let proof = parameter(&id, scheme, &key.sign(&message).to_bytes(), &[("k", &longest)]);
    world.send_cis8(Address::Account(ALICE), "registerExternalKey", proof).unwrap();

    let too_long = vec![b'v'; longest.len() + 1];
    let bad: [&[(&str, &[u8])]; 3] = [&[("", b"x")], &[("k", &too_long)], &[("k", b"1"), ("k", b"2")]];
    for metadata in bad {
        let update = concat(&[&id, &entries(metadata)]);
        assert_eq!(code(world.send_cis8(Address::Account(ALICE), "updateMetadata", update)), -7108);
        let register = parameter(&id, scheme, &key.sign(&message).to_bytes(), metadata);
        assert_eq!(code(world.send_cis8(Address::Account(BOB), "registerExternalKey", register)), -7108);
    }
}

#[test]
fn a_contract_cannot_hold_a_key() {
    let mut world = World::new();
    register(&mut world, ALICE, &solana_key(1)).unwrap();
    let id = solana_id(&solana_key(1));
    let sender = Address::Contract(world.registry);
    let proof = parameter(&id, "solana-ed25519", &[0; 64], &[]);
    assert_eq!(code(world.send_cis8(sender, "registerExternalKey", proof)), -7103);
    assert_eq!(code(world.send_cis8(sender, "revoke", id.clone())), -7103);
    assert_eq!(code(world.send_cis8(sender, "updateMetadata", concat(&[&id, &entries(&[])]))), -7103);
}

#[test]
fn a_parameter_that_does_not_parse_is_a_parse_error() {
    let mut world = World::new();
    assert_eq!(code(world.ask_cis8("ownerOfKey", vec![1, 0])), i32::MIN + 2);
    assert_eq!(code(world.send_cis8(Address::Account(ALICE), "revoke", vec![])), i32::MIN + 2);
}

#[test]
fn the_registry_supports_cis0_and_cis8_only() {
    let world = World::new();
    assert_eq!(world.ask_cis8("supports", standards(&["CIS-8", "CIS-0", "CIS-2", "CIS-8004"])).unwrap(), [4, 0, 1, 1, 0, 0]);
}
