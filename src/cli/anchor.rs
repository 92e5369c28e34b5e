use std::path::{Path, PathBuf};

use cardproof::anchor::flow::{self, AnchorRequest, Card, HalfDone, UriChoice};
use cardproof::anchor::{follow, AnchorError, Signer, State, Status};
use cardproof::chain::{AtBlock, ChainClient};
use cardproof::identity::{AgentName, Badge, Caip19, TokenId};
use serde_json::json;

use super::anchoring::AnchoringOptions;
use super::conclude;
use super::config::Config;
use super::connect;
use super::exit::{CliError, Exit};
use super::failure;
use super::input;
use super::interrupt;
use super::look::{Look, Onlooker};
use super::misgiving;
use super::options::OutputOptions;
use super::resume::{self, Found, Wanted};
use super::settings::NetworkSettings;
use super::shell::Shell;
use super::terminal::Terminal;

/// Anchor a new card: its digest, and where it is hosted
///
/// Hashes the local file, requires the URI to serve exactly its bytes, tries the transaction, shows what it changes, signs and sends it,
/// waits until it is finalized, and verifies the card.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 anchored; 1 the bytes differ, or the transaction was rejected or would be (then nothing was sent); \
    2 refused for what was typed or configured; 3 cannot tell now: a node or host is unavailable, or it is not finalized yet; 5 internal error."
)]
pub(crate) struct Args {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT", required_unless_present = "resume")]
    agent: Option<AgentName>,
    /// The card: your own copy, byte for byte as it is hosted
    #[arg(long, value_name = "FILE", required_unless_present_any = ["trust_url", "resume"])]
    card: Option<PathBuf>,
    /// Where it is hosted [default: the URI that the agent has]
    #[arg(long, value_name = "URI")]
    uri: Option<String>,
    /// Take the digest from whatever the URI serves now, without a card of your own
    #[arg(long, conflicts_with_all = ["card", "no_url_check"])]
    trust_url: bool,
    /// Go on with an anchoring or a registration that was interrupted: follow the transaction that is in the journal; needs no AGENT when
    /// it is the only one
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    #[command(flatten)]
    anchoring: AnchoringOptions,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let settings = NetworkSettings::resolve(&args.anchoring.reach.node.network, &config)?;
    let named = args.agent.as_ref().map(|agent| settings.locate(agent)).transpose()?;
    let contract = named.map_or(settings.network.registry, |(contract, _)| contract);
    let state_folder = args.anchoring.send.state_folder(&config)?;
    let reach = &args.anchoring.reach;
    reach.require_online("")?;
    let at = AtBlock::LastFinalized;
    let chain = connect::chain(&reach.node, &reach.tls, &config, &settings.network, contract, at)?;
    let fetcher = connect::fetcher(&reach.fetch, &reach.tls, &config)?;
    let keys = if args.anchoring.dry_run { None } else { args.anchoring.sender.read(shell)? };
    if args.resume {
        let sender = keys.as_ref().map(|keys| keys.signer.address()).or(args.anchoring.sender.sender);
        let wanted = Wanted { registry: contract, agent: named.map(|(_, agent)| agent), sender };
        if let Some(found) = resume::find(&state_folder, &settings.network, &wanted)? {
            return super::block_on(async {
                let status = resumed(&found, &chain, &state_folder, args, shell).await?;
                conclude::show(&status, found.agent, &chain, &fetcher, true, output.json, shell).await
            });
        }
        if named.is_none() || (args.card.is_none() && !args.trust_url) {
            return Err(nothing_to_resume(&wanted, &flow::half_done(&state_folder, &settings.network)));
        }
    }
    // Without an agent there is only resuming, which clap sees to.
    let (_, agent) = named.ok_or_else(|| CliError::usage("no agent is named"))?;
    let card = match &args.card {
        Some(path) => card(path, bytes(path)?),
        None => Card::TrustUrl,
    };
    let uri = args.uri.clone().map_or(UriChoice::Keep, UriChoice::Set);
    if let (true, Some(uri)) = (args.anchoring.send.no_url_check, &args.uri) {
        misgiving::warn_of_uri(&fetcher, uri, shell);
    }
    if let Some(uri) = &args.uri {
        misgiving::warn_of_spelling(uri, shell);
    }
    let request = AnchorRequest { agent, card, uri, check_url: !args.anchoring.send.no_url_check };
    let context = |environment| args.anchoring.context(&chain, &fetcher, &state_folder, environment);
    if args.anchoring.dry_run {
        let (onlooker, mut look) = (Onlooker::new(&args.anchoring.sender, shell)?, Look::new(shell));
        return super::block_on(async {
            let context = context(onlooker.environment.as_deref());
            match flow::anchor(&context, &request, &onlooker, &mut look, &mut |_| Ok(())).await {
                Err(error) => look.end(error, &settings.network, output.json, |error| failed(error, args)),
                Ok(_) => already_anchored(&chain, &fetcher, agent, output.json, shell).await,
            }
        });
    }
    let mut terminal = Terminal::new(shell, args.anchoring.send.yes).map_err(|error| without_resume(error, args))?;
    let keys =
        keys.map_or_else(|| args.anchoring.sender.require(LOOK, shell), Ok).map_err(|error| without_resume(error, args))?;
    let context = context(keys.environment.as_deref());
    super::block_on(async {
        terminal.begin();
        let anchored = flow::anchor(&context, &request, &keys.signer, &mut terminal, &mut |_| Ok(())).await;
        let anchored = anchored.map_err(|error| failed(error, args))?;
        match &anchored.status {
            Some(status) => {
                conclude::show(status, Some(agent), &chain, &fetcher, context.wait.is_some(), output.json, shell).await
            }
            None => already_anchored(&chain, &fetcher, agent, output.json, shell).await,
        }
    })
}

