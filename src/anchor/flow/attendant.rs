use std::fmt;
use std::path::PathBuf;

use crate::anchor::{State, Transaction};
use crate::chain::TransactionHash;
use crate::identity::AccountAddress;

/// Who watches a flow and says yes: a person at a terminal, or a program with its own rules.
pub trait Attendant: Send {
    /// Called as things happen.
    fn step(&mut self, step: &Step);

    /// Called once before signing. `false` ends the flow with nothing signed.
    fn confirm(&mut self, review: &Review) -> bool;

    /// Whether it never says yes: the account is then neither held nor waited for.
    fn only_looks(&self) -> bool {
        false
    }
}

/// What is about to be signed.
#[derive(Debug, Clone)]
pub struct Review {
    /// The network's name.
    pub network: String,
    /// Who sends and pays.
    pub sender: AccountAddress,
    /// The transaction, exactly as it will be signed.
    pub transaction: Transaction,
    /// What it changes on the chain.
    pub changes: Vec<Change>,
    /// How many signatures its energy pays for.
    pub signature_count: u32,
    /// The energy that the dry run says it takes, in NRG.
    pub energy: u64,
    /// What that costs, in microCCD.
    pub microccd: u64,
    /// The most it can cost, in microCCD.
    pub most_microccd: u64,
}

/// One thing that a transaction changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What changes, for example `uri`.
    pub what: &'static str,
    /// What it is now; `None` when there is nothing, or it is not known.
    pub old: Option<String>,
    /// What it will be; `None` when it is erased.
    pub new: Option<String>,
}

/// Something that happened on the way.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Step {
    /// A URI is fetched.
    Fetching(String),
    /// The card that is about to be anchored, when its bytes are known: something to look at before it is signed.
    Card(Vec<u8>),
    /// The registry is searched for an agent of the same owner and URI.
    Searching {
        /// How many agents have been read.
        read: u64,
        /// How many there are.
        of: u64,
    },
    /// The transaction is signed and in the journal, and will be sent next.
    Signed(TransactionHash),
    /// A node took it.
    Sent(TransactionHash),
    /// It came further.
    State(TransactionHash, State),
    /// A card was filled in and written.
    Written(PathBuf),
    /// The URI is asked until it serves the card.
    WaitingForHost {
        /// The URI.
        uri: String,
        /// The filled card, to be hosted there.
        file: PathBuf,
        /// Why it does not do yet.
        now: String,
    },
    /// Something to know.
    Note(String),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetching(uri) => write!(f, "fetching {uri}"),
            Self::Card(card) => write!(f, "the card has {} bytes", card.len()),
            Self::Searching { read, of } => write!(f, "looking for an agent with the same owner and URI: {read} of {of}"),
            Self::Signed(hash) => write!(f, "signed: the transaction is {hash}"),
            Self::Sent(hash) => write!(f, "sent {hash}"),
            Self::State(hash, state) => write!(f, "{hash} is {}", state.as_str()),
            Self::Written(path) => write!(f, "wrote {}", path.display()),
            Self::WaitingForHost { uri, file, now } => {
                write!(f, "host {} at {uri}; waiting until it is served ({now})", file.display())
            }
            Self::Note(text) => f.write_str(text),
        }
    }
}
