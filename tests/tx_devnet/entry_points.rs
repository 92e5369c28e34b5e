//! Every entry point that changes something, carried out.

use cardproof::anchor::{Signer, ToSign};
use cardproof::chain::AgentReader;
use cardproof::chain::AtBlock;
use cardproof::digest::Sha256Digest;
use cardproof::identity::TokenId;
use cardproof::registry::parameter::{self as wire, AccountSignatures, Parameter};
use cardproof::registry::{decode_agent_wallet_nonce, AgentStatus, ExternalReference, MetadataEntry, ReferenceKind, Timestamp};
use ed25519_dalek::{Signer as _, SigningKey};

use crate::world::World;

/// A Solana key that an account can bind.
pub(crate) fn solana_key(seed: u8) -> (SigningKey, wire::ExternalKeyId) {
    let key = SigningKey::from_bytes(&[seed; 32]);
    let public_key = key.verifying_key().to_bytes().to_vec();
    (key, wire::ExternalKeyId { namespace: "solana:main".into(), key_type: "ed25519".into(), public_key })
}

/// Binds the key to the account, with the key's own consent.
pub(crate) fn binding(world: &World, account: usize, seed: u8) -> wire::RegisterExternalKey {
    let (key, external_key) = solana_key(seed);
    let scheme = "solana-ed25519";
    let genesis = world.net.genesis_hash();
    let message = wire::key_binding_message(
        &world.address(account),
        world.net.cis8(),
        &genesis,
        &external_key.namespace,
        &external_key,
        scheme,
    );
    let proof = wire::KeyProof { scheme: scheme.into(), signature: key.sign(&message).to_bytes().to_vec() };
    wire::RegisterExternalKey { external_key, proof, metadata: vec![] }
}

pub(crate) fn reference(world: &World, seed: u8) -> ExternalReference {
    let (_, wire::ExternalKeyId { namespace, key_type, public_key }) = solana_key(seed);
    ExternalReference { contract_address: world.net.cis8(), kind: ReferenceKind::Cis8 { namespace, key_type, public_key } }
}

/// Makes `wallet` the agent's wallet, with that account's signature over the message.
pub(crate) async fn wallet_change(
    world: &World,
    owner: usize,
    agent: TokenId,
    wallet: usize,
    deadline: Timestamp,
) -> wire::SetAgentWallet {
    let block = world.chain.pin(AtBlock::LastFinalized).await.unwrap();
    let parameter = wire::GetAgentWalletNonce(agent).to_bytes().unwrap();
    let answer = world.chain.view(&block, world.net.registry(), "CIS-8004", "getAgentWalletNonce", parameter).await.unwrap();
    let nonce = decode_agent_wallet_nonce(&answer).unwrap();
    let (owner, new_wallet) = (world.address(owner), world.address(wallet));
    let genesis = world.net.genesis_hash();
    let message = wire::set_agent_wallet_message(agent, &owner, &new_wallet, nonce, deadline, world.net.registry(), &genesis);
    let signatures = world.signer(wallet).sign(ToSign::Message(&message)).await.unwrap();
    wire::SetAgentWallet { token_id: agent, new_wallet, deadline, signatures: AccountSignatures(signatures.0) }
}

#[tokio::test]
async fn a_registered_agent_has_what_it_was_given() {
    let world = World::new().await;
    let parameter = wire::Register {
        agent_uri: Some("https://a.example/card.json".into()),
        metadata_hash: Some(Sha256Digest::of(b"card")),
        external_reference: None,
        initial_metadata: vec![MetadataEntry { key: "kind".into(), value: b"bot".to_vec() }],
    };
    let status = world.perform(1, &parameter).await;
    let record = world.record(status.token_id.unwrap()).await;
    assert_eq!(record.owner_account, world.address(1));
    assert_eq!((record.agent_uri, record.metadata_hash), (parameter.agent_uri, parameter.metadata_hash));
    assert_eq!(record.on_chain_metadata, parameter.initial_metadata);
    let json = status.to_json(&world.chain, None);
    let names: Vec<_> = json["events"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["Mint", "Registered"]);
    assert_eq!(
        (json["state"].as_str(), json["outcome"].as_str(), json["token_id"].as_str()),
        (Some("finalized"), Some("success"), Some("0"))
    );
}

