//! The local agent list: a JSON file that says under which names agents are reached (card facts, "The local agent list").
//!
//! The file belongs to its user and to other programs too. So what is not understood survives every rewrite byte for byte, a
//! rewrite is the old file or the new one and never half of it, writers wait for each other, and a file that cannot be
//! read is never written.

mod conflict;
mod discover;
mod entry;
mod list;
mod store;
mod targets;
mod transport;

pub use conflict::{Imported, OnConflict};
pub use discover::{discover, entry_of_card, Attempt, Discovery, FoundCard, WELL_KNOWN};
pub use entry::{Entry, OnChain};
pub use list::AgentList;
pub use store::{replace_file, ListFile};
pub use targets::{targets, Target, Targets};
pub use transport::{Transport, TransportKind};

use std::path::PathBuf;

/// Why the list could not be read, changed or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The file could not be read.
    #[error("{path} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no list, and none can be made.
    #[error("there is no agent list at {path}, and none can be made there: {source}")]
    Create {
        /// Where it would be.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file could not be written; it is as it was.
    #[error("{path} cannot be written, and is as it was: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another program held the lock for too long.
    #[error("another program has been writing {path} for {seconds} seconds; nothing was changed")]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The file is not an agent list. It is never overwritten.
    #[error("{path} is not an agent list, and nothing was changed: {why}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A text is not an agent list, or not an entry of one.
    #[error("{0}")]
    Invalid(String),
    /// There is no such agent.
    #[error("there is no agent named {0} in the list")]
    NotFound(String),
    /// There are agents with these names already, and nobody said what to do about it.
    #[error("the list already has {}", named(.0))]
    Conflicts(Vec<String>),
}

/// `an agent named x`, or `agents named x, y and 3 more`.
fn named(names: &[String]) -> String {
    const SHOWN: usize = 5;
    match names {
        [one] => format!("an agent named {one}"),
        many if many.len() <= SHOWN => format!("agents named {}", many.join(", ")),
        many => {
            let shown = many.get(..SHOWN).unwrap_or_default().join(", ");
            format!("agents named {shown} and {} more", many.len() - SHOWN)
        }
    }
}
