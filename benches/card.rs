//! How long a lint takes. What must hold: under 5 ms for a card of 100 kB, under 200 ms for one of 5 MB.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::fmt::Write as _;

use cardproof::card::{lint, Code, Document, LintContext};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};

/// A clean combined card (three dialects) of at least this many bytes, most of them in skills.
fn card(bytes: usize) -> String {
    let frame = include_str!("../tests/cards/combined.json");
    let (head, tail) = frame.split_once("\"skills\": [").unwrap_or_default();
    let mut card = format!("{head}\"skills\": [");
    let mut n = 0;
    while card.len() + tail.len() < bytes {
        let _ = write!(
            card,
            "\n    {{\n      \"id\": \"skill-{n}\",\n      \"name\": \"Skill {n}\",\n      \"description\": \"Does the \\\"{n}th\\\" thing, \
             für alle.\",\n      \"tags\": [\"a\", \"b\", \"c\"],\n      \"examples\": [\"Do {n}\"],\n      \"x-weights\": [0.5, {n}, null]\n    }},"
        );
        n += 1;
    }
    card + tail
}

fn lints(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lint");
    for (name, bytes) in [("100 kB", 100_000), ("5 MB", 5_000_000)] {
        let card = card(bytes);
        let report = lint(&Document::parse(card.as_bytes()), &LintContext::default());
        // The larger one has more skills than are checked against the dialects, and is clean but for that.
        let is_clean = report.findings.iter().all(|found| found.code == Code::TooManyItems);
        assert!(is_clean && report.dialects.len() == 3, "the card is meant to be clean");
        group.throughput(Throughput::Bytes(card.len() as u64)).sample_size(20);
        group.bench_function(name, |bencher| bencher.iter(|| lint(&Document::parse(card.as_bytes()), &LintContext::default())));
    }
    group.finish();
}

criterion_group!(benches, lints);
criterion_main!(benches);
