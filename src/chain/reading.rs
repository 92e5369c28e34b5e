use std::fmt;
use std::str::FromStr;

use crate::registry::{AgentRecord, Timestamp};

macro_rules! hash_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub [u8; 32]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

hash_type! {
    /// The hash of a block: 32 bytes, written as 64 hexadecimal digits.
    BlockHash
}
hash_type! {
    /// The reference of a contract module: the SHA-256 of its source, written as 64 hexadecimal digits.
    ModuleRef
}

/// Which finalized block to read at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtBlock {
    /// The newest.
    LastFinalized,
    /// The one with this hash.
    Hash(BlockHash),
    /// The one at this height, counted from the chain's first genesis block.
    Height(u64),
}

impl FromStr for AtBlock {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut hash = [0; 32];
        if hex::decode_to_slice(text, &mut hash).is_ok() {
            return Ok(Self::Hash(BlockHash(hash)));
        }
        let height = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        height.map(Self::Height).ok_or_else(|| "a block is named by its hash (64 hexadecimal digits) or its height".into())
    }
}

/// A finalized block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    /// Its hash.
    pub hash: BlockHash,
    /// Its height, counted from the chain's first genesis block.
    pub height: u64,
    /// Its slot time.
    pub time: Timestamp,
}

/// How a record's bytes were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecodedWith {
    /// By the schema embedded in the contract's module.
    Schema,
    /// By the fixed layout of the registry as deployed.
    Layout,
}

impl DecodedWith {
    /// `schema` or `layout`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Layout => "layout",
        }
    }
}

/// What a chain says about one agent at one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The record, or `None` when there is no such agent.
    pub record: Option<AgentRecord>,
    /// How the answer was read; `None` when there was nothing to read, because the contract said by a rejection that there is no
    /// such agent.
    pub decoded_with: Option<DecodedWith>,
    /// Why the schema of the module could not be had or read, where the layout stands in for it: a sentence without its end. `None`
    /// when the module has no schema that says how the answer is built.
    pub schema_problem: Option<String>,
    /// The module the contract ran at that block.
    pub module_ref: ModuleRef,
}

/// Why an agent could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ChainError {
    /// Which kind of failure.
    pub kind: ChainErrorKind,
    /// One sentence with the cause and what to do.
    pub message: String,
}

impl ChainError {
    pub(crate) fn new(kind: ChainErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// The kinds of [`ChainError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChainErrorKind {
    /// The node is of another network. Nothing more is asked of it.
    WrongNetwork,
    /// The named block is not known, or not finalized.
    BlockNotFound,
    /// There is no contract at the registry's address, or it is not a CIS-8004 registry.
    RegistryNotFound,
    /// No node could be reached, or none answered in time.
    NodeUnavailable,
    /// A node answered with an error.
    NodeError,
    /// The newest finalized block is older than allowed.
    NodeBehind,
    /// The nodes of a quorum gave different records.
    NodesDisagree,
    /// The answer's bytes are not a record.
    RecordUndecodable,
    /// The configuration cannot be used (a URL that is none, a certificate file that cannot be read).
    Configuration,
}
