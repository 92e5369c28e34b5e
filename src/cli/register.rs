use std::path::PathBuf;
use std::time::Duration;

use cardproof::anchor::flow::{self, Attendant, Card, CardValues, FlowError, RegisterRequest, Step, TwoStepRequest};
use cardproof::anchor::Signer;
use cardproof::chain::AtBlock;
use cardproof::identity::{Badge, TokenId};

use super::anchor::LOOK;
use super::anchoring::AnchoringOptions;
use super::conclude;
use super::config::Config;
use super::connect;
use super::exit::{CliError, Exit};
use super::failure;
use super::look::{Look, Onlooker};
use super::misgiving;
use super::options::OutputOptions;
use super::settings::NetworkSettings;
use super::shell::Shell;
use super::terminal::Terminal;
use super::tx::{key_value, metadata_entries};

/// Register a new agent with its card
///
/// Hashes the local file, requires the URI to serve exactly its bytes, makes sure that the sender has no agent with this URI yet, tries the
/// transaction, signs and sends it, waits until it is finalized, and verifies the card.
#[derive(Debug, clap::Args)]
#[command(after_help = "A card that must hold its own token address is registered with --two-step. Its file has placeholders: \
    {{badge}}, {{caip19}}, {{token_id}}, {{chain}}, {{owner}}, {{owner_caip10}}, {{registry}}, {{registry_caip10}}. The same command, \
    run again, goes on where it stopped.\n\nExit codes: 0 registered; 1 the bytes differ, or the transaction was rejected or would be \
    (then nothing was sent); 2 refused for what was typed or configured; 3 cannot tell now: a node or host is unavailable, it is not finalized or not hosted yet; 5 internal error.")]
pub(crate) struct Args {
    /// The card: your own copy, byte for byte as it is hosted
    #[arg(long, value_name = "FILE", required_unless_present = "trust_url")]
    card: Option<PathBuf>,
    /// Where it is hosted
    #[arg(long, value_name = "URI")]
    uri: String,
    /// A key and value to store with the agent (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,
    /// Take the digest from whatever the URI serves now, without a card of your own
    #[arg(long, conflicts_with_all = ["card", "no_url_check", "two_step"])]
    trust_url: bool,
    /// Register even if the sender already has an agent with this URI
    #[arg(long)]
    allow_duplicate: bool,
    /// Register first, fill the token address into the card, wait until it is hosted, then anchor it
    #[arg(long, requires = "card", conflicts_with = "no_url_check")]
    two_step: bool,
    /// Where to write the filled card of --two-step [default: card.json gives card.<token id>.json]
    #[arg(long, value_name = "FILE", requires = "two_step")]
    filled_card: Option<PathBuf>,
    /// How long --two-step waits until the URI serves the filled card [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, requires = "two_step")]
    host_wait: Option<Duration>,
    #[command(flatten)]
    anchoring: AnchoringOptions,
}

