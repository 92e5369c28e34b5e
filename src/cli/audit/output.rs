//! What a run prints, and the reports it writes into files.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cardproof::audit::serve::MetricsRun;
use cardproof::audit::AuditOutcome;
use cardproof::report::prometheus::PrometheusFile;
use cardproof::report::{
    Change, Format, HistoryPoint, ReportOptions, ReportPlace, ReportRow, ReportWriter, RunEnd, RunHeader, RunPoint, Tally,
};
use cardproof::verify::{Class, Reason, Verdict};
use clap::Args;

use crate::cli::exit::CliError;
use crate::cli::shell::{Bar, Shell, Style};

/// In which form results come.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct FormatOptions {
    /// Print one JSON document a line, for each agent as it finishes
    #[arg(long, conflicts_with_all = ["json", "format"])]
    jsonl: bool,
    /// Print the report in this format: json, jsonl, csv, junit, sarif, prometheus, markdown or html [default: a table]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<Format>,
    /// Also write a report into a file, for example html=audit.html or prometheus=audit.prom (repeatable). A regular file is
    /// replaced when the report is whole; a link is followed; - is stdout, as with --format
    #[arg(long, value_name = "FORMAT=FILE")]
    report: Vec<FileFormat>,
    /// Give each agent a series of its own in Prometheus reports
    #[arg(long)]
    pub(super) metrics_per_agent: bool,
}

impl FormatOptions {
    fn stdout(&self, json: bool) -> Option<Format> {
        let dashed = || self.report.iter().find(|report| report.is_stdout()).map(|report| report.format);
        self.format.or(self.jsonl.then_some(Format::Jsonl)).or(json.then_some(Format::Json)).or_else(dashed)
    }

    /// Refuses a report on stdout that something else is printed to. `other` is what else may be.
    fn check_stdout(&self, other: Option<&'static str>) -> Result<(), CliError> {
        let chosen = self.jsonl.then_some("--jsonl").or(self.format.is_some().then_some("--format"));
        if let (Some(chosen), Some(other)) = (chosen, other) {
            return Err(CliError::usage(format!("{chosen} and {other} both print on stdout")).hint("leave one of them out"));
        }
        let mut dashed = self.report.iter().filter(|report| report.is_stdout());
        let Some(first) = dashed.next() else { return Ok(()) };
        let Some(other) = other.or(chosen).or(dashed.next().is_some().then_some("another --report")) else { return Ok(()) };
        let report = format!("--report {}=-", first.format);
        Err(CliError::usage(format!("{report} prints on stdout, and {other} does so, too")).hint("name a file for one of both"))
    }

    /// Refuses reports that could not be written, or that would destroy something else, before any work. `store` is the file of
    /// the memory, and `read` are the files that the command reads; `printed` is the option that prints something else on stdout.
    pub(super) fn check(&self, store: Option<&Path>, read: &[&Path], printed: Option<&'static str>) -> Result<(), CliError> {
        self.check_stdout(printed)?;
        let mut taken: Vec<PathBuf> = Vec::new();
        if let Some(store) = store.and_then(|store| ReportPlace::at(store).ok()) {
            // SQLite keeps its log beside the file that a link leads to.
            taken.extend(["", "-wal", "-shm", "-journal"].map(|end| {
                let mut file = store.file().as_os_str().to_owned();
                file.push(end);
                PathBuf::from(file)
            }));
        }
        let of_store = taken.len();
        taken.extend(read.iter().filter_map(|path| ReportPlace::at(path).ok()).map(|place| place.file().to_owned()));
        let of_others = taken.len();
        for FileFormat { path, .. } in self.report.iter().filter(|report| !report.is_stdout()) {
            let place = ReportPlace::at(path).map_err(|error| {
                CliError::refused("report_unwritable", error.to_string()).hint("--format prints a report on stdout")
            })?;
            let shown = path.display();
            match taken.iter().position(|taken| taken == place.file()) {
                Some(at) if at < of_store => {
                    let message = format!("the report {shown} would replace the file that the results are remembered in");
                    return Err(CliError::refused("report_unwritable", message).hint("name another file"));
                }
                Some(at) if at < of_others => {
                    let message = format!("the report {shown} would replace a file that this command reads");
                    return Err(CliError::refused("report_unwritable", message).hint("name another file"));
                }
                Some(_) => {
                    return Err(CliError::refused("report_unwritable", format!("two reports would go into the one file {shown}")))
                }
                None => taken.push(place.file().to_owned()),
            }
        }
        Ok(())
    }

    /// Whether a report shows what earlier runs found about each agent.
    pub(super) fn show_history(&self) -> bool {
        self.format == Some(Format::Html) || self.report.iter().any(|report| report.format == Format::Html)
    }
}

/// A format and the file that a report in it goes to.
#[derive(Debug, Clone)]
struct FileFormat {
    format: Format,
    path: PathBuf,
}

