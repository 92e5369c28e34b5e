use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::registry::parameter::{Parameter, SetAgentUri};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::support::card_host::{Act, Answer, CardHost};
use crate::support::command::{assert_valid, Ran, Tool};

const CARD: &[u8] = include_bytes!("../vectors/card-testnet-287.json");

/// What raises the limits and shortens the waits for loopback hosts.
const LOOPBACK: [&str; 8] = ["--allow-http", "--allow-private", "--per-host", "64", "--per-host-rate", "0", "--timeout", "6s"];

async fn audit(tool: &Tool, args: &[&str]) -> Ran {
    tool.run(&[&["audit"], args, &LOOPBACK].concat()).await
}

/// Serves by the last part of the path, whatever comes before it.
async fn host() -> CardHost {
    CardHost::http(|request| match request.path.rsplit('/').next().unwrap() {
        "card" => Answer::ok(CARD),
        "wrong" => Answer::ok(b"another card"),
        "gone" => Answer::status(404),
        "teapot" => Answer::status(418),
        "limited" => Answer::status(429),
        "wall" => Answer::with(403, &[("cf-mitigated", "challenge")], "<html>"),
        "cut" => Answer::head(200, &[("Content-Length", "282")]).write(&CARD[..100]).then(Act::Close),
        "coding" => Answer::with(200, &[("Content-Encoding", "gzip")], CARD),
        "loop" => Answer::redirect(302, &request.path),
        "astray" => Answer::redirect(302, "ftp://cards.example/"),
        "private" => Answer::redirect(302, "http://169.254.169.254/latest/"),
        "huge" => Answer::head(200, &[("Content-Length", "99999999999")]),
        "hang" => Answer::head(200, &[("Content-Length", "282")]).then(Act::Hang),
        "nonsense" => Answer::default().write("this is not HTTP\r\n\r\n").then(Act::Close),
        other => panic!("no such path: {other}"),
    })
    .await
}

/// Registers agents with these URIs, all with the hash of [`CARD`].
async fn preload(net: &Devnet, uris: Vec<String>) {
    let count = uris.len();
    net.preload_agents(1, count, move |number| (uris[number].clone(), Some(Sha256Digest::of(CARD).0))).await.unwrap();
}

