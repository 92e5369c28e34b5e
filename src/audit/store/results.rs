use std::collections::HashMap;
use std::time::Duration;

use super::database::{unforeign, Row, Transaction, Value};
use super::history::{result_of, transitions_where, PastResult, RESULT};
use super::record::{memory_of, parse_owner, parse_status, MEMORY};
use super::runs::{block_of, find_scope};
use super::{AgentMemory, Store, StoreError};
use crate::audit::{AuditOutcome, RunInfo, RunScope, Transition};
use crate::fetch::FetchTrace;
use crate::identity::{Caip2, TokenId};
use crate::verify::{Anchor, Evidence, Note, NoteCode, Reason, Subject, Verdict};

/// How many results are in memory at once.
const PAGE: usize = 2000;

impl Store {
    /// The next results of a run, as far as they are stored, after the agent `after`: those of an interrupted run for the report of
    /// its end, those of a shared run for whoever began it. None are left when the list is empty.
    ///
    /// A stored result lacks what only the check itself knew: redirects, addresses, findings about the card's content.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn results(&self, run: &RunInfo, after: Option<TokenId>) -> Result<Vec<AuditOutcome>, StoreError> {
        let mut open = self.database.read("reading the results of a run").await?;
        let Some(scope_id) = find_scope(&mut open, &run.scope).await? else { return Ok(Vec::new()) };
        let (more, after) = beyond("results.token_id", after);
        let sql = format!(
            "SELECT {RESULT}, results.token_id, agents.owner, agents.status, agents.agent_uri
            FROM results LEFT JOIN agents ON agents.scope_id = ? AND agents.token_id = results.token_id
            WHERE results.run_id = ?{more} ORDER BY results.token_id LIMIT {PAGE}"
        );
        let rows = open.rows(&sql, [vec![scope_id.into(), run.id.into()], after].concat()).await?;
        let mut transitions = transitions_of(&mut open, run.id, &rows, RESULT_COLUMNS).await?;
        let results = rows.iter().map(|row| {
            let token_id = TokenId(open.explained(row.number(RESULT_COLUMNS))?);
            let text = |column| open.explained(row.maybe_text(RESULT_COLUMNS + column));
            let owner = parse_owner(&open, text(1)?)?;
            let status = parse_status(&open, text(2)?)?;
            let result = result_of(&open, row)?;
            let mut verdict = verdict(&run.scope, token_id, &result);
            verdict.block = run.block.filter(|block| Some(block.height) == result.block_height);
            if result.reason != Reason::AgentNotFound {
                verdict.anchor = owner.zip(status).map(|(owner, status)| Anchor { owner, status, registered_at: None });
                verdict.agent_uri = text(3)?.map(unforeign);
            }
            Ok(AuditOutcome { verdict, transitions: transitions.remove(&token_id).unwrap_or_default() })
        });
        results.collect()
    }

    /// The last results of the next agents that the registry has, after the agent `after`, whichever run they are of. None are left
    /// when the list is empty.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn last_results(&self, scope: &RunScope, after: Option<TokenId>) -> Result<Vec<LastResult>, StoreError> {
        let mut open = self.database.read("reading the agents' last results").await?;
        let Some(scope_id) = find_scope(&mut open, scope).await? else { return Ok(Vec::new()) };
        let (more, after) = beyond("token_id", after);
        let sql = format!(
            "SELECT {MEMORY}, of_hash, of_height, of_time FROM agents LEFT JOIN
                (SELECT id AS of_run, block_hash AS of_hash, runs.block_height AS of_height, block_time AS of_time FROM runs) AS last
                ON of_run = last_run
            WHERE scope_id = ? AND present = 1{more} ORDER BY token_id LIMIT {PAGE}"
        );
        let rows = open.rows(&sql, [vec![scope_id.into()], after].concat()).await?;
        let results = rows.iter().map(|row| {
            let agent = memory_of(&open, row)?;
            // A verdict reached at a newer block than its run's was reached by a second look.
            let block = block_of(&open, row, MEMORY_COLUMNS)?.filter(|block| Some(block.height) == agent.block_height);
            Ok(LastResult { run: agent.last_run, verdict: Verdict { block, ..remembered(scope, agent) } })
        });
        results.collect()
    }
}

/// What an agent's memory says of its last verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastResult {
    /// The run that reached it.
    pub run: i64,
    /// As far as it is remembered.
    pub verdict: Verdict,
}

/// How many columns [`MEMORY`] has.
const MEMORY_COLUMNS: usize = 20;

/// How many columns [`RESULT`] has.
const RESULT_COLUMNS: usize = 11;

fn beyond(column: &str, after: Option<TokenId>) -> (String, Vec<Value>) {
    match after {
        Some(token_id) => (format!(" AND {column} > ?"), vec![token_id.0.into()]),
        None => (String::new(), Vec::new()),
    }
}

/// What a run changed about the agents of these rows.
async fn transitions_of(
    open: &mut Transaction,
    run: i64,
    rows: &[Row],
    column: usize,
) -> Result<HashMap<TokenId, Vec<Transition>>, StoreError> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(HashMap::new()) };
    let ends = [open.explained(first.int(column))?, open.explained(last.int(column))?];
    let values = vec![run.into(), ends[0].into(), ends[1].into()];
    let condition = "run_id = ? AND token_id >= ? AND token_id <= ? ORDER BY id";
    let mut found: HashMap<TokenId, Vec<Transition>> = HashMap::new();
    for transition in transitions_where(open, condition, values).await? {
        found.entry(transition.token_id).or_default().push(transition);
    }
    Ok(found)
}

fn verdict(scope: &RunScope, token_id: TokenId, result: &PastResult) -> Verdict {
    let trace = FetchTrace { status: result.http_status, ..FetchTrace::default() };
    let fetched = result.http_status.is_some() || result.body_sha256.is_some();
    let evidence = Evidence { trace, bytes: result.bytes, sha256: result.body_sha256, wire_sha256: None };
    let notes = result.notes.iter().filter_map(|note| NoteCode::ALL.into_iter().find(|code| code.as_str() == note));
    Verdict {
        anchored_sha256: result.anchored_sha256,
        message: result.message.clone(),
        evidence: fetched.then_some(evidence),
        notes: notes.map(Note::new).collect(),
        started_at: result.at,
        elapsed: Duration::from_millis(result.elapsed_ms),
        ..Verdict::stored(subject(scope, token_id), result.reason)
    }
}

fn remembered(scope: &RunScope, agent: AgentMemory) -> Verdict {
    let evidence = |sha256| Evidence { sha256: Some(sha256), ..Evidence::default() };
    Verdict {
        anchor: agent.owner.zip(agent.status).map(|(owner, status)| Anchor { owner, status, registered_at: None }),
        agent_uri: agent.agent_uri,
        anchored_sha256: agent.anchored_sha256,
        evidence: agent.body_sha256.map(evidence),
        message: format!("{} Nothing has changed since, and it was not checked again.", agent.reason.sentence()),
        started_at: agent.last_seen,
        ..Verdict::stored(subject(scope, agent.token_id), agent.reason)
    }
}

pub(super) fn subject(scope: &RunScope, token_id: TokenId) -> Subject {
    let (network, chain) = (scope.network.clone(), Caip2::of(&scope.genesis));
    Subject { network, chain, contract: scope.contract, token_id }
}
