//! Fetching, the patience: statuses, retries, `Retry-After`, the one deadline, the limits per host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use cardproof::fetch::{CardFetcher, FailureKind, FetchFailure, FetchSettings, Fetcher, Origin};
use support::card_host::{loopback, Act, Answer, CardHost};
use support::names::Names;

const CARD: &[u8] = br#"{"name":"a card"}"#;

async fn failure(settings: FetchSettings, uri: &str) -> FetchFailure {
    Fetcher::new(settings).unwrap().fetch(uri, Origin::Untrusted).await.unwrap_err()
}

/// Whether a card comes.
async fn comes(settings: FetchSettings, uri: &str) -> bool {
    Fetcher::new(settings).unwrap().fetch(uri, Origin::Untrusted).await.is_ok()
}

#[tokio::test]
async fn c_35_a_status_other_than_200_has_no_digest() {
    for (status, kind) in [
        (204, FailureKind::HttpStatus),
        (206, FailureKind::HttpStatus),
        (401, FailureKind::HttpStatus),
        (403, FailureKind::HttpStatus),
        (404, FailureKind::NotFound),
        (410, FailureKind::NotFound),
        (451, FailureKind::HttpStatus),
        (500, FailureKind::HttpStatus),
    ] {
        let host =
            CardHost::http(move |_| if status == 204 { Answer::head(204, &[]) } else { Answer::with(status, &[], CARD) }).await;
        let failure = failure(loopback(), &host.url("/")).await;
        assert_eq!((failure.kind, failure.trace.status), (kind, Some(status)));
        assert!(failure.message.contains(&status.to_string()) && !failure.message.contains("a card\""), "{failure}");
    }
}

/// Answers `first` once and the card ever after.
async fn first_then_card(first: Answer) -> CardHost {
    first_then(first, Answer::ok(CARD)).await
}

async fn first_then(first: Answer, ever_after: Answer) -> CardHost {
    let asked = AtomicUsize::new(0);
    CardHost::http(move |_| if asked.fetch_add(1, Ordering::SeqCst) == 0 { first.clone() } else { ever_after.clone() }).await
}

fn with_retries() -> FetchSettings {
    FetchSettings { retries: 3, ..loopback() }
}

#[tokio::test]
async fn c_44_retry_after_is_honoured_as_seconds_and_as_a_date() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3));
    tokio::join!(waits_about_two_seconds("2"), waits_about_two_seconds(&date));
}

async fn waits_about_two_seconds(value: &str) {
    let host = first_then_card(Answer::with(429, &[("Retry-After", value)], "")).await;
    assert!(comes(with_retries(), &host.url("/")).await);
    let asked: Vec<_> = host.requests().iter().map(|request| request.at).collect();
    let waited = asked[1] - asked[0];
    assert!(waited > Duration::from_millis(1800) && waited < Duration::from_millis(4500), "{value}: {waited:?}");
}

#[tokio::test]
async fn c_44_a_wait_beyond_the_deadline_is_not_waited_and_a_persistent_429_is_rate_limited() {
    let host = CardHost::http(|_| Answer::with(429, &[("Retry-After", "99999")], "")).await;
    let before = Instant::now();
    let stopped = failure(with_retries(), &host.url("/")).await;
    assert_eq!((stopped.kind, stopped.retryable, host.requests().len()), (FailureKind::RateLimited, true, 1));
    assert!(before.elapsed() < Duration::from_secs(1));
    let host = CardHost::http(|_| Answer::with(429, &[("Retry-After", "0")], "")).await;
    let stopped = failure(with_retries(), &host.url("/")).await;
    assert_eq!((stopped.kind, host.requests().len()), (FailureKind::RateLimited, 4));
    assert!(stopped.message.contains("tried 4 times"), "{stopped}");
}

#[tokio::test]
async fn c_14_only_a_retry_asks_to_pass_by_caches() {
    let host = first_then_card(Answer::status(503)).await;
    assert!(comes(with_retries(), &host.url("/")).await);
    let asked: Vec<_> = host.requests().iter().map(|request| request.header("cache-control").map(str::to_owned)).collect();
    assert_eq!(asked, [None, Some("no-cache".to_owned())]);
}

#[tokio::test]
async fn c_14_a_cached_error_shows_its_age() {
    let host = CardHost::http(|_| Answer::with(403, &[("Age", "329423")], "")).await;
    assert!(failure(loopback(), &host.url("/")).await.message.contains("(Age: 329423)"));
}

#[tokio::test]
async fn c_14_a_cached_refusal_is_asked_for_once_more_past_the_cache() {
    for status in [403, 404, 410] {
        let host = CardHost::http(move |request| match request.header("cache-control") {
            Some("no-cache") => Answer::ok(CARD),
            _ => Answer::with(status, &[("Age", "329423")], ""),
        })
        .await;
        assert!(comes(with_retries(), &host.url("/")).await, "{status}");
        let stubborn = CardHost::http(move |_| Answer::with(status, &[("Age", "329423")], "")).await;
        assert!(failure(with_retries(), &stubborn.url("/")).await.message.contains("(Age: 329423)"));
        assert_eq!(stubborn.requests().len(), 2, "{status}");
    }
    let fresh = CardHost::http(|_| Answer::with(404, &[("Age", "0")], "")).await;
    failure(with_retries(), &fresh.url("/")).await;
    assert_eq!(fresh.requests().len(), 1);
}

