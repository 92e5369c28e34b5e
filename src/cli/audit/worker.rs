//! `cardproof audit worker`, and what everybody does who works on a shared run.

use std::time::Duration;

use cardproof::audit::store::{Lease, RecordSettings, Shares, Store};
use cardproof::audit::{Audit, RunInfo};
use cardproof::chain::{AtBlock, ChainClient};
use cardproof::fetch::Fetcher;
use cardproof::identity::TokenId;
use cardproof::verify::Verdict;

use super::args::WorkOptions;
use super::pump::{Memory, Pump};
use super::stop::Stop;
use super::{database, history, notify, select};
use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::tally::{ExitOptions, Tally};

/// How many agents one worker takes at a time, at most.
const MOST: usize = 200;
/// Into how many parts a run is divided that is too small for parts of so many: so that who joins it finds some left.
const PARTS: usize = 16;
/// How long to wait before looking again for a part whose worker may be gone.
const PAUSE: Duration = Duration::from_secs(1);

/// Join the run that another process shares (cardproof audit --share)
///
/// Takes parts of the run until all are done, those of workers that are gone as well. All need the same database, which for several
/// machines is PostgreSQL. Cards are judged by the options that the run was begun with: limits are taken over from it, and where it may
/// reach more than this worker (--allow-private and the like) the worker is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes are about the whole run: 0 every agent matches; 1 a mismatch; 2 refused before any work; 3 \
    undecided, no mismatch; 4 only absent ones besides matches; 5 internal error or database failure; 130 interrupted.")]
pub(super) struct WorkerArgs {
    /// How long another worker may be silent before its part is taken over
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = super::args::lease)]
    lease: Duration,
    #[command(flatten)]
    exit: ExitOptions,
    #[command(flatten)]
    work: WorkOptions,
}

pub(super) fn run(args: &WorkerArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let work_options = &args.work;
    let config = Config::load(output.config.as_deref())?;
    let network = NetworkSettings::resolve(&work_options.node.network, &config)?;
    let mut tally = args.exit.tally()?;
    crate::cli::block_on(async {
        let mut stop = Stop::on_signals()?;
        let store = work_options.store.open(&config).await?;
        let scope = database::scope(&network);
        let unfinished = store.resume_run(&scope).await.map_err(database::failed)?;
        let run = match unfinished {
            Some(unfinished) if store.shares(&unfinished.run).await.map_err(database::failed)?.parts > 0 => unfinished.run,
            _ => {
                return Err(CliError::refused("nothing_to_share", "there is no shared run that is not finished")
                    .hint("begin one with cardproof audit --all --share"));
            }
        };
        let notifier = work_options.notify.notifier(&config, &work_options.fetch, &work_options.tls, &store, shell)?;
        let (terms, taken) = work_options.terms(&config, &network)?.join(&run)?;
        taken.iter().for_each(|taken| shell.note(taken));
        let (reader, fetcher, mut settings) = work_options.parts(AtBlock::LastFinalized, &config, &network, &terms)?;
        select::apply_shared(&mut settings, &store, &run).await?;
        let audit = match run.block {
            Some(block) => Audit::resume(reader, fetcher, settings, block).await,
            None => Audit::begin(reader, fetcher, settings).await,
        };
        let audit = audit.map_err(connect::refused)?;
        // Without a node, every result would be that there is none, and others could find better ones.
        audit.block().map_err(|error| connect::refused(error.clone()))?;
        let settings = work_options.record_settings(notifier.as_ref(), &terms);
        let finished = work(&store, &audit, &run, (&settings, args.lease), stop.clone(), shell).await?;
        match &finished {
            Some(Ended { run: finished, .. }) if args.exit.requires_active() => {
                count_each(&store, finished, &mut tally, shell).await?
            }
            Some(Ended { run: finished, .. }) => tally.add_counts(&finished.summary),
            None => {}
        }
        notify::deliver((&store, Some(&scope)), notifier.as_ref(), work_options.notify.notify_patience, &mut stop, shell).await?;
        store.close().await;
        let Some(Ended { run: finished, is_orphan }) = finished else { return Ok(Exit::Interrupted) };
        if is_orphan {
            let id = finished.id;
            shell.note(&format!("who began run {id} is gone and has written no report: cardproof audit report {id} does"));
        }
        // Whoever began the run may be gone: somebody must say how it ended.
        history::print_runs(&scope, &[finished], shell, output.json);
        Ok(tally.exit())
    })
}

/// Counts result by result for the exit code: the counts of a run know nothing of revoked agents.
async fn count_each(store: &Store, run: &RunInfo, tally: &mut Tally, shell: &Shell) -> Result<(), CliError> {
    let mut after = None;
    loop {
        let results = store.results(run, after).await.map_err(database::failed)?;
        let Some(last) = results.last() else { return Ok(()) };
        after = last.verdict.subject.as_ref().map(|subject| subject.token_id);
        for outcome in results {
            super::run::count(tally, &outcome.verdict, shell);
        }
    }
}

/// A shared run that has ended.
pub(super) struct Ended {
    run: RunInfo,
    /// Whether this process has ended it and who began it is gone, with whom its report went.
    is_orphan: bool,
}

