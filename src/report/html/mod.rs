//! One page for a browser: it works from a file, loads nothing, and is a plain table where there is no JavaScript.
//!
//! Everything foreign goes through maud's escaping; besides, the page's content security policy runs the one script whose digest
//! it names, so that a fault there would still run nothing. A URI is shown and never made a link.

mod page;
mod plot;
mod row;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use super::{ReportOptions, ReportRow, ReportWriter, RunEnd, RunHeader, RunPoint, Tally};
use crate::identity::TokenId;
use crate::verify::Class;

/// Writes the page. Its counts stand above its rows and its worst rows come first, so the rows wait in a temporary file.
pub(super) struct HtmlReport<W> {
    out: W,
    header: RunHeader,
    earlier_runs: Vec<RunPoint>,
    tally: Tally,
    changed: u64,
    rows: BufWriter<File>,
    places: Vec<Place>,
    written: u64,
}

/// Where a row lies in the temporary file. The order of the fields is the order of the rows.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: u8,
    token: Option<TokenId>,
    start: u64,
    length: u64,
}

impl<W: Write> HtmlReport<W> {
    pub(super) fn begin(out: W, header: &RunHeader, options: &ReportOptions) -> io::Result<Self> {
        Ok(Self {
            out,
            header: header.clone(),
            earlier_runs: options.earlier_runs.clone(),
            tally: Tally::default(),
            changed: 0,
            rows: BufWriter::new(tempfile::tempfile()?),
            places: Vec::new(),
            written: 0,
        })
    }
}

impl<W: Write + Send> ReportWriter for HtmlReport<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        self.tally.add(row);
        self.changed += u64::from(!row.changes.is_empty());
        let text = row::row(row).into_string();
        self.rows.write_all(text.as_bytes())?;
        let length = text.len() as u64;
        let rank = rank(row.counts_as());
        self.places.push(Place { rank, token: row.token_id(), start: self.written, length });
        self.written += length;
        Ok(())
    }

    fn finish(self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let Self { mut out, header, mut earlier_runs, tally, changed, rows, mut places, .. } = *self;
        earlier_runs.push(RunPoint { at: header.started_at, summary: tally.summary() });
        let (before, after) = page::around(&header, end, &tally, changed, &earlier_runs);
        out.write_all(before.as_bytes())?;
        let mut rows = BufReader::new(rows.into_inner().map_err(io::IntoInnerError::into_error)?);
        places.sort_unstable();
        for place in places {
            rows.seek(SeekFrom::Start(place.start))?;
            io::copy(&mut rows.by_ref().take(place.length), &mut out)?;
        }
        out.write_all(after.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

/// The worst first.
fn rank(class: Class) -> u8 {
    match class {
        Class::Mismatch => 0,
        Class::Undecided => 1,
        Class::Absent => 2,
        Class::Match => 3,
    }
}
