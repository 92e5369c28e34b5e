use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tokio::task::JoinSet;

use crate::chain::{AgentReader, Block, ChainError, ChainErrorKind, Reading};
use crate::fetch::CardFetcher;
use crate::identity::TokenId;
use crate::verify::{Reason, Verdict};

use super::check::{judge_known, Checker, Panicked};
use super::hosts::{HostKey, Hosts};
use super::outage::{Next, Outage};
use super::second_look::SecondLook;
use super::urls::{Known, UrlKey, UrlTable};

/// How many calls in a row without an answer make an outage of the node.
const SEVERAL: usize = 8;

/// The verdicts of a run, as they are reached.
///
/// One task, the one that calls [`Running::next`], decides; reading, fetching and hashing happen in tasks of their own. Dropping
/// it ends them.
#[allow(clippy::vec_box, reason = "a verdict goes from queue to queue, and its pointer is what moves")]
pub struct Running<R, F> {
    pub(super) checker: Arc<Checker<R, F>>,
    targets: Box<dyn Iterator<Item = TokenId> + Send>,
    pub(super) tasks: JoinSet<Done>,
    urls: UrlTable,
    hosts: Hosts,
    /// Agents whose URL another agent's fetch is about to bring.
    same_url: HashMap<UrlKey, Vec<TokenId>>,
    /// Agents that waited for their host or their URL and are to be read again.
    woken: VecDeque<Job>,
    /// Cards to fetch, whose host has a place for them.
    ready: VecDeque<Fetch>,
    pub(super) mismatches: SecondLook,
    pub(super) finished: VecDeque<Box<Verdict>>,
    pub(super) reading: usize,
    fetching: usize,
    selected: u64,
    /// How many are being read for the first time, and may turn out to be selected.
    undetermined: u64,
    given: u64,
    /// What the node gave no answer to, and is to be asked again.
    pub(super) outage: Outage<Unanswered>,
    /// Why it gave none the last time.
    unanswered: Option<ChainError>,
    /// Set when there is no node, or not any more: the rest of the run would only wait for it.
    pub(super) given_up: Option<ChainError>,
    /// Set when nothing is begun any more but second looks.
    pub(super) stopped: bool,
}

/// What a run has found.
#[derive(Debug)]
pub enum Found {
    /// The verdict on an agent.
    Verdict(Box<Verdict>),
    /// A mismatch that awaits its second look, after which there is a verdict on the same agent. Whoever keeps it can have the look done
    /// later: see [`super::Audit::go_on`].
    Mismatch(Box<Verdict>),
}

impl<R, F> Drop for Running<R, F> {
    /// Leaves what is known of URLs to the next part of the run.
    fn drop(&mut self) {
        let urls = std::mem::replace(&mut self.urls, UrlTable::new());
        *self.checker.urls.lock().unwrap_or_else(PoisonError::into_inner) = Some(urls);
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many verdicts have been handed on.
    pub done: u64,
    /// How many mismatches await their second look.
    pub held: u64,
    /// How many bytes are remembered of the URLs seen so far.
    pub url_bytes: usize,
}

/// An agent to read.
pub(super) struct Job {
    agent: TokenId,
    /// Set when it was read before.
    seen: bool,
    /// The host that has a place for it.
    place: Option<HostKey>,
}

/// What the node gave no answer to.
pub(super) enum Unanswered {
    Read(Job),
    SecondLook(Box<Verdict>),
}

/// A card to fetch.
struct Fetch {
    verdict: Box<Verdict>,
    started: Instant,
    url: UrlKey,
    host: HostKey,
    /// What the URL brought before, when that only has to be confirmed.
    known: Option<Known>,
}

/// What a task brings back.
#[allow(clippy::large_enum_variant, reason = "made once for each agent and taken apart at once")]
pub(super) enum Done {
    Read {
        job: Job,
        verdict: Box<Verdict>,
        started: Instant,
        outcome: Result<Result<Reading, ChainError>, Panicked>,
    },
    Fetched {
        verdict: Box<Verdict>,
        url: UrlKey,
        host: HostKey,
        known: Option<Known>,
    },
    Newest(Result<Block, ChainError>),
    LookedAgain(Box<Verdict>, Result<(), ChainError>),
    /// The node has been left alone for a while.
    Paused,
}

impl<R: AgentReader + 'static, F: CardFetcher + 'static> Running<R, F> {
    pub(super) fn new(
        checker: Arc<Checker<R, F>>,
        targets: Box<dyn Iterator<Item = TokenId> + Send>,
        mismatches: Vec<Verdict>,
    ) -> Self {
        let hosts = Hosts::new(checker.settings.per_host_concurrency);
        let given_up = checker.pinned.as_ref().err().cloned();
        let outage = Outage::new(SEVERAL.min(2 * checker.settings.node_concurrency.max(1)));
        let urls = checker.urls.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_else(UrlTable::new);
        Self {
            checker,
            targets,
            tasks: JoinSet::new(),
            urls,
            hosts,
            same_url: HashMap::new(),
            woken: VecDeque::new(),
            ready: VecDeque::new(),
            mismatches: SecondLook::of(mismatches),
            finished: VecDeque::new(),
            reading: 0,
            fetching: 0,
            selected: 0,
            undetermined: 0,
            given: 0,
            outage,
            unanswered: None,
            given_up,
            stopped: false,
        }
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress { done: self.given, held: self.mismatches.count(), url_bytes: self.urls.bytes() }
    }

