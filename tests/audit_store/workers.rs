//! Several workers share one run.

use std::collections::HashSet;
use std::time::Duration;

use cardproof::audit::store::{Shares, Store};
use cardproof::audit::RunInfo;
use cardproof::identity::TokenId;

use super::stage::{agent, on_both, settings, Stage};

on_both! {
    two_workers_split_a_run_with_nothing_twice
    the_share_of_a_killed_worker_is_taken_over
    a_prolonged_lease_stays
}

const LONG: Duration = Duration::from_secs(60);

async fn shared(stage: &Stage, agents: u64, size: usize) -> RunInfo {
    let run = stage.begin().await;
    let agents: Vec<_> = (0..agents).map(TokenId).collect();
    stage.store.share_run(&run, &agents, size).await.unwrap();
    stage.store.share_run(&run, &agents, size).await.unwrap();
    run
}

/// Takes parts until there are none, and says which agents it has checked.
async fn work(store: Store, run: RunInfo, name: &'static str) -> Vec<TokenId> {
    let mut checked = Vec::new();
    while let Some(lease) = store.take_lease(&run, name, LONG).await.unwrap() {
        checked.extend(&lease.token_ids);
        let verdicts: Vec<_> = lease.token_ids.iter().map(|id| agent(id.0).matching()).collect();
        let recorded = store.record(&run, verdicts, &settings()).await.unwrap();
        assert_eq!(recorded.len(), lease.token_ids.len());
        assert!(store.finish_lease(&lease).await.unwrap());
        assert!(!store.finish_lease(&lease).await.unwrap());
    }
    checked
}

async fn two_workers_split_a_run_with_nothing_twice(stage: Stage) {
    let run = shared(&stage, 300, 7).await;
    let second = stage.second().await;
    let workers = [
        tokio::spawn(work(stage.store.clone(), run.clone(), "one")),
        tokio::spawn(work(second, run.clone(), "two")),
        tokio::spawn(work(stage.store.clone(), run.clone(), "three")),
    ];
    let mut checked = Vec::new();
    for worker in workers {
        checked.extend(worker.await.unwrap());
    }
    assert_eq!(checked.len(), 300);
    assert_eq!(checked.into_iter().collect::<HashSet<_>>().len(), 300);
    let shares = stage.store.shares(&run).await.unwrap();
    assert_eq!(shares, Shares { parts: 43, done: 43, leased: 0 });
    assert!(shares.is_done());
    assert_eq!(stage.store.finish_run(&run).await.unwrap().summary.matches, 300);
}

async fn the_share_of_a_killed_worker_is_taken_over(stage: Stage) {
    let run = shared(&stage, 20, 10).await;
    let doomed = stage.second().await;
    let lost = doomed.take_lease(&run, "doomed", Duration::from_millis(1500)).await.unwrap().unwrap();
    assert_eq!(lost.token_ids, (0..10).map(TokenId).collect::<Vec<_>>());
    doomed.record(&run, (0..4).map(|id| agent(id).matching()).collect(), &settings()).await.unwrap();

    // While its time lasts, nobody else gets its share.
    let other = stage.store.take_lease(&run, "heir", LONG).await.unwrap().unwrap();
    assert_eq!(other.token_ids, (10..20).map(TokenId).collect::<Vec<_>>());
    assert_eq!(stage.store.take_lease(&run, "heir", LONG).await.unwrap(), None);
    assert_eq!(stage.store.shares(&run).await.unwrap(), Shares { parts: 2, done: 0, leased: 2 });
    tokio::time::sleep(Duration::from_millis(1600)).await;
    let inherited = stage.store.take_lease(&run, "heir", LONG).await.unwrap().unwrap();
    assert_eq!(inherited.token_ids, (4..10).map(TokenId).collect::<Vec<_>>());

    // Should it come back after all, it hears that its share is another's, and what it has still to say is not counted twice.
    assert!(!doomed.extend_lease(&lost, LONG).await.unwrap());
    assert!(!doomed.finish_lease(&lost).await.unwrap());
    stage.store.record(&run, (4..20).map(|id| agent(id).matching()).collect(), &settings()).await.unwrap();
    assert_eq!(doomed.record(&run, (0..10).map(|id| agent(id).mismatching()).collect(), &settings()).await.unwrap(), []);
    assert!(stage.store.finish_lease(&inherited).await.unwrap());
    assert!(stage.store.finish_lease(&other).await.unwrap());
    let finished = stage.store.finish_run(&run).await.unwrap();
    assert_eq!((finished.summary.agents, finished.summary.matches), (20, 20));
}

async fn a_prolonged_lease_stays(stage: Stage) {
    let run = shared(&stage, 3, 5).await;
    let lease = stage.store.take_lease(&run, "one", Duration::from_millis(300)).await.unwrap().unwrap();
    assert!(stage.store.extend_lease(&lease, LONG).await.unwrap());
    tokio::time::sleep(Duration::from_millis(350)).await;
    assert_eq!(stage.store.take_lease(&run, "two", LONG).await.unwrap(), None);
}
