//! Where an agent stands on chain, for a card that is built or converted: read from a node, or given.

use cardproof::card::build::ChainIdentity;
use cardproof::identity::{AccountAddress, AgentName, ContractAddress, Network};

use super::source::record;
use crate::cli::config::Config;
use crate::cli::exit::CliError;
use crate::cli::options::{NodeOptions, OutputOptions, TlsOptions};
use crate::cli::settings::NetworkSettings;

/// Whose card it is.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "On chain")]
pub(super) struct IdentityOptions {
    /// The agent: its record is read for the owner and the card's URL, unless --owner is given
    #[arg(long, value_name = "AGENT")]
    pub(super) agent: Option<AgentName>,
    /// The owner's account; no node is asked then
    #[arg(long, value_name = "ACCOUNT", requires = "agent")]
    pub(super) owner: Option<AccountAddress>,
    /// The CIS-8 External Key Registry [default: the network's]
    #[arg(long, value_name = "INDEX,SUBINDEX")]
    pub(super) cis8: Option<ContractAddress>,
}

/// What is known about the agent.
pub(super) struct Known {
    /// Its identity; of an agent that was not named, only network and registries.
    pub(super) identity: ChainIdentity,
    /// Where its record says the card is.
    pub(super) agent_uri: Option<String>,
}

pub(super) fn resolve(
    options: &IdentityOptions,
    node: &NodeOptions,
    tls: &TlsOptions,
    output: &OutputOptions,
) -> Result<Known, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let mut known = match (&options.agent, options.owner) {
        (None, _) => {
            let settings = NetworkSettings::resolve(&node.network, &config)?;
            Known { identity: ChainIdentity::unregistered(&settings.network), agent_uri: None }
        }
        (Some(agent), Some(owner)) => {
            let settings = NetworkSettings::resolve(&node.network, &config)?;
            let (registry, token_id) = settings.locate(agent)?;
            let network = Network { registry, ..settings.network };
            let identity =
                ChainIdentity { token_id: Some(token_id), owner: Some(owner), ..ChainIdentity::unregistered(&network) };
            Known { identity, agent_uri: None }
        }
        (Some(agent), None) => {
            let (network, record) = crate::cli::block_on(record(agent, node, tls, &config))?;
            Known { identity: ChainIdentity::of_record(&network, &record), agent_uri: record.agent_uri }
        }
    };
    if let Some(cis8) = options.cis8 {
        known.identity.cis8 = cis8;
    }
    Ok(known)
}
