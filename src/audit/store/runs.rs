use std::collections::HashSet;

use super::database::{foreign, unforeign, Row, Transaction, Value};
use super::memory::RunFacts;
use super::{Store, StoreError};
use crate::audit::{RunInfo, RunScope};
use crate::chain::{Block, BlockHash};
use crate::identity::{ContractAddress, TokenId};
use crate::registry::Timestamp;
use crate::verify::{Summary, Verdict};

/// A run that was not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The run.
    pub run: RunInfo,
    /// The agents that are done.
    pub done: HashSet<TokenId>,
    /// The mismatches that await their second look.
    pub held: Vec<Verdict>,
}

/// A run that is about to begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewRun<'a> {
    /// The block that it is pinned to.
    pub block: Option<Block>,
    /// How its agents were selected, as a sentence.
    pub selection: &'a str,
    /// See [`RunInfo::covers`].
    pub covers: Option<&'a str>,
    /// Whether a daemon begins it.
    pub daemon: bool,
    /// See [`RunInfo::terms`].
    pub terms: Option<&'a str>,
}

const COLUMNS: &str = "runs.id, runs.block_hash, runs.block_height, runs.block_time, runs.started_at, runs.finished_at,
    runs.selection, runs.matches, runs.mismatches, runs.absent, runs.undecided, runs.covers, runs.daemon, runs.terms";

/// The reasons of verdicts that no record was read for.
const UNREAD: &str = "'node_unavailable', 'node_error', 'node_behind', 'nodes_disagree', 'registry_not_found', 'internal_error'";

impl Store {
    /// Begins a run.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn begin_run(&self, scope: &RunScope, new: NewRun<'_>) -> Result<RunInfo, StoreError> {
        let mut open = self.database.write("beginning a run").await?;
        let scope_id = make_scope(&mut open, scope).await?;
        let run = insert_run(&mut open, (scope_id, scope), new).await?;
        open.commit().await?;
        Ok(run)
    }

    /// The newest run of a scope when it was not finished, with what it has done. An older one is not gone back to: its block
    /// is older than what the newer one has found.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn resume_run(&self, scope: &RunScope) -> Result<Option<Unfinished>, StoreError> {
        let mut open = self.database.read("looking for an unfinished run").await?;
        let newest = runs_where(&mut open, scope, "", "DESC LIMIT 1", Vec::new()).await?.pop();
        let Some(run) = newest.filter(|run| run.finished_at.is_none()) else { return Ok(None) };
        let mut done = HashSet::new();
        for row in open.rows("SELECT token_id FROM results WHERE run_id = ?", vec![run.id.into()]).await? {
            done.insert(TokenId(open.explained(row.number(0))?));
        }
        drop(open);
        let mut held = self.held_mismatches(&run).await?;
        held.retain(|verdict| verdict.subject.as_ref().is_some_and(|subject| !done.contains(&subject.token_id)));
        Ok(Some(Unfinished { run, done, held }))
    }

    /// Marks a run as finished and returns it with its final counts. Doing so again changes nothing.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] when there is none of this number; [`StoreError`] when the database refuses.
    pub async fn finish_run(&self, run: &RunInfo) -> Result<RunInfo, StoreError> {
        self.finish_run_with(run, &Summary::default()).await
    }

    /// Marks a run as finished that left out agents because nothing about them has changed: they count with the class that they
    /// have.
    ///
    /// # Errors
    /// As [`Store::finish_run`].
    pub async fn finish_run_with(&self, run: &RunInfo, unchanged: &Summary) -> Result<RunInfo, StoreError> {
        let mut open = self.database.write("finishing a run").await?;
        let Summary { matches, mismatches, absent, undecided, .. } = *unchanged;
        let counts = [matches, mismatches, absent, undecided].map(Value::from);
        let values = [counts.to_vec(), vec![super::record::now().0.into(), run.id.into()]].concat();
        let update = "UPDATE runs SET matches = matches + ?, mismatches = mismatches + ?, absent = absent + ?,
            undecided = undecided + ?, finished_at = ? WHERE id = ? AND finished_at IS NULL";
        open.execute(update, values).await?;
        // No earlier run of the registry is gone back to either.
        let left = "DELETE FROM held WHERE run_id IN (SELECT id FROM runs WHERE id <= ? AND scope_id IN
            (SELECT scope_id FROM runs WHERE id = ?))";
        open.execute(left, vec![run.id.into(), run.id.into()]).await?;
        let found = runs_where(&mut open, &run.scope, " AND runs.id = ?", "", vec![run.id.into()]).await?.pop();
        open.commit().await?;
        found.ok_or(StoreError::NoRun(run.id))
    }

    /// Forgets a run that turned out to be about nobody.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn discard_run(&self, run: &RunInfo) -> Result<(), StoreError> {
        let mut open = self.database.write("forgetting a run").await?;
        let unused = "DELETE FROM runs WHERE id = ? AND NOT EXISTS (SELECT 1 FROM results WHERE run_id = ?)";
        open.execute(unused, vec![run.id.into(), run.id.into()]).await?;
        open.commit().await
    }

    /// The registries that anything is remembered of, in the order in which they were seen first.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn scopes(&self) -> Result<Vec<RunScope>, StoreError> {
        let mut open = self.database.read("reading which registries there are").await?;
        let select = "SELECT network, genesis, contract_index, contract_subindex FROM scopes ORDER BY id";
        let rows = open.rows(select, Vec::new()).await?;
        let scopes = rows.iter().map(|row| {
            Ok(RunScope {
                network: unforeign(open.explained(row.text(0))?),
                genesis: open.explained(row.text(1))?.parse().map_err(|_| open.no("hash of a genesis block"))?,
                contract: ContractAddress::new(open.explained(row.number(2))?, open.explained(row.number(3))?),
            })
        });
        scopes.collect()
    }

    /// The runs of a scope, the newest first; unfinished ones too.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn runs(&self, scope: &RunScope) -> Result<Vec<RunInfo>, StoreError> {
        let mut open = self.database.read("reading the runs").await?;
        runs_where(&mut open, scope, "", "DESC", Vec::new()).await
    }
}

