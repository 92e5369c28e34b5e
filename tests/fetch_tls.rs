//! Fetching over TLS and HTTP/2: every certificate failure with its own sentence, and streams that end the wrong way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::HashSet;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{CardFetcher, FailureKind, FetchFailure, FetchSettings, Fetched, Fetcher, Origin};
use futures_util::StreamExt;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use support::authority::{self_signed, Authority};
use support::card_host::{loopback, Act, Answer, CardHost};
use support::names::Names;

const CARD: &[u8] = br#"{"name":"a card"}"#;
const NAMES: &[&str] = &["cards.example"];

fn fetcher(trusted: Option<&Path>) -> Fetcher {
    let extra_roots = trusted.map(Path::to_owned).into_iter().collect();
    let settings = FetchSettings { allow_http: false, extra_roots, ..loopback() };
    Fetcher::with_resolver(settings, Names::new(&[("cards.example", "127.0.0.1")])).unwrap()
}

async fn fetch(tls: Arc<ServerConfig>, trusted: Option<&Path>) -> Result<Fetched, FetchFailure> {
    fetch_answer(tls, trusted, Answer::ok(CARD)).await
}

async fn fetch_answer(tls: Arc<ServerConfig>, trusted: Option<&Path>, answer: Answer) -> Result<Fetched, FetchFailure> {
    let host = CardHost::https(tls, move |_| answer.clone()).await;
    fetcher(trusted).fetch(&host.url_at("cards.example", "/card.json"), Origin::Untrusted).await
}

#[tokio::test]
async fn an_authority_of_the_user_is_trusted() {
    let authority = Authority::new("test authority");
    for tls in [authority.server(NAMES), authority.server_with_root(NAMES), authority.below_intermediate(NAMES, true)] {
        let card = fetch(tls, Some(authority.pem_file())).await.unwrap();
        assert_eq!((card.body.sha256, card.length_verified), (Sha256Digest::of(CARD), true));
    }
}

#[tokio::test]
async fn c_48_each_wrong_certificate_has_its_own_sentence() {
    let authority = Authority::new("test authority");
    let other = Authority::new("another authority");
    let trusted = Some(authority.pem_file());
    let cases = [
        ("expired", authority.expired(NAMES), trusted, "its certificate expired on Wed, 01 Jan 2020 00:00:00 GMT"),
        ("not yet valid", authority.not_yet_valid(NAMES), trusted, "its certificate is not valid before Fri, 01 Jan 2500"),
        ("wrong host", authority.server(&["other.example"]), trusted, "its certificate is for another host"),
        ("self-signed", self_signed(NAMES, false), trusted, "its certificate is self-signed"),
        ("missing intermediate", authority.below_intermediate(NAMES, false), trusted, "does not send the intermediate"),
        ("private authority", other.server_with_root(NAMES), trusted, "comes from a private authority"),
        ("unknown authority", other.below_intermediate(NAMES, true), trusted, "comes from an unknown authority"),
        ("unknown extension", authority.with_unknown_extension(NAMES), trusted, "has an extension that must be understood"),
        ("signed by a server", authority.below_a_server(NAMES), trusted, "signed with one that is no authority's"),
    ];
    let mut sentences = HashSet::new();
    for (what, tls, trusted, sentence) in cases {
        let failure = fetch(tls, trusted).await.unwrap_err();
        assert_eq!((failure.kind, failure.retryable), (FailureKind::TlsFailure, false), "{what}: {failure}");
        assert!(failure.message.contains(sentence) && failure.message.contains("cards.example"), "{what}: {failure}");
        for debris in ["Some(", "\"", "UnknownIssuer", "Other(", "{"] {
            assert!(!failure.message.contains(debris), "{failure}");
        }
        sentences.insert(failure.message);
    }
    assert_eq!(sentences.len(), 9);
}

