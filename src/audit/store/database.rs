use sqlx::postgres::{PgPool, PgRow};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{Postgres, Row as _, Sqlite};

use super::StoreError;

/// Which SQL is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

/// The connections to one database.
#[derive(Debug, Clone)]
pub(super) struct Database {
    /// What messages call it; never its URL.
    pub(super) name: String,
    pub(super) pool: Pool,
}

#[derive(Debug, Clone)]
pub(super) enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// A value on its way into the database. PostgreSQL wants to know the type even of what is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

/// A chain's u64 takes the 64 bits of a column as they are: 2^63 and above are negative there, and come back unharmed.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(Some(value.cast_signed()))
    }
}

impl From<Option<u64>> for Value {
    fn from(value: Option<u64>) -> Self {
        Self::Int(value.map(u64::cast_signed))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

/// Text that a stranger wrote, for a column. A chain may hold U+0000 in a text and PostgreSQL may not.
pub(super) fn foreign(text: &str) -> String {
    if text.contains(['\\', '\0']) {
        text.replace('\\', "\\\\").replace('\0', "\\0")
    } else {
        text.to_owned()
    }
}

/// The text behind what [`foreign`] wrote.
pub(super) fn unforeign(stored: String) -> String {
    if !stored.contains('\\') {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('0') => text.push('\0'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

/// Statements are written with `?`; PostgreSQL numbers its parameters.
///
/// SQLite is given the plain form: it looks numbered parameters up one by one, which takes ages for thousands of them.
pub(super) fn numbered(sql: &str) -> String {
    let mut numbered = String::with_capacity(sql.len() + 64);
    let mut count = 0_usize;
    for piece in sql.split_inclusive('?') {
        match piece.strip_suffix('?') {
            Some(before) => {
                count += 1;
                numbered.push_str(before);
                numbered.push('$');
                numbered.push_str(&count.to_string());
            }
            None => numbered.push_str(piece),
        }
    }
    numbered
}

/// `(?, ?), (?, ?)` for so many rows and columns.
pub(super) fn places(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    vec![row; rows].join(", ")
}

/// A row of an answer.
pub(super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

macro_rules! get {
    ($row:expr, $column:expr) => {
        match $row {
            Row::Sqlite(row) => row.try_get($column),
            Row::Postgres(row) => row.try_get($column),
        }
    };
}

impl Row {
    pub(super) fn int(&self, column: usize) -> Result<i64, sqlx::Error> {
        get!(self, column)
    }

    pub(super) fn maybe_int(&self, column: usize) -> Result<Option<i64>, sqlx::Error> {
        get!(self, column)
    }

    pub(super) fn number(&self, column: usize) -> Result<u64, sqlx::Error> {
        self.int(column).map(i64::cast_unsigned)
    }

    pub(super) fn maybe_number(&self, column: usize) -> Result<Option<u64>, sqlx::Error> {
        Ok(self.maybe_int(column)?.map(i64::cast_unsigned))
    }

    pub(super) fn text(&self, column: usize) -> Result<String, sqlx::Error> {
        get!(self, column)
    }

    pub(super) fn maybe_text(&self, column: usize) -> Result<Option<String>, sqlx::Error> {
        get!(self, column)
    }
}

/// A transaction. Dropped before [`Transaction::commit`], it leaves nothing behind.
pub(super) struct Transaction {
    open: Open,
    name: String,
    doing: &'static str,
}

enum Open {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

macro_rules! query {
    ($sql:expr, $values:expr) => {{
        let mut query = sqlx::query($sql).persistent(false);
        for value in $values {
            query = match value {
                Value::Int(int) => query.bind(int),
                Value::Text(text) => query.bind(text),
            };
        }
        query
    }};
}

impl Database {
    pub(super) fn dialect(&self) -> Dialect {
        match self.pool {
            Pool::Sqlite(_) => Dialect::Sqlite,
            Pool::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Begins a transaction that writes. `doing` completes the sentence of an error.
    ///
    /// SQLite takes its one writer's place at the start: a reader that becomes a writer later may find itself locked out.
    pub(super) async fn write(&self, doing: &'static str) -> Result<Transaction, StoreError> {
        self.begin("BEGIN IMMEDIATE", "BEGIN", doing).await
    }

    /// Begins a transaction that only reads, so that all that it reads belongs together.
    pub(super) async fn read(&self, doing: &'static str) -> Result<Transaction, StoreError> {
        self.begin("BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", doing).await
    }

    async fn begin(&self, sqlite: &'static str, postgres: &'static str, doing: &'static str) -> Result<Transaction, StoreError> {
        let open = match &self.pool {
            Pool::Sqlite(pool) => {
                // In a task, so that it goes to its end when nobody waits for it any more: sqlx 0.8 forgets a transaction that is
                // given up in the middle of beginning, and its lock on the file would stay. One that is begun is rolled back.
                let pool = pool.clone();
                let begun = tokio::spawn(async move { pool.begin_with(sqlite).await });
                begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed)).map(Open::Sqlite)
            }
            Pool::Postgres(pool) => pool.begin_with(postgres).await.map(Open::Postgres),
        };
        let open = open.map_err(|source| explain(&self.name, doing, source))?;
        Ok(Transaction { open, name: self.name.clone(), doing })
    }
}

impl Transaction {
    pub(super) fn dialect(&self) -> Dialect {
        match self.open {
            Open::Sqlite(_) => Dialect::Sqlite,
            Open::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Runs a statement and says how many rows it touched.
    pub(super) async fn execute(&mut self, sql: &str, values: Vec<Value>) -> Result<u64, StoreError> {
        let done = match &mut self.open {
            Open::Sqlite(open) => query!(sql, values).execute(&mut **open).await.map(|done| done.rows_affected()),
            Open::Postgres(open) => {
                let sql = numbered(sql);
                query!(&sql, values).execute(&mut **open).await.map(|done| done.rows_affected())
            }
        };
        self.explained(done)
    }

    /// Runs a statement that answers with rows.
    pub(super) async fn rows(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let rows = match &mut self.open {
            Open::Sqlite(open) => {
                query!(sql, values).fetch_all(&mut **open).await.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
            }
            Open::Postgres(open) => {
                let sql = numbered(sql);
                query!(&sql, values).fetch_all(&mut **open).await.map(|rows| rows.into_iter().map(Row::Postgres).collect())
            }
        };
        self.explained(rows)
    }

    /// Runs a statement that answers with one row, or with none.
    pub(super) async fn row(&mut self, sql: &str, values: Vec<Value>) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    pub(super) async fn commit(self) -> Result<(), StoreError> {
        let Self { open, name, doing } = self;
        let done = match open {
            Open::Sqlite(open) => open.commit().await,
            Open::Postgres(open) => open.commit().await,
        };
        done.map_err(|source| explain(&name, doing, source))
    }

    /// The same error for what a row does not hold as for what the database refuses.
    pub(super) fn explained<T>(&self, result: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        result.map_err(|source| explain(&self.name, self.doing, source))
    }

    /// The error for a value that is no `what`.
    pub(super) fn no(&self, what: &'static str) -> StoreError {
        StoreError::Value { name: self.name.clone(), what }
    }
}

/// Tells a damaged file, a busy one and one that may not be written from everything else (SQLite's primary result codes 11 and 26, 5, 8
/// and 14).
pub(super) fn explain(name: &str, doing: &'static str, source: sqlx::Error) -> StoreError {
    let name = name.to_owned();
    let code = source.as_database_error().and_then(|error| error.try_downcast_ref::<sqlx::sqlite::SqliteError>());
    let code = code.and_then(sqlx::error::DatabaseError::code).and_then(|code| code.parse::<i64>().ok());
    match code.map(|code| code & 0xff) {
        Some(11 | 26) => StoreError::Corrupt { name },
        Some(5) => StoreError::Busy { name },
        Some(8 | 14) => StoreError::Unwritable { name },
        _ => StoreError::Database { name, doing, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_in_order() {
        assert_eq!(numbered("a = ? AND b IN (?, ?)"), "a = $1 AND b IN ($2, $3)");
        assert_eq!(numbered("no parameter"), "no parameter");
        assert_eq!(places(2, 3), "(?, ?, ?), (?, ?, ?)");
    }

    #[test]
    fn any_text_survives_a_column_that_takes_no_nul() {
        for text in ["", "plain", "a\0b", "\\0", "\\\\\0\\", "é\\"] {
            let stored = foreign(text);
            assert!(!stored.contains('\0'));
            assert_eq!(unforeign(stored), text);
        }
    }
}
