use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Exposition, RunMetrics};
use crate::registry::Timestamp;
use crate::report::{ReportPlace, ReportRow, ReportWriter, RunEnd, RunHeader};

/// The gauges of one run in a file for node_exporter's textfile collector.
///
/// The file appears whole or not at all; see [`ReportPlace`] for what is replaced, and let the umask allow the collector to read it. If the store
/// knows no earlier success, the one in the replaced file is carried over: without it an alert on its age would fall silent
/// just when a run fails.
pub struct PrometheusFile {
    path: PathBuf,
    metrics: RunMetrics,
}

impl PrometheusFile {
    /// Begins the file of a run. Nothing is written before its end.
    pub fn begin(path: impl Into<PathBuf>, header: &RunHeader, per_agent: bool) -> Self {
        Self { path: path.into(), metrics: RunMetrics::new(header, per_agent) }
    }
}

impl ReportWriter for PrometheusFile {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        self.metrics.add(row);
        Ok(())
    }

    fn finish(self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let earlier_success = end.earlier_success.or_else(|| last_success_in(&self.path));
        let mut exposition = Exposition::default();
        self.metrics.write(&RunEnd { earlier_success, ..*end }, &mut exposition);
        replace(&self.path, exposition.as_str().as_bytes())
    }
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    ReportPlace::at(path).map_err(io::Error::other)?.put(&mut &*content)
}

fn last_success_in(path: &Path) -> Option<Timestamp> {
    let before = fs::read_to_string(path).ok()?;
    let sample = before.lines().find(|line| line.starts_with("cardproof_last_success_timestamp_seconds"))?;
    let (seconds, millis) = sample.rsplit(' ').next()?.split_once('.')?;
    let (seconds, millis) = (seconds.parse::<u64>().ok()?, millis.parse::<u64>().ok()?);
    seconds.checked_mul(1000)?.checked_add(millis).map(Timestamp)
}
