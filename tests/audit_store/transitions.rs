//! What counts as a change, and how often it is told.

use cardproof::audit::TransitionKind as Kind;
use cardproof::identity::TokenId;
use cardproof::registry::AgentStatus;
use cardproof::verify::Reason;

use super::stage::{agent, digest, kinds, on_both, patient, scope, settings, Agent, Stage};

on_both! {
    the_first_run_brings_no_news
    every_kind_of_change_has_its_transition
    c_26_a_card_changed_after_minting_is_told_once
    c_67_a_flapping_host_raises_no_alarm
    undecided_runs_are_told_after_as_many_as_allowed
    a_first_decision_that_is_a_mismatch_is_told
    an_undecided_run_in_between_does_not_start_the_count_again
    a_lower_agent_outside_of_earlier_selections_is_not_new
    what_changed_is_found_again
    a_mismatch_after_nothing_to_compare_is_told_as_one_and_so_is_its_repair
    a_first_run_that_could_read_nothing_makes_nobody_new
    an_agent_registered_before_the_last_run_is_not_new_and_one_registered_after_it_is
}

async fn the_first_run_brings_no_news(stage: Stage) {
    let first = vec![agent(0).matching(), agent(1).mismatching(), agent(2).undecided(), agent(3).missing()];
    assert_eq!(kinds(&stage.run(first, &settings()).await), []);
}

async fn every_kind_of_change_has_its_transition(stage: Stage) {
    let before = (0..8).map(|id| agent(id).matching()).collect();
    stage.run(before, &patient(1, 1)).await;
    let after = vec![
        agent(0).mismatching(),
        agent(1).undecided(),
        Agent { anchored: Some("new card"), body: Some("new card"), ..agent(2) }.matching(),
        Agent { uri: Some("ipfs://bafy".into()), ..agent(3) }.matching(),
        Agent { owner: 2, ..agent(4) }.matching(),
        Agent { status: AgentStatus::Revoked, ..agent(5) }.matching(),
        agent(6).missing(),
        agent(7).matching(),
        agent(8).mismatching(),
    ];
    let outcomes = stage.run(after, &patient(1, 1)).await;
    let told: Vec<_> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.transitions)
        .map(|t| (t.token_id.0, t.kind, t.before.clone(), t.after.clone()))
        .collect();
    let owner = |byte| Some(cardproof::identity::AccountAddress([byte; 32]).to_string());
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        (0, Kind::MatchToMismatch, text("match"), text("mismatch")),
        (1, Kind::ToUndecided, text("match"), text("timeout")),
        (2, Kind::HashReanchored, Some(digest("card").to_string()), Some(digest("new card").to_string())),
        (3, Kind::UriChanged, text("https://cards.example/3"), text("ipfs://bafy")),
        (4, Kind::OwnerChanged, owner(1), owner(2)),
        (5, Kind::Revoked, text("active"), text("revoked")),
        (6, Kind::Vanished, text("match"), None),
        (8, Kind::New, None, text("mismatch")),
    ];
    assert_eq!(told, expected);
    let back = vec![agent(0).matching(), agent(1).matching(), agent(6).matching()];
    let back = stage.run(back, &patient(1, 1)).await;
    assert_eq!(kinds(&back), [Kind::MismatchToMatch, Kind::FromUndecided, Kind::New]);
}

async fn c_26_a_card_changed_after_minting_is_told_once(stage: Stage) {
    let mut told = Vec::new();
    stage.run(vec![agent(5).at(1000).matching()], &settings()).await;
    for run in 2..=5 {
        told.extend(kinds(&stage.run(vec![agent(5).at(run * 1000).mismatching()], &settings()).await));
    }
    assert_eq!(told, [Kind::MatchToMismatch]);
    let memory = stage.store.history(&scope(), TokenId(5)).await.unwrap().unwrap().memory;
    assert_eq!((memory.since.0, memory.consecutive), (2000, 4));
    assert_eq!((memory.first_seen.0, memory.last_seen.0), (1000, 5000));
    assert_eq!(memory.last_match.map(|at| at.0), Some(1000));
    assert_eq!(memory.reason, Reason::HashMismatch);
}

