//! Deliveries: at least once, signed, and kept until they are acknowledged.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use cardproof::audit::notify::{CommandSink, LineSink, Notifier, NotifySettings, Sink, Webhook};
use cardproof::audit::store::RecordSettings;
use cardproof::fetch::{FetchSettings, Fetcher};
use hmac::Mac;

use super::stage::{agent, on_both, settings, Stage};

on_both! {
    a_webhook_is_signed_and_repeated_until_it_is_acknowledged
    a_receiver_that_is_gone_is_left_alone
    a_receiver_that_is_down_gets_everything_later
    a_command_gets_the_transition_on_its_input
    lines_are_handed_out_once
    what_a_killed_process_had_in_hand_is_delivered_again
    what_waits_goes_to_the_corrected_url
    a_corrected_url_is_used_though_the_old_one_is_gone
    a_corrected_url_does_not_wait_as_long_as_the_wrong_one
    a_sink_that_takes_its_time_does_not_outlast_the_patience
    what_changed_about_an_agent_is_told_in_order_though_an_earlier_delivery_failed
    what_a_wrong_clock_has_put_off_for_weeks_is_due
}

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const FAST: NotifySettings = NotifySettings { first_pause: Duration::from_millis(20), hold: Duration::from_millis(400) };
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that the receiver has seen.
#[derive(Clone)]
struct Seen {
    id: String,
    timestamp: String,
    signature: String,
    body: Bytes,
}

