use std::io::{self, Write};

use chrono::{DateTime, FixedOffset};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::foreign::in_xml;
use super::run::{INACTIVE, REVOKED};
use super::{ReportRow, ReportWriter, RunEnd, RunHeader};
use crate::registry::Timestamp;
use crate::verify::{Class, Verdict};

/// A test case per agent: a match passes, a mismatch fails, an undecided one is an error, an absent one is skipped; a revoked one
/// fails where active ones are required.
pub(super) struct JunitReport<W> {
    out: W,
    suite: TestSuite,
    class_name: String,
    name: String,
    started_at: Timestamp,
}

impl<W: Write> JunitReport<W> {
    pub(super) fn begin(out: W, header: &RunHeader) -> Self {
        let name = in_xml(&format!("cards of registry {} on {}", header.registry(), header.network));
        let mut suite = TestSuite::new(name.clone());
        suite.timestamp = date(header.started_at);
        suite.add_property(("selection", in_xml(&header.selection).as_str()));
        if let Some(block) = header.block {
            suite.add_property(("block_hash", block.hash.to_string().as_str()));
            suite.add_property(("block_height", block.height.to_string().as_str()));
        }
        // Readers group by what stands between the dots.
        let place = format!("{}-{}", header.contract.index, header.contract.subindex);
        let class_name = in_xml(&format!("cardproof.{}.{place}", header.network.replace('.', "-")));
        Self { out, suite, class_name, name, started_at: header.started_at }
    }
}

impl<W: Write + Send> ReportWriter for JunitReport<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        let verdict = row.verdict;
        let mut status = match row.counts_as() {
            Class::Match => TestCaseStatus::success(),
            Class::Mismatch => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Class::Undecided => TestCaseStatus::non_success(NonSuccessKind::Error),
            Class::Absent => TestCaseStatus::skipped(),
        };
        let message = in_xml(&verdict.message);
        status.set_message(if row.inactive { format!("{INACTIVE} {message}") } else { message });
        if row.counts_as() != Class::Match {
            status.set_type(if row.inactive { REVOKED } else { verdict.reason.as_str() });
            status.set_description(in_xml(&details(row)));
        }
        let mut case = TestCase::new(format!("agent {}", row.token()), status);
        case.set_classname(self.class_name.as_str());
        case.set_time(verdict.elapsed);
        self.suite.add_test_case(case);
        Ok(())
    }

    fn finish(self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let Self { mut out, mut suite, name, started_at, .. } = *self;
        let took = std::time::Duration::from_millis(end.finished_at.0.saturating_sub(started_at.0));
        suite.set_time(took);
        let mut report = Report::new(name);
        report.timestamp = date(started_at);
        report.set_time(took);
        report.add_test_suite(suite);
        report.serialize(&mut out).map_err(io::Error::other)?;
        out.flush()
    }
}

/// What somebody who reads only the CI page needs to act.
fn details(row: &ReportRow<'_>) -> String {
    let Verdict { agent_uri, anchored_sha256, evidence, notes, .. } = row.verdict;
    let got = evidence.as_ref().and_then(|evidence| evidence.sha256);
    let facts = [
        ("uri", agent_uri.clone()),
        ("expected", anchored_sha256.map(|digest| digest.to_string())),
        ("got", got.map(|digest| digest.to_string())),
    ];
    let facts = facts.into_iter().filter_map(|(label, value)| Some(format!("{label}: {}", value?)));
    let notes = notes.iter().map(|note| format!("note: {} ({})", note.message, note.code));
    let changes = row.changes.iter().map(|change| format!("changed: {}", change.words()));
    facts.chain(notes).chain(changes).collect::<Vec<_>>().join("\n")
}

fn date(at: Timestamp) -> Option<DateTime<FixedOffset>> {
    let millis = i64::try_from(at.0).ok()?;
    DateTime::from_timestamp_millis(millis).map(|date| date.fixed_offset())
}