#[tokio::test]
async fn c_48_a_self_signed_certificate_is_named_so_though_it_is_marked_as_an_authority() {
    let failure = fetch(self_signed(NAMES, true), None).await.unwrap_err();
    assert!(failure.message.contains("its certificate is self-signed and an authority's own"), "{failure}");
}

#[tokio::test]
async fn c_48_no_certificate_failure_is_tried_again() {
    let authority = Authority::new("test authority");
    let host = CardHost::https(authority.expired(NAMES), |_| Answer::ok(CARD)).await;
    let settings = FetchSettings { retries: 3, extra_roots: vec![authority.pem_file().to_owned()], ..loopback() };
    let fetcher = Fetcher::with_resolver(settings, Names::new(&[("cards.example", "127.0.0.1")])).unwrap();
    fetcher.fetch(&host.url_at("cards.example", "/"), Origin::Untrusted).await.unwrap_err();
    assert_eq!(host.connections(), 1);
}

#[test]
fn c_50_an_empty_system_store_is_named_in_the_sentence() {
    if std::env::var_os("CARDPROOF_TEST_EMPTY_STORE").is_none() {
        // The store is read from the environment, which belongs to the whole process: a process of its own has none.
        let empty = tempfile::tempdir().unwrap();
        let file = empty.path().join("none.pem");
        std::fs::write(&file, "").unwrap();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "c_50_an_empty_system_store_is_named_in_the_sentence"]);
        child.env("CARDPROOF_TEST_EMPTY_STORE", "1").env("SSL_CERT_FILE", &file).env("SSL_CERT_DIR", empty.path());
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let host = CardHost::https(self_signed(NAMES, false), |_| Answer::ok(CARD)).await;
        let settings = FetchSettings { native_roots: true, ..loopback() };
        let fetcher = Fetcher::with_resolver(settings, Names::new(&[("cards.example", "127.0.0.1")])).unwrap();
        assert_eq!(fetcher.trusted_roots(), 0);
        let failure = fetcher.fetch(&host.url_at("cards.example", "/"), Origin::Untrusted).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::TlsFailure);
        assert!(failure.message.contains("the system's certificate store is empty"), "{failure}");
    });
}

