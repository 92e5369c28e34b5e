//! Fetching, the bytes: complete or no digest, decoded exactly once, never above the cap.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::Duration;

use cardproof::digest::Sha256Digest;
use cardproof::fetch::{CardFetcher, FailureKind, FetchFailure, FetchSettings, Fetched, Fetcher, Origin};
use support::card_host::{loopback, Act, Answer, CardHost};
use support::encode;

const CARD: &[u8] = br#"{"name":"a card","skills":[{"id":"one"},{"id":"two"},{"id":"three"}]}"#;

async fn fetch_with(settings: FetchSettings, answer: Answer) -> Result<Fetched, FetchFailure> {
    let host = CardHost::http(move |_| answer.clone()).await;
    Fetcher::new(settings).unwrap().fetch(&host.url("/card.json"), Origin::Untrusted).await
}

async fn fetch(answer: Answer) -> Result<Fetched, FetchFailure> {
    fetch_with(loopback(), answer).await
}

async fn kind(answer: Answer) -> FailureKind {
    fetch(answer).await.unwrap_err().kind
}

fn encoded(coding: &str, body: &[u8]) -> Answer {
    Answer::with(200, &[("Content-Encoding", coding)], body)
}

fn chunked(body: &[u8]) -> Answer {
    let answer = Answer::head(200, &[("Transfer-Encoding", "chunked")]);
    answer.write(format!("{:x}\r\n", body.len())).write(body).write("\r\n0\r\n\r\n")
}

#[tokio::test]
async fn a_complete_body_has_its_digest_and_its_bytes() {
    for answer in [Answer::ok(CARD), chunked(CARD)] {
        let card = fetch(answer).await.unwrap();
        assert_eq!((card.body.sha256, card.wire_sha256), (Sha256Digest::of(CARD), Sha256Digest::of(CARD)));
        assert_eq!((card.body.bytes, card.body.kept.as_deref()), (CARD.len() as u64, Some(CARD)));
        assert!(card.length_verified && !card.looks_like_bot_wall);
        assert_eq!(card.trace.status, Some(200));
        assert_eq!(card.trace.ip, Some("127.0.0.1".parse().unwrap()));
    }
}

#[tokio::test]
async fn c_01_a_body_above_the_cap_is_too_large_and_one_at_the_cap_is_not() {
    let settings = || FetchSettings { max_bytes: CARD.len() as u64, ..loopback() };
    let mut above = CARD.to_vec();
    above.push(b'\n');
    let close = Answer::head(200, &[]).write(&above).then(Act::Close);
    let packed = encoded("gzip", &encode::gzip(&above));
    for answer in [Answer::ok(&above), chunked(&above), close, packed] {
        let failure = fetch_with(settings(), answer).await.unwrap_err();
        assert_eq!((failure.kind, failure.retryable), (FailureKind::TooLarge, false));
    }
    for answer in [Answer::ok(CARD), chunked(CARD)] {
        assert_eq!(fetch_with(settings(), answer).await.unwrap().body.sha256, Sha256Digest::of(CARD));
    }
}

#[tokio::test]
async fn c_01_an_announced_length_above_the_cap_is_refused_before_the_body() {
    let head = Answer::head(200, &[("Content-Length", "8388609")]).then(Act::Hang);
    assert_eq!(kind(head).await, FailureKind::TooLarge);
    let endless = Answer::head(200, &[]).then(Act::Endless(vec![b'x'; 64 << 10]));
    assert_eq!(kind(endless).await, FailureKind::TooLarge);
}

#[tokio::test]
async fn c_18_c_55_nothing_is_decoded_behind_our_back_and_both_digests_are_known() {
    let packed = encode::gzip(CARD);
    let answer = encoded("gzip", &packed);
    let host = CardHost::http(move |_| answer.clone()).await;
    let card = Fetcher::new(loopback()).unwrap().fetch(&host.url("/"), Origin::Untrusted).await.unwrap();
    assert_eq!(card.body.sha256, Sha256Digest::of(CARD));
    assert_eq!(card.wire_sha256, Sha256Digest::of(&encode::gzip(CARD)));
    assert_eq!(card.trace.content_encoding.as_deref(), Some("gzip"));
    let request = &host.requests()[0];
    assert_eq!(request.header("accept-encoding"), Some("identity"));
    assert_eq!(request.head.to_ascii_lowercase().matches("accept-encoding").count(), 1);
    assert_eq!(request.method, "GET");
}

