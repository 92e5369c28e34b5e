use std::io::{self, Write};

use serde::Serialize;

use super::{
    BlockDocument, Change, ContractDocument, ReportDocument, ReportRow, ReportWriter, RunEnd, RunHeader, SummaryDocument, Tally,
};

/// `cardproof.report/1` as an audit writes it: what verify writes, and what changed.
#[derive(Debug, Clone, Serialize)]
struct AuditedDocument {
    #[serde(flatten)]
    report: ReportDocument,
    /// The class for the exit code.
    counts_as: &'static str,
    /// The first of `transitions`, or null.
    transition: Option<TransitionDocument>,
    transitions: Vec<TransitionDocument>,
}

#[derive(Debug, Clone, Serialize)]
struct TransitionDocument {
    kind: &'static str,
    before: Option<String>,
    after: Option<String>,
    at: String,
    idempotency_key: String,
}

impl From<&Change> for TransitionDocument {
    fn from(change: &Change) -> Self {
        Self {
            kind: change.kind,
            before: change.before.clone(),
            after: change.after.clone(),
            at: change.at.to_rfc3339(),
            idempotency_key: change.idempotency_key.clone(),
        }
    }
}

impl From<&ReportRow<'_>> for AuditedDocument {
    fn from(row: &ReportRow<'_>) -> Self {
        let transitions: Vec<_> = row.changes.iter().map(TransitionDocument::from).collect();
        Self {
            report: row.verdict.into(),
            counts_as: row.counts_as().as_str(),
            transition: transitions.first().cloned(),
            transitions,
        }
    }
}

/// A `cardproof.report/1` a line.
pub(super) struct JsonLines<W> {
    out: W,
}

impl<W: Write> JsonLines<W> {
    pub(super) fn begin(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write + Send> ReportWriter for JsonLines<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &AuditedDocument::from(row))?;
        self.out.write_all(b"\n")
    }

    fn finish(mut self: Box<Self>, _: &RunEnd) -> io::Result<()> {
        self.out.flush()
    }
}

#[derive(Debug, Serialize)]
struct RunDocument {
    id: Option<String>,
    network: String,
    contract: ContractDocument,
    block: Option<BlockDocument>,
    started_at: String,
    finished_at: String,
    complete: bool,
    selection: String,
}

/// `cardproof.audit/1`. Its results stand in front of what sums them up, so that they need not be kept.
pub(super) struct JsonReport<W> {
    out: W,
    header: RunHeader,
    tally: Tally,
}

impl<W: Write> JsonReport<W> {
    pub(super) fn begin(mut out: W, header: &RunHeader) -> io::Result<Self> {
        out.write_all(b"{\"schema\":\"cardproof.audit/1\",\"results\":[")?;
        Ok(Self { out, header: header.clone(), tally: Tally::default() })
    }
}

impl<W: Write + Send> ReportWriter for JsonReport<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        self.out.write_all(if self.tally.summary().agents == 0 { b"\n" } else { b",\n" })?;
        self.tally.add(row);
        Ok(serde_json::to_writer(&mut self.out, &AuditedDocument::from(row))?)
    }

    fn finish(mut self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let header = self.header;
        let run = RunDocument {
            id: header.id.map(|id| id.to_string()),
            network: header.network,
            contract: header.contract.into(),
            block: header.block.map(BlockDocument::from),
            started_at: header.started_at.to_rfc3339(),
            finished_at: end.finished_at.to_rfc3339(),
            complete: end.complete,
            selection: header.selection,
        };
        self.out.write_all(b"\n],\"run\":")?;
        serde_json::to_writer(&mut self.out, &run)?;
        self.out.write_all(b",\"summary\":")?;
        serde_json::to_writer(&mut self.out, &SummaryDocument::from(self.tally.summary()))?;
        self.out.write_all(b",\"counted\":")?;
        serde_json::to_writer(&mut self.out, &SummaryDocument::from(self.tally.counted()))?;
        self.out.write_all(b"}\n")?;
        self.out.flush()
    }
}
