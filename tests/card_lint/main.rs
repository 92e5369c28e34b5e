//! What a lint finds in cards: nothing in good ones, exactly its finding in each broken one, and no surprise in hostile ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod broken;
mod chain;
mod command;
mod hostile;
mod samples;

use cardproof::card::{lint, Document, Finding, LintContext, LintReport};

/// The bytes of a sample.
fn sample(name: &str) -> String {
    std::fs::read_to_string(format!("tests/cards/{name}.json")).unwrap()
}

fn lint_alone(bytes: &[u8]) -> LintReport {
    lint(&Document::parse(bytes), &LintContext::default())
}

/// Replaces a text that stands in a sample exactly once, so that a case cannot miss what it means to break.
fn replaced(sample: &str, from: &str, to: &str) -> String {
    assert_eq!(sample.matches(from).count(), 1, "{from} does not stand in the sample exactly once");
    sample.replacen(from, to, 1)
}

/// Findings as text, to compare and to show.
fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{} {}", finding.code, finding.pointer)).collect()
}
