//! What each format looks like, byte for byte.

use cardproof::report::{Change, Format, ReportOptions};

use crate::sample::{agents, end, header, report, report_of, Shared};

#[test]
fn json() {
    let document: serde_json::Value = serde_json::from_str(&report(Format::Json)).unwrap();
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn the_json_document_and_its_lines_are_the_same_reports_and_follow_their_schemas() {
    let document: serde_json::Value = serde_json::from_str(&report(Format::Json)).unwrap();
    let lines: Vec<serde_json::Value> = report(Format::Jsonl).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(document["results"].as_array().unwrap(), &lines);
    let schema = |text: &str| jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap();
    let report = schema(include_str!("../../schemas/report.schema.json"));
    for line in &lines {
        report.validate(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    }
    // The reports were validated above; what is left of each is what an audit adds.
    let audit =
        include_str!("../../schemas/audit.schema.json").replace("\"$ref\": \"report.schema.json\"", "\"type\": \"object\"");
    schema(&audit).validate(&document).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn csv() {
    insta::assert_snapshot!("csv", report(Format::Csv).replace("\r\n", "␍␊\n"));
}

#[test]
fn junit() {
    insta::assert_snapshot!("junit", report(Format::Junit));
}

#[test]
fn sarif() {
    let mut document: serde_json::Value = serde_json::from_str(&report(Format::Sarif)).unwrap();
    let driver = &mut document["runs"][0]["tool"]["driver"];
    driver["semanticVersion"] = "[version]".into();
    // One rule shows the shape of all; that there is one per reason is another test.
    driver["rules"].as_array_mut().unwrap().truncate(1);
    insta::assert_snapshot!("sarif", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn prometheus() {
    let options = ReportOptions { per_agent_metrics: true, ..ReportOptions::default() };
    insta::assert_snapshot!("prometheus", report_of(Format::Prometheus, &agents(), &options));
}

#[test]
fn markdown() {
    insta::assert_snapshot!("markdown", report(Format::Markdown));
}

#[test]
fn a_run_over_no_agents_is_a_whole_document_in_every_format() {
    for format in Format::ALL {
        let text = report_of(*format, &[], &ReportOptions::default());
        match format {
            Format::Json | Format::Sarif => drop(serde_json::from_str::<serde_json::Value>(&text).unwrap()),
            Format::Jsonl => assert_eq!(text, ""),
            _ => assert!(text.ends_with('\n'), "{format}: {text}"),
        }
        assert_eq!(format.as_str().parse(), Ok(*format));
    }
    assert!("yaml".parse::<Format>().unwrap_err().contains("sarif"));
}

#[test]
fn rows_go_out_as_they_come() {
    for format in [Format::Json, Format::Jsonl, Format::Sarif] {
        let out = Shared::default();
        let mut report = format.begin(out.clone(), &header(), &ReportOptions::default()).unwrap();
        let before = out.text().len();
        report.row(&agents()[1].row()).unwrap();
        assert!(out.text().len() > before, "{format}");
        report.finish(&end()).unwrap();
    }
}

#[test]
fn what_changed_besides_the_first_change_is_told_in_every_format_that_tells_changes() {
    let mut agents = agents();
    let other = Change { kind: "owner_changed", idempotency_key: "other".into(), ..agents[1].changes[0].clone() };
    agents[1].changes.insert(0, other);
    for format in [Format::Json, Format::Jsonl, Format::Csv, Format::Junit, Format::Sarif, Format::Markdown, Format::Html] {
        let text = report_of(format, &agents, &ReportOptions::default()).replace('_', " ");
        let place = |kind| text.find(kind).unwrap_or_else(|| panic!("{format} hides {kind}"));
        assert!(place("owner changed") < place("match to mismatch"), "{format}");
    }
    let lines = report_of(Format::Jsonl, &agents, &ReportOptions::default());
    let line: serde_json::Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&line["transition"], line["transitions"].as_array().unwrap().len()), (&line["transitions"][0], 2));
    assert_eq!(line["transitions"][1]["kind"], "match_to_mismatch");
}