    /// Begins nothing any more: what is left is the second look at the mismatches found so far, which begins at once, and what of it the
    /// node does not answer is left undone.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.targets = Box::new(std::iter::empty());
        self.woken.clear();
        self.ready.clear();
        // Reads that are under way are not waited for.
        self.reading = self.mismatches.under_way;
        for question in self.outage.ask_again() {
            if let Unanswered::SecondLook(verdict) = question {
                self.mismatches.look_at(verdict);
            }
        }
        self.outage.answered();
    }

    /// The next verdict, in the order in which they are reached; `None` when every agent has one. Nothing is lost when the
    /// future is dropped before it is done.
    ///
    /// # Errors
    /// [`ChainError`] when the rest of the run is refused as a whole, see [`super::Audit::begin`].
    pub async fn next(&mut self) -> Option<Result<Verdict, ChainError>> {
        loop {
            match self.step().await? {
                Ok(Found::Verdict(verdict)) => return Some(Ok(*verdict)),
                Ok(Found::Mismatch(_)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// As [`Running::next`], with the mismatches that are to be looked at again as they are found.
    ///
    /// # Errors
    /// As [`Running::next`].
    pub async fn step(&mut self) -> Option<Result<Found, ChainError>> {
        loop {
            if let Some(found) = self.mismatches.news() {
                return Some(Ok(Found::Mismatch(found)));
            }
            if let Some(verdict) = self.finished.pop_front() {
                self.given += 1;
                return Some(Ok(Found::Verdict(verdict)));
            }
            if let Err(error) = self.fill() {
                return Some(Err(error));
            }
            if !self.finished.is_empty() {
                continue;
            }
            if self.stopped && !self.mismatches.is_under_way() {
                return None;
            }
            match self.tasks.join_next().await {
                Some(Ok(done)) => {
                    if let Err(error) = self.take(done) {
                        return Some(Err(error));
                    }
                }
                // Tasks catch their panics and nobody cancels them.
                Some(Err(_)) => {}
                None => return None,
            }
        }
    }

    /// Starts what there is room for.
    fn fill(&mut self) -> Result<(), ChainError> {
        let settings = &self.checker.settings;
        let (readers, fetchers) = (settings.node_concurrency.max(1), settings.host_concurrency.max(1));
        while self.fetching < fetchers {
            let Some(fetch) = self.ready.pop_front() else { break };
            self.fetch(fetch);
        }
        while self.reading < self.outage.at_once(readers) {
            if let Some((verdict, newest)) = self.mismatches.next() {
                if !self.look_again(verdict, newest)? {
                    return Ok(());
                }
            } else if self.ready.len() >= fetchers {
                break;
            } else if let Some(job) = self.next_job() {
                if !self.read(job) {
                    return Ok(());
                }
            } else {
                break;
            }
        }
        let idle = self.tasks.is_empty() && self.ready.is_empty();
        self.begin_second_look(idle || self.stopped)?;
        match self.unanswered.take() {
            Some(error) if idle && self.tasks.is_empty() && self.outage.waiting() > 0 => {
                let next = self.outage.pause();
                self.after_failure(next, error)
            }
            error => {
                self.unanswered = error;
                Ok(())
            }
        }
    }

    fn next_job(&mut self) -> Option<Job> {
        if self.stopped {
            return None;
        }
        if let Some(job) = self.woken.pop_front() {
            return Some(job);
        }
        // Not one more than may be needed, so that which ones are selected is decided by their order alone.
        let enough = self.checker.settings.limit.is_some_and(|limit| self.selected + self.undetermined >= limit);
        // With the second look under way and another batch full, what is new can wait.
        if enough || self.mismatches.is_full() {
            return None;
        }
        let agent = self.targets.next()?;
        self.undetermined += 1;
        Some(Job { agent, seen: false, place: None })
    }

    /// Reads an agent in a task; `false` when it was judged without, because there is no node to ask.
    fn read(&mut self, job: Job) -> bool {
        let mut verdict = Box::new(Verdict::about(&self.checker.settings.verify, job.agent));
        let block = match (&self.given_up, &self.checker.pinned) {
            (None, Ok(block)) => *block,
            (Some(error), _) | (None, Err(error)) => {
                // Only what some reason stands for makes a run give up.
                let _ = verdict.failed(error.clone());
                self.determined(&job, true);
                self.give_back(job.place);
                self.finished.push_back(verdict);
                return false;
            }
        };
        self.reading += 1;
        let checker = Arc::clone(&self.checker);
        self.tasks.spawn(async move {
            let started = Instant::now();
            let outcome = checker.read(&block, job.agent).await;
            if let Ok(Ok(reading)) = &outcome {
                verdict.found(block, reading);
            }
            Done::Read { job, verdict, started, outcome }
        });
        true
    }

    fn fetch(&mut self, fetch: Fetch) {
        self.fetching += 1;
        let checker = Arc::clone(&self.checker);
        self.tasks.spawn(async move {
            let Fetch { mut verdict, started, url, host, known } = fetch;
            let known = checker.check(&mut verdict, known).await;
            verdict.elapsed = started.elapsed();
            Done::Fetched { verdict, url, host, known }
        });
    }

    fn take(&mut self, done: Done) -> Result<(), ChainError> {
        match done {
            Done::Read { .. } | Done::Paused if self.stopped => {}
            Done::Read { job, verdict, started, outcome } => {
                self.reading -= 1;
                self.was_read(job, verdict, started, outcome)?;
            }
            Done::Fetched { verdict, url, host, known } => {
                self.fetching -= 1;
                if let Some(known) = known {
                    self.urls.insert(url, known);
                }
                if let (Reason::HashMismatch, Some(anchor)) = (verdict.reason, verdict.anchored_sha256) {
                    self.urls.note(url, anchor, &verdict.notes);
                }
                let waiting = self.same_url.remove(&url).unwrap_or_default();
                self.woken.extend(waiting.into_iter().map(|agent| Job { agent, seen: true, place: None }));
                self.give_back(Some(host));
                self.conclude(verdict);
            }
            Done::Newest(newest) => self.newest(newest)?,
            Done::LookedAgain(verdict, looked) => {
                self.reading -= 1;
                self.looked_again(verdict, looked)?;
            }
            Done::Paused => self.ask_again()?,
        }
        Ok(())
    }

    fn was_read(
        &mut self,
        job: Job,
        mut verdict: Box<Verdict>,
        started: Instant,
        outcome: Result<Result<Reading, ChainError>, Panicked>,
    ) -> Result<(), ChainError> {
        let settings = &self.checker.settings;
        let reading = match outcome {
            Ok(Ok(reading)) => {
                self.outage.answered();
                reading
            }
            Ok(Err(error)) if error.kind == ChainErrorKind::NodeUnavailable && self.given_up.is_none() => {
                self.give_back(job.place);
                return self.postpone(Unanswered::Read(Job { place: None, ..job }), error);
            }
            failed => {
                self.determined(&job, true);
                self.give_back(job.place);
                if let Ok(Err(error)) = failed {
                    // An error of the node's own is an answer.
                    self.outage.answered();
                    verdict.failed(error)?;
                }
                verdict.elapsed = started.elapsed();
                self.finished.push_back(verdict);
                return Ok(());
            }
        };
        if !job.seen {
            let selected = settings.selects(job.agent, reading.record.as_ref());
            self.determined(&job, selected);
            if !selected {
                return Ok(());
            }
        }
        let settings = &self.checker.settings;
        let Some(uri) = verdict.card_uri(&reading, settings.verify.fetch_unanchored) else {
            self.give_back(job.place);
            verdict.elapsed = started.elapsed();
            self.finished.push_back(verdict);
            return Ok(());
        };
        let url = self.urls.key(uri);
        let known = self.urls.get(url);
        if let Some(known) = known {
            let mismatch = verdict.anchored_sha256.is_some_and(|hash| known.digest().is_some_and(|digest| digest != hash));
            if !mismatch || settings.confirm == 0 || known.is_confirmed() {
                self.give_back(job.place);
                let noted = verdict.anchored_sha256.and_then(|anchor| self.urls.noted(url, anchor));
                judge_known(&mut verdict, known, noted);
                verdict.elapsed = started.elapsed();
                self.conclude(verdict);
                return Ok(());
            }
        }
        if let Some(waiting) = self.same_url.get_mut(&url) {
            waiting.push(job.agent);
            self.give_back(job.place);
            return Ok(());
        }
        let host = self.hosts.key(uri);
        if job.place != Some(host) {
            self.give_back(job.place);
        }
        if job.place == Some(host) || self.hosts.take(host, job.agent) {
            self.same_url.insert(url, Vec::new());
            self.ready.push_back(Fetch { verdict, started, url, host, known });
        }
        Ok(())
    }

    /// It is known whether an agent is selected, if that was to be found out.
    fn determined(&mut self, job: &Job, selected: bool) {
        if !job.seen {
            self.undetermined -= 1;
            self.selected += u64::from(selected);
        }
    }

    /// The node gave no answer to a question, which it may have later.
    pub(super) fn postpone(&mut self, question: Unanswered, error: ChainError) -> Result<(), ChainError> {
        let next = self.outage.failed(question);
        self.after_failure(next, error)
    }

    fn after_failure(&mut self, next: Next, error: ChainError) -> Result<(), ChainError> {
        self.unanswered = Some(error.clone());
        match next {
            Next::GoOn => {}
            Next::Pause(pause) => {
                self.tasks.spawn(async move {
                    tokio::time::sleep(pause).await;
                    Done::Paused
                });
            }
            // Others who share the run may have a node.
            Next::GiveUp if self.checker.settings.shared => return Err(error),
            Next::GiveUp => {
                self.given_up = Some(error);
                return self.ask_again();
            }
        }
        Ok(())
    }

    /// Asks what waited for the node, or fails it when there is no node any more.
    fn ask_again(&mut self) -> Result<(), ChainError> {
        for question in self.outage.ask_again() {
            match (question, &self.given_up) {
                (Unanswered::Read(job), _) => self.woken.push_back(job),
                (Unanswered::SecondLook(verdict), None) => self.mismatches.look_at(verdict),
                (Unanswered::SecondLook(mut verdict), Some(error)) => {
                    verdict.failed(error.clone())?;
                    self.finished.push_back(verdict);
                }
            }
        }
        Ok(())
    }

    fn give_back(&mut self, place: Option<HostKey>) {
        let Some(host) = place else { return };
        if let Some(agent) = self.hosts.give_back(host) {
            self.woken.push_back(Job { agent, seen: true, place: Some(host) });
        }
    }
}
