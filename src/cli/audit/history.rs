//! What earlier runs found: `audit history`, `audit diff`, `audit runs`.

use std::time::Duration;

use cardproof::audit::store::{AgentHistory, Compared, PastResult, SeenDigest, Store};
use cardproof::audit::{RunInfo, RunScope, Transition, TransitionKind};
use cardproof::registry::Timestamp;
use cardproof::report::{BlockDocument, ContractDocument, SummaryDocument};
use cardproof::verify::Class;
use serde::Serialize;

use super::database::{self, StoreOptions};
use super::run::now;
use crate::cli::config::Config;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{NetworkOptions, OutputOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::{Shell, Style};
use crate::cli::targets;

/// Print what audits have found about one agent
#[derive(Debug, clap::Args)]
pub(super) struct HistoryArgs {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

/// Print what has changed in the newest finished run, or since a time
#[derive(Debug, clap::Args)]
pub(super) struct DiffArgs {
    /// Since so long ago (36h, 7d) or since a time (2026-08-01T00:00:00Z, 2026-08-01T02:00:00+02:00)
    #[arg(long, value_name = "DURATION|TIME", value_parser = since)]
    since: Option<Timestamp>,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

/// List the runs that are remembered, the newest first
#[derive(Debug, clap::Args)]
pub(super) struct RunsArgs {
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(Timestamp(now().0.saturating_sub(millis(ago))));
    }
    if let Ok(time) = humantime::parse_rfc3339_weak(text) {
        return Ok(Timestamp(time.duration_since(std::time::UNIX_EPOCH).map(millis).unwrap_or_default()));
    }
    // With an offset, as `date --rfc-3339=seconds` writes it.
    let time = chrono::DateTime::parse_from_rfc3339(text)
        .map_err(|_| "neither a duration such as 36h nor a time such as 2026-08-01T00:00:00Z or 2026-08-01T02:00:00+02:00")?;
    Ok(Timestamp(u64::try_from(time.timestamp_millis()).unwrap_or_default()))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

async fn open(
    store: &StoreOptions,
    network: &NetworkOptions,
    output: &OutputOptions,
) -> Result<(Store, NetworkSettings), CliError> {
    let config = Config::load(output.config.as_deref())?;
    let network = NetworkSettings::resolve(network, &config)?;
    Ok((store.open_to_read(&config).await?, network))
}

/// Which registry was looked at, for people: without --network nobody has named it.
fn of_registry(scope: &RunScope) -> String {
    format!("registry {} of {}", scope.contract, scope.network)
}

/// Which other registries the memory knows, when it knows nothing of the one that was looked at.
async fn others(store: &Store, scope: &RunScope) -> Result<Option<String>, CliError> {
    let known = store.scopes().await.map_err(database::failed)?;
    let others = known.iter().filter(|other| (other.genesis, other.contract) != (scope.genesis, scope.contract));
    let others: Vec<_> = others.map(of_registry).collect();
    Ok((!others.is_empty()).then(|| format!("remembered are {}; name it with --network and --contract", others.join(", "))))
}

/// A transition in documents.
#[derive(Serialize)]
struct TransitionDocument {
    token_id: String,
    kind: &'static str,
    before: Option<String>,
    after: Option<String>,
    at: String,
    idempotency_key: String,
}

impl From<&Transition> for TransitionDocument {
    fn from(transition: &Transition) -> Self {
        Self {
            token_id: transition.token_id.to_string(),
            kind: transition.kind.as_str(),
            before: transition.before.clone(),
            after: transition.after.clone(),
            at: transition.at.to_rfc3339(),
            idempotency_key: transition.idempotency_key.clone(),
        }
    }
}

/// What it was, and what it is.
fn from_to(transition: &Transition) -> String {
    let [before, after] = [&transition.before, &transition.after].map(|value| value.as_deref().unwrap_or("-"));
    match transition.kind {
        // What is recorded is why.
        TransitionKind::ToUndecided => format!("{before} -> {} ({after})", Class::Undecided.as_str()),
        _ => format!("{before} -> {after}"),
    }
}

fn transition_line(shell: &Shell, transition: &Transition) {
    shell.styled(&[
        (Style::Dim, &format!("{}  ", transition.at)),
        (Style::Bold, &format!("{:>8}  ", transition.token_id.to_string())),
        (Style::Yellow, &format!("{:<18}", transition.kind.as_str())),
        (Style::Plain, &format!("  {}", from_to(transition))),
    ]);
}

#[derive(Serialize)]
struct HistoryDocument {
    schema: &'static str,
    network: String,
    contract: ContractDocument,
    token_id: String,
    class: &'static str,
    reason: &'static str,
    first_seen: String,
    last_seen: String,
    since: String,
    consecutive: u64,
    last_match: Option<String>,
    owner: Option<String>,
    status: Option<&'static str>,
    agent_uri: Option<String>,
    anchored_sha256: Option<String>,
    body_sha256: Option<String>,
    anchors: Vec<DigestDocument>,
    bodies: Vec<DigestDocument>,
    transitions: Vec<TransitionDocument>,
    results: Vec<ResultDocument>,
}

#[derive(Serialize)]
struct DigestDocument {
    sha256: String,
    first_seen: String,
    last_seen: String,
}

impl From<&SeenDigest> for DigestDocument {
    fn from(seen: &SeenDigest) -> Self {
        Self { sha256: seen.sha256.to_string(), first_seen: seen.first_seen.to_rfc3339(), last_seen: seen.last_seen.to_rfc3339() }
    }
}

#[derive(Serialize)]
struct ResultDocument {
    run: String,
    block_height: Option<String>,
    at: String,
    elapsed_ms: u64,
    class: &'static str,
    reason: &'static str,
    message: String,
    notes: Vec<String>,
    anchored_sha256: Option<String>,
    sha256: Option<String>,
    status: Option<u16>,
    bytes: Option<u64>,
}

impl From<&PastResult> for ResultDocument {
    fn from(result: &PastResult) -> Self {
        Self {
            run: result.run.to_string(),
            block_height: result.block_height.map(|height| height.to_string()),
            at: result.at.to_rfc3339(),
            elapsed_ms: result.elapsed_ms,
            class: result.reason.class().as_str(),
            reason: result.reason.as_str(),
            message: result.message.clone(),
            notes: result.notes.clone(),
            anchored_sha256: result.anchored_sha256.map(|digest| digest.to_string()),
            sha256: result.body_sha256.map(|digest| digest.to_string()),
            status: result.http_status,
            bytes: result.bytes,
        }
    }
}

pub(super) fn history(args: &HistoryArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let (found, network, agent, others) = crate::cli::block_on(async {
        let (store, mut network) = open(&args.store, &args.network, output).await?;
        let (contract, agent) = targets::target(&args.agent, &network)?;
        network.network.registry = contract;
        let scope = database::scope(&network);
        let found = store.history(&scope, agent).await.map_err(database::failed)?;
        let others = if found.is_none() { others(&store, &scope).await? } else { None };
        Ok((found, network, agent, others))
    })?;
    let Some(AgentHistory { memory, results, transitions, anchors, bodies }) = found else {
        let message = format!("no audit remembers agent {agent} of the {}", of_registry(&database::scope(&network)));
        let first = "audit it first: cardproof audit --ids <id>";
        return Err(CliError::negative("agent_unknown", message)
            .hint(others.map_or_else(|| first.to_owned(), |others| format!("{first}; {others}"))));
    };
    if output.json {
        shell.document(&HistoryDocument {
            schema: "cardproof.audit-history/1",
            network: network.network.name.clone().into_owned(),
            contract: network.network.registry.into(),
            token_id: agent.to_string(),
            class: memory.class.as_str(),
            reason: memory.reason.as_str(),
            first_seen: memory.first_seen.to_rfc3339(),
            last_seen: memory.last_seen.to_rfc3339(),
            since: memory.since.to_rfc3339(),
            consecutive: memory.consecutive,
            last_match: memory.last_match.map(|at| at.to_rfc3339()),
            owner: memory.owner.map(|owner| owner.to_string()),
            status: memory.status.map(|status| status.as_str()),
            agent_uri: memory.agent_uri.clone(),
            anchored_sha256: memory.anchored_sha256.map(|digest| digest.to_string()),
            body_sha256: memory.body_sha256.map(|digest| digest.to_string()),
            anchors: anchors.iter().map(DigestDocument::from).collect(),
            bodies: bodies.iter().map(DigestDocument::from).collect(),
            transitions: transitions.iter().map(TransitionDocument::from).collect(),
            results: results.iter().map(ResultDocument::from).collect(),
        });
        return Ok(Exit::Ok);
    }
    let line = |label: &str, value: &str| shell.styled(&[(Style::Dim, &format!("{label:<11}")), (Style::Plain, value)]);
    line("agent", &format!("{agent} of {} on {}", network.network.registry, network.network.name));
    line(
        "now",
        &format!("{} ({}), for {} runs, since {}", memory.class.as_str(), memory.reason, memory.consecutive, memory.since),
    );
    line("first seen", &memory.first_seen.to_string());
    line("last match", &memory.last_match.map_or_else(|| "never".into(), |at| at.to_string()));
    line("uri", memory.agent_uri.as_deref().unwrap_or("-"));
    anchors.iter().for_each(|seen| line("anchor", &format!("{} first seen {}", seen.sha256, seen.first_seen)));
    bodies.iter().for_each(|seen| line("body", &format!("{} first seen {}", seen.sha256, seen.first_seen)));
    shell.line("");
    transitions.iter().for_each(|transition| transition_line(shell, transition));
    shell.line("");
    for result in &results {
        shell.line(&format!("run {:<6} {}  {:<10} {}", result.run, result.at, result.reason.class().as_str(), result.message));
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct DiffDocument {
    schema: &'static str,
    network: String,
    contract: ContractDocument,
    since: Option<String>,
    transitions: Vec<TransitionDocument>,
}

pub(super) fn diff(args: &DiffArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let (transitions, compared, scope, others) = crate::cli::block_on(async {
        let (store, network) = open(&args.store, &args.network, output).await?;
        let scope = database::scope(&network);
        let transitions = store.diff(&scope, args.since).await.map_err(database::failed)?;
        let compared = store.compared(&scope).await.map_err(database::failed)?;
        let known = !store.runs(&scope).await.map_err(database::failed)?.is_empty();
        let others = if known { None } else { others(&store, &scope).await? };
        Ok((transitions, compared, scope, others))
    })?;
    if output.json {
        shell.document(&DiffDocument {
            schema: "cardproof.audit-diff/1",
            network: scope.network,
            contract: scope.contract.into(),
            since: args.since.map(|since| since.to_rfc3339()),
            transitions: transitions.iter().map(TransitionDocument::from).collect(),
        });
        return Ok(Exit::Ok);
    }
    shell.line(&of_registry(&scope));
    transitions.iter().for_each(|transition| transition_line(shell, transition));
    if transitions.is_empty() {
        shell.note(match compared {
            Compared::NoRun => "no run over this registry has finished: there is nothing to compare yet",
            Compared::FirstRun => "the newest finished run is the first one: what it found, later runs are compared with",
            Compared::Earlier => "nothing has changed",
        });
        others.iter().for_each(|others| shell.note(&format!("no run over this registry is remembered; {others}")));
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct RunsDocument {
    schema: &'static str,
    network: String,
    contract: ContractDocument,
    runs: Vec<RunDocument>,
}

#[derive(Serialize)]
struct RunDocument {
    id: String,
    block: Option<BlockDocument>,
    started_at: String,
    finished_at: Option<String>,
    selection: String,
    summary: SummaryDocument,
}

impl From<&RunInfo> for RunDocument {
    fn from(run: &RunInfo) -> Self {
        Self {
            id: run.id.to_string(),
            block: run.block.map(BlockDocument::from),
            started_at: run.started_at.to_rfc3339(),
            finished_at: run.finished_at.map(|at| at.to_rfc3339()),
            selection: run.selection.clone(),
            summary: run.summary.into(),
        }
    }
}

pub(super) fn runs(args: &RunsArgs, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let (runs, scope, others) = crate::cli::block_on(async {
        let (store, network) = open(&args.store, &args.network, output).await?;
        let scope = database::scope(&network);
        let runs = store.runs(&scope).await.map_err(database::failed)?;
        let others = if runs.is_empty() { others(&store, &scope).await? } else { None };
        Ok((runs, scope, others))
    })?;
    print_runs(&scope, &runs, shell, output.json);
    if runs.is_empty() && !output.json {
        shell.note("no run over this registry is remembered");
        others.iter().for_each(|others| shell.note(others));
    }
    Ok(Exit::Ok)
}

/// Says so when a run is about the past: what it finds changes nothing.
pub(super) async fn say_past(store: &Store, run: &RunInfo, shell: &Shell) -> Result<(), CliError> {
    let runs = store.runs(&run.scope).await.map_err(database::failed)?;
    let newest = runs.iter().filter(|other| other.id != run.id).filter_map(|other| other.block).map(|block| block.height).max();
    if let (Some(newest), Some(block)) = (newest, run.block.filter(|block| newest > Some(block.height))) {
        shell.note(&format!(
            "block {} is before block {newest}, which was audited already: the results are kept, and agents that were judged at a \
             newer block are neither remembered nor told as changed",
            block.height
        ));
    }
    Ok(())
}

/// Prints runs as a list or as `cardproof.audit-runs/1`.
pub(super) fn print_runs(scope: &RunScope, runs: &[RunInfo], shell: &Shell, json: bool) {
    if json {
        shell.document(&RunsDocument {
            schema: "cardproof.audit-runs/1",
            network: scope.network.clone(),
            contract: scope.contract.into(),
            runs: runs.iter().map(RunDocument::from).collect(),
        });
        return;
    }
    shell.line(&of_registry(scope));
    for run in runs {
        let counts = run.summary;
        let ended = if run.finished_at.is_some() { "" } else { "  unfinished" };
        shell.styled(&[
            (Style::Bold, &format!("{:>6}  ", run.id)),
            (Style::Plain, &format!("{}  {} agents: {} match, ", run.started_at, counts.agents, counts.matches)),
            (if counts.mismatches > 0 { Style::Red } else { Style::Plain }, &format!("{} mismatch", counts.mismatches)),
            (Style::Plain, &format!(", {} absent, {} undecided", counts.absent, counts.undecided)),
            (Style::Yellow, ended),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use cardproof::identity::TokenId;

    use super::*;

    #[test]
    fn a_time_may_have_an_offset() {
        let noon = Timestamp(1_785_585_600_000);
        for text in ["2026-08-01T12:00:00Z", "2026-08-01 12:00:00", "2026-08-01T14:00:00+02:00", "2026-08-01 06:30:00-05:30"] {
            assert_eq!(since(text), Ok(noon), "{text}");
        }
        for text in ["yesterday", "2026-08-01T14:00:00+99:00", ""] {
            assert!(since(text).unwrap_err().contains("+02:00"), "{text}");
        }
    }

    #[test]
    fn a_change_leads_from_class_to_class() {
        let words = |kind, before: &str, after: &str| {
            let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
            from_to(&Transition { token_id: TokenId(1), kind, before, after, at: Timestamp(0), idempotency_key: String::new() })
        };
        assert_eq!(words(TransitionKind::ToUndecided, "match", "not_found"), "match -> undecided (not_found)");
        assert_eq!(words(TransitionKind::FromUndecided, "undecided", "match"), "undecided -> match");
    }
}
