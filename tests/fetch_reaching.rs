//! Fetching, the way to the card: schemes, addresses, redirects, statuses, retries, deadlines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cardproof::digest::Sha256Digest;
use cardproof::fetch::{CardFetcher, FailureKind, FetchFailure, FetchSettings, Fetched, Fetcher, Hop, Origin};
use support::card_host::{loopback, Act, Answer, CardHost, Request};
use support::names::Names;

const CARD: &[u8] = br#"{"name":"a card"}"#;

/// What a stranger's URI gets, but over plain HTTP and once; `cards.example` alone may be on loopback.
fn guarded() -> FetchSettings {
    let allow_hosts = vec!["cards.example".to_owned()];
    FetchSettings { allow_http: true, allow_hosts, retries: 0, ..FetchSettings::default() }
}

fn names() -> Arc<Names> {
    Names::new(&[
        ("cards.example", "127.0.0.1"),
        ("inside.example", "127.0.0.1"),
        ("mixed.example", "203.0.114.1 127.0.0.1"),
        ("metadata.example", "169.254.169.254"),
        ("link.example", "fe80::1"),
        ("empty.example", ""),
        ("xn--bcher-kva.example", "127.0.0.1"),
        ("dual.example", "::1 127.0.0.1"),
        ("six.example", "::1"),
    ])
}

async fn fetch(settings: FetchSettings, uri: &str, origin: Origin) -> Result<Fetched, FetchFailure> {
    Fetcher::with_resolver(settings, names()).unwrap().fetch(uri, origin).await
}

async fn failure(settings: FetchSettings, uri: &str) -> FetchFailure {
    fetch(settings, uri, Origin::Untrusted).await.unwrap_err()
}

async fn host_of_cards() -> CardHost {
    CardHost::http(|_| Answer::ok(CARD)).await
}

#[tokio::test]
async fn c_12_c_37_c_47_a_uri_that_is_none_asks_nobody() {
    let names = names();
    let fetcher = Fetcher::with_resolver(FetchSettings::default(), names.clone()).unwrap();
    for (uri, kind) in [
        ("34.65.134.134", FailureKind::InvalidUri),
        ("", FailureKind::InvalidUri),
        ("https://cards.example/\n", FailureKind::InvalidUri),
        ("https://user:secret@cards.example/", FailureKind::InvalidUri),
        ("file:///etc/passwd", FailureKind::UnsupportedScheme),
        ("http://cards.example/", FailureKind::UnsupportedScheme),
        ("ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", FailureKind::UnsupportedScheme),
        ("https://cards.example:25/", FailureKind::BlockedPort),
        ("https://127.0.0.1/", FailureKind::BlockedAddress),
    ] {
        let failure = fetcher.fetch(uri, Origin::Untrusted).await.unwrap_err();
        assert_eq!((failure.kind, failure.retryable), (kind, false), "{uri}: {failure}");
        assert!(failure.trace.final_url.is_none() && !failure.message.contains("secret"), "{failure}");
    }
    assert!(names.asked().is_empty());
}

#[tokio::test]
async fn c_31_two_redirects_to_another_host_are_followed_and_listed() {
    let end = host_of_cards().await;
    let target = end.url("/final.json#part");
    let start = CardHost::http(move |request| match request.path.as_str() {
        "/card.json" => Answer::redirect(301, "/moved.json"),
        _ => Answer::redirect(307, &target),
    })
    .await;
    let card = fetch(loopback(), &start.url("/card.json"), Origin::Untrusted).await.unwrap();
    assert_eq!(card.body.sha256, Sha256Digest::of(CARD));
    assert_eq!(card.trace.final_url, Some(end.url("/final.json")));
    let hops = [(start.url("/card.json"), 301), (start.url("/moved.json"), 307)];
    assert_eq!(card.trace.hops, hops.map(|(url, status)| Hop { url, status }));
    assert_eq!((start.requests().len(), end.requests().len()), (2, 1));
}

#[tokio::test]
async fn five_redirects_are_followed_and_not_six() {
    let count = |request: &Request| request.path.trim_start_matches('/').parse::<u32>().unwrap();
    let host = CardHost::http(move |request| match count(request) {
        0 => Answer::ok(CARD),
        left => Answer::redirect(302, &format!("/{}", left - 1)),
    })
    .await;
    assert_eq!(fetch(loopback(), &host.url("/5"), Origin::Untrusted).await.unwrap().trace.hops.len(), 5);
    assert_eq!(failure(loopback(), &host.url("/6")).await.kind, FailureKind::RedirectLimit);
}