async fn ended(store: &Store, run: &RunInfo) -> Result<Ended, CliError> {
    // In this order: who began it has it in hand until the report is written, which comes after its end.
    let is_owned = store.run_owner(run).await.map_err(database::failed)?.is_some();
    let runs = store.runs(&run.scope).await.map_err(database::failed)?;
    let is_open = runs.iter().any(|other| other.id == run.id && other.finished_at.is_none());
    let run = store.finish_run(run).await.map_err(database::failed)?;
    Ok(Ended { run, is_orphan: is_open && !is_owned })
}

/// How many agents a part of a run over so many has.
pub(super) fn part_size(agents: usize) -> usize {
    agents.div_ceil(PARTS).clamp(1, MOST)
}

/// Takes half of the parts that nobody has, as long as they are few agents: small parts one after another would leave a worker waiting
/// for one slow host at a time.
async fn take(store: &Store, run: &RunInfo, worker: &str, length: Duration) -> Result<Vec<Lease>, CliError> {
    let Shares { parts, done, leased } = store.shares(run).await.map_err(database::failed)?;
    let half = parts.saturating_sub(done).saturating_sub(leased).div_ceil(2).max(1);
    let mut leases: Vec<Lease> = Vec::new();
    for _ in 0..half {
        let Some(lease) = store.take_lease(run, worker, length).await.map_err(database::failed)? else { break };
        leases.push(lease);
        // The next part is about as large as the largest of these.
        let (agents, largest) = leases.iter().fold((0, 0), |(sum, largest), lease| {
            let count = lease.token_ids.len();
            (sum + count, largest.max(count))
        });
        if agents + largest > MOST {
            break;
        }
    }
    Ok(leases)
}

/// Works on a shared run until it is done; `None` when told to stop before.
pub(super) async fn work(
    store: &Store,
    audit: &Audit<ChainClient, Fetcher>,
    run: &RunInfo,
    (settings, length): (&RecordSettings, Duration),
    mut stop: Stop,
    shell: &Shell,
) -> Result<Option<Ended>, CliError> {
    let worker = format!("{}-{:016x}", std::process::id(), fastrand::u64(..));
    let (mut mine, mut waits) = (0_usize, false);
    while !stop.is_told() {
        let leases = take(store, run, &worker, length).await?;
        match leases.is_empty() {
            false => {
                let memory = Memory { store: store.clone(), run: run.clone(), settings: settings.clone() };
                mine += judge(store, audit, (&leases, length), memory, &mut stop).await?;
            }
            true => match store.shares(run).await.map_err(database::failed)? {
                Shares { parts: 0, .. } => {
                    let message = format!("run {} is not shared any more: another process goes on with it alone", run.id);
                    return Err(
                        CliError::cannot_tell("nothing_to_share", message).hint("cardproof audit runs tells when it has ended")
                    );
                }
                shares if shares.is_done() => {
                    shell.note(&format!("this worker judged {mine} agents"));
                    return ended(store, run).await.map(Some);
                }
                Shares { parts, done, .. } => {
                    if !std::mem::replace(&mut waits, true) {
                        let left = parts.saturating_sub(done);
                        shell.note(&format!(
                            "waiting for other workers, who have the last {left} of {parts} parts of run {} in hand",
                            run.id
                        ));
                    }
                    tokio::select! {
                        () = stop.told() => {}
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
            },
        }
    }
    shell.warning(&format!("interrupted: this worker judged {mine} agents, the others go on"));
    Ok(None)
}

/// Judges some parts and says how many agents of them were recorded. It ends early when another worker has taken one of them over.
async fn judge(
    store: &Store,
    audit: &Audit<ChainClient, Fetcher>,
    (leases, length): (&[Lease], Duration),
    memory: Memory,
    stop: &mut Stop,
) -> Result<usize, CliError> {
    // What a worker that is gone has found, need not be fetched again.
    let mut held = store.held_mismatches(&memory.run).await.map_err(database::failed)?;
    let mut targets: Vec<TokenId> = leases.iter().flat_map(|lease| lease.token_ids.iter().copied()).collect();
    let token_of = |verdict: &Verdict| verdict.subject.as_ref().map(|subject| subject.token_id);
    held.retain(|verdict| token_of(verdict).is_some_and(|token| targets.contains(&token)));
    targets.retain(|token| !held.iter().any(|verdict| token_of(verdict) == Some(*token)));
    let mut pump = Pump::start(audit.go_on(targets.into_iter(), held), Some(memory));
    let mut still_here = tokio::time::interval((length / 3).max(Duration::from_millis(10)));
    let (mut recorded, mut whole) = (0, true);
    loop {
        tokio::select! {
            biased;
            () = stop.told(), if whole => {
                whole = false;
                pump.stop();
            }
            _ = still_here.tick(), if whole => {
                for lease in leases {
                    whole &= store.extend_lease(lease, length).await.map_err(database::failed)?;
                }
                if !whole {
                    pump.abandon();
                }
            }
            outcome = pump.outcomes.recv() => match outcome {
                Some(outcome) => {
                    outcome.map_err(database::failed)?;
                    recorded += 1;
                }
                None => break,
            },
        }
    }
    let ended = pump.ended().await;
    for lease in leases {
        if whole && ended.is_ok() {
            store.finish_lease(lease).await.map_err(database::failed)?;
        } else {
            store.release_lease(lease).await.map_err(database::failed)?;
        }
    }
    ended.map_err(connect::refused)?;
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_has_parts_for_those_who_join_it() {
        for (agents, size) in [(0, 1), (1, 1), (16, 1), (31, 2), (181, 12), (3200, 200), (1_000_000, 200)] {
            assert_eq!(part_size(agents), size, "{agents}");
        }
    }
}
