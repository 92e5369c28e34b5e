//! `cardproof audit`: one run.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cardproof::audit::store::{Patience, RecordSettings, Store};
use cardproof::audit::{Audit, AuditOutcome, AuditSettings, RunInfo};
use cardproof::chain::{AtBlock, ChainClient};
use cardproof::fetch::Fetcher;
use cardproof::identity::TokenId;
use cardproof::registry::Timestamp;
use cardproof::report::{HistoryPoint, RunEnd, RunHeader, RunPoint};
use cardproof::verify::{Summary, VerifySettings};
use clap::Args;

use super::database::{self, StoreOptions};
use super::output::{FormatOptions, Output};
use super::pump::{Memory, Pump};
use super::select::{self, SelectOptions, Selection};
use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{FetchOptions, NodeOptions, OutputOptions, TlsOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::tally::ExitOptions;

/// What a run is told.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    select: SelectOptions,
    /// Judge at this finalized block of the past instead of the newest
    #[arg(long, value_name = "HASH|HEIGHT", conflicts_with = "resume")]
    at_block: Option<AtBlock>,
    /// Also fetch and hash the cards of agents without a hash on chain
    #[arg(long)]
    fetch_unanchored: bool,
    /// Fetch a card so many times again before calling it a mismatch; a host that flaps is then undecided (unstable)
    #[arg(long, value_name = "N", default_value_t = 0)]
    confirm: u32,
    #[command(flatten)]
    exit: ExitOptions,
    /// Go on with the newest run that was not finished; the same agents must be selected
    #[arg(long, conflicts_with_all = ["no_store", "sample"], help_heading = "Memory")]
    resume: bool,
    /// How many runs must agree before a change of the verdict is one
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "no_store", help_heading = "Memory",
        value_parser = clap::value_parser!(u64).range(1..))]
    min_consecutive: u64,
    /// Remember nothing, and tell no changes
    #[arg(long, conflicts_with = "store", help_heading = "Memory")]
    no_store: bool,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    pace: PaceOptions,
    #[command(flatten)]
    node: NodeOptions,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

/// How much is done at once.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pace")]
struct PaceOptions {
    /// How many records are read from the node at once
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = positive)]
    node_concurrency: usize,
    /// How many cards are fetched at once, from all hosts together
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = positive)]
    host_concurrency: usize,
    /// How many cards are fetched at once from one host
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = positive)]
    per_host: usize,
    /// How many fetches may start at one host in any second; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 20)]
    per_host_rate: usize,
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=100_000).contains(n)).ok_or_else(|| "a number from 1 to 100000 is needed".into())
}

pub(super) fn run(args: &RunArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let network = NetworkSettings::resolve(&args.node.network, &config)?;
    crate::cli::block_on(async {
        let store = if args.no_store { None } else { Some(args.store.open(&config).await?) };
        let (audit, plan) = prepare(args, &config, &network, store.as_ref(), shell).await?;
        let ended = execute(args, &audit, plan, store.as_ref(), output.json, shell).await;
        audit.reader().take_warnings().iter().for_each(|warning| shell.detail(warning));
        if let Some(store) = store {
            store.close().await;
        }
        ended
    })
}

/// A run that can begin.
struct Plan {
    selection: Selection,
    run: RunInfo,
    done: HashSet<TokenId>,
}

/// Pins the block and finds out which agents are meant.
async fn prepare(
    args: &RunArgs,
    config: &Config,
    network: &NetworkSettings,
    store: Option<&Store>,
    shell: &Shell,
) -> Result<(Audit<ChainClient, Fetcher>, Plan), CliError> {
    let scope = database::scope(network);
    let unfinished = match store {
        Some(store) => store.resume_run(&scope).await.map_err(database::failed)?,
        None => None,
    };
    let interrupted = match (args.resume, unfinished) {
        (true, None) => return Err(CliError::refused("nothing_to_resume", "there is no unfinished run to go on with")),
        (true, unfinished) => unfinished,
        (false, Some(unfinished)) => {
            let (id, done) = (unfinished.run.id, unfinished.done.len());
            shell
                .note(&format!("run {id} was interrupted after {done} agents and is left as it is; --resume would have gone on"));
            None
        }
        (false, None) => None,
    };
    let (reader, fetcher, settings) = parts(args, config, network)?;
    let audit = match interrupted.as_ref().and_then(|interrupted| interrupted.run.block) {
        Some(block) => Audit::resume(reader, fetcher, settings, block).await,
        None => Audit::begin(reader, fetcher, settings).await,
    };
    let audit = audit.map_err(connect::refused)?;
    let selection = args.select.resolve(&audit, network, shell).await?;
    let (run, done) = match (interrupted, store) {
        (Some(interrupted), _) if interrupted.run.selection != selection.sentence => {
            let (id, was) = (interrupted.run.id, interrupted.run.selection);
            return Err(CliError::refused("another_selection", format!("the unfinished run {id} is about other agents: {was}"))
                .hint("repeat its selection with --resume, or begin a new run without --resume"));
        }
        (Some(interrupted), _) => (interrupted.run, interrupted.done),
        (None, Some(store)) => {
            let begun = store.begin_run(&scope, audit.block().ok(), &selection.sentence).await;
            (begun.map_err(database::failed)?, HashSet::new())
        }
        (None, None) => {
            let (block, selection) = (audit.block().ok(), selection.sentence.clone());
            let summary = Summary::default();
            (RunInfo { id: 0, scope, block, started_at: now(), finished_at: None, selection, summary }, HashSet::new())
        }
    };
    Ok((audit, Plan { selection, run, done }))
}

