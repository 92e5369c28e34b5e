use std::collections::BTreeMap;
use std::time::SystemTime;

use super::database::{foreign, places, unforeign, Dialect, Row, Transaction, Value};
use super::memory::{is_past, remember, AgentMemory, Change, Patience};
use super::runs::run_facts;
use super::{Store, StoreError};
use crate::audit::{AuditOutcome, RunInfo, Transition};
use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, TokenId};
use crate::registry::{AgentStatus, Timestamp};
use crate::verify::{Class, Reason, Verdict};

/// How many agents one statement writes: 21 columns of 500 rows are well below what either database takes.
const ROWS: usize = 500;

/// How verdicts are recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSettings {
    /// When a change becomes a transition.
    pub patience: Patience,
    /// The names of the sinks that transitions are to be delivered to. A delivery is noted together with its transition.
    pub sinks: Vec<String>,
}

impl Store {
    /// Records verdicts of a run, all in one transaction, and returns them with what they change.
    ///
    /// A verdict at a block before the newest one that its agent was judged at is a result and nothing else: it changes neither what
    /// is known about the agent, nor does it make a transition backwards.
    ///
    /// An agent that the run has already is not recorded again and left out of what is returned: after a run is resumed, and
    /// where two workers judged the same agent, the first result stands.
    ///
    /// # Errors
    /// [`StoreError::NoAgent`] for a verdict without an agent; [`StoreError`] when the database refuses. Nothing is recorded
    /// then.
    pub async fn record(
        &self,
        run: &RunInfo,
        verdicts: Vec<Verdict>,
        settings: &RecordSettings,
    ) -> Result<Vec<AuditOutcome>, StoreError> {
        // In the order of their numbers, so that two workers never wait for each other in a circle.
        let mut pending = BTreeMap::new();
        for verdict in verdicts {
            let token = verdict.subject.as_ref().ok_or(StoreError::NoAgent)?.token_id;
            pending.entry(token).or_insert(verdict);
        }
        if pending.is_empty() {
            return Ok(Vec::new());
        }
        let mut open = self.database.write("recording results").await?;
        let mut outcomes = Vec::with_capacity(pending.len());
        while !pending.is_empty() {
            let rest = pending.keys().nth(ROWS).copied().map(|next| pending.split_off(&next)).unwrap_or_default();
            outcomes.extend(record_rows(&mut open, run, pending, settings).await?);
            pending = rest;
        }
        count(&mut open, run.id, &outcomes).await?;
        open.commit().await?;
        Ok(outcomes)
    }
}

pub(super) fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

