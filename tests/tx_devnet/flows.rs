//! Anchoring and registering, from the local file to the finalized transaction.

use std::time::Duration;

use cardproof::anchor::flow::{
    register, two_step, AnchorRequest, Attendant, Card, FlowError, RegisterRequest, Review, Step, TwoStepRequest, UriChoice,
};
use cardproof::anchor::{AnchorError, State};
use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::identity::{Badge, TokenId};
use cardproof::registry::parameter::Revoke;

use crate::world::{Host, Person, World};

const URI: &str = "https://cards.example/agent-card.json";
const CARD: &[u8] = b"{\"name\":\"agent\"}";

fn to_anchor(agent: TokenId, card: &[u8]) -> AnchorRequest {
    AnchorRequest { agent, card: Card::Local(card.to_vec()), uri: UriChoice::Keep, check_url: true }
}

fn to_register(card: &[u8]) -> RegisterRequest {
    RegisterRequest {
        card: Some(Card::Local(card.to_vec())),
        uri: URI.into(),
        metadata: vec![],
        check_url: true,
        allow_duplicate: false,
    }
}

fn flow_error(error: AnchorError) -> FlowError {
    match error {
        AnchorError::Flow(error) => error,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_new_card_is_anchored_and_the_change_is_shown() {
    let world = World::new().await;
    let agent = world.agent(1, URI, Some(b"old")).await;
    world.host.serve(URI, CARD);
    let mut person = Person::saying(true);
    let request = to_anchor(agent, CARD);
    let done = world.anchor(1, &request, &mut person).await.unwrap();
    assert!(done.status.unwrap().is_success());
    assert_eq!(world.record(agent).await.metadata_hash, Some(Sha256Digest::of(CARD)));
    let changes = &person.reviews[0].changes;
    let hash = changes.iter().find(|change| change.what == "SHA-256").unwrap();
    assert_eq!(hash.old, Some(Sha256Digest::of(b"old").to_string()));
    assert_eq!(hash.new, Some(Sha256Digest::of(CARD).to_string()));
    // Once more: nothing would change, so nothing is sent.
    let again = world.anchor(1, &request, &mut person).await.unwrap();
    assert!(again.status.is_none());
    assert_eq!(world.sent_by(1).await, 2);
}

#[tokio::test]
async fn c_03_a_local_card_that_differs_by_its_final_newline_is_not_anchored() {
    let world = World::new().await;
    let agent = world.agent(1, URI, Some(b"old")).await;
    world.host.serve(URI, [CARD, b"\n"].concat());
    let mut person = Person::saying(true);
    let refused = world.anchor(1, &to_anchor(agent, CARD), &mut person).await.unwrap_err();
    let FlowError::Differs(differs) = flow_error(refused) else { panic!() };
    assert_eq!(differs.first_difference, Some(CARD.len() as u64));
    let text = differs.to_string();
    assert!(text.contains(&Sha256Digest::of(CARD).to_string()) && text.contains(&differs.served.to_string()), "{text}");
    assert_eq!((person.reviews.len(), world.sent_by(1).await), (0, 1));

    let unchecked = AnchorRequest { check_url: false, ..to_anchor(agent, CARD) };
    let asked = world.host.asked();
    world.anchor(1, &unchecked, &mut person).await.unwrap();
    assert_eq!(world.host.asked(), asked, "--no-url-check asks nobody");
    assert_eq!(world.record(agent).await.metadata_hash, Some(Sha256Digest::of(CARD)));
}

#[tokio::test]
async fn c_16_register_refuses_what_the_uri_does_not_serve() {
    let world = World::new().await;
    let mut person = Person::saying(true);
    let missing = world.register(1, &to_register(CARD), &mut person).await;
    assert!(matches!(flow_error(missing.unwrap_err()), FlowError::Fetch { .. }));
    world.host.serve(URI, b"another card".as_slice());
    let other = world.register(1, &to_register(CARD), &mut person).await;
    assert!(matches!(flow_error(other.unwrap_err()), FlowError::Differs(_)));
    assert_eq!((person.reviews.len(), world.sent_by(1).await), (0, 0));
}

#[tokio::test]
async fn c_30_the_digest_is_taken_from_the_uri_only_on_the_users_word() {
    let world = World::new().await;
    let agent = world.agent(1, URI, Some(b"old")).await;
    world.host.serve(URI, b"what the host says".as_slice());
    let request = AnchorRequest { card: Card::TrustUrl, ..to_anchor(agent, CARD) };
    let mut person = Person::saying(true);
    let done = world.anchor(1, &request, &mut person).await.unwrap();
    assert_eq!(done.sha256, Sha256Digest::of(b"what the host says"));
    assert!(person.steps.iter().any(|step| step.contains("taken on trust")), "{:?}", person.steps);
}

#[tokio::test]
async fn agents_that_cannot_be_changed_are_told_before_any_fee() {
    let world = World::new().await;
    let agent = world.agent(1, URI, Some(b"old")).await;
    world.host.serve(URI, CARD);
    let try_as = async |account: usize, agent: TokenId| {
        flow_error(world.anchor(account, &to_anchor(agent, CARD), &mut Person::saying(true)).await.unwrap_err())
    };
    assert!(matches!(try_as(1, TokenId(77)).await, FlowError::AgentNotFound(TokenId(77))));
    let FlowError::NotOwner { owner, sender, .. } = try_as(2, agent).await else { panic!() };
    assert_eq!((owner, sender), (world.address(1), world.address(2)));
    world.perform(1, &Revoke { token_id: agent, reason: None }).await;
    assert!(matches!(try_as(1, agent).await, FlowError::AgentRevoked(_)));
    assert_eq!((world.sent_by(1).await, world.sent_by(2).await), (2, 0));
}

#[tokio::test]
async fn c_84_the_same_owner_and_uri_are_not_registered_twice() {
    let world = World::new().await;
    let mut person = Person::saying(true);
    world.host.serve(URI, CARD);
    let first = world.register(1, &to_register(CARD), &mut person).await.unwrap().status.token_id.unwrap();
    for number in 0..30 {
        world.agent(2, &format!("https://other.example/{number}"), None).await;
    }
    let again = world.register(1, &to_register(CARD), &mut person).await;
    let FlowError::Duplicate { agent, .. } = flow_error(again.unwrap_err()) else { panic!() };
    assert_eq!(agent, first);
    // Another owner may; and so may the same one who insists, or whose agents are revoked.
    assert!(world.register(3, &to_register(CARD), &mut person).await.unwrap().status.is_success());
    let insisting = RegisterRequest { allow_duplicate: true, ..to_register(CARD) };
    let second = world.register(1, &insisting, &mut person).await.unwrap().status.token_id.unwrap();
    for agent in [first, second] {
        world.perform(1, &Revoke { token_id: agent, reason: None }).await;
    }
    assert!(world.register(1, &to_register(CARD), &mut person).await.unwrap().status.is_success());
}

/// Hosts the filled card as soon as it is written, as a person would.
struct Publisher<'a> {
    host: &'a Host,
    steps: Vec<String>,
    publishes: bool,
}

impl Attendant for Publisher<'_> {
    fn step(&mut self, step: &Step) {
        if let (Step::Written(path), true) = (step, self.publishes) {
            self.host.serve(URI, std::fs::read(path).unwrap());
        }
        self.steps.push(step.to_string());
    }

    fn confirm(&mut self, _: &Review) -> bool {
        true
    }
}