fn parts(args: &RunArgs, config: &Config, network: &NetworkSettings) -> Result<(ChainClient, Fetcher, AuditSettings), CliError> {
    let (pace, at) = (&args.pace, args.at_block.unwrap_or(AtBlock::LastFinalized));
    let contract = network.network.registry;
    let mut chain = connect::chain_settings(&args.node, &args.tls, config, &network.network, contract, at)?;
    chain.node.max_in_flight = pace.node_concurrency;
    let mut fetch = connect::fetch_settings(&args.fetch, &args.tls, config)?;
    (fetch.per_host_concurrency, fetch.per_host_rate) = (pace.per_host, pace.per_host_rate);
    let mut settings = AuditSettings::new(VerifySettings {
        network: network.network.name.clone().into_owned(),
        chain: network.network.caip2(),
        contract,
        at,
        fetch_unanchored: args.fetch_unanchored,
    });
    args.select.apply(&mut settings);
    settings.confirm = args.confirm;
    settings.node_concurrency = pace.node_concurrency;
    settings.host_concurrency = pace.host_concurrency;
    settings.per_host_concurrency = pace.per_host;
    Ok((ChainClient::new(chain).map_err(connect::refused)?, connect::fetcher_of(fetch)?, settings))
}

/// Runs it to its end, or to Ctrl-C.
async fn execute(
    args: &RunArgs,
    audit: &Audit<ChainClient, Fetcher>,
    plan: Plan,
    store: Option<&Store>,
    json: bool,
    shell: &Shell,
) -> Result<Exit, CliError> {
    let Plan { selection, run, done } = plan;
    let mut tally = args.exit.tally()?;
    tally.add_counts(&run.summary);
    let earlier = done.len() as u64;
    let at_most = selection.at_most().saturating_sub(earlier);
    let earlier_runs = match store {
        Some(store) if args.format.show_history() => earlier_runs(store, &run).await?,
        _ => Vec::new(),
    };
    let mut out = Output::begin(&args.format, json, header(&run), earlier_runs, at_most, shell)?;
    if earlier > 0 {
        shell.note(&format!("going on with run {}: {earlier} agents are done already", run.id));
    }
    let patience = Patience { min_consecutive: args.min_consecutive, ..Patience::default() };
    let settings = RecordSettings { patience, ..RecordSettings::default() };
    let memory = store.map(|store| Memory { store: store.clone(), run: run.clone(), settings });
    let mut pump = Pump::start(audit.start(selection.iter(done)), memory);
    let interrupt = tokio::signal::ctrl_c();
    tokio::pin!(interrupt);
    let mut interrupted = false;
    loop {
        let outcome = tokio::select! {
            biased;
            _ = &mut interrupt, if !interrupted => {
                interrupted = true;
                pump.stop();
                continue;
            }
            outcome = pump.outcomes.recv() => outcome,
        };
        match outcome {
            None => break,
            Some(outcome) => {
                let outcome = outcome.map_err(database::failed)?;
                tally.add(&outcome.verdict);
                let history = match store {
                    Some(store) if args.format.show_history() => earlier_results(store, &run, &outcome).await?,
                    _ => Vec::new(),
                };
                out.add(&outcome, &history)?;
            }
        }
    }
    let refused = pump.ended().await.err();
    let (count, complete) = (out.count(), !interrupted && refused.is_none());
    if let (Some(store), true) = (store, complete) {
        store.finish_run(&run).await.map_err(database::failed)?;
    }
    if complete && count + earlier == 0 {
        return Err(select::empty(&selection.sentence));
    }
    out.finish(&RunEnd { finished_at: now(), complete, earlier_success: None })?;
    if let Some(error) = refused {
        return Err(connect::refused(error));
    }
    if interrupted {
        let (left, resume) = (at_most.saturating_sub(count), if store.is_some() { "; go on with --resume" } else { "" });
        let most = if args.select.is_exact() { "" } else { "at most " };
        shell.warning(&format!("interrupted: {count} agents have a result, {most}{left} do not{resume}"));
        return Ok(Exit::Interrupted);
    }
    Ok(tally.exit())
}

async fn earlier_runs(store: &Store, run: &RunInfo) -> Result<Vec<RunPoint>, CliError> {
    let runs = store.runs(&run.scope).await.map_err(database::failed)?;
    let earlier = runs.into_iter().rev().filter(|other| other.id != run.id && other.finished_at.is_some());
    Ok(earlier.map(|run| RunPoint { at: run.started_at, summary: run.summary }).collect())
}

async fn earlier_results(store: &Store, run: &RunInfo, outcome: &AuditOutcome) -> Result<Vec<HistoryPoint>, CliError> {
    let Some(subject) = &outcome.verdict.subject else { return Ok(Vec::new()) };
    let history = store.history(&run.scope, subject.token_id).await.map_err(database::failed)?;
    let results = history.map(|history| history.results).unwrap_or_default();
    let earlier = results.into_iter().rev().filter(|result| result.run != run.id);
    Ok(earlier.map(|result| HistoryPoint { at: result.at, reason: result.reason, sha256: result.body_sha256 }).collect())
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
