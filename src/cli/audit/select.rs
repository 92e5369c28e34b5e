//! Which agents a run is about.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cardproof::audit::store::Store;
use cardproof::audit::{Audit, AuditSettings, ChangedSince, RunInfo, RunScope, Targets, Unchanged};
use cardproof::chain::AgentReader;
use cardproof::fetch::CardFetcher;
use cardproof::identity::{AccountAddress, ContractAddress, TokenId};
use cardproof::registry::AgentStatus;
use cardproof::verify::{Anchor, Subject, Verdict};
use clap::{Args, ValueEnum};

use super::database;
use crate::cli::exit::CliError;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::{connect, input, targets};

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

/// How many agents a shared run may have. Their list takes some 20 bytes for each in the database.
const MOST_SHARED: u64 = 10_000_000;

/// How many token ids may be named that are looked at one by one, wherever the registry ends.
const MOST_NAMED: u64 = 10_000;

/// Which agents are meant, before the chain was asked which there are.
pub(super) struct Wanted {
    /// The named ones; `None` for all that there are.
    listed: Option<Targets>,
    /// As a sentence, the beginning of which the chain may have to say.
    sentence: String,
    /// See [`RunInfo::covers`].
    pub(super) covers: Option<String>,
    /// Of which agents so many are drawn: in place of what it covers, which nobody knows before.
    sampled: Option<String>,
}

/// What was selected.
pub(super) struct Selection {
    targets: Targets,
    sample: Option<u64>,
    /// See [`Wanted::sampled`].
    sampled: Option<String>,
    /// What decides which agents are drawn.
    seed: u64,
    /// As a sentence.
    pub(super) sentence: String,
    /// See [`RunInfo::covers`]. Of a sample, what it was drawn from and how, so that the run can be gone on with.
    pub(super) covers: Option<String>,
    /// The named ones in ascending order; `None` for all that there are.
    listed: Option<Targets>,
    /// Set when the events chose the agents: whoever is not among the targets, in ascending order, was not looked at.
    by_events: Option<Targets>,
}

/// What stands between what a sample was drawn from and the number that decided how.
const SEED: &str = "; seed ";

impl Selection {
    /// Draws the sample, if it is one: as it was drawn before, with that `seed`, or anew.
    pub(super) fn draw(&mut self, seed: Option<u64>) {
        self.seed = seed.unwrap_or_else(|| fastrand::u64(..));
        if let Some(sampled) = &self.sampled {
            self.covers = Some(format!("{sampled}{SEED}{:016x}", self.seed));
        }
    }

    /// How many agents there will be at most.
    pub(super) fn at_most(&self) -> u64 {
        self.sample.unwrap_or(u64::MAX).min(self.targets.count())
    }

    /// Refuses more agents than can be divided, whose list has to be written down.
    pub(super) fn check_share(&self) -> Result<(), CliError> {
        match self.targets.count() {
            count if count > MOST_SHARED => Err(CliError::refused(
                "selection_too_large",
                format!("{count} agents are too many to share; at most {MOST_SHARED} can be divided"),
            )
            .hint("audit them in several runs, or without --share")),
            _ => Ok(()),
        }
    }

    /// Their token ids, to be divided.
    pub(super) fn token_ids(&self) -> Vec<TokenId> {
        self.targets.iter().collect()
    }

    /// The agents, those in `done` left out.
    pub(super) fn iter(&self, done: std::collections::HashSet<TokenId>) -> Box<dyn Iterator<Item = TokenId> + Send> {
        match self.sample {
            Some(_) => Box::new(self.targets.shuffled(self.seed).filter(move |agent| !done.contains(agent))),
            None => Box::new(self.targets.iter().filter(move |agent| !done.contains(agent))),
        }
    }
}

impl Wanted {
    /// Whether an unfinished run is about these.
    pub(super) fn is_of(&self, run: &RunInfo) -> bool {
        match &self.sampled {
            Some(_) => self.seed_of(run).is_some(),
            None => self.covers.is_some() && run.covers == self.covers,
        }
    }

    /// What decided which agents were drawn, when the run is a sample of these.
    pub(super) fn seed_of(&self, run: &RunInfo) -> Option<u64> {
        let seed = run.covers.as_deref()?.strip_prefix(self.sampled.as_deref()?)?.strip_prefix(SEED)?;
        u64::from_str_radix(seed, 16).ok()
    }

    /// How many agents it is about, of `known` that there are.
    pub(super) fn count(&self, known: &Targets) -> u64 {
        self.listed.as_ref().unwrap_or(known).count()
    }
}

impl SelectOptions {
    /// Whether agents are left out by their owner or status.
    pub(super) fn is_narrowed(&self) -> bool {
        self.of.owner.is_some() || self.status().is_some()
    }