async fn c_67_a_flapping_host_raises_no_alarm(stage: Stage) {
    let patience = patient(2, 3);
    for run in 0..10 {
        let verdict = if run % 2 == 0 { agent(0).matching() } else { agent(0).mismatching() };
        assert_eq!(kinds(&stage.run(vec![verdict], &patience).await), [], "run {run}");
    }
    assert_eq!(kinds(&stage.run(vec![agent(0).mismatching()], &patience).await), [Kind::MatchToMismatch]);
    assert_eq!(kinds(&stage.run(vec![agent(0).matching()], &patience).await), []);
    assert_eq!(kinds(&stage.run(vec![agent(0).matching()], &patience).await), [Kind::MismatchToMatch]);
}

async fn undecided_runs_are_told_after_as_many_as_allowed(stage: Stage) {
    let patience = patient(1, 3);
    stage.run(vec![agent(0).matching()], &patience).await;
    for _ in 0..2 {
        assert_eq!(kinds(&stage.run(vec![agent(0).undecided()], &patience).await), []);
    }
    assert_eq!(kinds(&stage.run(vec![agent(0).unread()], &patience).await), [Kind::ToUndecided]);
    assert_eq!(kinds(&stage.run(vec![agent(0).undecided()], &patience).await), []);
    // What came of it is told together with the end of not knowing.
    let decided = stage.run(vec![agent(0).mismatching()], &patience).await;
    assert_eq!(kinds(&decided), [Kind::FromUndecided, Kind::MatchToMismatch]);
}

async fn an_undecided_run_in_between_does_not_start_the_count_again(stage: Stage) {
    let patience = patient(2, 5);
    stage.run(vec![agent(0).matching()], &patience).await;
    for verdict in [agent(0).mismatching(), agent(0).undecided()] {
        assert_eq!(kinds(&stage.run(vec![verdict], &patience).await), []);
    }
    assert_eq!(kinds(&stage.run(vec![agent(0).mismatching()], &patience).await), [Kind::MatchToMismatch]);
}

async fn a_lower_agent_outside_of_earlier_selections_is_not_new(stage: Stage) {
    stage.run(vec![agent(3).matching(), agent(4).missing(), agent(u64::MAX - 1).matching()], &settings()).await;
    let second = vec![agent(1).matching(), agent(4).matching(), agent(u64::MAX).matching()];
    let outcomes = stage.run(second, &settings()).await;
    let new: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.transitions).map(|t| (t.token_id.0, t.kind)).collect();
    assert_eq!(new, [(4, Kind::New), (u64::MAX, Kind::New)]);
}

async fn what_changed_is_found_again(stage: Stage) {
    stage.run(vec![agent(0).at(1000).matching(), agent(1).at(1000).matching()], &settings()).await;
    let second = stage.run(vec![agent(0).at(2000).mismatching(), agent(1).at(2000).matching()], &settings()).await;
    let third = stage.run(vec![agent(0).at(3000).mismatching(), agent(1).at(3000).mismatching()], &settings()).await;
    let changes = |outcomes: &[cardproof::audit::AuditOutcome]| -> Vec<_> {
        outcomes.iter().flat_map(|outcome| outcome.transitions.clone()).collect()
    };
    let store = &stage.store;
    assert_eq!(store.diff(&scope(), None).await.unwrap(), changes(&third));
    let since = async |at| store.diff(&scope(), Some(cardproof::registry::Timestamp(at))).await.unwrap();
    assert_eq!(since(2000).await, [changes(&second), changes(&third)].concat());
    assert_eq!(since(3001).await, []);
    assert_eq!(store.history(&scope(), TokenId(0)).await.unwrap().unwrap().transitions, changes(&second));
}

async fn a_first_decision_that_is_a_mismatch_is_told(stage: Stage) {
    stage.run((0..4).map(|id| agent(id).undecided()).collect(), &patient(2, 3)).await;
    let mixed = vec![agent(0).mismatching(), agent(1).matching(), agent(2).mismatching(), agent(3).undecided()];
    assert_eq!(kinds(&stage.run(mixed, &patient(2, 3)).await), [], "patience holds for the first decision, too");
    let decided = vec![agent(0).mismatching(), agent(1).matching(), agent(2).matching(), agent(3).undecided()];
    let told = stage.run(decided, &patient(2, 3)).await;
    assert_eq!(kinds(&told), [Kind::FromUndecided, Kind::ToUndecided]);
    assert_eq!(told[0].transitions[0].after.as_deref(), Some("mismatch"));
    let after = vec![agent(0).mismatching(), agent(3).mismatching()];
    assert_eq!(kinds(&stage.run(after, &patient(2, 3)).await), [Kind::FromUndecided], "once each");
    assert_eq!(kinds(&stage.run(vec![agent(0).mismatching(), agent(3).mismatching()], &patient(2, 3)).await), []);
}