#[tokio::test]
async fn a_body_longer_than_its_content_length_is_seen_through_tls() {
    let authority = Authority::new("test authority");
    for (length, verified) in [(9, true), (9, false)] {
        let sent = if verified { &CARD[..length] } else { CARD };
        let answer = Answer::head(200, &[("Content-Length", &length.to_string())]).write(sent);
        let host = CardHost::https(authority.server(NAMES), move |_| answer.clone()).await;
        let url = host.url_at("cards.example", "/card.json");
        let fetcher = fetcher(Some(authority.pem_file()));
        let first = fetcher.fetch(&url, Origin::Untrusted).await.unwrap();
        let again = fetcher.look_again(&url, first, Sha256Digest::of(b"another card")).await;
        assert_eq!((again.length_verified, host.requests().len()), (verified, 2));
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_close_notify_is_truncated() {
    let authority = Authority::new("test authority");
    let trusted = Some(authority.pem_file());
    let open_end = || Answer::head(200, &[]).write(CARD);
    let cut = fetch_answer(authority.server(NAMES), trusted, open_end().then(Act::Abort)).await.unwrap_err();
    assert_eq!((cut.kind, cut.retryable), (FailureKind::Truncated, true), "{cut}");
    let whole = fetch_answer(authority.server(NAMES), trusted, open_end().then(Act::Close)).await.unwrap();
    assert_eq!((whole.body.sha256, whole.length_verified), (Sha256Digest::of(CARD), true));
}

#[tokio::test]
async fn a_known_length_needs_no_close_notify() {
    let authority = Authority::new("test authority");
    let card = fetch_answer(authority.server(NAMES), Some(authority.pem_file()), Answer::ok(CARD).then(Act::Abort)).await;
    assert_eq!(card.unwrap().body.sha256, Sha256Digest::of(CARD));
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_refused_though_http_is_allowed() {
    let authority = Authority::new("test authority");
    let plain = CardHost::http(|_| Answer::ok(CARD)).await;
    let target = plain.url("/");
    let host = CardHost::https(authority.server(NAMES), move |_| Answer::redirect(301, &target)).await;
    let settings = FetchSettings { extra_roots: vec![authority.pem_file().to_owned()], ..loopback() };
    let fetcher = Fetcher::with_resolver(settings, Names::new(&[("cards.example", "127.0.0.1")])).unwrap();
    let failure = fetcher.fetch(&host.url_at("cards.example", "/"), Origin::Untrusted).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::RedirectDowngrade);
    assert_eq!(plain.connections(), 0);
}

#[tokio::test]
async fn a_server_that_hangs_up_in_the_handshake_is_a_tls_failure() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let failure = fetcher(None).fetch(&format!("https://cards.example:{port}/"), Origin::Untrusted).await.unwrap_err();
    assert_eq!((failure.kind, failure.retryable), (FailureKind::TlsFailure, true), "{failure}");
}

/// What an HTTP/2 server sends: pieces of a body, and then its end or a reset.
async fn over_http2(
    length: Option<usize>,
    pieces: &'static [&'static [u8]],
    reset: Option<Duration>,
) -> Result<Fetched, FetchFailure> {
    let authority = Authority::new("test authority");
    let mut tls = ServerConfig::clone(&authority.server(NAMES));
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let server = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let stream = acceptor.accept(socket).await.unwrap();
        let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| async move {
            assert_eq!(request.version(), hyper::Version::HTTP_2);
            let frames: Vec<Result<Frame<Bytes>, std::io::Error>> =
                pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece)))).collect();
            let after = futures_util::stream::once(async move {
                tokio::time::sleep(reset.unwrap_or_default()).await;
                reset.map(|_| Err(std::io::Error::other("reset")))
            });
            let frames = futures_util::stream::iter(frames).chain(after.filter_map(std::future::ready));
            let body = StreamBody::new(Box::pin(frames));
            let mut answer = hyper::Response::builder();
            if let Some(length) = length {
                answer = answer.header("content-length", length);
            }
            Ok::<_, Infallible>(answer.body(body).unwrap())
        });
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let _ = server.serve_connection(TokioIo::new(stream), service).await;
    });
    let settings =
        FetchSettings { deadline: Duration::from_secs(5), extra_roots: vec![authority.pem_file().to_owned()], ..loopback() };
    let fetcher = Fetcher::with_resolver(settings, Names::new(&[("cards.example", "127.0.0.1")])).unwrap();
    let outcome = fetcher.fetch(&format!("https://cards.example:{port}/"), Origin::Untrusted).await;
    server.abort();
    outcome
}

/// A stream that is reset "without an error" looks like its end to HTTP libraries; the length it announced says otherwise.
#[tokio::test]
async fn an_http2_stream_reset_without_an_error_short_of_its_length_is_truncated() {
    let length = Some(CARD.len());
    let cases =
        [(&CARD[..5], length, false), (b"", length, false), (CARD, length, true), (CARD, None, true), (&CARD[..5], None, false)];
    for (sent, length, whole) in cases {
        let authority = Authority::new("test authority");
        let mut tls = ServerConfig::clone(&authority.server(NAMES));
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
        let server = tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(acceptor.accept(socket).await.unwrap()).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let mut answer = hyper::Response::builder().status(200);
                if let Some(length) = length {
                    answer = answer.header("content-length", length);
                }
                let mut stream = respond.send_response(answer.body(()).unwrap(), false).unwrap();
                stream.send_data(Bytes::from_static(sent), whole).unwrap();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    stream.send_reset(h2::Reason::NO_ERROR);
                });
            }
        });
        let settings =
            FetchSettings { deadline: Duration::from_secs(5), extra_roots: vec![authority.pem_file().to_owned()], ..loopback() };
        let fetcher = Fetcher::with_resolver(settings, Names::new(&[("cards.example", "127.0.0.1")])).unwrap();
        let outcome = fetcher.fetch(&format!("https://cards.example:{port}/"), Origin::Untrusted).await;
        server.abort();
        if whole {
            let card = outcome.unwrap();
            assert_eq!((card.body.sha256, card.length_verified), (Sha256Digest::of(CARD), true));
        } else if length.is_none() {
            assert!(!outcome.unwrap().length_verified, "a part of a card may be no mismatch");
        } else {
            assert_eq!(outcome.unwrap_err().kind, FailureKind::Truncated, "{} bytes, length {length:?}", sent.len());
        }
    }
}