/// The bytes of a card. Every card says something: an empty file is one that was not written.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let bytes = input::bytes(path)?;
    if bytes.is_empty() {
        let message = format!("the card {} is empty: it has 0 bytes", path.display());
        return Err(CliError::refused("empty_card", message).hint("look whether it is the right file, and was written whole"));
    }
    Ok(bytes)
}

/// A card in a file can be looked at again; what came through a pipe cannot.
pub(crate) fn card(path: &Path, bytes: Vec<u8>) -> Card {
    let is_file = std::fs::metadata(path).is_ok_and(|file| file.is_file());
    match is_file && path != Path::new("-") {
        true => Card::File { path: path.to_owned(), bytes },
        false => Card::Local(bytes),
    }
}

/// A hint that names --dry-run can be followed only without --resume.
fn without_resume(error: CliError, args: &Args) -> CliError {
    match &error.hint {
        Some(hint) if args.resume && hint.contains("--dry-run") => {
            let hint = format!("{hint}, which goes without --resume");
            error.hint(hint)
        }
        _ => error,
    }
}

/// What somebody without keys can do.
pub(crate) const LOOK: &str = "look without signing: --dry-run with --sender";

fn nothing_to_resume(wanted: &Wanted, half_done: &[HalfDone]) -> CliError {
    let agent = wanted.agent.map(|agent| format!(" of agent {agent}")).unwrap_or_default();
    let whose = wanted.sender.map_or_else(
        || "no journal of this network has one".into(),
        |sender| format!("there is none in the journal of account {sender}"),
    );
    let error = CliError::refused("nothing_to_resume", format!("there is no anchoring{agent} to go on with: {whose}"));
    let is_wanted = |half: &&HalfDone| {
        wanted.sender.is_none_or(|sender| sender.to_string() == half.sender)
            && (wanted.agent.is_none() || half.token_id.is_none() || half.token_id == wanted.agent)
    };
    match half_done.iter().find(is_wanted) {
        Some(HalfDone { uri, token_id, .. }) => {
            let agent = token_id.map(|agent| format!(" of agent {agent}")).unwrap_or_default();
            error.hint(format!(
                "a registration in two steps{agent} is half done: go on with it with cardproof register --two-step --uri {uri} and the \
                 same card and options as before"
            ))
        }
        None => error.hint("anchor the card anew with cardproof anchor <AGENT> --card <FILE>"),
    }
}

/// An anchoring that may be the one that an earlier run began.
fn failed(error: AnchorError, args: &Args) -> CliError {
    let is_on_its_way = matches!(error, AnchorError::Repeated { .. });
    let error = if args.trust_url { failure::anchor_checked(error) } else { failure::anchor(error) };
    if is_on_its_way {
        let more = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        return error.hint(format!("an anchoring that was interrupted goes on with cardproof anchor --resume{more}"));
    }
    error
}

async fn resumed(
    found: &Found,
    chain: &ChainClient,
    state_folder: &std::path::Path,
    args: &Args,
    shell: &Shell,
) -> Result<Status, CliError> {
    let hash = found.entry.hash();
    let _watch = interrupt::watch(hash, shell);
    shell.always(&format!("going on with {}: the transaction is {hash}", found.what()));
    let mut on_change = |state: State| shell.detail(&format!("{hash} is {}", state.as_str()));
    let expiry = Some(found.entry.signed.transaction.expiry());
    follow(chain, state_folder, hash, expiry, args.anchoring.send.wait_for(), &mut on_change).await.map_err(failure::anchor)
}

/// Nothing was sent, because nothing would change.
pub(crate) async fn already_anchored(
    chain: &ChainClient,
    fetcher: &cardproof::fetch::Fetcher,
    agent: TokenId,
    json: bool,
    shell: &Shell,
) -> Result<Exit, CliError> {
    let verdict = conclude::verdict(chain, fetcher, agent).await?;
    shell.note("this URI and this digest are anchored already: nothing was sent");
    if json {
        let report = serde_json::to_value(cardproof::report::ReportDocument::from(&verdict));
        let report = report.map_err(|error| CliError::internal(error.to_string()))?;
        let network = &chain.settings().network;
        let badge = Badge { contract: chain.settings().registry, token_id: agent };
        shell.document(&json!({
            "schema": "cardproof.tx-status/1",
            "network": network.name,
            "transaction_hash": null, "state": "finalized", "block": null, "outcome": null, "reject": null,
            "energy": null, "microccd": null, "events": [], "token_id": agent.to_string(), "badge": badge.to_string(),
            "caip19": Caip19 { chain: network.caip2(), badge }.to_string(), "explorer": null, "verify": report,
        }));
    } else {
        shell.verdict(&verdict);
    }
    Ok(Exit::Ok)
}
