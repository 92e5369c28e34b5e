use std::io::{self, Write};

use serde::Serialize;

use super::advice::advice;
use super::run::{INACTIVE, REVOKED};
use super::{ReportRow, ReportWriter, RunEnd, RunHeader};
use crate::digest::Sha256Digest;
use crate::identity::{Badge, Caip19};
use crate::verify::{Class, Reason};

/// SARIF 2.1.0 with a result per agent that is not a match, written row by row, and one more for a revoked one where active ones are
/// required.
///
/// Code scanning services refuse artifacts that are not files of the repository, so an agent is the relative URI
/// `agents/<token id>` (C-68); who it really is stands in the logical location.
pub(super) struct SarifReport<W> {
    out: W,
    started_at: String,
    results: u64,
}

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    name: String,
    short_description: Text<'static>,
    full_description: Text<'static>,
    help: Help,
    default_configuration: Configuration,
    properties: RuleProperties,
}

#[derive(Serialize)]
struct Help {
    text: String,
    markdown: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct RuleProperties {
    tags: [&'static str; 2],
    retryable: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text<'a>,
    locations: [Location; 1],
    partial_fingerprints: Fingerprints,
    properties: OutcomeProperties,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    logical_locations: [LogicalLocation; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

/// A region is obligatory for code scanning services to show a result at all.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fully_qualified_name: Option<String>,
    kind: &'static str,
}

/// The same for the same agent and reason in every run, so that a finding is opened and closed once. GitHub's code scanning
/// knows only the name `primaryLocationLineHash`.
#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "cardproofAgentAndReason/v1")]
    own: String,
    #[serde(rename = "primaryLocationLineHash")]
    line: String,
}

#[derive(Serialize)]
struct OutcomeProperties {
    class: &'static str,
    status: Option<&'static str>,
    agent_uri: Option<String>,
    anchored_sha256: Option<String>,
    sha256: Option<String>,
    notes: Vec<&'static str>,
    transitions: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'a> {
    execution_successful: bool,
    start_time_utc: &'a str,
    end_time_utc: String,
}

#[derive(Serialize)]
struct RunProperties<'a> {
    network: &'a str,
    contract: String,
    block_hash: Option<String>,
    block_height: Option<String>,
    selection: &'a str,
}

impl<W: Write> SarifReport<W> {
    pub(super) fn begin(mut out: W, header: &RunHeader) -> io::Result<Self> {
        let properties = RunProperties {
            network: &header.network,
            contract: header.registry(),
            block_hash: header.block.map(|block| block.hash.to_string()),
            block_height: header.block.map(|block| block.height.to_string()),
            selection: &header.selection,
        };
        let rules = rules().map(rule).chain(std::iter::once(revoked())).collect();
        let driver = Driver { name: "cardproof", semantic_version: env!("CARGO_PKG_VERSION"), rules };
        write!(out, "{{\"$schema\":\"{SCHEMA}\",\"version\":\"2.1.0\",\"runs\":[{{\"tool\":")?;
        serde_json::to_writer(&mut out, &Tool { driver })?;
        out.write_all(b",\"properties\":")?;
        serde_json::to_writer(&mut out, &properties)?;
        out.write_all(b",\"results\":[")?;
        Ok(Self { out, started_at: header.started_at.to_rfc3339(), results: 0 })
    }
}

impl<W: Write> SarifReport<W> {
    fn put(&mut self, outcome: &Outcome<'_>) -> io::Result<()> {
        self.out.write_all(if self.results == 0 { b"\n" } else { b",\n" })?;
        self.results += 1;
        Ok(serde_json::to_writer(&mut self.out, outcome)?)
    }
}

/// What a result is about.
struct Finding {
    rule: &'static str,
    rule_index: usize,
    class: Class,
}

impl<W: Write + Send> ReportWriter for SarifReport<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        let reason = row.verdict.reason;
        if let Some(rule_index) = rules().position(|rule| rule == reason) {
            let finding = Finding { rule: reason.as_str(), rule_index, class: reason.class() };
            self.put(&outcome(row, finding, &literal(&row.verdict.message)))?;
        }
        if row.inactive {
            let finding = Finding { rule: REVOKED, rule_index: rules().count(), class: row.counts_as() };
            self.put(&outcome(row, finding, INACTIVE))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let invocation = Invocation {
            execution_successful: end.complete,
            start_time_utc: &self.started_at,
            end_time_utc: end.finished_at.to_rfc3339(),
        };
        self.out.write_all(b"\n],\"invocations\":[")?;
        serde_json::to_writer(&mut self.out, &invocation)?;
        self.out.write_all(b"],\"columnKind\":\"utf16CodeUnits\"}]}\n")?;
        self.out.flush()
    }
}

