//! A process that is killed while it records: what another one finds then is whole.

use std::collections::HashSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use cardproof::audit::store::{NewRun, RecordSettings, Store, StoreLocation};
use cardproof::audit::TransitionKind;
use cardproof::identity::TokenId;
use cardproof::registry::Timestamp;
use cardproof::verify::Verdict;
use sqlx::{Connection, Row};

use super::stage::{agent, scope, settings, Stage};

/// Names the store for a process of these tests that is to be killed.
const VICTIM: &str = "CARDPROOF_TEST_VICTIM";
/// How many times each database's victim is killed.
const KILLS: &str = "CARDPROOF_SOAK_KILLS";
const AGENTS: u64 = 1000;

fn told() -> RecordSettings {
    RecordSettings { sinks: vec!["pager".into()], ..settings() }
}

/// In every round each agent changes.
fn verdict(round: usize, id: u64) -> Verdict {
    if round.is_multiple_of(2) {
        agent(id).matching()
    } else {
        agent(id).mismatching()
    }
}

/// Resumes the run, or begins the next one, and records the rest of it in small batches.
async fn audit(store: &Store, round: usize) -> usize {
    let (run, done) = match store.resume_run(&scope()).await.unwrap() {
        Some(unfinished) => (unfinished.run, unfinished.done),
        None => (store.begin_run(&scope(), NewRun::default()).await.unwrap(), HashSet::new()),
    };
    let rest: Vec<_> = (0..AGENTS).filter(|id| !done.contains(&TokenId(*id))).collect();
    for some in rest.chunks(25) {
        let verdicts = some.iter().map(|id| verdict(round, *id)).collect();
        assert_eq!(store.record(&run, verdicts, &told()).await.unwrap().len(), some.len());
    }
    store.finish_run(&run).await.unwrap();
    rest.len()
}

/// The body of the process that is killed. As a test of its own it does nothing.
#[tokio::test]
async fn victim() {
    let Ok(place) = std::env::var(VICTIM) else { return };
    let (round, location) = place.split_once(' ').unwrap();
    let store = Store::open(&location.parse().unwrap()).await.unwrap();
    audit(&store, round.parse().unwrap()).await;
}

async fn until_it_writes(store: &Store, round: usize) {
    let start = std::time::Instant::now();
    loop {
        let runs = store.runs(&scope()).await.unwrap();
        if runs.len() > round && runs[0].summary.agents > 0 {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the process to be killed writes nothing");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A server finishes the last statement that a killed client has sent; what another process finds may change until then.
async fn until_forgotten(location: &str) {
    if !location.starts_with("postgres") {
        return;
    }
    let mut watcher = sqlx::PgConnection::connect(location.split('?').next().unwrap()).await.unwrap();
    let sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'victim'";
    while sqlx::query(sql).fetch_one(&mut watcher).await.unwrap().get::<i64, _>(0) > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    watcher.close().await.unwrap();
}

async fn kill_and_resume(stage: Stage, location: &str) {
    let kills: usize = std::env::var(KILLS).ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
    audit(&stage.store, 0).await;
    let mut cut_in_the_middle = 0;
    for round in 1..=kills {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::victim"])
            .env(VICTIM, format!("{round} {location}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Most are killed while they write, some at any time before or after.
        if round.is_multiple_of(4) {
            tokio::time::sleep(Duration::from_millis(23 * (round as u64 % 31))).await;
        } else {
            until_it_writes(&stage.store, round).await;
            tokio::time::sleep(Duration::from_millis(13 * (round as u64 % 5))).await;
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        until_forgotten(location).await;
        let before = stage.store.runs(&scope()).await.unwrap();
        let counted = before[0].summary.agents;
        if before.len() == round + 1 && before[0].finished_at.is_none() {
            let done = stage.store.resume_run(&scope()).await.unwrap().unwrap().done.len() as u64;
            assert_eq!(counted, done, "the counts of a run belong to its results");
            cut_in_the_middle += usize::from(done > 0 && done < AGENTS);
        }
        // Killed before it began or after it ended, it leaves the round to be done, or nothing.
        if before.len() <= round || before[0].finished_at.is_none() {
            audit(&stage.store, round).await;
        }
    }
    assert!(cut_in_the_middle > 0, "no kill came while results were written");
    let runs = stage.store.runs(&scope()).await.unwrap();
    assert_eq!(runs.len(), kills + 1);
    assert!(runs.iter().all(|run| run.summary.agents == AGENTS && run.finished_at.is_some()));
    let transitions = stage.store.diff(&scope(), Some(Timestamp(0))).await.unwrap();
    let expected = kills * usize::try_from(AGENTS).unwrap();
    assert_eq!(transitions.len(), expected);
    let keys: HashSet<_> = transitions.iter().map(|transition| &transition.idempotency_key).collect();
    assert_eq!(keys.len(), expected);
    let kinds: HashSet<_> = transitions.iter().map(|transition| transition.kind).collect();
    assert!(kinds.is_subset(&HashSet::from([TransitionKind::MatchToMismatch, TransitionKind::MismatchToMatch])));
    assert_eq!(stage.store.outstanding(&"pager".into()).await.unwrap().count, expected as u64);
    let agents = stage.store.agents(&scope()).await.unwrap();
    assert!(agents.iter().all(|agent| agent.consecutive == 1 && agent.last_run == runs[0].id));
}

#[tokio::test]
async fn kill_9_while_recording_loses_nothing_and_repeats_nothing_sqlite() {
    let stage = Stage::sqlite().await;
    let location = stage.location.path().unwrap().to_str().unwrap().to_owned();
    kill_and_resume(stage, &location).await;
}

#[tokio::test]
async fn kill_9_while_recording_loses_nothing_and_repeats_nothing_postgres() {
    let Some(url) = super::postgres::new_database().await else { return };
    let location: StoreLocation = url.parse().unwrap();
    let store = Store::open(&location).await.unwrap();
    kill_and_resume(Stage::at(store, location), &format!("{url}?application_name=victim")).await;
}
