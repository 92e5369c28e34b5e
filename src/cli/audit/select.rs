//! Which agents a run is about.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use cardproof::audit::{Audit, AuditSettings, Targets};
use cardproof::chain::AgentReader;
use cardproof::fetch::CardFetcher;
use cardproof::identity::{AccountAddress, ContractAddress, TokenId};
use cardproof::registry::AgentStatus;
use clap::{Args, ValueEnum};

use crate::cli::exit::CliError;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::{connect, targets};

/// Which agents.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Agents")]
pub(super) struct SelectOptions {
    #[command(flatten)]
    of: Source,
    /// Only agents of this status [default: any]
    #[arg(long, value_name = "STATUS")]
    status: Option<Status>,
    /// Only so many of them, drawn at random
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
}

/// Where they come from: exactly one of these.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// All agents of the registry, revoked ones included; the end is found by probing
    #[arg(long)]
    all: bool,
    /// All agents of this account
    #[arg(long, value_name = "ACCOUNT")]
    owner: Option<AccountAddress>,
    /// These token ids, such as 1-500,700
    #[arg(long, value_name = "LIST")]
    ids: Option<String>,
    /// The agents named in this file, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The agents of this list (registry.json)
    #[arg(long = "agents", value_name = "FILE")]
    listed: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Status {
    Active,
    Revoked,
    Any,
}

/// What was selected.
pub(super) struct Selection {
    targets: Targets,
    sample: Option<u64>,
    /// As a sentence.
    pub(super) sentence: String,
}

impl Selection {
    /// How many agents there will be at most.
    pub(super) fn at_most(&self) -> u64 {
        self.sample.unwrap_or(u64::MAX).min(self.targets.count())
    }

    /// Their token ids, to be divided.
    pub(super) fn token_ids(&self) -> Vec<TokenId> {
        self.targets.iter().collect()
    }

    /// The agents, those in `done` left out.
    pub(super) fn iter(&self, done: std::collections::HashSet<TokenId>) -> Box<dyn Iterator<Item = TokenId> + Send> {
        match self.sample {
            Some(_) => Box::new(self.targets.shuffled()),
            None => Box::new(self.targets.iter().filter(move |agent| !done.contains(agent))),
        }
    }
}

impl SelectOptions {
    /// Whether every target has a result: nothing is left out by what its record says.
    pub(super) fn is_exact(&self) -> bool {
        self.of.owner.is_none() && matches!(self.status, None | Some(Status::Any))
    }

    /// Sets what a run leaves out.
    pub(super) fn apply(&self, settings: &mut AuditSettings) {
        settings.owner = self.of.owner;
        settings.status = match self.status {
            Some(Status::Active) => Some(AgentStatus::Active),
            Some(Status::Revoked) => Some(AgentStatus::Revoked),
            Some(Status::Any) | None => None,
        };
        settings.skip_missing = self.of.all || self.of.owner.is_some();
        settings.limit = self.sample;
    }

    /// Finds out which agents are meant.
    pub(super) async fn resolve<R: AgentReader + 'static, F: CardFetcher + 'static>(
        &self,
        audit: &Audit<R, F>,
        network: &NetworkSettings,
        shell: &Shell,
    ) -> Result<Selection, CliError> {
        let (targets, mut sentence) = if self.of.all || self.of.owner.is_some() {
            let end = audit.find_end().await.map_err(connect::refused)?;
            (Targets::below(end.end), end.to_string())
        } else if let Some(list) = &self.of.ids {
            let targets: Targets = list.parse().map_err(|error| CliError::usage(format!("--ids: {error}")))?;
            (targets, format!("the token ids {list}"))
        } else if let Some(path) = &self.of.from {
            let (source, named) = if path.as_os_str() == "-" {
                ("standard input".to_owned(), targets::of_lines(std::io::stdin().lock(), "standard input", network)?)
            } else {
                let source = path.display().to_string();
                let file = File::open(path).map_err(|error| CliError::usage(format!("{source} cannot be read: {error}")))?;
                let named = targets::of_lines(BufReader::new(file), &source, network)?;
                (source, named)
            };
            (of_one_registry(named, network)?, format!("the agents named in {source}"))
        } else {
            let path = self.of.listed.clone().unwrap_or_default();
            let named = targets::of_list(&path, network, shell)?;
            (of_one_registry(named, network)?, format!("the agents of the list {}", path.display()))
        };
        if let Some(owner) = self.of.owner {
            sentence = format!("the agents of account {owner} among {sentence}");
        }
        match self.status {
            Some(Status::Active) => sentence.push_str("; active ones only"),
            Some(Status::Revoked) => sentence.push_str("; revoked ones only"),
            Some(Status::Any) | None => {}
        }
        if let Some(sample) = self.sample {
            sentence = format!("a random sample of {sample} of {sentence}");
        }
        if targets.is_empty() {
            return Err(empty(&sentence));
        }
        Ok(Selection { targets, sample: self.sample, sentence })
    }
}

/// Nothing was selected: success would say that all is well (C-61).
pub(super) fn empty(sentence: &str) -> CliError {
    CliError::refused("empty_selection", format!("no agent was audited: the selection is empty ({sentence})"))
}

fn of_one_registry(named: Vec<(ContractAddress, TokenId)>, network: &NetworkSettings) -> Result<Targets, CliError> {
    let registry = network.network.registry;
    if let Some((other, agent)) = named.iter().find(|(contract, _)| *contract != registry) {
        let message = format!("agent {agent} is of the registry {other}, and an audit is about one registry, {registry}");
        return Err(
            CliError::usage(message).hint(format!("audit the other one with --contract {},{}", other.index, other.subindex))
        );
    }
    Ok(Targets::of(named.into_iter().map(|(_, agent)| agent)))
}
