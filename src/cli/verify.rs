use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use cardproof::chain::AtBlock;
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{CardFetcher, Origin};
use cardproof::identity::{ContractAddress, TokenId};
use cardproof::report::{ReportDocument, VerifyDocument};
use cardproof::verify::{settled, LintCheck, Verdict, Verifier, VerifySettings};
use futures_util::stream::{self, StreamExt};
use serde::Serialize;

use super::config::Config;
use super::connect;
use super::exit::{CliError, Exit};
use super::options::{FetchOptions, NodeOptions, OutputOptions, TlsOptions};
use super::settings::NetworkSettings;
use super::shell::Shell;
use super::signals::Ends;
use super::tally::ExitOptions;
use super::targets::{self, Selection, Skipped};

/// How many agents are checked at once.
const CONCURRENCY: usize = 16;

/// Verify agents' cards against the chain
///
/// Reads each agent's record at one finalized block, fetches its card, hashes the raw bytes and compares them with the anchored hash.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 every agent matches; 1 a mismatch; 2 refused before any work; 3 undecided, no mismatch; \
    4 only absent ones besides matches; 5 internal error; 130 interrupted.\n\nA list on standard input has one agent a line; empty lines \
    and lines that start with # are left out, and an agent that is named twice is verified once. Results come in the order of the list, \
    with --jsonl as each agent finishes.")]
pub(crate) struct Args {
    /// Token ids, badges or CAIP-19 identifiers; - reads a list from standard input, one a line
    #[arg(value_name = "AGENT", required_unless_present_any = ["expect_hash", "list"], conflicts_with = "expect_hash")]
    agents: Vec<String>,
    /// Also verify the agents of a local agent list (registry.json) that are registered on chain
    #[arg(long = "agents", id = "list", value_name = "FILE", conflicts_with = "expect_hash")]
    list: Option<PathBuf>,
    /// Judge at this finalized block of the past instead of the newest
    #[arg(long, value_name = "HASH|HEIGHT")]
    at_block: Option<AtBlock>,
    /// Without a node: the digest that --url or --file must have
    #[arg(long, value_name = "HEX", requires = "source")]
    expect_hash: Option<Sha256Digest>,
    /// The card to fetch for --expect-hash
    #[arg(long, value_name = "URL", requires = "expect_hash", conflicts_with_all = ["agents", "list"], group = "source")]
    url: Option<String>,
    /// The card file for --expect-hash; - is standard input
    #[arg(long, value_name = "FILE", requires = "expect_hash", conflicts_with_all = ["agents", "list"], group = "source")]
    file: Option<PathBuf>,
    /// Also fetch and hash the cards of agents without a hash on chain
    #[arg(long)]
    fetch_unanchored: bool,
    /// Also check what the cards say (see cardproof card lint); this never changes a verdict
    #[arg(long, conflicts_with = "expect_hash")]
    check_card: bool,
    #[command(flatten)]
    exit: ExitOptions,
    /// Print one JSON document a line, for each agent as it finishes
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    jsonl: bool,
    #[command(flatten)]
    node: NodeOptions,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let mut tally = args.exit.tally()?;
    let config = Config::load(output.config.as_deref())?;
    let mut results = Results { shell, json: output.json, jsonl: args.jsonl, verdicts: Vec::new(), shown: 0, skipped: None };
    if let Some(expected) = args.expect_hash {
        let verdict = expected_digest(args, expected, &config)?;
        tally.add(&verdict);
        results.add(0, verdict);
        results.finish();
        return Ok(tally.exit());
    }
    let network = NetworkSettings::resolve(&args.node.network, &config)?;
    let Selection { targets, skipped } = targets::select(&args.agents, args.list.as_deref(), &network, shell)?;
    results.skipped = args.list.is_some().then_some(skipped);
    let alone = targets.len() == 1;
    let work = async {
        let mut is_other = false;
        let mut each = |place, verdict| {
            if tally.add(&verdict) {
                let agent = verdict.subject.as_ref().map_or(String::new(), |subject| format!("agent {} ", subject.token_id));
                shell.warning(&format!("{agent}is revoked, which --require-active counts as a mismatch"));
            }
            is_other |= verdict.matches() == Some(false);
            results.add(place, verdict);
        };
        let mut ends = Ends::listen()?;
        tokio::select! {
            outcome = verify_all(args, &config, &network, targets, shell, &mut each) => outcome?,
            () = ends.next() => {
                results.finish();
                shell.warning("interrupted; the agents not shown were not checked");
                return Ok(Exit::Interrupted);
            }
        }
        results.finish();
        if is_other && args.at_block.is_some() {
            shell
                .note("the record is that of --at-block, and the card is the one served today: one changed since does not match");
        }
        Ok(tally.exit())
    };
    if alone {
        super::block_on_here(work)
    } else {
        super::block_on(work)
    }
}