fn counts(document: &Value) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for result in document["results"].as_array().unwrap() {
        *counts.entry(result["reason"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn c_25_a_thousand_agents_with_every_failure_are_counted_exactly() {
    let (net, host) = (Devnet::start().await.unwrap(), host().await);
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let not_tls = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let not_tls_at = not_tls.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = not_tls.accept().await {
            let _ = socket.write_all(b"220 mail.example ESMTP\r\n").await;
        }
    });
    let of_host = [
        ("gone", "not_found"),
        ("teapot", "http_status"),
        ("limited", "rate_limited"),
        ("wall", "blocked_by_bot_wall"),
        ("cut", "truncated"),
        ("coding", "bad_content_coding"),
        ("loop", "redirect_limit"),
        ("astray", "redirect_invalid"),
        ("private", "blocked_address"),
        ("huge", "too_large"),
        ("hang", "timeout"),
        ("nonsense", "protocol_error"),
    ];
    let of_record = [
        ("cards.example/no-scheme".to_owned(), "invalid_uri"),
        ("ftp://cards.example/".to_owned(), "unsupported_scheme"),
        ("https://cards.example:22/".to_owned(), "blocked_port"),
        (format!("http://{closed}/"), "connect_failure"),
        (format!("https://{not_tls_at}/"), "tls_failure"),
    ];
    let mut uris = Vec::new();
    let mut expected = BTreeMap::from([("hash_mismatch".to_owned(), 140)]);
    uris.extend((0..140).map(|number| host.url(&format!("/{number}/wrong"))));
    for (path, reason) in of_host {
        uris.extend((0..15).map(|number| host.url(&format!("/{number}/{path}"))));
        *expected.entry(reason.to_owned()).or_default() += 15;
    }
    for (uri, reason) in of_record {
        uris.extend((0..15).map(|number| format!("{uri}#{number}")));
        *expected.entry(reason.to_owned()).or_default() += 15;
    }
    let fine = 1000 - 30 - uris.len();
    uris.extend((0..fine).map(|number| host.url(&format!("/{number}/card"))));
    expected.insert("match".to_owned(), fine);
    preload(&net, uris).await;
    let bare = host.url("/bare/card");
    net.preload_agents(1, 15, move |_| (bare.clone(), None)).await.unwrap();
    for _ in 0..15 {
        net.register_agent(0, None, Some([1; 32])).await.unwrap();
    }
    expected.extend([("no_hash_on_chain".to_owned(), 15), ("no_uri_on_chain".to_owned(), 15)]);

    let ran = audit(&Tool::on(&net), &["--all", "--json"]).await;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let document = ran.json();
    assert_valid("audit", &document);
    assert_eq!(counts(&document), expected);
    let summary = &document["summary"];
    let number = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!((number("agents"), number("mismatch"), number("absent")), (1000, 140, 30));
    assert_eq!(number("match") + number("undecided"), 830);
    assert_eq!(document["results"].as_array().unwrap().len(), 1000);
    assert!(document["run"]["selection"].as_str().unwrap().starts_with("all agents from 0 to 999"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_select_agents_and_c_61_an_empty_one() {
    let (net, host) = (Devnet::start().await.unwrap(), host().await);
    preload(&net, (0..20).map(|number| host.url(&format!("/{number}/card"))).collect()).await;
    let tool = Tool::on(&net);
    let found = |ran: &Ran| -> Vec<u64> {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let document = ran.json();
        let ids = document["results"].as_array().unwrap().iter().map(|result| result["token_id"].as_str().unwrap().to_owned());
        let mut ids: Vec<u64> = ids.map(|id| id.parse().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(found(&audit(&tool, &["--ids", "1-3,7,2", "--json"]).await), [1, 2, 3, 7]);
    assert_eq!(found(&audit(&tool, &["--all", "--json", "--no-store"]).await), (0..20).collect::<Vec<_>>());
    let owner = net.account(1).unwrap().address().to_string();
    assert_eq!(found(&audit(&tool, &["--owner", &owner, "--json"]).await).len(), 20);
    assert_eq!(found(&audit(&tool, &["--all", "--sample", "5", "--status", "active", "--json"]).await).len(), 5);
    let list = tool.folder().join("names");
    std::fs::write(&list, "# mine\n3\n\n5\n3\n").unwrap();
    assert_eq!(found(&audit(&tool, &["--from", list.to_str().unwrap(), "--json"]).await), [3, 5]);
    let token = tool.run(&["token", "4", "--json"]).await.json()["caip19"].as_str().unwrap().to_owned();
    let registry = tool.folder().join("registry.json");
    let text =
        format!(r#"{{"agents":[{{"name":"a","url":"u","x-cardproof":{{"caip19":"{token}"}}}},{{"name":"b","url":"u"}}]}}"#);
    std::fs::write(&registry, text).unwrap();
    let ran = audit(&tool, &["--agents", registry.to_str().unwrap(), "--json"]).await;
    assert_eq!(found(&ran), [4]);
    assert!(ran.stderr.contains("b is not verified"), "{}", ran.stderr);
    let verified =
        tool.run(&["verify", "--agents", registry.to_str().unwrap(), "--json", "--allow-http", "--allow-private"]).await;
    assert_eq!(found(&verified), [4]);

    let stranger = net.account(2).unwrap().address().to_string();
    std::fs::write(&list, "# nobody\n").unwrap();
    for selection in [&["--owner", stranger.as_str()][..], &["--from", list.to_str().unwrap()], &["--all", "--status", "revoked"]]
    {
        let ran = audit(&tool, &[selection, &["--json"]].concat()).await;
        assert_eq!((ran.code, ran.json()["code"].as_str()), (2, Some("empty_selection")), "{selection:?}");
    }
    for wrong in [&["--ids", "5-1"][..], &["--all", "--ids", "1"], &[]] {
        assert_eq!(audit(&tool, wrong).await.code, 2, "{wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_is_clean_and_the_table_counts() {
    let (net, host) = (Devnet::start().await.unwrap(), host().await);
    preload(&net, vec![host.url("/0/card"), host.url("/1/wrong"), host.url("/2/gone")]).await;
    let tool = Tool::on(&net);
    let lines = audit(&tool, &["--all", "--jsonl", "-v"]).await;
    assert_eq!(lines.code, 1);
    let documents: Vec<Value> = lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(documents.len(), 3);
    documents.iter().for_each(|document| assert_valid("report", document));
    assert!(documents.iter().all(|document| document["transition"].is_null()), "what was always so has not changed");
    let file = |name: &str| tool.folder().join(name);
    let (sarif, metrics) = (format!("sarif={}", file("a.sarif").display()), format!("prometheus={}", file("a.prom").display()));
    let table = audit(&tool, &["--all", "--report", &sarif, "--report", &metrics]).await;
    assert!(table.stdout.contains("3 agents: 1 match, 1 mismatch, 0 absent, 1 undecided"), "{}", table.stdout);
    let sarif: Value = serde_json::from_str(&std::fs::read_to_string(file("a.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
    assert!(std::fs::read_to_string(file("a.prom")).unwrap().contains("cardproof_"));
    for format in ["csv", "junit", "markdown", "prometheus", "sarif", "jsonl", "html"] {
        let ran = audit(&tool, &["--all", "--format", format]).await;
        assert!(ran.code == 1 && !ran.stdout.is_empty(), "{format}: {}", ran.stderr);
    }
    // C-60: which classes count is the caller's choice.
    for (fail_on, code) in [("none", 0), ("undecided", 3), ("absent", 0), ("mismatch,undecided", 1)] {
        assert_eq!(audit(&tool, &["--all", "--fail-on", fail_on]).await.code, code, "{fail_on}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_told_remembered_and_listed() {
    let net = Devnet::start().await.unwrap();
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switch = broken.clone();
    let host =
        CardHost::http(
            move |_| {
                if switch.load(std::sync::atomic::Ordering::SeqCst) {
                    Answer::ok(b"broken")
                } else {
                    Answer::ok(CARD)
                }
            },
        )
        .await;
    preload(&net, vec![host.url("/0"), host.url("/1")]).await;
    let tool = Tool::on(&net);
    assert_eq!(audit(&tool, &["--all"]).await.code, 0);
    broken.store(true, std::sync::atomic::Ordering::SeqCst);
    let ran = audit(&tool, &["--all", "--json"]).await;
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_valid("audit", &ran.json());
    assert_eq!(ran.json()["results"][0]["transition"]["kind"], "match_to_mismatch");
    let diff = tool.run(&["audit", "diff", "--json"]).await.json();
    assert_valid("audit-diff", &diff);
    assert_eq!(diff["transitions"].as_array().unwrap().len(), 2);
    let runs = tool.run(&["audit", "runs", "--json"]).await.json();
    assert_valid("audit-runs", &runs);
    assert_eq!((runs["runs"].as_array().unwrap().len(), &runs["runs"][0]["summary"]["mismatch"]), (2, &Value::from(2)));
    let history = tool.run(&["audit", "history", "1", "--json"]).await.json();
    assert_valid("audit-history", &history);
    assert_eq!((history["class"].as_str(), history["results"].as_array().unwrap().len()), (Some("mismatch"), 2));
    assert_eq!(tool.run(&["audit", "history", "99"]).await.code, 1);
    for text in [&["audit", "history", "1"][..], &["audit", "diff", "--since", "1h"], &["audit", "runs"]] {
        let ran = tool.run(text).await;
        assert!(ran.code == 0 && ran.stdout.contains("mismatch"), "{text:?}: {} {}", ran.stdout, ran.stderr);
    }
    let secret = tool.run(&["audit", "runs", "--store", "postgres://u:p@db.example/x"]).await;
    assert!(secret.code == 2 && !secret.stderr.contains("u:p"), "{}", secret.stderr);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_cleanly_and_resume_checks_nothing_twice() {
    let net = Devnet::start().await.unwrap();
    let host = CardHost::http(|_| {
        let answer = Answer::ok(CARD).0;
        Answer(std::iter::once(Act::Pause(Duration::from_millis(50))).chain(answer).collect())
    })
    .await;
    preload(&net, (0..200).map(|number| host.url(&format!("/{number}"))).collect()).await;
    let tool = Tool::on(&net);
    let old = tool.folder().join("old.csv");
    std::fs::write(&old, "of an earlier run").unwrap();
    let report = format!("csv={}", old.display());
    let args = ["audit", "--all", "--jsonl", "--per-host", "2", "--report", &report];
    let args = [&args[..], &LOOPBACK[..2], &LOOPBACK[4..]].concat();
    let child = tool.command(&args).spawn().unwrap();
    while host.requests().len() < 40 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().await.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let first: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(!first.is_empty() && first.len() < 200, "{}", first.len());
    let left = 200 - first.len();
    assert!(stderr.contains(&format!("{} agents have a result, {left} do not", first.len())), "{stderr}");
    assert!(stderr.contains("stay as they were"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "of an earlier run", "a part of a run would look like a whole one");
    let wrong = tool.run(&["audit", "--ids", "1", "--resume"]).await;
    assert!(wrong.code == 2 && wrong.stderr.contains("about other agents"), "{}", wrong.stderr);
    let [whole, metrics] = ["whole.json", "whole.prom"].map(|name| tool.folder().join(name));
    let reports = [format!("json={}", whole.display()), format!("prometheus={}", metrics.display())];
    let args = ["--all", "--jsonl", "--resume", "--report", &reports[0], "--report", &reports[1]];
    let rest = audit(&tool, &args).await;
    assert_eq!(rest.code, 0, "{}", rest.stderr);
    assert_eq!(rest.stdout.lines().count(), left);
    // A report is about the whole run, and not only about what was left of it.
    let document: Value = serde_json::from_slice(&std::fs::read(whole).unwrap()).unwrap();
    assert_valid("audit", &document);
    let results = document["results"].as_array().unwrap();
    let ids: std::collections::HashSet<&str> = results.iter().map(|result| result["token_id"].as_str().unwrap()).collect();
    assert_eq!((results.len(), ids.len(), &document["summary"]["match"]), (200, 200, &Value::from(200)));
    assert!(results.iter().all(|result| result["agent_uri"].is_string() && result["fetch"]["sha256"].is_string()));
    let metrics = std::fs::read_to_string(metrics).unwrap();
    assert!(metrics.lines().any(|line| line.contains("class=\"match\"") && line.ends_with(" 200")), "{metrics}");
    let again = audit(&tool, &["--all", "--resume"]).await;
    assert!(again.code == 2 && again.stderr.contains("no unfinished run"), "{}", again.stderr);
    let runs = tool.run(&["audit", "runs", "--json"]).await.json();
    assert_eq!((runs["runs"].as_array().unwrap().len(), &runs["runs"][0]["summary"]["match"]), (1, &Value::from(200)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_not_there_leaves_every_named_agent_undecided() {
    let tool = Tool::plain();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let node = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let begun = Instant::now();
    let args = ["audit", "--ids", "1-500", "--json", "--no-store", "--network", "testnet", "--node", &node];
    let ran = tool.run(&[&args[..], &["--node-timeout", "1s"]].concat()).await;
    assert_eq!((ran.code, ran.json()["summary"]["undecided"].as_u64()), (3, Some(500)), "{}", ran.stderr);
    let all = tool.run(&["audit", "--all", "--json", "--no-store", "--network", "testnet", "--node", &node]).await;
    assert_eq!((all.code, all.json()["code"].as_str()), (3, Some("node_unavailable")), "an end that is guessed hides agents");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

/// The process is killed at a random moment, again and again, and resumed: in the end every agent has one result and every change
/// one key. `CARDPROOF_SOAK_KILLS` says how often.
#[tokio::test(flavor = "multi_thread")]
async fn kill_9_and_resume_leave_every_agent_exactly_once() {
    let kills: usize = std::env::var("CARDPROOF_SOAK_KILLS").map_or(5, |text| text.parse().unwrap());
    let net = Devnet::start().await.unwrap();
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switch = broken.clone();
    let host = CardHost::http(move |request| {
        let odd = request.path.ends_with(['1', '3', '5', '7', '9']);
        let card: &[u8] = if odd && switch.load(std::sync::atomic::Ordering::SeqCst) { b"broken" } else { CARD };
        Answer(std::iter::once(Act::Pause(Duration::from_millis(20))).chain(Answer::ok(card).0).collect())
    })
    .await;
    let agents = 400 * kills.div_ceil(5);
    preload(&net, (0..agents).map(|number| host.url(&format!("/{number}"))).collect()).await;
    let tool = Tool::on(&net);
    assert_eq!(audit(&tool, &["--all"]).await.code, 0);
    broken.store(true, std::sync::atomic::Ordering::SeqCst);
    let args = [&["audit", "--all", "--jsonl", "--per-host", "8"][..], &LOOPBACK[..2], &LOOPBACK[4..]].concat();
    let mut resume = false;
    for _ in 0..kills {
        let more: &[&str] = if resume { &["--resume"] } else { &[] };
        let mut child = tool.command(&[&args[..], more].concat()).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(100 + fastrand::u64(0..300))).await;
        child.start_kill().unwrap();
        child.wait().await.unwrap();
        let runs = tool.run(&["audit", "runs", "--json"]).await.json();
        resume = runs["runs"].as_array().unwrap().len() > 1 && runs["runs"][0]["finished_at"].is_null();
        if runs["runs"].as_array().unwrap().len() > 1 && !resume {
            break;
        }
    }
    if resume {
        let ran = audit(&tool, &["--all", "--resume"]).await;
        assert_eq!(ran.code, 1, "{}", ran.stderr);
    }
    let runs = tool.run(&["audit", "runs", "--json"]).await.json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "{runs:#}");
    assert_eq!(runs["runs"][0]["summary"]["agents"].as_u64(), Some(agents as u64));
    assert_eq!(runs["runs"][0]["summary"]["mismatch"].as_u64(), Some(agents as u64 / 2));
    let diff = tool.run(&["audit", "diff", "--json"]).await.json();
    let changes = diff["transitions"].as_array().unwrap();
    let keys: std::collections::HashSet<&str> =
        changes.iter().map(|change| change["idempotency_key"].as_str().unwrap()).collect();
    let tokens: std::collections::HashSet<&str> = changes.iter().map(|change| change["token_id"].as_str().unwrap()).collect();
    assert_eq!((changes.len(), keys.len(), tokens.len()), (agents / 2, agents / 2, agents / 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn c_07_c_08_after_a_change_only_the_new_record_counts_and_an_old_card_is_named() {
    let net = Devnet::start().await.unwrap();
    let host = CardHost::http(|request| match request.path.as_str() {
        "/old" | "/moved" => Answer::ok(b"old card"),
        other => panic!("no such path: {other}"),
    })
    .await;
    let agent = net.register_agent(0, Some(&host.url("/old")), Some(Sha256Digest::of(b"old card").0)).await.unwrap();
    let tool = Tool::on(&net);
    assert_eq!(audit(&tool, &["--all"]).await.code, 0);
    let set = |uri: String, card: &'static [u8]| SetAgentUri {
        token_id: agent,
        agent_uri: Some(uri),
        metadata_hash: Some(Sha256Digest::of(card)),
    };
    let change = set(host.url("/moved"), b"old card").to_bytes().unwrap();
    net.update(0, net.registry(), "setAgentURI", &change).await.unwrap();
    let moved = audit(&tool, &["--all", "--json"]).await;
    let result = &moved.json()["results"][0];
    assert_eq!((moved.code, result["transition"]["kind"].as_str()), (0, Some("uri_changed")), "{result:#}");
    assert_eq!(host.requests().last().unwrap().path, "/moved", "the same hash at another URL is fetched again");
    let change = set(host.url("/moved"), b"new card").to_bytes().unwrap();
    net.update(0, net.registry(), "setAgentURI", &change).await.unwrap();
    let stale = audit(&tool, &["--all", "--json"]).await;
    let result = &stale.json()["results"][0];
    assert_eq!((stale.code, result["notes"][0]["code"].as_str()), (1, Some("matches_older_anchor")), "{result:#}");
    let kinds: Vec<&str> =
        result["transitions"].as_array().unwrap().iter().map(|change| change["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"hash_reanchored") && kinds.contains(&"match_to_mismatch"), "{kinds:?}");
}