/// Writes down a run that begins. The scope's row stays locked until the transaction ends: another run of it begins before or after.
pub(super) async fn insert_run(
    open: &mut Transaction,
    (scope_id, scope): (i64, &RunScope),
    new: NewRun<'_>,
) -> Result<RunInfo, StoreError> {
    let NewRun { block, selection, covers, daemon, terms } = new;
    // The newest block, not the newest run: one with --at-block knows less.
    let read = format!(
        "SELECT block_time FROM runs WHERE scope_id = ? AND finished_at IS NOT NULL AND block_time IS NOT NULL
            AND (matches + mismatches + absent > 0 OR EXISTS (SELECT 1 FROM results WHERE results.run_id = runs.id
                AND reason NOT IN ({UNREAD}))) ORDER BY block_time DESC LIMIT 1"
    );
    let read = open.row(&read, vec![scope_id.into()]).await?;
    let read_at = read.map(|row| open.explained(row.int(0))).transpose()?;
    // As 64 bits with a sign the upper half is negative and yet the higher one.
    let highest = "SELECT token_id FROM agents WHERE scope_id = ? AND present = 1
        ORDER BY CASE WHEN token_id < 0 THEN 1 ELSE 0 END DESC, token_id DESC LIMIT 1";
    let highest = open.row(highest, vec![scope_id.into()]).await?;
    let known_up_to = highest.map(|row| open.explained(row.int(0))).transpose()?;
    let started_at = super::record::now();
    let values = vec![
        scope_id.into(),
        block.map(|block| block.hash.to_string()).into(),
        block.map(|block| block.height).into(),
        block.map(|block| block.time.0).into(),
        started_at.0.into(),
        foreign(selection).into(),
        i64::from(read_at.is_none()).into(),
        read_at.into(),
        known_up_to.into(),
        covers.map(foreign).into(),
        i64::from(daemon).into(),
        terms.map(foreign).into(),
    ];
    let insert = "INSERT INTO runs (scope_id, block_hash, block_height, block_time, started_at, selection, first_run,
        read_at, known_up_to, covers, daemon, terms, matches, mismatches, absent, undecided)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0) RETURNING id";
    let row = open.row(insert, values).await?.ok_or_else(|| open.no("number of a run"))?;
    let id = open.explained(row.int(0))?;
    Ok(RunInfo {
        id,
        scope: scope.clone(),
        block,
        started_at,
        finished_at: None,
        selection: selection.to_owned(),
        covers: covers.map(str::to_owned),
        daemon,
        terms: terms.map(str::to_owned),
        summary: Summary::default(),
    })
}

