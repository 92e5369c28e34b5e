//! Where active agents are required, a revoked one is as bad in every report as it is for the exit code.

use cardproof::registry::AgentStatus;
use cardproof::report::{Format, ReportOptions, ReportRow};
use cardproof::verify::Reason;
use serde_json::Value;

use crate::sample::{end, header, verdict, Shared};

/// A run over three agents: one is active and matches, two are revoked, of which one matches and one has nothing to compare.
fn report(format: Format) -> String {
    let out = Shared::default();
    let mut report = format.begin(out.clone(), &header(), &ReportOptions::default()).unwrap();
    for (token, reason, revoked) in [(0, Reason::Match, false), (1, Reason::Match, true), (2, Reason::NoHashOnChain, true)] {
        let mut verdict = verdict(token, reason);
        if revoked {
            verdict.anchor.as_mut().unwrap().status = AgentStatus::Revoked;
        }
        report.row(&ReportRow { inactive: revoked, ..ReportRow::of(&verdict) }).unwrap();
    }
    report.finish(&end()).unwrap();
    out.text()
}

#[test]
fn a_revoked_agent_that_must_be_active_fails_in_junit() {
    let xml = report(Format::Junit);
    assert!(xml.contains(r#"tests="3""#) && xml.contains(r#"failures="2""#) && xml.contains(r#"errors="0""#), "{xml}");
    assert_eq!(xml.matches("<failure ").count(), 2, "{xml}");
    assert!(
        xml.contains(r#"type="agent_revoked""#) && xml.contains("The agent is revoked, and active ones are required. "),
        "{xml}"
    );
    assert!(!xml.contains("<skipped"), "{xml}");
}

#[test]
fn a_revoked_agent_that_must_be_active_is_an_error_in_sarif() {
    let document: Value = serde_json::from_str(&report(Format::Sarif)).unwrap();
    let run = &document["runs"][0];
    let results = run["results"].as_array().unwrap();
    let revoked: Vec<&Value> = results.iter().filter(|result| result["ruleId"] == "agent_revoked").collect();
    assert_eq!((results.len(), revoked.len()), (3, 2), "one has nothing to compare besides: {results:#?}");
    for result in revoked {
        assert_eq!(result["level"], "error");
        assert_eq!(run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize]["id"], "agent_revoked");
    }
    let prints: std::collections::HashSet<String> =
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect();
    assert_eq!(prints.len(), 3);
}

#[test]
fn a_revoked_agent_that_must_be_active_counts_as_a_mismatch_in_json_and_csv() {
    let document: Value = serde_json::from_str(&report(Format::Json)).unwrap();
    let schema = serde_json::from_str(include_str!("../../schemas/audit.schema.json")).unwrap();
    jsonschema::validator_for(&schema).unwrap().validate(&document).unwrap_or_else(|error| panic!("{error}"));
    let lines: Vec<Value> = report(Format::Jsonl).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for results in [document["results"].as_array().unwrap(), &lines] {
        let counts: Vec<_> = results.iter().map(|result| (&result["class"], &result["counts_as"])).collect();
        let [matches, absent, mismatch] = ["match", "absent", "mismatch"].map(Value::from);
        assert_eq!(counts, [(&matches, &matches), (&matches, &mismatch), (&absent, &mismatch)]);
    }
    assert_eq!((&document["summary"]["mismatch"], &document["summary"]["match"]), (&0.into(), &2.into()));
    assert_eq!((&document["counted"]["mismatch"], &document["counted"]["match"]), (&2.into(), &1.into()));
    let csv = report(Format::Csv);
    let ends: Vec<&str> = csv.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(ends, ["counts_as", "match", "mismatch", "mismatch"]);
}

#[test]
fn a_revoked_agent_that_must_be_active_is_seen_on_pages_and_by_alerts() {
    let markdown = report(Format::Markdown);
    assert!(markdown.starts_with("## Agent cards: Some agents are revoked, and active ones are required"), "{markdown}");
    let (_, table) = markdown.split_once("### Revoked, which counts as a mismatch").unwrap();
    assert!(table.contains("| 1 | `match`") && table.contains("| 2 | `no_hash_on_chain`"), "{markdown}");
    let html = report(Format::Html);
    assert!(html.contains("2 revoked agents count as mismatches here"), "{html}");
    assert_eq!(html.matches(">counts as a mismatch<").count(), 2);
    let place = |agent: &str| html.find(agent).unwrap();
    assert!(place("id=\"agent-2\"") < place("id=\"agent-0\"") && place("id=\"agent-1\"") < place("id=\"agent-0\""));
    assert!(report(Format::Prometheus).contains("\ncardproof_inactive_agents{network=\"testnet\",registry=\"10082,0\"} 2\n"));
}