const TEMPLATE: &[u8] = b"{\n  \"token\": \"{{badge}}\",\n  \"caip19\": \"{{caip19}}\"\n}\n";

fn two_steps(folder: &std::path::Path) -> TwoStepRequest {
    TwoStepRequest {
        template: TEMPLATE.to_vec(),
        uri: URI.into(),
        metadata: vec![],
        allow_duplicate: false,
        out: None,
        name_for_output: folder.join("card.json"),
        host_wait: Duration::ZERO,
    }
}

#[tokio::test]
async fn a_card_with_its_own_token_address_is_anchored_in_two_steps() {
    let world = World::new().await;
    let mut publisher = Publisher { host: &world.host, steps: vec![], publishes: true };
    let request = two_steps(world.state.path());
    let done = two_step(&world.context(), &request, &world.signer(1), &mut publisher).await.unwrap();
    let record = world.record(done.token_id).await;
    let card = std::fs::read(&done.file).unwrap();
    assert_eq!(record.metadata_hash, Some(Sha256Digest::of(&card)));
    let badge = Badge { contract: world.net.registry(), token_id: done.token_id };
    assert!(String::from_utf8(card).unwrap().contains(&format!("\"token\": \"{badge}\"")));
    assert_eq!((world.sent_by(1).await, world.agents().await), (2, 1));
    assert!(!world.state.path().join("two-step").join("x").exists());
}