#[tokio::test]
async fn redirects_carry_neither_cookies_nor_a_referrer() {
    let host = CardHost::http(|request| match request.path.as_str() {
        "/a" => Answer::with(302, &[("Location", "/b"), ("Set-Cookie", "a=b")], ""),
        _ => Answer::ok(CARD),
    })
    .await;
    fetch(loopback(), &host.url("/a"), Origin::Untrusted).await.unwrap();
    let last = &host.requests()[1];
    assert_eq!((last.header("cookie"), last.header("referer"), last.header("authorization")), (None, None, None));
    assert!(last.header("user-agent").unwrap().starts_with("cardproof/"));
}

#[tokio::test]
async fn c_45_a_redirect_to_a_refused_address_makes_no_connection() {
    let inside = host_of_cards().await;
    let port = inside.address.port();
    for (location, kind) in [
        (format!("http://127.0.0.1:{port}/"), FailureKind::BlockedAddress),
        (format!("http://2130706433:{port}/"), FailureKind::BlockedAddress),
        (format!("http://[::ffff:7f00:1]:{port}/"), FailureKind::BlockedAddress),
        (format!("http://inside.example:{port}/"), FailureKind::BlockedAddress),
        (format!("http://mixed.example:{port}/"), FailureKind::BlockedAddress),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), FailureKind::BlockedAddress),
        ("http://metadata.example/".to_owned(), FailureKind::BlockedAddress),
        ("http://cards.example:22/".to_owned(), FailureKind::BlockedPort),
        ("file:///etc/passwd".to_owned(), FailureKind::RedirectInvalid),
        ("data:,card".to_owned(), FailureKind::RedirectInvalid),
        ("http://user:pw@cards.example/".to_owned(), FailureKind::RedirectInvalid),
    ] {
        let answer = Answer::redirect(302, &location);
        let start = CardHost::http(move |_| answer.clone()).await;
        let failure = failure(guarded(), &start.url_at("cards.example", "/")).await;
        assert_eq!((failure.kind, failure.retryable), (kind, false), "{location}: {failure}");
        assert_eq!((failure.trace.hops.len(), failure.trace.status), (1, Some(302)));
        assert!(!failure.message.contains("pw@"));
    }
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn c_45_what_the_user_typed_may_be_local_and_what_it_redirects_to_may_not() {
    let inside = host_of_cards().await;
    let target = inside.url("/");
    let start = CardHost::http(move |request| match request.path.as_str() {
        "/card.json" => Answer::ok(CARD),
        _ => Answer::redirect(302, &target),
    })
    .await;
    let settings = || FetchSettings { retries: 0, ..FetchSettings::default() };
    assert!(fetch(settings(), &start.url("/card.json"), Origin::User).await.is_ok());
    let with_http = FetchSettings { allow_http: true, ..settings() };
    let refused = fetch(with_http, &start.url("/away"), Origin::User).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::BlockedAddress);
    let refused = fetch(settings(), &start.url("/away"), Origin::User).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::RedirectInvalid);
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn c_46_a_connection_of_the_user_is_not_lent_to_a_stranger() {
    let host = host_of_cards().await;
    let fetcher = Fetcher::with_resolver(FetchSettings { allow_http: true, ..FetchSettings::default() }, names()).unwrap();
    let url = host.url_at("inside.example", "/");
    assert!(fetcher.fetch(&url, Origin::User).await.is_ok());
    let refused = fetcher.fetch(&url, Origin::Untrusted).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::BlockedAddress);
    assert_eq!((host.connections(), host.requests().len()), (1, 1));
}

#[tokio::test]
async fn c_46_a_name_is_refused_by_any_of_its_addresses() {
    let host = host_of_cards().await;
    for name in ["inside.example", "mixed.example", "metadata.example", "link.example"] {
        let failure = failure(guarded(), &host.url_at(name, "/")).await;
        assert_eq!((failure.kind, failure.retryable), (FailureKind::BlockedAddress, false), "{name}");
        assert!(failure.message.contains(name), "{failure}");
    }
    assert_eq!(host.connections(), 0);
}

#[tokio::test]
async fn c_46_the_address_that_was_checked_is_the_one_that_is_connected_to() {
    // The name is resolved once: an answer that changes afterwards cannot matter.
    let host = host_of_cards().await;
    let names = names();
    let fetcher = Fetcher::with_resolver(guarded(), names.clone()).unwrap();
    fetcher.fetch(&host.url_at("cards.example", "/"), Origin::Untrusted).await.unwrap();
    assert_eq!(names.asked(), ["cards.example"]);
}

