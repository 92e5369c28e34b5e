//! Drives a run in a task of its own, so that a slow database or a slow reader of the output holds it up but never loses anything.

use std::sync::Arc;
use std::time::Duration;

use cardproof::audit::store::{RecordSettings, Recorder, Store, StoreError};
use cardproof::audit::{AuditOutcome, Found, RunInfo, Running};
use cardproof::chain::{AgentReader, ChainError};
use cardproof::fetch::CardFetcher;
use cardproof::verify::{Note, NoteCode, Reason, Verdict};
use tokio::sync::{mpsc, Notify};
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, Instant};

/// How many results may wait for the reader of the output.
const WAITING: usize = 256;

/// The results of a run as they are reached and, with a store, recorded.
pub(super) struct Pump {
    /// Ends after the last one.
    pub(super) outcomes: mpsc::Receiver<Result<AuditOutcome, StoreError>>,
    task: JoinHandle<Result<u64, ChainError>>,
    stop: Arc<Notify>,
    abandon: Arc<Notify>,
}

/// How long the mismatches found so far may take for their second look after the run was told to stop.
const LAST_LOOK: Duration = Duration::from_secs(10);

/// Where the memory of the run is.
pub(super) struct Memory {
    pub(super) store: Store,
    pub(super) run: RunInfo,
    pub(super) settings: RecordSettings,
}

enum Sink {
    Plain(mpsc::Sender<Result<AuditOutcome, StoreError>>),
    Recorded(Recorder, Store, Box<RunInfo>),
}

impl Pump {
    /// Starts the run.
    pub(super) fn start<R, F>(mut running: Running<R, F>, memory: Option<Memory>) -> Self
    where
        R: AgentReader + 'static,
        F: CardFetcher + 'static,
    {
        let (sink, outcomes) = match memory {
            None => {
                let (sender, outcomes) = mpsc::channel(WAITING);
                (Sink::Plain(sender), outcomes)
            }
            Some(Memory { store, run, settings }) => {
                let (recorder, outcomes) = Recorder::start(store.clone(), run.clone(), settings);
                (Sink::Recorded(recorder, store, Box::new(run)), outcomes)
            }
        };
        let (stop, abandon) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (stopped, abandoned) = (Arc::clone(&stop), Arc::clone(&abandon));
        let task = tokio::spawn(async move {
            let mut end = None;
            loop {
                let next = tokio::select! {
                    biased;
                    () = abandoned.notified() => return Ok(running.progress().held),
                    () = stopped.notified(), if end.is_none() => {
                        running.stop();
                        end = Some(Instant::now() + LAST_LOOK);
                        continue;
                    }
                    () = over(end) => return Ok(running.progress().held),
                    next = running.step() => next,
                };
                match next {
                    None => return Ok(running.progress().held),
                    Some(found) => {
                        // Nobody listening means that the store has failed, which the listener knows.
                        if sink.put(found?).await.is_err() {
                            return Ok(0);
                        }
                    }
                }
            }
        });
        Self { outcomes, task, stop, abandon }
    }

    /// Ends the run early: what is finished still comes out and is stored, the mismatches found so far after their second look.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Ends the run at once: it is another's now.
    pub(super) fn abandon(&self) {
        self.abandon.notify_one();
    }

    /// How the run ended, and how many mismatches there was no time or no node to look at again.
    pub(super) async fn ended(self) -> Result<u64, ChainError> {
        // It panics in no step of its own; a step of an agent is caught where it happens.
        self.task.await.unwrap_or(Ok(0))
    }
}

/// Ready when it is time; never when there is no end.
async fn over(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

impl Sink {
    async fn put(&self, found: Found) -> Result<(), StoreError> {
        match (self, found) {
            (Self::Plain(sender), Found::Verdict(verdict)) => {
                let outcome = AuditOutcome { verdict: *verdict, transitions: Vec::new() };
                sender.send(Ok(outcome)).await.map_err(|_| StoreError::Ended)
            }
            (Self::Plain(_), Found::Mismatch(_)) => Ok(()),
            (Self::Recorded(recorder, store, run), Found::Verdict(mut verdict)) => {
                name_older_anchor(store, run, &mut verdict).await?;
                recorder.put(Found::Verdict(verdict)).await
            }
            (Self::Recorded(recorder, ..), mismatch) => recorder.put(mismatch).await,
        }
    }
}

/// A body that does not match may be the card of an earlier record: the usual cause, and easily put right.
async fn name_older_anchor(store: &Store, run: &RunInfo, verdict: &mut Verdict) -> Result<(), StoreError> {
    let body = verdict.evidence.as_ref().and_then(|evidence| evidence.sha256);
    if verdict.reason != Reason::HashMismatch {
        return Ok(());
    }
    let (Some(body), Some(anchor), Some(subject)) = (body, verdict.anchored_sha256, &verdict.subject) else { return Ok(()) };
    let block = verdict.block.map(|block| block.height);
    if store.older_anchors(&run.scope, subject.token_id, anchor, block).await?.contains(&body) {
        verdict.notes.push(Note::new(NoteCode::MatchesOlderAnchor));
    }
    Ok(())
}
