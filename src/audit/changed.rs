use std::collections::BTreeSet;

use super::{RunInfo, Unchanged};
use crate::chain::{Block, ChainClient};
use crate::identity::TokenId;

/// Which agents have changed since an earlier run, by the registry's events: whom they are not about has not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSince {
    /// The earlier run.
    pub run: i64,
    /// Its block, whose events it knew already.
    pub after: Block,
    /// The last block whose events were read.
    pub upto: Block,
    /// Whom they are about.
    pub agents: BTreeSet<TokenId>,
}

impl ChangedSince {
    /// Looks for the newest finished run that was about all that `covers` names, and reads the events between its block and
    /// `block`. `runs` are the runs of the registry, the newest first.
    ///
    /// # Errors
    /// Why every record is to be read instead, as a clause: there is no such run, more blocks than `agents` lie between the two, or
    /// the events do not tell all.
    pub async fn find(
        chain: &ChainClient,
        runs: &[RunInfo],
        covers: Option<&str>,
        agents: u64,
        block: Block,
    ) -> Result<Self, String> {
        let covered = |run: &RunInfo| run.finished_at.is_some() && covers.is_some_and(|agents| run.covers(agents));
        let earlier = runs.iter().enumerate().find_map(|(place, run)| Some((place, run, run.block.filter(|_| covered(run))?)));
        let Some((place, run, after)) = earlier else {
            return Err("no finished run before this one is known to have been about all of these agents".into());
        };
        // What such a run wrote down about an agent is older than the events that would be read.
        let older_block = |run: &&RunInfo| run.block.is_some_and(|block| block.height < after.height);
        if let Some(newer) = runs.iter().take(place).find(older_block) {
            return Err(format!("run {} has looked at an older block since run {}", newer.id, run.id));
        }
        let Some(blocks) = block.height.checked_sub(after.height) else {
            return Err(format!("run {} was at a newer block than this one", run.id));
        };
        if blocks > agents {
            return Err(format!(
                "{blocks} blocks lie between run {} and this one, more than there are agents ({agents})",
                run.id
            ));
        }
        match chain.registry_changes(&after, &block).await {
            Ok(changes) => match changes.unclear {
                Some(why) => Err(why),
                None => Ok(Self { run: run.id, after, upto: block, agents: changes.agents }),
            },
            Err(error) => Err(format!("the events since run {} cannot be read: {error}", run.id)),
        }
    }

    /// Whether the agent is to be read: not when the events are not about it and nothing else makes it due.
    pub fn is_due(&self, agent: TokenId, unchanged: &Unchanged) -> bool {
        self.agents.contains(&agent) || !unchanged.knows(agent)
    }
}
