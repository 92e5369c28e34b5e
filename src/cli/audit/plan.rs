//! Before a run: which agents it is about, and whether it is a new one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use cardproof::audit::store::{AgentMemory, NewRun, RunHold, RunOwner, Store, Taken, Unfinished};
use cardproof::audit::{Audit, ChangedSince, RunInfo, RunScope, Targets, Unchanged};
use cardproof::chain::{AtBlock, ChainClient, ChainError, ChainErrorKind};
use cardproof::fetch::Fetcher;
use cardproof::identity::TokenId;
use cardproof::verify::{Class, Summary, Verdict};

use super::database;
use super::run::{now, Session};
use super::select::{Selection, Wanted};
use super::terms::Terms;
use crate::cli::connect;
use crate::cli::exit::CliError;

/// Whether to go on with an unfinished run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// Begin a new one.
    No,
    /// Go on with the newest; it is an error when there is none.
    Asked,
    /// Go on with the newest if a daemon began it and left it, or else begin a new one.
    Own,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A run that can begin.
pub(super) struct Plan {
    pub(super) selection: Selection,
    pub(super) run: RunInfo,
    pub(super) done: HashSet<TokenId>,
    /// What an earlier part of the run has found to be looked at again.
    pub(super) held: Vec<Verdict>,
    /// Keeps others from going on with the run; `None` when nothing is stored.
    pub(super) hold: Option<RunHold>,
    /// What `--changed` leaves out as long as it is as it was.
    pub(super) unchanged: Option<Arc<Unchanged>>,
    /// What it is judged by.
    pub(super) terms: Terms,
}