async fn record_rows(
    open: &mut Transaction,
    run: &RunInfo,
    mut verdicts: BTreeMap<TokenId, Verdict>,
    settings: &RecordSettings,
) -> Result<Vec<AuditOutcome>, StoreError> {
    let (scope_id, facts) = run_facts(open, run.id).await?;
    let fresh = insert_results(open, run.id, &verdicts).await?;
    super::held::settle(open, run.id, &fresh).await?;
    verdicts.retain(|token, _| fresh.contains(token));
    let mut known = memories(open, scope_id, &fresh).await?;
    let (mut agents, mut digests, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    let mut outcomes = Vec::with_capacity(verdicts.len());
    for (token, verdict) in verdicts {
        let before = known.remove(&token);
        if is_past(before.as_ref(), &verdict) {
            outcomes.push(AuditOutcome { verdict, transitions: Vec::new() });
            continue;
        }
        note_digests(&mut digests, scope_id, before.as_ref(), token, &verdict);
        let (memory, changes) = remember(before, token, &verdict, facts, settings.patience);
        let transitions: Vec<_> = changes.into_iter().map(|change| transition(run, token, &verdict, change)).collect();
        changed.extend(transitions.iter().cloned());
        agents.extend(values_of(scope_id, memory));
        outcomes.push(AuditOutcome { verdict, transitions });
    }
    upsert(open, AGENTS, AGENT_COLUMNS, agents).await?;
    upsert(open, DIGESTS, DIGEST_COLUMNS, digests).await?;
    insert_transitions(open, scope_id, run.id, &changed, &settings.sinks).await?;
    Ok(outcomes)
}

/// Adds to the counts of a run. It comes last: until the transaction ends, other workers of the run wait here.
async fn count(open: &mut Transaction, run: i64, outcomes: &[AuditOutcome]) -> Result<(), StoreError> {
    let count = |class| i64::try_from(outcomes.iter().filter(|o| o.verdict.class() == class).count()).unwrap_or(i64::MAX);
    let values = vec![
        count(Class::Match).into(),
        count(Class::Mismatch).into(),
        count(Class::Absent).into(),
        count(Class::Undecided).into(),
        run.into(),
    ];
    let update = "UPDATE runs SET matches = matches + ?, mismatches = mismatches + ?, absent = absent + ?,
        undecided = undecided + ? WHERE id = ?";
    open.execute(update, values).await.map(|_| ())
}

/// Inserts what the run does not have yet, and says what that was.
async fn insert_results(
    open: &mut Transaction,
    run: i64,
    verdicts: &BTreeMap<TokenId, Verdict>,
) -> Result<Vec<TokenId>, StoreError> {
    let mut values = Vec::with_capacity(verdicts.len() * 13);
    for (token, verdict) in verdicts {
        let evidence = verdict.evidence.as_ref();
        let notes = verdict.notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>().join(",");
        values.extend([
            Value::from(run),
            token.0.into(),
            verdict.class().as_str().into(),
            verdict.reason.as_str().into(),
            foreign(&verdict.message).into(),
            notes.into(),
            verdict.block.map(|block| block.height).into(),
            verdict.anchored_sha256.map(|digest| digest.to_string()).into(),
            evidence.and_then(|evidence| evidence.sha256).map(|digest| digest.to_string()).into(),
            evidence.and_then(|evidence| evidence.trace.status).map(i64::from).into(),
            evidence.and_then(|evidence| evidence.bytes).into(),
            verdict.started_at.0.into(),
            u64::try_from(verdict.elapsed.as_millis()).unwrap_or(u64::MAX).into(),
        ]);
    }
    let sql = format!(
        "INSERT INTO results (run_id, token_id, class, reason, message, notes, block_height, anchored_sha256, body_sha256,
            http_status, bytes, at, elapsed_ms) VALUES {} ON CONFLICT (run_id, token_id) DO NOTHING RETURNING token_id",
        places(verdicts.len(), 13)
    );
    let rows = open.rows(&sql, values).await?;
    rows.iter().map(|row| open.explained(row.number(0)).map(TokenId)).collect()
}

/// The columns of an agent's memory, in the order in which they are read and written.
pub(super) const MEMORY: &str =
    "token_id, first_seen, last_seen, last_run, present, class, reason, since, consecutive, last_match,
    owner, status, agent_uri, anchored_sha256, body_sha256, settled, decided, candidate, candidate_count,
    block_height";
const AGENT_COLUMNS: usize = 21;
const AGENTS: (&str, &str) = (
    "INSERT INTO agents (scope_id, token_id, first_seen, last_seen, last_run, present, class, reason, since, consecutive,
        last_match, owner, status, agent_uri, anchored_sha256, body_sha256, settled, decided, candidate, candidate_count,
        block_height) VALUES",
    "ON CONFLICT (scope_id, token_id) DO UPDATE SET last_seen = excluded.last_seen, last_run = excluded.last_run,
        present = excluded.present, class = excluded.class, reason = excluded.reason, since = excluded.since,
        consecutive = excluded.consecutive, last_match = excluded.last_match, owner = excluded.owner, status = excluded.status,
        agent_uri = excluded.agent_uri, anchored_sha256 = excluded.anchored_sha256, body_sha256 = excluded.body_sha256,
        settled = excluded.settled, decided = excluded.decided, candidate = excluded.candidate,
        candidate_count = excluded.candidate_count, block_height = excluded.block_height",
);
const DIGEST_COLUMNS: usize = 6;
const DIGESTS: (&str, &str) = (
    "INSERT INTO digests (scope_id, token_id, kind, sha256, first_seen, last_seen) VALUES",
    "ON CONFLICT (scope_id, token_id, kind, sha256) DO UPDATE SET last_seen = excluded.last_seen",
);

