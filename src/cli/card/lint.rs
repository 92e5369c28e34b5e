use std::ffi::OsString;

use cardproof::card::{lint, ChainFacts, Code, Document, LintContext, LintReport, Severity};
use cardproof::identity::AgentName;

use super::source::{load, named_agent, record, SourceOptions};
use crate::cli::block_on;
use crate::cli::config::Config;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::{Shell, Style};

/// Check what a card says: its JSON, its structure by every dialect it is written in, and its agreement with the chain
///
/// Whether the card is the anchored one is another question: see cardproof verify.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 nothing that is denied was found; 1 something was; 2 usage; 3 the card or the chain \
    could not be read. docs/card-findings.md explains every code.")]
pub(crate) struct Args {
    /// A file, - for standard input, a URL, or an agent (token id, badge or CAIP-19) whose card is read from where the chain says
    #[arg(value_name = "FILE|URL|AGENT")]
    source: OsString,
    /// Compare a file or URL with what the chain says about this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentName>,
    /// What makes the exit code 1: info, warning or error (each with what is worse), single codes, or none [default: error]
    #[arg(long, value_name = "SEVERITY|CODE", value_delimiter = ',')]
    deny: Vec<Deny>,
    #[command(flatten)]
    options: SourceOptions,
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
    if args.agent.is_some() && named_agent(&args.source).is_some() {
        return Err(CliError::usage("an agent's own card is compared with that agent: leave --agent out"));
    }
    let source = load(&args.source, &args.options, output)?;
    let agent = match &args.agent {
        Some(agent) => {
            let config = Config::load(output.config.as_deref())?;
            Some(block_on(record(agent, &args.options.node, &args.options.tls, &config))?)
        }
        None => source.agent,
    };
    let chain = agent.map(|(network, record)| ChainFacts {
        chain: network.caip2(),
        registry: network.registry,
        cis8: Some(network.cis8),
        record,
    });
    let context = LintContext { agent_uri: None, chain };
    let report = lint(&Document::parse(&source.bytes), &context);
    if output.json {
        shell.document(&report);
    } else {
        show(&source.name, &report, shell);
    }
    Ok(if is_denied(&report, &args.deny) { Exit::Negative } else { Exit::Ok })
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
