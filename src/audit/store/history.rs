use super::database::{unforeign, Row, Transaction, Value};
use super::memory::AgentMemory;
use super::record::{memory_of, parse_digest, parse_reason, MEMORY};
use super::runs::find_scope;
use super::{Store, StoreError};
use crate::audit::{RunScope, Targets, Transition, TransitionKind};
use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, TokenId};
use crate::registry::{AgentStatus, Timestamp};
use crate::verify::Reason;

/// One result of an earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastResult {
    /// The run.
    pub run: i64,
    /// The height of the block that the verdict was reached at.
    pub block_height: Option<u64>,
    /// When the check began.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Why the verdict is what it is; its class follows from it.
    pub reason: Reason,
    /// The reason in one sentence. Foreign text in it is not escaped.
    pub message: String,
    /// The codes of its notes.
    pub notes: Vec<String>,
    /// What the card should have hashed to.
    pub anchored_sha256: Option<Sha256Digest>,
    /// What it hashed to.
    pub body_sha256: Option<Sha256Digest>,
    /// The status of the host's last answer.
    pub http_status: Option<u16>,
    /// How many bytes the body had.
    pub bytes: Option<u64>,
}

/// A digest that an agent has had, and when it came up first and last.
///
/// A digest that stays is written when it comes up, so the last time of the newest one is the agent's `last_seen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenDigest {
    /// The digest.
    pub sha256: Sha256Digest,
    /// When it came up first.
    pub first_seen: Timestamp,
    /// When it came up last.
    pub last_seen: Timestamp,
}

/// All that is known about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentHistory {
    /// What is known now.
    pub memory: AgentMemory,
    /// The results that are kept, the newest first.
    pub results: Vec<PastResult>,
    /// What has changed, the newest first.
    pub transitions: Vec<Transition>,
    /// The hashes that have been anchored, in the order in which they came up.
    pub anchors: Vec<SeenDigest>,
    /// The digests of bodies, in the order in which they came up.
    pub bodies: Vec<SeenDigest>,
}

