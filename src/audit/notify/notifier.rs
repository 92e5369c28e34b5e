use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{sleep, timeout_at, Instant};

use super::{Answer, NotifyError, Sink};
use crate::audit::store::{Delivery, SinkKey, Store, StoreError, LONGEST_WAIT};

/// How many deliveries to one sink are under way at once.
const AT_ONCE: u16 = 8;
/// The longest pause between two attempts at one delivery.
const LONGEST: Duration = Duration::from_secs(3600);
/// How deliveries are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifySettings {
    /// The pause after the first failure; it doubles with each one, up to an hour.
    pub first_pause: Duration,
    /// How long a delivery that is under way is left alone by other processes: longer than any sink may take.
    pub hold: Duration,
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self { first_pause: Duration::from_secs(2), hold: Duration::from_secs(120) }
    }
}

/// What came of deliveries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    /// How many were acknowledged.
    pub acknowledged: u64,
    /// How many attempts failed; each will be repeated.
    pub failed: u64,
    /// What went wrong, the sink's name and a sentence for each sink that had a failure: its last one.
    pub troubles: Vec<String>,
}

/// Delivers what the store has noted for its sinks.
#[derive(Debug, Clone)]
pub struct Notifier {
    store: Store,
    sinks: Vec<Sink>,
    settings: NotifySettings,
}

impl Notifier {
    /// A notifier for these sinks.
    ///
    /// # Errors
    /// [`NotifyError::Setup`] when two sinks have the same name: each would take what the other was to be told.
    pub fn new(store: Store, sinks: Vec<Sink>, settings: NotifySettings) -> Result<Self, NotifyError> {
        for (index, sink) in sinks.iter().enumerate() {
            if sinks.iter().skip(index + 1).any(|other| other.name() == sink.name()) {
                return Err(NotifyError::Setup("the same sink is configured twice"));
            }
        }
        Ok(Self { store, sinks, settings })
    }

    /// What its sinks are called: for [`RecordSettings`](crate::audit::store::RecordSettings), so that deliveries are noted.
    pub fn names(&self) -> Vec<String> {
        self.sinks.iter().map(|sink| sink.name().to_owned()).collect()
    }

    /// Its sinks, each with a digest of where it leads.
    pub fn keys(&self) -> Vec<SinkKey> {
        self.sinks.iter().map(Sink::key).collect()
    }

    /// Attempts every delivery that is due, once. Sinks do not wait for each other; one that fails is left alone until its
    /// next attempts are due.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses. A failing sink is no error but in [`Delivered::troubles`].
    pub async fn deliver(&self) -> Result<Delivered, StoreError> {
        self.round(None).await
    }

    /// One attempt at what is due. After `end` no other is begun, and what is under way has failed.
    async fn round(&self, end: Option<Instant>) -> Result<Delivered, StoreError> {
        let mut total = Delivered::default();
        for done in join_all(self.sinks.iter().map(|sink| self.deliver_to(sink, end))).await {
            add(&mut total, done?);
        }
        Ok(total)
    }

    /// Delivers, with the pauses between attempts, until everything is acknowledged or `patience` is over. It holds for a sink that
    /// takes its time as well: an attempt that is under way then has failed.
    ///
    /// # Errors
    /// As [`Notifier::deliver`].
    pub async fn drain(&self, patience: Duration) -> Result<Delivered, StoreError> {
        let end = Instant::now() + patience;
        let mut total = Delivered::default();
        loop {
            let done = self.round(Some(end)).await?;
            let quiet = done.acknowledged == 0 && done.failed == 0;
            if !quiet {
                total.troubles.clear();
            }
            add(&mut total, done);
            let Some(pause) = self.until_next().await? else { return Ok(total) };
            if Instant::now() + pause >= end {
                return Ok(total);
            }
            sleep(pause).await;
        }
    }

    /// How long until the next delivery is due; `None` when nothing is outstanding.
    async fn until_next(&self) -> Result<Option<Duration>, StoreError> {
        let mut first = None;
        for sink in &self.sinks {
            if self.store.disabled(&sink.key()).await?.is_some() {
                continue;
            }
            if let Some(pause) = self.store.outstanding(&sink.key()).await?.due_in {
                // Never zero: what another process is just taking must not make this one spin.
                let pause = pause.max(Duration::from_millis(10));
                first = Some(first.map_or(pause, |first: Duration| first.min(pause)));
            }
        }
        Ok(first)
    }

    async fn deliver_to(&self, sink: &Sink, end: Option<Instant>) -> Result<Delivered, StoreError> {
        let mut total = Delivered::default();
        while end.is_none_or(|end| Instant::now() < end) {
            let due = self.store.claim_deliveries(&sink.key(), AT_ONCE, self.settings.hold).await?;
            let answers = join_all(due.iter().map(|delivery| told(sink, delivery, end))).await;
            let mut stop = due.is_empty();
            for (delivery, answer) in due.iter().zip(answers) {
                stop |= !self.note(sink, delivery, answer, &mut total).await?;
            }
            if stop {
                break;
            }
        }
        Ok(total)
    }

    /// Notes what became of a delivery; `false` when the sink should be left alone for now.
    async fn note(&self, sink: &Sink, delivery: &Delivery, answer: Answer, total: &mut Delivered) -> Result<bool, StoreError> {
        let key = &delivery.transition.idempotency_key;
        let (why, pause) = match answer {
            Answer::Taken => {
                self.store.acknowledge(sink.name(), key).await?;
                total.acknowledged += 1;
                return Ok(true);
            }
            // A receiver must not silence an alert for ever.
            Answer::Failed(why, asked) => {
                let pause = self.pause(delivery.attempt);
                (why, asked.map_or(pause, |asked| asked.min(LONGEST_WAIT).max(pause)))
            }
            Answer::Gone(why) => {
                self.store.disable_sink(&sink.key(), &why).await?;
                (why, Duration::ZERO)
            }
        };
        self.store.postpone(&sink.key(), key, pause, &why).await?;
        total.failed += 1;
        total.troubles = vec![format!("{}: {why}", sink.name())];
        Ok(false)
    }

    /// Doubles with each attempt; up to a quarter of it is chance, so that many deliveries do not come back together.
    fn pause(&self, attempt: u64) -> Duration {
        let doublings = u32::try_from(attempt.saturating_sub(1).min(20)).unwrap_or(20);
        let pause = self.settings.first_pause.saturating_mul(1 << doublings).min(LONGEST);
        pause.mul_f64(1.0 - fastrand::f64() / 4.0)
    }
}

async fn told(sink: &Sink, delivery: &Delivery, end: Option<Instant>) -> Answer {
    let Some(end) = end else { return sink.tell(delivery).await };
    let over = |_| Answer::Failed("it did not take the change before the time for telling was over".into(), None);
    timeout_at(end, sink.tell(delivery)).await.unwrap_or_else(over)
}

fn add(total: &mut Delivered, more: Delivered) {
    total.acknowledged += more.acknowledged;
    total.failed += more.failed;
    total.troubles.extend(more.troubles);
}