/// A loopback server that answers the attempts at each message with these statuses, the last one for ever.
struct Receiver {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

type Shared = (Arc<Mutex<Vec<Seen>>>, &'static [u16]);

async fn receive(State((seen, statuses)): State<Shared>, headers: HeaderMap, body: Bytes) -> (StatusCode, HeaderMap) {
    let header = |name| headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/json");
    let id = header("webhook-id");
    let mut seen = seen.lock().unwrap();
    let attempt = seen.iter().filter(|seen| seen.id == id).count();
    seen.push(Seen { id, timestamp: header("webhook-timestamp"), signature: header("webhook-signature"), body });
    let status = statuses[attempt.min(statuses.len() - 1)];
    (StatusCode::from_u16(status).unwrap(), HeaderMap::new())
}

async fn receiver(statuses: &'static [u16]) -> Receiver {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let app = axum::Router::new().route("/hook", axum::routing::post(receive)).with_state((Arc::clone(&seen), statuses));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    Receiver { url, seen }
}

fn webhook(url: &str) -> Sink {
    let fetcher = Fetcher::new(FetchSettings { per_host_rate: 0, ..FetchSettings::default() }).unwrap();
    Sink::Webhook(Webhook::new(url.parse().unwrap(), vec![SECRET.parse().unwrap()], fetcher).unwrap())
}

fn notifier(stage: &Stage, sink: Sink) -> Notifier {
    Notifier::new(stage.store.clone(), vec![sink], FAST).unwrap()
}

/// Two runs with so many transitions between them; returns their keys.
async fn change(stage: &Stage, agents: u64, notifier: &Notifier) -> HashSet<String> {
    let settings = RecordSettings { sinks: notifier.names(), ..settings() };
    stage.run((0..agents).map(|id| agent(id).matching()).collect(), &settings).await;
    let outcomes = stage.run((0..agents).map(|id| agent(id).mismatching()).collect(), &settings).await;
    let transitions = outcomes.into_iter().flat_map(|outcome| outcome.transitions);
    transitions.map(|transition| transition.idempotency_key).collect()
}

fn is_transition(line: &serde_json::Value) -> bool {
    let schema = include_str!("../../schemas/transition.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    schema.validate(line).map_err(|error| panic!("{error}: {line}")).is_ok()
}

async fn a_webhook_is_signed_and_repeated_until_it_is_acknowledged(stage: Stage) {
    let receiver = receiver(&[500, 429, 204]).await;
    let notifier = notifier(&stage, webhook(&receiver.url));
    let keys = change(&stage, 20, &notifier).await;
    let done = notifier.drain(PATIENCE).await.unwrap();
    assert_eq!((done.acknowledged, done.failed), (20, 40));
    assert_eq!(stage.store.outstanding(&notifier.keys()[0]).await.unwrap().count, 0);
    assert_eq!(notifier.drain(PATIENCE).await.unwrap().acknowledged, 0);

    let seen = receiver.seen.lock().unwrap().clone();
    let mut attempts: HashMap<_, Vec<_>> = HashMap::new();
    let key = base64::engine::general_purpose::STANDARD.decode(SECRET.trim_start_matches("whsec_")).unwrap();
    for seen in seen {
        let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
        mac.update(&[seen.id.as_bytes(), b".", seen.timestamp.as_bytes(), b".", &seen.body].concat());
        let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
        assert_eq!(seen.signature, format!("v1,{signature}"));
        let event: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
        assert_eq!(event["type"], "agent.match_to_mismatch");
        assert_eq!(event["timestamp"], event["data"]["at"]);
        assert_eq!(event["data"]["idempotency_key"], seen.id.as_str());
        assert!(is_transition(&event["data"]));
        attempts.entry(seen.id).or_default().push(seen.body);
    }
    assert_eq!(attempts.keys().cloned().collect::<HashSet<_>>(), keys);
    for bodies in attempts.values() {
        assert_eq!(bodies.len(), 3);
        assert!(bodies.iter().all(|body| body == &bodies[0]));
    }
}

async fn a_receiver_that_is_gone_is_left_alone(stage: Stage) {
    let receiver = receiver(&[410]).await;
    let notifier = notifier(&stage, webhook(&receiver.url));
    change(&stage, 1, &notifier).await;
    let done = notifier.drain(PATIENCE).await.unwrap();
    assert_eq!((done.acknowledged, done.failed), (0, 1));
    assert!(done.troubles[0].ends_with("127.0.0.1 answered 410: it wants no more messages"), "{:?}", done.troubles);
    notifier.drain(PATIENCE).await.unwrap();
    assert_eq!(receiver.seen.lock().unwrap().len(), 1);
    let sink = &notifier.keys()[0];
    assert!(stage.store.disabled(sink).await.unwrap().unwrap().contains("410"));
    stage.store.enable_sink(sink).await.unwrap();
    assert_eq!(notifier.deliver().await.unwrap().failed, 1);
    assert_eq!(receiver.seen.lock().unwrap().len(), 2);
}

async fn a_receiver_that_is_down_gets_everything_later(stage: Stage) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://{address}/geheim?token=geheim");
    let notifier = notifier(&stage, webhook(&url));
    change(&stage, 30, &notifier).await;
    let done = notifier.deliver().await.unwrap();
    assert_eq!((done.acknowledged, done.failed), (0, 8), "one round of attempts is enough to see that it is down");
    assert!(done.troubles[0].contains("refuses connections"), "{:?}", done.troubles);
    assert!(!format!("{done:?} {notifier:?}").contains("geheim"));

    let answer = || async { StatusCode::OK };
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let app = axum::Router::new().route("/geheim", axum::routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    assert_eq!(notifier.drain(PATIENCE).await.unwrap().acknowledged, 30);
}

#[cfg(unix)]
async fn a_command_gets_the_transition_on_its_input(stage: Stage) {
    let folder = tempfile::tempdir().unwrap();
    let command = |script: &str, timeout| {
        let words = ["/bin/sh", "-c", script, "sh"].map(std::ffi::OsString::from);
        let words = words.into_iter().chain([folder.path().as_os_str().to_owned()]).collect();
        Sink::Command(CommandSink::new(words, timeout).unwrap())
    };
    // Fails at the first attempt.
    let script = r#"cat >>"$1/lines"; test -e "$1/second" || { touch "$1/second"; exit 3; }"#;
    let good = notifier(&stage, command(script, Duration::from_secs(10)));
    let keys = change(&stage, 1, &good).await;
    let done = good.deliver().await.unwrap();
    assert!(done.troubles[0].contains("/bin/sh ended with exit status: 3"), "{:?}", done.troubles);
    assert_eq!(good.drain(PATIENCE).await.unwrap().acknowledged, 1);
    let lines = std::fs::read_to_string(folder.path().join("lines")).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| is_transition(line) && keys.contains(line["idempotency_key"].as_str().unwrap())));

    let slow = notifier(&stage, command("exec sleep 60", Duration::from_millis(50)));
    let told = RecordSettings { sinks: slow.names(), ..settings() };
    stage.run(vec![agent(0).matching()], &told).await;
    let done = slow.deliver().await.unwrap();
    assert!(done.troubles[0].contains("took longer than 0.05 s and was ended"), "{:?}", done.troubles);
    let missing = Sink::Command(CommandSink::new(vec!["/nonexistent/pager".into()], PATIENCE).unwrap());
    let missing = notifier(&stage, missing);
    let told = RecordSettings { sinks: missing.names(), ..settings() };
    stage.run(vec![agent(0).mismatching()], &told).await;
    assert!(missing.deliver().await.unwrap().troubles[0].contains("/nonexistent/pager cannot be started"));
}

async fn lines_are_handed_out_once(stage: Stage) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let (kept, full) = (Arc::clone(&lines), Arc::new(Mutex::new(true)));
    let is_full = Arc::clone(&full);
    let sink = LineSink::new(move |line| {
        if *is_full.lock().unwrap() {
            return Err(std::io::Error::other("the disk is full"));
        }
        kept.lock().unwrap().push(line.to_owned());
        Ok(())
    });
    let notifier = notifier(&stage, Sink::Line(sink.clone()));
    assert!(Notifier::new(stage.store.clone(), vec![Sink::Line(sink.clone()), Sink::Line(sink)], FAST).is_err());
    change(&stage, 25, &notifier).await;
    assert_eq!(notifier.deliver().await.unwrap().acknowledged, 0);
    *full.lock().unwrap() = false;
    assert_eq!(notifier.drain(PATIENCE).await.unwrap().acknowledged, 25);
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 25);
    assert!(lines.iter().all(|line| !line.contains('\n') && is_transition(&serde_json::from_str(line).unwrap())));
}

