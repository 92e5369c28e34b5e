//! A run in the hands of one process, and of no other as long as that lives.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cardproof::audit::store::{NewRun, RunHold, RunOwner, Store, StoreLocation, Taken};
use cardproof::audit::RunInfo;
use cardproof::identity::TokenId;
use sqlx::{Connection, Row};

use super::stage::{on_both, scope, Stage};

on_both! {
    a_run_in_hand_is_given_to_nobody_else
    of_daemons_that_begin_together_one_has_the_run
    daemons_over_other_agents_do_not_wait_for_each_other
    a_run_that_has_ended_is_not_taken_up
    a_run_with_workers_is_alive
}

/// Names the store for a process of these tests that is to be killed.
const OWNER: &str = "CARDPROOF_TEST_OWNER";

fn daemon(covers: &str) -> NewRun<'_> {
    NewRun { covers: Some(covers), daemon: true, ..NewRun::default() }
}

fn mine(taken: Taken) -> (RunInfo, RunHold) {
    match taken {
        Taken::Mine(run, hold) => (run, hold),
        other => panic!("{other:?}"),
    }
}

fn others(taken: Taken) -> RunOwner {
    match taken {
        Taken::Other(_, owner) => owner,
        other => panic!("{other:?}"),
    }
}

async fn a_run_in_hand_is_given_to_nobody_else(stage: Stage) {
    let second = stage.second().await;
    let (run, hold) = mine(stage.store.begin_held(&scope(), NewRun::default()).await.unwrap());
    let owner = others(second.take_run(&run).await.unwrap());
    assert!(owner.name.starts_with(&format!("process {}", std::process::id())), "{}", owner.name);
    assert!(owner.since >= run.started_at);
    assert_eq!(second.run_owner(&run).await.unwrap(), Some(owner));
    hold.release().await;
    assert_eq!(second.run_owner(&run).await.unwrap(), None);
    let (_, hold) = mine(second.take_run(&run).await.unwrap());
    others(stage.store.take_run(&run).await.unwrap());
    drop(hold);
    mine(stage.store.take_run(&run).await.unwrap());
}

async fn of_daemons_that_begin_together_one_has_the_run(stage: Stage) {
    let mut begun = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let store = stage.second().await;
        begun.spawn(async move { store.begin_held(&scope(), daemon("all")).await.unwrap() });
    }
    let taken = begun.join_all().await;
    assert_eq!(taken.iter().filter(|taken| matches!(taken, Taken::Mine(..))).count(), 1, "{taken:?}");
    assert_eq!(taken.iter().filter(|taken| matches!(taken, Taken::Other(..))).count(), 5);
    assert_eq!(stage.store.runs(&scope()).await.unwrap().len(), 1);
}

async fn daemons_over_other_agents_do_not_wait_for_each_other(stage: Stage) {
    let (_, _first) = mine(stage.store.begin_held(&scope(), daemon("all")).await.unwrap());
    let (_, _second) = mine(stage.store.begin_held(&scope(), daemon("ids 7")).await.unwrap());
    let by_hand = NewRun { daemon: false, ..daemon("all") };
    let (_, _third) = mine(stage.store.begin_held(&scope(), by_hand).await.unwrap());
    others(stage.store.begin_held(&scope(), daemon("all")).await.unwrap());
}

async fn a_run_that_has_ended_is_not_taken_up(stage: Stage) {
    let (run, hold) = mine(stage.store.begin_held(&scope(), NewRun::default()).await.unwrap());
    stage.store.finish_run(&run).await.unwrap();
    hold.release().await;
    assert!(matches!(stage.store.take_run(&run).await.unwrap(), Taken::Ended));
}

