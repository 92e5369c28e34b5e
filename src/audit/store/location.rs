use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, Executor, PgConnection};

use super::database::{explain, Database, Pool};
use super::StoreError;

/// How long a writer waits for another one of the same file.
const BUSY: Duration = Duration::from_secs(30);
/// How long a connection may take to come.
const CONNECT: Duration = Duration::from_secs(30);

/// Where a store is: the file of a SQLite database, or the URL of a PostgreSQL database.
///
/// A URL may carry a password, so it cannot be printed.
#[derive(Clone)]
pub struct StoreLocation(Place);

#[derive(Clone)]
enum Place {
    File(PathBuf),
    Server(Box<PgConnectOptions>),
}

impl StoreLocation {
    /// The SQLite database in a file, which need not exist.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Place::File(path.into()))
    }

    /// The file, when it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Place::File(path) => Some(path),
            Place::Server(_) => None,
        }
    }

    pub(super) async fn connect(&self) -> Result<Database, StoreError> {
        let (name, pool) = match &self.0 {
            Place::File(path) => {
                let name = path.display().to_string();
                create(path).map_err(|source| StoreError::File { file: name.clone(), source })?;
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    .journal_mode(SqliteJournalMode::Wal)
                    // With a write-ahead log a killed process loses nothing; only a power cut may lose the last moments.
                    .synchronous(SqliteSynchronous::Normal)
                    .busy_timeout(BUSY);
                let pool = SqlitePoolOptions::new().max_connections(4).acquire_timeout(CONNECT).connect_with(options).await;
                (name, pool.map(Pool::Sqlite))
            }
            Place::Server(options) => {
                let options = options.as_ref().clone();
                let options = match options.get_application_name() {
                    Some(_) => options,
                    None => options.application_name("cardproof"),
                };
                let name = "the PostgreSQL database".to_owned();
                greet(&options, &name).await?;
                let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(CONNECT).after_connect(|connection, _| {
                    Box::pin(async move { connection.execute("SET search_path TO cardproof").await.map(|_| ()) })
                });
                (name, Ok(Pool::Postgres(pool.connect_lazy_with(options))))
            }
        };
        let pool = pool.map_err(|source| explain(&name, "connecting", source))?;
        Ok(Database { name, pool })
    }
}

impl StoreLocation {
    /// Connects to a file that cannot be written, to read it. `alone` says that nobody else has it open, and
    /// that it is read as it stands, without what SQLite keeps beside it.
    pub(super) async fn connect_to_read(&self, alone: bool) -> Result<Database, StoreError> {
        let path = self.path().ok_or(StoreError::Location)?;
        let name = path.display().to_string();
        let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(alone).busy_timeout(BUSY);
        let pool = SqlitePoolOptions::new().max_connections(4).acquire_timeout(CONNECT).connect_with(options).await;
        let pool = pool.map_err(|source| explain(&name, "connecting", source))?;
        Ok(Database { name, pool: Pool::Sqlite(pool) })
    }

    /// Whether SQLite keeps results beside the file that are not in it yet.
    pub(super) fn has_log(&self) -> bool {
        let log = self.path().map(|path| {
            let mut log = path.as_os_str().to_owned();
            log.push("-wal");
            log
        });
        log.is_some_and(|log| std::fs::metadata(log).is_ok_and(|log| log.len() > 0))
    }
}

/// Connects once, to hear at once what is wrong: the pool would try again and again, and then only say that time is over.
async fn greet(options: &PgConnectOptions, name: &str) -> Result<(), StoreError> {
    let greeting = async { PgConnection::connect_with(options).await?.close().await };
    match tokio::time::timeout(CONNECT, greeting).await {
        Ok(greeted) => greeted.map_err(|source| explain(name, "connecting", source)),
        Err(_) => Err(StoreError::Silent { name: name.to_owned(), seconds: CONNECT.as_secs() }),
    }
}

/// Makes the file for its owner alone: which agents somebody watches is nobody else's business. SQLite gives its log files
/// the mode of the database.
fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(|_| ()),
    }
}

impl FromStr for StoreLocation {
    type Err = StoreError;

    /// Reads a path, `sqlite:<path>`, or `postgres://…`.
    ///
    /// # Errors
    /// [`StoreError::Location`] for a URL of another kind or without its parts. It is not repeated.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let options = text.parse().map_err(|_| StoreError::Location)?;
            return Ok(Self(Place::Server(Box::new(options))));
        }
        let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")).unwrap_or(text);
        if path.is_empty() || path.contains("://") {
            return Err(StoreError::Location);
        }
        Ok(Self::file(path))
    }
}

impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::File(path) => f.debug_tuple("File").field(path).finish(),
            Place::Server(_) => f.write_str("Server(hidden)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_password_is_never_printed() {
        let location: StoreLocation = "postgres://auditor:geheim@db.example/cards".parse().unwrap();
        assert!(!format!("{location:?}").contains("geheim"));
        let wrong = "mysql://auditor:geheim@db.example/cards".parse::<StoreLocation>().unwrap_err();
        assert!(!format!("{wrong} {wrong:?}").contains("geheim"));
    }

    #[test]
    fn paths_are_read_with_and_without_a_scheme() {
        for text in ["audit.db", "sqlite:audit.db", "sqlite://audit.db"] {
            assert_eq!(text.parse::<StoreLocation>().unwrap().path(), Some(Path::new("audit.db")), "{text}");
        }
        for text in ["", "sqlite:", "http://db.example", "postgres://[", "mysql://db"] {
            assert!(text.parse::<StoreLocation>().is_err(), "{text}");
        }
    }
}
