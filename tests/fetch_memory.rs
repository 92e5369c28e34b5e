//! Fetching, the memory: each case is measured in a process of its own, where nothing else has been allocated and freed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod support;

use cardproof::fetch::{CardFetcher, Fetcher, Origin};
use support::card_host::{loopback, Act, Answer, CardHost};
use support::encode;

const MEBIBYTE: u64 = 1 << 20;

/// In the measured process: the file with the body, or the number of pieces of 64 KiB that it has.
const BODY: &str = "CARDPROOF_TEST_BODY";
/// In the measured process: the `Content-Encoding`.
const CODING: &str = "CARDPROOF_TEST_CODING";

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Not a test by itself: fetches what the environment says and prints how far the resident memory rose meanwhile.
#[tokio::test]
async fn measured_process() {
    let Ok(body) = std::env::var(BODY) else {
        return;
    };
    let answer = match body.parse::<usize>() {
        Ok(pieces) => {
            let length = (pieces * (64 << 10)).to_string();
            Answer::head(200, &[("Content-Length", &length)]).then(Act::Repeat(vec![b'x'; 64 << 10], pieces))
        }
        Err(_) => Answer::with(200, &[("Content-Encoding", &std::env::var(CODING).unwrap())], std::fs::read(body).unwrap()),
    };
    let host = CardHost::http(move |request| if request.path == "/small" { Answer::ok("x") } else { answer.clone() }).await;
    let fetcher = Fetcher::new(loopback()).unwrap();
    fetcher.fetch(&host.url("/small"), Origin::Untrusted).await.unwrap();
    // Writing 5 sets the high-water mark back to what is resident now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmHWM:");
    let outcome = fetcher.fetch(&host.url("/"), Origin::Untrusted).await;
    let grown = status("VmHWM:") - before;
    let end = outcome.map_or_else(|failure| format!("{:?}", failure.kind), |card| card.body.bytes.to_string());
    println!("\nGREW {grown} {end}");
}

/// The growth in bytes, and the kind of failure or the size of the body.
fn measure(body: &str, coding: &str) -> (u64, String) {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "measured_process", "--nocapture"]).env(BODY, body).env(CODING, coding);
    let output = String::from_utf8(child.output().unwrap().stdout).unwrap();
    let line = output.lines().find_map(|line| line.strip_prefix("GREW ")).unwrap();
    let (grown, end) = line.split_once(' ').unwrap();
    (grown.parse().unwrap(), end.to_owned())
}

#[test]
fn c_54_a_bomb_is_too_large_and_takes_little_memory() {
    let zeros = vec![0; 64 << 20];
    let folder = tempfile::tempdir().unwrap();
    for (coding, bomb) in [
        ("gzip", encode::gzip(&zeros)),
        ("deflate", encode::zlib(&zeros)),
        ("br", encode::brotli(&zeros)),
        ("zstd", encode::zstd(&zeros)),
        ("gzip, gzip", encode::gzip(&encode::gzip(&zeros))),
    ] {
        assert!(bomb.len() < 200 << 10, "{coding} is no bomb: {}", bomb.len());
        let file = folder.path().join("bomb");
        std::fs::write(&file, bomb).unwrap();
        let (grown, end) = measure(file.to_str().unwrap(), coding);
        assert_eq!(end, "TooLarge", "{coding}");
        assert!(grown < 8 * MEBIBYTE, "{coding} took {grown} bytes");
    }
}

#[test]
fn a_huge_body_takes_hardly_more_memory_than_a_small_one() {
    let (small, _) = measure("1", "");
    let (huge, bytes) = measure("127", "");
    assert_eq!(bytes, (127 * (64 << 10)).to_string());
    assert!(huge <= small + MEBIBYTE, "a huge body took {huge} bytes, a small one {small}");
}