/// Long enough to publish a file by hand.
const USUAL_HOST_WAIT: Duration = Duration::from_secs(3600);

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let metadata = metadata_entries(&args.metadata)?;
    args.anchoring.reach.require_online("")?;
    let config = Config::load(output.config.as_deref())?;
    let settings = NetworkSettings::resolve(&args.anchoring.reach.node.network, &config)?;
    let state_folder = args.anchoring.send.state_folder(&config)?;
    let (reach, network) = (&args.anchoring.reach, &settings.network);
    let chain = connect::chain(&reach.node, &reach.tls, &config, network, network.registry, AtBlock::LastFinalized)?;
    let fetcher = connect::fetcher(&reach.fetch, &reach.tls, &config)?;
    let context = |environment| args.anchoring.context(&chain, &fetcher, &state_folder, environment);
    let failed = |error| if args.trust_url || args.two_step { failure::anchor_checked(error) } else { failure::anchor(error) };
    let card = args.card.as_deref().map(super::anchor::bytes).transpose()?;
    misgiving::warn_of_spelling(&args.uri, shell);
    if args.anchoring.send.no_url_check {
        misgiving::warn_of_uri(&fetcher, &args.uri, shell);
    }
    if args.two_step {
        // Its second step would wait in vain for what is never fetched, with the first one paid.
        fetcher
            .judge(&args.uri)
            .map_err(|failure| failed(FlowError::Fetch { uri: args.uri.clone(), failure: Box::new(failure) }.into()))?;
    }
    if args.anchoring.dry_run {
        let (onlooker, mut look) = (Onlooker::new(&args.anchoring.sender, shell)?, Look::new(shell));
        if let (true, Some(template), Some(path)) = (args.two_step, &card, &args.card) {
            let badge = Badge { contract: network.registry, token_id: TokenId(0) };
            let values = CardValues { genesis: network.genesis, badge, owner: onlooker.address() };
            look.step(&Step::Card(flow::fill(template, &values).map_err(|error| failed(error.into()))?));
            flow::require_writable(args.filled_card.as_deref(), path).map_err(|error| failed(error.into()))?;
        }
        // Of two steps, the first is what can be seen now: it registers without a digest.
        let card = (!args.two_step).then(|| card.map_or(Card::TrustUrl, Card::Local));
        let check_url = !args.anchoring.send.no_url_check;
        let request = RegisterRequest { card, uri: args.uri.clone(), metadata, check_url, allow_duplicate: args.allow_duplicate };
        return super::block_on(async {
            let context = context(onlooker.environment.as_deref());
            match flow::register(&context, &request, &onlooker, &mut look, &mut |_| Ok(())).await {
                Err(error) => look.end(error, network, output.json, failed),
                Ok(_) => Err(CliError::internal("a dry run was not ended by its review")),
            }
        });
    }
    let terminal = Terminal::new(shell, args.anchoring.send.yes)?;
    let mut terminal = if args.two_step { terminal.going_on_with(resume(args)) } else { terminal };
    let keys = args.anchoring.sender.require(LOOK, shell)?;
    let context = context(keys.environment.as_deref());
    if let (true, Some(template), Some(path)) = (args.two_step, &card, &args.card) {
        let request = TwoStepRequest {
            template: template.clone(),
            uri: args.uri.clone(),
            metadata,
            allow_duplicate: args.allow_duplicate,
            out: args.filled_card.clone(),
            name_for_output: path.clone(),
            host_wait: args.host_wait.unwrap_or(USUAL_HOST_WAIT),
        };
        return super::block_on(async {
            terminal.begin();
            let done = flow::two_step(&context, &request, &keys.signer, &mut terminal).await.map_err(failed)?;
            announce(done.token_id, &settings, shell);
            match &done.anchored.status {
                Some(status) => conclude::show(status, Some(done.token_id), &chain, &fetcher, true, output.json, shell).await,
                None => super::anchor::already_anchored(&chain, &fetcher, done.token_id, output.json, shell).await,
            }
        });
    }
    let request = RegisterRequest {
        card: Some(args.card.as_deref().zip(card).map_or(Card::TrustUrl, |(path, bytes)| super::anchor::card(path, bytes))),
        uri: args.uri.clone(),
        metadata,
        check_url: !args.anchoring.send.no_url_check,
        allow_duplicate: args.allow_duplicate,
    };
    super::block_on(async {
        terminal.begin();
        let executed = flow::register(&context, &request, &keys.signer, &mut terminal, &mut |_| Ok(())).await;
        let status = executed.map_err(failed)?.status;
        conclude::show(&status, None, &chain, &fetcher, context.wait.is_some(), output.json, shell).await
    })
}

/// How to go on with two steps; the rest of what was typed is not repeated, for it may be long.
fn resume(args: &Args) -> String {
    let card = args.card.as_deref().map(|card| format!(" --card {}", card.display())).unwrap_or_default();
    format!("cardproof register --two-step{card} --uri {} and the same options as before", args.uri)
}

fn announce(token_id: TokenId, settings: &NetworkSettings, shell: &Shell) {
    let badge = Badge { contract: settings.network.registry, token_id };
    shell.note(&format!("agent {token_id} is registered: {badge}"));
}