#[tokio::test]
async fn http2_brings_a_card() {
    let card = over_http2(None, &[b"{\"name\":", b"\"a card\"}"], None).await.unwrap();
    assert_eq!((card.body.sha256, card.length_verified), (Sha256Digest::of(CARD), true));
}

#[tokio::test]
async fn an_http2_reset_or_a_length_that_is_not_reached_is_no_card() {
    for pause in [Duration::ZERO, Duration::from_millis(100)] {
        let reset = over_http2(None, &[b"{\"name\":"], Some(pause)).await.unwrap_err();
        assert_eq!((reset.kind, reset.retryable), (FailureKind::Truncated, true), "{reset}");
    }
    let short = over_http2(Some(99), &[CARD], None).await.unwrap_err();
    assert_eq!((short.kind, short.retryable), (FailureKind::Truncated, true), "{short}");
}

/// The first connection answers one request and says good-bye at the second; every other one answers.
#[tokio::test]
async fn a_kept_encrypted_connection_that_the_server_closes_costs_no_try() {
    let authority = Authority::new("test authority");
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let host = CardHost::https(authority.server(NAMES), move |_| match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        1 => Answer::default().then(Act::Close),
        _ => Answer::ok(CARD),
    })
    .await;
    let fetcher = fetcher(Some(authority.pem_file()));
    for _ in 0..2 {
        fetcher.fetch(&host.url_at("cards.example", "/"), Origin::Untrusted).await.unwrap();
    }
    assert_eq!((host.requests().len(), host.connections()), (3, 2));
}

/// A server of frames alone: each connection answers one request with the card, and the next crosses its GOAWAY.
async fn good_byes(tls: ServerConfig) -> u16 {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let settings = frame(4, 0, 0, &[]);
    let answer = [frame(1, 4, 1, &[0x88]), frame(0, 1, 1, CARD)].concat();
    let good_bye = frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, settings) = (acceptor.clone(), settings.clone());
            let mut answers = [good_bye.clone(), answer.clone()].to_vec();
            tokio::spawn(async move {
                let mut stream = acceptor.accept(socket).await.unwrap();
                stream.read_exact(&mut [0; 24]).await.unwrap();
                stream.write_all(&settings).await.unwrap();
                let mut head = [0; 9];
                while stream.read_exact(&mut head).await.is_ok() {
                    let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
                    stream.read_exact(&mut payload).await.unwrap();
                    if head[3] == 1 {
                        stream.write_all(&answers.pop().unwrap_or_default()).await.unwrap();
                    }
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn a_kept_http2_connection_that_goes_away_costs_no_try() {
    let authority = Authority::new("test authority");
    let mut tls = ServerConfig::clone(&authority.server(NAMES));
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let port = good_byes(tls).await;
    let fetcher = fetcher(Some(authority.pem_file()));
    for _ in 0..2 {
        let card = fetcher.fetch(&format!("https://cards.example:{port}/"), Origin::Untrusted).await.unwrap();
        assert_eq!(card.body.sha256, Sha256Digest::of(CARD));
    }
}
