use std::sync::atomic::Ordering;
use std::time::Duration;

use cardproof::audit::{Audit, AuditSettings, Targets};
use cardproof::chain::{AtBlock, ChainErrorKind};
use cardproof::fetch::FailureKind;
use cardproof::identity::{AccountAddress, TokenId};
use cardproof::registry::{AgentRecord, AgentStatus};
use cardproof::verify::{Class, Reason, Summary};
use tokio::time::Instant;

use super::seams::{record, settings, verdicts, Chain, Hosts};

/// The URL of agent `id` on one of `hosts` hosts.
fn url(id: u64, hosts: u64) -> String {
    format!("https://h{}.example/{id}", id % hosts)
}

fn own_card(id: u64) -> Vec<u8> {
    format!("card {id}").into_bytes()
}

/// What [`own_card`] puts at the end of a URL.
fn card_of(uri: &str) -> Vec<u8> {
    own_card(uri.rsplit('/').next().unwrap().parse().unwrap())
}

/// A registry of `count` agents, each with a card of its own.
fn registry(count: u64, hosts: u64) -> Chain {
    Chain::of(move |_, id| Ok((id < count).then(|| record(id, &url(id, hosts), &own_card(id)))))
}

/// A node that tells the first agents and then nothing any more.
fn gone_after(told: u64) -> Chain {
    Chain::of(move |_, id| match id < told {
        true => Ok(Some(record(id, &url(id, 5), &own_card(id)))),
        false => Err(ChainErrorKind::NodeUnavailable),
    })
}

#[tokio::test(start_paused = true)]
async fn every_agent_has_exactly_one_result() {
    let (chain, hosts) = (registry(1000, 20), Hosts::of(|uri, _| Ok(card_of(uri))));
    let found = verdicts(&chain, &hosts, settings(), 0..1010).await;
    let mut summary = Summary::default();
    found.values().for_each(|verdict| summary.add(verdict.class()));
    assert_eq!((found.len(), summary.matches, summary.absent), (1010, 1000, 10));
    assert!(hosts.asked().values().all(|times| *times == 1));
    assert!((2..=24).contains(&chain.most_reads()), "{}", chain.most_reads());
}

#[tokio::test(start_paused = true)]
async fn c_57_one_host_is_not_attacked_and_the_whole_is_bounded() {
    let (chain, hosts) = (registry(5000, 1), Hosts::of(|uri, _| Ok(card_of(uri))));
    assert_eq!(verdicts(&chain, &hosts, settings(), 0..5000).await.len(), 5000);
    assert_eq!(hosts.most()["h0.example"], 8);
    let (chain, hosts) = (registry(2000, 500), Hosts::of(|uri, _| Ok(card_of(uri))));
    let settings = AuditSettings { host_concurrency: 16, node_concurrency: 100, ..settings() };
    assert_eq!(verdicts(&chain, &hosts, settings, 0..2000).await.len(), 2000);
    assert_eq!(hosts.most_in_all(), 16);
}

