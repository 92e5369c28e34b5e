//! `cardproof audit`: one run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cardproof::audit::notify::Notifier;
use cardproof::audit::serve::MetricsState;
use cardproof::audit::store::Store;
use cardproof::audit::{Audit, AuditOutcome, RunInfo, RunScope};
use cardproof::chain::ChainClient;
use cardproof::fetch::Fetcher;
use cardproof::registry::Timestamp;
use cardproof::report::{HistoryPoint, RunEnd, RunHeader, RunPoint};

use super::args::RunArgs;
use super::output::Output;
use super::plan::{Plan, Resume};
use super::pump::{Memory, Pump};
use super::stop::Stop;
use super::{database, history, notify, select, worker};
use crate::cli::config::{parse_keep, Config};
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;

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
        args.check(&config, shell)?;
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
        let runs = store.runs(&self.scope).await.map_err(database::failed)?;
        Ok(runs.into_iter().find(|run| run.finished_at.is_some() && run.block.is_some()).and_then(|run| run.finished_at))
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
        if let (Err(_), Some(state)) = (&prepared, metrics) {
            state.run_failed();
        }
        let (audit, plan) = prepared?;
        let ended = match &self.store {
            Some(store) if self.args.share => self.share(store, &audit, plan, stop).await,
            _ => self.execute(&audit, plan, stop, metrics).await,
        };
        audit.reader().take_warnings().iter().for_each(|warning| self.shell.detail(warning));
        if let Some(store) = &self.store {
            notify::deliver(store, self.notifier.as_ref(), self.args.work.notify.notify_patience, self.shell).await?;
        }
        let keep = self.args.keep.or(parse_keep(&self.config)?);
        if let (Some(store), Some(keep)) = (&self.store, keep) {
            let sinks = self.notifier.as_ref().map(Notifier::names).unwrap_or_default();
            store.forget(keep, &sinks).await.map_err(database::failed)?;
        }
        ended
    }

    /// Divides the run among all who join it, and is one of them.
    async fn share(&self, store: &Store, audit: &Audit<ChainClient, Fetcher>, plan: Plan, stop: Stop) -> Result<Exit, CliError> {
        let Plan { selection, run, .. } = plan;
        store.share_run(&run, &selection.token_ids(), worker::PART).await.map_err(database::failed)?;
        let settings = self.args.work.record_settings(self.notifier.as_ref());
        let Some(finished) = worker::work(store, audit, &run, (&settings, self.args.lease), stop, self.shell).await? else {
            return Ok(Exit::Interrupted);
        };
        let mut tally = self.args.exit.tally()?;
        tally.add_counts(&finished.summary);
        history::print_runs(&[finished], self.shell, self.json);
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
        let Plan { selection, run, done } = plan;
        let (args, store) = (self.args, self.store.as_ref());
        if let Some(store) = store {
            history::say_past(store, &run, self.shell).await?;
        }
        let mut tally = args.exit.tally()?;
        tally.add_counts(&run.summary);
        let earlier = done.len() as u64;
        if earlier > 0 {
            self.shell.note(&format!("going on with run {}: {earlier} agents are done already", run.id));
        }
        let at_most = selection.at_most().saturating_sub(earlier);
        let with_history = store.filter(|_| args.format.show_history());
        let earlier_runs = match with_history {
            Some(store) => earlier_runs(store, &run).await?,
            None => Vec::new(),
        };
        let (header, earlier_success) = (header(&run), self.earlier_success().await?);
        let metrics = metrics.map(|state| state.begin(&header));
        let mut out = Output::begin(&args.format, self.json, header, earlier_runs, at_most, self.shell)?;
        out.also(metrics);
        if args.work.notify.notify_stdout {
            out.silence();
        }
        let settings = args.work.record_settings(self.notifier.as_ref());
        let memory = store.map(|store| Memory { store: store.clone(), run: run.clone(), settings });
        let mut pump = Pump::start(audit.start(selection.iter(done)), memory);
        let mut interrupted = false;
        loop {
            let outcome = tokio::select! {
                biased;
                () = stop.told(), if !interrupted => {
                    interrupted = true;
                    pump.stop();
                    continue;
                }
                outcome = pump.outcomes.recv() => outcome,
            };
            let Some(outcome) = outcome else { break };
            let outcome = outcome.map_err(database::failed)?;
            if tally.add(&outcome.verdict) {
                let agent = outcome.verdict.subject.as_ref().map_or(String::new(), |subject| subject.token_id.to_string());
                self.shell.warning(&format!("agent {agent} is revoked, which --require-active counts as a mismatch"));
            }
            let history = match with_history {
                Some(store) => earlier_results(store, &run, &outcome).await?,
                None => Vec::new(),
            };
            out.add(&outcome, &history)?;
        }
        let refused = pump.ended().await.err();
        let (count, complete) = (out.count(), !interrupted && refused.is_none());
        if let (Some(store), true) = (store, complete) {
            store.finish_run(&run).await.map_err(database::failed)?;
        }
        if complete && args.changed && count == 0 {
            self.shell.note("no agent has changed, and none is due by its age");
        } else if complete && count + earlier == 0 {
            return Err(select::empty(&selection.sentence));
        }
        out.finish(&RunEnd { finished_at: now(), complete, earlier_success })?;
        if let Some(error) = refused {
            return Err(connect::refused(error));
        }
        if interrupted {
            let left = at_most.saturating_sub(count);
            let resume = match (store, args.daemon.every) {
                (None, _) => "",
                (Some(_), None) => "; go on with --resume",
                (Some(_), Some(_)) => "; the daemon goes on with them when it is started again",
            };
            let most = if args.select.is_exact() { "" } else { "at most " };
            self.shell.warning(&format!("interrupted: {count} agents have a result, {most}{left} do not{resume}"));
            return Ok(Exit::Interrupted);
        }
        Ok(tally.exit())
    }
}

async fn earlier_runs(store: &Store, run: &RunInfo) -> Result<Vec<RunPoint>, CliError> {
    let runs = store.runs(&run.scope).await.map_err(database::failed)?;
    let earlier = runs.into_iter().rev().filter(|other| other.id != run.id && other.finished_at.is_some());
    Ok(earlier.map(|run| RunPoint { at: run.started_at, summary: run.summary }).collect())
}

async fn earlier_results(store: &Store, run: &RunInfo, outcome: &AuditOutcome) -> Result<Vec<HistoryPoint>, CliError> {
    let Some(subject) = &outcome.verdict.subject else { return Ok(Vec::new()) };
    let most = HistoryPoint::SHOWN;
    let results = store.recent(&run.scope, subject.token_id, run.id, most).await.map_err(database::failed)?;
    Ok(results
        .into_iter()
        .rev()
        .map(|result| HistoryPoint { at: result.at, reason: result.reason, sha256: result.body_sha256 })
        .collect())
}

fn header(run: &RunInfo) -> RunHeader {
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
