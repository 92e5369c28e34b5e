//! The Prometheus text format: what a run found, as gauges, for a textfile collector or an endpoint.
//!
//! No label ever carries a hash or a URL (C-66): labels are the network, the registry, the class, the reason, and on request
//! the token id.

mod exposition;
mod run_metrics;
mod textfile;

pub use exposition::{Exposition, Kind};
pub use run_metrics::RunMetrics;
pub use textfile::PrometheusFile;

use std::io::{self, Write};

use super::{ReportRow, ReportWriter, RunEnd, RunHeader};

/// The gauges of one run, on any output.
pub(super) struct PrometheusReport<W> {
    out: W,
    metrics: RunMetrics,
}

impl<W: Write> PrometheusReport<W> {
    pub(super) fn begin(out: W, header: &RunHeader, per_agent: bool) -> Self {
        Self { out, metrics: RunMetrics::new(header, per_agent) }
    }
}

impl<W: Write + Send> ReportWriter for PrometheusReport<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        self.metrics.add(row);
        Ok(())
    }

    fn finish(mut self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let mut exposition = Exposition::default();
        self.metrics.write(end, &mut exposition);
        self.out.write_all(exposition.as_str().as_bytes())?;
        self.out.flush()
    }
}
