//! Alerts and the daemon, as the command.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::{assert_valid, Tool};

const CARD: &[u8] = b"a card";
const LOOPBACK: [&str; 2] = ["--allow-http", "--allow-private"];

/// A chain with two agents, and their host, which serves another card once it is told to.
async fn bench() -> (Devnet, CardHost, Arc<AtomicBool>, Tool) {
    let net = Devnet::start().await.unwrap();
    let broken = Arc::new(AtomicBool::new(false));
    let switch = broken.clone();
    let host =
        CardHost::http(move |_| if switch.load(Ordering::SeqCst) { Answer::ok(b"broken") } else { Answer::ok(CARD) }).await;
    let base = host.url("/");
    net.preload_agents(1, 2, move |number| (format!("{base}{number}"), Some(Sha256Digest::of(CARD).0))).await.unwrap();
    let tool = Tool::on(&net);
    (net, host, broken, tool)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_reaches_the_webhook_the_command_and_stdout() {
    let (_net, _host, broken, tool) = bench().await;
    let receiver = CardHost::http(|_| Answer::with(200, &[("Connection", "close")], "").then(Act::Close)).await;
    let script = tool.folder().join("told.sh");
    let told = tool.folder().join("told");
    std::fs::write(&script, format!("#!/bin/sh\ncat >> {}\n", told.display())).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let args = ["audit", "--all", "--notify-stdout", "--notify-command", script.to_str().unwrap(), LOOPBACK[0], LOOPBACK[1]];
    let run = || async {
        let mut command = tool.command(&args);
        command.env("CARDPROOF_WEBHOOK_URL", receiver.url("/hook/geheim"));
        command.env("CARDPROOF_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").env("PATH", "/usr/bin:/bin");
        command.output().await.unwrap()
    };
    let first = run().await;
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(first.stdout.is_empty(), "nothing has changed: {}", String::from_utf8_lossy(&first.stdout));
    broken.store(true, Ordering::SeqCst);
    let second = run().await;
    assert_eq!(second.status.code(), Some(1), "{}", String::from_utf8_lossy(&second.stderr));
    assert!(!String::from_utf8_lossy(&second.stderr).contains("geheim"));
    let lines: Vec<Value> =
        String::from_utf8(second.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    lines.iter().for_each(|line| assert_valid("transition", line));
    assert_eq!(std::fs::read_to_string(&told).unwrap().lines().count(), 2);
    let posts: Vec<_> = receiver.requests().into_iter().filter(|request| request.method == "POST").collect();
    assert_eq!(posts.len(), 2);
    assert!(posts.iter().all(|post| post.header("webhook-signature").unwrap().starts_with("v1,")));
    let mut keys: Vec<&str> = posts.iter().map(|post| post.header("webhook-id").unwrap()).collect();
    let mut printed: Vec<&str> = lines.iter().map(|line| line["idempotency_key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    printed.sort_unstable();
    assert_eq!(keys, printed, "one key for all sinks");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_runs_again_is_watched_and_stops_when_told_to() {
    let (_net, host, broken, tool) = bench().await;
    let args = ["audit", "--all", "--jsonl", "--every", "1s", "--listen", "127.0.0.1:0", LOOPBACK[0], LOOPBACK[1]];
    let mut child = tool.command(&args).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = stderr.next_line().await.unwrap().unwrap();
    let address = line.strip_prefix("metrics are at http://").unwrap().strip_suffix("/metrics").unwrap().to_owned();
    let get = |path: &'static str| {
        let address = address.clone();
        async move {
            let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            socket.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            socket.read_to_string(&mut answer).await.unwrap();
            answer
        }
    };
    for _ in 0..2 {
        let document: Value = serde_json::from_str(&stdout.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!((document["match"].as_bool(), &document["transition"]), (Some(true), &Value::Null));
    }
    broken.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let document: Value = serde_json::from_str(&stdout.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(document["transition"]["kind"], "match_to_mismatch");
    }
    assert!(get("/healthz").await.starts_with("HTTP/1.1 200"));
    let begun = Instant::now();
    let metrics = loop {
        let metrics = get("/metrics").await;
        if metrics.contains("cardproof_runs_total{outcome=\"complete\"} 2") || begun.elapsed() > Duration::from_secs(5) {
            break metrics;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(metrics.contains("cardproof_verdicts_total{class=\"mismatch\"} 2"), "{metrics}");
    assert!(!metrics.contains(&host.address.to_string()), "C-66: no URL in a label");
    assert!(get("/readyz").await.starts_with("HTTP/1.1 200"));
    let signal = |name: &str| {
        let status = std::process::Command::new("kill").args([name, &child.id().unwrap().to_string()]).status().unwrap();
        assert!(status.success());
    };
    signal("-HUP");
    while !stderr.next_line().await.unwrap().unwrap().contains("read again") {}
    signal("-TERM");
    let rest = async { while let Ok(Some(_)) = stdout.next_line().await {} };
    let (status, ()) = tokio::join!(child.wait(), rest);
    assert_eq!(status.unwrap().code(), Some(0));
}
