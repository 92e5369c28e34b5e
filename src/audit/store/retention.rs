use std::time::Duration;

use super::database::{foreign, places};
use super::record::now;
use super::{SinkKey, Store, StoreError};

/// How much was forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Runs, with all their results.
    pub runs: u64,
    /// Results.
    pub results: u64,
    /// Transitions, with their deliveries.
    pub transitions: u64,
    /// Digests of bodies that have been replaced.
    pub bodies: u64,
}

impl Store {
    /// Forgets what is older than `age`: runs and their results, transitions, digests of bodies.
    ///
    /// Kept whatever their age: what is known about each agent and the hashes that were anchored, the newest run of each
    /// registry and the newest finished one, and transitions that one of these `sinks` has still to take and is not disabled. What
    /// waits for a sink that is not among them goes with its transition.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses. Nothing is forgotten then.
    pub async fn forget(&self, age: Duration, sinks: &[SinkKey]) -> Result<Forgotten, StoreError> {
        let mut open = self.database.write("forgetting what is old").await?;
        let cutoff = now().0.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let old = "SELECT id FROM runs WHERE started_at < ? AND id NOT IN (SELECT MAX(id) FROM runs GROUP BY scope_id)
            AND id NOT IN (SELECT MAX(id) FROM runs WHERE finished_at IS NOT NULL GROUP BY scope_id)";
        let results = open.execute(&format!("DELETE FROM results WHERE run_id IN ({old})"), vec![cutoff.into()]).await?;
        for of_run in ["chunks", "held"] {
            open.execute(&format!("DELETE FROM {of_run} WHERE run_id IN ({old})"), vec![cutoff.into()]).await?;
        }
        let runs = open.execute(&format!("DELETE FROM runs WHERE id IN ({old})"), vec![cutoff.into()]).await?;
        let mut enabled = Vec::new();
        for sink in sinks {
            let disabled = "SELECT 1 FROM disabled_sinks WHERE sink = ? AND target = ?";
            let of_sink = vec![foreign(&sink.name).into(), sink.target.as_str().into()];
            if open.row(disabled, of_sink).await?.is_none() {
                enabled.push(sink);
            }
        }
        let mut told = "DELETE FROM transitions WHERE at < ?".to_owned();
        if !enabled.is_empty() {
            told.push_str(&format!(
                " AND idempotency_key NOT IN (SELECT idempotency_key FROM deliveries WHERE acknowledged_at IS NULL AND sink IN {})",
                places(1, enabled.len())
            ));
        }
        let values = std::iter::once(cutoff.into()).chain(enabled.iter().map(|sink| foreign(&sink.name).into())).collect();
        let transitions = open.execute(&told, values).await?;
        let orphans = "DELETE FROM deliveries WHERE idempotency_key NOT IN (SELECT transitions.idempotency_key FROM transitions)";
        open.execute(orphans, Vec::new()).await?;
        let replaced = "DELETE FROM digests WHERE kind = 'body' AND last_seen < ? AND NOT EXISTS (SELECT 1 FROM agents
            WHERE agents.scope_id = digests.scope_id AND agents.token_id = digests.token_id
                AND agents.body_sha256 = digests.sha256)";
        let bodies = open.execute(replaced, vec![cutoff.into()]).await?;
        open.commit().await?;
        Ok(Forgotten { runs, results, transitions, bodies })
    }
}
