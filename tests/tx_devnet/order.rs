//! What is on its way is waited for before anything is read; what changes while somebody thinks about it is noticed.

use std::path::PathBuf;
use std::time::Duration;

use cardproof::anchor::flow::{AnchorRequest, Attendant, Card, Context, FlowError, RegisterRequest, Review, Step, UriChoice};
use cardproof::anchor::journal::Journal;
use cardproof::anchor::{AnchorError, Choices};
use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::identity::TokenId;
use cardproof::registry::parameter::{Revoke, SetAgentUri};

use crate::world::{Person, World};

const URI: &str = "https://cards.example/agent-card.json";
const OTHER: &str = "https://cards.example/other.json";

/// A chain whose transactions are on their way for a while.
async fn slow() -> World {
    let delay = Duration::from_millis(300);
    World::built(Devnet::builder().commit_delay(delay).finality_delay(delay)).await
}

fn request(agent: TokenId, card: &[u8], uri: UriChoice) -> AnchorRequest {
    AnchorRequest { agent, card: Card::Local(card.to_vec()), uri, check_url: true }
}

/// Sends a call as `--no-wait` does.
async fn sent_without_waiting(world: &World, call: cardproof::anchor::Call) {
    let context = Context { wait: None, ..world.context() };
    let mut person = Person::saying(true);
    let signer = world.signer(1);
    let sent = cardproof::anchor::flow::execute(&context, call, vec![], &signer, &mut person, &mut |_| Ok(())).await.unwrap();
    assert!(!sent.status.state.is_final());
}

fn set(agent: TokenId, uri: &str, card: &[u8]) -> SetAgentUri {
    SetAgentUri { token_id: agent, agent_uri: Some(uri.into()), metadata_hash: Some(Sha256Digest::of(card)) }
}

fn flow_error(error: AnchorError) -> FlowError {
    match error {
        AnchorError::Flow(error) => error,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn what_is_about_to_be_replaced_is_not_called_anchored_already() {
    let world = slow().await;
    let agent = world.agent(1, URI, Some(b"right")).await;
    sent_without_waiting(&world, world.call(&set(agent, URI, b"wrong"))).await;
    world.host.serve(URI, b"right".as_slice());
    let done = world.anchor(1, &request(agent, b"right", UriChoice::Set(URI.into())), &mut Person::saying(true)).await.unwrap();
    assert!(done.status.unwrap().is_success(), "it was sent, for it was needed");
    assert_eq!(world.record(agent).await.metadata_hash, Some(Sha256Digest::of(b"right")));
}

#[tokio::test]
async fn the_uri_that_is_kept_is_the_one_that_was_on_its_way() {
    let world = slow().await;
    let agent = world.agent(1, URI, Some(b"one")).await;
    sent_without_waiting(&world, world.call(&set(agent, OTHER, b"two"))).await;
    // Only the new URI serves the card.
    world.host.serve(OTHER, b"three".as_slice());
    let done = world.anchor(1, &request(agent, b"three", UriChoice::Keep), &mut Person::saying(true)).await.unwrap();
    assert_eq!(done.uri, OTHER);
    let record = world.record(agent).await;
    assert_eq!((record.agent_uri.as_deref(), record.metadata_hash), (Some(OTHER), Some(Sha256Digest::of(b"three"))));
}

#[tokio::test]
async fn a_revocation_on_its_way_costs_no_second_fee() {
    let world = slow().await;
    let agent = world.agent(1, URI, Some(b"one")).await;
    world.host.serve(URI, b"two".as_slice());
    sent_without_waiting(&world, world.call(&Revoke { token_id: agent, reason: None })).await;
    let refused = world.anchor(1, &request(agent, b"two", UriChoice::Keep), &mut Person::saying(true)).await.unwrap_err();
    assert!(matches!(flow_error(refused), FlowError::AgentRevoked(_)));
    assert_eq!(world.sent_by(1).await, 2);
}

#[tokio::test]
async fn a_revocation_at_the_same_time_costs_no_second_fee() {
    let world = slow().await;
    let agent = world.agent(1, URI, Some(b"one")).await;
    world.host.serve(URI, b"two".as_slice());
    let (mut first, mut second) = (Person::saying(true), Person::saying(true));
    let revoke = world.execute(1, world.call(&Revoke { token_id: agent, reason: None }), &mut first);
    let wanted = request(agent, b"two", UriChoice::Keep);
    let (revoked, anchored) = tokio::join!(revoke, world.anchor(1, &wanted, &mut second));
    assert!(revoked.unwrap().status.is_success());
    if let Err(refused) = anchored {
        assert!(matches!(flow_error(refused), FlowError::AgentRevoked(_)));
        assert_eq!(world.sent_by(1).await, 2);
    } else {
        assert_eq!(world.sent_by(1).await, 3, "the anchoring was first, and both went through");
    }
}

#[tokio::test]
async fn the_nonce_that_is_shown_is_the_one_that_is_signed() {
    let world = slow().await;
    let run = async |number: usize| {
        let request = RegisterRequest {
            card: None,
            uri: format!("https://cards.example/{number}"),
            metadata: vec![],
            check_url: false,
            allow_duplicate: false,
        };
        let (mut person, mut signed) = (Person::saying(true), None);
        let mut keep = |transaction: &cardproof::anchor::SignedTransaction| {
            signed = Some(transaction.transaction.clone());
            Ok(())
        };
        let (context, signer) = (world.context(), world.signer(1));
        cardproof::anchor::flow::register(&context, &request, &signer, &mut person, &mut keep).await.unwrap();
        (person.reviews.remove(0).transaction, signed.unwrap())
    };
    let runs = tokio::join!(run(1), run(2), run(3));
    let mut nonces = Vec::new();
    for (shown, signed) in [runs.0, runs.1, runs.2] {
        assert_eq!(shown, signed);
        nonces.push(signed.nonce());
    }
    nonces.sort_unstable();
    assert_eq!(nonces, [1, 2, 3]);
}

/// Says yes after a while, in which something happens.
struct Thinker<'a> {
    meanwhile: &'a (dyn Fn() + Sync),
}

impl Attendant for Thinker<'_> {
    fn step(&mut self, _: &Step) {}

    fn confirm(&mut self, _: &Review) -> bool {
        (self.meanwhile)();
        std::thread::sleep(Duration::from_millis(1100));
        true
    }
}

