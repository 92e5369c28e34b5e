use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use super::csv::CsvReport;
use super::html::HtmlReport;
use super::json::{JsonLines, JsonReport};
use super::junit::JunitReport;
use super::markdown::MarkdownReport;
use super::prometheus::PrometheusReport;
use super::sarif::SarifReport;
use super::{ReportRow, RunEnd, RunHeader, RunPoint};

/// Writes the report of one run: any number of rows, then the end.
///
/// JSON, JSON lines, CSV and SARIF go out row by row; Prometheus and Markdown keep counts and a bounded number of rows; HTML keeps
/// its rows in a temporary file; JUnit keeps a test case per agent, because its counts stand in front. Errors are those of the output.
pub trait ReportWriter: Send {
    /// Adds one agent.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()>;

    /// Ends the report. A report that is dropped instead is not a whole document.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn finish(self: Box<Self>, end: &RunEnd) -> io::Result<()>;
}

/// A format for the report of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One `cardproof.audit/1` document.
    Json,
    /// One `cardproof.report/1` document a line.
    Jsonl,
    /// RFC 4180, safe to open in a spreadsheet.
    Csv,
    /// JUnit XML, a test case per agent.
    Junit,
    /// SARIF 2.1.0, a result per agent that is not a match.
    Sarif,
    /// The Prometheus text format.
    Prometheus,
    /// A summary for a CI page.
    Markdown,
    /// One page for a browser, without anything from elsewhere.
    Html,
}

impl Format {
    /// Every format.
    pub const ALL: &[Self] =
        &[Self::Json, Self::Jsonl, Self::Csv, Self::Junit, Self::Sarif, Self::Prometheus, Self::Markdown, Self::Html];

    /// Its name as an option's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Junit => "junit",
            Self::Sarif => "sarif",
            Self::Prometheus => "prometheus",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    /// Begins a report on `out`.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn begin<'w>(
        self,
        out: impl Write + Send + 'w,
        header: &RunHeader,
        options: &ReportOptions,
    ) -> io::Result<Box<dyn ReportWriter + 'w>> {
        Ok(match self {
            Self::Json => Box::new(JsonReport::begin(out, header)?),
            Self::Jsonl => Box::new(JsonLines::begin(out)),
            Self::Csv => Box::new(CsvReport::begin(out)?),
            Self::Junit => Box::new(JunitReport::begin(out, header)),
            Self::Sarif => Box::new(SarifReport::begin(out, header)?),
            Self::Prometheus => Box::new(PrometheusReport::begin(out, header, options.per_agent_metrics)),
            Self::Markdown => Box::new(MarkdownReport::begin(out, header)),
            Self::Html => Box::new(HtmlReport::begin(out, header, options)?),
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.iter().map(|format| format.as_str()).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().find(|format| format.as_str() == text);
        found.copied().ok_or_else(|| format!("there is no report format of this name; there are {}", names()))
    }
}

/// What some formats show beyond the run's results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportOptions {
    /// A Prometheus series per agent.
    pub per_agent_metrics: bool,
    /// What earlier runs found, oldest first, for the plot of the HTML report.
    pub earlier_runs: Vec<RunPoint>,
}
