//! What a run is told on the command line.

use std::net::SocketAddr;
use std::time::Duration;

use cardproof::audit::notify::Notifier;
use cardproof::audit::store::{Patience, RecordSettings};
use cardproof::audit::AuditSettings;
use cardproof::chain::{AtBlock, ChainClient, ChainSettings};
use cardproof::fetch::{FetchSettings, Fetcher};
use cardproof::verify::VerifySettings;
use clap::Args;

use super::database::StoreOptions;
use super::notify::NotifyOptions;
use super::output::FormatOptions;
use super::select::SelectOptions;
use super::terms::Terms;
use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::CliError;
use crate::cli::options::{FetchOptions, NodeOptions, OutputOptions, TlsOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::tally::ExitOptions;

/// What a run is told.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) select: SelectOptions,
    /// Judge at this finalized block of the past instead of the newest; what it finds about agents that were judged at a newer one
    /// is kept as a result and is no change
    #[arg(long, value_name = "HASH|HEIGHT", conflicts_with = "resume")]
    pub(super) at_block: Option<AtBlock>,
    #[command(flatten)]
    pub(super) exit: ExitOptions,
    /// Go on with the newest run that was not finished; the same agents must be selected
    #[arg(long, conflicts_with_all = ["no_store", "changed"], help_heading = "Memory")]
    pub(super) resume: bool,
    /// Remember nothing, and tell no changes
    #[arg(long, conflicts_with_all = ["store", "notify_command", "notify_stdout", "webhook_secret_file"], help_heading = "Memory")]
    pub(super) no_store: bool,
    /// Forget results older than this after the run [default: never]
    #[arg(long, value_name = "DURATION", conflicts_with = "no_store", help_heading = "Memory",
        value_parser = humantime::parse_duration)]
    pub(super) keep: Option<Duration>,
    /// Leave out agents that matched last, or had nothing to compare, and whose record has not changed since: by the registry's
    /// events since the last finished run over the same agents, or by reading every record where that is cheaper or the events do
    /// not tell all
    #[arg(long, conflicts_with_all = ["no_store", "at_block"], help_heading = "Memory")]
    pub(super) changed: bool,
    /// With --changed: check an agent all the same when it was judged longer ago than this
    #[arg(long, value_name = "DURATION", default_value = "1d", requires = "changed", help_heading = "Memory",
        value_parser = humantime::parse_duration)]
    pub(super) max_age: Duration,
    /// Divide the run among all who join it with cardproof audit worker
    #[arg(long, help_heading = "Memory",
        conflicts_with_all = ["no_store", "resume", "changed", "owner", "status", "sample", "at_block", "every"])]
    pub(super) share: bool,
    /// With --share: how long another worker may be silent before its part is taken over
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "share", help_heading = "Memory", value_parser = lease)]
    pub(super) lease: Duration,
    #[command(flatten)]
    pub(super) daemon: DaemonOptions,
    #[command(flatten)]
    pub(super) format: FormatOptions,
    #[command(flatten)]
    pub(super) work: WorkOptions,
}

/// How the work is done, by whoever does it.
#[derive(Debug, Args)]
pub(super) struct WorkOptions {
    /// Also fetch and hash the cards of agents without a hash on chain
    #[arg(long, help_heading = "Verdicts")]
    pub(super) fetch_unanchored: bool,
    /// Fetch a card so many times again before calling it a mismatch; a host that flaps is then undecided (unstable)
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Verdicts")]
    confirm: u32,
    /// How many runs must agree before a change of the verdict is one; undecided ones in between neither count nor start the count again
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Verdicts", value_parser = clap::value_parser!(u64).range(1..))]
    min_consecutive: u64,
    #[command(flatten)]
    pub(super) store: StoreOptions,
    #[command(flatten)]
    pub(super) notify: NotifyOptions,
    #[command(flatten)]
    pace: PaceOptions,
    #[command(flatten)]
    pub(super) node: NodeOptions,
    #[command(flatten)]
    pub(super) fetch: FetchOptions,
    #[command(flatten)]
    pub(super) tls: TlsOptions,
}