#[tokio::test]
async fn two_steps_go_on_where_they_stopped() {
    let world = World::new().await;
    let request = two_steps(world.state.path());
    let mut publisher = Publisher { host: &world.host, steps: vec![], publishes: false };
    // Not hosted yet: it stops, twice, and registers once.
    for _ in 0..2 {
        let stopped = two_step(&world.context(), &request, &world.signer(1), &mut publisher).await.unwrap_err();
        let FlowError::NotHosted { file, .. } = flow_error(stopped) else { panic!() };
        assert!(file.ends_with("card.0.json"), "{}", file.display());
        assert_eq!((world.sent_by(1).await, world.agents().await), (1, 1));
    }
    // Hosted with one byte more: still not.
    let card = std::fs::read(world.state.path().join("card.0.json")).unwrap();
    world.host.serve(URI, [card.as_slice(), b"\n"].concat());
    let stopped = two_step(&world.context(), &request, &world.signer(1), &mut publisher).await.unwrap_err();
    assert!(matches!(flow_error(stopped), FlowError::NotHosted { .. }));
    world.host.serve(URI, card.clone());
    let done = two_step(&world.context(), &request, &world.signer(1), &mut publisher).await.unwrap();
    assert_eq!(world.record(done.token_id).await.metadata_hash, Some(Sha256Digest::of(&card)));
    assert_eq!((world.sent_by(1).await, world.agents().await), (2, 1));
}

#[tokio::test]
async fn two_steps_do_not_register_again_while_the_first_is_on_its_way() {
    let world = World::built(Devnet::builder().manual()).await;
    let request = two_steps(world.state.path());
    let mut publisher = Publisher { host: &world.host, steps: vec![], publishes: true };
    let mut context = world.context();
    context.wait = None;
    for _ in 0..3 {
        let stopped = two_step(&context, &request, &world.signer(1), &mut publisher).await.unwrap_err();
        assert!(matches!(flow_error(stopped), FlowError::StillPending { .. }));
    }
    world.net.advance().await.unwrap();
    assert_eq!(world.agents().await, 1);
    // The second transaction waits for its block too, and is followed, not sent again.
    for _ in 0..2 {
        let stopped = two_step(&context, &request, &world.signer(1), &mut publisher).await.unwrap_err();
        assert!(matches!(flow_error(stopped), FlowError::StillPending { .. }));
    }
    world.net.advance().await.unwrap();
    let done = two_step(&context, &request, &world.signer(1), &mut publisher).await.unwrap();
    assert_eq!((done.token_id, world.sent_by(1).await), (TokenId(0), 2));
}

#[tokio::test]
async fn a_card_that_cannot_be_filled_costs_nothing() {
    let world = World::new().await;
    let request = TwoStepRequest { template: CARD.to_vec(), ..two_steps(world.state.path()) };
    let stopped = two_step(&world.context(), &request, &world.signer(1), &mut Person::saying(true)).await.unwrap_err();
    assert!(matches!(flow_error(stopped), FlowError::Template(_)));
    assert_eq!(world.sent_by(1).await, 0);
}

#[tokio::test]
async fn a_transaction_is_told_at_every_stage() {
    let world =
        World::built(Devnet::builder().commit_delay(Duration::from_millis(300)).finality_delay(Duration::from_millis(600))).await;
    world.host.serve(URI, CARD);
    let mut person = Person::saying(true);
    let done = world.register(1, &to_register(CARD), &mut person).await.unwrap();
    assert_eq!(done.status.state, State::Finalized);
    for state in ["is received", "is committed", "is finalized"] {
        assert!(person.steps.iter().any(|step| step.ends_with(state)), "{state}: {:?}", person.steps);
    }
}

/// The futures must be such that a server can run them.
#[test]
fn flows_can_run_on_any_thread() {
    fn is_send<T: Send>(_: T) {}
    fn all(world: &World, person: &mut Person) {
        let (context, signer) = (world.context(), world.signer(1));
        let request = to_register(CARD);
        is_send(register(&context, &request, &signer, person, &mut |_| Ok(())));
    }
    let _ = all;
}
