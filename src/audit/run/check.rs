use std::panic::AssertUnwindSafe;
use std::sync::Mutex;

use futures_util::FutureExt;

use crate::chain::{AgentReader, AtBlock, Block, ChainError, Reading};
use crate::digest::Sha256Digest;
use crate::fetch::{CardFetcher, FetchFailure, Fetched, Origin};
use crate::identity::TokenId;
use crate::verify::{judge_body, settled, Note, Reason, Verdict};

use super::urls::{Known, UrlTable};
use super::AuditSettings;

/// What every step of a run needs. Each step ends with a result, also when it panics.
pub(super) struct Checker<R, F> {
    pub(super) reader: R,
    pub(super) fetcher: F,
    pub(super) settings: AuditSettings,
    pub(super) pinned: Result<Block, ChainError>,
    /// What is known of URLs, for the next part of the run.
    pub(super) urls: Mutex<Option<UrlTable>>,
}

/// A step that panicked.
pub(super) struct Panicked;

impl<R: AgentReader, F: CardFetcher> Checker<R, F> {
    /// Whether a mismatch is looked at again at a newer block.
    pub(super) fn looks_again(&self) -> bool {
        self.settings.verify.at == AtBlock::LastFinalized
    }

    /// Reads an agent at `block`.
    pub(super) async fn read(&self, block: &Block, agent: TokenId) -> Result<Result<Reading, ChainError>, Panicked> {
        guarded(self.reader.read(block, agent)).await
    }

    /// Fetches the card of `verdict` and judges it, or judges what is known of its URL after confirming it.
    pub(super) async fn check(&self, verdict: &mut Verdict, known: Option<Known>) -> Option<Known> {
        let work = async {
            let uri = verdict.agent_uri.clone().unwrap_or_default();
            let outcome = match known {
                Some(known) => known.outcome(),
                None => self.bring(&uri, verdict.anchored_sha256).await,
            };
            let mut remembered = known.or_else(|| Known::of(&outcome));
            let first = outcome.as_ref().ok().map(|fetched| fetched.body.sha256);
            judge(verdict, outcome);
            if let (Reason::HashMismatch, Some(first)) = (verdict.reason, first) {
                if self.settings.confirm > 0 {
                    let stable = self.confirm(verdict, &uri, first, known.is_some()).await;
                    if let Some(known) = &mut remembered {
                        known.confirm(stable);
                    }
                }
            }
            remembered
        };
        match guarded(work).await {
            Ok(remembered) => remembered,
            Err(Panicked) => {
                verdict.decide(Reason::InternalError);
                None
            }
        }
    }

    /// Fetches a card that should hash to `anchor`.
    async fn bring(&self, uri: &str, anchor: Option<Sha256Digest>) -> Result<Fetched, FetchFailure> {
        let outcome = self.fetcher.fetch(uri, Origin::Untrusted).await;
        settled(&self.fetcher, uri, outcome, anchor).await
    }

    /// Fetches as often as asked to; a host that does not bring `first` each time makes the verdict unstable.
    /// When nothing but the digest was `known`, the body that comes now tells the near misses.
    async fn confirm(&self, verdict: &mut Verdict, uri: &str, first: Sha256Digest, known: bool) -> bool {
        for _ in 0..self.settings.confirm {
            tokio::time::sleep(self.settings.confirm_pause).await;
            let again = match self.fetcher.fetch(uri, Origin::Untrusted).await {
                Ok(fetched) if fetched.body.sha256 == first => {
                    if known {
                        judge(verdict, Ok(fetched));
                    }
                    continue;
                }
                Ok(fetched) => format!("bytes that hash to {}", fetched.body.sha256),
                Err(failure) => format!("nothing: {}", failure.message),
            };
            verdict.decide(Reason::Unstable);
            verdict.message = format!("The host first sent bytes that hash to {first}, and when asked again {again}.");
            return false;
        }
        true
    }

    /// A second look at a mismatch, at the newer block `newest`: it stands when the anchor is still the same.
    pub(super) async fn look_again(&self, verdict: &mut Verdict, newest: Block) -> Result<(), ChainError> {
        match guarded(self.follow(verdict, newest)).await {
            Ok(followed) => followed,
            Err(Panicked) => {
                verdict.decide(Reason::InternalError);
                Ok(())
            }
        }
    }

    /// Starts over, once, when the anchor has changed.
    async fn follow(&self, verdict: &mut Verdict, newest: Block) -> Result<(), ChainError> {
        let agent = verdict.subject.as_ref().map_or(TokenId(0), |subject| subject.token_id);
        let reading = self.reader.read(&newest, agent).await?;
        let unchanged = verdict.has_anchor_of(&reading);
        verdict.found(newest, &reading);
        if unchanged {
            return Ok(());
        }
        (verdict.evidence, verdict.notes) = (None, Vec::new());
        let Some(uri) = verdict.card_uri(&reading, self.settings.verify.fetch_unanchored) else { return Ok(()) };
        // A body fetched before the anchor changed proves nothing about the new one.
        let outcome = self.bring(uri, verdict.anchored_sha256).await;
        judge(verdict, outcome);
        if verdict.reason != Reason::HashMismatch {
            return Ok(());
        }
        let latest = self.reader.pin(AtBlock::LastFinalized).await?;
        if latest.height <= newest.height {
            return Ok(());
        }
        let reading = self.reader.read(&latest, agent).await?;
        let unchanged = verdict.has_anchor_of(&reading);
        verdict.found(latest, &reading);
        if !unchanged {
            verdict.decide(Reason::ChangedDuringCheck);
        }
        Ok(())
    }
}

/// Judges what a fetch brought by the anchor that the verdict knows.
pub(super) fn judge(verdict: &mut Verdict, outcome: Result<Fetched, FetchFailure>) {
    verdict.judged(judge_body(outcome, verdict.anchored_sha256));
}

/// Judges what an earlier fetch of the same URL brought. `noted` is what was noted on the same mismatch of another agent.
pub(super) fn judge_known(verdict: &mut Verdict, known: Known, noted: Option<&[Note]>) {
    judge(verdict, known.outcome());
    if let Some(evidence) = &mut verdict.evidence {
        evidence.wire_sha256 = None;
    }
    match (verdict.reason, noted) {
        (Reason::HashMismatch, _) if known.is_unstable() => verdict.decide(Reason::Unstable),
        (Reason::HashMismatch, Some(noted)) => verdict.notes = noted.to_vec(),
        // The body is not kept, and to fetch it again for each of thousands of agents would be an attack on its host.
        (Reason::HashMismatch, None) => verdict.message.push_str(
            " Its URL was fetched once, for another agent, so near misses were not looked for; verify this agent by itself to find \
             them.",
        ),
        _ => {}
    }
}

async fn guarded<T>(work: impl std::future::Future<Output = T>) -> Result<T, Panicked> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|_| Panicked)
}