#[tokio::test]
async fn c_19_every_coding_gives_the_decoded_and_the_wire_digest() {
    let matrix: &[(&str, Vec<u8>)] = &[
        ("identity", CARD.to_vec()),
        ("", CARD.to_vec()),
        ("gzip", encode::gzip(CARD)),
        ("GZip", encode::gzip(CARD)),
        ("x-gzip", encode::gzip(CARD)),
        ("deflate", encode::zlib(CARD)),
        ("deflate", encode::raw_deflate(CARD)),
        ("br", encode::brotli(CARD)),
        ("zstd", encode::zstd(CARD)),
        ("gzip, gzip", encode::gzip(&encode::gzip(CARD))),
        ("br, identity, gzip", encode::gzip(&encode::brotli(CARD))),
        ("gzip", [encode::gzip(&CARD[..20]), encode::gzip(&CARD[20..])].concat()),
        ("zstd", [encode::zstd(&CARD[..20]), encode::zstd(&CARD[20..])].concat()),
    ];
    for (coding, wire) in matrix {
        let card = fetch(encoded(coding, wire)).await.unwrap();
        assert_eq!(card.body.sha256, Sha256Digest::of(CARD), "{coding}");
        assert_eq!(card.wire_sha256, Sha256Digest::of(wire), "{coding}");
    }
}

#[tokio::test]
async fn c_19_two_header_lines_are_two_layers() {
    let wire = encode::gzip(&encode::zstd(CARD));
    let answer = Answer::with(200, &[("Content-Encoding", "zstd"), ("Content-Encoding", "gzip")], &wire);
    assert_eq!(fetch(answer).await.unwrap().body.sha256, Sha256Digest::of(CARD));
}

#[tokio::test]
async fn c_21_a_body_that_looks_compressed_without_a_header_is_what_it_is() {
    let packed = encode::gzip(CARD);
    let card = fetch(Answer::ok(&packed)).await.unwrap();
    assert_eq!((card.body.sha256, card.wire_sha256), (Sha256Digest::of(&packed), Sha256Digest::of(&packed)));
    assert!(card.body.kept.unwrap().starts_with(&[0x1f, 0x8b]));
}

#[tokio::test]
async fn a_body_cut_short_is_truncated_and_has_no_digest() {
    let cut = &CARD[..CARD.len() - 1];
    let length = CARD.len().to_string();
    let announced = || Answer::head(200, &[("Content-Length", &length)]).write(cut);
    let unended = || Answer::head(200, &[("Transfer-Encoding", "chunked")]).write(format!("{:x}\r\n", CARD.len()));
    for (what, answer) in [
        ("length, closed", announced().then(Act::Close)),
        ("length, reset", announced().then(Act::Pause(std::time::Duration::from_millis(50))).then(Act::Reset)),
        ("chunk, closed", unended().write(cut).then(Act::Close)),
        ("no last chunk", unended().write(CARD).write("\r\n").then(Act::Close)),
        ("last chunk without its end", unended().write(CARD).write("\r\n0\r\n").then(Act::Close)),
        (
            "encoded, closed",
            Answer::head(200, &[("Content-Encoding", "gzip"), ("Content-Length", "500")])
                .write(encode::gzip(CARD))
                .then(Act::Close),
        ),
    ] {
        let failure = fetch(answer).await.unwrap_err();
        assert_eq!((failure.kind, failure.retryable), (FailureKind::Truncated, true), "{what}: {failure}");
    }
}

#[tokio::test]
async fn a_plaintext_body_that_ends_by_closing_is_not_verified() {
    let card = fetch(Answer::head(200, &[]).write(CARD).then(Act::Close)).await.unwrap();
    assert_eq!((card.body.sha256, card.length_verified), (Sha256Digest::of(CARD), false));
}

/// What a second look makes of a body that is not the card's.
async fn looked_at_again(answer: Answer) -> (Fetched, usize) {
    let host = CardHost::http(move |_| answer.clone()).await;
    let fetcher = Fetcher::new(loopback()).unwrap();
    let url = host.url("/card.json?x=1");
    let first = fetcher.fetch(&url, Origin::Untrusted).await.unwrap();
    assert_ne!(first.body.sha256, Sha256Digest::of(CARD));
    let again = fetcher.look_again(&url, first, Sha256Digest::of(CARD)).await;
    let requests = host.requests();
    assert!(requests.iter().all(|request| request.path == "/card.json?x=1" && request.header("host").is_some()));
    (again, requests.len())
}

