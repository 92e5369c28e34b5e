//! The Prometheus text: a lint by the rules of `promtool check metrics`, what may be in a label, and the file for node_exporter.

use std::collections::{HashMap, HashSet};

use cardproof::registry::Timestamp;
use cardproof::report::prometheus::PrometheusFile;
use cardproof::report::{Format, ReportOptions, ReportWriter, RunEnd, RunHeader};

use crate::sample::{agents, end, header, report, report_of, START};

/// One sample: its name, its labels, its value.
pub type Sample = (String, Vec<(String, String)>, f64);

/// Reads the text as a Prometheus server does and returns its samples; panics on what promtool objects to.
pub fn lint(text: &str) -> Vec<Sample> {
    assert!(text.ends_with('\n'));
    let mut kinds: HashMap<String, String> = HashMap::new();
    let mut helps = HashSet::new();
    let mut current = String::new();
    let mut series = HashSet::new();
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(helps.insert(name.to_owned()), "two HELP lines of {name}");
            assert!(help.ends_with('.'), "{name}: {help}");
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, current, "TYPE does not follow its HELP");
            assert!(["gauge", "counter", "histogram"].contains(&kind), "{kind}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "two TYPE lines of {name}");
            lint_name(name, kind);
        } else {
            let sample = parse(line);
            let suffixes: &[&str] = if kinds[&current] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.iter().any(|suffix| sample.0 == format!("{current}{suffix}")), "{line} is not of {current}");
            assert!(series.insert((sample.0.clone(), sample.1.clone())), "twice: {line}");
            samples.push(sample);
        }
    }
    samples
}

fn lint_name(name: &str, kind: &str) {
    assert!(name.starts_with("cardproof_") && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
    assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
    for suffix in ["_count", "_sum", "_bucket", "_info"] {
        assert!(!name.ends_with(suffix) || (suffix == "_info" && kind == "gauge"), "{name}");
    }
    for unit in ["milliseconds", "ms", "minutes", "hours", "kilobytes", "kb", "mb", "percent"] {
        assert!(!name.split('_').any(|word| word == unit), "{name} is not in a base unit");
    }
    for kind in ["gauge", "counter", "histogram"] {
        assert!(!name.contains(kind), "{name} names its type");
    }
}

fn parse(line: &str) -> Sample {
    let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
    let mut labels = Vec::new();
    let mut rest = rest;
    if let Some(mut inner) = rest.strip_prefix('{') {
        loop {
            let (label, after) = inner.split_once("=\"").unwrap();
            assert!(label.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "label {label}");
            let mut value = String::new();
            let mut chars = after.char_indices();
            let end = loop {
                match chars.next().unwrap() {
                    (_, '\\') => match chars.next().unwrap().1 {
                        'n' => value.push('\n'),
                        c @ ('\\' | '"') => value.push(c),
                        c => panic!("\\{c} in {line}"),
                    },
                    (at, '"') => break at,
                    (_, c) => value.push(c),
                }
            };
            labels.push((label.to_owned(), value));
            inner = &after[end + 1..];
            match inner.strip_prefix(',') {
                Some(more) => inner = more,
                None => break,
            }
        }
        rest = inner.strip_prefix('}').unwrap();
    }
    (name.to_owned(), labels, rest.strip_prefix(' ').unwrap().parse().unwrap_or_else(|_| panic!("{line}")))
}

/// The sum over the samples of a name whose labels include these.
pub fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
    let has = |sample: &Sample| labels.iter().all(|(label, value)| sample.1.contains(&((*label).into(), (*value).into())));
    let found: Vec<f64> = samples.iter().filter(|sample| sample.0 == name && has(sample)).map(|sample| sample.2).collect();
    assert!(!found.is_empty(), "no sample of {name} with {labels:?}");
    found.iter().sum()
}

#[test]
fn c_66_the_text_passes_the_lint_and_no_label_holds_a_hash_or_a_url() {
    let options = ReportOptions { per_agent_metrics: true, ..ReportOptions::default() };
    for (text, allowed) in [
        (report(Format::Prometheus), &["network", "registry", "class", "reason"][..]),
        (report_of(Format::Prometheus, &agents(), &options), &["network", "registry", "class", "reason", "token_id"][..]),
    ] {
        let samples = lint(&text);
        for (name, labels, _) in &samples {
            for (label, value) in labels {
                assert!(allowed.contains(&label.as_str()), "{name} has the label {label}");
                assert!(!value.contains("://") && !value.contains('='), "{name}: {value}");
                assert!(value.len() < 40, "{name}: {value}");
            }
        }
        assert_eq!(value(&samples, "cardproof_agents", &[]), 7.0);
        assert_eq!(value(&samples, "cardproof_agents", &[("class", "mismatch")]), 2.0);
        assert_eq!(value(&samples, "cardproof_agents_by_reason", &[("reason", "timeout")]), 1.0);
        assert_eq!(value(&samples, "cardproof_agents_by_reason", &[("reason", "tls_failure")]), 0.0, "zero is a series, too");
        assert_eq!(value(&samples, "cardproof_node_lag_seconds", &[]), 4.5);
        assert_eq!(value(&samples, "cardproof_last_run_duration_seconds", &[]), 12.345);
        assert_eq!(value(&samples, "cardproof_revoked_agents", &[]), 1.0);
    }
}

fn file_after(path: &std::path::Path, header: &RunHeader, end: RunEnd) -> Vec<Sample> {
    let mut file = Box::new(PrometheusFile::begin(path, header, false));
    for agent in agents() {
        file.row(&agent.row()).unwrap();
    }
    file.finish(&end).unwrap();
    lint(&std::fs::read_to_string(path).unwrap())
}

#[test]
fn the_file_is_replaced_whole_and_remembers_the_last_success() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cardproof.prom");
    let success = "cardproof_last_success_timestamp_seconds";
    let first = file_after(&path, &header(), end());
    assert_eq!(value(&first, success, &[]), 1_785_771_381.39);
    // The next run is interrupted: the age of the last success must go on growing, not vanish.
    let later = Timestamp(START.0 + 3_600_000);
    let interrupted = RunEnd { finished_at: later, complete: false, earlier_success: None };
    let second = file_after(&path, &header(), interrupted);
    assert_eq!(value(&second, success, &[]), 1_785_771_381.39);
    assert_eq!(value(&second, "cardproof_last_run_timestamp_seconds", &[]), 1_785_774_969.045);
    assert_eq!(value(&second, "cardproof_last_run_complete", &[]), 0.0);
    // A run that no node answered is no success either, and the store knows better than the file.
    let lost = RunHeader { block: None, ..header() };
    let third = file_after(&path, &lost, RunEnd { finished_at: later, complete: true, earlier_success: Some(START) });
    assert_eq!(value(&third, success, &[]), 1_785_771_369.045);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["cardproof.prom"], "nothing is left beside the file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let usual = std::fs::metadata(&plain).unwrap().permissions().mode();
        assert_eq!(mode, usual, "as the umask has it: the collector runs as somebody else");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_and_the_old_one_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no-such-folder").join("cardproof.prom");
    let file = Box::new(PrometheusFile::begin(&path, &header(), false));
    assert!(file.finish(&end()).is_err());
}