#[tokio::test(start_paused = true)]
async fn c_57_a_url_that_thousands_name_is_fetched_once_and_judged_for_each() {
    let chain = Chain::of(|_, id| {
        let card: &[u8] = if id % 3 == 0 { b"another" } else { b"shared" };
        Ok(Some(record(id, "https://one.example/card", card)))
    });
    let hosts = Hosts::of(|_, _| Ok(b"shared".to_vec()));
    let found = verdicts(&chain, &hosts, settings(), 0..3000).await;
    assert_eq!(hosts.asked()["https://one.example/card"], 1);
    for (id, verdict) in &found {
        let expected = if id % 3 == 0 { Reason::HashMismatch } else { Reason::Match };
        assert_eq!(verdict.reason, expected, "{id}");
        assert_eq!(verdict.evidence.as_ref().unwrap().bytes, Some(6));
    }
    let gone = Hosts::of(|_, _| Err(FailureKind::NotFound));
    let found = verdicts(&chain, &gone, settings(), 0..100).await;
    assert!(found.values().all(|verdict| verdict.reason == Reason::NotFound));
    assert_eq!(gone.asked()["https://one.example/card"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_blackhole_slows_no_other_host() {
    let chain = registry(2000, 20);
    let hosts = Hosts::of(|uri, _| if uri.contains("//h3.") { Err(FailureKind::Timeout) } else { Ok(card_of(uri)) })
        .with_slow(&["h3.example"]);
    let audit = Audit::begin(chain, hosts.clone(), settings()).await.unwrap();
    let mut running = audit.start((0..2000).map(TokenId));
    let (begun, mut others, mut slow) = (Instant::now(), 0, 0);
    while let Some(verdict) = running.next().await {
        match verdict.unwrap().reason {
            Reason::Match => {
                others += 1;
                assert!(begun.elapsed() < Duration::from_secs(5), "another host's agent waited for the blackhole");
            }
            Reason::Timeout => slow += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((others, slow), (1900, 100));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_one_check_is_its_internal_error() {
    let chain = Chain::of(|_, id| {
        assert_ne!(id, 17, "the reader falls over this one");
        Ok(Some(record(id, &url(id, 5), &own_card(id))))
    });
    let hosts = Hosts::of(|uri, _| {
        assert!(!uri.ends_with("/23"), "the fetcher falls over this one");
        Ok(card_of(uri))
    });
    let found = verdicts(&chain, &hosts, settings(), 0..100).await;
    assert_eq!(found.len(), 100);
    for (id, verdict) in found {
        let expected = if id == 17 || id == 23 { Reason::InternalError } else { Reason::Match };
        assert_eq!(verdict.reason, expected, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn c_09_mismatches_are_looked_at_again_together_at_one_newer_block() {
    // Agent 1 stays wrong, 2 gets the served hash meanwhile, 3 another URI that is right, 4 vanishes.
    let chain = Chain::of(|height, id| {
        let newer = height > 1;
        Ok(match id {
            0 => Some(record(0, &url(0, 9), &own_card(0))),
            2 if newer => Some(record(2, &url(2, 9), &own_card(2))),
            3 if newer => Some(record(3, "https://new.example/3", &own_card(3))),
            4 if newer => None,
            _ => Some(record(id, &url(id, 9), b"what was anchored")),
        })
    });
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let found = verdicts(&chain, &hosts, settings(), 0..5).await;
    let reached = |id: u64| (found[&id].reason, found[&id].block.unwrap().height);
    assert_eq!(reached(0), (Reason::Match, 1));
    assert_eq!(reached(1), (Reason::HashMismatch, 2));
    assert_eq!(reached(2), (Reason::Match, 2));
    assert_eq!(reached(3), (Reason::Match, 2));
    assert_eq!(reached(4), (Reason::AgentNotFound, 2));
    assert_eq!(chain.height.load(Ordering::SeqCst), 2, "one newer block for all of them");
    assert_eq!((hosts.asked()[&url(1, 9)], hosts.asked()[&url(2, 9)]), (1, 2), "an old body proves nothing about a new anchor");
}

#[tokio::test(start_paused = true)]
async fn an_anchor_that_changes_twice_is_said_to_and_a_past_block_is_final() {
    let chain = Chain::of(|height, id| Ok(Some(record(id, &url(id, 1), &height.to_le_bytes()))));
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    assert_eq!(verdicts(&chain, &hosts, settings(), 0..1).await[&0].reason, Reason::ChangedDuringCheck);
    let mut at_block = settings();
    at_block.verify.at = AtBlock::Height(1);
    let found = verdicts(&chain, &hosts, at_block, 0..1).await;
    assert_eq!((found[&0].reason, found[&0].block.unwrap().height), (Reason::HashMismatch, 1));
}

#[tokio::test(start_paused = true)]
async fn more_mismatches_than_are_kept_at_once_are_all_looked_at() {
    let chain = Chain::of(|_, id| Ok(Some(record(id, &url(id, 200), b"another"))));
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let found = verdicts(&chain, &hosts, settings(), 0..9000).await;
    assert_eq!(found.len(), 9000);
    assert!(found.values().all(|verdict| verdict.reason == Reason::HashMismatch && verdict.block.unwrap().height > 1));
    assert!((3..=4).contains(&chain.height.load(Ordering::SeqCst)), "a batch of 4096 at a time");
}

#[tokio::test(start_paused = true)]
async fn c_67_a_host_that_flaps_is_unstable_and_a_wrong_card_is_confirmed() {
    let chain = Chain::of(|_, id| Ok(Some(record(id, &url(id, 4), b"anchored"))));
    let hosts = Hosts::of(|uri, times| match uri.rsplit('/').next().unwrap() {
        "0" => Ok(b"anchored".to_vec()),
        "1" => Ok(b"wrong".to_vec()),
        "2" if times % 2 == 1 => Ok(b"stale".to_vec()),
        "2" => Ok(b"anchored".to_vec()),
        _ if times == 3 => Err(FailureKind::ConnectFailure),
        _ => Ok(b"wrong".to_vec()),
    });
    let found = verdicts(&chain, &hosts, AuditSettings { confirm: 2, ..settings() }, 0..4).await;
    let reasons: Vec<Reason> = (0..4).map(|id| found[&id].reason).collect();
    assert_eq!(reasons, [Reason::Match, Reason::HashMismatch, Reason::Unstable, Reason::Unstable]);
    let asked: Vec<usize> = (0..4).map(|id| hosts.asked()[&url(id, 4)]).collect();
    assert_eq!(asked, [1, 3, 2, 3]);
    assert!(found[&2].message.contains("asked again bytes that hash to"), "{}", found[&2].message);
}

#[tokio::test(start_paused = true)]
async fn c_83_a_node_that_is_gone_for_good_ends_the_run_in_bounded_time() {
    let chain = gone_after(100);
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let found = verdicts(&chain, &hosts, settings(), 0..10_000).await;
    let unavailable = found.values().filter(|verdict| verdict.reason == Reason::NodeUnavailable).count();
    assert_eq!((found.len(), unavailable), (10_000, 9_900));
    assert!(chain.reads.load(Ordering::SeqCst) < 300, "nobody waits for the same answer ten thousand times");
}

/// It takes connections and says nothing, so that every call takes as long as a call may take.
#[tokio::test(start_paused = true)]
async fn c_83_a_node_that_freezes_costs_bounded_time_however_many_agents_are_left() {
    for (agents, wrong) in [(500, 0), (20_000, 0), (500, 50)] {
        let chain = Chain::of(move |_, id| match id {
            0..100 if id < wrong => Ok(Some(record(id, &url(id, 5), b"another"))),
            0..100 => Ok(Some(record(id, &url(id, 5), &own_card(id)))),
            _ => Err(ChainErrorKind::NodeUnavailable),
        });
        let chain = chain.with_silence(Duration::from_secs(20));
        let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
        let begun = Instant::now();
        let found = verdicts(&chain, &hosts, settings(), 0..agents).await;
        let count = |reason| found.values().filter(|verdict| verdict.reason == reason).count() as u64;
        assert_eq!((count(Reason::Match), count(Reason::NodeUnavailable)), (100 - wrong, agents - 100 + wrong));
        assert!(begun.elapsed() < Duration::from_secs(70), "{agents}: {:?}", begun.elapsed());
        assert!(chain.reads.load(Ordering::SeqCst) < 200, "one call finds out whether it is back, and the others wait");
    }
}

/// A node that is being restarted costs time and no verdict, not even those of the second look.
#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_loses_nothing() {
    let begun = tokio::time::Instant::now();
    let away = move || (Duration::from_secs(1)..Duration::from_secs(14)).contains(&begun.elapsed());
    let chain = Chain::of(move |_, id| {
        let anchored = if id % 3 == 0 { b"another".to_vec() } else { own_card(id) };
        if away() {
            Err(ChainErrorKind::NodeUnavailable)
        } else {
            Ok(Some(record(id, &url(id, 5), &anchored)))
        }
    });
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri))).with_latency(Duration::from_millis(100));
    let found = verdicts(&chain, &hosts, AuditSettings { host_concurrency: 10, ..settings() }, 0..1000).await;
    let mismatches = found.values().filter(|verdict| verdict.reason == Reason::HashMismatch).count();
    let matches = found.values().filter(|verdict| verdict.reason == Reason::Match).count();
    assert_eq!((found.len(), mismatches, matches), (1000, 334, 666));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

/// An error that the node answers with is an answer: it is there, and only some questions are not answered at first.
#[tokio::test(start_paused = true)]
async fn a_node_that_answers_with_errors_is_not_taken_for_gone() {
    let begun = tokio::time::Instant::now();
    let asked = std::sync::Mutex::new(std::collections::HashSet::new());
    let chain = Chain::of(move |_, id| match id % 2 {
        0 => Err(ChainErrorKind::NodeError),
        _ if asked.lock().unwrap().insert(id) => Err(ChainErrorKind::NodeUnavailable),
        _ => Ok(Some(record(id, &url(id, 5), &own_card(id)))),
    });
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let found = verdicts(&chain, &hosts, settings(), 0..400).await;
    assert_eq!(found.values().filter(|verdict| verdict.reason == Reason::Match).count(), 200);
    assert!(begun.elapsed() < Duration::from_secs(3), "one pause, at the end: {:?}", begun.elapsed());
}

/// Those who share the run may have a node.
#[tokio::test(start_paused = true)]
async fn whoever_shares_a_run_leaves_it_to_the_others_when_the_node_is_gone() {
    let chain = gone_after(100);
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let settings = AuditSettings { shared: true, ..settings() };
    let audit = Audit::begin(chain.clone(), hosts.clone(), settings).await.unwrap();
    let mut running = audit.start((0..1000).map(TokenId));
    let mut judged = 0;
    let error = loop {
        match running.next().await.unwrap() {
            Ok(verdict) => {
                assert_eq!(verdict.reason, Reason::Match);
                judged += 1;
            }
            Err(error) => break error,
        }
    };
    assert_eq!((judged, error.kind), (100, ChainErrorKind::NodeUnavailable));
}

#[tokio::test(start_paused = true)]
async fn a_node_error_of_one_agent_is_its_own() {
    let chain = Chain::of(|_, id| match id {
        5 => Err(ChainErrorKind::RecordUndecodable),
        6 => Err(ChainErrorKind::NodeError),
        id => Ok(Some(record(id, &url(id, 5), &own_card(id)))),
    });
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let found = verdicts(&chain, &hosts, settings(), 0..10).await;
    assert_eq!((found[&5].reason, found[&6].reason), (Reason::RecordUndecodable, Reason::NodeError));
    assert_eq!(found.values().filter(|verdict| verdict.class() == Class::Match).count(), 8);
}

#[tokio::test(start_paused = true)]
async fn owner_status_and_sample_leave_the_others_out() {
    let chain = Chain::of(|_, id| {
        let status = if id % 2 == 0 { AgentStatus::Revoked } else { AgentStatus::Active };
        let mut owner = [u8::from(id % 5 == 0); 32];
        owner[31] = id as u8;
        let owner_account = AccountAddress(owner);
        Ok((id < 1000).then(|| AgentRecord { status, owner_account, ..record(id, &url(id, 9), &own_card(id)) }))
    });
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let all = AuditSettings { skip_missing: true, ..settings() };
    let revoked = AuditSettings { status: Some(AgentStatus::Revoked), ..all.clone() };
    assert_eq!(verdicts(&chain, &hosts, revoked.clone(), 0..1100).await.len(), 500);
    let owned = AuditSettings { owner: Some(AccountAddress([1; 32])), ..revoked.clone() };
    let found = verdicts(&chain, &hosts, owned, 0..1100).await;
    assert!(found.len() == 100 && found.keys().all(|id| id % 10 == 0), "an alias of the owner is the owner");
    let asked = hosts.asked().len();
    let sample = AuditSettings { limit: Some(50), status: Some(AgentStatus::Active), ..all };
    let sampled = verdicts(&chain, &hosts, sample, Targets::below(1100).shuffled(7).map(|id| id.0)).await;
    assert_eq!(sampled.len(), 50);
    assert!(hosts.asked().len() <= asked + 50, "what is left out is not fetched");
    // Which ones they are, is decided by their order alone and not by which record was read first.
    let mut first: Vec<u64> =
        Targets::below(1100).shuffled(7).map(|id| id.0).filter(|id| id % 2 == 1 && *id < 1000).take(50).collect();
    let mut ids: Vec<u64> = sampled.into_keys().collect();
    first.sort_unstable();
    ids.sort_unstable();
    assert_eq!(ids, first);
}

#[tokio::test(start_paused = true)]
async fn c_57_a_remembered_url_takes_at_most_64_bytes() {
    let (chain, hosts) = (registry(20_000, 500), Hosts::of(|uri, _| Ok(card_of(uri))));
    let audit = Audit::begin(chain, hosts, settings()).await.unwrap();
    let mut running = audit.start((0..20_000).map(TokenId));
    let mut count = 0;
    while let Some(verdict) = running.next().await {
        verdict.unwrap();
        count += 1;
    }
    let bytes = running.progress().url_bytes;
    assert_eq!((count, running.progress().done), (20_000, 20_000));
    assert!((20_000 * 56..=20_000 * 64).contains(&bytes), "{bytes}");
}

#[tokio::test(start_paused = true)]
async fn c_57_the_parts_of_a_run_share_what_they_know_of_urls() {
    let chain = Chain::of(|_, id| Ok(Some(record(id, "https://one.example/card", if id == 350 { b"other" } else { b"shared" }))));
    let hosts = Hosts::of(|_, _| Ok(b"shared".to_vec()));
    let audit = Audit::begin(chain, hosts.clone(), AuditSettings { confirm: 1, ..settings() }).await.unwrap();
    let mut reasons = std::collections::BTreeMap::new();
    for part in 0..3 {
        let mut running = audit.start((part * 200..(part + 1) * 200).map(TokenId));
        while let Some(verdict) = running.next().await {
            *reasons.entry(verdict.unwrap().reason.as_str()).or_insert(0) += 1;
        }
    }
    assert_eq!(reasons, [("match", 599), ("hash_mismatch", 1)].into());
    assert_eq!(hosts.asked()["https://one.example/card"], 2, "once, and once more to confirm the mismatch");
}

#[tokio::test(start_paused = true)]
async fn a_mismatch_judged_by_what_another_agents_fetch_brought_has_its_near_misses_or_says_that_they_are_unknown() {
    let anchored =
        |cards: fn(u64) -> &'static [u8]| Chain::of(move |_, id| Ok(Some(record(id, "https://one.example/card", cards(id)))));
    let hosts = || Hosts::of(|_, _| Ok(b"{}\n".to_vec()));
    let note = |verdict: &cardproof::verify::Verdict| verdict.notes.first().map(|note| note.code);
    let near = Some(cardproof::verify::NoteCode::MatchesWithoutFinalNewline);
    // Of the same wrong anchor: what the first one's check found is true of all.
    let all = hosts();
    let found = verdicts(&anchored(|_| b"{}"), &all, settings(), 0..20).await;
    assert!(found.values().all(|verdict| note(verdict) == near && !verdict.message.contains("near misses")));
    assert_eq!(all.asked()["https://one.example/card"], 1);
    // The body came for an agent that it is the card of.
    let mixed = anchored(|id| if id < 10 { b"{}\n" } else { b"{}" });
    let some = hosts();
    let found = verdicts(&mixed, &some, settings(), 0..20).await;
    assert!(found[&3].message == Reason::Match.sentence() && found[&3].notes.is_empty());
    assert_eq!((found[&15].reason, note(&found[&15])), (Reason::HashMismatch, None));
    assert!(found[&15].message.contains("near misses were not looked for"), "{}", found[&15].message);
    assert_eq!(some.asked()["https://one.example/card"], 1);
    // A fetch that confirms the mismatch brings the body that tells.
    let confirmed = verdicts(&mixed, &hosts(), AuditSettings { confirm: 1, ..settings() }, 0..20).await;
    assert!((10..20).all(|id| note(&confirmed[&id]) == near && !confirmed[&id].message.contains("near misses")));
}

#[tokio::test(start_paused = true)]
async fn a_gap_is_left_out_and_an_agent_that_vanished_is_not() {
    let chain = Chain::of(|_, id| Ok((id % 3 == 0).then(|| record(id, &url(id, 5), &own_card(id)))));
    let hosts = Hosts::of(|uri, _| Ok(card_of(uri)));
    let had_agents = Some(std::sync::Arc::new("0-4,30".parse().unwrap()));
    let found = verdicts(&chain, &hosts, AuditSettings { skip_missing: true, had_agents, ..settings() }, 0..9).await;
    let mut ids: Vec<_> = found.iter().map(|(id, verdict)| (*id, verdict.reason)).collect();
    ids.sort_by_key(|(id, _)| *id);
    let (there, gone) = (Reason::Match, Reason::AgentNotFound);
    assert_eq!(ids, [(0, there), (1, gone), (2, gone), (3, there), (4, gone), (6, there)]);
}