#[tokio::test]
async fn c_38_data_uris_need_no_network() {
    let card = fetch(FetchSettings::default(), "data:application/json;utf8,{}", Origin::Untrusted).await.unwrap();
    assert_eq!((card.body.sha256, card.wire_sha256), (Sha256Digest::of(b"{}"), Sha256Digest::of(b"{}")));
    assert_eq!((card.trace.final_url, card.trace.status), (None, None));
    for (uri, kind) in [
        ("data:application/json", FailureKind::InvalidUri),
        ("data:;base64,e*", FailureKind::InvalidUri),
        ("data:,four", FailureKind::TooLarge),
    ] {
        let settings = FetchSettings { max_bytes: 3, ..FetchSettings::default() };
        assert_eq!(failure(settings, uri).await.kind, kind, "{uri}");
    }
}

#[tokio::test]
async fn c_39_c_40_gateways_are_tried_in_order_and_all_causes_are_named() {
    let uri = "ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy/card.json";
    let broken = CardHost::http(|_| Answer::status(504)).await;
    let missing = CardHost::http(|_| Answer::status(404)).await;
    let good = host_of_cards().await;
    let with = |hosts: &[&CardHost]| {
        let ipfs_gateways = hosts.iter().map(|host| host.url("")).collect();
        FetchSettings { ipfs_gateways, ..FetchSettings::default() }
    };
    let card = fetch(with(&[&broken, &missing, &good]), uri, Origin::Untrusted).await.unwrap();
    assert_eq!(card.body.sha256, Sha256Digest::of(CARD));
    assert!(good.requests()[0].path.starts_with("/ipfs/bafkrei"));
    let failure = failure(with(&[&broken, &missing]), uri).await;
    assert_eq!((failure.kind, failure.retryable), (FailureKind::NotFound, true));
    assert!(failure.message.contains("504") && failure.message.contains("404"), "{failure}");
}

#[tokio::test]
async fn c_39_a_gateway_that_sends_other_bytes_decides_nothing_while_another_has_the_right_ones() {
    let uri = "ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy/card.json";
    let lies = CardHost::http(|_| Answer::ok("<html>try again</html>")).await;
    let good = host_of_cards().await;
    let hangs = CardHost::http(|_| Answer::default().then(Act::Hang)).await;
    let all = [
        (vec![&lies, &good], true),
        (vec![&lies, &hangs, &good], true),
        (vec![&hangs, &lies, &good], true),
        (vec![&lies, &good, &hangs], true),
        (vec![&lies, &lies], false),
    ];
    for (gateways, right) in all {
        let ipfs_gateways = gateways.iter().map(|host| host.url("")).collect();
        let deadline = Duration::from_secs(1);
        let fetcher = Fetcher::new(FetchSettings { ipfs_gateways, deadline, ..FetchSettings::default() }).unwrap();
        let first = fetcher.fetch(uri, Origin::Untrusted).await.unwrap();
        let again = fetcher.look_again(uri, first, Sha256Digest::of(CARD)).await;
        assert_eq!(again.body.sha256 == Sha256Digest::of(CARD), right);
    }
}

#[tokio::test]
async fn c_40_a_gateway_that_hangs_leaves_time_for_the_next() {
    let hangs = CardHost::http(|_| Answer::default().then(Act::Hang)).await;
    let good = host_of_cards().await;
    let ipfs_gateways = vec![hangs.url(""), good.url("")];
    let settings = FetchSettings { ipfs_gateways, deadline: Duration::from_secs(1), ..FetchSettings::default() };
    let uri = "ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
    assert!(fetch(settings, uri, Origin::Untrusted).await.is_ok());
}

