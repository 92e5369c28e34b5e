use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{timeout_at, Instant};

use super::{RecordSettings, Store, StoreError};
use crate::audit::{AuditOutcome, RunInfo};
use crate::verify::Verdict;

/// How many verdicts one transaction takes at most, and how many wait for the next one.
const BATCH: usize = 500;
/// How long the first verdict of a batch waits for others. A transaction has a price of its own, whatever it holds.
const LINGER: Duration = Duration::from_millis(50);

/// Records the verdicts of a run in batches, in a task of its own. Clones feed the same task.
///
/// The task ends when the last clone is dropped: the channel of outcomes ends behind the last outcome, and by then everything is
/// stored. An error ends it too, and is the last thing in the channel.
#[derive(Debug, Clone)]
pub struct Recorder {
    verdicts: mpsc::Sender<Verdict>,
}

impl Recorder {
    /// Starts the task. Outcomes come out of the channel once they are stored; whoever does not read them holds the run up.
    pub fn start(
        store: Store,
        run: RunInfo,
        settings: RecordSettings,
    ) -> (Self, mpsc::Receiver<Result<AuditOutcome, StoreError>>) {
        let (verdicts, received) = mpsc::channel(BATCH);
        let (outcomes, finished) = mpsc::channel(BATCH);
        tokio::spawn(write(store, run, settings, received, outcomes));
        (Self { verdicts }, finished)
    }

    /// Hands a verdict over; waits when the database is slower than the audit.
    ///
    /// # Errors
    /// [`StoreError::Ended`] when the task has ended; the cause is in the channel of outcomes.
    pub async fn record(&self, verdict: Verdict) -> Result<(), StoreError> {
        self.verdicts.send(verdict).await.map_err(|_| StoreError::Ended)
    }
}

async fn write(
    store: Store,
    run: RunInfo,
    settings: RecordSettings,
    mut received: mpsc::Receiver<Verdict>,
    outcomes: mpsc::Sender<Result<AuditOutcome, StoreError>>,
) {
    while let Some(first) = received.recv().await {
        let batch = gather(first, &mut received).await;
        match store.record(&run, batch, &settings).await {
            Ok(recorded) => {
                for outcome in recorded {
                    // Nobody listening is no reason not to store.
                    let _ = outcomes.send(Ok(outcome)).await;
                }
            }
            Err(error) => {
                let _ = outcomes.send(Err(error)).await;
                return;
            }
        }
    }
}

/// The first verdict and those that come soon after it.
async fn gather(first: Verdict, received: &mut mpsc::Receiver<Verdict>) -> Vec<Verdict> {
    let until = Instant::now() + LINGER;
    let mut batch = vec![first];
    while batch.len() < BATCH {
        match timeout_at(until, received.recv()).await {
            Ok(Some(next)) => batch.push(next),
            Ok(None) | Err(_) => break,
        }
    }
    batch
}