#[tokio::test]
async fn a_broken_answer_is_tried_again_and_a_missing_card_is_not() {
    let cut = Answer::head(200, &[("Content-Length", "99")]).write("x").then(Act::Close);
    for first in [cut, Answer::default().then(Act::Close), Answer::default().then(Act::Reset)] {
        let host = first_then_card(first).await;
        assert!(comes(with_retries(), &host.url("/")).await);
        assert_eq!(host.requests().len(), 2);
    }
    let host = CardHost::http(|_| Answer::status(404)).await;
    failure(with_retries(), &host.url("/")).await;
    assert_eq!(host.requests().len(), 1);
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closes_costs_no_try() {
    for end in [Act::Close, Act::Reset] {
        let asked = AtomicUsize::new(0);
        let host = CardHost::http(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            1 => Answer::default().then(end.clone()),
            _ => Answer::ok(CARD),
        })
        .await;
        // One try alone.
        let fetcher = Fetcher::new(loopback()).unwrap();
        for _ in 0..2 {
            assert!(fetcher.fetch(&host.url("/"), Origin::Untrusted).await.is_ok());
        }
        assert_eq!((host.requests().len(), host.connections()), (3, 2));
        assert_eq!(host.requests()[2].header("cache-control"), None, "it is no retry");
    }
}

#[tokio::test]
async fn a_new_connection_that_is_closed_without_an_answer_is_a_failed_try() {
    let host = CardHost::http(|_| Answer::default().then(Act::Close)).await;
    let first = failure(loopback(), &host.url("/")).await;
    assert_eq!((first.kind, host.connections()), (FailureKind::ConnectFailure, 1), "{first}");
    // After a kept connection one new one is tried, and no more.
    let host = first_then(Answer::ok(CARD), Answer::default().then(Act::Close)).await;
    let fetcher = Fetcher::new(loopback()).unwrap();
    assert!(fetcher.fetch(&host.url("/"), Origin::Untrusted).await.is_ok());
    let second = fetcher.fetch(&host.url("/"), Origin::Untrusted).await.unwrap_err();
    assert_eq!((second.kind, host.requests().len()), (FailureKind::ConnectFailure, 3), "{second}");
    assert!(!second.message.contains("tried"), "{second}");
}

#[tokio::test]
async fn c_51_a_marked_answer_is_a_bot_wall_and_is_not_asked_again() {
    for status in [403, 503] {
        let host = CardHost::http(move |_| Answer::with(status, &[("cf-mitigated", "challenge")], "<html>")).await;
        let failure = failure(with_retries(), &host.url("/")).await;
        assert_eq!((failure.kind, host.requests().len()), (FailureKind::BlockedByBotWall, 1));
    }
}

#[tokio::test]
async fn c_52_one_deadline_spans_everything() {
    let drip = Answer::head(200, &[]).then(Act::Drip(b'x', Duration::from_millis(100)));
    let drip_head = Answer::default().write("HTTP/1.1 200 OK\r\n").then(Act::Drip(b'x', Duration::from_millis(100)));
    let hang = Answer::default().then(Act::Hang);
    let hang_body = Answer::head(200, &[("Content-Length", "9")]).write("x").then(Act::Hang);
    let redirects = Answer::default()
        .then(Act::Pause(Duration::from_millis(400)))
        .then(Act::Write(b"HTTP/1.1 302 Found\r\nLocation: /on\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let cases = [("body", drip), ("head", drip_head), ("silence", hang), ("half", hang_body), ("redirects", redirects)];
    let mut tasks = tokio::task::JoinSet::new();
    for (what, answer) in cases {
        tasks.spawn(async move {
            let host = CardHost::http(move |_| answer.clone()).await;
            let settings = FetchSettings { deadline: Duration::from_secs(1), retries: 3, ..loopback() };
            ends_at_one_second(Fetcher::new(settings).unwrap(), &host.url("/"), what).await;
        });
    }
    assert_eq!(tasks.join_all().await.len(), 5);
}

#[tokio::test]
async fn c_52_a_resolver_or_a_handshake_that_hangs_cannot_hold_the_deadline() {
    let settings = || FetchSettings { deadline: Duration::from_secs(1), retries: 3, ..loopback() };
    let fetcher = Fetcher::with_resolver(settings(), Names::hanging()).unwrap();
    ends_at_one_second(fetcher, "https://cards.example/", "resolver").await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    ends_at_one_second(Fetcher::new(settings()).unwrap(), &url, "handshake").await;
}

async fn ends_at_one_second(fetcher: Fetcher, url: &str, what: &str) {
    let before = Instant::now();
    let failure = fetcher.fetch(url, Origin::Untrusted).await.unwrap_err();
    let took = before.elapsed();
    assert_eq!((failure.kind, failure.retryable), (FailureKind::Timeout, true), "{what}: {failure}");
    assert!((800..1200).contains(&took.as_millis()), "{what}: {took:?}");
    assert!(failure.trace.elapsed <= took && failure.trace.elapsed > Duration::from_millis(800));
}

#[tokio::test]
async fn c_57_one_host_gets_few_requests_at_a_time_and_a_second() {
    let host = CardHost::http(|_| {
        Answer::default().then(Act::Pause(Duration::from_millis(30))).write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
    })
    .await;
    // The deadline is far shorter than the queue: waiting for a turn does not count.
    let settings =
        FetchSettings { per_host_concurrency: 3, per_host_rate: 20, deadline: Duration::from_millis(500), ..loopback() };
    let fetcher = Fetcher::new(settings).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let (fetcher, url) = (fetcher.clone(), host.url(&format!("/{number}")));
        tasks.spawn(async move { fetcher.fetch(&url, Origin::Untrusted).await.unwrap() });
    }
    assert_eq!(tasks.join_all().await.len(), 50);
    assert!(host.most_open() <= 3, "{}", host.most_open());
    let at: Vec<_> = host.requests().iter().map(|request| request.at).collect();
    let close = Duration::from_millis(900);
    assert!(at.windows(21).all(|pair| pair[20] - pair[0] > close));
}