/// Writes rows of so many columns with as many statements as that takes.
async fn upsert(
    open: &mut Transaction,
    (insert, conflict): (&str, &str),
    columns: usize,
    mut values: Vec<Value>,
) -> Result<(), StoreError> {
    while !values.is_empty() {
        let rest = values.split_off(values.len().min(ROWS * columns));
        let sql = format!("{insert} {} {conflict}", places(values.len() / columns, columns));
        open.execute(&sql, values).await?;
        values = rest;
    }
    Ok(())
}

fn values_of(scope_id: i64, memory: AgentMemory) -> [Value; AGENT_COLUMNS] {
    let class = |class: Option<Class>| Value::Text(class.map(|class| class.as_str().to_owned()));
    [
        scope_id.into(),
        memory.token_id.0.into(),
        memory.first_seen.0.into(),
        memory.last_seen.0.into(),
        memory.last_run.into(),
        memory.present.map(i64::from).into(),
        memory.class.as_str().into(),
        memory.reason.as_str().into(),
        memory.since.0.into(),
        memory.consecutive.into(),
        memory.last_match.map(|at| at.0).into(),
        memory.owner.map(|owner| owner.to_string()).into(),
        memory.status.map(|status| status.as_str().to_owned()).into(),
        memory.agent_uri.as_deref().map(foreign).into(),
        memory.anchored_sha256.map(|digest| digest.to_string()).into(),
        memory.body_sha256.map(|digest| digest.to_string()).into(),
        class(memory.settled),
        class(memory.decided),
        class(memory.candidate),
        memory.candidate_count.into(),
        memory.block_height.into(),
    ]
}

/// The memories of these agents, locked until the transaction ends.
async fn memories(
    open: &mut Transaction,
    scope_id: i64,
    tokens: &[TokenId],
) -> Result<BTreeMap<TokenId, AgentMemory>, StoreError> {
    if tokens.is_empty() {
        return Ok(BTreeMap::new());
    }
    let lock = match open.dialect() {
        // Who writes holds the whole file.
        Dialect::Sqlite => "",
        Dialect::Postgres => " ORDER BY token_id FOR UPDATE",
    };
    let sql = format!("SELECT {MEMORY} FROM agents WHERE scope_id = ? AND token_id IN {}{lock}", places(1, tokens.len()));
    let values = std::iter::once(scope_id.into()).chain(tokens.iter().map(|token| token.0.into())).collect();
    let rows = open.rows(&sql, values).await?;
    rows.iter().map(|row| memory_of(open, row).map(|memory| (memory.token_id, memory))).collect()
}

/// Reads the columns of [`MEMORY`].
pub(super) fn memory_of(open: &Transaction, row: &Row) -> Result<AgentMemory, StoreError> {
    let number = |column| open.explained(row.number(column));
    let text = |column| open.explained(row.maybe_text(column));
    let class = |column| text(column)?.map(|text| parse_class(open, &text)).transpose();
    let digest = |column| parse_digest(open, text(column)?);
    Ok(AgentMemory {
        token_id: TokenId(number(0)?),
        first_seen: Timestamp(number(1)?),
        last_seen: Timestamp(number(2)?),
        last_run: open.explained(row.int(3))?,
        present: open.explained(row.maybe_int(4))?.map(|present| present != 0),
        class: class(5)?.ok_or_else(|| open.no("class"))?,
        reason: parse_reason(open, text(6)?)?,
        since: Timestamp(number(7)?),
        consecutive: number(8)?,
        last_match: open.explained(row.maybe_number(9))?.map(Timestamp),
        owner: parse_owner(open, text(10)?)?,
        status: parse_status(open, text(11)?)?,
        agent_uri: text(12)?.map(unforeign),
        anchored_sha256: digest(13)?,
        body_sha256: digest(14)?,
        settled: class(15)?,
        decided: class(16)?,
        candidate: class(17)?,
        candidate_count: number(18)?,
        block_height: open.explained(row.maybe_number(19))?,
    })
}

