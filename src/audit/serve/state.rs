use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::duration_buckets::DurationBuckets;
use crate::registry::Timestamp;
use crate::report::prometheus::{Exposition, Kind, RunMetrics};
use crate::report::{ReportRow, ReportWriter, RunEnd, RunHeader};
use crate::verify::{Class, Summary};

/// What the endpoint shows and when it calls itself ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MetricsSettings {
    /// A series per agent, with its token id and class.
    pub per_agent: bool,
    /// How old the last success may be before the daemon is not ready any more; `None` for any age.
    pub stale_after: Option<Duration>,
    /// When a run last succeeded before this process began, if the store knows.
    pub earlier_success: Option<Timestamp>,
}

/// What the daemon knows about its runs. Clones share it: one goes to the endpoint, one stays with the daemon.
#[derive(Clone)]
pub struct MetricsState {
    settings: MetricsSettings,
    started_at: Timestamp,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    last: Option<(RunMetrics, RunEnd)>,
    last_success: Option<Timestamp>,
    next_run: Option<Timestamp>,
    running: u64,
    complete: u64,
    interrupted: u64,
    failed: u64,
    verdicts: Summary,
    durations: DurationBuckets,
}

impl MetricsState {
    /// The state of a daemon that has not run yet.
    pub fn new(settings: MetricsSettings) -> Self {
        let shared = Shared { last_success: settings.earlier_success, ..Shared::default() };
        Self { settings, started_at: now(), shared: Arc::new(Mutex::new(shared)) }
    }

    /// Begins a run. It is fed like a report; one that is dropped before its end is counted as failed, and the figures of the
    /// run before it stay.
    pub fn begin(&self, header: &RunHeader) -> MetricsRun {
        self.lock().running += 1;
        MetricsRun {
            state: self.clone(),
            metrics: Some(RunMetrics::new(header, self.settings.per_agent)),
            header: header.clone(),
        }
    }

    /// Counts a run that failed before it could begin, such as one whose node did not answer.
    pub fn run_failed(&self) {
        self.lock().failed += 1;
    }

    /// Says when the next run is due.
    pub fn next_run(&self, at: Timestamp) {
        self.lock().next_run = Some(at);
    }

    /// Whether the daemon does its work: `Err` says why not, as a sentence.
    ///
    /// # Errors
    /// Before the first success, and when the last one is too old.
    pub fn ready(&self) -> Result<(), String> {
        let Some(success) = self.lock().last_success else { return Err("no run has succeeded yet".into()) };
        let age = Duration::from_millis(now().0.saturating_sub(success.0));
        match self.settings.stale_after {
            Some(limit) if age > limit => Err(format!("the last run that succeeded ended {} s ago", age.as_secs())),
            _ => Ok(()),
        }
    }

    /// Everything in the Prometheus text format.
    pub fn exposition(&self) -> String {
        let mut out = Exposition::default();
        let shared = self.lock();
        if let Some((metrics, end)) = &shared.last {
            metrics.write(end, &mut out);
        } else if let Some(success) = shared.last_success {
            let name = "cardproof_last_success_timestamp_seconds";
            out.metric(name, Kind::Gauge, "When a run was last complete and answered by a node, in seconds since 1970.");
            out.sample(name, &[], Exposition::seconds_since_epoch(success));
        }
        out.metric("cardproof_runs_total", Kind::Counter, "Runs that this process ended, by how they ended.");
        for (outcome, count) in [("complete", shared.complete), ("interrupted", shared.interrupted), ("failed", shared.failed)] {
            out.sample("cardproof_runs_total", &[("outcome", outcome)], count);
        }
        out.metric("cardproof_verdicts_total", Kind::Counter, "Verdicts that this process reached, by class.");
        let Summary { agents: _, matches, mismatches, absent, undecided } = shared.verdicts;
        let classes =
            [(Class::Match, matches), (Class::Mismatch, mismatches), (Class::Absent, absent), (Class::Undecided, undecided)];
        for (class, count) in classes {
            out.sample("cardproof_verdicts_total", &[("class", class.as_str())], count);
        }
        let help = "How long one agent took, from reading its record to its verdict.";
        shared.durations.write("cardproof_check_duration_seconds", help, &mut out);
        out.metric("cardproof_runs_in_progress", Kind::Gauge, "Runs that are going on now.");
        out.sample("cardproof_runs_in_progress", &[], shared.running);
        if let Some(at) = shared.next_run {
            out.metric("cardproof_next_run_timestamp_seconds", Kind::Gauge, "When the next run is due, in seconds since 1970.");
            out.sample("cardproof_next_run_timestamp_seconds", &[], Exposition::seconds_since_epoch(at));
        }
        drop(shared);
        out.metric("cardproof_start_time_seconds", Kind::Gauge, "When this process began, in seconds since 1970.");
        out.sample("cardproof_start_time_seconds", &[], Exposition::seconds_since_epoch(self.started_at));
        out.metric("cardproof_build_info", Kind::Gauge, "The program's version, as a label of a constant 1.");
        out.sample("cardproof_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        out.into_string()
    }

    /// The figures stay right whatever panicked while they were held: each change is one assignment or addition.
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is going on. Its gauges appear whole when it ends; the counters count along.
pub struct MetricsRun {
    state: MetricsState,
    header: RunHeader,
    /// `None` once the run has ended.
    metrics: Option<RunMetrics>,
}

impl ReportWriter for MetricsRun {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        if let Some(metrics) = &mut self.metrics {
            metrics.add(row);
        }
        // An older verdict was taken over from an earlier run: nothing was checked.
        if row.verdict.started_at >= self.header.started_at {
            let mut shared = self.state.lock();
            shared.verdicts.add(row.verdict.class());
            shared.durations.observe(row.verdict.elapsed);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let Some(metrics) = self.metrics.take() else { return Ok(()) };
        let mut shared = self.state.lock();
        shared.running -= 1;
        if end.complete {
            shared.complete += 1;
        } else {
            shared.interrupted += 1;
        }
        let end = RunEnd { earlier_success: end.earlier_success.or(shared.last_success), ..*end };
        shared.last_success = end.last_success(&self.header);
        shared.last = Some((metrics, end));
        Ok(())
    }
}

impl Drop for MetricsRun {
    fn drop(&mut self) {
        if self.metrics.is_some() {
            let mut shared = self.state.lock();
            shared.running -= 1;
            shared.failed += 1;
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
