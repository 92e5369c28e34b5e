//! Recording: everything once, whatever comes in between, and unharmed.

use std::collections::HashSet;

use cardproof::audit::store::{NewRun, Recorder, StoreError};
use cardproof::audit::TransitionKind;
use cardproof::identity::TokenId;
use cardproof::registry::AgentStatus;
use cardproof::verify::{Note, NoteCode, Reason, Summary, Verdict};

use super::stage::{agent, block, digest, kinds, on_both, scope, settings, Agent, Stage};

on_both! {
    only_the_newest_results_are_read
    what_was_so_at_an_older_block_changes_nothing
    an_interrupted_run_goes_on_where_it_stopped
    an_agent_is_recorded_once_in_a_run
    a_recording_cut_off_leaves_nothing_behind
    keys_are_unique_and_do_not_change
    the_largest_numbers_and_any_text_come_back_unharmed
    a_body_with_an_older_anchor_is_recognised
    a_recorder_stores_what_it_was_handed_before_it_ends
    runs_are_counted_and_listed
    a_scope_remembers_nothing_of_another
    agents_that_are_there_are_found_a_page_at_a_time
}

async fn an_interrupted_run_goes_on_where_it_stopped(stage: Stage) {
    stage.run((0..40).map(|id| agent(id).matching()).collect(), &settings()).await;
    assert_eq!(stage.store.resume_run(&scope()).await.unwrap(), None);
    let run = stage.begin().await;
    let mut told =
        kinds(&stage.store.record(&run, (0..25).map(|id| agent(id).mismatching()).collect(), &settings()).await.unwrap());

    let after = stage.second().await;
    let unfinished = after.resume_run(&scope()).await.unwrap().unwrap();
    assert_eq!(unfinished.run.id, run.id);
    assert_eq!(unfinished.run.block, run.block);
    assert_eq!(unfinished.run.summary.mismatches, 25);
    assert_eq!(unfinished.done, (0..25).map(TokenId).collect::<HashSet<_>>());
    let rest = (20..40).map(|id| agent(id).mismatching()).collect();
    told.extend(kinds(&after.record(&unfinished.run, rest, &settings()).await.unwrap()));
    let finished = after.finish_run(&unfinished.run).await.unwrap();
    assert_eq!(finished.summary, Summary { agents: 40, mismatches: 40, ..Summary::default() });
    assert_eq!(told, [TransitionKind::MatchToMismatch; 40]);
    assert_eq!(after.diff(&scope(), None).await.unwrap().len(), 40);
    assert_eq!(after.resume_run(&scope()).await.unwrap(), None);
}

async fn an_agent_is_recorded_once_in_a_run(stage: Stage) {
    let run = stage.begin().await;
    let record = |verdicts| stage.store.record(&run, verdicts, &SETTINGS);
    assert_eq!(record(vec![agent(1).matching(), agent(1).mismatching()]).await.unwrap().len(), 1);
    assert_eq!(record(vec![agent(1).mismatching(), agent(2).matching()]).await.unwrap().len(), 1);
    assert_eq!(record(vec![agent(1).mismatching()]).await.unwrap(), []);
    assert_eq!(record(Vec::new()).await.unwrap(), []);
    let finished = stage.store.finish_run(&run).await.unwrap();
    assert_eq!(finished.summary, Summary { agents: 2, matches: 2, ..Summary::default() });
    assert_eq!(stage.store.history(&scope(), TokenId(1)).await.unwrap().unwrap().memory.consecutive, 1);
    let nobody = cardproof::verify::Verdict { subject: None, ..agent(1).matching() };
    assert!(matches!(record(vec![nobody]).await, Err(StoreError::NoAgent)));
}

static SETTINGS: std::sync::LazyLock<cardproof::audit::store::RecordSettings> = std::sync::LazyLock::new(settings);