    /// Whether it is about whatever agents there are, and not about named ones.
    fn is_open(&self) -> bool {
        self.of.all || self.of.owner.is_some()
    }

    fn status(&self) -> Option<AgentStatus> {
        match self.status {
            Some(Status::Active) => Some(AgentStatus::Active),
            Some(Status::Revoked) => Some(AgentStatus::Revoked),
            Some(Status::Any) | None => None,
        }
    }

    /// Whether a run left out the agent of this earlier verdict because nothing about it has changed, and not because it is no longer
    /// of the owner or the status that the run is about. A sample is about those alone that were drawn.
    pub(super) fn left_out(&self, selection: &Selection, unchanged: &Unchanged, verdict: &Verdict) -> bool {
        let same = |subject: &Subject| {
            let not_read = |due: &Targets| unchanged.knows(subject.token_id) && !due.contains(subject.token_id);
            unchanged.held(subject.token_id) || selection.by_events.as_ref().is_some_and(not_read)
        };
        let listed = |subject: &Subject| selection.listed.as_ref().is_none_or(|listed| listed.contains(subject.token_id));
        let anchor = |anchor: &Anchor| {
            self.of.owner.is_none_or(|owner| owner == anchor.owner) && self.status().is_none_or(|status| status == anchor.status)
        };
        let subject = verdict.subject.as_ref();
        self.sample.is_none()
            && subject.is_some_and(|subject| same(subject) && listed(subject))
            && verdict.anchor.as_ref().is_some_and(anchor)
    }

    /// The files that name the agents.
    pub(super) fn files(&self) -> [Option<&Path>; 2] {
        [self.of.from.as_deref(), self.of.listed.as_deref()]
    }

    /// Whether the agents are read from standard input, which can be done once.
    pub(super) fn reads_stdin(&self) -> bool {
        self.of.from.as_deref() == Some(Path::new("-"))
    }

    /// Whether so many token ids are named that those beyond the registry's end are not looked at one by one. A sample is small
    /// enough.
    fn is_long(&self, wanted: &Wanted) -> bool {
        let many = wanted.listed.as_ref().is_some_and(|listed| listed.count() > MOST_NAMED);
        many && self.of.ids.is_some() && self.sample.is_none()
    }

    /// Those agents that have been seen before and that this selection may be about, wherever the registry ends now.
    pub(super) async fn known(&self, store: &Store, scope: &RunScope, wanted: &Wanted) -> Result<Targets, CliError> {
        if !(self.is_open() || self.is_long(wanted)) || self.sample.is_some() {
            return Ok(Targets::default());
        }
        store.present_agents(scope, self.of.owner, self.status()).await.map_err(database::failed)
    }

    /// Sets what a run leaves out. `taken` of a sample have been drawn before.
    pub(super) fn apply(&self, settings: &mut AuditSettings, known: &Targets, taken: u64) {
        settings.owner = self.of.owner;
        settings.status = self.status();
        leave_out_gaps(settings, self.is_open(), known);
        settings.limit = self.sample.map(|sample| sample.saturating_sub(taken));
    }

    /// Reads what was named.
    pub(super) fn wanted(&self, network: &NetworkSettings, shell: &Shell) -> Result<Wanted, CliError> {
        let (listed, sentence) = if self.is_open() {
            (None, String::new())
        } else if let Some(list) = &self.of.ids {
            let targets: Targets = list.parse().map_err(|error| CliError::usage(format!("--ids: {error}")))?;
            (Some(targets), format!("the token ids {list}"))
        } else if let Some(path) = &self.of.from {
            let (source, named) = if path.as_os_str() == "-" {
                let stdin = input::stdin().map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")))?;
                ("standard input".to_owned(), targets::of_lines(stdin, "standard input", network)?)
            } else {
                let source = path.display().to_string();
                let file = File::open(path).map_err(|error| CliError::usage(format!("{source} cannot be read: {error}")))?;
                let named = targets::of_lines(BufReader::new(file), &source, network)?;
                (source, named)
            };
            (Some(of_one_registry(named, network)?), format!("the agents named in {source}"))
        } else {
            let path = self.of.listed.clone().unwrap_or_default();
            let named = targets::of_list(&path, network, shell)?;
            (Some(of_one_registry(named, network)?), format!("the agents of the list {}", path.display()))
        };
        let covers = match (&listed, self.of.owner) {
            (Some(listed), _) => RunInfo::covers_of(listed),
            (None, Some(owner)) => format!("owner {owner}"),
            (None, None) => RunInfo::ALL.to_owned(),
        };
        let covers = match self.status() {
            Some(status) => format!("{covers}, {}", status.as_str()),
            None => covers,
        };
        let (covers, sampled) = match self.sample {
            Some(sample) => (None, Some(format!("sample of {sample}: {covers}"))),
            None => (Some(covers), None),
        };
        Ok(Wanted { listed, sentence, covers, sampled })
    }

