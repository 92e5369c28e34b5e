use std::cmp::Ordering;

use super::database::{Database, Dialect, Transaction};
use super::StoreError;

/// The layouts that there have been, oldest first. A database is brought from its own to the newest, step by step; none is ever
/// changed once it has been released.
const LAYOUTS: &[&[&str]] = &[
    &[
        "CREATE TABLE scopes (
        id {serial},
        network TEXT NOT NULL,
        genesis TEXT NOT NULL,
        contract_index BIGINT NOT NULL,
        contract_subindex BIGINT NOT NULL,
        UNIQUE (genesis, contract_index, contract_subindex))",
        "CREATE TABLE runs (
        id {serial},
        scope_id BIGINT NOT NULL REFERENCES scopes (id),
        block_hash TEXT, block_height BIGINT, block_time BIGINT,
        started_at BIGINT NOT NULL,
        finished_at BIGINT,
        selection TEXT NOT NULL,
        first_run BIGINT NOT NULL,
        known_up_to BIGINT,
        matches BIGINT NOT NULL, mismatches BIGINT NOT NULL, absent BIGINT NOT NULL, undecided BIGINT NOT NULL)",
        "CREATE INDEX runs_of_scope ON runs (scope_id, id)",
        "CREATE TABLE results (
        run_id BIGINT NOT NULL,
        token_id BIGINT NOT NULL,
        class TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, notes TEXT NOT NULL,
        block_height BIGINT,
        anchored_sha256 TEXT, body_sha256 TEXT,
        http_status BIGINT, bytes BIGINT,
        at BIGINT NOT NULL, elapsed_ms BIGINT NOT NULL,
        PRIMARY KEY (run_id, token_id)){clustered}",
        "CREATE TABLE agents (
        scope_id BIGINT NOT NULL,
        token_id BIGINT NOT NULL,
        first_seen BIGINT NOT NULL, last_seen BIGINT NOT NULL, last_run BIGINT NOT NULL,
        present BIGINT,
        class TEXT NOT NULL, reason TEXT NOT NULL,
        since BIGINT NOT NULL, consecutive BIGINT NOT NULL,
        last_match BIGINT,
        owner TEXT, status TEXT, agent_uri TEXT, anchored_sha256 TEXT, body_sha256 TEXT,
        settled TEXT, decided TEXT, candidate TEXT, candidate_count BIGINT NOT NULL,
        PRIMARY KEY (scope_id, token_id)){clustered}",
        "CREATE TABLE digests (
        scope_id BIGINT NOT NULL,
        token_id BIGINT NOT NULL,
        kind TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        first_seen BIGINT NOT NULL, last_seen BIGINT NOT NULL,
        PRIMARY KEY (scope_id, token_id, kind, sha256)){clustered}",
        "CREATE TABLE transitions (
        id {serial},
        scope_id BIGINT NOT NULL,
        run_id BIGINT NOT NULL,
        token_id BIGINT NOT NULL,
        kind TEXT NOT NULL,
        before_value TEXT, after_value TEXT,
        at BIGINT NOT NULL,
        idempotency_key TEXT NOT NULL UNIQUE)",
        "CREATE INDEX transitions_of_scope ON transitions (scope_id, at)",
        "CREATE INDEX transitions_of_agent ON transitions (scope_id, token_id)",
        "CREATE TABLE deliveries (
        sink TEXT NOT NULL,
        idempotency_key TEXT NOT NULL,
        attempts BIGINT NOT NULL,
        next_attempt BIGINT NOT NULL,
        acknowledged_at BIGINT,
        last_error TEXT,
        PRIMARY KEY (sink, idempotency_key)){clustered}",
        "CREATE INDEX deliveries_due ON deliveries (sink, next_attempt) WHERE acknowledged_at IS NULL",
        "CREATE TABLE disabled_sinks (
        sink TEXT NOT NULL PRIMARY KEY,
        disabled_at BIGINT NOT NULL,
        reason TEXT NOT NULL)",
        "CREATE TABLE chunks (
        run_id BIGINT NOT NULL,
        number BIGINT NOT NULL,
        token_ids TEXT NOT NULL,
        worker TEXT,
        leased_until BIGINT,
        done_at BIGINT,
        PRIMARY KEY (run_id, number)){clustered}",
    ],
    &["ALTER TABLE runs ADD COLUMN covers TEXT", "ALTER TABLE runs ADD COLUMN daemon BIGINT NOT NULL DEFAULT 0"],
    // Sinks were called after the digest of their URL or command: with another one, what waited was lost from sight. What one of
    // them has taken and another has not, is told again.
    &[
        "INSERT INTO deliveries (sink, idempotency_key, attempts, next_attempt, acknowledged_at, last_error)
            SELECT 'webhook', idempotency_key, MAX(attempts), MIN(next_attempt),
                CASE WHEN COUNT(*) = COUNT(acknowledged_at) THEN MAX(acknowledged_at) END, MAX(last_error)
            FROM deliveries WHERE sink LIKE 'webhook-%' GROUP BY idempotency_key",
        "INSERT INTO deliveries (sink, idempotency_key, attempts, next_attempt, acknowledged_at, last_error)
            SELECT 'command', idempotency_key, MAX(attempts), MIN(next_attempt),
                CASE WHEN COUNT(*) = COUNT(acknowledged_at) THEN MAX(acknowledged_at) END, MAX(last_error)
            FROM deliveries WHERE sink LIKE 'command-%' GROUP BY idempotency_key",
        "DELETE FROM deliveries WHERE sink LIKE 'webhook-%' OR sink LIKE 'command-%'",
        // Which of them is the one of today nobody knows: it is asked once more.
        "DELETE FROM disabled_sinks WHERE sink LIKE 'webhook-%'",
    ],
    &[
        "ALTER TABLE agents ADD COLUMN block_height BIGINT",
        "UPDATE agents SET block_height = (SELECT runs.block_height FROM runs WHERE runs.id = agents.last_run)",
    ],
    &["ALTER TABLE runs ADD COLUMN owner TEXT", "ALTER TABLE runs ADD COLUMN owned_since BIGINT"],
    // Which URL it was that had answered that it is gone, nobody knows: today's is asked once more.
    &[
        "DROP TABLE disabled_sinks",
        "CREATE TABLE disabled_sinks (
        sink TEXT NOT NULL,
        target TEXT NOT NULL,
        disabled_at BIGINT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (sink, target))",
        "ALTER TABLE deliveries ADD COLUMN failed_target TEXT",
    ],
    &["ALTER TABLE runs ADD COLUMN terms TEXT"],
    &["ALTER TABLE runs ADD COLUMN read_at BIGINT"],
    &["CREATE TABLE held (
        run_id BIGINT NOT NULL,
        token_id BIGINT NOT NULL,
        verdict TEXT NOT NULL,
        PRIMARY KEY (run_id, token_id)){clustered}"],
];

