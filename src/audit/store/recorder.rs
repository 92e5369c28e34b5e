use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{timeout_at, Instant};

use super::{RecordSettings, Store, StoreError};
use crate::audit::{AuditOutcome, Found, RunInfo};
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
    found: mpsc::Sender<Found>,
}

impl Recorder {
    /// Starts the task. Outcomes come out of the channel once they are stored; whoever does not read them holds the run up.
    pub fn start(
        store: Store,
        run: RunInfo,
        settings: RecordSettings,
    ) -> (Self, mpsc::Receiver<Result<AuditOutcome, StoreError>>) {
        let (found, received) = mpsc::channel(BATCH);
        let (outcomes, finished) = mpsc::channel(BATCH);
        tokio::spawn(write(store, run, settings, received, outcomes));
        (Self { found }, finished)
    }

    /// Hands a verdict over; waits when the database is slower than the audit.
    ///
    /// # Errors
    /// [`StoreError::Ended`] when the task has ended; the cause is in the channel of outcomes.
    pub async fn record(&self, verdict: Verdict) -> Result<(), StoreError> {
        self.put(Found::Verdict(Box::new(verdict))).await
    }

    /// Hands over whatever a run has found: a verdict is recorded, a mismatch that awaits its second look is kept beside the results.
    ///
    /// # Errors
    /// As [`Recorder::record`].
    pub async fn put(&self, found: Found) -> Result<(), StoreError> {
        self.found.send(found).await.map_err(|_| StoreError::Ended)
    }
}

async fn write(
    store: Store,
    run: RunInfo,
    settings: RecordSettings,
    mut received: mpsc::Receiver<Found>,
    outcomes: mpsc::Sender<Result<AuditOutcome, StoreError>>,
) {
    while let Some(first) = received.recv().await {
        let (batch, mismatches) = gather(first, &mut received).await;
        // These first: the verdict that takes the place of one may be in the same batch.
        let recorded = match store.hold_mismatches(&run, &mismatches).await {
            Ok(()) => store.record(&run, batch, &settings).await,
            Err(error) => Err(error),
        };
        match recorded {
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

/// The first that was found and what comes soon after it: verdicts, and mismatches that await their second look.
async fn gather(first: Found, received: &mut mpsc::Receiver<Found>) -> (Vec<Verdict>, Vec<Verdict>) {
    let until = Instant::now() + LINGER;
    let (mut verdicts, mut mismatches) = (Vec::new(), Vec::new());
    let mut next = Some(first);
    while let Some(found) = next {
        match found {
            Found::Verdict(verdict) => verdicts.push(*verdict),
            Found::Mismatch(verdict) => mismatches.push(*verdict),
        }
        if verdicts.len() + mismatches.len() >= BATCH {
            break;
        }
        next = timeout_at(until, received.recv()).await.ok().flatten();
    }
    (verdicts, mismatches)
}
