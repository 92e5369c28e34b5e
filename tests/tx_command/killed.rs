//! Killed at any point between signing, sending and waiting: at most one transaction, and the state is recovered.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;

use crate::bench::Bench;

const CARD: &str = "{\"name\":\"agent\"}\n";

/// Runs `anchor`, kills it (SIGKILL) when stderr shows `at` and some time has passed, and recovers.
async fn killed(at: &'static str, after: Duration) {
    let delay = Duration::from_millis(300);
    let bench = Bench::built(Devnet::builder().commit_delay(delay).finality_delay(delay)).await;
    let uri = bench.serve("/card.json", CARD);
    let agent = bench.agent(&uri).await;
    let card = bench.write("card.json", CARD);
    let keys = bench.text("1.json");
    let anchor = ["anchor", &agent, "--card", &card, "--keys", &keys, "--yes", "--expiry", "4s", "-v", "--json"];

    let mut child = bench.command(&anchor).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = child.stderr.take().unwrap();
    tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(stderr).lines();
        lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(at))).expect("it comes this far").unwrap();
        std::thread::sleep(after);
        // SIGKILL: nothing of the process runs any more.
        child.kill().unwrap();
        child.wait().unwrap();
    })
    .await
    .unwrap();

    // While its end is not known, the same thing is not signed again: it is followed, or refused.
    let resumed = bench.run(&[&anchor[..], &["--resume"]].concat()).await;
    let code = resumed.0.status.code().unwrap();
    if code != 0 {
        // It had been signed and not sent, and has expired by now: the only case in which a new one may be built.
        assert_eq!(code, 1, "{}", resumed.text());
        assert_eq!(resumed.json()["state"], "expired");
        assert_eq!(bench.sent_by(1).await, 1, "only the registration");
        bench.run(&anchor).await.code(0);
    } else {
        assert_eq!(resumed.json()["verify"]["match"], true);
    }
    assert_eq!(bench.sent_by(1).await, 2, "the registration, and one anchoring");
    let shown = bench.run(&["verify", &agent, "--json"]).await.code(0).json();
    assert_eq!(shown["results"][0]["anchored_sha256"], Sha256Digest::of(CARD.as_bytes()).to_string());
    // And what was done is not done again.
    bench.run(&anchor).await.code(0);
    assert_eq!(bench.sent_by(1).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_the_change_is_shown() {
    killed("expires", Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_when_it_is_signed() {
    killed("signed: the transaction is", Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_when_it_is_sent() {
    killed("sent ", Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_waits_for_its_block() {
    killed("is received", Duration::from_millis(150)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_waits_for_finality() {
    killed("is committed", Duration::from_millis(100)).await;
}
