use std::collections::HashSet;
use std::time::Duration;

use super::database::{foreign, places, Dialect, Transaction, Value};
use super::{Store, StoreError};
use crate::audit::RunInfo;
use crate::identity::TokenId;

/// A part of a run that one worker has to itself, until it is done or its time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: i64,
    /// Which of its parts, from 0.
    pub number: i64,
    /// Who has it. Two workers must never share a name.
    pub worker: String,
    /// The agents of the part that were not recorded yet when it was taken.
    pub token_ids: Vec<TokenId>,
}

/// How far a shared run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// How many parts it has.
    pub parts: u64,
    /// How many of them are done.
    pub done: u64,
    /// How many are in the hands of a worker whose time is not over.
    pub leased: u64,
}

impl Shares {
    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.done == self.parts
    }
}

impl Store {
    /// Divides the agents of a run into parts of at most `size` (0 means 1), for workers to take. A run that is shared already
    /// stays as it is.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn share_run(&self, run: &RunInfo, agents: &[TokenId], size: usize) -> Result<(), StoreError> {
        let mut open = self.database.write("sharing a run").await?;
        let parts: Vec<_> = agents.chunks(size.max(1)).enumerate().collect();
        for some in parts.chunks(500) {
            let values = some.iter().flat_map(|(number, agents)| {
                let number = i64::try_from(*number).unwrap_or(i64::MAX);
                let agents = agents.iter().map(TokenId::to_string).collect::<Vec<_>>().join(",");
                [Value::from(run.id), number.into(), agents.into()]
            });
            let sql = format!(
                "INSERT INTO chunks (run_id, number, token_ids) VALUES {} ON CONFLICT (run_id, number) DO NOTHING",
                places(some.len(), 3)
            );
            open.execute(&sql, values.collect()).await?;
        }
        open.commit().await
    }

    /// Takes the next part of a run that nobody has, or whose worker's time is over; `None` when there is none now.
    ///
    /// The time is the database's, so that workers on several machines mean the same.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn take_lease(&self, run: &RunInfo, worker: &str, length: Duration) -> Result<Option<Lease>, StoreError> {
        let mut open = self.database.write("taking a part of a run").await?;
        let clock = clock(open.dialect());
        let free = "run_id = ? AND done_at IS NULL AND (leased_until IS NULL OR leased_until <=";
        let select = match open.dialect() {
            Dialect::Sqlite => format!("SELECT number FROM chunks WHERE {free} {clock}) ORDER BY number LIMIT 1"),
            // Workers that ask at the same moment pass by what another is just taking.
            Dialect::Postgres => {
                format!("SELECT number FROM chunks WHERE {free} {clock}) ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED")
            }
        };
        let update = format!(
            "UPDATE chunks SET worker = ?, leased_until = {clock} + ? WHERE run_id = ? AND number = ({select})
                RETURNING number, token_ids"
        );
        let values = vec![foreign(worker).into(), milliseconds(length).into(), run.id.into(), run.id.into()];
        let Some(row) = open.row(&update, values).await? else { return Ok(None) };
        let (number, all) = (open.explained(row.int(0))?, open.explained(row.text(1))?);
        let all = all.split(',').map(|id| id.parse::<TokenId>().map_err(|_| open.no("list of token ids")));
        let mut token_ids = all.collect::<Result<Vec<_>, _>>()?;
        let done = recorded(&mut open, run.id, &token_ids).await?;
        token_ids.retain(|id| !done.contains(id));
        open.commit().await?;
        Ok(Some(Lease { run: run.id, number, worker: worker.to_owned(), token_ids }))
    }

    /// Prolongs a lease, counted from now. `false` when another worker has taken it over: what is left of it is that one's.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn extend_lease(&self, lease: &Lease, length: Duration) -> Result<bool, StoreError> {
        let mut open = self.database.write("prolonging a lease").await?;
        let set = format!("leased_until = {} + ?", clock(open.dialect()));
        let touched = update_own(&mut open, &set, Some(milliseconds(length).into()), lease).await?;
        open.commit().await?;
        Ok(touched)
    }

    /// Marks a part of a run as done. `false` when another worker has taken it over.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn finish_lease(&self, lease: &Lease) -> Result<bool, StoreError> {
        let mut open = self.database.write("finishing a part of a run").await?;
        let set = format!("done_at = {}, leased_until = NULL", clock(open.dialect()));
        let touched = update_own(&mut open, &set, None, lease).await?;
        open.commit().await?;
        Ok(touched)
    }

    /// Gives a part of a run back before it is done, so that nobody waits until the lease is over. `false` when another worker has
    /// taken it over.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn release_lease(&self, lease: &Lease) -> Result<bool, StoreError> {
        let mut open = self.database.write("giving a part of a run back").await?;
        let touched = update_own(&mut open, "leased_until = NULL", None, lease).await?;
        open.commit().await?;
        Ok(touched)
    }

    /// How far a shared run is.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn shares(&self, run: &RunInfo) -> Result<Shares, StoreError> {
        let mut open = self.database.read("reading how far a run is").await?;
        let clock = clock(open.dialect());
        let sql = format!(
            "SELECT COUNT(*), COUNT(done_at),
                COUNT(CASE WHEN done_at IS NULL AND leased_until > {clock} THEN 1 END) FROM chunks WHERE run_id = ?"
        );
        let Some(row) = open.row(&sql, vec![run.id.into()]).await? else { return Ok(Shares::default()) };
        let number = |column| open.explained(row.number(column));
        Ok(Shares { parts: number(0)?, done: number(1)?, leased: number(2)? })
    }
}

/// How long the lease that ends last still lasts; `None` when nobody has a part of the run.
pub(super) async fn longest(open: &mut Transaction, run: i64) -> Result<Option<Duration>, StoreError> {
    let clock = clock(open.dialect());
    let sql =
        format!("SELECT MAX(leased_until) - {clock} FROM chunks WHERE run_id = ? AND done_at IS NULL AND leased_until > {clock}");
    let Some(row) = open.row(&sql, vec![run.into()]).await? else { return Ok(None) };
    Ok(open.explained(row.maybe_int(0))?.map(|left| Duration::from_millis(u64::try_from(left).unwrap_or_default())))
}

/// The database's own clock in milliseconds since 1970.
fn clock(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
        Dialect::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    }
}

fn milliseconds(length: Duration) -> i64 {
    // A year is long enough for anyone, and no sum overflows.
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX).min(365 * 24 * 3600 * 1000)
}

async fn update_own(open: &mut Transaction, set: &str, value: Option<Value>, lease: &Lease) -> Result<bool, StoreError> {
    let sql = format!("UPDATE chunks SET {set} WHERE run_id = ? AND number = ? AND worker = ? AND done_at IS NULL");
    let own = [lease.run.into(), lease.number.into(), foreign(&lease.worker).into()];
    Ok(open.execute(&sql, value.into_iter().chain(own).collect()).await? > 0)
}

async fn recorded(open: &mut Transaction, run: i64, agents: &[TokenId]) -> Result<HashSet<TokenId>, StoreError> {
    let mut done = HashSet::new();
    for some in agents.chunks(5000) {
        let sql = format!("SELECT token_id FROM results WHERE run_id = ? AND token_id IN {}", places(1, some.len()));
        let values = std::iter::once(run.into()).chain(some.iter().map(|id| id.0.into())).collect();
        for row in open.rows(&sql, values).await? {
            done.insert(TokenId(open.explained(row.number(0))?));
        }
    }
    Ok(done)
}
