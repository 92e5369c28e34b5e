//! Making another account the agent's wallet.

use concordium_smart_contract_testing::{AccountAddress, ContractAddress, CredentialIndex, KeyIndex};

use crate::{
    layout::{account, concat, some, token, transfer, Record},
    world::{code, keys, World, ALICE, BOB, GENESIS, START},
};

/// All that a wallet signs.
struct Agreement {
    id: u64,
    owner: AccountAddress,
    wallet: AccountAddress,
    nonce: u64,
    deadline: u64,
    registry: ContractAddress,
    genesis: [u8; 32],
}

impl Agreement {
    /// Bob agrees to be the wallet of Alice's first agent.
    fn of(world: &World) -> Self {
        Agreement { id: 0, owner: ALICE, wallet: BOB, nonce: 0, deadline: START, registry: world.registry, genesis: GENESIS }
    }

    fn message(&self) -> Vec<u8> {
        let message = concat(&[
            b"CIS-8004/v1/setAgentWallet",
            &self.id.to_le_bytes(),
            &self.owner.0,
            &self.wallet.0,
            &self.nonce.to_le_bytes(),
            &self.deadline.to_le_bytes(),
            &self.registry.index.to_le_bytes(),
            &self.registry.subindex.to_le_bytes(),
            &self.genesis,
        ]);
        assert_eq!(message.len(), 162);
        message
    }

    fn signed_by(&self, signer: AccountAddress) -> Vec<u8> {
        self.with_signature_over(signer, &self.message())
    }

    /// The parameter of `setAgentWallet`, with a signature of some account over some message.
    fn with_signature_over(&self, signer: AccountAddress, message: &[u8]) -> Vec<u8> {
        let signature = &keys(signer).sign_data(message)[&CredentialIndex { index: 0 }][&KeyIndex(0)];
        // One credential, its index 0, one key, its index 0, scheme 0 (ed25519), 64 bytes.
        let signatures = concat(&[&[1, 0, 1, 0, 0], &signature.sig]);
        concat(&[&token(self.id), &self.wallet.0, &self.deadline.to_le_bytes(), &signatures])
    }
}

fn nonce(world: &World) -> Vec<u8> {
    world.ask("getAgentWalletNonce", token(0)).unwrap()
}

#[test]
fn an_account_that_signed_becomes_the_wallet() {
    let mut world = World::new();
    world.register_bare(ALICE);
    assert_eq!(world.ask("getAgentWallet", token(0)).unwrap(), some(&ALICE.0));
    assert_eq!(nonce(&world), 0u64.to_le_bytes());

    let parameter = Agreement::of(&world).signed_by(BOB);
    let events = world.send(ALICE, "setAgentWallet", parameter).unwrap().events;
    assert_eq!(events, [concat(&[&[245], &token(0), &some(&BOB.0)])]);
    assert_eq!(world.ask("getAgentWallet", token(0)).unwrap(), some(&BOB.0));
    assert_eq!(nonce(&world), 1u64.to_le_bytes());
    let expected = Record { wallet: Some(BOB), ..Record::bare(0, ALICE, START) };
    assert_eq!(world.ask("agentOf", token(0)).unwrap(), expected.answer());
}

#[test]
fn a_signature_works_once() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let parameter = Agreement::of(&world).signed_by(BOB);
    world.send(ALICE, "setAgentWallet", parameter.clone()).unwrap();
    assert_eq!(code(world.send(ALICE, "setAgentWallet", parameter)), -7212);
    let next = Agreement { nonce: 1, ..Agreement::of(&world) }.signed_by(BOB);
    world.send(ALICE, "setAgentWallet", next).unwrap();
}

#[test]
fn a_signature_counts_up_to_its_deadline_and_no_longer() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let parameter = Agreement { deadline: START + 10, ..Agreement::of(&world) }.signed_by(BOB);
    world.wait(11);
    assert_eq!(code(world.send(ALICE, "setAgentWallet", parameter)), -7213);
    let parameter = Agreement { deadline: START + 11, ..Agreement::of(&world) }.signed_by(BOB);
    world.send(ALICE, "setAgentWallet", parameter).unwrap();
}

#[test]
fn a_signature_for_anything_else_is_no_proof() {
    let mut world = World::new();
    world.register_bare(ALICE);
    world.register_bare(ALICE);
    let right = Agreement::of(&world);
    let other_contract = ContractAddress { index: right.registry.index + 1, ..right.registry };
    let wrong = [
        Agreement { id: 1, ..Agreement::of(&world) },
        Agreement { owner: BOB, ..Agreement::of(&world) },
        Agreement { wallet: ALICE, ..Agreement::of(&world) },
        Agreement { nonce: 1, ..Agreement::of(&world) },
        Agreement { deadline: START + 1, ..Agreement::of(&world) },
        Agreement { registry: other_contract, ..Agreement::of(&world) },
        Agreement { genesis: [0; 32], ..Agreement::of(&world) },
    ];
    for (position, other) in wrong.iter().enumerate() {
        let parameter = right.with_signature_over(BOB, &other.message());
        assert_eq!(code(world.send(ALICE, "setAgentWallet", parameter)), -7212, "field {position}");
    }
    world.send(ALICE, "setAgentWallet", right.signed_by(BOB)).unwrap();
}

#[test]
fn what_a_wallet_apps_sign_message_makes_is_no_proof() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let agreement = Agreement::of(&world);
    let wrapped = concat(&[&BOB.0, &[0; 8], &agreement.message()]);
    assert_eq!(code(world.send(ALICE, "setAgentWallet", agreement.with_signature_over(BOB, &wrapped))), -7212);
}

#[test]
fn the_new_wallet_itself_must_sign() {
    let mut world = World::new();
    world.register_bare(ALICE);
    assert_eq!(code(world.send(ALICE, "setAgentWallet", Agreement::of(&world).signed_by(ALICE))), -7212);
    let nobody = Agreement { wallet: AccountAddress([9; 32]), ..Agreement::of(&world) };
    assert_eq!(code(world.send(ALICE, "setAgentWallet", nobody.signed_by(BOB))), -7212);
    let unsigned = concat(&[&token(0), &BOB.0, &START.to_le_bytes(), &[0]]);
    assert_eq!(code(world.send(ALICE, "setAgentWallet", unsigned)), -7212);
}

#[test]
fn a_transfer_voids_the_signatures_made_before_it() {
    let mut world = World::new();
    world.register_bare(ALICE);
    let parameter = Agreement::of(&world).signed_by(BOB);
    world.send(ALICE, "transfer", transfer(0, 1, &account(ALICE), BOB)).unwrap();
    world.send(BOB, "transfer", transfer(0, 1, &account(BOB), ALICE)).unwrap();
    assert_eq!(world.ask("getAgentWallet", token(0)).unwrap(), [0]);
    assert_eq!(nonce(&world), 2u64.to_le_bytes());
    assert_eq!(code(world.send(ALICE, "setAgentWallet", parameter)), -7212);
}
