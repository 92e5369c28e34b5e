//! A run that is stopped or killed on the way, and what is left of it.

use std::collections::HashSet;
use std::time::Duration;

use cardproof::audit::{Audit, Found};
use cardproof::chain::ChainErrorKind;
use cardproof::identity::TokenId;
use cardproof::verify::{Reason, Verdict};
use tokio::time::Instant;

use super::seams::{record, settings, Chain, Hosts};

/// Every agent below `mismatches` is served another card than was anchored; the host of the others takes 20 seconds.
fn registry(mismatches: u64) -> Chain {
    Chain::of(move |_, id| {
        let host = if id < mismatches { "quick" } else { "slow" };
        Ok(Some(record(id, &format!("https://{host}{}.example/{id}", id % 7), b"anchored")))
    })
}

const SLOW: [&str; 7] =
    ["slow0.example", "slow1.example", "slow2.example", "slow3.example", "slow4.example", "slow5.example", "slow6.example"];

fn hosts() -> Hosts {
    Hosts::of(|_, _| Ok(b"served".to_vec())).with_slow(&SLOW)
}

fn token(verdict: &Verdict) -> TokenId {
    verdict.subject.as_ref().unwrap().token_id
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_looks_again_at_once_at_the_mismatches_it_has_found() {
    let chain = registry(50);
    let audit = Audit::begin(chain.clone(), hosts(), settings()).await.unwrap();
    let mut running = audit.start((0..200).map(TokenId));
    let mut found = HashSet::new();
    while found.len() < 50 {
        match running.step().await.unwrap().unwrap() {
            Found::Mismatch(mismatch) => assert!(found.insert(token(&mismatch))),
            Found::Verdict(verdict) => panic!("{} before the second look", verdict.reason),
        }
    }
    let begun = Instant::now();
    running.stop();
    let mut verdicts = HashSet::new();
    while let Some(verdict) = running.next().await {
        let verdict = verdict.unwrap();
        assert_eq!((verdict.reason, verdict.block.unwrap().height), (Reason::HashMismatch, 2));
        verdicts.insert(token(&verdict));
    }
    assert!(verdicts.is_superset(&found), "{}", verdicts.len());
    assert!(begun.elapsed() < Duration::from_secs(1), "nothing else is waited for: {:?}", begun.elapsed());
    assert_eq!(running.progress().held, 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_leaves_mismatches_undone_that_the_node_does_not_answer_for() {
    let chain = Chain::of(|height, id| match height {
        1 => Ok(Some(record(id, &format!("https://a.example/{id}"), b"anchored"))),
        _ => Err(ChainErrorKind::NodeUnavailable),
    });
    let audit = Audit::begin(chain, hosts(), settings()).await.unwrap();
    let mut running = audit.start((0..40).map(TokenId));
    for _ in 0..30 {
        assert!(matches!(running.step().await.unwrap().unwrap(), Found::Mismatch(_)));
    }
    running.stop();
    let begun = Instant::now();
    assert!(running.next().await.is_none());
    assert!(running.progress().held >= 30 && begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn mismatches_found_before_are_looked_at_again_and_not_fetched_again() {
    let (chain, hosts) = (registry(20), hosts());
    let audit = Audit::begin(chain.clone(), hosts.clone(), settings()).await.unwrap();
    let mut running = audit.start((0..20).map(TokenId));
    let mut held = Vec::new();
    while held.len() < 20 {
        if let Found::Mismatch(mismatch) = running.step().await.unwrap().unwrap() {
            held.push(*mismatch);
        }
    }
    drop(running);
    let mut running = audit.go_on((20..22).map(TokenId), held);
    let mut reached = 0;
    while let Some(verdict) = running.next().await {
        let verdict = verdict.unwrap();
        assert_eq!((verdict.reason, verdict.block.unwrap().height), (Reason::HashMismatch, 2), "one newer block for all");
        reached += 1;
    }
    assert_eq!(reached, 22);
    assert!(hosts.asked().values().all(|times| *times == 1));
}

#[cfg(unix)]
mod processes {
    use std::time::Duration;

    use cardproof::devnet::Devnet;
    use serde_json::Value;
    use tokio::process::Child;

    use crate::support::card_host::{Act, Answer, CardHost};
    use crate::support::command::Tool;

    const LOOPBACK: [&str; 6] = ["--allow-http", "--allow-private", "--per-host", "2", "--per-host-rate", "0"];

    /// So many agents whose host serves another card than was anchored, each after a tenth of a second. A card that does not match is
    /// fetched twice.
    async fn bench(agents: usize) -> (Devnet, CardHost, Tool) {
        let net = Devnet::start().await.unwrap();
        let wait = || Act::Pause(Duration::from_millis(100));
        // The beginning of a card is asked for twice.
        let host = CardHost::http(move |_| Answer(std::iter::once(wait()).chain(Answer::ok(b"{\"served\":").0).collect())).await;
        let base = host.url("/");
        net.preload_agents(1, agents, move |number| (format!("{base}{number}"), Some([9; 32]))).await.unwrap();
        let tool = Tool::on(&net);
        (net, host, tool)
    }

    async fn begin(tool: &Tool, host: &CardHost, args: &[&str], asked: usize) -> Child {
        let child = tool.command(&[&["audit", "--all"][..], &LOOPBACK, args].concat()).spawn().unwrap();
        while host.requests().len() < asked {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        child
    }

    fn results(document: &Value) -> Vec<String> {
        let results = document["results"].as_array().unwrap().iter();
        results.map(|result| result["token_id"].as_str().unwrap().to_owned()).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_interrupted_run_prints_and_stores_the_mismatches_found_so_far() {
        for name in ["-INT", "-TERM"] {
            let (_net, host, tool) = bench(30).await;
            let child = begin(&tool, &host, &["--json"], 24).await;
            let id = child.id().unwrap().to_string();
            assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
            let output = child.wait_with_output().await.unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(130), "{said}");
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            let printed = results(&document).len();
            assert!(printed >= 8 && document["summary"]["mismatch"] == printed, "{document:#}");
            assert!(said.contains(&format!("interrupted: {printed} agents have a result, {} do not", 30 - printed)), "{said}");
            let runs = tool.run(&["audit", "runs", "--json"]).await.json();
            assert_eq!(runs["runs"][0]["summary"]["mismatch"], printed);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_killed_run_has_found_is_not_fetched_again() {
        let (_net, host, tool) = bench(30).await;
        let mut child = begin(&tool, &host, &[], 28).await;
        // The last ones are on their way, and what was found takes a moment to be written down.
        tokio::time::sleep(Duration::from_millis(90)).await;
        child.start_kill().unwrap();
        child.wait().await.unwrap();
        let before = host.requests().len();
        let resumed = tool.run(&[&["audit", "--all", "--resume", "--json"][..], &LOOPBACK].concat()).await;
        assert_eq!((resumed.code, &resumed.json()["summary"]["mismatch"]), (1, &Value::from(30)), "{}", resumed.stderr);
        assert!(resumed.stderr.contains("are looked at again at a newer block, and not fetched again"), "{}", resumed.stderr);
        let again = host.requests().len() - 60;
        assert!(again <= 8, "{again} of {before} cards were fetched again");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_interrupted_sample_is_gone_on_with_over_the_same_agents() {
        let (_net, host, tool) = bench(40).await;
        let mut child = begin(&tool, &host, &["--sample", "12"], 12).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        child.start_kill().unwrap();
        child.wait().await.unwrap();
        let all = tool.run(&[&["audit", "--all", "--resume"][..], &LOOPBACK].concat()).await;
        assert_eq!(all.code, 2);
        assert!(all.stderr.contains("is about other agents: a random sample of 12 of all agents"), "{}", all.stderr);
        let another = tool.run(&[&["audit", "--all", "--sample", "13", "--resume"][..], &LOOPBACK].concat()).await;
        assert_eq!(another.code, 2, "{}", another.stderr);
        let begun: std::collections::HashSet<_> = host.requests().into_iter().map(|request| request.path).collect();
        let args = [&["audit", "--all", "--sample", "12", "--resume", "--json"][..], &LOOPBACK].concat();
        let resumed = tool.run(&args).await;
        assert_eq!(resumed.code, 1, "{}", resumed.stderr);
        let sample = results(&resumed.json());
        assert_eq!(sample.len(), 12);
        let fetched: std::collections::HashSet<_> = host.requests().into_iter().map(|request| request.path).collect();
        assert!(fetched.len() == 12 && fetched.is_superset(&begun), "the same ones: {fetched:?} after {begun:?}");
        assert_eq!(tool.run(&args).await.code, 2, "it has ended");
    }
}
