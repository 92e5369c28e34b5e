//! What is refused before it is on the chain: nonces, funds, expiry, networks, signatures.

use std::time::Duration;

use cardproof::anchor::flow::{execute, Context};
use cardproof::anchor::journal::{Journal, JournalState};
use cardproof::anchor::keys::{AccountSigner, KeyFile};
use cardproof::anchor::{
    follow, plan, status, AnchorError, Choices, Document, Energy, Session, Signatures, SignedTransaction, Signer, State, ToSign,
    Transaction,
};
use cardproof::chain::ChainErrorKind;
use cardproof::devnet::{AccountSpec, Devnet};
use cardproof::identity::{Network, TESTNET};
use cardproof::registry::parameter::Register;

use crate::world::{client, Person, World};

fn register(uri: &str) -> Register {
    Register { agent_uri: Some(uri.into()), ..Register::default() }
}

/// A transaction of account 1 with this nonce that expires in `seconds`.
fn with_nonce(world: &World, nonce: u64, seconds: u64, uri: &str) -> Transaction {
    let call = world.call(&register(uri));
    Transaction::new(call, world.address(1), nonce, world.now() + seconds, Energy::Execution(20_000), 1).unwrap()
}

#[tokio::test]
async fn c_75_a_used_nonce_and_one_that_leaves_a_gap_are_refused() {
    let world = World::new().await;
    world.agent(1, "https://a.example/1", None).await;
    let session = Session::open(&world.chain, world.state.path(), world.address(1)).await.unwrap();
    assert_eq!(session.nonce(None).await.unwrap(), 2);
    assert_eq!(session.nonce(Some(2)).await.unwrap(), 2);
    assert!(matches!(session.nonce(Some(1)).await, Err(AnchorError::NonceUsed { nonce: 1, next: 2, .. })));
    assert!(matches!(session.nonce(Some(4)).await, Err(AnchorError::NonceGap { nonce: 4, next: 2, .. })));
    drop(session);
    // Sent all the same, the node says no, and the journal knows that nothing is on its way.
    let refused = world.send(1, with_nonce(&world, 1, 600, "https://a.example/2")).await.unwrap_err();
    assert!(matches!(refused, AnchorError::Refused { .. }), "{refused}");
    let entries = Journal::of(world.state.path(), &world.net.genesis_hash(), world.address(1)).entries().unwrap();
    assert_eq!(entries.last().unwrap().state, JournalState::Refused);
}

#[tokio::test]
async fn c_75_transactions_of_others_make_the_nonce_a_guess() {
    let world = World::built(Devnet::builder().manual()).await;
    // Sent without our journal, as another program would.
    let foreign = world.sign(1, with_nonce(&world, 1, 600, "https://a.example/1")).await;
    world.chain.send(&foreign.block_item()).await.unwrap();
    let session = Session::open(&world.chain, world.state.path(), world.address(1)).await.unwrap();
    let impatient = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(61)).await;
        tokio::time::resume();
    };
    let (guessed, ()) = tokio::join!(session.nonce(None), impatient);
    assert!(matches!(guessed, Err(AnchorError::Pending { next: 2, .. })), "a minute is enough");
    assert_eq!(session.nonce(Some(2)).await.unwrap(), 2, "chosen on purpose, it is taken");
    let later = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.net.advance().await.unwrap();
    };
    let (nonce, ()) = tokio::join!(session.nonce(None), later);
    assert_eq!(nonce.unwrap(), 2, "it is waited for");
}

#[tokio::test]
async fn our_own_transactions_on_their_way_are_waited_for() {
    let world = World::built(Devnet::builder().manual()).await;
    let first = world.sign(1, with_nonce(&world, 1, 600, "https://a.example/1")).await;
    let session = Session::open(&world.chain, world.state.path(), world.address(1)).await.unwrap();
    session.send(&first).await.unwrap();
    let later = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.net.advance().await.unwrap();
    };
    let (nonce, ()) = tokio::join!(session.nonce(None), later);
    assert_eq!(nonce.unwrap(), 2);
}