/// The reasons that are findings, in the order of the rules.
fn rules() -> impl Iterator<Item = Reason> {
    Reason::ALL.iter().copied().filter(|reason| reason.class() != Class::Match)
}

fn rule(reason: Reason) -> Rule {
    Rule {
        id: reason.as_str(),
        name: pascal_case(reason.as_str()),
        short_description: Text { text: reason.sentence() },
        full_description: Text { text: reason.sentence() },
        help: Help { text: advice(reason).replace('`', ""), markdown: advice(reason) },
        default_configuration: Configuration { level: level(reason.class()) },
        properties: RuleProperties { tags: ["agent-card", reason.class().as_str()], retryable: reason.retryable() },
    }
}

/// The rule of an agent that is revoked where active ones are required. It comes last.
fn revoked() -> Rule {
    let help = "Ask the agent's owner, or take the agent off the list of those that must be active.";
    Rule {
        id: REVOKED,
        name: pascal_case(REVOKED),
        short_description: Text { text: INACTIVE },
        full_description: Text { text: INACTIVE },
        help: Help { text: help.to_owned(), markdown: help },
        default_configuration: Configuration { level: level(Class::Mismatch) },
        properties: RuleProperties { tags: ["agent-card", Class::Mismatch.as_str()], retryable: false },
    }
}

fn outcome<'a>(row: &ReportRow<'_>, about: Finding, message: &'a str) -> Outcome<'a> {
    let verdict = row.verdict;
    let token = row.token();
    let identity = verdict.subject.as_ref().map(|subject| {
        let badge = Badge { contract: subject.contract, token_id: subject.token_id };
        Caip19 { chain: subject.chain, badge }.to_string()
    });
    let finding = format!("{} {}", identity.as_deref().unwrap_or(&token), about.rule);
    let fingerprint = Sha256Digest::of(finding.as_bytes()).to_string();
    let got = verdict.evidence.as_ref().and_then(|evidence| evidence.sha256);
    Outcome {
        rule_id: about.rule,
        rule_index: about.rule_index,
        level: level(about.class),
        message: Text { text: message },
        locations: [Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: format!("agents/{token}") },
                region: Region { start_line: 1 },
            },
            logical_locations: [LogicalLocation { name: token, fully_qualified_name: identity, kind: "agent" }],
        }],
        partial_fingerprints: Fingerprints { line: format!("{}:1", fingerprint.get(..16).unwrap_or_default()), own: fingerprint },
        properties: OutcomeProperties {
            class: verdict.class().as_str(),
            status: verdict.anchor.as_ref().map(|anchor| anchor.status.as_str()),
            agent_uri: verdict.agent_uri.clone(),
            anchored_sha256: verdict.anchored_sha256.map(|digest| digest.to_string()),
            sha256: got.map(|digest| digest.to_string()),
            notes: verdict.notes.iter().map(|note| note.code.as_str()).collect(),
            transitions: row.changes.iter().map(|change| change.kind).collect(),
        },
    }
}

fn level(class: Class) -> &'static str {
    match class {
        Class::Match => "none",
        Class::Mismatch => "error",
        Class::Undecided => "warning",
        Class::Absent => "note",
    }
}

/// A message without links: in SARIF's plain text `[text](target)` is one, unless its brackets are escaped (section 3.11.6).
fn literal(message: &str) -> String {
    message.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

fn pascal_case(name: &str) -> String {
    name.split('_')
        .filter_map(|word| {
            let mut letters = word.chars();
            Some(letters.next()?.to_uppercase().chain(letters).collect::<String>())
        })
        .collect()
}
