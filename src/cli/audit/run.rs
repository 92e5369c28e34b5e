//! `cardproof audit`: one run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cardproof::audit::notify::Notifier;
use cardproof::audit::serve::MetricsState;
use cardproof::audit::store::{LastResult, PastResult, RunHold, Store};
use cardproof::audit::{Audit, AuditOutcome, RunInfo, RunScope, Unchanged};
use cardproof::chain::ChainClient;
use cardproof::fetch::Fetcher;
use cardproof::registry::Timestamp;
use cardproof::report::{HistoryPoint, RunEnd, RunHeader, RunPoint};
use cardproof::verify::{Summary, Verdict};

use super::args::RunArgs;
use super::output::Output;
use super::plan::{Plan, Resume, ALIVE};
use super::pump::{Memory, Pump};
use super::select::Selection;
use super::stop::Stop;
use super::{database, history, notify, select, worker};
use crate::cli::config::{parse_keep, Config};
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::tally::Tally;

pub(super) fn run(args: &RunArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    crate::cli::block_on(async {
        let stop = Stop::on_signals()?;
        let session = Session::open(args, output, shell).await?;
        let resume = if args.resume { Resume::Asked } else { Resume::No };
        let ended = session.run(resume, stop, None).await;
        session.close().await;
        ended
    })
}

/// What runs share: configuration, memory, whom to tell.
pub(super) struct Session<'a> {
    pub(super) args: &'a RunArgs,
    json: bool,
    pub(super) shell: &'a Shell,
    pub(super) config: Config,
    pub(super) network: NetworkSettings,
    pub(super) scope: RunScope,
    pub(super) store: Option<Store>,
    notifier: Option<Notifier>,
}

impl<'a> Session<'a> {
    /// Reads the configuration and opens the memory.
    pub(super) async fn open(args: &'a RunArgs, output: &OutputOptions, shell: &'a Shell) -> Result<Self, CliError> {
        let config = Config::load(output.config.as_deref())?;
        let network = NetworkSettings::resolve(&args.work.node.network, &config)?;
        args.check(&config, output, shell)?;
        let store = if args.no_store { None } else { Some(args.work.store.open(&config).await?) };
        let notifier = match &store {
            Some(store) => args.work.notify.notifier(&config, &args.work.fetch, &args.work.tls, store, shell)?,
            None => None,
        };
        let scope = database::scope(&network);
        Ok(Self { args, json: output.json, shell, config, network, scope, store, notifier })
    }

    /// Lets go of the memory.
    pub(super) async fn close(self) {
        if let Some(store) = self.store {
            store.close().await;
        }
    }

    /// When a run last succeeded, as far as the memory goes.
    pub(super) async fn earlier_success(&self) -> Result<Option<Timestamp>, CliError> {
        let Some(store) = &self.store else { return Ok(None) };
        Ok(last_success(&store.runs(&self.scope).await.map_err(database::failed)?))
    }

    /// One run from beginning to end, alerts and retention included.
    pub(super) async fn run(&self, resume: Resume, mut stop: Stop, metrics: Option<&MetricsState>) -> Result<Exit, CliError> {
        let prepared = tokio::select! {
            biased;
            () = stop.told() => {
                self.shell.warning("interrupted before the first agent was judged");
                return Ok(Exit::Interrupted);
            }
            prepared = self.prepare(resume) => prepared,
        };
        if let (Err(error), Some(state)) = (&prepared, metrics) {
            // What another daemon is at has not failed.
            if error.code != ALIVE {
                state.run_failed();
            }
        }
        let (audit, plan) = prepared?;
        let ended = match &self.store {
            Some(store) if self.args.share => self.share(store, &audit, plan, stop.clone()).await,
            _ => self.execute(&audit, plan, stop.clone(), metrics).await,
        };
        audit.reader().take_warnings().iter().for_each(|warning| self.shell.detail(warning));
        if let Some(store) = &self.store {
            let of = (store, Some(&self.scope));
            notify::deliver(of, self.notifier.as_ref(), self.args.work.notify.notify_patience, &mut stop, self.shell).await?;
        }
        let keep = self.args.keep.or(parse_keep(&self.config)?);
        if let (Some(store), Some(keep)) = (&self.store, keep) {
            let sinks = self.notifier.as_ref().map(Notifier::keys).unwrap_or_default();
            store.forget(keep, &sinks).await.map_err(database::failed)?;
        }
        ended
    }