async fn a_mismatch_after_nothing_to_compare_is_told_as_one_and_so_is_its_repair(stage: Stage) {
    let unanchored = || Agent { anchored: None, reason: Reason::NoHashOnChain, ..agent(0) }.verdict();
    stage.run(vec![unanchored()], &settings()).await;
    let told = stage.run(vec![agent(0).mismatching()], &settings()).await;
    assert_eq!(kinds(&told), [Kind::HashReanchored, Kind::AbsentToMismatch]);
    let change = &told[0].transitions[1];
    assert_eq!((change.before.as_deref(), change.after.as_deref()), (Some("absent"), Some("mismatch")));
    assert_eq!(kinds(&stage.run(vec![agent(0).mismatching()], &settings()).await), [], "once");
    assert_eq!(kinds(&stage.run(vec![agent(0).matching()], &settings()).await), [Kind::MismatchToMatch]);
    // A mismatch that was cleared away and comes back is one again; a match that does so, is none any more.
    for (before, back) in [(agent(0).mismatching(), Kind::AbsentToMismatch), (agent(0).matching(), Kind::MatchToMismatch)] {
        stage.run(vec![before], &settings()).await;
        stage.run(vec![unanchored()], &settings()).await;
        assert_eq!(kinds(&stage.run(vec![agent(0).mismatching()], &settings()).await), [Kind::HashReanchored, back]);
    }
    // Patience holds for it, too.
    stage.run(vec![unanchored()], &patient(2, 3)).await;
    stage.run(vec![unanchored()], &patient(2, 3)).await;
    assert_eq!(kinds(&stage.run(vec![agent(0).mismatching()], &patient(2, 3)).await), [Kind::HashReanchored]);
    assert_eq!(kinds(&stage.run(vec![agent(0).mismatching()], &patient(2, 3)).await), [Kind::AbsentToMismatch]);
    // Whom the registry has only now, is new as a whole.
    stage.run(vec![agent(7).missing()], &settings()).await;
    assert_eq!(kinds(&stage.run(vec![agent(7).mismatching()], &settings()).await), [Kind::New]);
}

async fn a_first_run_that_could_read_nothing_makes_nobody_new(stage: Stage) {
    let down = stage.begin_at(None).await;
    stage.store.record(&down, vec![agent(0).unread(), agent(1).unread()], &settings()).await.unwrap();
    stage.store.finish_run(&down).await.unwrap();
    // A node that was asked for its block and then froze has read nothing either.
    assert_eq!(kinds(&stage.run(vec![agent(0).unread(), agent(1).unread()], &settings()).await), []);
    let registered = |id| Agent { registered_at: Some(2000), ..agent(id) };
    let first = vec![registered(0).matching(), registered(1).mismatching(), registered(2).matching()];
    assert_eq!(kinds(&stage.run(first, &settings()).await), [], "this is where reports begin");
    assert_eq!(kinds(&stage.run(vec![registered(1).matching()], &settings()).await), [Kind::MismatchToMatch]);
}

async fn an_agent_registered_before_the_last_run_is_not_new_and_one_registered_after_it_is(stage: Stage) {
    let (run, later) = (crate::stage::block(1000).time.0, crate::stage::block(1001).time.0);
    let registered = |id, at| Agent { registered_at: Some(at), ..agent(id) };
    stage.run(vec![registered(2, 5).matching()], &settings()).await;
    let wider = vec![registered(60, 5).mismatching(), registered(61, run).matching(), registered(62, later).mismatching()];
    let told = stage.run([vec![registered(2, 5).matching()], wider].concat(), &settings()).await;
    let new: Vec<_> = told.iter().flat_map(|outcome| &outcome.transitions).map(|t| (t.token_id.0, t.kind)).collect();
    assert_eq!(new, [(62, Kind::New)]);
    // One that nobody could read when it was there already, is told as new and as nothing else.
    stage.run(vec![agent(63).unread()], &settings()).await;
    assert_eq!(kinds(&stage.run(vec![registered(63, later).mismatching()], &settings()).await), [Kind::New]);
}
