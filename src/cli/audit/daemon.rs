//! `cardproof audit --every`: run after run, until told to stop.

use std::time::Duration;

use cardproof::audit::serve::{Endpoint, MetricsSettings, MetricsState, ServeError};
use cardproof::registry::Timestamp;
use tokio::time::Instant;

use super::args::RunArgs;
use super::plan::{Resume, ALIVE};
use super::run::{now, Session};
use super::stop::{Reload, Stop};
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

pub(super) fn run(args: &RunArgs, every: Duration, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    if every < Duration::from_secs(1) {
        return Err(CliError::usage("--every needs at least a second"));
    }
    if args.select.reads_stdin() {
        return Err(CliError::usage("--from - can be read only once, and --every reads the list for every run: name a file"));
    }
    crate::cli::block_on(daemon(args, every, shell, output))
}

async fn daemon(args: &RunArgs, every: Duration, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let (mut stop, mut reload) = (Stop::on_signals()?, Reload::on_signal()?);
    // What is wrong from the start is said at the start, and not once an hour.
    let mut session = Session::open(args, output, shell).await?;
    let settings = MetricsSettings {
        per_agent: args.format.metrics_per_agent,
        stale_after: Some(every.saturating_mul(3)),
        earlier_success: session.earlier_success().await?,
    };
    let state = MetricsState::new(settings);
    let endpoint = match args.daemon.listen {
        Some(address) => {
            let endpoint = Endpoint::bind(address).await.map_err(unservable)?;
            shell.note(&format!("metrics are at http://{}/metrics", endpoint.address()));
            let mut stopped = stop.clone();
            let serving = endpoint.serve(state.clone(), async move { stopped.told().await });
            Some(tokio::spawn(serving))
        }
        None => None,
    };
    let mut resume = if args.resume { Resume::Asked } else { Resume::Own };
    while !stop.is_told() {
        let begun = Instant::now();
        match session.run(resume, stop.clone(), Some(&state)).await {
            Ok(_) => {}
            Err(error) if error.code == ALIVE => shell.note(&format!("{}; this daemon waits for its next time", error.message)),
            Err(error) => shell.warning(&format!("a run failed, the next one is due as usual: {}", error.message)),
        }
        // What was left by a failure, the next run goes on with.
        resume = Resume::Own;
        if stop.is_told() {
            break;
        }
        let next = begun + jittered(every);
        state.next_run(Timestamp(now().0.saturating_add(millis(next.saturating_duration_since(Instant::now())))));
        loop {
            tokio::select! {
                // In this order: after a run that took longer than the interval, the next one must not be begun with old settings.
                biased;
                () = stop.told() => break,
                () = reload.asked() => match Session::open(args, output, shell).await {
                    Ok(reloaded) => {
                        std::mem::replace(&mut session, reloaded).close().await;
                        shell.note("the configuration was read again");
                    }
                    Err(error) => shell.warning(&format!("the configuration stays as it was: {}", error.message)),
                },
                () = tokio::time::sleep_until(next) => break,
            }
        }
    }
    session.close().await;
    if let Some(serving) = endpoint {
        if let Ok(Err(error)) = serving.await {
            return Err(unservable(error));
        }
    }
    shell.note("stopped");
    Ok(Exit::Ok)
}

/// The interval, up to a tenth longer: many daemons must not ask the same hosts in the same second.
fn jittered(every: Duration) -> Duration {
    every.saturating_add(every.mul_f64(fastrand::f64() / 10.0))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn unservable(error: ServeError) -> CliError {
    match error {
        ServeError::Bind { .. } => CliError::refused("cannot_listen", error.to_string()),
        ServeError::Serve(_) => CliError::internal(error.to_string()),
    }
}