    /// Divides the run among all who join it, is one of them, and reports what all of them found.
    async fn share(&self, store: &Store, audit: &Audit<ChainClient, Fetcher>, plan: Plan, stop: Stop) -> Result<Exit, CliError> {
        let Plan { selection, run, hold, terms, .. } = plan;
        let args = self.args;
        let mut tally = args.exit.tally()?;
        let (header, earlier_success) = (header(&run), self.earlier_success().await?);
        let earlier_runs = if args.format.show_history() { earlier_runs(store, &run).await? } else { Vec::new() };
        let mut out = Output::begin(&args.format, self.json, header, earlier_runs, selection.at_most(), self.shell)?;
        let agents = selection.token_ids();
        store.share_run(&run, &agents, worker::part_size(agents.len())).await.map_err(database::failed)?;
        let settings = args.work.record_settings(self.notifier.as_ref(), &terms);
        if worker::work(store, audit, &run, (&settings, args.lease), stop, self.shell).await?.is_none() {
            return Ok(Exit::Interrupted);
        }
        if args.work.notify.notify_stdout {
            out.silence();
        }
        take_over((store, args.format.show_history()), &run, &mut tally, &mut out, self.shell, Output::add).await?;
        if out.count() == 0 {
            store.discard_run(&run).await.map_err(database::failed)?;
            return Err(select::empty(&selection.sentence));
        }
        out.finish(&RunEnd { finished_at: now(), complete: true, earlier_success })?;
        // As long as this process has the run in hand, workers know that there will be a report.
        if let Some(hold) = hold {
            hold.release().await;
        }
        Ok(tally.exit())
    }

