//! The agents that a run left out because nothing about them had changed. Their verdict is the one that is remembered of them, as
//! long as no later run has judged them anew.

use std::collections::HashSet;

use cardproof::audit::store::{LastResult, Store};
use cardproof::audit::{RunInfo, Targets};
use cardproof::identity::{AccountAddress, TokenId};
use cardproof::registry::AgentStatus;
use cardproof::verify::{Summary, Verdict};

use super::database;
use crate::cli::exit::CliError;

/// Whom a run that has ended left out.
pub(super) struct LeftOut {
    about: Option<About>,
    judged: HashSet<TokenId>,
    /// How many of each class: those that the run counted and did not judge.
    counts: [u64; 4],
}

/// Whom a run is about, by what it covers.
struct About {
    listed: Option<Targets>,
    owner: Option<AccountAddress>,
    status: Option<AgentStatus>,
}

impl LeftOut {
    /// How many `run` left out, by what it counted and what it judged.
    pub(super) async fn of(store: &Store, run: &RunInfo) -> Result<Self, CliError> {
        let (mut judged, mut found, mut after) = (HashSet::new(), Summary::default(), None);
        loop {
            let results = store.results(run, after).await.map_err(database::failed)?;
            let Some(last) = results.last() else { break };
            after = token_of(&last.verdict);
            for outcome in &results {
                judged.extend(token_of(&outcome.verdict));
                found.add(outcome.verdict.class());
            }
        }
        let (counted, found) = (by_class(&run.summary), by_class(&found));
        let counts = std::array::from_fn(|class| counted[class].saturating_sub(found[class]));
        Ok(Self { about: run.covers.as_deref().and_then(About::of), judged, counts })
    }

    /// How many they are.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Refuses the report of a run that left out others than those who are remembered as they were then: without them it would look
    /// better than the run was.
    pub(super) async fn check(&self, store: &Store, run: &RunInfo) -> Result<(), CliError> {
        let (mut remembered, mut after) = (Summary::default(), None);
        while let Some(verdicts) = self.next(store, run, &mut after).await? {
            verdicts.iter().for_each(|verdict| remembered.add(verdict.class()));
        }
        if by_class(&remembered) == self.counts {
            return Ok(());
        }
        let message = format!(
            "run {} counted {} agents without judging them, because nothing about them had changed, and not all of them are remembered \
             as they were then: later runs have judged them anew",
            run.id,
            self.count()
        );
        Err(CliError::cannot_tell("report_not_whole", message)
            .hint("cardproof audit report, without a number, is about the newest run; cardproof audit history AGENT shows an agent's results"))
    }

    /// The next verdicts on those who are remembered as they were then; `None` when there are no more.
    pub(super) async fn next(
        &self,
        store: &Store,
        run: &RunInfo,
        after: &mut Option<TokenId>,
    ) -> Result<Option<Vec<Verdict>>, CliError> {
        if self.count() == 0 {
            return Ok(None);
        }
        let results = store.last_results(&run.scope, *after).await.map_err(database::failed)?;
        let Some(last) = results.last() else { return Ok(None) };
        *after = token_of(&last.verdict);
        let left_out = |result: LastResult| (result.run < run.id && self.has(&result.verdict)).then_some(result.verdict);
        Ok(Some(results.into_iter().filter_map(left_out).collect()))
    }

    fn has(&self, verdict: &Verdict) -> bool {
        let judged = token_of(verdict).is_none_or(|agent| self.judged.contains(&agent));
        !judged && self.about.as_ref().is_some_and(|about| about.has(verdict))
    }
}

impl About {
    /// `None` when it is not written down whom the run is about, as of a very long list.
    fn of(covers: &str) -> Option<Self> {
        let of_status = |status: AgentStatus| Some((covers.strip_suffix(&format!(", {}", status.as_str()))?, Some(status)));
        let narrowed = [AgentStatus::Active, AgentStatus::Revoked].into_iter().find_map(of_status);
        let (agents, status) = narrowed.unwrap_or((covers, None));
        if agents == RunInfo::ALL {
            return Some(Self { listed: None, owner: None, status });
        }
        if let Some(owner) = agents.strip_prefix("owner ") {
            return Some(Self { listed: None, owner: Some(owner.parse().ok()?), status });
        }
        let listed: Targets = agents.strip_prefix("ids ")?.parse().ok()?;
        Some(Self { listed: Some(listed.ascending()), owner: None, status })
    }

    fn has(&self, verdict: &Verdict) -> bool {
        let listed = |agent| self.listed.as_ref().is_none_or(|listed| listed.contains(agent));
        let anchor = verdict.anchor.as_ref();
        token_of(verdict).is_some_and(listed)
            && anchor.is_some_and(|anchor| {
                self.owner.is_none_or(|owner| owner == anchor.owner) && self.status.is_none_or(|status| status == anchor.status)
            })
    }
}

fn token_of(verdict: &Verdict) -> Option<TokenId> {
    verdict.subject.as_ref().map(|subject| subject.token_id)
}

fn by_class(counts: &Summary) -> [u64; 4] {
    [counts.matches, counts.mismatches, counts.absent, counts.undecided]
}