impl Session<'_> {
    /// Pins the block and finds out which agents are meant.
    pub(super) async fn prepare(&self, resume: Resume) -> Result<(Audit<ChainClient, Fetcher>, Plan), CliError> {
        let wanted = self.args.select.wanted(&self.network, self.shell)?;
        let known = match &self.store {
            Some(store) => self.args.select.known(store, &self.scope, &wanted).await?,
            None => Targets::default(),
        };
        let memory = match &self.store {
            Some(store) if self.args.changed => {
                let (max_age, unanchored) = (self.args.max_age, self.args.work.fetch_unanchored);
                Some(Remembered::of(store, &self.scope, max_age, unanchored).await?)
            }
            _ => None,
        };
        let mut interrupted = self.unfinished(resume, &wanted).await?;
        let own = self.args.work.terms(&self.config, &self.network)?;
        let mut terms = own.clone();
        if let Some((left, _)) = &interrupted {
            match own.clone().join(&left.run) {
                Ok((joined, taken)) => {
                    terms = joined;
                    taken.iter().for_each(|taken| self.shell.note(taken));
                }
                Err(error) if resume == Resume::Own => {
                    self.shell
                        .note(&format!("the unfinished run is not gone on with, and a new one is begun: {}", error.message));
                    interrupted = None;
                }
                Err(error) => return Err(error.hint("give them again, or begin a new run without --resume")),
            }
        }
        let audit = match self.begin(interrupted.as_ref().map(|(left, _)| left), &known, memory.as_ref(), &terms).await? {
            Err(error) if resume == Resume::Own && error.kind == ChainErrorKind::BlockNotFound => {
                self.shell.note(&format!("the unfinished run cannot be gone on with, and a new one is begun: {error}"));
                (interrupted, terms) = (None, own);
                self.begin(None, &known, memory.as_ref(), &terms).await?
            }
            Err(error) if resume == Resume::Asked && error.kind == ChainErrorKind::BlockNotFound => {
                return Err(
                    connect::refused(error).hint("begin a new run without --resume: this one cannot be finished any more")
                );
            }
            begun => begun,
        };
        let audit = audit.map_err(connect::refused)?;
        let wanted = self.args.select.bounded(wanted, &known, &audit, self.shell).await?;
        let seed = interrupted.as_ref().and_then(|(left, _)| wanted.seed_of(&left.run));
        let changed = match (&self.store, &memory) {
            (Some(store), Some(memory)) => self.changed(store, &audit, &wanted, memory).await?,
            _ => None,
        };
        let mut selection = match (changed, &memory) {
            (Some(changed), Some(memory)) => {
                self.args.select.resolve_by_events(wanted, &memory.agents, &changed, &memory.unchanged)
            }
            _ => self.args.select.resolve(wanted, &known, &audit).await?,
        };
        selection.draw(seed);
        if self.args.share {
            selection.check_share()?;
        }
        let (run, done, held, hold) = match (interrupted, &self.store) {
            (Some((interrupted, hold)), _) => (interrupted.run, interrupted.done, interrupted.held, Some(hold)),
            (None, Some(store)) => {
                let (selection, covers) = (selection.sentence.as_str(), selection.covers.as_deref());
                let (block, daemon, terms) = (audit.block().ok(), self.args.daemon.every.is_some(), terms.to_json()?);
                let new = NewRun { block, selection, covers, daemon, terms: Some(&terms) };
                match store.begin_held(&self.scope, new).await.map_err(database::failed)? {
                    Taken::Mine(run, hold) => (run, HashSet::new(), Vec::new(), Some(hold)),
                    Taken::Other(run, owner) => return Err(alive(&run, &owner)),
                    Taken::Ended => return Err(CliError::internal("the run that was begun has ended already")),
                }
            }
            (None, None) => {
                let (block, scope) = (audit.block().ok(), self.scope.clone());
                let run = RunInfo {
                    id: 0,
                    scope,
                    block,
                    started_at: now(),
                    finished_at: None,
                    selection: selection.sentence.clone(),
                    covers: None,
                    daemon: false,
                    terms: None,
                    summary: Summary::default(),
                };
                (run, HashSet::new(), Vec::new(), None)
            }
        };
        let unchanged = memory.map(|memory| memory.unchanged);
        Ok((audit, Plan { selection, run, done, held, hold, unchanged, terms }))
    }

    /// Pins the block of a run: a new one, or the one that an interrupted run was pinned to.
    async fn begin(
        &self,
        interrupted: Option<&Unfinished>,
        known: &Targets,
        memory: Option<&Remembered>,
        terms: &Terms,
    ) -> Result<Result<Audit<ChainClient, Fetcher>, ChainError>, CliError> {
        let at = self.args.at_block.unwrap_or(AtBlock::LastFinalized);
        let (reader, fetcher, mut settings) = self.args.work.parts(at, &self.config, &self.network, terms)?;
        let taken = interrupted.map_or(0, |left| left.done.len() + left.held.len());
        self.args.select.apply(&mut settings, known, taken as u64);
        settings.shared = self.args.share;
        settings.unchanged = memory.map(|memory| Arc::clone(&memory.unchanged));
        Ok(match interrupted.and_then(|left| left.run.block) {
            Some(block) => Audit::resume(reader, fetcher, settings, block).await,
            None => Audit::begin(reader, fetcher, settings).await,
        })
    }

    /// Which agents have changed by the registry's events; `None` when every record is read instead. Says which of both, and why.
    async fn changed(
        &self,
        store: &Store,
        audit: &Audit<ChainClient, Fetcher>,
        wanted: &Wanted,
        memory: &Remembered,
    ) -> Result<Option<ChangedSince>, CliError> {
        if self.args.select.is_narrowed() {
            // An agent that left such a selection is not recorded by its runs, whose blocks therefore say nothing about it.
            self.shell.note("every record is read to find out what has changed: only agents of one owner or status are wanted");
            return Ok(None);
        }
        let Ok(block) = audit.block() else { return Ok(None) };
        let runs = store.runs(&self.scope).await.map_err(database::failed)?;
        let agents = wanted.count(&memory.agents);
        let found = ChangedSince::find(audit.reader(), &runs, wanted.covers.as_deref(), agents, block).await;
        match &found {
            Ok(ChangedSince { run, after, upto, agents }) => self.shell.note(&format!(
                "what has changed since run {run} is known from the registry's events between the blocks {} and {}: they are about \
                 {} agents",
                after.height,
                upto.height,
                agents.len()
            )),
            Err(why) => self.shell.note(&format!("every record is read to find out what has changed: {why}")),
        }
        Ok(found.ok())
    }

    /// The run to go on with, if that is wanted, which this process then has in hand.
    async fn unfinished(&self, resume: Resume, wanted: &Wanted) -> Result<Option<(Unfinished, RunHold)>, CliError> {
        let Some(store) = &self.store else { return Ok(None) };
        let nothing = || match resume {
            // A daemon that is always started in the same way has nothing to go on with at first.
            Resume::Asked if self.args.daemon.every.is_none() => {
                Err(CliError::refused("nothing_to_resume", "there is no unfinished run to go on with"))
            }
            _ => Ok(None),
        };
        let Some(left) = store.resume_run(&self.scope).await.map_err(database::failed)? else { return nothing() };
        let run = &left.run;
        if resume == Resume::Asked && run.covers.is_none() {
            let message = format!("run {} does not say enough of its agents to be gone on with", run.id);
            return Err(CliError::refused("another_selection", message)
                .hint("an older version began it: begin a new run without --resume"));
        }
        let same = wanted.is_of(run);
        match resume {
            Resume::Asked if !same => {
                let message = format!("the unfinished run {} is about other agents: {}", run.id, run.selection);
                Err(CliError::refused("another_selection", message)
                    .hint("repeat its selection with --resume, or begin a new run without --resume"))
            }
            Resume::Own if !(same && run.daemon && !self.is_too_old(run)) => self.leave(store, &left, "").await,
            Resume::No => self.leave(store, &left, if same { "; --resume would go on with it" } else { "" }).await,
            Resume::Asked | Resume::Own => match store.take_run(run).await.map_err(database::failed)? {
                Taken::Other(run, owner) => Err(alive(&run, &owner)),
                // What is done was asked for before the run was this process's.
                Taken::Mine(run, hold) => match store.resume_run(&self.scope).await.map_err(database::failed)? {
                    Some(left) if left.run.id == run.id => Ok(Some((left, hold))),
                    _ => nothing(),
                },
                Taken::Ended => nothing(),
            },
        }
    }

    /// Says that an unfinished run stays as it is.
    async fn leave(&self, store: &Store, left: &Unfinished, hint: &str) -> Result<Option<(Unfinished, RunHold)>, CliError> {
        let (id, done) = (left.run.id, left.done.len());
        self.shell.note(&match store.run_owner(&left.run).await.map_err(database::failed)? {
            Some(RunOwner { name, since, .. }) => {
                format!("run {id} goes on besides, with {done} agents done: {name} has had it in hand since {since}")
            }
            None => format!("run {id} is not finished, with {done} agents done, and stays so: it was interrupted{hint}"),
        });
        Ok(None)
    }

    /// Whether a daemon leaves its run unfinished: what its block says is old, and another run is due anyway.
    fn is_too_old(&self, run: &RunInfo) -> bool {
        let oldest = self.args.daemon.every.unwrap_or_default().max(DAY);
        now().0.saturating_sub(run.started_at.0) > u64::try_from(oldest.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The code of the refusal to go on with a run that another process has in hand.
pub(super) const ALIVE: &str = "run_is_alive";

fn alive(run: &RunInfo, owner: &RunOwner) -> CliError {
    let gone = match owner.gone_after.as_secs_f64().ceil() {
        0.0 => "at once if it was killed".to_owned(),
        seconds => format!("within {seconds} s if it is gone without a word"),
    };
    let message = format!("run {} is alive: {} has had it in hand since {}", run.id, owner.name, owner.since);
    CliError::refused(ALIVE, message).hint(format!("it can be gone on with when that has ended, {gone}"))
}

/// What the memory says about agents, for a run over what has changed.
struct Remembered {
    /// Those that there are as far as is known.
    agents: Targets,
    /// Those that matched last, or had nothing to compare, and are not due by their age.
    unchanged: Arc<Unchanged>,
}

impl Remembered {
    /// With `unanchored`, cards without an anchor are to be fetched: those that have not been are due.
    async fn of(store: &Store, scope: &RunScope, max_age: Duration, unanchored: bool) -> Result<Self, CliError> {
        // What was seen at a time that is still to come was seen by a clock that was wrong.
        let now = now().0;
        let due = now.saturating_sub(u64::try_from(max_age.as_millis()).unwrap_or(u64::MAX)).saturating_add(1);
        let (mut agents, mut unchanged) = (Vec::new(), Unchanged::default());
        let visit = |agent: AgentMemory| {
            if agent.present != Some(false) {
                agents.push(agent.token_id);
            }
            let settled = match agent.class {
                Class::Match => true,
                Class::Absent => agent.present == Some(true) && (!unanchored || agent.body_sha256.is_some()),
                Class::Mismatch | Class::Undecided => false,
            };
            if let (Some(owner), Some(status), true) =
                (agent.owner, agent.status, settled && (due..=now).contains(&agent.last_seen.0))
            {
                unchanged.insert(agent.token_id, agent.agent_uri.as_deref(), agent.anchored_sha256, owner, status);
            }
        };
        store.for_each_agent(scope, visit).await.map_err(database::failed)?;
        Ok(Self { agents: Targets::of(agents).ascending(), unchanged: Arc::new(unchanged) })
    }
}