async fn a_recording_cut_off_leaves_nothing_behind(stage: Stage) {
    let run = stage.begin().await;
    let verdicts = || (0..2000).map(|id| agent(id).matching()).collect::<Vec<_>>();
    // Dropped at many different points of its work.
    for patience in [0, 1, 1, 2, 2, 3, 4, 5, 8] {
        let wait = std::time::Duration::from_millis(patience);
        let settings = settings();
        let cut = tokio::time::timeout(wait, stage.store.record(&run, verdicts(), &settings)).await;
        assert!(cut.is_err(), "2000 agents in {patience} ms");
        let done = stage.second().await.resume_run(&scope()).await.unwrap().unwrap();
        assert_eq!((done.done.len(), done.run.summary.agents), (0, 0));
    }
    assert_eq!(stage.store.record(&run, verdicts(), &settings()).await.unwrap().len(), 2000);
    assert_eq!(stage.store.finish_run(&run).await.unwrap().summary.agents, 2000);
    assert_eq!(stage.store.agents(&scope()).await.unwrap().len(), 2000);
}

async fn keys_are_unique_and_do_not_change(stage: Stage) {
    let mut keys = HashSet::new();
    let mut count = 0;
    stage.run((0..3).map(|id| agent(id).matching()).collect(), &settings()).await;
    for run in 0..4 {
        let change = |id| if run % 2 == 0 { agent(id).mismatching() } else { agent(id).matching() };
        let outcomes = stage.run((0..3).map(change).collect(), &settings()).await;
        for transition in outcomes.into_iter().flat_map(|outcome| outcome.transitions) {
            assert_eq!(transition.idempotency_key.len(), 64);
            keys.insert(transition.idempotency_key);
            count += 1;
        }
    }
    assert_eq!((keys.len(), count), (12, 12));
    let stored = stage.second().await.diff(&scope(), Some(cardproof::registry::Timestamp(0))).await.unwrap();
    assert_eq!(stored.into_iter().map(|transition| transition.idempotency_key).collect::<HashSet<_>>(), keys);
}

async fn the_largest_numbers_and_any_text_come_back_unharmed(stage: Stage) {
    let hostile = "a\0b\\0'; DROP TABLE agents; --\u{202e}\u{1f600}\r\n";
    let mut verdict = Agent { uri: Some(hostile.into()), ..agent(u64::MAX) }.at(u64::MAX).mismatching();
    verdict.message = hostile.to_owned();
    verdict.block = Some(super::stage::block(u64::MAX / 2));
    verdict.notes = vec![Note::new(NoteCode::MatchesWithLf), Note::new(NoteCode::BomPresent)];
    let selection = format!("the agents of {hostile}");
    let block = Some(super::stage::block(u64::MAX - 2_000_000_000_000));
    let new = NewRun { block, selection: &selection, covers: Some(hostile), daemon: true, terms: Some(hostile) };
    let run = stage.store.begin_run(&scope(), new).await.unwrap();
    stage.store.record(&run, vec![verdict.clone()], &settings()).await.unwrap();
    let listed = stage.store.runs(&scope()).await.unwrap().remove(0);
    assert_eq!((listed.selection, listed.block), (selection, run.block));
    assert_eq!((listed.covers.as_deref(), listed.terms.as_deref(), listed.daemon), (Some(hostile), Some(hostile), true));
    let history = stage.store.history(&scope(), TokenId(u64::MAX)).await.unwrap().unwrap();
    assert_eq!(history.memory.token_id, TokenId(u64::MAX));
    assert_eq!(history.memory.agent_uri.as_deref(), Some(hostile));
    assert_eq!(history.memory.since, verdict.started_at);
    let result = &history.results[0];
    assert_eq!((result.message.as_str(), result.at), (hostile, verdict.started_at));
    assert_eq!(result.notes, ["matches_with_lf", "bom_present"]);
    assert_eq!(result.block_height, verdict.block.map(|block| block.height));
    assert_eq!((result.http_status, result.bytes, result.elapsed_ms), (Some(200), Some(12), 15));
    assert_eq!((result.anchored_sha256, result.body_sha256), (Some(digest("card")), Some(digest("another card"))));
}