async fn a_run_with_workers_is_alive(stage: Stage) {
    let (run, hold) = mine(stage.store.begin_held(&scope(), NewRun::default()).await.unwrap());
    stage.store.share_run(&run, &[TokenId(1)], 1).await.unwrap();
    let lease = stage.store.take_lease(&run, "worker", Duration::from_secs(20)).await.unwrap().unwrap();
    hold.release().await;
    let owner = others(stage.store.take_run(&run).await.unwrap());
    assert!(owner.gone_after > Duration::from_secs(10) && owner.gone_after <= Duration::from_secs(20), "{owner:?}");
    assert_eq!(stage.store.run_owner(&run).await.unwrap().unwrap().name, owner.name);
    stage.store.release_lease(&lease).await.unwrap();
    let (_, _hold) = mine(stage.store.take_run(&run).await.unwrap());
    // Who goes on alone shares nothing: a worker that comes now would check the same agents again.
    assert_eq!(stage.store.shares(&run).await.unwrap().parts, 0);
    assert_eq!(stage.store.take_lease(&run, "worker", Duration::from_secs(20)).await.unwrap(), None);
}

/// The body of the process that is killed. As a test of its own it does nothing.
#[tokio::test]
async fn owner() {
    let Ok(location) = std::env::var(OWNER) else { return };
    let store = Store::open(&location.parse().unwrap()).await.unwrap();
    let (_, _hold) = mine(store.begin_held(&scope(), daemon("all")).await.unwrap());
    tokio::time::sleep(Duration::from_secs(60)).await;
}

async fn killed_owner(store: &Store, location: &str) {
    for round in 1..=3 {
        let mut owner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "holds::owner"])
            .env(OWNER, location)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let run = loop {
            let newest = store.runs(&scope()).await.unwrap().into_iter().next().filter(|run| run.id == round);
            if let Some(run) = newest {
                break run;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the process to be killed begins nothing");
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert!(others(store.take_run(&run).await.unwrap()).name.starts_with(&format!("process {}", owner.id())));
        owner.kill().unwrap();
        owner.wait().unwrap();
        let begun = Instant::now();
        let (_, hold) = mine(store.take_run(&run).await.unwrap());
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        if round < 3 {
            store.finish_run(&run).await.unwrap();
        }
        hold.release().await;
    }
}

#[tokio::test]
async fn a_killed_owner_lets_go_at_once_sqlite() {
    let stage = Stage::sqlite().await;
    let path = stage.location.path().unwrap().to_owned();
    killed_owner(&stage.store, path.to_str().unwrap()).await;
    // What a killed process leaves beside the database goes with the next run.
    let left = path.with_file_name("audit.db-run-77");
    std::fs::write(&left, "").unwrap();
    let report = path.with_file_name("audit.db-run-78");
    std::fs::write(&report, "somebody's own").unwrap();
    let (_, hold) = mine(stage.store.begin_held(&scope(), NewRun::default()).await.unwrap());
    assert!(!left.exists() && report.exists() && path.with_file_name("audit.db-run-4").exists());
    hold.release().await;
    assert!(!path.with_file_name("audit.db-run-4").exists());
}

#[tokio::test]
async fn a_killed_owner_lets_go_at_once_postgres() {
    let Some(url) = super::postgres::new_database().await else { return };
    killed_owner(&Store::open(&url.parse().unwrap()).await.unwrap(), &url).await;
}

/// Cuts the connections that have a lock on a run.
async fn cut(url: &str) {
    let mut admin = sqlx::PgConnection::connect(url).await.unwrap();
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert!(!sqlx::query(sql).fetch_all(&mut admin).await.unwrap().is_empty());
    let left = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while sqlx::query(left).fetch_one(&mut admin).await.unwrap().get::<i64, _>(0) > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    admin.close().await.unwrap();
}

#[tokio::test]
async fn an_owner_whose_connection_is_cut_has_its_run_again_or_learns_that_it_has_not() {
    let Some(url) = super::postgres::new_database().await else { return };
    let location: StoreLocation = url.parse().unwrap();
    let (store, second) = (Store::open(&location).await.unwrap(), Store::open(&location).await.unwrap());
    let (run, mut hold) = mine(store.begin_held(&scope(), NewRun::default()).await.unwrap());
    cut(&url).await;
    let begun = Instant::now();
    while second.run_owner(&run).await.unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the run is not taken again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(tokio::time::timeout(Duration::from_millis(50), hold.lost()).await.is_err());
    cut(&url).await;
    let (_, _taken) = mine(second.take_run(&run).await.unwrap());
    tokio::time::timeout(Duration::from_secs(20), hold.lost()).await.unwrap();
}