impl FileFormat {
    fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

impl FromStr for FileFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, path) = text.split_once('=').ok_or("a format, =, and a file are needed, such as junit=audit.xml")?;
        if path.is_empty() {
            return Err("there is no file after the =".into());
        }
        Ok(Self { format: format.parse()?, path: path.into() })
    }
}

/// Where the results of one run go.
pub(super) struct Output<'a> {
    shell: &'a Shell,
    bar: Bar,
    header: RunHeader,
    options: ReportOptions,
    /// What stdout carries; `None` is a table for people.
    format: Option<Format>,
    stdout: Option<Box<dyn ReportWriter + 'a>>,
    files: Vec<FileReport>,
    tally: Tally,
    silent: bool,
}

/// A report that becomes a file when it is whole.
enum FileReport {
    Prometheus(PathBuf, Box<dyn ReportWriter>),
    /// The daemon's endpoint.
    Metrics(Box<MetricsRun>),
    Other {
        path: PathBuf,
        place: ReportPlace,
        draft: File,
        writer: Box<dyn ReportWriter>,
    },
}

impl<'a> Output<'a> {
    /// Opens the files. Nothing is printed before the first result.
    pub(super) fn begin(
        options: &FormatOptions,
        json: bool,
        header: RunHeader,
        earlier_runs: Vec<RunPoint>,
        at_most: u64,
        shell: &'a Shell,
    ) -> Result<Self, CliError> {
        let format = options.stdout(json);
        let report_options = ReportOptions { per_agent_metrics: options.metrics_per_agent, earlier_runs };
        let open = |wanted: &FileFormat| {
            FileReport::begin(wanted, &header, &report_options).map_err(|error| unwritable(&wanted.path, &error))
        };
        let files = options.report.iter().filter(|report| !report.is_stdout()).map(open).collect::<Result<_, _>>()?;
        let bar = shell.bar(at_most);
        Ok(Self {
            shell,
            bar,
            header,
            options: report_options,
            format,
            stdout: None,
            files,
            tally: Tally::default(),
            silent: false,
        })
    }

    /// Feeds the daemon's endpoint, too.
    pub(super) fn also(&mut self, metrics: Option<MetricsRun>) {
        self.files.extend(metrics.map(|run| FileReport::Metrics(Box::new(run))));
    }

    /// Prints nothing: stdout belongs to something else.
    pub(super) fn silence(&mut self) {
        self.silent = true;
    }

    /// Takes one result, with what earlier runs found about the agent, and whether it counts as a mismatch only because it is revoked.
    pub(super) fn add(&mut self, outcome: &AuditOutcome, history: &[HistoryPoint], inactive: bool) -> Result<(), CliError> {
        self.take(outcome, history, inactive, !self.silent)
    }

    /// Takes a result that was there before: documents hold every agent, but what is printed while it happens only what was checked.
    pub(super) fn add_known(&mut self, outcome: &AuditOutcome, history: &[HistoryPoint], inactive: bool) -> Result<(), CliError> {
        let as_it_happens = matches!(self.format, None | Some(Format::Jsonl));
        self.take(outcome, history, inactive, !self.silent && !as_it_happens)
    }

    fn take(&mut self, outcome: &AuditOutcome, history: &[HistoryPoint], inactive: bool, print: bool) -> Result<(), CliError> {
        let changes: Vec<Change> = outcome.transitions.iter().map(change).collect();
        let row = ReportRow { verdict: &outcome.verdict, changes: &changes, history, inactive };
        self.tally.add(&row);
        for file in &mut self.files {
            file.row(&row).map_err(|error| unwritable(file.path(), &error))?;
        }
        if print {
            self.print(&row)?;
        }
        let summary = self.tally.summary();
        self.bar.at(summary.agents, &format!("{} mismatch, {} undecided", summary.mismatches, summary.undecided));
        Ok(())
    }

    fn print(&mut self, row: &ReportRow<'_>) -> Result<(), CliError> {
        let Some(format) = self.format else {
            let shell = self.shell;
            self.bar.aside(|| table_row(shell, row));
            return Ok(());
        };
        if self.stdout.is_none() {
            self.stdout = Some(self.begin_stdout(format)?);
        }
        let Some(writer) = &mut self.stdout else { return Ok(()) };
        self.bar.aside(|| writer.row(row)).map_err(|error| unprintable(&error))
    }

    fn begin_stdout(&self, format: Format) -> Result<Box<dyn ReportWriter + 'a>, CliError> {
        let out = self.shell.out(matches!(format, Format::Json | Format::Jsonl | Format::Sarif));
        format.begin(out, &self.header, &self.options).map_err(|error| unprintable(&error))
    }

    /// How many results there have been.
    pub(super) fn count(&self) -> u64 {
        self.tally.summary().agents
    }

    /// Prints what stands at the end and puts the files into their places.
    pub(super) fn finish(mut self, end: &RunEnd) -> Result<(), CliError> {
        self.bar.clear();
        match self.format {
            None if self.silent => {}
            None => summary(self.shell, &self.header, &self.tally),
            Some(format) => {
                let writer = match self.stdout.take() {
                    Some(writer) => writer,
                    None => self.begin_stdout(format)?,
                };
                writer.finish(end).map_err(|error| unprintable(&error))?;
            }
        }
        let mut kept = 0;
        for file in self.files {
            // A part of a run would look like a whole one in which nothing is wrong.
            if !end.complete && !matches!(file, FileReport::Metrics(_)) {
                kept += 1;
                continue;
            }
            let path = file.path().to_owned();
            file.finish(end).map_err(|error| unwritable(&path, &error))?;
        }
        if kept > 0 {
            self.shell.warning("the run is not complete, so the files of its reports stay as they were");
        }
        Ok(())
    }
}

