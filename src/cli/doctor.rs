use cardproof::chain::{diagnose, AtBlock, Finding, Health};
use cardproof::identity::Network;
use serde::Serialize;

use super::config::Config;
use super::connect;
use super::exit::{CliError, Exit};
use super::options::{FetchOptions, NodeOptions, OutputOptions, TlsOptions};
use super::settings::NetworkSettings;
use super::shell::{Shell, Style};

/// Check the configuration, the node, the registry, TLS and the cache, a line each
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 verdicts can be reached; 1 something is wrong with the registry; 2 configuration or wrong network; \
    3 the node is unavailable."
)]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

/// `cardproof.doctor/1`.
#[derive(Serialize)]
struct DoctorDocument {
    schema: &'static str,
    ok: bool,
    checks: Vec<CheckDocument>,
}

#[derive(Serialize)]
struct CheckDocument {
    name: &'static str,
    status: &'static str,
    message: String,
    /// What to do about a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let network = NetworkSettings::resolve(&args.node.network, &config)?.network;
    let mut findings = vec![configuration(output)];
    findings.push(trusted_authorities(args, &config)?);
    let chain = connect::chain(&args.node, &args.tls, &config, &network, network.registry, AtBlock::LastFinalized)?;
    findings.extend(super::block_on(async { Ok(diagnose(&chain).await) })?.findings);

    if output.json {
        let checks = findings
            .iter()
            .map(|finding| CheckDocument {
                name: finding.name,
                status: status(finding.health),
                message: finding.message.clone(),
                hint: hint(finding, &network),
            })
            .collect();
        let ok = findings.iter().all(|finding| finding.health != Health::Bad);
        shell.document(&DoctorDocument { schema: "cardproof.doctor/1", ok, checks });
    } else {
        findings.iter().for_each(|finding| show(finding, hint(finding, &network), shell));
    }
    Ok(exit(&findings))
}

fn configuration(output: &OutputOptions) -> Finding {
    let named = output.config.clone();
    let message = match named.or_else(|| Config::usual_place().filter(|path| path.exists())) {
        Some(path) => format!("{} was read", path.display()),
        None => "there is no configuration file, which is fine".to_owned(),
    };
    Finding { name: "configuration", health: Health::Good, message }
}

/// How many certificate authorities are trusted: a slim image has none of its own (C-50).
fn trusted_authorities(args: &Args, config: &Config) -> Result<Finding, CliError> {
    let count = connect::fetcher(&FetchOptions::default(), &args.tls, config)?.trusted_roots();
    let health = if count == 0 { Health::Bad } else { Health::Good };
    Ok(Finding { name: "tls_roots", health, message: format!("{count} certificate authorities are trusted") })
}

fn status(health: Health) -> &'static str {
    match health {
        Health::Good => "ok",
        Health::Warning => "warning",
        Health::Bad => "failed",
    }
}

/// What to do about a failure.
fn hint(finding: &Finding, network: &Network) -> Option<&'static str> {
    let is_devnet = Network::built_in("devnet").is_some_and(|devnet| devnet.genesis == network.genesis);
    match finding.name {
        _ if finding.health != Health::Bad => None,
        "node" if is_devnet => Some("start this chain with cardproof devnet, or name another node with --node <URL>"),
        "node" => Some("name another node with --node <URL>"),
        "network" => Some("choose the network with --network, or its genesis block with --genesis-hash"),
        "registry" => Some("check --contract and --network"),
        "finalized_block" => Some("wait until the node has caught up, or accept older blocks with --max-block-age"),
        "tls_roots" => Some("name certificate authorities with --ca-file, or leave --native-roots out"),
        _ => None,
    }
}

fn show(finding: &Finding, hint: Option<&str>, shell: &Shell) {
    let style = match finding.health {
        Health::Good => Style::Green,
        Health::Warning => Style::Yellow,
        Health::Bad => Style::Red,
    };
    shell.styled(&[
        (style, &format!("{:<8}", status(finding.health))),
        (Style::Dim, &format!("{:<16}", finding.name)),
        (Style::Plain, &finding.message),
    ]);
    if let Some(hint) = hint {
        shell.styled(&[(Style::Plain, &" ".repeat(24)), (Style::Dim, "try: "), (Style::Plain, hint)]);
    }
}

fn exit(findings: &[Finding]) -> Exit {
    let bad = |name| findings.iter().any(|finding| finding.health == Health::Bad && finding.name == name);
    if bad("network") || bad("tls_roots") {
        Exit::Usage
    } else if bad("node") || bad("finalized_block") {
        Exit::CannotTell
    } else if findings.iter().any(|finding| finding.health == Health::Bad) {
        Exit::Negative
    } else {
        Exit::Ok
    }
}
