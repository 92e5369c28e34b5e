//! JUnit XML against the structure that Jenkins and Surefire define: which elements and attributes there are, and where.

use cardproof::report::{Format, ReportOptions};
use quick_xml::events::{BytesStart, Event};
use quick_xml::Reader;

use crate::sample::{agents, report, report_of};

/// An element as the Jenkins schema (`junit-10.xsd`) has it: its children and its attributes, obligatory ones with `!`.
const ELEMENTS: &[(&str, &[&str], &[&str])] = &[
    ("testsuites", &["testsuite"], &["name", "time", "tests", "failures", "disabled", "errors", "timestamp"]),
    (
        "testsuite",
        &["properties", "testcase", "system-out", "system-err"],
        &["!name", "!tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"],
    ),
    ("properties", &["property"], &[]),
    ("property", &[], &["!name", "!value"]),
    (
        "testcase",
        &["skipped", "error", "failure", "system-out", "system-err"],
        &["!name", "assertions", "time", "classname", "status", "timestamp"],
    ),
    ("skipped", &[], &["type", "message"]),
    ("error", &[], &["type", "message"]),
    ("failure", &[], &["type", "message"]),
    ("system-out", &[], &[]),
    ("system-err", &[], &[]),
];

fn attributes(element: &BytesStart<'_>) -> Vec<(String, String)> {
    let pair = |attribute: quick_xml::events::attributes::Attribute<'_>| {
        let name = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
        (name, attribute.unescape_value().unwrap().into_owned())
    };
    element.attributes().map(|attribute| pair(attribute.unwrap())).collect()
}

/// Every element with its attributes, in order, after its place in the structure was checked.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut reader = Reader::from_str(xml);
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    loop {
        let (element, empty) = match reader.read_event().unwrap() {
            Event::Start(element) => (element, false),
            Event::Empty(element) => (element, true),
            Event::End(_) => {
                open.pop().unwrap();
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
        let (_, _, allowed) = ELEMENTS.iter().find(|(known, ..)| *known == name).unwrap_or_else(|| panic!("<{name}>"));
        match open.last() {
            None => assert_eq!(name, "testsuites"),
            Some(parent) => {
                let (_, children, _) = ELEMENTS.iter().find(|(known, ..)| known == parent).unwrap();
                assert!(children.contains(&name.as_str()), "<{name}> in <{parent}>");
            }
        }
        let attributes = attributes(&element);
        for (attribute, _) in &attributes {
            assert!(allowed.iter().any(|known| known.trim_start_matches('!') == attribute), "{attribute} of <{name}>");
        }
        for needed in allowed.iter().filter_map(|known| known.strip_prefix('!')) {
            assert!(attributes.iter().any(|(attribute, _)| attribute == needed), "<{name}> has no {needed}");
        }
        found.push((name.clone(), attributes));
        if !empty {
            open.push(name);
        }
    }
    assert!(open.is_empty());
    found
}

#[test]
fn the_structure_is_that_of_jenkins_and_the_counts_are_those_of_the_cases() {
    let elements = elements(&report(Format::Junit));
    let count = |name: &str| elements.iter().filter(|(element, _)| element == name).count().to_string();
    assert_eq!(count("testcase"), agents().len().to_string());
    let of = |name: &str, attribute: &str| {
        let (_, attributes) = elements.iter().find(|(element, _)| element == name).unwrap();
        attributes.iter().find(|(known, _)| known == attribute).map(|(_, value)| value.clone())
    };
    assert_eq!(of("testsuite", "tests"), Some(count("testcase")));
    assert_eq!(of("testsuite", "failures"), Some(count("failure")));
    assert_eq!(of("testsuite", "errors"), Some(count("error")));
    assert_eq!(of("testsuite", "disabled"), Some(count("skipped")));
    assert_eq!((count("failure"), count("error"), count("skipped")), ("2".into(), "2".into(), "2".into()));
    assert_eq!(of("testsuite", "time").as_deref(), Some("12.345"));
}

#[test]
fn hostile_text_neither_breaks_the_document_nor_smuggles_control_characters() {
    let xml = report(Format::Junit);
    assert!(!xml.contains('\u{1b}'));
    let messages: Vec<_> = elements(&xml).into_iter().flat_map(|(_, attributes)| attributes).collect();
    assert!(messages.iter().any(|(name, value)| name == "message" && value.contains("</script><script>")));
}

/// XML 1.0, production 2. An XML reader refuses the whole document for one other character, escaped or not.
fn is_in_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

#[test]
fn a_character_that_xml_has_not_becomes_the_replacement_character_wherever_it_stands() {
    for c in ['\u{fffe}', '\u{ffff}', '\0', '\u{1}', '\u{8}', '\u{b}', '\u{c}', '\u{1b}', '\u{1f}'] {
        let mut agents = agents();
        for agent in &mut agents {
            let text = format!("https://a.example/<{c}>");
            agent.verdict.agent_uri = Some(text.clone());
            agent.verdict.message = text.clone();
            if let Some(change) = agent.changes.first_mut() {
                (change.before, change.after) = (Some(text.clone()), Some(text));
            }
        }
        let xml = report_of(Format::Junit, &agents, &ReportOptions::default());
        assert!(xml.chars().all(is_in_xml), "{c:?}");
        assert!(!xml.contains("&#"), "{c:?} is no better as a number");
        let values: Vec<_> = elements(&xml).into_iter().flat_map(|(_, attributes)| attributes).collect();
        assert!(values.contains(&("message".into(), "https://a.example/<\u{fffd}>".into())), "{c:?}");
    }
    for kept in ["a\u{7f}b", "a\u{85}b", "a\u{fdd0}b", "a\u{1fffe}b", "é\u{10ffff}"] {
        let mut agents = agents();
        agents[1].verdict.message = kept.into();
        let xml = report_of(Format::Junit, &agents, &ReportOptions::default());
        assert!(xml.chars().all(is_in_xml));
    }
}