async fn what_a_killed_process_had_in_hand_is_delivered_again(stage: Stage) {
    let receiver = receiver(&[200]).await;
    let notifier = notifier(&stage, webhook(&receiver.url));
    let keys = change(&stage, 5, &notifier).await;
    // A process that dies between claiming and acknowledging.
    let claimed = stage.second().await.claim_deliveries(&notifier.keys()[0], 3, FAST.hold).await.unwrap();
    assert_eq!(claimed.len(), 3);
    assert_eq!(notifier.deliver().await.unwrap().acknowledged, 2, "what is in hand is left alone at first");
    assert_eq!(notifier.drain(PATIENCE).await.unwrap().acknowledged, 3);
    let seen = receiver.seen.lock().unwrap();
    assert_eq!(seen.iter().map(|seen| seen.id.clone()).collect::<HashSet<_>>(), keys);
}

async fn what_waits_goes_to_the_corrected_url(stage: Stage) {
    let wrong = receiver(&[404]).await;
    let keys = change(&stage, 3, &notifier(&stage, webhook(&wrong.url))).await;
    notifier(&stage, webhook(&wrong.url)).deliver().await.unwrap();
    let right = receiver(&[200]).await;
    assert_eq!(notifier(&stage, webhook(&right.url)).drain(PATIENCE).await.unwrap().acknowledged, 3);
    assert_eq!(right.seen.lock().unwrap().iter().map(|seen| seen.id.clone()).collect::<HashSet<_>>(), keys);
}

async fn a_corrected_url_is_used_though_the_old_one_is_gone(stage: Stage) {
    let (gone, right) = (receiver(&[410]).await, receiver(&[200]).await);
    let wrong = notifier(&stage, webhook(&gone.url));
    let keys = change(&stage, 3, &wrong).await;
    wrong.drain(PATIENCE).await.unwrap();
    let asked = gone.seen.lock().unwrap().len();
    let corrected = notifier(&stage, webhook(&right.url));
    assert_eq!(stage.store.disabled(&corrected.keys()[0]).await.unwrap(), None);
    assert_eq!(corrected.drain(PATIENCE).await.unwrap().acknowledged, 3);
    assert_eq!(right.seen.lock().unwrap().iter().map(|seen| seen.id.clone()).collect::<HashSet<_>>(), keys);
    // The one that is gone stays left alone, also when there is something to tell again.
    let told = RecordSettings { sinks: wrong.names(), ..settings() };
    stage.run((0..3).map(|id| agent(id).matching()).collect(), &told).await;
    wrong.drain(PATIENCE).await.unwrap();
    assert_eq!(gone.seen.lock().unwrap().len(), asked);
    assert!(stage.store.disabled(&wrong.keys()[0]).await.unwrap().is_some());
    assert!(!format!("{:?}", wrong.keys()).contains("hook/"));
    assert_eq!(corrected.drain(PATIENCE).await.unwrap().acknowledged, 3);
}

