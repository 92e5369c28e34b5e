//! What the audits before this one found, in a database: SQLite in one file, or PostgreSQL for several machines.
//!
//! [`Store`] is the front door. It answers alike over both: the statements are the same where the dialects agree and each
//! dialect's own where they do not (`schema`, `lease`). What an agent's verdict changes is decided by a state machine without
//! a database (`memory`), and written together with the verdict in one transaction (`record`), so that a process killed at any
//! moment has recorded an agent and its transitions, or neither. A [`Recorder`] batches what a run hands to it.
//!
//! Numbers of the chain are u64: they take the 64 bits of a BIGINT as they are, so that 2^63 and above are negative there.

mod database;
mod delivery;
mod error;
mod held;
mod history;
mod hold;
mod lease;
mod location;
mod lock;
mod memory;
mod record;
mod recorder;
mod results;
mod retention;
mod runs;
mod schema;

pub use delivery::{Delivery, Outstanding, SinkKey, Waiting, LONGEST_WAIT};
pub use error::StoreError;
pub use history::{AgentHistory, Compared, PastResult, SeenDigest};
pub use hold::{RunHold, RunOwner, Taken};
pub use lease::{Lease, Shares};
pub use location::StoreLocation;
pub use memory::{AgentMemory, Patience};
pub use record::RecordSettings;
pub use recorder::Recorder;
pub use results::LastResult;
pub use retention::Forgotten;
pub use runs::{NewRun, Unfinished};

use database::Database;

/// The memory of audits. Cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct Store {
    database: Database,
}

impl Store {
    /// Opens the store, makes it when there is none, and brings it to the layout of this version.
    ///
    /// A new file can be read by its owner only. In PostgreSQL the tables are in the schema `cardproof`.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be reached, is damaged, another program's, or a newer version's.
    pub async fn open(location: &StoreLocation) -> Result<Self, StoreError> {
        let database = location.connect().await?;
        schema::migrate(&database).await?;
        Ok(Self { database })
    }

    /// Opens a store that is there, to ask it: one that cannot be written to as well.
    ///
    /// # Errors
    /// As [`Store::open`]. [`StoreError::Unreadable`] when results stand in its log, which nobody reads without writing beside it, and
    /// [`StoreError::Older`] when its layout is an older one that can only be read after it was changed.
    pub async fn open_to_read(location: &StoreLocation) -> Result<Self, StoreError> {
        let unwritable = match Self::open(location).await {
            Err(StoreError::Unwritable { name }) => StoreError::Unwritable { name },
            opened => return opened,
        };
        for alone in [false, true] {
            if alone && location.has_log() {
                let name = location.path().map(|path| path.display().to_string()).unwrap_or_default();
                return Err(StoreError::Unreadable { name });
            }
            match Self::read_only(location, alone).await {
                // SQLite wants to write beside the file even for reading, as long as others might write to it.
                Err(StoreError::Unwritable { .. }) => {}
                opened => return opened,
            }
        }
        Err(unwritable)
    }

    async fn read_only(location: &StoreLocation, alone: bool) -> Result<Self, StoreError> {
        let database = location.connect_to_read(alone).await?;
        schema::check(&database).await?;
        Ok(Self { database })
    }

    /// Ends all connections in order. A store that is merely dropped loses nothing either, but a file that is closed holds
    /// everything by itself, without its log beside it: it can be copied.
    pub async fn close(&self) {
        match &self.database.pool {
            database::Pool::Sqlite(pool) => {
                // In this order: what is learnt about the tables is written, too. Another process that is reading keeps the log; then the
                // last one to close takes it in.
                for last in ["PRAGMA optimize", "PRAGMA wal_checkpoint(TRUNCATE)"] {
                    let _ = sqlx::query(last).execute(pool).await;
                }
                pool.close().await;
            }
            database::Pool::Postgres(pool) => pool.close().await,
        }
    }
}