/// The number of a scope, whose row is made when there is none, and is locked until the transaction ends.
pub(super) async fn make_scope(open: &mut Transaction, scope: &RunScope) -> Result<i64, StoreError> {
    let ContractAddress { index, subindex } = scope.contract;
    // An update of nothing, so that the row comes back whether it was there or not.
    let insert = "INSERT INTO scopes (network, genesis, contract_index, contract_subindex) VALUES (?, ?, ?, ?)
        ON CONFLICT (genesis, contract_index, contract_subindex) DO UPDATE SET network = excluded.network RETURNING id";
    let values = vec![foreign(&scope.network).into(), scope.genesis.to_string().into(), index.into(), subindex.into()];
    let row = open.row(insert, values).await?.ok_or_else(|| open.no("number of a scope"))?;
    open.explained(row.int(0))
}

/// The number of a scope; `None` when nothing of it is stored.
pub(super) async fn find_scope(open: &mut Transaction, scope: &RunScope) -> Result<Option<i64>, StoreError> {
    let values = vec![scope.genesis.to_string().into(), scope.contract.index.into(), scope.contract.subindex.into()];
    let select = "SELECT id FROM scopes WHERE genesis = ? AND contract_index = ? AND contract_subindex = ?";
    let row = open.row(select, values).await?;
    row.map(|row| open.explained(row.int(0))).transpose()
}

/// What of a run matters to recording, with the number of its scope.
pub(super) async fn run_facts(open: &mut Transaction, id: i64) -> Result<(i64, RunFacts), StoreError> {
    let row = open.row("SELECT scope_id, first_run, read_at, known_up_to FROM runs WHERE id = ?", vec![id.into()]).await?;
    let row = row.ok_or(StoreError::NoRun(id))?;
    let (scope_id, first_run) = (open.explained(row.int(0))?, open.explained(row.int(1))? != 0);
    let read_at = open.explained(row.maybe_number(2))?.map(Timestamp);
    Ok((scope_id, RunFacts { id, first_run, read_at, known_up_to: open.explained(row.maybe_number(3))? }))
}

pub(super) async fn runs_where(
    open: &mut Transaction,
    scope: &RunScope,
    condition: &str,
    order: &str,
    values: Vec<Value>,
) -> Result<Vec<RunInfo>, StoreError> {
    let Some(scope_id) = find_scope(open, scope).await? else { return Ok(Vec::new()) };
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE runs.scope_id = ?{condition} ORDER BY runs.id {order}");
    let rows = open.rows(&sql, [vec![scope_id.into()], values].concat()).await?;
    rows.iter().map(|row| run_of(open, scope, row)).collect()
}

fn run_of(open: &Transaction, scope: &RunScope, row: &Row) -> Result<RunInfo, StoreError> {
    let number = |column| open.explained(row.number(column));
    let block = block_of(open, row, 1)?;
    let (matches, mismatches, absent, undecided) = (number(7)?, number(8)?, number(9)?, number(10)?);
    Ok(RunInfo {
        id: open.explained(row.int(0))?,
        scope: scope.clone(),
        block,
        started_at: Timestamp(number(4)?),
        finished_at: open.explained(row.maybe_number(5))?.map(Timestamp),
        selection: unforeign(open.explained(row.text(6))?),
        covers: open.explained(row.maybe_text(11))?.map(unforeign),
        daemon: open.explained(row.int(12))? != 0,
        terms: open.explained(row.maybe_text(13))?.map(unforeign),
        summary: Summary {
            agents: matches.saturating_add(mismatches).saturating_add(absent).saturating_add(undecided),
            matches,
            mismatches,
            absent,
            undecided,
        },
    })
}

/// A block whose hash, height and time stand in a row from this column on.
pub(super) fn block_of(open: &Transaction, row: &Row, column: usize) -> Result<Option<Block>, StoreError> {
    let (hash, height) = (open.explained(row.maybe_text(column))?, open.explained(row.maybe_number(column + 1))?);
    let Some((hash, height)) = hash.zip(height) else { return Ok(None) };
    let mut bytes = [0; 32];
    hex::decode_to_slice(hash, &mut bytes).map_err(|_| open.no("hash of a block"))?;
    Ok(Some(Block { hash: BlockHash(bytes), height, time: Timestamp(open.explained(row.number(column + 2))?) }))
}