#[tokio::test]
async fn a_body_that_is_longer_than_its_content_length_is_not_verified() {
    let short = |length: usize| Answer::head(200, &[("Content-Length", &length.to_string())]);
    let packed = encode::gzip(CARD).len();
    for (what, answer) in [
        ("five bytes too few", short(CARD.len() - 5).write(CARD)),
        ("nothing declared", short(0).write(CARD)),
        ("the length of another form", short(packed.min(CARD.len() - 1)).write(CARD)),
        ("closed", short(9).write(CARD).then(Act::Close)),
        ("late", short(9).write(&CARD[..9]).then(Act::Pause(Duration::from_millis(100))).write(&CARD[9..])),
    ] {
        let (fetched, requests) = looked_at_again(answer).await;
        assert_eq!((fetched.length_verified, requests), (false, 2), "{what}");
    }
}

#[tokio::test]
async fn a_second_look_reads_no_more_than_the_first_answer_had_and_keeps_the_deadline() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let endless = || Answer::head(200, &[("Content-Length", "1000000000000")]).then(Act::Endless(vec![b' '; 64 << 10]));
    for second in [endless(), Answer::default().then(Act::Hang)] {
        let asked = AtomicBool::new(false);
        let host = CardHost::http(move |_| match asked.swap(true, Ordering::SeqCst) {
            false => Answer::ok("{\"a\":"),
            true => second.clone(),
        })
        .await;
        let fetcher = Fetcher::new(FetchSettings { deadline: Duration::from_secs(1), ..loopback() }).unwrap();
        let url = host.url("/");
        let before = std::time::Instant::now();
        let first = fetcher.fetch(&url, Origin::Untrusted).await.unwrap();
        let again = fetcher.look_again(&url, first, Sha256Digest::of(CARD)).await;
        assert_eq!((again.length_verified, host.requests().len()), (true, 2));
        assert!(before.elapsed() < Duration::from_millis(1900), "{:?}", before.elapsed());
    }
}

#[tokio::test]
async fn another_card_of_the_declared_length_stays_another_card() {
    // It looks as if its end were missing.
    const OTHER: &str = "{\"name\":\"another card\"";
    let held_open = Answer::ok(OTHER).then(Act::Pause(Duration::from_secs(2)));
    for answer in [Answer::ok(OTHER), Answer::ok(OTHER).then(Act::Close), held_open] {
        let (fetched, requests) = looked_at_again(answer).await;
        assert_eq!((fetched.length_verified, requests), (true, 2));
    }
    let (fetched, requests) = looked_at_again(chunked(OTHER.as_bytes())).await;
    assert_eq!((fetched.length_verified, requests), (true, 1), "chunks say themselves where the body ends");
    for whole in ["{\"name\":\"another card\"}", "another card", "<html>"] {
        let (fetched, requests) = looked_at_again(Answer::ok(whole)).await;
        assert_eq!((fetched.length_verified, requests), (true, 1), "a document that is complete is not asked for twice");
    }
}

#[tokio::test]
async fn a_content_length_beside_chunks_must_be_theirs() {
    for (length, verified) in [(CARD.len(), true), (5, false), (5000, false)] {
        let head = [("Transfer-Encoding", "chunked"), ("Content-Length", &length.to_string())];
        let answer = Answer::head(200, &head).write(format!("{:x}\r\n", CARD.len())).write(CARD).write("\r\n0\r\n\r\n");
        let card = fetch(answer).await.unwrap();
        assert_eq!((card.body.sha256, card.length_verified), (Sha256Digest::of(CARD), verified), "{length}");
    }
}

#[tokio::test]
async fn a_length_that_is_said_twice_is_a_length() {
    let length = CARD.len().to_string();
    let list = format!("{length}, {length}");
    for head in [vec![("Content-Length", list.as_str())], vec![("Content-Length", &*length), ("Content-Length", &*length)]] {
        assert!(fetch(Answer::head(200, &head).write(CARD)).await.unwrap().length_verified);
    }
}

