use serde::{Serialize, Serializer};

use crate::digest::Sha256Digest;

use super::findings::Findings;
use super::{Code, Dialect, Document, Severity};

/// What a lint found in one card: the document `cardproof.lint/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintReport {
    /// The name and version of this document.
    pub schema: &'static str,
    /// The dialects recognised, in the order of [`Dialect::ALL`].
    pub dialects: Vec<Dialect>,
    /// What was found, in the order of the document.
    pub findings: Vec<Finding>,
    /// How many more findings there are: at most 100 of one code are told.
    pub omitted: u64,
    /// The SHA-256 of the card's bytes, which is what a registry anchors.
    #[serde(serialize_with = "as_text")]
    pub sha256: Sha256Digest,
    /// How many bytes the card has.
    pub bytes: u64,
}

/// One thing that a card says wrongly, or might.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which kind of finding.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// The JSON pointer (RFC 6901) of the value; of a missing field, where it would stand. Escape it before it reaches a terminal.
    pub pointer: String,
    /// The line where the value starts, counted from 1; of a missing field, where the object starts that lacks it.
    pub line: usize,
    /// The character in that line, counted from 1.
    pub column: usize,
    /// What it says, as a sentence. It quotes the card: escape it before it reaches a terminal.
    pub message: String,
}

impl LintReport {
    /// The name and version of the document.
    pub const SCHEMA: &'static str = "cardproof.lint/1";

    pub(super) fn new(document: &Document<'_>, dialects: Vec<Dialect>, findings: Findings) -> Self {
        let omitted = findings.omitted();
        let tell = |found: super::findings::Found| {
            let mut pointer = document.pointer_at(found.offset);
            if let Some(key) = &found.missing {
                super::document::push_segment(&mut pointer, key);
            }
            let position = document.position(found.offset);
            Finding {
                code: found.code,
                severity: found.code.severity(),
                pointer,
                line: position.line,
                column: position.column,
                message: found.message,
            }
        };
        Self {
            schema: Self::SCHEMA,
            dialects,
            findings: findings.sorted().into_iter().map(tell).collect(),
            omitted,
            sha256: Sha256Digest::of(document.bytes()),
            bytes: document.bytes().len() as u64,
        }
    }

    /// The most severe finding's severity; `None` when nothing was found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

fn as_text<S: Serializer>(digest: &Sha256Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(digest)
}
