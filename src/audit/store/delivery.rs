use std::time::Duration;

use super::database::{foreign, places, unforeign, Dialect, Row, Transaction};
use super::history::transition_of;
use super::record::now;
use super::runs::find_scope;
use super::{Store, StoreError};
use crate::audit::{RunScope, Transition};
use crate::identity::ContractAddress;
use crate::registry::Timestamp;

/// The longest that a delivery may be put off by whoever notes its failure.
pub const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// That nothing that had changed about the same agent before waits for the same sink. Those of before are not told out of order.
const FIRST: &str = "NOT EXISTS (SELECT 1 FROM transitions AS earlier
    JOIN deliveries AS waiting ON waiting.idempotency_key = earlier.idempotency_key
    WHERE earlier.scope_id = transitions.scope_id AND earlier.token_id = transitions.token_id AND earlier.id < transitions.id
        AND waiting.sink = deliveries.sink AND waiting.acknowledged_at IS NULL)";

/// A transition on its way to a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// What is to be told.
    pub transition: Transition,
    /// The registry that it is about.
    pub scope: RunScope,
    /// The run that found it.
    pub run: i64,
    /// Which attempt this is, from 1.
    pub attempt: u64,
}

/// Whom deliveries are for.
///
/// What waits, waits for the name, and goes wherever that leads. That a receiver wants nothing any more, or is to be left alone for a
/// while, is about the target alone: a corrected URL is simply used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SinkKey {
    /// What the sink is called.
    pub name: String,
    /// A digest of the URL or the command; empty for a sink that has neither.
    pub target: String,
}

impl From<&str> for SinkKey {
    /// A sink without a target.
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), target: String::new() }
    }
}

/// What a sink has not acknowledged yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// How many deliveries.
    pub count: u64,
    /// How long until the first of them is due; zero when it is, `None` when there are none.
    pub due_in: Option<Duration>,
}

/// What waits for one sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The sink's name, that of one that is no longer configured, too.
    pub sink: String,
    /// How many deliveries it has not acknowledged yet.
    pub count: u64,
}

