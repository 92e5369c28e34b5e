//! What differs between two documents: in what they say, or only in how they are written.

use std::collections::HashMap;

use super::document::{push_segment, Kind, Node};
use super::{Code, Document};

/// What differs between two documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// Whether every byte is the same.
    pub identical: bool,
    /// What they say differently, in the order of the first document, added values behind their neighbours.
    pub changes: Vec<Change>,
    /// How else their bytes differ. Not told when they say different things, because the one hides the other.
    pub formatting: Vec<Formatting>,
    /// Why readers may disagree what either document says, as parts of sentences. Then nothing is only formatting.
    pub unclear: Vec<String>,
}

impl Diff {
    /// Whether they say the same and are only written differently. Their hashes differ all the same.
    pub fn is_formatting_only(&self) -> bool {
        !self.identical && self.changes.is_empty() && self.unclear.is_empty()
    }
}

/// One value that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where, as a JSON pointer: into the second document for an added value, into the first one otherwise.
    pub pointer: String,
    /// The JSON text in the first document; `None` when the value was added.
    pub before: Option<String>,
    /// The JSON text in the second document; `None` when the value was removed.
    pub after: Option<String>,
}

impl Change {
    /// `added`, `removed` or `changed`.
    pub fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        }
    }
}

/// A way in which two texts of the same document differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Formatting {
    /// One starts with a byte order mark.
    ByteOrderMark,
    /// One ends with a line feed that the other lacks.
    FinalNewline,
    /// Their lines end differently.
    LineEndings,
    /// Their keys stand in another order.
    KeyOrder,
    /// Their spaces, escapes or ways to write a number differ.
    Writing,
}

impl Formatting {
    /// Its name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "byte_order_mark",
            Self::FinalNewline => "final_newline",
            Self::LineEndings => "line_endings",
            Self::KeyOrder => "key_order",
            Self::Writing => "writing",
        }
    }

    /// What it means, as part of a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "a byte order mark in front",
            Self::FinalNewline => "a final newline",
            Self::LineEndings => "line endings",
            Self::KeyOrder => "the order of keys",
            Self::Writing => "spaces, escapes or the way numbers are written",
        }
    }
}

/// Compares two documents.
///
/// Objects are compared by key, arrays by position after what is equal at both ends. A document that is not JSON says nothing,
/// which is one change at its root.
pub fn diff(a: &Document<'_>, b: &Document<'_>) -> Diff {
    let identical = a.bytes() == b.bytes();
    let mut walk = Walk { a, b, changes: Vec::new(), key_order: false };
    match (a.root(), b.root()) {
        _ if identical => {}
        (Some(first), Some(second)) => walk.compare(String::new(), first, second),
        (None, None) => {}
        (first, second) => walk.push(String::new(), first, second),
    }
    let unclear = match identical {
        true => Vec::new(),
        false => unclear(a, "first").chain(unclear(b, "second")).collect(),
    };
    let is_formatting = walk.changes.is_empty() && !identical && unclear.is_empty();
    let formatting = if is_formatting { formatting(a.bytes(), b.bytes(), walk.key_order) } else { Vec::new() };
    Diff { identical, changes: walk.changes, formatting, unclear }
}

/// What is wrong with a document that may hide a difference. A byte order mark and large numbers hide none: they are compared.
fn unclear(document: &Document<'_>, which: &'static str) -> impl Iterator<Item = String> {
    let mut codes: Vec<Code> = document.faults().codes().collect();
    codes.sort();
    codes.into_iter().filter_map(move |code| {
        let what = match code {
            Code::TooManyValues => "has more values than are read",
            Code::InvalidJson | Code::TooDeep => "is not JSON that can be read to its end",
            Code::InvalidUtf8 => "is not valid UTF-8",
            Code::TrailingContent => "goes on behind its end",
            Code::DuplicateKey => "has a key twice",
            Code::ControlCharacter => "has an unescaped control character",
            Code::LoneSurrogate => "has half of a character",
            _ => return None,
        };
        Some(format!("the {which} document {what} ({code})"))
    })
}