async fn a_body_with_an_older_anchor_is_recognised(stage: Stage) {
    stage.run(vec![agent(0).at(1000).matching()], &settings()).await;
    let next = Agent { anchored: Some("new card"), ..agent(0) };
    stage.run(vec![next.clone().at(2000).mismatching()], &settings()).await;
    stage.run(vec![next.at(3000).mismatching()], &settings()).await;
    let anchors = stage.store.older_anchors(&scope(), TokenId(0), digest("new card"), Some(1000)).await.unwrap();
    assert_eq!(anchors, [digest("card")]);
    let past = stage.store.older_anchors(&scope(), TokenId(0), digest("new card"), Some(999)).await.unwrap();
    assert_eq!(past, [], "at an older block, what is older than that is not known");
    assert_eq!(stage.store.older_anchors(&scope(), TokenId(1), digest("card"), None).await.unwrap(), []);
    let history = stage.store.history(&scope(), TokenId(0)).await.unwrap().unwrap();
    let seen =
        |all: &[cardproof::audit::store::SeenDigest]| -> Vec<_> { all.iter().map(|s| (s.sha256, s.first_seen.0)).collect() };
    assert_eq!(seen(&history.anchors), [(digest("card"), 1000), (digest("new card"), 2000)]);
    assert_eq!(seen(&history.bodies), [(digest("card"), 1000), (digest("another card"), 2000)]);
}

async fn a_recorder_stores_what_it_was_handed_before_it_ends(stage: Stage) {
    let run = stage.begin().await;
    let (recorder, mut outcomes) = Recorder::start(stage.store.clone(), run.clone(), settings());
    let feeding = tokio::spawn(async move {
        for id in 0..1200 {
            recorder.record(agent(id).matching()).await.unwrap();
        }
    });
    let mut seen = HashSet::new();
    while let Some(outcome) = outcomes.recv().await {
        assert!(seen.insert(outcome.unwrap().verdict.subject.unwrap().token_id));
    }
    feeding.await.unwrap();
    assert_eq!(seen.len(), 1200);
    assert_eq!(stage.store.finish_run(&run).await.unwrap().summary.matches, 1200);

    let nowhere = cardproof::audit::RunInfo { id: 999, ..run };
    let (recorder, mut outcomes) = Recorder::start(stage.store.clone(), nowhere, settings());
    recorder.record(agent(1).matching()).await.unwrap();
    assert!(matches!(outcomes.recv().await, Some(Err(StoreError::NoRun(999)))));
    assert!(outcomes.recv().await.is_none());
    assert!(matches!(recorder.record(agent(2).matching()).await, Err(StoreError::Ended)));
}

async fn runs_are_counted_and_listed(stage: Stage) {
    let all = vec![agent(0).matching(), agent(1).mismatching(), agent(2).undecided(), agent(3).missing(), agent(4).matching()];
    stage.run(all, &settings()).await;
    let open = stage.begin().await;
    let runs = stage.store.runs(&scope()).await.unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].id, runs[0].finished_at, runs[0].summary), (open.id, None, Summary::default()));
    assert_eq!(runs[1].summary, Summary { agents: 5, matches: 2, mismatches: 1, absent: 1, undecided: 1 });
    assert_eq!(runs[1].block, open.block);
    assert!(runs[1].finished_at.unwrap() >= runs[1].started_at);
    // What was finished stays as it was.
    let again = stage.store.finish_run(&runs[1]).await.unwrap();
    assert_eq!(again, runs[1]);
}

async fn a_scope_remembers_nothing_of_another(stage: Stage) {
    stage.run(vec![agent(0).matching()], &settings()).await;
    let other = cardproof::audit::RunScope { contract: cardproof::identity::ContractAddress::new(9002, 0), ..scope() };
    assert_eq!(stage.store.runs(&other).await.unwrap(), []);
    assert_eq!(stage.store.history(&other, TokenId(0)).await.unwrap(), None);
    let run = stage.store.begin_run(&other, NewRun::default()).await.unwrap();
    assert_eq!(kinds(&stage.store.record(&run, vec![agent(0).mismatching()], &settings()).await.unwrap()), []);
    assert_eq!(stage.store.runs(&other).await.unwrap()[0].block, None);
    assert_eq!(stage.store.agents(&scope()).await.unwrap()[0].consecutive, 1);
}

