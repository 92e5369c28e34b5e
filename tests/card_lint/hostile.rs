//! Documents made to break a lint: none may panic, take long, or make a report without end.

use std::time::{Duration, Instant};

use cardproof::card::{lint, Document, LintContext};
use proptest::prelude::*;

use super::{lint_alone, sample, told};

#[test]
fn a_report_stays_small_however_much_is_wrong() {
    let skills: Vec<String> = (0..20_000).map(|n| format!("{{\"id\": \"same\", \"tags\": {n}, \"\\ud800\": {n}}}")).collect();
    let card =
        format!("{{\"name\": 1, \"supportedInterfaces\": [], \"url\": \"http://0.0.0.0\", \"skills\": [{}]}}", skills.join(","));
    let started = Instant::now();
    let report = lint_alone(card.as_bytes());
    // Far above what it takes without optimisation, far below what a quadratic rule would.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert!(report.findings.len() < 1_000, "{}", report.findings.len());
    assert!(report.omitted > 50_000, "{}", report.omitted);
    assert!(serde_json::to_vec(&report).unwrap().len() < 500_000);
}

/// The validator keeps a violation for each value: 32 million in a card of 64 MiB, without a limit.
#[test]
fn a_card_of_nothing_but_violations_is_checked_in_part_and_says_so() {
    let numbers = vec!["0"; 200_000].join(",");
    let members: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\": 0")).collect();
    let lists = format!("{{\"name\": \"A\", \"supportedInterfaces\": [], \"skills\": [{numbers}], \"last\": 1, \"version\": 1}}");
    let report = lint_alone(lists.as_bytes());
    assert_eq!(report.findings.iter().filter(|found| found.code.as_str() == "too_many_items").count(), 1);
    assert_eq!(report.findings.iter().filter(|found| found.code.as_str() == "wrong_type").count(), 100);
    assert!(report.omitted > 19_000 && report.omitted < 21_000, "{}", report.omitted);
    assert!(!told(&report.findings).contains(&"missing_field /version".to_owned()), "a key of the schema is never left out");
    let map = format!(
        "{{\"url\": \"https://a.example\", \"concordium\": {{\"chain_id\": 1, \"services\": {{{}}}}}}}",
        members.join(",")
    );
    let report = lint_alone(map.as_bytes());
    assert_eq!(report.findings.iter().filter(|found| found.code.as_str() == "too_many_items").count(), 1);
    assert!(report.omitted < 2_000, "{}", report.omitted);
}

/// Each value takes up many times its two bytes: a card of 64 MiB would take a gigabyte.
#[test]
fn a_document_of_too_many_values_is_one_finding_and_is_not_read() {
    let card = |values: usize| format!("{{\"url\": \"https://a.example\", \"x\": [{}]}}", vec!["0"; values].join(","));
    assert_eq!(told(&lint_alone(card(Document::MAX_VALUES).as_bytes()).findings), ["too_many_values "]);
    let most = lint_alone(card(Document::MAX_VALUES - 3).as_bytes());
    assert!(most.findings.iter().all(|found| found.code.as_str() != "too_many_values"), "{:?}", most.findings);
    assert!(cardproof::card::convert::read_bytes(card(Document::MAX_VALUES).as_bytes()).is_err());
}

#[test]
fn a_message_quotes_only_the_beginning_of_a_long_value() {
    let card = sample("concordium-legacy").replace("concordium:mainnet", &"本".repeat(100_000));
    let report = lint_alone(card.as_bytes());
    assert_eq!(report.findings.len(), 1);
    assert!(report.findings[0].message.len() < 500, "{}", report.findings[0].message);
}

#[test]
fn no_message_repeats_the_credentials_of_a_url() {
    for url in [
        "http://u:s3cretpw@10.0.0.1/",
        "https://u:s3cretpw@a.example/%zz",
        "ftp://u:s3cretpw@a.example",
        "javascript://u:s3cretpw@a",
    ] {
        let card = sample("a2a-0.3").replace("https://harbour.example.org", url);
        let report = lint_alone(card.as_bytes());
        assert!(!report.findings.is_empty(), "{url}");
        let said = serde_json::to_string(&report).unwrap();
        assert!(!said.contains("s3cretpw"), "{said}");
    }
}

#[test]
fn no_message_shows_the_insides_of_the_program() {
    for name in ["a2a-1.0", "society-ai", "combined", "concordium-legacy"] {
        let card = sample(name);
        // Every value in turn becomes a number, a list, and a wrong text.
        for (at, _) in card.match_indices(": \"") {
            let end = at + 3 + card[at + 3..].find('"').unwrap() + 1;
            for wrong in ["7", "[]", "\"\"", "\"<x> y…\"", "\"a://b:c\"", "null"] {
                let broken = format!("{}: {wrong}{}", &card[..at], &card[end..]);
                for finding in lint_alone(broken.as_bytes()).findings {
                    let told = &finding.message;
                    assert!(!["Some(", "None", "Err(", "{ ", "}"].iter().any(|inside| told.contains(inside)), "{told}");
                    assert!(told.ends_with('.') && told.matches('"').count() % 2 == 0, "{told}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic(name in "(combined|society-ai|uumit|concordium-legacy|concordium-badge-2026-07|erc8004)", at in 0.0..1.0f64, damage in proptest::collection::vec(any::<u8>(), 0..6), cut in 0usize..12) {
        let mut bytes = sample(&name).into_bytes();
        let at = (bytes.len() as f64 * at) as usize;
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, damage);
        let report = lint(&Document::parse(&bytes), &LintContext::default());
        prop_assert_eq!(report.bytes, bytes.len() as u64);
        for finding in &report.findings {
            prop_assert!(finding.line >= 1 && finding.column >= 1);
        }
    }
}