impl Store {
    /// All that is known about one agent; `None` when nothing is.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn history(&self, scope: &RunScope, token_id: TokenId) -> Result<Option<AgentHistory>, StoreError> {
        let mut open = self.database.read("reading an agent's history").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(None) };
        let of_agent = || vec![Value::from(scope_id), token_id.0.into()];
        let sql = format!("SELECT {MEMORY} FROM agents WHERE scope_id = ? AND token_id = ?");
        let Some(row) = open.row(&sql, of_agent()).await? else { return Ok(None) };
        let memory = memory_of(&open, &row)?;
        let results = results_where(&mut open, "", "", of_agent()).await?;
        let transitions = transitions_where(&mut open, "scope_id = ? AND token_id = ? ORDER BY id DESC", of_agent()).await?;
        let anchors = digests(&mut open, scope_id, token_id, "anchor").await?;
        let bodies = digests(&mut open, scope_id, token_id, "body").await?;
        Ok(Some(AgentHistory { memory, results, transitions, anchors, bodies }))
    }

    /// The newest results of runs before `before` on one agent, at most so many, the newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn recent(
        &self,
        scope: &RunScope,
        token_id: TokenId,
        before: i64,
        most: u16,
    ) -> Result<Vec<PastResult>, StoreError> {
        let mut open = self.database.read("reading an agent's newest results").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(Vec::new()) };
        let values = vec![scope_id.into(), token_id.0.into(), before.into(), i64::from(most).into()];
        results_where(&mut open, " AND runs.id < ?", " LIMIT ?", values).await
    }

    /// What is known about every agent of a scope, in the order of their token ids, without their results.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn agents(&self, scope: &RunScope) -> Result<Vec<AgentMemory>, StoreError> {
        let mut agents = Vec::new();
        self.for_each_agent(scope, |agent| agents.push(agent)).await?;
        agents.sort_unstable_by_key(|agent| agent.token_id);
        Ok(agents)
    }

    /// Shows what is known about every agent of a scope to `visit`, in no order to rely on. However many there are, only some of
    /// them are in memory at once.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn for_each_agent(&self, scope: &RunScope, mut visit: impl FnMut(AgentMemory)) -> Result<(), StoreError> {
        let mut open = self.database.read("reading the agents").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(()) };
        let mut pages = Pages::of(MEMORY, scope_id, "", Vec::new());
        while let Some(rows) = pages.next(&mut open).await? {
            for row in &rows {
                visit(memory_of(&open, row)?);
            }
        }
        Ok(())
    }

    /// The agents of a scope that the registry had when they were judged last; those of one owner or status, if one is given.
    /// Owners are compared without their alias.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn present_agents(
        &self,
        scope: &RunScope,
        owner: Option<AccountAddress>,
        status: Option<AgentStatus>,
    ) -> Result<Targets, StoreError> {
        let mut open = self.database.read("reading which agents there are").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(Targets::default()) };
        let (condition, values) = match status {
            Some(status) => (" AND present = 1 AND status = ?", vec![status.as_str().into()]),
            None => (" AND present = 1", Vec::new()),
        };
        let mut present = Targets::default();
        let mut pages = Pages::of("token_id, owner", scope_id, condition, values);
        while let Some(rows) = pages.next(&mut open).await? {
            for row in &rows {
                let known = match owner {
                    None => true,
                    owner => open.explained(row.maybe_text(1))?.and_then(|text| text.parse::<AccountAddress>().ok()) == owner,
                };
                if known {
                    present.push(TokenId(open.explained(row.number(0))?));
                }
            }
        }
        Ok(present.ascending())
    }

    /// The hashes that have been anchored for an agent, but for the one that is anchored now, in the order in which they came up.
    /// A body with one of them is the card of an earlier record. For a block (its height) before the newest one that the agent was
    /// judged at there are none: which of them are older than that, nobody has noted.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn older_anchors(
        &self,
        scope: &RunScope,
        token_id: TokenId,
        current: Sha256Digest,
        block: Option<u64>,
    ) -> Result<Vec<Sha256Digest>, StoreError> {
        let mut open = self.database.read("reading an agent's older anchors").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(Vec::new()) };
        let newest = "SELECT block_height FROM agents WHERE scope_id = ? AND token_id = ?";
        let newest = open.row(newest, vec![scope_id.into(), token_id.0.into()]).await?;
        let newest = newest.map(|row| open.explained(row.maybe_number(0))).transpose()?.flatten();
        if newest.zip(block).is_some_and(|(newest, block)| block < newest) {
            return Ok(Vec::new());
        }
        let anchors = digests(&mut open, scope_id, token_id, "anchor").await?;
        Ok(anchors.into_iter().map(|seen| seen.sha256).filter(|anchor| *anchor != current).collect())
    }

    /// Whether the newest finished run of a scope had anything to compare with.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn compared(&self, scope: &RunScope) -> Result<Compared, StoreError> {
        let mut open = self.database.read("looking for finished runs").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(Compared::NoRun) };
        let sql = "SELECT first_run FROM runs WHERE scope_id = ? AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1";
        let row = open.row(sql, vec![scope_id.into()]).await?;
        Ok(match row.map(|row| open.explained(row.int(0))).transpose()? {
            None => Compared::NoRun,
            Some(0) => Compared::Earlier,
            Some(_) => Compared::FirstRun,
        })
    }

    /// The transitions of a scope since a time, or of its newest finished run, in the order in which they were recorded.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn diff(&self, scope: &RunScope, since: Option<Timestamp>) -> Result<Vec<Transition>, StoreError> {
        let mut open = self.database.read("reading what has changed").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(Vec::new()) };
        match since {
            Some(since) => {
                let values = vec![scope_id.into(), since.0.into()];
                transitions_where(&mut open, "scope_id = ? AND at >= ? ORDER BY id", values).await
            }
            None => {
                let condition = "run_id = (SELECT MAX(id) FROM runs WHERE scope_id = ? AND finished_at IS NOT NULL) ORDER BY id";
                transitions_where(&mut open, condition, vec![scope_id.into()]).await
            }
        }
    }
}

/// What the newest finished run of a scope could compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// There is none yet.
    NoRun,
    /// It is the first that could read the registry: what it found, later ones are compared with.
    FirstRun,
    /// There was a run before it.
    Earlier,
}

/// The rows of a scope's agents, so many at a time. The first column is the token id.
struct Pages {
    sql: String,
    scope_id: i64,
    values: Vec<Value>,
    from: Option<i64>,
}

const PAGE: usize = 2000;

impl Pages {
    fn of(columns: &str, scope_id: i64, condition: &str, values: Vec<Value>) -> Self {
        // By the database's order, in which the upper half of the ids comes first.
        let sql = format!(
            "SELECT {columns} FROM agents WHERE scope_id = ? AND token_id >= ?{condition} ORDER BY token_id LIMIT {PAGE}"
        );
        Self { sql, scope_id, values, from: Some(i64::MIN) }
    }

