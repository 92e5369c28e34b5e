//! `anchor --resume`: finds the anchoring in the journals that was interrupted.

use std::path::Path;

use cardproof::anchor::journal::{Entry, Journal, JournalState};
use cardproof::identity::{AccountAddress, ContractAddress, Network, TokenId};
use cardproof::registry::parameter::{EntryPoint, Parameter, SetAgentUri};

use super::exit::CliError;
use super::failure;

/// What the user said about the anchoring to go on with.
pub(crate) struct Wanted {
    /// The registry that it is of.
    pub(crate) registry: ContractAddress,
    /// The agent, if one was named.
    pub(crate) agent: Option<TokenId>,
    /// The sender, if one was named.
    pub(crate) sender: Option<AccountAddress>,
}

/// An anchoring in a journal.
pub(crate) struct Found {
    pub(crate) agent: TokenId,
    pub(crate) entry: Entry,
}

impl Found {
    pub(crate) fn sender(&self) -> AccountAddress {
        self.entry.signed.transaction.sender()
    }
}

/// The one anchoring that was left open; of an agent that was named, also the newest that is over. `None` when there is none.
pub(crate) fn find(state_folder: &Path, network: &Network, wanted: &Wanted) -> Result<Option<Found>, CliError> {
    let journals = match wanted.sender {
        Some(sender) => vec![Journal::of(state_folder, &network.genesis, sender)],
        None => Journal::all(state_folder, &network.genesis).map_err(|error| failure::anchor(error.into()))?,
    };
    let mut found: Vec<Found> = Vec::new();
    for journal in journals {
        for entry in journal.entries().map_err(|error| failure::anchor(error.into()))? {
            let Some(agent) = anchored_agent(&entry, wanted.registry) else { continue };
            let over = wanted.agent.is_some() && entry.state == JournalState::Finalized;
            if wanted.agent.is_some_and(|wanted| wanted != agent) || !(entry.state.is_open() || over) {
                continue;
            }
            let new = Found { agent, entry };
            // The newest of each agent and sender.
            found.retain(|other| (other.agent, other.sender()) != (new.agent, new.sender()));
            found.push(new);
        }
    }
    if found.iter().any(|found| found.entry.state.is_open()) {
        found.retain(|found| found.entry.state.is_open());
    } else {
        found.sort_by_key(|found| found.entry.time);
        found.drain(..found.len().saturating_sub(1));
    }
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(several(&found)),
    }
}

fn several(found: &[Found]) -> CliError {
    let list: Vec<String> = found
        .iter()
        .map(|found| format!("agent {} by account {} ({})", found.agent, found.sender(), found.entry.hash()))
        .collect();
    let message = format!("{} anchorings were interrupted: {}", list.len(), list.join("; "));
    CliError::refused("several_to_resume", message).hint("name the agent, or its account with --sender")
}

/// The agent that a transaction anchors a card for, if it is one of this registry.
fn anchored_agent(entry: &Entry, registry: ContractAddress) -> Option<TokenId> {
    let call = entry.signed.transaction.call();
    let is_ours = call.contract == registry && call.receive_name == EntryPoint::SetAgentUri.receive_name();
    is_ours.then(|| SetAgentUri::from_bytes(&call.parameter).ok())?.map(|parameter| parameter.token_id)
}