#[tokio::test]
async fn c_41_a_dead_first_family_does_not_cost_the_deadline() {
    let host = host_of_cards().await;
    // Nobody accepts there, and its queue is full: connecting takes for ever.
    let dead = tokio::net::TcpSocket::new_v6().unwrap();
    dead.bind(format!("[::1]:{}", host.address.port()).parse().unwrap()).unwrap();
    let dead = dead.listen(1).unwrap();
    let address = dead.local_addr().unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..8 {
        waiting.spawn(async move {
            let held = tokio::net::TcpStream::connect(address).await;
            std::future::pending::<()>().await;
            drop(held);
        });
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = Instant::now();
    let card = fetch(loopback(), &host.url_at("dual.example", "/"), Origin::Untrusted).await.unwrap();
    assert_eq!(card.trace.ip, Some("127.0.0.1".parse().unwrap()));
    assert!(before.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn c_41_a_host_with_only_an_ipv6_address_is_reached() {
    let host = CardHost::http_at("[::1]:0", |_| Answer::ok(CARD)).await;
    let card = fetch(loopback(), &host.url_at("six.example", "/"), Origin::Untrusted).await.unwrap();
    assert_eq!(card.trace.ip, Some("::1".parse().unwrap()));
}

#[tokio::test]
async fn c_43_an_internationalised_host_is_reported_in_punycode() {
    let host = host_of_cards().await;
    let card = fetch(loopback(), &host.url_at("Bücher.example", "/"), Origin::Untrusted).await.unwrap();
    assert_eq!(card.trace.final_url, Some(host.url_at("xn--bcher-kva.example", "/")));
}

#[tokio::test]
async fn an_explicit_proxy_is_used_and_its_credentials_stay_hidden() {
    let proxy = host_of_cards().await;
    let with = |url: String| FetchSettings {
        allow_http: true,
        retries: 0,
        proxy: Some(url.parse().unwrap()),
        ..FetchSettings::default()
    };
    let settings = with(proxy.url("").replace("http://", "http://user:geheim@"));
    let card = fetch(settings.clone(), "http://anywhere.example/card.json", Origin::Untrusted).await.unwrap();
    assert_eq!((card.body.sha256, card.trace.ip), (Sha256Digest::of(CARD), None));
    assert_eq!(proxy.requests()[0].path, "http://anywhere.example/card.json");
    assert!(proxy.requests()[0].header("proxy-authorization").is_some());
    assert_eq!(failure(settings, "http://169.254.169.254/").await.kind, FailureKind::BlockedAddress);
    let gone = failure(with("http://user:geheim@127.0.0.1:9".to_owned()), "http://anywhere.example/").await;
    assert_eq!(gone.kind, FailureKind::ConnectFailure);
    assert!(!format!("{gone} {gone:?}").contains("geheim"));
}

#[test]
fn proxies_of_the_environment_are_ignored() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "c_31_two_redirects_to_another_host_are_followed_and_listed"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        child.env(name, "http://127.0.0.1:9");
    }
    let output = child.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[tokio::test]
async fn c_49_c_11_every_cause_is_one_plain_sentence() {
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let reset = CardHost::http(|_| Answer::default().then(Act::Reset)).await;
    let silent = CardHost::http(|_| Answer::default().then(Act::Hang)).await;
    let cut = CardHost::http(|_| Answer::head(200, &[("Content-Length", "9")]).write("x").then(Act::Close)).await;
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let not_tls = format!("https://{}/", plain.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = plain.accept().await {
            tokio::io::AsyncWriteExt::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        }
    });
    let short = || FetchSettings { deadline: Duration::from_millis(300), ..loopback() };
    let cases = [
        ("https://nowhere.example/".to_owned(), "the name nowhere.example cannot be resolved: no such name"),
        ("https://empty.example/".to_owned(), "the name empty.example has no address"),
        (format!("http://127.0.0.1:{closed}/"), "127.0.0.1 refuses connections on port PORT"),
        (reset.url("/"), "127.0.0.1 reset the connection without an answer"),
        (silent.url("/"), "no complete answer from 127.0.0.1 within 0.3 s (--timeout)"),
        (not_tls, "127.0.0.1 does not speak TLS on this port; does it speak plain http?"),
        ("https://169.254.169.254/".to_owned(), "169.254.169.254 is not connected to: it is a link-local address, where cloud metadata lives"),
        ("https://metadata.example/".to_owned(), "metadata.example is not connected to: one of its addresses is 169.254.169.254, a link-local address, where cloud metadata lives"),
        (cut.url("/"), "127.0.0.1 ended the body too early, after 1 bytes: "),
    ];
    for (uri, sentence) in cases {
        let failure = failure(short(), &uri).await;
        let message = failure.message.replace(&closed.to_string(), "PORT");
        if sentence.ends_with(": ") {
            assert!(message.starts_with(sentence), "{message}");
        } else {
            assert_eq!(message, sentence);
        }
        for debris in ["Some(", "None", "Error {", "Custom", "\"", "Os {", "reqwest", "hyper", "\n"] {
            assert!(!message.contains(debris), "{message}");
        }
    }
}
