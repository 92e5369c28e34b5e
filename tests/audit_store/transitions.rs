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
