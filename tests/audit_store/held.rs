//! Mismatches that await their second look.

use std::time::Duration;

use cardproof::fetch::Hop;
use cardproof::verify::{Note, NoteCode, Verdict};

use super::stage::{agent, on_both, scope, settings, Agent, Stage};

on_both! {
    a_mismatch_that_awaits_its_second_look_is_kept_as_it_is_and_is_no_result
    whatever_a_recorder_is_given_is_kept_and_a_verdict_takes_its_place
    mismatches_of_a_run_that_is_not_gone_back_to_are_forgotten
}

/// A mismatch with something in every place, and text that a database may not take.
fn mismatch(id: u64) -> Verdict {
    let mut verdict = Agent { uri: Some("https://a.example/\\\0é".into()), registered_at: Some(7), ..agent(id) }.mismatching();
    verdict.notes = vec![Note { message: "near".into(), ..Note::new(NoteCode::MatchesReserialized) }];
    let trace = &mut verdict.evidence.as_mut().unwrap().trace;
    trace.hops = vec![Hop { url: "https://b.example/".into(), status: 302 }];
    (trace.ip, trace.content_type) = (Some([127, 0, 0, 1].into()), Some("text/plain".into()));
    (trace.content_encoding, trace.content_length) = (Some("gzip".into()), Some(12));
    verdict
}

async fn a_mismatch_that_awaits_its_second_look_is_kept_as_it_is_and_is_no_result(stage: Stage) {
    let (store, run) = (&stage.store, stage.begin().await);
    let held: Vec<_> = [2, 5, u64::MAX].map(mismatch).into();
    store.hold_mismatches(&run, &held).await.unwrap();
    store.hold_mismatches(&run, &held[..1]).await.unwrap();
    let left = store.resume_run(&scope()).await.unwrap().unwrap();
    assert!(left.done.is_empty() && store.results(&run, None).await.unwrap().is_empty());
    let mut kept = left.held;
    kept.sort_unstable_by_key(|verdict| verdict.subject.as_ref().unwrap().token_id);
    assert_eq!(kept, held);
    store.record(&run, vec![mismatch(5)], &settings()).await.unwrap();
    store.hold_mismatches(&run, &[mismatch(5)]).await.unwrap();
    let left = store.resume_run(&scope()).await.unwrap().unwrap();
    assert_eq!((left.done.len(), left.held.len()), (1, 2), "the result has taken its place");
}

async fn whatever_a_recorder_is_given_is_kept_and_a_verdict_takes_its_place(stage: Stage) {
    use cardproof::audit::{store::Recorder, Found};

    let (store, run) = (stage.store.clone(), stage.begin().await);
    let (recorder, mut outcomes) = Recorder::start(store.clone(), run.clone(), settings());
    for id in 0..4 {
        recorder.put(Found::Mismatch(Box::new(mismatch(id)))).await.unwrap();
    }
    recorder.record(mismatch(1)).await.unwrap();
    assert_eq!(outcomes.recv().await.unwrap().unwrap().verdict, mismatch(1));
    drop(recorder);
    assert!(tokio::time::timeout(Duration::from_secs(20), outcomes.recv()).await.unwrap().is_none());
    assert_eq!(store.held_mismatches(&run).await.unwrap().len(), 3);
}

async fn mismatches_of_a_run_that_is_not_gone_back_to_are_forgotten(stage: Stage) {
    let first = stage.begin().await;
    stage.store.hold_mismatches(&first, &[mismatch(1)]).await.unwrap();
    let second = stage.begin().await;
    stage.store.hold_mismatches(&second, &[mismatch(1)]).await.unwrap();
    assert_eq!(stage.store.held_mismatches(&first).await.unwrap().len(), 1);
    stage.store.finish_run(&second).await.unwrap();
    for run in [&first, &second] {
        assert_eq!(stage.store.held_mismatches(run).await.unwrap(), []);
    }
}
