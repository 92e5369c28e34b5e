use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::sqlite::SqlitePool;
use sqlx::{Connection, Executor, Row as _};

use super::database::{explain, Database, Pool, Transaction};
use super::StoreError;

/// The upper half of a run's lock number in PostgreSQL, which other programs do not use.
const RUN_LOCK: i64 = 0x6372_756e << 32;
const DOING: &str = "locking a run";

/// A lock on a run that ends with the process that has it, however that ends.
#[derive(Debug)]
pub(super) enum Lock {
    File(FileLock),
    /// A lock of the session: PostgreSQL frees it when the connection ends. With what makes another one.
    Session(PgConnection, PgPool),
}

impl Lock {
    /// Frees the lock of this run; when it returns, others can have it. Merely dropped, the server frees it a little after the
    /// connection has ended.
    pub(super) async fn free(self, run: i64) {
        if let Self::Session(mut session, _) = self {
            let unlock = sqlx::query("SELECT pg_advisory_unlock($1)").persistent(false).bind(number(run));
            let _ = unlock.execute(&mut session).await;
            let _ = session.close().await;
        }
    }
}

/// A locked file beside the database. It is removed together with the lock; one that a killed process leaves is in nobody's way.
#[derive(Debug)]
pub(super) struct FileLock {
    path: PathBuf,
    _file: File,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Before the lock is freed, so that whoever waits for it sees that this file is the lock no more. Where an open file cannot
        // be removed, it stays.
        let _ = fs::remove_file(&self.path);
    }
}

/// Locks a run; `None` when another process has it.
pub(super) async fn lock(database: &Database, run: i64) -> Result<Option<Lock>, StoreError> {
    match &database.pool {
        Pool::Sqlite(pool) => lock_file(&path(pool, run)).map(|file| file.map(Lock::File)).map_err(|e| failed(database, e)),
        Pool::Postgres(pool) => {
            let session = session(pool, run).await.map_err(|source| explain(&database.name, DOING, source))?;
            Ok(session.map(|session| Lock::Session(session, pool.clone())))
        }
    }
}

/// Whether a process has a run.
pub(super) async fn is_locked(open: &mut Transaction, database: &Database, run: i64) -> Result<bool, StoreError> {
    match &database.pool {
        Pool::Sqlite(pool) => {
            let path = path(pool, run);
            Ok(path.exists() && lock_file(&path).map_err(|error| failed(database, error))?.is_none())
        }
        Pool::Postgres(_) => {
            let held = "SELECT 1::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND ((classid::bigint << 32) | objid::bigint) = ?";
            Ok(open.row(held, vec![number(run).into()]).await?.is_some())
        }
    }
}

/// Removes the files that killed processes have left.
pub(super) fn sweep(database: &Database) {
    let Pool::Sqlite(pool) = &database.pool else { return };
    let path = path(pool, 0);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Some(start) = name.as_encoded_bytes().strip_suffix(b"0") else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.as_encoded_bytes().strip_prefix(start);
        let is_lock = number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit));
        if is_lock && entry.metadata().is_ok_and(|found| found.is_file() && found.len() == 0) {
            drop(lock_file(&entry.path()));
        }
    }
}

/// A connection of its own that has the lock of a run.
pub(super) async fn session(pool: &PgPool, run: i64) -> Result<Option<PgConnection>, sqlx::Error> {
    let mut session = PgConnection::connect_with(&pool.connect_options()).await?;
    // The server notices within half a minute that a machine is gone (`super::hold`); where it cannot, its own settings are in force.
    for setting in ["tcp_keepalives_idle = 10", "tcp_keepalives_interval = 5", "tcp_keepalives_count = 4"] {
        let _ = session.execute(format!("SET {setting}").as_str()).await;
    }
    let row = sqlx::query("SELECT pg_try_advisory_lock($1)").persistent(false).bind(number(run)).fetch_one(&mut session).await?;
    if row.try_get::<bool, _>(0)? {
        return Ok(Some(session));
    }
    session.close().await?;
    Ok(None)
}

fn number(run: i64) -> i64 {
    RUN_LOCK | (run & 0xffff_ffff)
}

/// Beside the file that the links lead to: the same one by whatever name the database is opened.
fn path(pool: &SqlitePool, run: i64) -> PathBuf {
    let options = pool.connect_options();
    let file = options.get_filename();
    let mut name = OsString::from(fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()));
    name.push(format!("-run-{run}"));
    name.into()
}

fn lock_file(path: &Path) -> io::Result<Option<FileLock>> {
    loop {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        // Through the trait: the standard library has a method of the same name in later versions.
        match FileExt::try_lock(&file) {
            Ok(()) if is_still(&file, path)? => return Ok(Some(FileLock { path: path.to_owned(), _file: file })),
            // Who had it before has removed it: the next one may be another's already.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let mine = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (mine.dev(), mine.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// An open file keeps its name there.
#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

fn failed(database: &Database, source: io::Error) -> StoreError {
    StoreError::File { file: database.name.clone(), source }
}
