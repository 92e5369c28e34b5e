use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep_until, Instant};

/// The window that the rate is counted in: a second, and what setting up a connection may take. A host counts requests when they arrive,
/// and the first ones arrive later than they start.
const WINDOW: Duration = Duration::from_millis(1250);

/// How many hosts are remembered before idle ones are forgotten.
const REMEMBERED: usize = 1024;

/// How many requests may be under way to one host, and how many may start in any second: a list of a thousand agents on one
/// host must not become an attack on it (fetching facts, section 12).
#[derive(Debug)]
pub(super) struct HostLimits {
    concurrency: usize,
    rate: usize,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
}

#[derive(Debug)]
struct Host {
    slots: Arc<Semaphore>,
    /// When the last requests started or will start, oldest first; at most `rate` of them.
    starts: Mutex<VecDeque<Instant>>,
}

/// The right to one request to a host, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _slot: Option<OwnedSemaphorePermit>,
    _host: Arc<Host>,
}

impl HostLimits {
    /// At most `concurrency` at once and `rate` a second to each host; a rate of 0 is none.
    pub(super) fn new(concurrency: usize, rate: usize) -> Self {
        let concurrency = concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self { concurrency, rate, hosts: Mutex::default() }
    }

    /// Waits for a turn.
    pub(super) async fn turn(&self, name: &str) -> Turn {
        let host = self.host(name);
        // The semaphore is never closed, so this is always a permit.
        let slot = Arc::clone(&host.slots).acquire_owned().await.ok();
        if self.rate > 0 {
            let start = host.reserve(self.rate);
            sleep_until(start).await;
        }
        Turn { _slot: slot, _host: host }
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut hosts = lock(&self.hosts);
        if let Some(host) = hosts.get(name) {
            return Arc::clone(host);
        }
        if hosts.len() >= REMEMBERED {
            hosts.retain(|_, host| Arc::strong_count(host) > 1 || !host.is_rested());
        }
        let host = Arc::new(Host { slots: Arc::new(Semaphore::new(self.concurrency)), starts: Mutex::default() });
        hosts.insert(name.to_owned(), Arc::clone(&host));
        host
    }
}

impl Host {
    /// Takes the next start: now, or one window after the start that is `rate` starts back.
    fn reserve(&self, rate: usize) -> Instant {
        let mut starts = lock(&self.starts);
        let mut start = Instant::now();
        if starts.len() >= rate {
            if let Some(earlier) = starts.pop_front() {
                start = start.max(earlier + WINDOW);
            }
        }
        starts.push_back(start);
        start
    }

    fn is_rested(&self) -> bool {
        lock(&self.starts).back().is_none_or(|last| last.elapsed() >= WINDOW)
    }
}

/// A panic elsewhere leaves these maps whole, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn c_57_five_thousand_requests_to_one_host_keep_both_limits() {
        let limits = Arc::new(HostLimits::new(8, 20));
        let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let starts = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..5000 {
            let (limits, under_way, most, starts) = (limits.clone(), under_way.clone(), most.clone(), starts.clone());
            tasks.spawn(async move {
                let _turn = limits.turn("cards.example").await;
                starts.lock().unwrap().push(Instant::now());
                most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                under_way.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while tasks.join_next().await.is_some() {}
        assert!(most.load(Ordering::SeqCst) <= 8);
        let mut starts = starts.lock().unwrap().clone();
        starts.sort();
        assert_eq!(starts.len(), 5000);
        assert!(starts.windows(21).all(|pair| pair[20] - pair[0] >= WINDOW));
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_do_not_wait_for_each_other_and_idle_ones_are_forgotten() {
        let limits = HostLimits::new(1, 1);
        let before = Instant::now();
        for number in 0..REMEMBERED {
            drop(limits.turn(&format!("host-{number}")).await);
        }
        assert_eq!(before.elapsed(), Duration::ZERO);
        let held = limits.turn("held").await;
        tokio::time::advance(WINDOW).await;
        drop(limits.turn("one-more").await);
        assert_eq!(lock(&limits.hosts).len(), 2);
        drop(held);
    }
}