    async fn next(&mut self, open: &mut Transaction) -> Result<Option<Vec<Row>>, StoreError> {
        let Some(from) = self.from else { return Ok(None) };
        let values = [vec![self.scope_id.into(), from.into()], self.values.clone()].concat();
        let rows = open.rows(&self.sql, values).await?;
        self.from = match rows.last() {
            Some(last) if rows.len() == PAGE => open.explained(last.int(0))?.checked_add(1),
            _ => None,
        };
        Ok(Some(rows))
    }
}

/// The columns of a result, in the order in which they are read.
pub(super) const RESULT: &str = "results.run_id, results.block_height, results.at, results.elapsed_ms, results.reason,
    results.message, results.notes, results.anchored_sha256, results.body_sha256, results.http_status, results.bytes";

/// The results on an agent, the newest first. `values` begin with its scope and its token id.
async fn results_where(
    open: &mut Transaction,
    condition: &str,
    limit: &str,
    values: Vec<Value>,
) -> Result<Vec<PastResult>, StoreError> {
    // Through the runs, which are few: the results are in the order of their runs.
    let sql = format!(
        "SELECT {RESULT} FROM runs JOIN results ON results.run_id = runs.id
        WHERE runs.scope_id = ? AND results.token_id = ?{condition} ORDER BY runs.id DESC{limit}"
    );
    let rows = open.rows(&sql, values).await?;
    rows.iter().map(|row| result_of(open, row)).collect()
}

/// Reads the columns of [`RESULT`].
pub(super) fn result_of(open: &Transaction, row: &Row) -> Result<PastResult, StoreError> {
    let text = |column| open.explained(row.maybe_text(column));
    let status = open.explained(row.maybe_int(9))?.map(|status| u16::try_from(status).map_err(|_| open.no("status of HTTP")));
    let notes = open.explained(row.text(6))?;
    Ok(PastResult {
        run: open.explained(row.int(0))?,
        block_height: open.explained(row.maybe_number(1))?,
        at: Timestamp(open.explained(row.number(2))?),
        elapsed_ms: open.explained(row.number(3))?,
        reason: parse_reason(open, text(4)?)?,
        message: unforeign(open.explained(row.text(5))?),
        notes: notes.split(',').filter(|note| !note.is_empty()).map(str::to_owned).collect(),
        anchored_sha256: parse_digest(open, text(7)?)?,
        body_sha256: parse_digest(open, text(8)?)?,
        http_status: status.transpose()?,
        bytes: open.explained(row.maybe_number(10))?,
    })
}

pub(super) async fn transitions_where(
    open: &mut Transaction,
    condition: &str,
    values: Vec<Value>,
) -> Result<Vec<Transition>, StoreError> {
    let sql = format!("SELECT kind, token_id, before_value, after_value, at, idempotency_key FROM transitions WHERE {condition}");
    let rows = open.rows(&sql, values).await?;
    rows.iter().map(|row| transition_of(open, row)).collect()
}

pub(super) fn transition_of(open: &Transaction, row: &Row) -> Result<Transition, StoreError> {
    let kind = open.explained(row.text(0))?;
    let kind = TransitionKind::ALL.into_iter().find(|known| known.as_str() == kind);
    Ok(Transition {
        kind: kind.ok_or_else(|| open.no("kind of transition"))?,
        token_id: TokenId(open.explained(row.number(1))?),
        before: open.explained(row.maybe_text(2))?.map(unforeign),
        after: open.explained(row.maybe_text(3))?.map(unforeign),
        at: Timestamp(open.explained(row.number(4))?),
        idempotency_key: open.explained(row.text(5))?,
    })
}

async fn digests(open: &mut Transaction, scope_id: i64, token_id: TokenId, kind: &str) -> Result<Vec<SeenDigest>, StoreError> {
    let sql = "SELECT sha256, first_seen, last_seen FROM digests WHERE scope_id = ? AND token_id = ? AND kind = ?
        ORDER BY first_seen, sha256";
    let rows = open.rows(sql, vec![scope_id.into(), token_id.0.into(), kind.into()]).await?;
    let seen = rows.iter().map(|row| {
        let sha256 = parse_digest(open, open.explained(row.maybe_text(0))?)?;
        Ok(SeenDigest {
            sha256: sha256.ok_or_else(|| open.no("SHA-256 digest"))?,
            first_seen: Timestamp(open.explained(row.number(1))?),
            last_seen: Timestamp(open.explained(row.number(2))?),
        })
    });
    seen.collect()
}
