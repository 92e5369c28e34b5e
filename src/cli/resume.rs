//! `anchor --resume`: finds the anchoring or the registration in the journals that was interrupted.

use std::path::Path;

use cardproof::anchor::flow::{self, HalfDone};
use cardproof::anchor::journal::{Entry, Journal, JournalState};
use cardproof::identity::{AccountAddress, ContractAddress, Network, TokenId};
use cardproof::registry::parameter::{EntryPoint, Parameter, Register, SetAgentUri};

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

/// An anchoring or a registration in a journal.
pub(crate) struct Found {
    /// The agent; `None` for a registration, which makes one.
    pub(crate) agent: Option<TokenId>,
    pub(crate) entry: Entry,
}

impl Found {
    pub(crate) fn sender(&self) -> AccountAddress {
        self.entry.signed.transaction.sender()
    }

    /// What it is, in words.
    pub(crate) fn what(&self) -> String {
        match self.agent {
            Some(agent) => format!("the anchoring of agent {agent} by account {}", self.sender()),
            None => format!("the registration of an agent by account {}", self.sender()),
        }
    }
}

/// The one anchoring or registration that was left open; of an agent that was named, also its newest anchoring that is over. `None`
/// when there is none.
pub(crate) fn find(state_folder: &Path, network: &Network, wanted: &Wanted) -> Result<Option<Found>, CliError> {
    let journals = match wanted.sender {
        Some(sender) => vec![Journal::of(state_folder, &network.genesis, sender)],
        None => Journal::all(state_folder, &network.genesis).map_err(|error| failure::anchor(error.into()))?,
    };
    let half_done = flow::half_done(state_folder, network);
    let mut found: Vec<Found> = Vec::new();
    for journal in journals {
        for entry in journal.entries().map_err(|error| failure::anchor(error.into()))? {
            let agent = anchored_agent(&entry, wanted.registry);
            if agent.is_none() && !is_registration(&entry, wanted.registry, &half_done) {
                continue;
            }
            let over = wanted.agent.is_some() && entry.state == JournalState::Finalized;
            if wanted.agent.is_some_and(|wanted| Some(wanted) != agent) || !(entry.state.is_open() || over) {
                continue;
            }
            let new = Found { agent, entry };
            // The newest of each agent and sender; every registration makes another agent.
            found.retain(|other| agent.is_none() || (other.agent, other.sender()) != (new.agent, new.sender()));
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
    let list: Vec<String> = found.iter().map(|found| format!("{} ({})", found.what(), found.entry.hash())).collect();
    let message = format!("{} transactions were interrupted: {}", list.len(), list.join("; "));
    CliError::refused("several_to_resume", message)
        .hint("name the agent, or the account with --sender, or follow one with `cardproof tx status <HASH>`")
}

/// Whether a transaction registers an agent in this registry. The first of two steps does, and goes on by itself.
fn is_registration(entry: &Entry, registry: ContractAddress, half_done: &[HalfDone]) -> bool {
    let transaction = &entry.signed.transaction;
    let call = transaction.call();
    if call.contract != registry || call.receive_name != EntryPoint::Register.receive_name() {
        return false;
    }
    let sender = transaction.sender().to_string();
    Register::from_bytes(&call.parameter).is_ok_and(|parameter| {
        let is_same = |half: &HalfDone| half.sender == sender && Some(&half.uri) == parameter.agent_uri.as_ref();
        parameter.metadata_hash.is_some() || !half_done.iter().any(is_same)
    })
}

/// The agent that a transaction anchors a card for, if it is one of this registry.
fn anchored_agent(entry: &Entry, registry: ContractAddress) -> Option<TokenId> {
    let call = entry.signed.transaction.call();
    let is_ours = call.contract == registry && call.receive_name == EntryPoint::SetAgentUri.receive_name();
    is_ours.then(|| SetAgentUri::from_bytes(&call.parameter).ok())?.map(|parameter| parameter.token_id)
}
