use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;

use crate::chain::{AgentReader, AtBlock, Block, ChainError, ChainErrorKind, ChainSettings, Reading};
use crate::digest::Sha256Digest;
use crate::fetch::{Body, CardFetcher, FetchFailure, FetchTrace, Fetched, Origin};
use crate::identity::{Caip2, ContractAddress, TokenId};
use crate::registry::{AgentRecord, Timestamp};

use super::{judge_body, settled, Anchor, CardCheck, Check, Judged, OncePerUrl, Reason, Subject, Verdict};

/// What a [`Verifier`] judges and how.
#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// The network's name, for reports.
    pub network: String,
    /// The network's CAIP-2 identifier, for reports.
    pub chain: Caip2,
    /// The registry that the reader reads.
    pub contract: ContractAddress,
    /// Which block to judge at.
    pub at: AtBlock,
    /// Fetch and hash the card of an agent without a hash all the same.
    pub fetch_unanchored: bool,
}

impl VerifySettings {
    /// For the registry that a chain client with these settings reads, at its newest finalized block.
    pub fn new(chain: &ChainSettings) -> Self {
        Self {
            network: chain.network.name.clone().into_owned(),
            chain: chain.network.caip2(),
            contract: chain.registry,
            at: AtBlock::LastFinalized,
            fetch_unanchored: false,
        }
    }
}

/// Judges the cards of one registry's agents.
pub struct Verifier<R, F> {
    reader: R,
    fetcher: F,
    settings: VerifySettings,
    check: Option<Box<dyn CardCheck>>,
}

impl<R: AgentReader, F: CardFetcher> Verifier<R, F> {
    /// A verifier that reads records with `reader` and brings cards with `fetcher`.
    pub fn new(reader: R, fetcher: F, settings: VerifySettings) -> Self {
        Self { reader, fetcher, settings, check: None }
    }

    /// Also judges what the cards say. This never changes a verdict.
    #[must_use]
    pub fn with_check(mut self, check: impl CardCheck + 'static) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Judges one agent at a block of its own.
    ///
    /// # Errors
    /// See [`Verifier::begin`].
    pub async fn verify(&self, agent: TokenId) -> Result<Verdict, ChainError> {
        Ok(self.begin().await?.verify(agent).await)
    }

    /// Pins one finalized block for agents that belong together, each of whose URLs is fetched once.
    ///
    /// # Errors
    /// [`ChainError`] when the run is refused as a whole: a node of another network, an unknown block that was named, an
    /// unusable configuration. A node that cannot be asked is no error: every verdict of the run then says so.
    pub async fn begin(&self) -> Result<Run<'_, R, F>, ChainError> {
        let pinned = match self.reader.pin(self.settings.at).await {
            // Nobody named a block: a node that cannot find its own newest one is at fault, not the user.
            Err(error) if error.kind == ChainErrorKind::BlockNotFound && self.settings.at == AtBlock::LastFinalized => {
                Err(ChainError { kind: ChainErrorKind::NodeError, ..error })
            }
            Err(error) if Reason::of_chain_error(error.kind).is_none() => return Err(error),
            pinned => pinned,
        };
        Ok(Run { verifier: self, pinned, fetcher: OncePerUrl::new(&self.fetcher) })
    }
}

/// Verdicts at one pinned block.
pub struct Run<'a, R, F> {
    verifier: &'a Verifier<R, F>,
    pinned: Result<Block, ChainError>,
    fetcher: OncePerUrl<&'a F>,
}

