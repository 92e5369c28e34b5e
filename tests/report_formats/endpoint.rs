//! The daemon's endpoint, asked over HTTP.

use std::time::{Duration, Instant};

use cardproof::audit::serve::{Endpoint, EndpointLimits, MetricsSettings, MetricsState, ServeError};
use cardproof::registry::Timestamp;
use cardproof::report::{ReportWriter, RunEnd};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::prometheus::{lint, value};
use crate::sample::{agents, end, header, START};

struct Served {
    address: std::net::SocketAddr,
    client: reqwest::Client,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Served {
    async fn start(state: &MetricsState) -> Self {
        Self::limited(state, EndpointLimits::default()).await
    }

    async fn limited(state: &MetricsState, limits: EndpointLimits) -> Self {
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap()).await.unwrap().with_limits(limits);
        let address = endpoint.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move {
            let _ = stopped.await;
        };
        let task = tokio::spawn(endpoint.serve(state.clone(), stopped));
        Self { address, client: reqwest::Client::builder().no_proxy().build().unwrap(), stop, task }
    }

    async fn get(&self, path: &str) -> (u16, String, String) {
        let answer = self.client.get(format!("http://{}{path}", self.address)).send().await.unwrap();
        let status = answer.status().as_u16();
        let kind = answer.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned()).unwrap_or_default();
        (status, kind, answer.text().await.unwrap())
    }
}

fn run(state: &MetricsState, end: &RunEnd) {
    let mut run = Box::new(state.begin(&header()));
    for agent in agents() {
        run.row(&agent.row()).unwrap();
    }
    run.finish(end).unwrap();
}

#[tokio::test]
async fn metrics_follow_the_runs_and_pass_the_lint_at_every_stage() {
    let state = MetricsState::new(MetricsSettings { per_agent: true, ..MetricsSettings::default() });
    let served = Served::start(&state).await;
    let (status, kind, before) = served.get("/metrics").await;
    assert_eq!((status, kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
    let before = lint(&before);
    assert_eq!(value(&before, "cardproof_runs_total", &[]), 0.0);
    assert!(before.iter().all(|sample| sample.0 != "cardproof_agents"), "no count before anything was counted");

    run(&state, &end());
    let mut going_on = state.begin(&header());
    going_on.row(&agents()[0].row()).unwrap();
    state.next_run(Timestamp(START.0 + 3_600_000));
    let during = lint(&served.get("/metrics").await.2);
    assert_eq!(value(&during, "cardproof_runs_in_progress", &[]), 1.0);
    assert_eq!(value(&during, "cardproof_agents", &[]), 7.0, "the gauges are those of the last whole run");
    assert_eq!(value(&during, "cardproof_verdicts_total", &[]), 8.0, "the counters count along");
    assert_eq!(value(&during, "cardproof_check_duration_seconds_bucket", &[("le", "0.25")]), 7.0);
    assert_eq!(value(&during, "cardproof_check_duration_seconds_bucket", &[("le", "+Inf")]), 8.0);
    assert_eq!(value(&during, "cardproof_agent_class", &[("token_id", "1"), ("class", "mismatch")]), 1.0);
    assert_eq!(value(&during, "cardproof_next_run_timestamp_seconds", &[]), 1_785_774_969.045);

    drop(going_on);
    run(&state, &RunEnd { finished_at: Timestamp(START.0 + 99_000), complete: false, earlier_success: None });
    let after = lint(&served.get("/metrics").await.2);
    assert_eq!(value(&after, "cardproof_runs_in_progress", &[]), 0.0);
    for (outcome, count) in [("complete", 1.0), ("failed", 1.0), ("interrupted", 1.0)] {
        assert_eq!(value(&after, "cardproof_runs_total", &[("outcome", outcome)]), count, "{outcome}");
    }
    let success = value(&after, "cardproof_last_success_timestamp_seconds", &[]);
    assert_eq!(success, 1_785_771_381.39, "an interrupted run is no success and hides none");
    served.stop.send(()).unwrap();
    served.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn alive_is_who_answers_and_ready_is_who_succeeded_lately() {
    let hour = Duration::from_secs(3_600);
    let state = MetricsState::new(MetricsSettings { stale_after: Some(hour), ..MetricsSettings::default() });
    let served = Served::start(&state).await;
    assert_eq!(served.get("/healthz").await.0, 200);
    let (status, _, why) = served.get("/readyz").await;
    assert_eq!((status, why.as_str()), (503, "not ready: no run has succeeded yet\n"));

    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    run(&state, &RunEnd { finished_at: Timestamp(now), ..end() });
    assert_eq!(served.get("/readyz").await.0, 200, "mismatches are no reason not to be ready");
    run(&state, &RunEnd { finished_at: Timestamp(now - 7_200_000), ..end() });
    let (status, _, why) = served.get("/readyz").await;
    assert!(status == 503 && why.contains("ended 72"), "{why}");
    assert_eq!(served.get("/healthz").await.0, 200);
    assert_eq!(served.get("/nothing").await.0, 404);
}

#[tokio::test]
async fn a_client_that_never_ends_its_request_does_not_keep_the_daemon_alive() {
    let served = Served::start(&MetricsState::new(MetricsSettings::default())).await;
    let mut slow = tokio::net::TcpStream::connect(served.address).await.unwrap();
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").await.unwrap();
    served.get("/healthz").await;
    let began = Instant::now();
    served.stop.send(()).unwrap();
    served.task.await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_address_that_is_taken_is_said_before_any_run() {
    let first = Endpoint::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let Err(error) = Endpoint::bind(first.address()).await else { panic!("two listeners on one address") };
    assert!(error.to_string().starts_with(&format!("cannot listen on {}: ", first.address())), "{error}");
}

#[tokio::test]
async fn silent_connections_and_half_requests_make_room_for_who_asks_in_earnest() {
    for begins in [&b""[..], b"GET /metrics HTTP/1.1\r\nHost: "] {
        let limits = EndpointLimits { connections: 3, request: Duration::from_secs(20) };
        let served = Served::limited(&MetricsState::new(MetricsSettings::default()), limits).await;
        let mut slow = Vec::new();
        for _ in 0..12 {
            let mut socket = tokio::net::TcpStream::connect(served.address).await.unwrap();
            socket.write_all(begins).await.unwrap();
            slow.push(socket);
        }
        let began = Instant::now();
        for _ in 0..5 {
            assert_eq!(served.get("/healthz").await.0, 200);
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        // The one that has been silent for the longest went first, and the newest can still ask.
        let mut newest = slow.pop().unwrap();
        let rest = if begins.is_empty() { &b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"[..] } else { b"x\r\n\r\n" };
        newest.write_all(rest).await.unwrap();
        let mut answer = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut newest, &mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
        let mut oldest = slow.remove(0);
        let mut rest = Vec::new();
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut oldest, &mut rest).await;
        assert!(rest.is_empty());
        served.stop.send(()).unwrap();
        served.task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn half_requests_take_no_more_than_their_time() {
    let limits = EndpointLimits { connections: 3, request: Duration::from_millis(300) };
    let served = Served::limited(&MetricsState::new(MetricsSettings::default()), limits).await;
    let mut socket = tokio::net::TcpStream::connect(served.address).await.unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").await.unwrap();
    let (began, mut rest) = (Instant::now(), Vec::new());
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut socket, &mut rest).await;
    let waited = began.elapsed();
    assert!(rest.is_empty() && waited > Duration::from_millis(250) && waited < Duration::from_secs(10), "{waited:?}");
}
