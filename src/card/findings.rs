use std::collections::HashMap;
use std::ops::Range;

use super::Code;
use crate::credentials::without_credentials;

/// How many findings of one code are told; a hostile document could hold millions.
pub(super) const PER_CODE: u64 = 100;

/// Findings while they are collected: where they are is an offset, and becomes a pointer, line and column at the end.
#[derive(Debug, Default, Clone)]
pub(super) struct Findings {
    found: Vec<Found>,
    counts: HashMap<Code, u64>,
    /// How many more whoever collected them did not keep.
    unkept: u64,
}

/// One finding.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) code: Code,
    /// Where the value starts.
    pub(super) offset: usize,
    /// The key that is missing in the object at the offset.
    pub(super) missing: Option<String>,
    pub(super) message: String,
}

impl Findings {
    /// Adds a finding about the value at `offset`. The sentence is only made when it will be told.
    pub(super) fn add(&mut self, code: Code, offset: usize, message: impl FnOnce() -> String) {
        self.add_with(code, || Found { code, offset, missing: None, message: message() });
    }

    /// Adds a finding about a key that the object at `offset` lacks.
    pub(super) fn add_missing(&mut self, code: Code, offset: usize, key: &str, message: impl FnOnce() -> String) {
        self.add_with(code, || Found { code, offset, missing: Some(key.to_owned()), message: message() });
    }

    /// Adds a finding whose place, too, is only looked for when it will be told.
    pub(super) fn add_with(&mut self, code: Code, found: impl FnOnce() -> Found) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= PER_CODE {
            self.found.push(found());
        }
    }

    /// Whether a finding of this kind stands within a value.
    pub(super) fn has_within(&self, code: Code, span: &Range<usize>) -> bool {
        self.found.iter().any(|found| found.code == code && span.contains(&found.offset))
    }

    /// Counts findings that were seen and not kept.
    pub(super) fn add_omitted(&mut self, count: u64) {
        self.unkept += count;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The findings to tell, in the order of the document.
    pub(super) fn sorted(mut self) -> Vec<Found> {
        self.found.sort_by(|a, b| (a.offset, &a.missing, a.code).cmp(&(b.offset, &b.missing, b.code)));
        self.found
    }

    /// The codes that were found.
    pub(super) fn codes(&self) -> impl Iterator<Item = Code> + '_ {
        self.counts.keys().copied()
    }

    /// How many there are that are not told.
    pub(super) fn omitted(&self) -> u64 {
        self.unkept + self.counts.values().map(|count| count.saturating_sub(PER_CODE)).sum::<u64>()
    }
}

/// A piece of the card in a sentence: quoted, without the credentials of a URL (findings end up in logs), and cut when long.
pub(super) fn quote(text: &str) -> String {
    const SHOWN: usize = 60;
    // Cut first, generously: a card may hold megabytes in one text, and a password need not be within what is shown.
    let start = text.char_indices().nth(SHOWN * 10).map_or(text, |(end, _)| text.get(..end).unwrap_or_default());
    let text = &*without_credentials(start);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", text.get(..end).unwrap_or_default()),
        None => format!("\"{text}\""),
    }
}
