use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the local chain could not start, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DevnetError {
    /// Nothing can listen at the address.
    #[error("cannot listen on {address}: {cause}. Another program may be using the port; choose one with --port, or 0 for any free port")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The operating system's answer.
        #[source]
        cause: std::io::Error,
    },
    /// A file or folder cannot be used.
    #[error("cannot {action} {}: {cause}", path.display())]
    File {
        /// What was tried, e.g. "write".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        cause: std::io::Error,
    },
    /// Another process has the data folder.
    #[error("{} is in use by another devnet; stop that one, or choose another --data-dir", path.display())]
    InUse {
        /// The data folder.
        path: PathBuf,
    },
    /// The log holds bytes that are not what was written.
    #[error("{} is damaged at byte {offset}: {why}. Nothing was changed; restore the file from a copy, or choose an empty --data-dir", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the damage begins.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// The data folder was started with other settings.
    #[error("{} holds a chain started with {setting} {stored}, not {asked}; leave the option out, or choose another --data-dir", path.display())]
    Settings {
        /// The data folder.
        path: PathBuf,
        /// Which setting.
        setting: &'static str,
        /// What the folder says.
        stored: String,
        /// What was asked for.
        asked: String,
    },
    /// The settings contradict themselves.
    #[error("{0}")]
    Configuration(String),
    /// The first block could not be made.
    #[error("the genesis block could not be made: {0}")]
    Genesis(String),
    /// The node refused a transaction before it was in a block.
    #[error("the transaction was refused: {0}")]
    Refused(String),
    /// The node's own failure.
    #[error("the local chain failed: {0}")]
    Internal(String),
}