struct Walk<'d> {
    a: &'d Document<'d>,
    b: &'d Document<'d>,
    changes: Vec<Change>,
    key_order: bool,
}

impl Walk<'_> {
    fn push(&mut self, pointer: String, before: Option<&Node<'_>>, after: Option<&Node<'_>>) {
        let text = |document: &Document<'_>, node: Option<&Node<'_>>| {
            node.map(|node| String::from_utf8_lossy(document.bytes().get(node.span.clone()).unwrap_or_default()).into_owned())
        };
        let change = Change { pointer, before: text(self.a, before), after: text(self.b, after) };
        self.changes.push(change);
    }

    fn compare(&mut self, pointer: String, a: &Node<'_>, b: &Node<'_>) {
        match (&a.kind, &b.kind) {
            (Kind::Object(_), Kind::Object(_)) => self.objects(&pointer, a, b),
            (Kind::Array(first), Kind::Array(second)) => self.arrays(&pointer, first, second),
            _ if same(a, b) => {}
            _ => self.push(pointer, Some(a), Some(b)),
        }
    }

    fn objects(&mut self, pointer: &str, a: &Node<'_>, b: &Node<'_>) {
        let (first, second) = (members(a), members(b));
        let places: HashMap<&str, usize> = second.iter().enumerate().map(|(n, (key, _))| (*key, n)).collect();
        let known: HashMap<&str, usize> = first.iter().enumerate().map(|(n, (key, _))| (*key, n)).collect();
        let mut highest = None;
        for (key, value) in &first {
            let mut at = pointer.to_owned();
            push_segment(&mut at, key);
            match places.get(key).and_then(|n| Some((*n, second.get(*n)?.1))) {
                Some((n, other)) => {
                    self.key_order |= highest.is_some_and(|highest| n < highest);
                    highest = highest.max(Some(n));
                    self.compare(at, value, other);
                }
                None => self.push(at, Some(value), None),
            }
        }
        for (key, value) in second.iter().filter(|(key, _)| !known.contains_key(key)) {
            let mut at = pointer.to_owned();
            push_segment(&mut at, key);
            self.push(at, None, Some(value));
        }
    }

    fn arrays(&mut self, pointer: &str, a: &[Node<'_>], b: &[Node<'_>]) {
        let front = a.iter().zip(b).take_while(|(a, b)| same(a, b)).count();
        let (rest_a, rest_b) = (a.get(front..).unwrap_or_default(), b.get(front..).unwrap_or_default());
        let back = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(a, b)| same(a, b)).count();
        // Equal items may still have their keys in another order, which only a closer look tells.
        let ends = a.iter().zip(b).take(front).chain(a.iter().rev().zip(b.iter().rev()).take(back));
        for (first, second) in ends {
            self.compare(String::new(), first, second);
        }
        let middle_a = rest_a.get(..rest_a.len() - back).unwrap_or_default();
        let middle_b = rest_b.get(..rest_b.len() - back).unwrap_or_default();
        for n in 0..middle_a.len().max(middle_b.len()) {
            let at = format!("{pointer}/{}", front + n);
            match (middle_a.get(n), middle_b.get(n)) {
                (Some(first), Some(second)) => self.compare(at, first, second),
                (first, second) => self.push(at, first, second),
            }
        }
    }
}