impl<R: AgentReader, F: CardFetcher> Run<'_, R, F> {
    /// Judges one agent. Whatever goes wrong once a run has begun is the verdict of this agent alone.
    pub async fn verify(&self, agent: TokenId) -> Verdict {
        let mut draft = Verdict::about(&self.verifier.settings, agent);
        let started = Instant::now();
        let outcome = AssertUnwindSafe(self.judge(agent, &mut draft)).catch_unwind().await;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                draft.reason = Reason::of_chain_error(error.kind).unwrap_or(Reason::NodeError);
                draft.message = error.message;
            }
            Err(_) => draft.decide(Reason::InternalError),
        }
        draft.elapsed = started.elapsed();
        draft
    }

    /// The four steps of a verdict. What is known stays in `draft` when a step fails.
    async fn judge(&self, agent: TokenId, draft: &mut Verdict) -> Result<(), ChainError> {
        let reader = &self.verifier.reader;
        let mut block = self.pinned.clone()?;
        let mut reading = reader.read(&block, agent).await?;
        let mut started_over = false;
        loop {
            draft.found(block, &reading);
            let Some(uri) = draft.card_uri(&reading, self.verifier.settings.fetch_unanchored) else { return Ok(()) };
            let Some(record) = &reading.record else { return Ok(()) };
            // A body fetched before the anchor changed proves nothing about the new one.
            let outcome = if started_over {
                self.fetcher.afresh(uri, Origin::Untrusted).await
            } else {
                self.fetcher.fetch(uri, Origin::Untrusted).await
            };
            let outcome = settled(&self.fetcher, uri, outcome, record.metadata_hash).await;
            let found = self.check(&outcome, draft.subject.as_ref(), record);
            draft.judged(judge(outcome, record.metadata_hash).await);
            draft.checks.extend(found);
            if draft.reason != Reason::HashMismatch || self.verifier.settings.at != AtBlock::LastFinalized {
                return Ok(());
            }
            let newest = reader.pin(AtBlock::LastFinalized).await?;
            if newest.height <= block.height {
                return Ok(());
            }
            let again = reader.read(&newest, agent).await?;
            if draft.has_anchor_of(&again) {
                let checks = std::mem::take(&mut draft.checks);
                draft.found(newest, &again);
                draft.checks = checks;
                return Ok(());
            }
            if started_over {
                draft.found(newest, &again);
                draft.decide(Reason::ChangedDuringCheck);
                return Ok(());
            }
            (block, reading, started_over) = (newest, again, true);
        }
    }
}

impl<R, F> Run<'_, R, F> {
    /// What the card says wrong, if it came whole and somebody wants to know.
    fn check(&self, outcome: &Result<Fetched, FetchFailure>, subject: Option<&Subject>, record: &AgentRecord) -> Vec<Check> {
        match (&self.verifier.check, outcome, subject) {
            (Some(check), Ok(fetched), Some(subject)) => match &fetched.body.kept {
                Some(card) => check.check(card, subject, record),
                None => vec![Check::not_checked()],
            },
            _ => Vec::new(),
        }
    }
}