#[tokio::test]
async fn the_other_changes_of_an_agent_are_carried_out() {
    let world = World::new().await;
    let agent = world.agent(1, "https://a.example/card.json", Some(b"one")).await;
    let set_uri = wire::SetAgentUri {
        token_id: agent,
        agent_uri: Some("https://b.example/card.json".into()),
        metadata_hash: Some(Sha256Digest::of(b"two")),
    };
    world.perform(1, &set_uri).await;
    let record = world.record(agent).await;
    assert_eq!((record.agent_uri, record.metadata_hash), (set_uri.agent_uri, set_uri.metadata_hash));

    let metadata = wire::SetMetadata { token_id: agent, key: "k".into(), value: vec![0, 255] };
    world.perform(1, &metadata).await;
    assert_eq!(world.record(agent).await.on_chain_metadata, [MetadataEntry { key: "k".into(), value: vec![0, 255] }]);

    let deadline = Timestamp((world.now() + 600) * 1000);
    world.perform(1, &wallet_change(&world, 1, agent, 2, deadline).await).await;
    assert_eq!(world.record(agent).await.agent_wallet, Some(world.address(2)));

    let operators = wire::UpdateOperators(vec![wire::UpdateOperator {
        update: wire::OperatorChange::Add,
        operator: wire::Address::Account(world.address(3)),
    }]);
    world.perform(1, &operators).await;
    // The operator, and not the owner, transfers.
    world.perform(3, &transfer(&world, agent, 1, 4)).await;
    assert_eq!(world.record(agent).await.owner_account, world.address(4));

    let status = world.perform(4, &wire::Revoke { token_id: agent, reason: Some("done".into()) }).await;
    assert_eq!(status.token_id, Some(agent));
    let record = world.record(agent).await;
    assert_eq!((record.status, record.revocation_reason), (AgentStatus::Revoked, Some("done".into())));
}

pub(crate) fn transfer(world: &World, agent: TokenId, from: usize, to: usize) -> wire::Transfers {
    wire::Transfers(vec![wire::Transfer {
        token_id: agent,
        amount: wire::TokenAmount(1),
        from: wire::Address::Account(world.address(from)),
        to: wire::Receiver::Account(world.address(to)),
        data: wire::AdditionalData::default(),
    }])
}

#[tokio::test]
async fn an_external_key_is_bound_referred_to_and_given_up() {
    let world = World::new().await;
    let bound = world.perform(1, &binding(&world, 1, 7)).await;
    assert_eq!(bound.to_json(&world.chain, None)["events"][0]["name"], "ExternalKeyRegistered");
    let agent = world.agent(1, "https://a.example/card.json", None).await;
    let reference = reference(&world, 7);
    world.perform(1, &wire::SetExternalReference { token_id: agent, external_reference: Some(reference.clone()) }).await;
    assert_eq!(world.record(agent).await.external_reference, Some(reference));
    world.perform(1, &wire::SetExternalReference { token_id: agent, external_reference: None }).await;
    assert_eq!(world.record(agent).await.external_reference, None);

    let (_, external_key) = solana_key(7);
    let metadata = vec![wire::KeyMetadataEntry { key: "a".into(), value: "b".into() }];
    let updated = world.perform(1, &wire::UpdateKeyMetadata { external_key: external_key.clone(), metadata }).await;
    assert_eq!(updated.to_json(&world.chain, None)["events"][0]["name"], "UpdateMetadata");
    let revoked = world.perform(1, &wire::RevokeKey { external_key }).await;
    assert_eq!(revoked.to_json(&world.chain, None)["events"][0]["name"], "ExternalKeyRevoked");
}

#[tokio::test]
async fn the_longest_uri_is_taken_and_estimated() {
    let world = World::new().await;
    let uri = format!("https://a.example/{}", "x".repeat(4096 - 18));
    assert_eq!(uri.len(), 4096);
    let agent = world.agent(1, &uri, None).await;
    assert_eq!(world.record(agent).await.agent_uri, Some(uri));
}

#[tokio::test]
async fn a_multi_signature_account_signs_with_several_people() {
    let world = World::new().await;
    // Account 9: two of three keys of one credential.
    let status = world.perform(9, &wire::Register { agent_uri: Some("https://m.example/c".into()), ..Default::default() }).await;
    assert_eq!(world.record(status.token_id.unwrap()).await.owner_account, world.address(9));
}

/// All that change something are tried above; the list is the codec's, so a new one is not forgotten.
#[test]
fn no_entry_point_is_forgotten() {
    let changing: Vec<_> = wire::EntryPoint::ALL.iter().filter(|entry_point| !crate::world::is_view(**entry_point)).collect();
    assert_eq!(changing.len(), 11, "{changing:?}");
}