pub(super) fn parse_class(open: &Transaction, text: &str) -> Result<Class, StoreError> {
    let all = [Class::Match, Class::Mismatch, Class::Absent, Class::Undecided];
    all.into_iter().find(|class| class.as_str() == text).ok_or_else(|| open.no("class"))
}

pub(super) fn parse_reason(open: &Transaction, text: Option<String>) -> Result<Reason, StoreError> {
    let reason = Reason::ALL.iter().find(|reason| Some(reason.as_str()) == text.as_deref());
    reason.copied().ok_or_else(|| open.no("reason of a verdict"))
}

pub(super) fn parse_owner(open: &Transaction, text: Option<String>) -> Result<Option<AccountAddress>, StoreError> {
    text.map(|text| text.parse().map_err(|_| open.no("account address"))).transpose()
}

pub(super) fn parse_status(open: &Transaction, text: Option<String>) -> Result<Option<AgentStatus>, StoreError> {
    let status = text.map(|text| match text.as_str() {
        "active" => Ok(AgentStatus::Active),
        "revoked" => Ok(AgentStatus::Revoked),
        _ => Err(open.no("status of an agent")),
    });
    status.transpose()
}

pub(super) fn parse_digest(open: &Transaction, text: Option<String>) -> Result<Option<Sha256Digest>, StoreError> {
    text.map(|text| text.parse().map_err(|_| open.no("SHA-256 digest"))).transpose()
}

/// Notes bodies and anchors when they change: most agents show in every run what they showed before.
fn note_digests(values: &mut Vec<Value>, scope_id: i64, before: Option<&AgentMemory>, token: TokenId, verdict: &Verdict) {
    let body = verdict.evidence.as_ref().and_then(|evidence| evidence.sha256);
    let seen = [
        ("anchor", verdict.anchored_sha256, before.and_then(|before| before.anchored_sha256)),
        ("body", body, before.and_then(|before| before.body_sha256)),
    ];
    for (kind, now, before) in seen {
        // When another takes its place, the old one was seen last in the run before.
        if let (Some(now), true) = (now, now != before) {
            let at = verdict.started_at.0;
            values.extend([scope_id.into(), token.0.into(), kind.into(), now.to_string().into(), at.into(), at.into()]);
        }
    }
}

/// The key depends on nothing but the change, so that a second attempt at recording it gets the same one; and on when the run
/// began, so that a new database that counts its runs from 1 again does not repeat keys that receivers have seen.
fn transition(run: &RunInfo, token_id: TokenId, verdict: &Verdict, change: Change) -> Transition {
    let Change { kind, before, after } = change;
    let (genesis, contract) = (run.scope.genesis, run.scope.contract);
    let name =
        format!("cardproof.transition/1\n{genesis}\n{contract}\n{token_id}\n{}\n{}\n{}", kind.as_str(), run.id, run.started_at.0);
    let idempotency_key = Sha256Digest::of(name.as_bytes()).to_string();
    Transition { kind, token_id, before, after, at: verdict.started_at, idempotency_key }
}

async fn insert_transitions(
    open: &mut Transaction,
    scope_id: i64,
    run: i64,
    transitions: &[Transition],
    sinks: &[String],
) -> Result<(), StoreError> {
    let values = transitions.iter().flat_map(|transition| {
        [
            Value::from(scope_id),
            run.into(),
            transition.token_id.0.into(),
            transition.kind.as_str().into(),
            transition.before.as_deref().map(foreign).into(),
            transition.after.as_deref().map(foreign).into(),
            transition.at.0.into(),
            transition.idempotency_key.as_str().into(),
        ]
    });
    let insert =
        "INSERT INTO transitions (scope_id, run_id, token_id, kind, before_value, after_value, at, idempotency_key) VALUES";
    upsert(open, (insert, ""), 8, values.collect()).await?;
    let due = now().0;
    let deliveries = transitions.iter().flat_map(|transition| {
        let key = transition.idempotency_key.as_str();
        sinks.iter().flat_map(move |sink| [foreign(sink).into(), key.into(), 0_i64.into(), due.into()])
    });
    let insert = "INSERT INTO deliveries (sink, idempotency_key, attempts, next_attempt) VALUES";
    upsert(open, (insert, ""), 4, deliveries.collect()).await
}