/// Running again and again.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Daemon")]
pub(super) struct DaemonOptions {
    /// Audit again every so often, such as 1h, until stopped by Ctrl-C or SIGTERM; with --json, one document per
    /// run. SIGHUP reads the configuration again. A run
    /// that a daemon left unfinished is gone on with by itself, unless it began longer ago than a day and than this
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(super) every: Option<Duration>,
    /// Serve /metrics, /healthz and /readyz there, for example 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS", requires = "every", value_parser = address)]
    pub(super) listen: Option<SocketAddr>,
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

/// An address with a port; `localhost` is the IPv4 loopback.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let parsed = local.as_deref().unwrap_or(text).parse();
    parsed.map_err(|_| "it is an IP address and a port, such as 127.0.0.1:9464, or localhost:9464".to_owned())
}

/// A lease that is over before a worker can prolong it would give every part to everybody.
pub(super) fn lease(text: &str) -> Result<Duration, String> {
    let length = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if length < Duration::from_secs(1) {
        return Err("at least a second is needed".into());
    }
    Ok(length)
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=100_000).contains(n)).ok_or_else(|| "a number from 1 to 100000 is needed".into())
}

impl RunArgs {
    /// Refuses what could not be done, before any work.
    pub(super) fn check(&self, config: &Config, output: &OutputOptions, shell: &Shell) -> Result<(), CliError> {
        if self.no_store {
            self.work.notify.refuse_without_store(config, shell)?;
        }
        let printed = output.json.then_some("--json").or(self.work.notify.notify_stdout.then_some("--notify-stdout"));
        let store = if self.no_store { None } else { self.work.store.file(config)? };
        let read = [self.select.files(), [output.config.as_deref(), self.work.notify.secret_file(config)]].concat();
        self.format.check(store.as_deref(), &read.into_iter().flatten().collect::<Vec<_>>(), printed)
    }
}

impl WorkOptions {
    /// How verdicts are recorded.
    pub(super) fn record_settings(&self, notifier: Option<&Notifier>, terms: &Terms) -> RecordSettings {
        let patience = Patience { min_consecutive: terms.min_consecutive(), ..Patience::default() };
        RecordSettings { patience, sinks: notifier.map(Notifier::names).unwrap_or_default() }
    }

    /// What decides a verdict, as it was typed or configured.
    pub(super) fn terms(&self, config: &Config, network: &NetworkSettings) -> Result<Terms, CliError> {
        let (chain, fetch, settings) = self.settings(AtBlock::LastFinalized, config, network)?;
        Terms::of(&chain, &fetch, &settings, self.min_consecutive)
    }

    /// The node, the fetcher and the rules of a run.
    pub(super) fn parts(
        &self,
        at: AtBlock,
        config: &Config,
        network: &NetworkSettings,
        terms: &Terms,
    ) -> Result<(ChainClient, Fetcher, AuditSettings), CliError> {
        let (chain, mut fetch, mut settings) = self.settings(at, config, network)?;
        terms.apply(&mut fetch, &mut settings);
        Ok((ChainClient::new(chain).map_err(connect::refused)?, connect::fetcher_of(fetch)?, settings))
    }

    fn settings(
        &self,
        at: AtBlock,
        config: &Config,
        network: &NetworkSettings,
    ) -> Result<(ChainSettings, FetchSettings, AuditSettings), CliError> {
        let pace = &self.pace;
        let contract = network.network.registry;
        let mut chain = connect::chain_settings(&self.node, &self.tls, config, &network.network, contract, at)?;
        chain.node.max_in_flight = pace.node_concurrency;
        let mut fetch = connect::fetch_settings(&self.fetch, &self.tls, config)?;
        (fetch.per_host_concurrency, fetch.per_host_rate) = (pace.per_host, pace.per_host_rate);
        let verify = VerifySettings { at, fetch_unanchored: self.fetch_unanchored, ..VerifySettings::new(&chain) };
        let mut settings = AuditSettings::new(verify);
        settings.confirm = self.confirm;
        settings.node_concurrency = pace.node_concurrency;
        settings.host_concurrency = pace.host_concurrency;
        settings.per_host_concurrency = pace.per_host;
        Ok((chain, fetch, settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_at_has_a_port_and_may_be_localhost() {
        assert_eq!(address("localhost:24105"), Ok(([127, 0, 0, 1], 24105).into()));
        assert_eq!(address("0.0.0.0:9464"), Ok(([0, 0, 0, 0], 9464).into()));
        for wrong in ["9464", "localhost", "localhost:x", "host:9464"] {
            assert!(address(wrong).unwrap_err().contains("such as 127.0.0.1:9464"), "{wrong}");
        }
    }
}
