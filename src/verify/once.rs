use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::digest::Sha256Digest;
use crate::fetch::{asked_url, CardFetcher, FetchFailure, Fetched, Origin};

type Outcome = Arc<OnceCell<Result<Fetched, FetchFailure>>>;

/// Fetches each distinct URL once, however many agents of a run name it.
///
/// [`OncePerUrl::afresh`] goes past what is remembered: after an anchor changed, an older body proves nothing (C-09).
/// At most 16 MiB of bodies are remembered; of later ones only the digests are, which decide a verdict alone.
#[derive(Debug)]
pub struct OncePerUrl<F> {
    fetcher: F,
    outcomes: Mutex<HashMap<(String, Origin), Outcome>>,
    bodies: AtomicU64,
}

/// How many bytes of bodies are remembered for near-miss notes of later agents with the same URL: 16 MiB.
const BODIES_KEPT: u64 = 16 << 20;

impl<F: CardFetcher> OncePerUrl<F> {
    /// Remembers what `fetcher` brings.
    pub fn new(fetcher: F) -> Self {
        Self { fetcher, outcomes: Mutex::default(), bodies: AtomicU64::new(0) }
    }

    /// Fetches without looking at what is remembered.
    ///
    /// # Errors
    /// As the fetcher underneath.
    pub async fn afresh(&self, uri: &str, origin: Origin) -> Result<Fetched, FetchFailure> {
        self.fetcher.fetch(uri, origin).await
    }
}

impl<F: CardFetcher> CardFetcher for OncePerUrl<F> {
    async fn fetch(&self, uri: &str, origin: Origin) -> Result<Fetched, FetchFailure> {
        let outcome = {
            let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            // However it is spelled, a host is asked for the same thing.
            let asked = asked_url(uri).map_or_else(|| uri.to_owned(), String::from);
            Arc::clone(outcomes.entry((asked, origin)).or_default())
        };
        let mut first = None;
        let remembered = outcome.get_or_init(|| async {
            let mut brought = self.fetcher.fetch(uri, origin).await;
            first = Some(brought.clone());
            if let Ok(fetched) = &mut brought {
                let bytes = fetched.body.kept.as_ref().map_or(0, |kept| kept.len() as u64);
                if self.bodies.fetch_add(bytes, Ordering::Relaxed) + bytes > BODIES_KEPT {
                    fetched.body.kept = None;
                }
            }
            brought
        });
        let remembered = remembered.await.clone();
        first.unwrap_or(remembered)
    }

    async fn look_again(&self, uri: &str, fetched: Fetched, expected: Sha256Digest) -> Fetched {
        self.fetcher.look_again(uri, fetched, expected).await
    }
}
