//! Drives a run in a task of its own, so that a slow database or a slow reader of the output holds it up but never loses anything.

use std::sync::Arc;

use cardproof::audit::store::{RecordSettings, Recorder, Store, StoreError};
use cardproof::audit::{AuditOutcome, RunInfo, Running};
use cardproof::chain::{AgentReader, ChainError};
use cardproof::fetch::CardFetcher;
use cardproof::verify::{Note, NoteCode, Reason, Verdict};
use tokio::sync::{mpsc, Notify};
use tokio::task::JoinHandle;

/// How many results may wait for the reader of the output.
const WAITING: usize = 256;

/// The results of a run as they are reached and, with a store, recorded.
pub(super) struct Pump {
    /// Ends after the last one.
    pub(super) outcomes: mpsc::Receiver<Result<AuditOutcome, StoreError>>,
    task: JoinHandle<Result<(), ChainError>>,
    stop: Arc<Notify>,
}

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
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            loop {
                let next = tokio::select! {
                    biased;
                    () = stopped.notified() => return Ok(()),
                    next = running.next() => next,
                };
                match next {
                    None => return Ok(()),
                    Some(verdict) => {
                        // Nobody listening means that the store has failed, which the listener knows.
                        if sink.put(verdict?).await.is_err() {
                            return Ok(());
                        }
                    }
                }
            }
        });
        Self { outcomes, task, stop }
    }

    /// Ends the run early: what is finished still comes out and is stored.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// How the run ended.
    pub(super) async fn ended(self) -> Result<(), ChainError> {
        // It panics in no step of its own; a step of an agent is caught where it happens.
        self.task.await.unwrap_or(Ok(()))
    }
}

impl Sink {
    async fn put(&self, mut verdict: Verdict) -> Result<(), StoreError> {
        match self {
            Self::Plain(sender) => {
                let outcome = AuditOutcome { verdict, transitions: Vec::new() };
                sender.send(Ok(outcome)).await.map_err(|_| StoreError::Ended)
            }
            Self::Recorded(recorder, store, run) => {
                name_older_anchor(store, run, &mut verdict).await?;
                recorder.record(verdict).await
            }
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