#[tokio::test]
async fn runs_of_one_account_at_the_same_time_do_not_collide() {
    let world = World::new().await;
    let run = async |number: usize| {
        let call = world.call(&register(&format!("https://a.example/{number}")));
        world.execute(1, call, &mut Person::saying(true)).await.unwrap().status
    };
    let statuses = tokio::join!(run(1), run(2), run(3), run(4));
    for status in [&statuses.0, &statuses.1, &statuses.2, &statuses.3] {
        assert!(status.is_success(), "{:?}", status.rejection_words());
    }
    assert_eq!((world.agents().await, world.sent_by(1).await), (4, 4));
}

#[tokio::test]
async fn what_may_still_be_carried_out_is_not_signed_again() {
    let world = World::built(Devnet::builder().manual()).await;
    let first = world.sign(1, with_nonce(&world, 1, 600, "https://a.example/1")).await;
    let session = Session::open(&world.chain, world.state.path(), world.address(1)).await.unwrap();
    session.send(&first).await.unwrap();
    drop(session);
    let refused = world.execute(1, world.call(&register("https://a.example/1")), &mut Person::saying(true)).await.unwrap_err();
    assert!(matches!(&refused, AnchorError::Repeated { hash, .. } if *hash == first.hash()), "{refused}");
    world.net.advance().await.unwrap();
    assert_eq!(world.agents().await, 1);
}

#[tokio::test]
async fn a_transaction_past_its_expiry_is_refused_and_told_to_be_expired() {
    let world = World::built(Devnet::builder().manual()).await;
    let expired = with_nonce(&world, 1, 0, "https://a.example/1");
    assert!(matches!(world.send(1, expired).await, Err(AnchorError::Expired(_))));
    let choices = Choices { expiry: Some(world.now() - 1), ..Choices::default() };
    let call = world.call(&register("https://a.example/1"));
    assert!(matches!(world.plan(1, call, &choices).await, Err(AnchorError::Expired(_))));

    // Signed and written down, never sent: as if the machine had stopped in between.
    let signed = world.sign(1, with_nonce(&world, 1, 1, "https://a.example/1")).await;
    let session = Session::open(&world.chain, world.state.path(), world.address(1)).await.unwrap();
    session.record(&signed).unwrap();
    drop(session);
    let expiry = Some(signed.transaction.expiry());
    let known = status(&world.chain, signed.hash(), expiry).await.unwrap();
    assert_eq!(known.state, State::Unknown, "before its expiry nobody can tell");
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(status(&world.chain, signed.hash(), expiry).await.unwrap().state, State::Unknown, "no block says how late it is");
    world.net.advance().await.unwrap();
    let followed = follow(&world.chain, world.state.path(), signed.hash(), expiry, None, &mut |_| {}).await.unwrap();
    assert_eq!(followed.state, State::Expired);
    let entries = Journal::of(world.state.path(), &world.net.genesis_hash(), world.address(1)).entries().unwrap();
    assert_eq!(entries.last().unwrap().state, JournalState::Expired);
}

#[tokio::test]
async fn an_account_that_cannot_pay_is_told_before_signing() {
    let world = World::built(Devnet::builder().accounts(vec![AccountSpec::simple(1_000_000_000), AccountSpec::simple(1)])).await;
    let call = world.call(&register("https://a.example/1"));
    let refused = world.plan(1, call, &Choices::default()).await.unwrap_err();
    assert!(matches!(refused, AnchorError::InsufficientFunds { available: 1, .. }), "{refused}");
    let refused = world.send(1, with_nonce(&world, 1, 600, "https://a.example/1")).await.unwrap_err();
    assert!(matches!(refused, AnchorError::Refused { .. }), "{refused}");
}

#[tokio::test]
async fn an_account_that_does_not_exist_is_told() {
    let world = World::new().await;
    let stranger = cardproof::identity::AccountAddress([9; 32]);
    let call = world.call(&register("https://a.example/1"));
    let refused = plan(&world.chain, call, stranger, None, &Choices::default()).await.unwrap_err();
    assert!(matches!(refused, AnchorError::NoSuchAccount { .. }), "{refused}");
}