#[tokio::test]
async fn a_card_that_changes_while_the_question_stands_is_not_anchored_in_its_old_form() {
    let world = World::new().await;
    let agent = world.agent(1, URI, Some(b"old")).await;
    world.host.serve(URI, b"new".as_slice());
    let path: PathBuf = world.state.path().join("card.json");
    std::fs::write(&path, b"new").unwrap();
    let card = Card::File { path: path.clone(), bytes: b"new".to_vec() };
    let request = AnchorRequest { card, ..request(agent, b"", UriChoice::Keep) };

    let edit = || std::fs::write(&path, b"newer").unwrap();
    let refused = world.anchor(1, &request, &mut Thinker { meanwhile: &edit }).await.unwrap_err();
    let FlowError::Changed(what) = flow_error(refused) else { panic!() };
    assert!(what.contains("card.json"), "{what}");
    std::fs::write(&path, b"new").unwrap();
    let remove = || std::fs::remove_file(&path).unwrap();
    let refused = world.anchor(1, &request, &mut Thinker { meanwhile: &remove }).await.unwrap_err();
    assert!(matches!(flow_error(refused), FlowError::Changed(_)));
    std::fs::write(&path, b"new").unwrap();
    let publish = || world.host.serve(URI, b"newer".as_slice());
    let refused = world.anchor(1, &request, &mut Thinker { meanwhile: &publish }).await.unwrap_err();
    let FlowError::Changed(what) = flow_error(refused) else { panic!() };
    assert!(what.contains(URI), "{what}");
    let registering = RegisterRequest {
        card: Some(request.card.clone()),
        uri: OTHER.into(),
        metadata: vec![],
        check_url: true,
        allow_duplicate: false,
    };
    world.host.serve(OTHER, b"new".as_slice());
    let refused = world.register(1, &registering, &mut Thinker { meanwhile: &edit }).await.unwrap_err();
    assert!(matches!(flow_error(refused), FlowError::Changed(_)));
    assert_eq!(world.sent_by(1).await, 1, "nothing was sent");
    // What did not change is anchored, however long it took.
    std::fs::write(&path, b"new").unwrap();
    world.host.serve(URI, b"new".as_slice());
    world.anchor(1, &request, &mut Thinker { meanwhile: &|| {} }).await.unwrap();
    assert_eq!(world.record(agent).await.metadata_hash, Some(Sha256Digest::of(b"new")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_goes_on_while_the_question_stands_is_looked_at_again() {
    let world = World::new().await;
    let agent = world.agent(1, URI, Some(b"old")).await;
    world.host.serve(URI, b"new".as_slice());
    // Another machine of the same owner: no journal of ours knows of it.
    let elsewhere = |call: cardproof::anchor::Call| {
        let world = &world;
        move || {
            let sent = async {
                let plan = world.plan(1, call.clone(), &Choices::default()).await.unwrap();
                let signed = world.sign(1, plan.transaction).await;
                world.chain.send(&signed.block_item()).await.unwrap();
                tokio::time::sleep(Duration::from_millis(300)).await;
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(sent));
        }
    };
    let moved = elsewhere(world.call(&set(agent, OTHER, b"another")));
    let wanted = request(agent, b"new", UriChoice::Keep);
    let refused = world.anchor(1, &wanted, &mut Thinker { meanwhile: &moved }).await.unwrap_err();
    assert!(matches!(flow_error(refused), FlowError::Changed(_)));
    let wanted = request(agent, b"new", UriChoice::Set(URI.into()));
    let revoked = elsewhere(world.call(&Revoke { token_id: agent, reason: None }));
    let refused = world.anchor(1, &wanted, &mut Thinker { meanwhile: &revoked }).await.unwrap_err();
    assert!(matches!(flow_error(refused), FlowError::AgentRevoked(_)));
    assert_eq!(world.sent_by(1).await, 3, "the other machine's, and nothing else");
}

#[tokio::test]
async fn an_expiry_that_passes_while_the_question_stands_is_told() {
    let world = World::new().await;
    let agent = world.agent(1, URI, Some(b"old")).await;
    let context = Context { choices: Choices { lifetime: Some(1), ..Choices::default() }, ..world.context() };
    let call = world.call(&set(agent, URI, b"new"));
    let mut signed = 0;
    let mut count = |_: &cardproof::anchor::SignedTransaction| {
        signed += 1;
        Ok(())
    };
    let mut person = Thinker { meanwhile: &|| std::thread::sleep(Duration::from_millis(1000)) };
    let signer = world.signer(1);
    let refused = cardproof::anchor::flow::execute(&context, call, vec![], &signer, &mut person, &mut count).await.unwrap_err();
    assert!(matches!(refused, AnchorError::Expired(_)), "{refused}");
    assert_eq!(signed, 0);
}

/// Takes the journal away as soon as a node has the transaction: as a full disk would.
struct Saboteur {
    journal: PathBuf,
    notes: Vec<String>,
}

impl Attendant for Saboteur {
    fn step(&mut self, step: &Step) {
        if let Step::Sent(_) = step {
            std::fs::remove_file(&self.journal).unwrap();
            std::fs::create_dir(&self.journal).unwrap();
        }
        if let Step::Note(note) = step {
            self.notes.push(note.clone());
        }
    }

    fn confirm(&mut self, _: &Review) -> bool {
        true
    }
}

#[tokio::test]
async fn a_journal_that_fails_after_sending_does_not_hide_what_came_of_it() {
    let world = slow().await;
    let request = RegisterRequest { card: None, uri: URI.into(), metadata: vec![], check_url: false, allow_duplicate: false };
    let journal = Journal::of(world.state.path(), &world.net.genesis_hash(), world.address(1)).path().to_owned();
    let mut person = Saboteur { journal, notes: vec![] };
    let status = world.register(1, &request, &mut person).await.unwrap().status;
    assert!(status.is_success() && status.token_id == Some(TokenId(0)));
    assert!(status.unrecorded.is_some_and(|why| why.contains("journal")));
}