    /// Leaves out of a long list what lies beyond the registry's end, but for one id, whose result stands for them, and for those that
    /// are `known`: that they have vanished is a result.
    pub(super) async fn bounded<R: AgentReader + 'static, F: CardFetcher + 'static>(
        &self,
        mut wanted: Wanted,
        known: &Targets,
        audit: &Audit<R, F>,
        shell: &Shell,
    ) -> Result<Wanted, CliError> {
        let Some(listed) = wanted.listed.as_ref().filter(|_| self.is_long(&wanted)) else { return Ok(wanted) };
        let end = audit.find_end().await.map_err(connect::refused)?;
        let (below, beyond) = listed.split(end.end);
        let first = beyond.iter().find(|agent| !known.contains(*agent));
        let kept = Targets::of(known.iter().filter(|agent| beyond.contains(*agent)).chain(first)).ascending();
        let left = beyond.count().saturating_sub(kept.count());
        if let (Some(first), true) = (first, left > 0) {
            let rest = format!(
                "{left} of these ids lie beyond the registry's end and were not looked at one by one: the result of {first}, which lies \
                 there, too, stands for them ({end})"
            );
            shell.note(&rest);
            wanted.sentence = format!("{}; {rest}", wanted.sentence);
            wanted.listed = Some(below.and(&kept));
        }
        Ok(wanted)
    }

    /// Finds out which agents there are. `known` were there before: they are looked at wherever the registry ends now.
    pub(super) async fn resolve<R: AgentReader + 'static, F: CardFetcher + 'static>(
        &self,
        wanted: Wanted,
        known: &Targets,
        audit: &Audit<R, F>,
    ) -> Result<Selection, CliError> {
        let Wanted { listed, sentence, covers, sampled } = wanted;
        let (targets, sentence) = match &listed {
            Some(targets) => (targets.clone(), sentence),
            None => {
                let end = audit.find_end().await.map_err(connect::refused)?;
                (Targets::below(end.end).and(known), end.to_string())
            }
        };
        let sentence = self.narrowed(sentence);
        if targets.is_empty() {
            return Err(empty(&sentence));
        }
        let (sample, listed) = (self.sample, listed.map(Targets::ascending));
        Ok(Selection { targets, sample, sampled, seed: 0, sentence, covers, listed, by_events: None })
    }

    /// Chooses the agents that are due by the registry's events or otherwise. Those that are `known`, and those that the events
    /// name, are all that there are.
    pub(super) fn resolve_by_events(
        &self,
        wanted: Wanted,
        known: &Targets,
        changed: &ChangedSince,
        unchanged: &Unchanged,
    ) -> Selection {
        let (all, sentence) = match &wanted.listed {
            Some(listed) => (listed.clone(), wanted.sentence),
            None => (known.and(&Targets::of(changed.agents.iter().copied())), "all agents".to_owned()),
        };
        let sentence = format!(
            "{}; of these, those that events between the blocks {} and {} are about, and those that are due",
            self.narrowed(sentence),
            changed.after.height,
            changed.upto.height
        );
        let targets = Targets::of(all.iter().filter(|agent| changed.is_due(*agent, unchanged)));
        let listed = wanted.listed.clone().map(Targets::ascending);
        let by_events = Some(targets.clone().ascending());
        let Wanted { covers, sampled, .. } = wanted;
        Selection { targets, sample: self.sample, sampled, seed: 0, sentence, covers, listed, by_events }
    }

    fn narrowed(&self, mut sentence: String) -> String {
        if let Some(owner) = self.of.owner {
            sentence = format!("the agents of account {owner} among {sentence}");
        }
        match self.status {
            Some(Status::Active) => sentence.push_str("; active ones only"),
            Some(Status::Revoked) => sentence.push_str("; revoked ones only"),
            Some(Status::Any) | None => {}
        }
        match self.sample {
            Some(sample) => format!("a random sample of {sample} of {sentence}"),
            None => sentence,
        }
    }
}

/// Gaps in a range of token ids are no results, unless there was an agent before.
fn leave_out_gaps(settings: &mut AuditSettings, open: bool, known: &Targets) {
    settings.skip_missing = open;
    settings.had_agents = (open && !known.is_empty()).then(|| Arc::new(known.clone()));
}

/// Sets what every worker on a shared run leaves out.
pub(super) async fn apply_shared(settings: &mut AuditSettings, store: &Store, run: &RunInfo) -> Result<(), CliError> {
    settings.shared = true;
    let open = run.covers.as_deref() == Some(RunInfo::ALL);
    let known = store.present_agents(&run.scope, None, None).await.map_err(database::failed)?;
    leave_out_gaps(settings, open, &known);
    Ok(())
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
