use std::borrow::Cow;

/// Why bytes could not be read as what they were said to be.
///
/// Nothing is guessed: a missing byte and a byte too many are both errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("the bytes end inside {what}: {needed} bytes were due at offset {offset}, {left} are left")]
    Truncated {
        /// What was being read.
        what: Cow<'static, str>,
        /// Where it starts, counted from the first byte.
        offset: usize,
        /// How many bytes it takes.
        needed: u64,
        /// How many bytes there are.
        left: usize,
    },
    /// Bytes follow where the value ends.
    #[error("{left} bytes follow where {what} ends, at offset {offset}")]
    Trailing {
        /// What was read.
        what: Cow<'static, str>,
        /// Where it ends.
        offset: usize,
        /// How many bytes follow.
        left: usize,
    },
    /// A byte that chooses between alternatives has a value that stands for none.
    #[error("the byte at offset {offset}, which says what follows in {what}, is {tag}: no such alternative is known")]
    Tag {
        /// What was being read.
        what: Cow<'static, str>,
        /// Where the byte is.
        offset: usize,
        /// Its value.
        tag: u16,
    },
    /// A text is not UTF-8.
    #[error("{what}, at offset {offset}, is not valid UTF-8 text")]
    Text {
        /// What was being read.
        what: Cow<'static, str>,
        /// Where the text starts.
        offset: usize,
    },
    /// The bytes have the right length and cannot mean what they were said to be.
    #[error("{what}, at offset {offset}, {why}")]
    Malformed {
        /// What was being read.
        what: Cow<'static, str>,
        /// Where it starts.
        offset: usize,
        /// What is wrong with it, continuing a sentence that starts with `what`.
        why: &'static str,
    },
    /// A record as an older contract wrote it.
    #[error(
        "the record uses the older layout with 2-byte lengths, where the deployed contracts write 4 bytes: \
         this is not the registry, or not its current version"
    )]
    OlderLayout,
    /// Decoding by a schema would make more values than any agent needs.
    #[error("the bytes describe more than {limit} values: they are not read any further")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
    /// A field of a record decoded by its schema is missing or has an unexpected shape.
    #[error("the field {field} of the record {why}")]
    Field {
        /// The field's name in the schema.
        field: Cow<'static, str>,
        /// What is wrong with it, continuing the sentence.
        why: &'static str,
    },
    /// An error inside a value described by a schema.
    #[error("in {path}: {cause}")]
    Inside {
        /// Names of fields and variants and positions in lists, from the outside in, joined by dots.
        path: String,
        /// The error.
        cause: Box<DecodeError>,
    },
}

impl DecodeError {
    /// Names the place one step further out.
    pub(super) fn inside(self, step: &str) -> Self {
        match self {
            // What stops the whole decoding needs no place.
            Self::TooManyValues { .. } => self,
            Self::Inside { path, cause } => Self::Inside { path: format!("{step}.{path}"), cause },
            cause => Self::Inside { path: step.to_string(), cause: Box::new(cause) },
        }
    }
}

/// Why a value cannot be written as bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A text or a list has more bytes or items than its length field can say.
    #[error("{what} is too long: its length must fit into {bytes} byte(s)")]
    TooLong {
        /// What is too long.
        what: Cow<'static, str>,
        /// How many bytes the length field has.
        bytes: u8,
    },
    /// The parameter is larger than a transaction may carry.
    #[error("the parameter has {bytes} bytes; a contract takes at most {limit}")]
    ParameterTooLong {
        /// Its size.
        bytes: usize,
        /// The chain's limit.
        limit: usize,
    },
    /// A JSON value, or a value of another type, stands where the schema wants something else.
    #[error("{why}")]
    Mismatch {
        /// What the schema wants.
        why: Cow<'static, str>,
    },
    /// An error inside a value described by a schema.
    #[error("in {path}: {cause}")]
    Inside {
        /// Names of fields and variants and positions in lists, from the outside in, joined by dots.
        path: String,
        /// The error.
        cause: Box<EncodeError>,
    },
}

impl EncodeError {
    pub(super) fn mismatch(why: impl Into<Cow<'static, str>>) -> Self {
        Self::Mismatch { why: why.into() }
    }

    /// Names the place one step further out.
    pub(super) fn inside(self, step: &str) -> Self {
        match self {
            Self::Inside { path, cause } => Self::Inside { path: format!("{step}.{path}"), cause },
            cause => Self::Inside { path: step.to_string(), cause: Box::new(cause) },
        }
    }
}
