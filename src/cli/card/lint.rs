use std::path::Path;

use cardproof::card::{lint, ChainFacts, Code, Document, LintContext, LintReport, Severity};
use cardproof::chain::{AgentReader, AtBlock};
use cardproof::fetch::{CardFetcher, Fetched, Origin};
use cardproof::identity::AgentName;
use cardproof::verify::Reason;

use crate::cli::config::Config;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::{FetchOptions, NodeOptions, OutputOptions, TlsOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::{Shell, Style};
use crate::cli::{block_on, connect, hash};

/// Check what a card says: its JSON, its structure by every dialect it is written in, and its agreement with the chain
///
/// Whether the card is the anchored one is another question: see cardproof verify.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 nothing that is denied was found; 1 something was; 2 usage; 3 the card or the chain \
    could not be read. docs/card-findings.md explains every code.")]
pub(crate) struct Args {
    /// A file, - for standard input, a URL, or an agent (token id, badge or CAIP-19) whose card is read from where the chain says
    #[arg(value_name = "FILE|URL|AGENT")]
    source: String,
    /// Compare a file or URL with what the chain says about this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// What makes the exit code 1: info, warning or error (each with what is worse), single codes, or none [default: error]
    #[arg(long, value_name = "SEVERITY|CODE", value_delimiter = ',')]
    deny: Vec<Deny>,
    #[command(flatten)]
    node: NodeOptions,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

/// What makes a finding count for the exit code.
#[derive(Debug, Clone, Copy)]
enum Deny {
    AtLeast(Severity),
    Code(Code),
    Nothing,
}

impl std::str::FromStr for Deny {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let severity = [Severity::Info, Severity::Warning, Severity::Error].into_iter().find(|known| known.as_str() == text);
        let code = || Code::ALL.iter().copied().find(|known| known.as_str() == text).map(Self::Code);
        match text {
            "none" => Ok(Self::Nothing),
            _ => severity.map(Self::AtLeast).or_else(code).ok_or_else(|| "it is no severity and no code of a finding".into()),
        }
    }
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let (bytes, context) = match source(args)? {
        Source::File(bytes) => (bytes, facts(args, args.agent, &config)?),
        Source::Url(url) => (fetch(args, url, Origin::User, &config)?, facts(args, args.agent, &config)?),
        Source::Agent(agent) => {
            let context = facts(args, Some(agent), &config)?;
            let Some(uri) = context.agent_uri() else {
                return Err(CliError::negative("no_uri_on_chain", Reason::NoUriOnChain.sentence()));
            };
            (fetch(args, uri, Origin::Untrusted, &config)?, context)
        }
    };
    let report = lint(&Document::parse(&bytes), &context);
    if output.json {
        shell.document(&report);
    } else {
        show(&args.source, &report, shell);
    }
    Ok(if is_denied(&report, &args.deny) { Exit::Negative } else { Exit::Ok })
}

enum Source<'a> {
    File(Vec<u8>),
    Url(&'a str),
    Agent(AgentName),
}

/// What the argument means. A file wins over an agent of the same name, which is rare and can be told apart by `./`.
fn source(args: &Args) -> Result<Source<'_>, CliError> {
    let text = args.source.as_str();
    let unreadable = |error: std::io::Error| CliError::usage(format!("{text} cannot be read: {error}"));
    if text == "-" {
        let mut bytes = Vec::new();
        return std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
            .map(|_| Source::File(bytes))
            .map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")));
    }
    if hash::is_url(text) {
        return Ok(Source::Url(text));
    }
    match (Path::new(text).exists(), text.parse()) {
        (false, Ok(agent)) if args.agent.is_none() => Ok(Source::Agent(agent)),
        (false, Ok(_)) => Err(CliError::usage("an agent's own card is compared with that agent: leave --agent out")),
        _ => std::fs::read(text).map(Source::File).map_err(unreadable),
    }
}

/// What the chain says about the agent; nothing when none is named.
fn facts(args: &Args, agent: Option<AgentName>, config: &Config) -> Result<LintContext, CliError> {
    let Some(agent) = agent else {
        return Ok(LintContext::default());
    };
    let settings = NetworkSettings::resolve(&args.node.network, config)?;
    let (contract, token_id) = settings.locate(&agent)?;
    let at = AtBlock::LastFinalized;
    let reader = connect::chain(&args.node, &args.tls, config, &settings.network, contract, at)?;
    let reading = block_on(async {
        let block = reader.pin(at).await.map_err(connect::refused)?;
        reader.read(&block, token_id).await.map_err(connect::refused)
    })?;
    let Some(record) = reading.record else {
        let message = format!("the registry {contract} of {} has no agent {token_id}", settings.network.name);
        return Err(CliError::negative("agent_not_found", message));
    };
    let cis8 = Some(settings.network.cis8);
    Ok(LintContext {
        agent_uri: None,
        chain: Some(ChainFacts { chain: settings.network.caip2(), registry: contract, cis8, record }),
    })
}

fn fetch(args: &Args, uri: &str, origin: Origin, config: &Config) -> Result<Vec<u8>, CliError> {
    hash::needs_network(args.node.offline, uri)?;
    let fetcher = connect::fetcher(&args.fetch, &args.tls, config)?;
    let fetched = block_on(async {
        let failed = |failure: cardproof::fetch::FetchFailure| {
            CliError::cannot_tell(Reason::from(failure.kind).as_str(), format!("{uri}: {failure}"))
        };
        fetcher.fetch(uri, origin).await.map_err(failed)
    })?;
    match fetched {
        Fetched { length_verified: false, .. } => {
            Err(CliError::cannot_tell("truncated", format!("{uri}: nothing proves that the body is complete")))
        }
        Fetched { body, .. } => body.kept.map(|bytes| bytes.to_vec()).ok_or_else(|| {
            CliError::cannot_tell("too_large", format!("{uri}: the card has {} bytes, and is only hashed", body.bytes))
                .hint("save it to a file, and lint the file")
        }),
    }
}

fn is_denied(report: &LintReport, deny: &[Deny]) -> bool {
    let deny = if deny.is_empty() { &[Deny::AtLeast(Severity::Error)] } else { deny };
    report.findings.iter().any(|finding| {
        deny.iter().any(|deny| match deny {
            Deny::AtLeast(severity) => finding.severity >= *severity,
            Deny::Code(code) => finding.code == *code,
            Deny::Nothing => false,
        })
    })
}

fn show(source: &str, report: &LintReport, shell: &Shell) {
    for finding in &report.findings {
        let style = match finding.severity {
            Severity::Error => Style::Red,
            Severity::Warning => Style::Yellow,
            Severity::Info => Style::Dim,
        };
        shell.styled(&[
            (Style::Plain, &format!("{source}:{}:{} ", finding.line, finding.column)),
            (style, finding.severity.as_str()),
            (Style::Plain, &format!(" {} {}", finding.code, finding.message)),
        ]);
    }
    if report.omitted > 0 {
        shell.line(&format!("{source}: {} more of the kinds above", report.omitted));
    }
    let dialects: Vec<&str> = report.dialects.iter().map(|dialect| dialect.as_str()).collect();
    let dialects = if dialects.is_empty() { "no known dialect".to_owned() } else { dialects.join(", ") };
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let [errors, warnings, infos] = [Severity::Error, Severity::Warning, Severity::Info].map(count);
    shell.line(&format!("{source}: {dialects}; errors {errors}, warnings {warnings}, infos {infos}; sha256 {}", report.sha256));
}
