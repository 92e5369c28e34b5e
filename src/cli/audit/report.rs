//! `cardproof audit report`: the report of a run that is remembered.

use cardproof::audit::AuditOutcome;
use cardproof::report::RunEnd;

use super::database::{self, StoreOptions};
use super::left_out::LeftOut;
use super::output::{FormatOptions, Output};
use super::run::{self, now};
use crate::cli::config::Config;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{NetworkOptions, OutputOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::tally::ExitOptions;

/// Print or write the report of a run that is remembered, and audit nothing
///
/// It is the report that the run itself would have written, such as one that a worker has ended because who began it was gone.
/// Agents that --changed left out are in it with the verdict that they had. Once a later run has judged such an agent anew, that verdict
/// is not remembered any more, and there is no report of the older run.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes are those of the run: 0 every agent matches; 1 a mismatch, or there is no such run; 2 refused; 3 \
    undecided, no mismatch, or the run is not finished, or can no longer be reported as it was; 4 only absent ones besides matches; 5 database failure."
)]
pub(super) struct ReportArgs {
    /// The run's number, as cardproof audit runs lists it [default: the newest finished one]
    #[arg(value_name = "RUN", value_parser = clap::value_parser!(i64).range(1..))]
    run: Option<i64>,
    #[command(flatten)]
    exit: ExitOptions,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(super) fn run(args: &ReportArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let network = NetworkSettings::resolve(&args.network, &config)?;
    let read: Vec<_> = output.config.as_deref().into_iter().collect();
    args.format.check(args.store.file(&config)?.as_deref(), &read, output.json.then_some("--json"))?;
    let mut tally = args.exit.tally()?;
    crate::cli::block_on(async {
        let store = args.store.open_to_read(&config).await?;
        let scope = database::scope(&network);
        let runs = store.runs(&scope).await.map_err(database::failed)?;
        let wanted = runs.iter().position(|run| args.run.map_or(run.finished_at.is_some(), |id| run.id == id));
        let Some((run, before)) = wanted.and_then(|at| runs.get(at..)?.split_first()) else {
            let which = args.run.map_or("finished run".to_owned(), |id| format!("run {id}"));
            let message = format!("no {which} over the registry {} of {} is remembered", scope.contract, scope.network);
            return Err(CliError::negative("no_such_run", message).hint("cardproof audit runs lists them"));
        };
        let left_out = LeftOut::of(&store, run).await?;
        left_out.check(&store, run).await?;
        let show_history = args.format.show_history();
        let earlier = if show_history { run::points(before) } else { Vec::new() };
        let mut out = Output::begin(&args.format, output.json, run::header(run), earlier, run.summary.agents, shell)?;
        run::take_over((&store, show_history), run, &mut tally, &mut out, shell, Output::add).await?;
        let mut after = None;
        while let Some(verdicts) = left_out.next(&store, run, &mut after).await? {
            for verdict in verdicts {
                let inactive = run::count(&mut tally, &verdict, shell);
                let outcome = AuditOutcome { verdict, transitions: Vec::new() };
                let earlier = if show_history { run::earlier_results(&store, run, &outcome).await? } else { Vec::new() };
                out.add(&outcome, &earlier, inactive)?;
            }
        }
        if left_out.count() > 0 {
            shell.note(&format!(
                "{} of these agents run {} did not check, because nothing about them had changed: their verdict is the one from before",
                left_out.count(),
                run.id
            ));
        }
        // An audit may have judged some of them meanwhile.
        let complete = run.finished_at.is_some() && out.count() == run.summary.agents;
        let finished_at = run.finished_at.unwrap_or_else(now);
        out.finish(&RunEnd { finished_at, complete, earlier_success: run::last_success(before) })?;
        store.close().await;
        Ok(match tally.exit() {
            Exit::Ok | Exit::Absent if !complete => Exit::CannotTell,
            exit => exit,
        })
    })
}