    /// Runs it to its end, or until it is told to stop.
    async fn execute(
        &self,
        audit: &Audit<ChainClient, Fetcher>,
        plan: Plan,
        mut stop: Stop,
        metrics: Option<&MetricsState>,
    ) -> Result<Exit, CliError> {
        let Plan { selection, run, mut done, held, mut hold, unchanged, terms } = plan;
        let (args, store) = (self.args, self.store.as_ref());
        if let Some(store) = store {
            history::say_past(store, &run, self.shell).await?;
        }
        let mut tally = args.exit.tally()?;
        let (header, earlier_success) = (header(&run), self.earlier_success().await?);
        let earlier_runs = match store {
            Some(store) if args.format.show_history() => earlier_runs(store, &run).await?,
            _ => Vec::new(),
        };
        let metrics = metrics.map(|state| state.begin(&header));
        let mut out = Output::begin(&args.format, self.json, header, earlier_runs, selection.at_most(), self.shell)?;
        out.also(metrics);
        if args.work.notify.notify_stdout {
            out.silence();
        }
        if let (Some(store), false) = (store, done.is_empty()) {
            self.shell.note(&format!("going on with run {}: {} agents are done already", run.id, done.len()));
            let history = args.format.show_history();
            take_over((store, history), &run, &mut tally, &mut out, self.shell, Output::add_known).await?;
        }
        let settings = args.work.record_settings(self.notifier.as_ref(), &terms);
        let memory = store.map(|store| Memory { store: store.clone(), run: run.clone(), settings });
        if !held.is_empty() {
            let count = held.len();
            self.shell
                .note(&format!("{count} mismatches found before are looked at again at a newer block, and not fetched again"));
        }
        done.extend(held.iter().filter_map(|verdict| verdict.subject.as_ref()).map(|subject| subject.token_id));
        let mut pump = Pump::start(audit.go_on(selection.iter(done), held), memory);
        let (mut interrupted, mut lost) = (false, false);
        loop {
            let outcome = tokio::select! {
                biased;
                () = stop.told(), if !interrupted => {
                    interrupted = true;
                    pump.stop();
                    continue;
                }
                () = lost_of(&mut hold), if !lost => {
                    lost = true;
                    pump.abandon();
                    continue;
                }
                outcome = pump.outcomes.recv() => outcome,
            };
            let Some(outcome) = outcome else { break };
            let outcome = outcome.map_err(database::failed)?;
            let inactive = count(&mut tally, &outcome.verdict, self.shell);
            out.add(&outcome, &self.earlier_results(&run, &outcome).await?, inactive)?;
        }
        let (unconfirmed, mut refused) = match pump.ended().await {
            Ok(unconfirmed) => (unconfirmed, None),
            Err(error) => (0, Some(connect::refused(error))),
        };
        if lost {
            let message = format!("another process has taken run {} over while the database could not be reached", run.id);
            refused.get_or_insert(CliError::cannot_tell("run_taken_over", message));
        }
        let (checked, complete) = (out.count(), !interrupted && refused.is_none());
        if let (Some(store), true) = (store, complete) {
            let unchanged = match &unchanged {
                Some(unchanged) => self.count_unchanged(store, &run, (&selection, unchanged), &mut tally, &mut out).await?,
                None => Summary::default(),
            };
            if out.count() == 0 {
                store.discard_run(&run).await.map_err(database::failed)?;
            } else {
                store.finish_run_with(&run, &unchanged).await.map_err(database::failed)?;
            }
        }
        if let Some(hold) = hold {
            hold.release().await;
        }
        if complete && out.count() == 0 {
            return Err(select::empty(&selection.sentence));
        }
        if complete && checked == 0 {
            self.shell.note("no agent has changed, and none is due by its age");
        }
        out.finish(&RunEnd { finished_at: now(), complete, earlier_success })?;
        if let Some(error) = refused {
            return Err(error);
        }
        if interrupted {
            let left = selection.at_most().saturating_sub(checked);
            let unconfirmed = match (unconfirmed, store) {
                (0, _) => String::new(),
                (count, None) => format!(", {count} of them mismatches that could not be looked at again at a newer block"),
                (count, Some(_)) => format!(", {count} of them mismatches that are still to be looked at again at a newer block"),
            };
            let resume = match (store, args.daemon.every) {
                (None, _) => "",
                (Some(_), None) => "; go on with --resume",
                (Some(_), Some(_)) => "; the daemon goes on with them when it is started again",
            };
            let most = if args.select.is_narrowed() { "at most " } else { "" };
            self.shell.warning(&format!("interrupted: {checked} agents have a result, {most}{left} do not{unconfirmed}{resume}"));
            return Ok(Exit::Interrupted);
        }
        Ok(tally.exit())
    }

    /// Takes the last verdicts on those agents into the report that the run left out because nothing about them has changed.
    async fn count_unchanged(
        &self,
        store: &Store,
        run: &RunInfo,
        (selection, unchanged): (&Selection, &Unchanged),
        tally: &mut Tally,
        out: &mut Output<'_>,
    ) -> Result<Summary, CliError> {
        let (mut counts, mut after) = (Summary::default(), None);
        loop {
            let results = store.last_results(&run.scope, after).await.map_err(database::failed)?;
            let Some(last) = results.last() else { return Ok(counts) };
            after = last.verdict.subject.as_ref().map(|subject| subject.token_id);
            for LastResult { run: of, verdict } in results {
                if of == run.id || !self.args.select.left_out(selection, unchanged, &verdict) {
                    continue;
                }
                let inactive = count(tally, &verdict, self.shell);
                counts.add(verdict.class());
                let outcome = AuditOutcome { verdict, transitions: Vec::new() };
                out.add_known(&outcome, &self.earlier_results(run, &outcome).await?, inactive)?;
            }
        }
    }