async fn agents_that_are_there_are_found_a_page_at_a_time(stage: Stage) {
    let there = (0..2500).map(|id| agent(id).matching());
    let others = [agent(2600).missing(), agent(2601).unread(), Agent { owner: 2, ..agent(u64::MAX) }.mismatching()];
    stage.run(there.chain(others).collect(), &settings()).await;
    let there = async |owner, status| stage.store.present_agents(&scope(), owner, status).await.unwrap();
    assert_eq!(there(None, None).await, "0-2499,18446744073709551615".parse().unwrap());
    let owner = cardproof::identity::AccountAddress([2; 32]);
    assert_eq!(there(Some(owner), Some(AgentStatus::Active)).await, "18446744073709551615".parse().unwrap());
    assert!(there(None, Some(AgentStatus::Revoked)).await.is_empty());
    let mut seen = Vec::new();
    stage.store.for_each_agent(&scope(), |agent| seen.push(agent.token_id.0)).await.unwrap();
    assert_eq!(seen.len(), 2503);
    seen.sort_unstable();
    let listed: Vec<u64> = stage.store.agents(&scope()).await.unwrap().iter().map(|agent| agent.token_id.0).collect();
    assert_eq!(listed, seen, "all of them, in the order of their numbers");
}

async fn what_was_so_at_an_older_block_changes_nothing(stage: Stage) {
    let at = |height, verdict: Verdict| Verdict { block: Some(block(height)), ..verdict };
    stage.run(vec![at(10, agent(0).at(1000).matching())], &settings()).await;
    let moved = Agent { anchored: Some("new card"), body: Some("new card"), owner: 2, ..agent(0) };
    let outcomes = stage.run(vec![at(20, moved.at(2000).matching())], &settings()).await;
    assert_eq!(kinds(&outcomes).len(), 2);
    let before = stage.store.history(&scope(), TokenId(0)).await.unwrap().unwrap();
    let past = vec![at(10, agent(0).at(3000).mismatching()), at(10, agent(1).at(3000).matching())];
    let outcomes = stage.run(past, &settings()).await;
    assert_eq!((outcomes.len(), kinds(&outcomes).len()), (2, 1), "only the agent that was not known is new");
    let after = stage.store.history(&scope(), TokenId(0)).await.unwrap().unwrap();
    assert_eq!((after.results.len(), after.results[0].reason), (3, Reason::HashMismatch));
    assert_eq!((&after.memory, &after.transitions, &after.anchors), (&before.memory, &before.transitions, &before.anchors));
    // The same block again, and one that no node could name, are as new as the memory.
    let same = at(20, Agent { anchored: Some("new card"), owner: 2, ..agent(0) }.at(4000).mismatching());
    assert_eq!(kinds(&stage.run(vec![same], &settings()).await), [TransitionKind::MatchToMismatch]);
    let unread = Verdict { block: None, ..agent(0).at(5000).unread() };
    stage.run(vec![unread], &settings()).await;
    let memory = stage.store.history(&scope(), TokenId(0)).await.unwrap().unwrap().memory;
    assert_eq!((memory.last_seen.0, memory.block_height), (5000, Some(20)));
}

async fn only_the_newest_results_are_read(stage: Stage) {
    for number in 0..30 {
        stage.run(vec![agent(0).at(number).matching(), agent(1).at(number).mismatching()], &settings()).await;
    }
    let run = stage.begin().await;
    stage.store.record(&run, vec![agent(0).at(99).matching()], &settings()).await.unwrap();
    let recent = stage.store.recent(&scope(), TokenId(0), run.id, 24).await.unwrap();
    assert_eq!(recent.iter().map(|result| result.at.0).collect::<Vec<_>>(), (6..30).rev().collect::<Vec<_>>());
    assert_eq!(stage.store.recent(&scope(), TokenId(7), run.id, 24).await.unwrap(), []);
}