/// The members of an object; of a key that stands twice, the last value at the first place.
fn members<'a>(node: &'a Node<'_>) -> Vec<(&'a str, &'a Node<'a>)> {
    let mut members: Vec<(&str, &Node<'_>)> = Vec::new();
    let mut places = HashMap::new();
    for member in node.as_object().unwrap_or_default() {
        match places.get(&*member.key).and_then(|n: &usize| members.get_mut(*n)) {
            Some(known) => known.1 = &member.value,
            None => {
                places.insert(&*member.key, members.len());
                members.push((&member.key, &member.value));
            }
        }
    }
    members
}

/// Whether two values say the same.
fn same(a: &Node<'_>, b: &Node<'_>) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Number(a), Kind::Number(b)) => same_number(a, b),
        (Kind::Array(a), Kind::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Kind::Object(_), Kind::Object(_)) => {
            let (first, second) = (members(a), members(b));
            let second_by_key: HashMap<&str, &Node<'_>> = second.iter().copied().collect();
            first.len() == second.len()
                && first.iter().all(|(key, value)| second_by_key.get(key).is_some_and(|other| same(value, other)))
        }
        (Kind::String(a), Kind::String(b)) => a == b,
        (Kind::Bool(a), Kind::Bool(b)) => a == b,
        (Kind::Null, Kind::Null) => true,
        _ => false,
    }
}

/// `1`, `1.0` and `1e0` are one number; numbers are compared digit by digit, because a double cannot hold them all.
fn same_number(a: &str, b: &str) -> bool {
    a == b || matches!((decimal(a), decimal(b)), (Some(a), Some(b)) if a == b)
}

/// The exact value of a JSON number: its sign, its digits without zeros at either end, and the power of ten of the last one. `None` when
/// the power is too large to count with.
fn decimal(number: &str) -> Option<(bool, String, i128)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = whole.chars().chain(fraction.chars()).filter(char::is_ascii_digit).collect();
    let leading = digits.trim_start_matches('0');
    let significant = leading.trim_end_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    let zeros = leading.len() - significant.len();
    let exponent: i128 = exponent.parse().ok()?;
    let power = exponent.checked_sub(i128::try_from(fraction.len()).ok()?)?.checked_add(i128::try_from(zeros).ok()?)?;
    Some((mantissa.starts_with('-'), significant.to_owned(), power))
}

