use std::future::Future;
use std::time::Duration;

use tokio::time::{timeout_at, Instant};

use super::outcome::FailureKind;
use super::stop::Stop;

/// A year: long enough for anyone, and no instant overflows.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The one deadline of a fetch. Waiting for a turn under our own limits moves it; nothing that a server does can.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    end: Instant,
    length: Duration,
}

impl Deadline {
    pub(super) fn after(length: Duration) -> Self {
        let length = length.min(LONGEST);
        Self { end: Instant::now() + length, length }
    }

    /// Runs `step`, which ends at the deadline at the latest. `host` names who was waited for.
    pub(super) async fn within<T>(&self, host: &str, step: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
        match timeout_at(self.end, step).await {
            Ok(done) => done,
            Err(_) => Err(Stop::new(
                FailureKind::Timeout,
                format!("no complete answer from {host} within {} (--timeout)", seconds(self.length)),
            )),
        }
    }

    /// Runs `wait`, which is of our own making, without counting it.
    pub(super) async fn paused<T>(&mut self, wait: impl Future<Output = T>) -> T {
        let before = Instant::now();
        let done = wait.await;
        self.end += before.elapsed();
        done
    }

    /// Whether there is still time after waiting for `pause`.
    pub(super) fn allows(&self, pause: Duration) -> bool {
        Instant::now() + pause.min(LONGEST) < self.end
    }

    /// An equal share of what is left, for the next of `parts` attempts.
    pub(super) fn share(&self, parts: usize) -> Self {
        let left = self.end.saturating_duration_since(Instant::now());
        let length = left / u32::try_from(parts.max(1)).unwrap_or(u32::MAX);
        Self { end: Instant::now() + length, length }
    }
}

/// A duration as people write it: `20 s`, `1.5 s`.
pub(super) fn seconds(duration: Duration) -> String {
    let text = format!("{:.3}", duration.as_secs_f64());
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_ends_at_the_deadline_and_says_so() {
        let deadline = Deadline::after(Duration::from_millis(1500));
        let before = Instant::now();
        let stop = deadline.within("cards.example", std::future::pending::<Result<(), Stop>>()).await.unwrap_err();
        assert_eq!((stop.kind, stop.retryable, stop.again), (FailureKind::Timeout, true, false));
        assert_eq!(stop.message, "no complete answer from cards.example within 1.5 s (--timeout)");
        assert_eq!(before.elapsed().as_millis(), 1500);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_turn_moves_the_deadline() {
        let mut deadline = Deadline::after(Duration::from_secs(2));
        deadline.paused(tokio::time::sleep(Duration::from_secs(60))).await;
        assert!(deadline.allows(Duration::from_secs(1)));
        assert!(!deadline.allows(Duration::from_secs(2)));
        assert!(!deadline.share(2).allows(Duration::from_millis(1100)));
        assert!(!Deadline::after(Duration::MAX).allows(Duration::MAX));
    }
}
