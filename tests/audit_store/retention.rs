//! What is old is forgotten, and what is needed is kept.

use std::time::Duration;

use cardproof::audit::store::{Forgotten, RecordSettings, SinkKey, Waiting};
use cardproof::audit::RunScope;
use cardproof::digest::Sha256Digest;
use cardproof::identity::{ContractAddress, TokenId};

use super::stage::{agent, digest, on_both, scope, settings, Agent, Stage};

on_both! {
    old_runs_are_forgotten_and_agents_are_not
    what_a_sink_has_still_to_take_is_kept
    nothing_is_kept_for_a_sink_that_is_not_configured_any_more
}

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn old_runs_are_forgotten_and_agents_are_not(stage: Stage) {
    stage.run(vec![agent(0).at(1000).matching(), agent(1).at(1000).matching()], &settings()).await;
    let moved = Agent { anchored: Some("new card"), body: Some("new card"), ..agent(0) };
    stage.run(vec![moved.at(2000).matching()], &settings()).await;
    stage.run(vec![agent(1).at(3000).matching()], &settings()).await;
    tokio::time::sleep(Duration::from_millis(5)).await;

    // The runs themselves began just now.
    let forgotten = stage.store.forget(DAY, &[]).await.unwrap();
    assert_eq!(forgotten, Forgotten { runs: 0, results: 0, transitions: 1, bodies: 1 });
    let forgotten = stage.store.forget(Duration::ZERO, &[]).await.unwrap();
    assert_eq!(forgotten, Forgotten { runs: 2, results: 3, transitions: 0, bodies: 0 });
    assert_eq!(stage.store.runs(&scope()).await.unwrap().len(), 1);
    assert_eq!(stage.store.forget(Duration::ZERO, &[]).await.unwrap(), Forgotten::default());

    let history = stage.store.history(&scope(), TokenId(0)).await.unwrap().unwrap();
    assert_eq!((history.results.len(), history.transitions.len()), (0, 0));
    assert_eq!((history.memory.first_seen.0, history.memory.last_seen.0), (1000, 2000));
    let seen =
        |all: &[cardproof::audit::store::SeenDigest]| -> Vec<Sha256Digest> { all.iter().map(|seen| seen.sha256).collect() };
    assert_eq!(seen(&history.anchors), [digest("card"), digest("new card")]);
    assert_eq!(seen(&history.bodies), [digest("new card")]);
    assert_eq!(stage.store.history(&scope(), TokenId(1)).await.unwrap().unwrap().results.len(), 1);
}

async fn what_a_sink_has_still_to_take_is_kept(stage: Stage) {
    let told = RecordSettings { sinks: vec!["pager".into(), "log".into()], ..settings() };
    stage.run(vec![agent(0).at(1000).matching()], &told).await;
    let outcomes = stage.run(vec![agent(0).at(2000).mismatching()], &told).await;
    let key = &outcomes[0].transitions[0].idempotency_key;
    let store = &stage.store;
    store.acknowledge("log", key).await.unwrap();
    let sinks = ["pager", "log"].map(SinkKey::from);
    assert_eq!(store.forget(DAY, &sinks).await.unwrap().transitions, 0);
    assert_eq!(store.outstanding(&"pager".into()).await.unwrap().count, 1);
    assert_eq!(store.outstanding(&"log".into()).await.unwrap().count, 0);
    // Nobody waits for a sink that is gone.
    store.disable_sink(&"pager".into(), "it is gone").await.unwrap();
    assert_eq!(store.forget(DAY, &sinks).await.unwrap().transitions, 1);
    assert_eq!(store.outstanding(&"pager".into()).await.unwrap().count, 0);
}

async fn nothing_is_kept_for_a_sink_that_is_not_configured_any_more(stage: Stage) {
    let told = RecordSettings { sinks: vec!["pager".into()], ..settings() };
    stage.run(vec![agent(0).at(1000).matching()], &told).await;
    stage.run(vec![agent(0).at(2000).mismatching()], &told).await;
    assert_eq!(stage.store.waiting(None).await.unwrap(), [Waiting { sink: "pager".into(), count: 1 }]);
    assert_eq!(stage.store.waiting(Some(&scope())).await.unwrap().len(), 1);
    let elsewhere = RunScope { contract: ContractAddress::new(77, 0), ..scope() };
    assert_eq!(stage.store.waiting(Some(&elsewhere)).await.unwrap(), [], "nothing of another registry");
    assert_eq!(stage.store.forget(DAY, &["log".into()]).await.unwrap().transitions, 1);
    assert_eq!(stage.store.waiting(None).await.unwrap(), []);
}
