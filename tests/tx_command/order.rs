//! One command after another, without waiting for the first.

use std::time::Duration;

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;

use crate::bench::Bench;

async fn slow() -> Bench {
    let delay = Duration::from_millis(700);
    Bench::built(Devnet::builder().commit_delay(delay).finality_delay(delay)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_points_read_what_the_command_before_has_done() {
    let bench = slow().await;
    let agent = bench.agent("https://a.example/k1.json").await;
    let (first, second) = (bench.serve("/k2.json", "two"), bench.write("b.json", "two"));
    let hash = Sha256Digest::of(b"one").to_string();
    let set = ["tx", "set-agent-uri", &agent, "--yes", "--json"];
    bench.run_as(1, &[&set[..], &["--hash", &hash, "--uri", &first, "--no-wait", "--no-url-check"]].concat()).await.code(0);
    let run = bench.run_as(1, &[&set[..], &["--card", &second, "--keep-uri"]].concat()).await.code(0);
    let run = run.says("waiting for the earlier transactions").says(&format!("keeps      URI {first}"));
    assert_eq!(run.json()["events"][0]["agent_uri"], first);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_command_before_makes_impossible_is_not_sent() {
    let bench = slow().await;
    let (uri, card) = (bench.serve("/card.json", "card"), bench.write("card.json", "card"));
    let (moved, revoked) = (bench.agent(&uri).await, bench.agent("https://a.example/2").await);
    let (target, no_wait) = (bench.address(2), ["--yes", "--no-wait"]);
    bench.run_as(1, &[&["tx", "transfer", &moved, "--to", &target][..], &no_wait].concat()).await.code(0);
    let run = bench.run_as(1, &["anchor", &moved, "--card", &card, "--yes", "--json"]).await;
    assert_eq!(run.error(), "not_owner");
    bench.run_as(1, &[&["tx", "revoke", &revoked][..], &no_wait].concat()).await.code(0);
    let run = bench.run_as(1, &["tx", "set-metadata", &revoked, "--metadata", "k=v", "--yes", "--json"]).await;
    assert_eq!(run.error(), "would_be_rejected");
    assert_eq!(bench.sent_by(1).await, 4, "two registrations, a transfer, a revocation");
}