impl Store {
    /// The deliveries to a sink that are due, at most `limit` of them, in the order in which their transitions were recorded. What has
    /// changed about an agent waits for what had changed about it before: of each agent there is one at a time.
    ///
    /// An attempt that would be made later than [`LONGEST_WAIT`] from now was put off by a clock that was wrong: it is due.
    ///
    /// Each counts as attempted and is not handed out again for `hold`, so that several processes do not deliver the same; a
    /// process that is killed meanwhile only delays it. Nothing is due to a disabled sink.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn claim_deliveries(&self, sink: &SinkKey, limit: u16, hold: Duration) -> Result<Vec<Delivery>, StoreError> {
        let mut open = self.database.write("looking for deliveries").await?;
        let (name, target, at) = (foreign(&sink.name), sink.target.as_str(), now());
        let lock = match open.dialect() {
            Dialect::Sqlite => "",
            Dialect::Postgres => " FOR UPDATE OF deliveries SKIP LOCKED",
        };
        let sql = format!(
            "UPDATE deliveries SET attempts = attempts + 1, next_attempt = ?, failed_target = NULL WHERE sink = ? AND idempotency_key IN (
                SELECT deliveries.idempotency_key FROM deliveries
                JOIN transitions ON transitions.idempotency_key = deliveries.idempotency_key
                WHERE deliveries.sink = ? AND acknowledged_at IS NULL AND (next_attempt <= ? OR next_attempt > ? OR failed_target <> ?)
                    AND {FIRST}
                    AND NOT EXISTS (SELECT 1 FROM disabled_sinks WHERE disabled_sinks.sink = ? AND disabled_sinks.target = ?)
                ORDER BY transitions.id LIMIT ?{lock})
            RETURNING idempotency_key, attempts"
        );
        let values = vec![
            later(at, hold).0.into(),
            name.as_str().into(),
            name.as_str().into(),
            at.0.into(),
            later(at, LONGEST_WAIT).0.into(),
            target.into(),
            name.as_str().into(),
            target.into(),
            i64::from(limit).into(),
        ];
        let rows = open.rows(&sql, values).await?;
        let keys = rows.iter().map(|row| open.explained(row.text(0))).collect::<Result<Vec<_>, _>>()?;
        let attempts = rows.iter().map(|row| open.explained(row.number(1))).collect::<Result<Vec<_>, _>>()?;
        let mut deliveries = Vec::with_capacity(keys.len());
        if !keys.is_empty() {
            let sql = format!(
                "SELECT kind, token_id, before_value, after_value, at, idempotency_key, run_id, network, genesis,
                    contract_index, contract_subindex
                FROM transitions JOIN scopes ON scopes.id = transitions.scope_id
                WHERE idempotency_key IN {} ORDER BY transitions.id",
                places(1, keys.len())
            );
            for row in open.rows(&sql, keys.iter().map(|key| key.as_str().into()).collect()).await? {
                let transition = transition_of(&open, &row)?;
                let place = keys.iter().position(|key| *key == transition.idempotency_key);
                let attempt = place.and_then(|place| attempts.get(place)).copied().unwrap_or(1);
                let (run, scope) = (open.explained(row.int(6))?, scope_of(&open, &row)?);
                deliveries.push(Delivery { transition, scope, run, attempt });
            }
        }
        open.commit().await?;
        Ok(deliveries)
    }

    /// Notes that a sink has taken a delivery. It is never handed out again.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn acknowledge(&self, sink: &str, idempotency_key: &str) -> Result<(), StoreError> {
        let mut open = self.database.write("noting a delivery").await?;
        let sql = "UPDATE deliveries SET acknowledged_at = ?, last_error = NULL WHERE sink = ? AND idempotency_key = ?";
        open.execute(sql, vec![now().0.into(), foreign(sink).into(), idempotency_key.into()]).await?;
        open.commit().await
    }

    /// Notes why a delivery failed, and makes it due again after `wait`; to another target of the sink at once.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn postpone(&self, sink: &SinkKey, idempotency_key: &str, wait: Duration, why: &str) -> Result<(), StoreError> {
        let mut open = self.database.write("noting a failed delivery").await?;
        let sql = "UPDATE deliveries SET next_attempt = ?, last_error = ?, failed_target = ?
            WHERE sink = ? AND idempotency_key = ? AND acknowledged_at IS NULL";
        let (due, target) = (later(now(), wait).0.into(), sink.target.as_str().into());
        open.execute(sql, vec![due, foreign(why).into(), target, foreign(&sink.name).into(), idempotency_key.into()]).await?;
        open.commit().await
    }

    /// Stops deliveries to a sink's target, for all processes, until it is enabled again. What is outstanding is kept.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn disable_sink(&self, sink: &SinkKey, why: &str) -> Result<(), StoreError> {
        let mut open = self.database.write("disabling a sink").await?;
        let sql = "INSERT INTO disabled_sinks (sink, target, disabled_at, reason) VALUES (?, ?, ?, ?)
            ON CONFLICT (sink, target) DO NOTHING";
        open.execute(sql, vec![foreign(&sink.name).into(), sink.target.as_str().into(), now().0.into(), foreign(why).into()])
            .await?;
        open.commit().await
    }

    /// Lets deliveries to a sink go on, and makes all that it has not acknowledged due at once.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn enable_sink(&self, sink: &SinkKey) -> Result<(), StoreError> {
        let mut open = self.database.write("enabling a sink").await?;
        let (name, target) = (foreign(&sink.name), sink.target.as_str());
        let enable = "DELETE FROM disabled_sinks WHERE sink = ? AND target = ?";
        open.execute(enable, vec![name.as_str().into(), target.into()]).await?;
        let due = "UPDATE deliveries SET next_attempt = ? WHERE sink = ? AND acknowledged_at IS NULL";
        open.execute(due, vec![now().0.into(), name.into()]).await?;
        open.commit().await
    }

    /// Why a sink's target is disabled; `None` when it is not.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn disabled(&self, sink: &SinkKey) -> Result<Option<String>, StoreError> {
        let mut open = self.database.read("reading the state of a sink").await?;
        let select = "SELECT reason FROM disabled_sinks WHERE sink = ? AND target = ?";
        let row = open.row(select, vec![foreign(&sink.name).into(), sink.target.as_str().into()]).await?;
        row.map(|row| open.explained(row.text(0)).map(unforeign)).transpose()
    }

    /// What waits for each sink that anything waits for: changes of one registry, or of all.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn waiting(&self, scope: Option<&RunScope>) -> Result<Vec<Waiting>, StoreError> {
        let mut open = self.database.read("counting deliveries").await?;
        let (mut of_scope, mut values) = ("", Vec::new());
        if let Some(scope) = scope {
            let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(Vec::new()) };
            of_scope = " AND idempotency_key IN (SELECT transitions.idempotency_key FROM transitions WHERE scope_id = ?)";
            values.push(scope_id.into());
        }
        let sql =
            format!("SELECT sink, COUNT(*) FROM deliveries WHERE acknowledged_at IS NULL{of_scope} GROUP BY sink ORDER BY sink");
        let rows = open.rows(&sql, values).await?;
        let waiting = rows
            .iter()
            .map(|row| Ok(Waiting { sink: unforeign(open.explained(row.text(0))?), count: open.explained(row.number(1))? }));
        waiting.collect()
    }

    /// Gives up all that a sink of this name has not acknowledged, of every registry, wherever the name led, and says how much that
    /// was. The changes themselves stay.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn give_up(&self, sink: &str) -> Result<u64, StoreError> {
        let mut open = self.database.write("giving up deliveries").await?;
        let name = foreign(sink);
        let given_up =
            open.execute("DELETE FROM deliveries WHERE sink = ? AND acknowledged_at IS NULL", vec![name.as_str().into()]).await?;
        open.execute("DELETE FROM disabled_sinks WHERE sink = ?", vec![name.into()]).await?;
        open.commit().await?;
        Ok(given_up)
    }

    /// What a sink has not acknowledged yet.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn outstanding(&self, sink: &SinkKey) -> Result<Outstanding, StoreError> {
        let mut open = self.database.read("counting deliveries").await?;
        let (target, at) = (sink.target.as_str(), now());
        let due = "CASE WHEN next_attempt > ? OR failed_target <> ? THEN 0 ELSE next_attempt END";
        let sql = format!(
            "SELECT COUNT(*), MIN(CASE WHEN {FIRST} THEN {due} END)
                FROM deliveries JOIN transitions ON transitions.idempotency_key = deliveries.idempotency_key
                WHERE sink = ? AND acknowledged_at IS NULL"
        );
        let values = vec![later(at, LONGEST_WAIT).0.into(), target.into(), foreign(&sink.name).into()];
        let Some(row) = open.row(&sql, values).await? else {
            return Ok(Outstanding::default());
        };
        let next = open.explained(row.maybe_number(1))?;
        let due_in = next.map(|next| Duration::from_millis(next.saturating_sub(at.0)));
        Ok(Outstanding { count: open.explained(row.number(0))?, due_in })
    }
}

fn later(at: Timestamp, wait: Duration) -> Timestamp {
    // What reads as negative in the database would be due at once.
    let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).min(1 << 40);
    Timestamp(at.0.saturating_add(wait))
}

fn scope_of(open: &Transaction, row: &Row) -> Result<RunScope, StoreError> {
    let genesis = open.explained(row.text(8))?.parse().map_err(|_| open.no("hash of a genesis block"))?;
    let contract = ContractAddress::new(open.explained(row.number(9))?, open.explained(row.number(10))?);
    Ok(RunScope { network: unforeign(open.explained(row.text(7))?), genesis, contract })
}
