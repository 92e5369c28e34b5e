//! Every rejection of the contracts, by the dry run and on the chain, with its name (faults C-72 and C-73).

use cardproof::anchor::{AnchorError, Call, Choices, Energy, State};
use cardproof::identity::{ContractAddress, TokenId};
use cardproof::registry::parameter::{self as wire, Parameter};
use cardproof::registry::{ExternalReference, MetadataEntry, Timestamp};

use crate::entry_points::{binding, reference, solana_key, transfer, wallet_change};
use crate::world::World;

/// The dry run refuses it by this name and sends nothing; sent all the same, it is rejected on the chain by the same name.
async fn rejected(world: &World, account: usize, call: Call, name: &str, code: i32) {
    let sent = world.sent_by(account).await;
    let refused = world.plan(account, call.clone(), &Choices::default()).await.unwrap_err();
    let AnchorError::WouldBeRejected { code: by_dry_run, name: named, .. } = &refused else { panic!("{name}: {refused}") };
    assert_eq!((*by_dry_run, *named), (Some(code), Some(name)), "{refused}");
    let text = refused.to_string();
    assert!(text.contains(name) && text.contains(&code.to_string()) && text.contains("nothing was sent"), "{text}");
    assert_eq!(world.sent_by(account).await, sent, "{name}: nothing was sent");

    let status = world.force(account, call, Energy::Execution(50_000)).await;
    assert_eq!(status.state, State::Finalized);
    let json = status.to_json(&world.chain, None);
    assert_eq!((json["outcome"].as_str(), json["reject"]["name"].as_str()), (Some("rejected"), Some(name)));
    assert_eq!(json["reject"]["code"], code, "{name}");
    assert_eq!(world.sent_by(account).await, sent + 1);
}

async fn rejects<P: Parameter>(world: &World, account: usize, parameter: &P, name: &str, code: i32) {
    rejected(world, account, world.call(parameter), name, code).await;
}

fn revoke(token_id: TokenId) -> wire::Revoke {
    wire::Revoke { token_id, reason: None }
}

#[tokio::test]
async fn rejections_about_agents_have_their_names() {
    let world = World::new().await;
    let agent = world.agent(1, "https://a.example/card.json", None).await;
    rejects(&world, 1, &revoke(TokenId(99)), "AgentNotFound", -7200).await;
    rejects(&world, 2, &revoke(agent), "Unauthorized", -7201).await;
    let reserved = wire::SetMetadata { token_id: agent, key: "agentWallet".into(), value: vec![] };
    rejects(&world, 1, &reserved, "ReservedKey", -7211).await;
    let long = wire::SetAgentUri { token_id: agent, agent_uri: Some("x".repeat(4097)), metadata_hash: None };
    rejects(&world, 1, &long, "InvalidMetadata", -7208).await;
    let twice = MetadataEntry { key: "k".into(), value: vec![] };
    let twice = wire::Register { initial_metadata: vec![twice.clone(), twice], ..wire::Register::default() };
    rejects(&world, 1, &twice, "InvalidMetadata", -7208).await;
    world.perform(1, &revoke(agent)).await;
    let uri = wire::SetAgentUri { token_id: agent, agent_uri: None, metadata_hash: None };
    rejects(&world, 1, &uri, "AgentRevoked", -7202).await;
}

#[tokio::test]
async fn rejections_of_transfers_have_their_names() {
    let world = World::new().await;
    let agent = world.agent(1, "https://a.example/card.json", None).await;
    rejects(&world, 1, &transfer(&world, TokenId(99), 1, 2), "InvalidTokenId", -42_000_001).await;
    rejects(&world, 2, &transfer(&world, agent, 1, 2), "Unauthorized", -42_000_003).await;
    rejects(&world, 2, &transfer(&world, agent, 2, 3), "InsufficientFunds", -42_000_002).await;
    let mut to_contract = transfer(&world, agent, 1, 2);
    to_contract.0[0].to = wire::Receiver::Contract(world.net.cis8(), "take".into());
    rejects(&world, 1, &to_contract, "InvalidReceiver", -7203).await;
}

#[tokio::test]
async fn rejections_of_wallets_have_their_names() {
    let world = World::new().await;
    let agent = world.agent(1, "https://a.example/card.json", None).await;
    let later = Timestamp((world.now() + 600) * 1000);
    let mut by_another = wallet_change(&world, 1, agent, 2, later).await;
    by_another.new_wallet = world.address(3);
    rejects(&world, 1, &by_another, "InvalidAgentWalletProof", -7212).await;
    let too_late = wallet_change(&world, 1, agent, 2, Timestamp(1000)).await;
    rejects(&world, 1, &too_late, "AgentWalletDeadlinePassed", -7213).await;
}

