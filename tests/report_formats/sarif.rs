//! SARIF against the committee's own schema, and what code scanning services ask beyond it.

use std::collections::HashSet;

use cardproof::report::{Format, ReportOptions};
use cardproof::verify::{Class, Reason};
use serde_json::Value;

use crate::sample::{report, report_of, verdict, Agent};

fn document(text: &str) -> Value {
    // The committee's pattern for a language has a stray bracket that only some dialects of regular expressions forgive.
    let schema = include_str!("../data/sarif/sarif-schema-2.1.0.json").replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let document = serde_json::from_str(text).unwrap();
    let faults: Vec<_> = validator.iter_errors(&document).map(|fault| format!("{fault} at {}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    document
}

#[test]
fn every_reason_is_valid_sarif_and_has_a_rule_with_help() {
    let agents: Vec<Agent> = Reason::ALL
        .iter()
        .enumerate()
        .map(|(token, reason)| Agent { verdict: verdict(token as u64, *reason), changes: vec![], history: vec![] })
        .collect();
    let document = document(&report_of(Format::Sarif, &agents, &ReportOptions::default()));
    let run = &document["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), Reason::ALL.len() - 1, "a match is no finding");
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(!rule["help"]["text"].as_str().unwrap().is_empty());
        let class = Reason::ALL.iter().find(|reason| result["ruleId"] == reason.as_str()).unwrap().class();
        let level = if class == Class::Mismatch {
            "error"
        } else if class == Class::Absent {
            "note"
        } else {
            "warning"
        };
        assert_eq!(result["level"], level);
    }
}

#[test]
fn c_68_an_artifact_is_a_relative_uri_without_scheme() {
    let document = document(&report(Format::Sarif));
    for result in document["runs"][0]["results"].as_array().unwrap() {
        let location = &result["locations"][0];
        let uri = location["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        let token = uri.strip_prefix("agents/").unwrap();
        assert!(token.bytes().all(|byte| byte.is_ascii_digit()), "{uri}");
        let name = location["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap();
        assert!(name.starts_with("ccd:") && name.contains("/cis-2:"), "{name}");
        assert_eq!(location["physicalLocation"]["region"]["startLine"], 1);
    }
}

#[test]
fn a_finding_keeps_its_fingerprint_from_run_to_run_and_shares_it_with_none() {
    let fingerprints = |text: &str| -> Vec<String> {
        let document = document(text);
        let results = document["runs"][0]["results"].as_array().unwrap().clone();
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect()
    };
    let first = fingerprints(&report(Format::Sarif));
    assert_eq!(first, fingerprints(&report(Format::Sarif)));
    assert_eq!(first.iter().collect::<HashSet<_>>().len(), first.len());
}

#[test]
fn foreign_text_makes_no_link() {
    let document = document(&report(Format::Sarif));
    for result in document["runs"][0]["results"].as_array().unwrap() {
        let text = result["message"]["text"].as_str().unwrap();
        assert!(!text.replace("\\[", "").replace("\\]", "").contains(['[', ']']), "{text}");
    }
}
