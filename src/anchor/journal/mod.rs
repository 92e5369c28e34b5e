//! What was signed and sent, on disk before it is sent: so that nothing is ever sent twice and a crash loses nothing.
//!
//! One file and one lock for each account of each network, under the state folder:
//! `transactions/<first 16 hex of the genesis hash>/<account>.jsonl` and `….lock`. The account is written with alias counter 0,
//! because all aliases of an account share one nonce. Each line is a JSON object (`cardproof.journal/1`) that says what became of one
//! transaction; the last line about a transaction counts. A line is on the disk (`fsync`) before the step it announces is taken.

mod entry;
mod file;
mod promise;

pub use entry::{Entry, JournalState};
pub use file::{Journal, JournalLock};

use std::io;
use std::path::PathBuf;

/// Why the journal could not be used. Without it nothing is sent.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk failed.
    #[error("the journal of transactions {path} cannot be used: {cause}", path = path.display())]
    Disk {
        /// Which file or folder.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// A line is not one that cardproof wrote.
    #[error("the journal of transactions {path} is damaged at line {line}: {why}; look at it and move it away to go on", path = path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Another process is sending for the same account.
    #[error("another run of cardproof is at a transaction of the same account, or waits for its confirmation; it did not finish within {0} seconds")]
    Busy(u64),
}