/// Any number that other programs do not lock.
const MIGRATION_LOCK: i64 = 0x6361_7264_7072_6f6f;

/// The number of the newest layout.
fn newest() -> i64 {
    i64::try_from(LAYOUTS.len()).unwrap_or(i64::MAX)
}

/// Brings the database to the newest layout. Two programs may do so at once: one waits for the other.
pub(super) async fn migrate(database: &Database) -> Result<(), StoreError> {
    let mut open = database.write("preparing its tables").await?;
    let found = match open.dialect() {
        Dialect::Sqlite => sqlite_layout(&mut open, &database.name).await?,
        Dialect::Postgres => postgres_layout(&mut open).await?,
    };
    let known = newest();
    if found > known {
        return Err(StoreError::Newer { name: database.name.clone(), found, known });
    }
    let steps = LAYOUTS.iter().skip(usize::try_from(found).unwrap_or_default());
    for statement in steps.flat_map(|layout| layout.iter()) {
        open.execute(&in_dialect(statement, database.dialect()), Vec::new()).await?;
    }
    if found < known {
        open.execute("DELETE FROM layout", Vec::new()).await?;
        open.execute("INSERT INTO layout (version) VALUES (?)", vec![known.into()]).await?;
    }
    open.commit().await
}

/// Requires the newest layout of a database that cannot be brought to it.
pub(super) async fn check(database: &Database) -> Result<(), StoreError> {
    let mut open = database.read("reading its layout").await?;
    let name = || database.name.clone();
    let ours = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'layout'";
    if open.row(ours, Vec::new()).await?.is_none() {
        return Err(StoreError::Foreign { name: name() });
    }
    let row = open.row("SELECT version FROM layout", Vec::new()).await?;
    let (found, known) = (row.map_or(Ok(0), |row| open.explained(row.int(0)))?, newest());
    match found.cmp(&known) {
        Ordering::Less => Err(StoreError::Older { name: name(), found, known }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StoreError::Newer { name: name(), found, known }),
    }
}

fn in_dialect(statement: &str, dialect: Dialect) -> String {
    let (serial, clustered) = match dialect {
        Dialect::Sqlite => ("INTEGER PRIMARY KEY AUTOINCREMENT", " WITHOUT ROWID"),
        Dialect::Postgres => ("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", ""),
    };
    statement.replace("{serial}", serial).replace("{clustered}", clustered)
}

/// The layout of a SQLite file, 0 for an empty one.
async fn sqlite_layout(open: &mut Transaction, name: &str) -> Result<i64, StoreError> {
    let tables = open.rows("SELECT name FROM sqlite_master WHERE type = 'table'", Vec::new()).await?;
    let mut ours = false;
    for table in &tables {
        ours |= open.explained(table.text(0))? == "layout";
    }
    if !ours && !tables.is_empty() {
        return Err(StoreError::Foreign { name: name.to_owned() });
    }
    layout(open).await
}

/// The layout in the schema `cardproof` of a PostgreSQL database, which may be one that other programs use too.
async fn postgres_layout(open: &mut Transaction) -> Result<i64, StoreError> {
    open.execute("SELECT pg_advisory_xact_lock(?)", vec![MIGRATION_LOCK.into()]).await?;
    // Asked for first: making a schema that is there needs a right that an ordinary user may not have.
    if open.row("SELECT 1::bigint FROM pg_namespace WHERE nspname = 'cardproof'", Vec::new()).await?.is_none() {
        open.execute("CREATE SCHEMA cardproof", Vec::new()).await?;
    }
    layout(open).await
}

async fn layout(open: &mut Transaction) -> Result<i64, StoreError> {
    open.execute("CREATE TABLE IF NOT EXISTS layout (version BIGINT NOT NULL)", Vec::new()).await?;
    match open.row("SELECT version FROM layout", Vec::new()).await? {
        Some(row) => open.explained(row.int(0)),
        None => Ok(0),
    }
}