async fn a_corrected_url_does_not_wait_as_long_as_the_wrong_one(stage: Stage) {
    let (wrong, right) = (receiver(&[404]).await, receiver(&[200]).await);
    let slow = NotifySettings { first_pause: Duration::from_secs(3000), hold: Duration::from_secs(3000) };
    let of = |url: &str| Notifier::new(stage.store.clone(), vec![webhook(url)], slow).unwrap();
    let (before, corrected) = (of(&wrong.url), of(&right.url));
    change(&stage, 4, &before).await;
    // One is in the hands of another process, which may still bring it to the old URL.
    assert_eq!(stage.second().await.claim_deliveries(&before.keys()[0], 1, slow.hold).await.unwrap().len(), 1);
    assert_eq!(before.drain(PATIENCE).await.unwrap().failed, 3);
    assert_eq!(before.deliver().await.unwrap().failed, 0, "the wrong one waits");
    assert_eq!(corrected.deliver().await.unwrap().acknowledged, 3);
    assert_eq!(stage.store.outstanding(&corrected.keys()[0]).await.unwrap().count, 1);
}

async fn a_sink_that_takes_its_time_does_not_outlast_the_patience(stage: Stage) {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", silent.local_addr().unwrap());
    let slow = notifier(&stage, webhook(&url));
    change(&stage, 1, &slow).await;
    let begun = std::time::Instant::now();
    let done = slow.drain(Duration::from_millis(200)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(done.troubles[0].contains("did not take the change before the time"), "{:?}", done.troubles);
    assert_eq!(stage.store.outstanding(&slow.keys()[0]).await.unwrap().count, 1);
}

/// A store of the time when a sink was called after the digest of its URL or command.
#[tokio::test]
async fn what_waits_under_a_name_of_old_is_delivered() {
    let stage = Stage::sqlite().await;
    let receiver = receiver(&[200]).await;
    let notifier = notifier(&stage, webhook(&receiver.url));
    let keys = change(&stage, 4, &notifier).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(stage.location.path().unwrap());
    let mut raw: sqlx::SqliteConnection = sqlx::Connection::connect_with(&options).await.unwrap();
    for sql in [
        "UPDATE layout SET version = 2",
        "ALTER TABLE agents DROP COLUMN block_height",
        "ALTER TABLE deliveries DROP COLUMN failed_target",
        "DROP TABLE disabled_sinks",
        "CREATE TABLE disabled_sinks (sink TEXT NOT NULL PRIMARY KEY, disabled_at BIGINT NOT NULL, reason TEXT NOT NULL)",
        "DROP TABLE held",
        "ALTER TABLE runs DROP COLUMN read_at",
        "ALTER TABLE runs DROP COLUMN terms",
        "ALTER TABLE runs DROP COLUMN owner",
        "ALTER TABLE runs DROP COLUMN owned_since",
        "UPDATE deliveries SET sink = 'webhook-0123456789abcdef'",
        // Another URL was configured for a while, and has taken all.
        "INSERT INTO deliveries SELECT 'webhook-fedcba9876543210', idempotency_key, 1, 0, 1, NULL FROM deliveries",
        "INSERT INTO disabled_sinks VALUES ('webhook-0123456789abcdef', 0, 'gone')",
    ] {
        sqlx::query(sql).execute(&mut raw).await.unwrap();
    }
    sqlx::Connection::close(raw).await.unwrap();
    stage.second().await;
    assert_eq!(notifier.drain(PATIENCE).await.unwrap().acknowledged, 4);
    assert_eq!(receiver.seen.lock().unwrap().iter().map(|seen| seen.id.clone()).collect::<HashSet<_>>(), keys);
    assert_eq!(stage.store.waiting(None).await.unwrap(), []);
    let agents = stage.store.agents(&super::stage::scope()).await.unwrap();
    assert!(agents.iter().all(|agent| agent.block_height == Some(1000)), "the block of the last run is known from the run");
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_hangs_takes_its_children_with_it() {
    let stage = Stage::sqlite().await;
    let folder = tempfile::tempdir().unwrap();
    let child = folder.path().join("child");
    let script = r#"sleep 30 & echo $! >"$1.part"; mv "$1.part" "$1"; wait"#;
    let words = ["/bin/sh", "-c", script, "sh"].map(std::ffi::OsString::from);
    let words = words.into_iter().chain([child.clone().into_os_string()]).collect();
    let slow = notifier(&stage, Sink::Command(CommandSink::new(words, PATIENCE).unwrap()));
    change(&stage, 1, &slow).await;
    slow.drain(Duration::from_secs(1)).await.unwrap();
    let child = std::fs::read_to_string(child).unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
    let begun = std::time::Instant::now();
    // What is dead may wait for somebody to take notice.
    while state().is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(begun.elapsed() < PATIENCE, "the child of the command lives on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn what_changed_about_an_agent_is_told_in_order_though_an_earlier_delivery_failed(stage: Stage) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (lines, refuses) = (Arc::clone(&told), std::sync::atomic::AtomicBool::new(true));
    let sink = LineSink::new(move |line| {
        let change: serde_json::Value = serde_json::from_str(line).unwrap();
        let kind = change["kind"].as_str().unwrap().to_owned();
        // The first attempt at the first change of agent 0 fails.
        if change["token_id"] == "0" && refuses.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return Err(std::io::Error::other("not now"));
        }
        lines.lock().unwrap().push((change["token_id"].as_str().unwrap().to_owned(), kind));
        Ok(())
    });
    let settings_of = NotifySettings { first_pause: Duration::from_secs(1), ..FAST };
    let notifier = Notifier::new(stage.store.clone(), vec![Sink::Line(sink)], settings_of).unwrap();
    change(&stage, 2, &notifier).await;
    assert_eq!(notifier.deliver().await.unwrap().failed, 1);
    let settings = RecordSettings { sinks: notifier.names(), ..settings() };
    stage.run(vec![agent(0).matching(), agent(1).matching()], &settings).await;
    // Another process finds nothing of agent 0 to tell either, as long as its first change waits.
    notifier.deliver().await.unwrap();
    let of = |id: &str| -> Vec<String> {
        told.lock().unwrap().iter().filter(|(token, _)| token == id).map(|(_, kind)| kind.clone()).collect()
    };
    assert_eq!((of("0").len(), of("1")), (0, vec!["match_to_mismatch".to_owned(), "mismatch_to_match".to_owned()]));
    assert_eq!(stage.store.outstanding(&notifier.keys()[0]).await.unwrap().count, 2);
    assert_eq!(notifier.drain(PATIENCE).await.unwrap().acknowledged, 2);
    assert_eq!(of("0"), ["match_to_mismatch", "mismatch_to_match"]);
}

async fn what_a_wrong_clock_has_put_off_for_weeks_is_due(stage: Stage) {
    let (wait, weeks) = (Duration::from_secs(3600), Duration::from_secs(30 * 24 * 3600));
    let told = Arc::new(Mutex::new(0));
    let count = Arc::clone(&told);
    let sink = LineSink::new(move |_| {
        *count.lock().unwrap() += 1;
        Ok(())
    });
    let notifier = notifier(&stage, Sink::Line(sink));
    change(&stage, 2, &notifier).await;
    let key = &notifier.keys()[0];
    let claimed = stage.store.claim_deliveries(key, 2, FAST.hold).await.unwrap();
    for (delivery, wait) in claimed.iter().zip([wait, weeks]) {
        stage.store.postpone(key, &delivery.transition.idempotency_key, wait, "not now").await.unwrap();
    }
    assert_eq!(stage.store.outstanding(key).await.unwrap().due_in, Some(Duration::ZERO));
    assert_eq!(notifier.deliver().await.unwrap().acknowledged, 1);
    let left = stage.store.outstanding(key).await.unwrap();
    assert!(left.count == 1 && left.due_in.is_some_and(|due| due > wait / 2), "an hour is no mistake: {left:?}");
}
