//! Fetching, the memory: one test in a process of its own, because it measures the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::future::Future;

use cardproof::fetch::{CardFetcher, FailureKind, Fetcher, Origin};
use support::card_host::{loopback, Act, Answer, CardHost};
use support::encode;

const MEBIBYTE: u64 = 1 << 20;

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// How far the resident memory of the process rose above its start while `work` ran.
async fn growth<T>(work: impl Future<Output = T>) -> (u64, T) {
    // Writing 5 sets the high-water mark back to what is resident now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmHWM:");
    let done = work.await;
    (status("VmHWM:") - before, done)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn c_54_bombs_and_huge_bodies_take_little_memory() {
    let fetcher = Fetcher::new(loopback()).unwrap();
    let bombs = {
        let zeros = vec![0; 64 << 20];
        [
            ("gzip", encode::gzip(&zeros)),
            ("deflate", encode::zlib(&zeros)),
            ("br", encode::brotli(&zeros)),
            ("zstd", encode::zstd(&zeros)),
            ("gzip, gzip", encode::gzip(&encode::gzip(&zeros))),
        ]
    };
    for (coding, bomb) in bombs {
        assert!(bomb.len() < 200 << 10, "{coding} is no bomb: {}", bomb.len());
        let answer = Answer::with(200, &[("Content-Encoding", coding)], &bomb);
        let host = CardHost::http(move |_| answer.clone()).await;
        let (grown, outcome) = growth(fetcher.fetch(&host.url("/"), Origin::Untrusted)).await;
        assert_eq!(outcome.unwrap_err().kind, FailureKind::TooLarge, "{coding}");
        assert!(grown < 8 * MEBIBYTE, "{coding} took {grown} bytes");
    }

    let piece = || vec![b'x'; 64 << 10];
    let sized = move |pieces: usize| {
        let length = (pieces * (64 << 10)).to_string();
        Answer::head(200, &[("Content-Length", &length)]).then(Act::Repeat(piece(), pieces))
    };
    let host = CardHost::http(move |request| sized(request.path[1..].parse().unwrap())).await;
    // Once for the buffers that stay.
    fetcher.fetch(&host.url("/1"), Origin::Untrusted).await.unwrap();
    let (small, _) = growth(fetcher.fetch(&host.url("/1"), Origin::Untrusted)).await;
    let (huge, card) = growth(fetcher.fetch(&host.url("/127"), Origin::Untrusted)).await;
    assert_eq!(card.unwrap().body.bytes, 127 * (64 << 10));
    assert!(huge <= small + MEBIBYTE, "a huge body took {huge} bytes, a small one {small}");
}