#[tokio::test]
async fn rejections_of_references_have_their_names() {
    let world = World::new().await;
    world.perform(1, &binding(&world, 1, 7)).await;
    let (first, second) = (world.agent(1, "https://a.example/1", None).await, world.agent(1, "https://a.example/2", None).await);
    let set =
        |token_id, reference: Option<ExternalReference>| wire::SetExternalReference { token_id, external_reference: reference };
    world.perform(1, &set(first, Some(reference(&world, 7)))).await;
    rejects(&world, 1, &set(second, Some(reference(&world, 7))), "ExternalReferenceTaken", -7204).await;
    rejects(&world, 1, &set(second, Some(reference(&world, 8))), "InvalidExternalReference", -7206).await;
    let elsewhere = ExternalReference { contract_address: ContractAddress::new(7777, 0), ..reference(&world, 7) };
    rejects(&world, 1, &set(second, Some(elsewhere)), "InvalidExternalReference", -7206).await;
}

#[tokio::test]
async fn rejections_of_the_key_registry_have_their_names() {
    let world = World::new().await;
    let good = binding(&world, 1, 7);
    rejects(&world, 2, &good, "InvalidProof", -7100).await;
    let mut scheme = good.clone();
    scheme.proof.scheme = "cosmos-secp256k1".into();
    rejects(&world, 1, &scheme, "UnsupportedProofScheme", -7101).await;
    let mut short = good.clone();
    short.external_key.public_key.pop();
    rejects(&world, 1, &short, "MalformedExternalKey", -7102).await;
    let mut kind = good.clone();
    kind.external_key.key_type = "rsa".into();
    rejects(&world, 1, &kind, "UnsupportedKeyType", -7107).await;
    let entry = wire::KeyMetadataEntry { key: "k".into(), value: "v".into() };
    let twice = wire::RegisterExternalKey { metadata: vec![entry.clone(), entry], ..good.clone() };
    rejects(&world, 1, &twice, "InvalidMetadata", -7108).await;
    let (_, external_key) = solana_key(7);
    rejects(&world, 1, &wire::RevokeKey { external_key: external_key.clone() }, "NotRegistered", -7105).await;
    world.perform(1, &good).await;
    rejects(&world, 1, &good, "AlreadyRegistered", -7104).await;
    rejects(&world, 2, &wire::RevokeKey { external_key }, "Unauthorized", -7103).await;
}

#[tokio::test]
async fn what_the_chain_itself_rejects_has_a_name_too() {
    let world = World::new().await;
    let registry = world.net.registry();
    let call = |contract, receive_name: &str, parameter: &[u8]| Call {
        contract,
        receive_name: receive_name.into(),
        parameter: parameter.to_vec(),
    };
    rejected(&world, 1, call(registry, "CIS-8004.register", &[9]), "ParseError", -2_147_483_646).await;

    let unknown = call(registry, "CIS-8004.noSuchEntryPoint", &[]);
    let status = world.force(1, unknown, Energy::Execution(5000)).await;
    assert_eq!(status.to_json(&world.chain, None)["reject"]["name"], "InvalidReceiveMethod");
    let nowhere = call(ContractAddress::new(7777, 0), "CIS-8004.register", &[]);
    let status = world.force(1, nowhere, Energy::Execution(5000)).await;
    assert_eq!(status.to_json(&world.chain, None)["reject"]["name"], "InvalidContractAddress");
}

#[tokio::test]
async fn c_72_running_out_of_energy_is_foreseen_and_named() {
    let world = World::new().await;
    let call = world.call(&wire::Register { agent_uri: Some("https://a.example/c".into()), ..wire::Register::default() });
    let too_little = Energy::Execution(300);
    let choices = Choices { energy: Some(too_little), ..Choices::default() };
    let refused = world.plan(1, call.clone(), &choices).await.unwrap_err();
    let AnchorError::OutOfEnergy { needed, allowed } = refused else { panic!("{refused}") };
    assert!(needed > allowed);
    let choices = Choices { energy: Some(Energy::Total(needed)), ..Choices::default() };
    assert!(world.plan(1, call.clone(), &choices).await.is_ok(), "what the sentence asks for is enough");
    let status = world.force(1, call.clone(), too_little).await;
    let json = status.to_json(&world.chain, None);
    assert_eq!((json["outcome"].as_str(), json["reject"]["name"].as_str()), (Some("rejected"), Some("OutOfEnergy")));
    assert_eq!(json["reject"]["code"], serde_json::Value::Null);
    let status = world.force(1, call, Energy::Total(needed)).await;
    assert!(status.is_success(), "exactly what the dry run used is enough: {:?}", status.rejection_words());
}
