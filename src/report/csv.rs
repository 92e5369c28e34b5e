use std::borrow::Cow;
use std::io::{self, Write};

use super::foreign::seen;
use super::{ReportDocument, ReportRow, ReportWriter, RunEnd};

/// The columns. New ones come at the end.
const COLUMNS: [&str; 24] = [
    "network",
    "contract",
    "token_id",
    "caip19",
    "status",
    "owner",
    "class",
    "match",
    "reason",
    "retryable",
    "message",
    "agent_uri",
    "anchored_sha256",
    "sha256",
    "http_status",
    "bytes",
    "final_url",
    "block_height",
    "block_time",
    "started_at",
    "elapsed_ms",
    "notes",
    "transitions",
    "counts_as",
];

/// RFC 4180 with a header line, a line per agent, CRLF at the end of each.
pub(super) struct CsvReport<W: Write> {
    out: ::csv::Writer<W>,
}

impl<W: Write> CsvReport<W> {
    pub(super) fn begin(out: W) -> io::Result<Self> {
        let mut out = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out);
        out.write_record(COLUMNS)?;
        Ok(Self { out })
    }
}

impl<W: Write + Send> ReportWriter for CsvReport<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        let report = ReportDocument::from(row.verdict);
        let text = |value: Option<String>| value.unwrap_or_default();
        let fetch = report.fetch;
        let cells: [String; COLUMNS.len()] = [
            text(report.network),
            text(report.contract.map(|contract| format!("{},{}", contract.index, contract.subindex))),
            text(report.token_id),
            text(report.caip19),
            report.status.unwrap_or_default().to_owned(),
            text(report.owner),
            report.class.to_owned(),
            text(report.matches.map(|matches| matches.to_string())),
            report.reason.to_owned(),
            report.retryable.to_string(),
            report.message,
            text(report.agent_uri),
            text(report.anchored_sha256),
            text(fetch.as_ref().and_then(|fetch| fetch.sha256.clone())),
            text(fetch.as_ref().and_then(|fetch| fetch.status).map(|status| status.to_string())),
            text(fetch.as_ref().and_then(|fetch| fetch.bytes).map(|bytes| bytes.to_string())),
            text(fetch.and_then(|fetch| fetch.final_url)),
            text(report.block.as_ref().map(|block| block.height.clone())),
            text(report.block.map(|block| block.time)),
            report.started_at,
            report.elapsed_ms.to_string(),
            report.notes.iter().map(|note| note.code).collect::<Vec<_>>().join(" "),
            row.changes.iter().map(|change| change.kind).collect::<Vec<_>>().join(" "),
            row.counts_as().as_str().to_owned(),
        ];
        Ok(self.out.write_record(cells.iter().map(|cell| inert(&seen(cell)).into_owned()))?)
    }

    fn finish(mut self: Box<Self>, _: &RunEnd) -> io::Result<()> {
        self.out.flush()
    }
}

/// The cell with an apostrophe in front if a spreadsheet could take it for a formula: one that begins, after whatever a
/// spreadsheet may skip, with `=`, `+`, `-` or `@`, also in full width, or with the `|` or `%` of old ones, and one that begins
/// with a tab or a line break.
fn inert(cell: &str) -> Cow<'_, str> {
    let skipped = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{feff}' | '\u{200b}' | '\u{fffd}');
    let shown = cell.trim_start_matches(skipped);
    let signs = ['=', '+', '-', '@', '|', '%', '＝', '＋', '－', '＠'];
    let dangerous = shown.starts_with(signs) || cell.starts_with(['\t', '\r', '\n']);
    if dangerous {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn nothing_a_stranger_wrote_is_a_formula() {
        for formula in [
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "  =1",
            "\u{feff}=1",
            "\u{fffd}=1",
            "＝1",
            "-",
            "|calc",
            "%0A=1+1",
        ] {
            assert_eq!(inert(formula), format!("'{formula}"));
        }
        for plain in ["", "https://a.example/=1", "287", "'=1", "a-b", "10082,0"] {
            assert_eq!(inert(plain), plain);
        }
    }
}