/// How two texts that say the same differ.
fn formatting(a: &[u8], b: &[u8], key_order: bool) -> Vec<Formatting> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut found = Vec::new();
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    let mut levelled = |what: Formatting, level: &dyn Fn(&[u8]) -> Vec<u8>, a: &mut Vec<u8>, b: &mut Vec<u8>| {
        let (level_a, level_b) = (level(a), level(b));
        if (level_a == *a) != (level_b == *b) {
            found.push(what);
        }
        (*a, *b) = (level_a, level_b);
    };
    levelled(Formatting::ByteOrderMark, &|text| text.strip_prefix(MARK).unwrap_or(text).to_vec(), &mut a, &mut b);
    levelled(Formatting::LineEndings, &|text| String::from_utf8_lossy(text).replace("\r\n", "\n").into_bytes(), &mut a, &mut b);
    levelled(Formatting::FinalNewline, &|text| text.strip_suffix(b"\n").unwrap_or(text).to_vec(), &mut a, &mut b);
    if key_order {
        found.push(Formatting::KeyOrder);
    } else if a != b {
        found.push(Formatting::Writing);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(a: &str, b: &str) -> Diff {
        diff(&Document::parse(a.as_bytes()), &Document::parse(b.as_bytes()))
    }

    fn changes(a: &str, b: &str) -> Vec<(String, &'static str)> {
        of(a, b).changes.iter().map(|change| (change.pointer.clone(), change.kind())).collect()
    }

    #[test]
    fn the_same_bytes_are_identical() {
        let diff = of("{\"a\":1}", "{\"a\":1}");
        assert!(diff.identical && !diff.is_formatting_only());
    }

    #[test]
    fn only_what_is_said_differently_is_a_change() {
        assert_eq!(
            changes(r#"{"a":1,"b":{"c":[1,2]}}"#, r#"{"a":2,"b":{"c":[1]},"d":null}"#),
            [("/a".into(), "changed"), ("/b/c/1".into(), "removed"), ("/d".into(), "added"),]
        );
        let change = of(r#"{"a": {"x": 1.50}}"#, r#"{"a": [ ]}"#).changes.remove(0);
        assert_eq!((change.before.as_deref(), change.after.as_deref()), (Some("{\"x\": 1.50}"), Some("[ ]")));
        assert_eq!(changes("{", "{}"), [(String::new(), "added")]);
    }

    #[test]
    fn an_item_inserted_in_an_array_is_one_change() {
        assert_eq!(changes(r#"[{"id":"a"},{"id":"b"}]"#, r#"[{"id":"new"},{"id":"a"},{"id":"b"}]"#), [("/0".into(), "added")]);
        assert_eq!(changes("[1,2,3]", "[1,3]"), [("/1".into(), "removed")]);
        assert_eq!(changes("[1,1]", "[1,1,1]"), [("/2".into(), "added")]);
    }

    #[test]
    fn what_is_only_written_differently_is_named() {
        for (a, b, expected) in [
            ("{\"a\":1}", "{\"a\":1}\n", vec![Formatting::FinalNewline]),
            ("{\n\"a\":1}", "{\r\n\"a\":1}", vec![Formatting::LineEndings]),
            ("\u{feff}{}", "{}", vec![Formatting::ByteOrderMark]),
            ("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", vec![Formatting::KeyOrder]),
            ("[{\"a\":1,\"b\":2}]", "[{\"b\":2,\"a\":1}]", vec![Formatting::KeyOrder]),
            ("{\"a\":1.0,\"b\":\"\\u00e9\"}", "{\"a\": 1, \"b\": \"é\"}\n", vec![Formatting::FinalNewline, Formatting::Writing]),
        ] {
            let diff = of(a, b);
            assert!(diff.is_formatting_only(), "{a} {b}: {:?}", diff.changes);
            assert_eq!(diff.formatting, expected, "{a} {b}");
        }
    }

    #[test]
    fn a_document_that_readers_disagree_about_is_never_only_formatted_otherwise() {
        for (a, b, code) in [
            (&b"{\"a\":1,\"a\":2}"[..], &b"{\"a\":2}"[..], "duplicate_key"),
            (b"{} x", b"{}", "trailing_content"),
            (b"[\"\\ud800\"]", b"[\"\\ud801\"]", "lone_surrogate"),
            (b"[\"\xff\"]", b"[\"\xfe\"]", "invalid_utf8"),
            (b"{", b"{\"", "invalid_json"),
        ] {
            let diff = diff(&Document::parse(a), &Document::parse(b));
            assert!(!diff.is_formatting_only() && diff.formatting.is_empty(), "{code}");
            assert!(diff.unclear.iter().any(|why| why.contains(code)), "{code}: {:?}", diff.unclear);
        }
    }

    #[test]
    fn numbers_are_equal_when_their_exact_values_are() {
        for (a, b) in [
            ("1", "1.0"),
            ("1", "1e0"),
            ("10", "1E+1"),
            ("0.1", "1e-1"),
            ("-0", "0.000"),
            ("0", "0e99999999999999999999999999999999999999999"),
            ("1e400", "10e399"),
            ("123456789012345678901234567890.5", "1234567890123456789012345678905e-1"),
        ] {
            assert!(same_number(a, b) && same_number(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("0.1", "0.10000000000000000001"),
            ("9007199254740993", "9007199254740992.0"),
            ("1e400", "1e401"),
            ("1", "-1"),
            ("1e-400", "0"),
            ("100", "10"),
            ("1e99999999999999999999999999999999999999999", "2e99999999999999999999999999999999999999999"),
        ] {
            assert!(!same_number(a, b) && !same_number(b, a), "{a} {b}");
            assert_eq!(changes(&format!("[{a}]"), &format!("[{b}]")), [("/0".into(), "changed")]);
        }
    }

    #[test]
    fn large_integers_are_told_apart() {
        assert_eq!(changes("[9007199254740993]", "[9007199254740992]"), [("/0".into(), "changed")]);
        assert!(changes("[1e2, 100]", "[100.0, 1.0e2]").is_empty());
    }
}
