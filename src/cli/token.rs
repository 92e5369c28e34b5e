use cardproof::identity::{AgentName, Badge, Caip19, ContractAddress, Network, TokenId};
use cardproof::report::ContractDocument;
use serde::Serialize;

use super::config::Config;
use super::exit::{CliError, Exit};
use super::options::{NetworkOptions, OutputOptions};
use super::settings::NetworkSettings;
use super::shell::Shell;

/// Convert between the names of an agent: token id, badge, CAIP-19 (offline; with --json, one document an agent)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A decimal token id, a badge, a CAIP-19 identifier, or the id as schema JSON writes it (hex:1f01000000000000)
    #[arg(value_name = "AGENT", required = true)]
    agents: Vec<String>,
    #[command(flatten)]
    network: NetworkOptions,
}

/// One agent under all its names.
struct Names {
    network: Option<String>,
    contract: ContractAddress,
    token_id: TokenId,
    caip19: Option<Caip19>,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let settings = NetworkSettings::resolve(&args.network, &config)?;
    // Whether the user chose a network matters: a badge of another contract says nothing of the network it is on.
    let chosen = args.network.network.is_some() || config.network.is_some();
    let names = args
        .agents
        .iter()
        .map(|agent| names(agent, &settings, chosen, output.network_is_typed))
        .collect::<Result<Vec<_>, _>>()?;
    match (output.json, names.as_slice()) {
        (true, [one]) => shell.document(&document(one)),
        (true, several) => several.iter().for_each(|one| shell.document_line(&document(one))),
        (false, several) => several.iter().for_each(|one| report(one, shell)),
    }
    Ok(Exit::Ok)
}

fn names(agent: &str, settings: &NetworkSettings, chosen: bool, typed: bool) -> Result<Names, CliError> {
    let network = &settings.network;
    let usage = |error: cardproof::identity::IdentityError| CliError::usage(format!("{agent}: {error}"));
    let name = match agent.strip_prefix("hex:") {
        Some(hex) => AgentName::TokenId(TokenId::from_schema_hex(hex).map_err(|_| {
            CliError::usage(format!("{agent}: a token id in schema JSON is 16 hexadecimal digits, little-endian"))
        })?),
        None => agent.parse().map_err(usage)?,
    };
    // Nothing is fetched here, so a badge of any contract may be converted; its network is only told when it is certain.
    let contract = name.badge().map_or(network.registry, |badge| badge.contract);
    let token_id = name.token_id();
    let badge = Badge { contract, token_id };
    let mut built_in = Network::built_in_names().filter_map(Network::built_in);
    let (network, chain) = match name {
        AgentName::Caip19(caip) if caip.chain != network.caip2() => {
            (built_in.find(|row| row.caip2() == caip.chain).map(|row| row.name.into_owned()), Some(caip.chain))
        }
        // A setting made for all commands says less than a contract that is the registry of another network.
        AgentName::Badge(_) if !typed && contract != network.registry => match built_in.find(|row| row.registry == contract) {
            Some(home) => (Some(home.name.clone().into_owned()), Some(home.caip2())),
            None if chosen => (Some(network.name.clone().into_owned()), Some(network.caip2())),
            None => (None, None),
        },
        _ => (Some(network.name.clone().into_owned()), Some(network.caip2())),
    };
    Ok(Names { network, contract, token_id, caip19: chain.map(|chain| Caip19 { chain, badge }) })
}

/// `cardproof.token/1`.
#[derive(Serialize)]
struct TokenDocument<'a> {
    schema: &'static str,
    network: Option<&'a str>,
    contract: ContractDocument,
    token_id: String,
    token_id_hex: String,
    badge: String,
    caip19: Option<String>,
}

fn document(names: &Names) -> TokenDocument<'_> {
    TokenDocument {
        schema: "cardproof.token/1",
        network: names.network.as_deref(),
        contract: names.contract.into(),
        token_id: names.token_id.to_string(),
        token_id_hex: names.token_id.to_schema_hex(),
        badge: Badge { contract: names.contract, token_id: names.token_id }.to_string(),
        caip19: names.caip19.map(|caip| caip.to_string()),
    }
}

fn report(names: &Names, shell: &Shell) {
    let badge = Badge { contract: names.contract, token_id: names.token_id };
    let unknown = || match names.caip19 {
        Some(caip) => format!("unknown (no known network has the chain {})", caip.chain),
        None => "unknown (a badge does not name its network: give --network)".to_owned(),
    };
    shell.line(&format!("network   {}", names.network.clone().unwrap_or_else(unknown)));
    shell.line(&format!("contract  {}", names.contract));
    shell.line(&format!("token id  {}", names.token_id));
    shell.line(&format!("hex       {}", names.token_id.to_schema_hex()));
    shell.line(&format!("badge     {badge}"));
    shell.line(&format!("CAIP-19   {}", names.caip19.map_or_else(unknown, |caip| caip.to_string())));
}