#[tokio::test]
async fn contradictory_or_malformed_framing_is_a_protocol_error() {
    let two = Answer::head(200, &[("Content-Length", "5"), ("Content-Length", "6")]).write("hello!");
    let chunk = Answer::head(200, &[("Transfer-Encoding", "chunked")]).write("zz\r\nhello\r\n0\r\n\r\n");
    let coded = Answer::head(200, &[("Transfer-Encoding", "gzip, chunked")]).write("0\r\n\r\n");
    let text = Answer::default().write("hello, this is no HTTP\r\n\r\n").then(Act::Close);
    for (what, answer) in [("two lengths", two), ("chunk size", chunk), ("transfer coding", coded), ("no HTTP", text)] {
        assert_eq!(kind(answer).await, FailureKind::ProtocolError, "{what}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_what_its_coding_says_is_bad_content_coding() {
    let with_tail = |bytes: Vec<u8>| [bytes, b"tail".to_vec()].concat();
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 3].to_vec();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("gzip", CARD.to_vec()),
        ("deflate", CARD.to_vec()),
        ("br", CARD.to_vec()),
        ("zstd", CARD.to_vec()),
        ("gzip", with_tail(encode::gzip(CARD))),
        ("deflate", with_tail(encode::zlib(CARD))),
        ("deflate", with_tail(encode::raw_deflate(CARD))),
        ("br", with_tail(encode::brotli(CARD))),
        ("zstd", with_tail(encode::zstd(CARD))),
        ("gzip", cut(encode::gzip(CARD))),
        ("deflate", cut(encode::zlib(CARD))),
        ("deflate", cut(encode::raw_deflate(CARD))),
        ("br", cut(encode::brotli(CARD))),
        ("zstd", cut(encode::zstd(CARD))),
        ("gzip", Vec::new()),
        ("deflate", vec![0x78]),
        ("gzip, gzip", encode::gzip(CARD)),
        ("gzip, gzip, gzip", CARD.to_vec()),
        ("compress", CARD.to_vec()),
        ("utf-8", CARD.to_vec()),
        ("gzip, gzip", with_tail(encode::gzip(&with_tail(encode::gzip(CARD))))),
    ];
    for (coding, wire) in cases {
        let failure = fetch(encoded(coding, &wire)).await.unwrap_err();
        assert_eq!((failure.kind, failure.retryable), (FailureKind::BadContentCoding, false), "{coding}: {failure}");
    }
}

#[tokio::test]
async fn a_compressed_body_that_ends_with_the_connection_may_have_been_cut() {
    let packed = encode::gzip(CARD);
    let answer = |bytes: &[u8]| Answer::head(200, &[("Content-Encoding", "gzip")]).write(bytes).then(Act::Close);
    assert_eq!(kind(answer(&packed[..packed.len() / 2])).await, FailureKind::Truncated);
    assert_eq!(fetch(answer(&packed)).await.unwrap().body.sha256, Sha256Digest::of(CARD));
}

#[tokio::test]
async fn a_flipped_bit_in_a_compressed_body_is_bad_content_coding_not_another_digest() {
    let mut packed = encode::gzip(CARD);
    let middle = packed.len() / 2;
    packed[middle] ^= 1;
    assert_eq!(kind(encoded("gzip", &packed)).await, FailureKind::BadContentCoding);
}

#[tokio::test]
async fn c_54_windows_beyond_those_of_http_are_refused() {
    // A large-window brotli header that asks for a gigabyte, and a zstd frame whose window is 128 MiB.
    assert_eq!(kind(encoded("br", &[0x11, 0x1e, 0x00, 0x00])).await, FailureKind::BadContentCoding);
    let zeros = vec![0; 1 << 20];
    assert_eq!(kind(encoded("zstd", &encode::zstd_with_window(&zeros, 27))).await, FailureKind::BadContentCoding);
    let allowed = fetch(encoded("zstd", &encode::zstd_with_window(&zeros, 23))).await.unwrap();
    assert_eq!(allowed.body.sha256, Sha256Digest::of(&zeros));
}

#[tokio::test]
async fn c_51_a_challenge_page_with_200_is_a_body_and_is_flagged() {
    let page = "<html><title>Just a moment...</title></html>";
    let card = fetch(Answer::with(200, &[("Content-Type", "text/html")], page)).await.unwrap();
    assert_eq!((card.body.sha256, card.looks_like_bot_wall), (Sha256Digest::of(page.as_bytes()), true));
    let marked = fetch(Answer::with(200, &[("cf-mitigated", "challenge")], CARD)).await.unwrap();
    assert!(marked.looks_like_bot_wall);
}

#[tokio::test]
async fn bodies_are_kept_up_to_one_mebibyte() {
    for (size, kept) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        let body = vec![b'x'; size];
        for answer in [Answer::ok(&body), chunked(&body), encoded("gzip", &encode::gzip(&body))] {
            let card = fetch(answer).await.unwrap();
            assert_eq!((card.body.sha256, card.body.bytes), (Sha256Digest::of(&body), size as u64));
            assert_eq!(card.body.kept.is_some(), kept);
        }
    }
}