/// Verifies the targets, registry by registry, and hands each verdict on with its place in the list.
async fn verify_all(
    args: &Args,
    config: &Config,
    network: &NetworkSettings,
    targets: Vec<(ContractAddress, TokenId)>,
    shell: &Shell,
    each: &mut impl FnMut(usize, Verdict),
) -> Result<(), CliError> {
    let at = args.at_block.unwrap_or(AtBlock::LastFinalized);
    let fetcher = Arc::new(connect::fetcher(&args.fetch, &args.tls, config)?);
    let mut contracts: Vec<ContractAddress> = targets.iter().map(|(contract, _)| *contract).collect();
    contracts.sort_unstable();
    contracts.dedup();
    for contract in contracts {
        let reader = connect::chain(&args.node, &args.tls, config, &network.network, contract, at)?;
        let settings = VerifySettings { at, fetch_unanchored: args.fetch_unanchored, ..VerifySettings::new(reader.settings()) };
        let mut verifier = Verifier::new(&reader, Arc::clone(&fetcher), settings);
        if args.check_card {
            verifier = verifier.with_check(LintCheck { cis8: network.network.cis8 });
        }
        let run = verifier.begin().await.map_err(connect::refused)?;
        let here = targets.iter().enumerate().filter(|(_, (of, _))| *of == contract);
        let mut verdicts = stream::iter(here.map(|(place, (_, agent))| {
            let verdict = run.verify(*agent);
            async move { (place, verdict.await) }
        }))
        .buffer_unordered(CONCURRENCY);
        while let Some((place, verdict)) = verdicts.next().await {
            each(place, verdict);
        }
        reader.take_warnings().iter().for_each(|warning| shell.detail(warning));
    }
    Ok(())
}

fn expected_digest(args: &Args, expected: Sha256Digest, config: &Config) -> Result<Verdict, CliError> {
    if let Some(path) = &args.file {
        let started = Instant::now();
        let body = super::hash::read(path)?;
        let uri = path.display().to_string();
        return Ok(Verdict::of_file(uri, expected, body, started.elapsed()));
    }
    let url = args.url.clone().unwrap_or_default();
    super::hash::needs_network(args.node.is_offline(), &url)?;
    let fetcher = connect::fetcher(&args.fetch, &args.tls, config)?;
    super::block_on_here(async {
        let outcome = fetcher.fetch(&url, Origin::User).await;
        let outcome = settled(&fetcher, &url, outcome, Some(expected)).await;
        Ok(Verdict::of_expected(url, expected, outcome))
    })
}

/// Prints verdicts in the chosen format.
struct Results<'a> {
    shell: &'a Shell,
    json: bool,
    jsonl: bool,
    /// By place in the list; a report for people and a document come in the order the agents were named.
    verdicts: Vec<Option<Verdict>>,
    shown: usize,
    /// Which agents of a list are not verified, when there is a list.
    skipped: Option<Vec<Skipped>>,
}

/// The document of all verdicts, with what only a command knows.
#[derive(Serialize)]
struct WithSkipped {
    #[serde(flatten)]
    document: VerifyDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<Vec<Skipped>>,
}

impl Results<'_> {
    fn add(&mut self, place: usize, verdict: Verdict) {
        if self.jsonl {
            self.shell.document_line(&ReportDocument::from(&verdict));
            return;
        }
        if self.verdicts.len() <= place {
            self.verdicts.resize(place + 1, None);
        }
        if let Some(slot) = self.verdicts.get_mut(place) {
            *slot = Some(verdict);
        }
        while !self.json {
            let Some(Some(next)) = self.verdicts.get(self.shown) else { break };
            self.show(next);
            self.shown += 1;
        }
    }

    fn finish(&mut self) {
        if self.jsonl {
            return;
        }
        if self.json {
            let verdicts: Vec<Verdict> = self.verdicts.drain(..).flatten().collect();
            let document = VerifyDocument::of(&verdicts);
            self.shell.document(&WithSkipped { document, skipped: self.skipped.take() });
        } else {
            let rest: Vec<&Verdict> = self.verdicts.iter().skip(self.shown).flatten().collect();
            rest.into_iter().for_each(|verdict| self.show(verdict));
        }
    }

    fn show(&self, verdict: &Verdict) {
        if self.shown > 0 {
            self.shell.line("");
        }
        self.shell.verdict(verdict);
    }
}