    /// What earlier runs found about an agent, if a report shows it.
    async fn earlier_results(&self, run: &RunInfo, outcome: &AuditOutcome) -> Result<Vec<HistoryPoint>, CliError> {
        match &self.store {
            Some(store) if self.args.format.show_history() => earlier_results(store, run, outcome).await,
            _ => Ok(Vec::new()),
        }
    }
}

/// Takes the results that are stored of a run into its report: those from before an interruption, or those of all workers.
pub(super) async fn take_over<'o>(
    (store, show_history): (&Store, bool),
    run: &RunInfo,
    tally: &mut Tally,
    out: &mut Output<'o>,
    shell: &Shell,
    add: impl Fn(&mut Output<'o>, &AuditOutcome, &[HistoryPoint], bool) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut after = None;
    loop {
        let results = store.results(run, after).await.map_err(database::failed)?;
        let Some(last) = results.last() else { return Ok(()) };
        after = last.verdict.subject.as_ref().map(|subject| subject.token_id);
        for outcome in results {
            let inactive = count(tally, &outcome.verdict, shell);
            let earlier = if show_history { earlier_results(store, run, &outcome).await? } else { Vec::new() };
            add(out, &outcome, &earlier, inactive)?;
        }
    }
}

pub(super) async fn earlier_results(store: &Store, run: &RunInfo, outcome: &AuditOutcome) -> Result<Vec<HistoryPoint>, CliError> {
    let Some(subject) = &outcome.verdict.subject else { return Ok(Vec::new()) };
    let most = HistoryPoint::SHOWN;
    let results = store.recent(&run.scope, subject.token_id, run.id, most).await.map_err(database::failed)?;
    let point = |result: PastResult| HistoryPoint { at: result.at, reason: result.reason, sha256: result.body_sha256 };
    Ok(results.into_iter().rev().map(point).collect())
}

/// Counts for the exit code; says whether the agent counts as a mismatch only because it is revoked.
pub(super) fn count(tally: &mut Tally, verdict: &Verdict, shell: &Shell) -> bool {
    let inactive = tally.add(verdict);
    if inactive {
        let agent = verdict.subject.as_ref().map_or(String::new(), |subject| subject.token_id.to_string());
        shell.warning(&format!("agent {agent} is revoked, which --require-active counts as a mismatch"));
    }
    inactive
}

/// Ready when another process has the run.
async fn lost_of(hold: &mut Option<RunHold>) {
    match hold {
        Some(hold) => hold.lost().await,
        None => std::future::pending().await,
    }
}

async fn earlier_runs(store: &Store, run: &RunInfo) -> Result<Vec<RunPoint>, CliError> {
    let runs = store.runs(&run.scope).await.map_err(database::failed)?;
    let earlier: Vec<_> = runs.into_iter().filter(|other| other.id != run.id).collect();
    Ok(points(&earlier))
}

/// What finished runs found, the oldest first, of `runs`, which are the newest first.
pub(super) fn points(runs: &[RunInfo]) -> Vec<RunPoint> {
    let finished = runs.iter().rev().filter(|run| run.finished_at.is_some());
    finished.map(|run| RunPoint { at: run.started_at, summary: run.summary }).collect()
}

/// When the newest of `runs`, which are the newest first, succeeded.
pub(super) fn last_success(runs: &[RunInfo]) -> Option<Timestamp> {
    // A time that is still to come was written by a clock that was wrong.
    runs.iter().find_map(|run| run.finished_at.filter(|at| run.block.is_some() && *at <= now()))
}

pub(super) fn header(run: &RunInfo) -> RunHeader {
    RunHeader {
        id: u64::try_from(run.id).ok().filter(|id| *id > 0),
        network: run.scope.network.clone(),
        contract: run.scope.contract,
        block: run.block,
        started_at: run.started_at,
        selection: run.selection.clone(),
    }
}

/// The time of this machine's clock.
pub(super) fn now() -> Timestamp {
    let elapsed: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