/// Judges a body. Near misses are searched for on a thread of their own: a hostile card may take a while, and must not keep
/// other agents' fetches from being read before their deadlines.
async fn judge(outcome: Result<Fetched, FetchFailure>, anchor: Option<Sha256Digest>) -> Judged {
    let differs = matches!(&outcome, Ok(fetched) if anchor.is_some_and(|anchor| anchor != fetched.body.sha256));
    if !differs {
        return judge_body(outcome, anchor);
    }
    match tokio::task::spawn_blocking(move || judge_body(outcome, anchor)).await {
        Ok(judged) => judged,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

impl Verdict {
    /// A verdict about an agent of which nothing is known yet, begun now.
    pub(crate) fn about(settings: &VerifySettings, token_id: TokenId) -> Self {
        let subject = Subject { network: settings.network.clone(), chain: settings.chain, contract: settings.contract, token_id };
        Self { subject: Some(subject), ..Self::undecided() }
    }

    /// Where the card is that has to be fetched. `None` decides the verdict: there is nothing to compare.
    pub(crate) fn card_uri<'r>(&mut self, reading: &'r Reading, fetch_unanchored: bool) -> Option<&'r str> {
        let Some(record) = &reading.record else {
            self.decide(Reason::AgentNotFound);
            return None;
        };
        let Some(uri) = &record.agent_uri else {
            self.decide(Reason::NoUriOnChain);
            return None;
        };
        if record.metadata_hash.is_none() && !fetch_unanchored {
            self.decide(Reason::NoHashOnChain);
            return None;
        }
        Some(uri)
    }

    /// Whether `reading` has the URI and the hash that this verdict was reached with.
    pub(crate) fn has_anchor_of(&self, reading: &Reading) -> bool {
        let same = |now: &AgentRecord| now.agent_uri == self.agent_uri && now.metadata_hash == self.anchored_sha256;
        reading.record.as_ref().is_some_and(same)
    }

    /// What the chain's failure makes of it; the error itself when the whole run is refused. A node that loses a block in
    /// mid-run is this agent's trouble alone.
    #[cfg(feature = "audit")]
    pub(crate) fn failed(&mut self, error: ChainError) -> Result<(), ChainError> {
        let lost = (error.kind == ChainErrorKind::BlockNotFound).then_some(Reason::NodeError);
        let Some(reason) = Reason::of_chain_error(error.kind).or(lost) else { return Err(error) };
        (self.reason, self.message) = (reason, error.message);
        Ok(())
    }

    /// A verdict about nothing yet, begun now.
    fn undecided() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            subject: None,
            block: None,
            anchor: None,
            agent_uri: None,
            anchored_sha256: None,
            reason: Reason::InternalError,
            message: Reason::InternalError.sentence().to_owned(),
            evidence: None,
            notes: Vec::new(),
            checks: Vec::new(),
            decoded_with: None,
            module_ref: None,
            started_at: Timestamp(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)),
            elapsed: Duration::ZERO,
        }
    }

    /// A verdict that was reached before, of which only this is known yet.
    #[cfg(feature = "audit")]
    pub(crate) fn stored(subject: Subject, reason: Reason) -> Self {
        Self { subject: Some(subject), reason, message: reason.sentence().to_owned(), ..Self::undecided() }
    }

    pub(crate) fn decide(&mut self, reason: Reason) {
        self.reason = reason;
        reason.sentence().clone_into(&mut self.message);
    }

    pub(crate) fn found(&mut self, block: Block, reading: &Reading) {
        self.block = Some(block);
        self.decoded_with = reading.decoded_with;
        self.module_ref = Some(reading.module_ref);
        let record = reading.record.as_ref();
        self.anchor = record.map(|record| Anchor {
            owner: record.owner_account,
            status: record.status,
            registered_at: Some(record.registered_at),
        });
        self.agent_uri = record.and_then(|record| record.agent_uri.clone());
        let asked = self.subject.as_ref().map(|subject| subject.token_id);
        self.checks = match (record, asked) {
            (Some(record), Some(asked)) => record.consistency(asked).into_iter().map(Check::of_inconsistency).collect(),
            _ => Vec::new(),
        };
        self.checks.extend(reading.schema_problem.as_deref().map(Check::of_schema_problem));
        self.anchored_sha256 = record.and_then(|record| record.metadata_hash);
    }

    pub(crate) fn judged(&mut self, judged: Judged) {
        self.reason = judged.reason;
        self.message = judged.message;
        self.evidence = Some(judged.evidence);
        self.notes = judged.notes;
    }

    /// The verdict on a card that a digest was given for, without any chain: `outcome` is what `uri` brought.
    pub fn of_expected(uri: String, expected: Sha256Digest, outcome: Result<Fetched, FetchFailure>) -> Self {
        let mut verdict = Self { agent_uri: Some(uri), anchored_sha256: Some(expected), ..Self::undecided() };
        verdict.elapsed = match &outcome {
            Ok(fetched) => fetched.trace.elapsed,
            Err(failure) => failure.trace.elapsed,
        };
        verdict.judged(judge_body(outcome, Some(expected)));
        match verdict.reason {
            Reason::Match => verdict.message = "The card's bytes hash to the expected hash.".into(),
            Reason::HashMismatch => verdict.message = verdict.message.replace("anchored on chain", "that was expected"),
            _ => {}
        }
        verdict
    }

    /// The verdict on a local file that a digest was given for.
    pub fn of_file(uri: String, expected: Sha256Digest, body: Body, elapsed: Duration) -> Self {
        let wire_sha256 = body.sha256;
        let trace = FetchTrace { elapsed, ..FetchTrace::default() };
        let fetched = Fetched { trace, body, wire_sha256, looks_like_bot_wall: false, length_verified: true };
        Self::of_expected(uri, expected, Ok(fetched))
    }
}
