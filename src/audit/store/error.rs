/// The store could not do what was asked.
///
/// No message holds the database's URL: it may carry a password.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// What names the database is neither a path nor a PostgreSQL URL.
    #[error("the database must be a path to a file, sqlite:<path>, or postgres://<user>@<host>/<database>")]
    Location,
    /// The file cannot be made or opened.
    #[error("the database file {file} cannot be opened: {source}")]
    File {
        /// The file.
        file: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is damaged, or is no database.
    #[error("{name} is damaged or is no SQLite database; move it away and the audit starts with a new one, or restore a backup")]
    Corrupt {
        /// The database.
        name: String,
    },
    /// The database is another program's.
    #[error("{name} is a database of another program; name a file that does not exist yet")]
    Foreign {
        /// The database.
        name: String,
    },
    /// A newer version of the program has written it.
    #[error(
        "{name} was written by a newer cardproof (its layout is {found}, this program knows up to {known}); use that version"
    )]
    Newer {
        /// The database.
        name: String,
        /// The layout's version in the database.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file cannot be written to, or its folder takes no file beside it.
    #[error(
        "{name} cannot be written: it, or its folder, is another user's or on a read-only medium; let this user write to both, or \
         name another file with --store"
    )]
    Unwritable {
        /// The database.
        name: String,
    },
    /// The file cannot be written to, and without that its newest results cannot be read.
    #[error(
        "{name} cannot be read as it is: its newest results stand in {name}-wal, and to read them something must be written beside it, \
         which this user may not; run the command as a user who may, or copy both files to a folder of your own and name the copy with \
         --store"
    )]
    Unreadable {
        /// The database.
        name: String,
    },
    /// An older version of the program has written it, and it cannot be brought up to date.
    #[error(
        "{name} was written by an older cardproof (its layout is {found}, this program reads {known}) and cannot be brought up to date, \
         because it cannot be written; run the command once as a user who may write to it, or on a copy"
    )]
    Older {
        /// The database.
        name: String,
        /// The layout's version in the database.
        found: i64,
        /// The version that this program reads.
        known: i64,
    },
    /// Another program holds the database for longer than this one waits.
    #[error("{name} is in use by another program that does not let go; try again when that has ended")]
    Busy {
        /// The database.
        name: String,
    },
    /// A server does not answer.
    #[error("{name} did not answer within {seconds} s; is its address right, and may this machine connect to it?")]
    Silent {
        /// The database.
        name: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The database refuses or cannot be reached.
    #[error("{name} failed while {doing}: {source}")]
    Database {
        /// The database.
        name: String,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        source: sqlx::Error,
    },
    /// A value in the database is none that this program writes.
    #[error("{name} holds something that is no {what}; it was changed by hand or by a newer version")]
    Value {
        /// The database.
        name: String,
        /// What was expected.
        what: &'static str,
    },
    /// A verdict without an agent has no place in the memory of agents.
    #[error("only verdicts on agents of a registry are stored")]
    NoAgent,
    /// There is no such run.
    #[error("the store has no run {0}; `cardproof audit runs` lists them")]
    NoRun(i64),
    /// The task that writes has ended.
    #[error("the task that writes to the database has ended; nothing more can be stored")]
    Ended,
}