#[tokio::test]
async fn c_76_the_wrong_network_is_refused_before_signing() {
    let world = World::new().await;
    let (signer, call) = (world.signer(1), world.call(&register("https://a.example/1")));
    let mut person = Person::saying(true);
    let context = Context { environment: Some("mainnet"), ..world.context() };
    let refused = execute(&context, call.clone(), vec![], &signer, &mut person, &mut |_| Ok(())).await.unwrap_err();
    assert!(matches!(refused, AnchorError::WalletNetwork { .. }), "{refused}");
    let testnet = client(&world.net, Network { genesis: TESTNET.genesis, ..world.net.network() });
    let context = Context { chain: &testnet, ..world.context() };
    let refused = execute(&context, call, vec![], &signer, &mut person, &mut |_| Ok(())).await.unwrap_err();
    assert!(matches!(&refused, AnchorError::Chain(error) if error.kind == ChainErrorKind::WrongNetwork), "{refused}");
    assert!(person.reviews.is_empty() && person.steps.is_empty());
    assert_eq!(world.sent_by(1).await, 0);
}

/// A signer of account 9, of which two of three keys must sign, with some of its keys.
fn partial(world: &World, pairs: &str) -> AccountSigner {
    let export = world.net.account(9).unwrap().wallet_export();
    let file = KeyFile::read(export.as_bytes(), &mut || panic!("it is not encrypted")).unwrap();
    file.signer(None, Some(&pairs.parse().unwrap())).unwrap()
}

#[tokio::test]
async fn several_people_sign_one_document() {
    let world = World::new().await;
    let call = world.call(&register("https://m.example/1"));
    let first = partial(&world, "0:0");
    let refused =
        execute(&world.context(), call.clone(), vec![], &first, &mut Person::saying(true), &mut |_| Ok(())).await.unwrap_err();
    assert!(matches!(refused, AnchorError::NotEnoughSignatures { given: 1, needed: 2 }), "{refused}");

    let planned = plan(&world.chain, call, first.address(), Some(&first.public_keys()), &Choices::default()).await.unwrap();
    assert_eq!(planned.signature_count, 2, "the account's threshold, not this signer's share");
    let mut document = Document {
        network: "devnet".into(),
        genesis: world.net.genesis_hash(),
        transaction: planned.transaction,
        signature_count: planned.signature_count,
        estimate: Some(planned.estimate),
        signatures: Signatures::default(),
    };
    for pairs in ["0:0", "0:2"] {
        assert!(document.signed().is_none());
        let signer = partial(&world, pairs);
        document.add_signatures(signer.sign(ToSign::Transaction(&document.transaction)).await.unwrap()).unwrap();
        document = Document::from_json(&document.to_json().unwrap()).unwrap();
    }
    let signed = document.signed().unwrap();
    let session = Session::open(&world.chain, world.state.path(), first.address()).await.unwrap();
    session.send(&signed).await.unwrap();
    let hash = signed.hash();
    let expiry = Some(signed.transaction.expiry());
    // The account is still held: what is found out is written down by the next one who holds it.
    let done = follow(&world.chain, world.state.path(), hash, expiry, Some(crate::world::WAIT), &mut |_| {}).await.unwrap();
    assert!(done.is_success(), "{:?}", done.rejection_words());
}

#[tokio::test]
async fn keys_of_another_account_sign_nothing() {
    let world = World::new().await;
    let call = world.call(&register("https://a.example/1"));
    let keys = world.signer(2).public_keys();
    let refused = plan(&world.chain, call, world.address(1), Some(&keys), &Choices::default()).await.unwrap_err();
    assert!(matches!(refused, AnchorError::ForeignKey { credential: 0, key: 0, .. }), "{refused}");
}

#[tokio::test]
async fn a_no_at_the_confirmation_signs_nothing() {
    let world = World::new().await;
    let mut person = Person::saying(false);
    let call = world.call(&register("https://a.example/1"));
    let mut signed = 0;
    let mut count = |_: &SignedTransaction| {
        signed += 1;
        Ok(())
    };
    let refused = execute(&world.context(), call, vec![], &world.signer(1), &mut person, &mut count).await.unwrap_err();
    assert!(matches!(refused, AnchorError::NotConfirmed));
    assert_eq!((signed, person.reviews.len(), world.sent_by(1).await), (0, 1, 0));
    let review = &person.reviews[0];
    assert_eq!((review.network.as_str(), review.sender), ("devnet", world.address(1)));
    assert!(review.energy > 0 && review.microccd > 0);
}