impl FileReport {
    fn begin(wanted: &FileFormat, header: &RunHeader, options: &ReportOptions) -> io::Result<Self> {
        let path = wanted.path.clone();
        if wanted.format == Format::Prometheus {
            let report = PrometheusFile::begin(&path, header, options.per_agent_metrics);
            return Ok(Self::Prometheus(path, Box::new(report)));
        }
        let place = ReportPlace::at(&path).map_err(io::Error::other)?;
        let draft = place.draft()?;
        let writer = wanted.format.begin(BufWriter::new(draft.try_clone()?), header, options)?;
        Ok(Self::Other { path, place, draft, writer })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Prometheus(path, _) | Self::Other { path, .. } => path,
            Self::Metrics(_) => Path::new("for /metrics"),
        }
    }

    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        match self {
            Self::Prometheus(_, writer) | Self::Other { writer, .. } => writer.row(row),
            Self::Metrics(run) => run.row(row),
        }
    }

    fn finish(self, end: &RunEnd) -> io::Result<()> {
        match self {
            Self::Prometheus(_, writer) => writer.finish(end),
            Self::Metrics(run) => run.finish(end),
            Self::Other { place, mut draft, writer, .. } => {
                writer.finish(end)?;
                place.publish(&mut draft)
            }
        }
    }
}

fn change(transition: &cardproof::audit::Transition) -> Change {
    Change {
        kind: transition.kind.as_str(),
        before: transition.before.clone(),
        after: transition.after.clone(),
        at: transition.at,
        idempotency_key: transition.idempotency_key.clone(),
    }
}

fn style(class: Class) -> Style {
    match class {
        Class::Match => Style::Green,
        Class::Mismatch => Style::Red,
        Class::Absent | Class::Undecided => Style::Yellow,
    }
}

fn table_row(shell: &Shell, row: &ReportRow<'_>) {
    let Verdict { subject, reason, agent_uri, .. } = row.verdict;
    let token = subject.as_ref().map(|subject| subject.token_id.to_string()).unwrap_or_default();
    let changes: Vec<&str> = row.changes.iter().map(|change| change.kind).collect();
    let changes = if changes.is_empty() { String::new() } else { format!("  [{}]", changes.join(", ")) };
    let class = row.verdict.class();
    let inactive = if row.inactive { "  revoked, which counts as a mismatch" } else { "" };
    shell.styled(&[
        (Style::Bold, &format!("{token:>8}  ")),
        (style(class), &format!("{:<10}", class.as_str())),
        (Style::Plain, &format!("{:<20}  {}", reason.as_str(), agent_uri.as_deref().unwrap_or("-"))),
        (Style::Red, inactive),
        (Style::Yellow, &changes),
    ]);
}

fn summary(shell: &Shell, header: &RunHeader, tally: &Tally) {
    let counts = tally.summary();
    shell.line("");
    let block = header.block.map(|block| format!(" at block {} ({})", block.height, block.time)).unwrap_or_default();
    shell.line(&format!("registry {} of {}{block}", header.contract, header.network));
    shell.line(&header.selection);
    shell.styled(&[
        (Style::Bold, &format!("{} agents: ", counts.agents)),
        (Style::Plain, &format!("{} match, ", counts.matches)),
        (if counts.mismatches > 0 { Style::Red } else { Style::Plain }, &format!("{} mismatch", counts.mismatches)),
        (Style::Plain, &format!(", {} absent, {} undecided", counts.absent, counts.undecided)),
    ]);
    if tally.inactive() > 0 {
        let inactive = format!("{:>8}  {:<20}  counted as mismatches (--require-active)", tally.inactive(), "revoked");
        shell.styled(&[(Style::Red, &inactive)]);
    }
    let open = Reason::ALL.iter().filter(|reason| matches!(reason.class(), Class::Absent | Class::Undecided));
    for (reason, count) in open.map(|reason| (reason, tally.of_reason(*reason))).filter(|(_, count)| *count > 0) {
        shell.line(&format!("{count:>8}  {:<20}  {}", reason.as_str(), reason.sentence()));
    }
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::internal(format!("the report {} cannot be written: {error}", path.display()))
}

fn unprintable(error: &io::Error) -> CliError {
    CliError::internal(format!("the report cannot be printed: {error}"))
}
