use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use serde_json::{Map, Number, Value};

use super::findings::Findings;
use super::{parse, Code};

/// A JSON document that remembers where in its bytes every value stands.
///
/// Reading is tolerant: what most parsers refuse (a byte order mark, a key twice, invalid UTF-8, something after the end) is
/// kept as a finding, and the rest is read all the same. Of a key that stands twice, the last one counts.
///
/// Offsets are byte offsets into [`Document::bytes`], a byte order mark included.
#[derive(Debug)]
pub struct Document<'a> {
    bytes: &'a [u8],
    root: Option<Node<'a>>,
    faults: Findings,
    marks: OnceLock<Vec<Position>>,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'a> {
    /// The bytes it takes up, from its first to behind its last.
    pub span: Range<usize>,
    /// The value.
    pub kind: Kind<'a>,
}

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written, so that no digit is lost.
    Number(&'a str),
    /// A string, its escapes resolved.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Node<'a>>),
    /// An object, in the order of the document, with keys that stand twice.
    Object(Vec<Member<'a>>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Member<'a> {
    /// The key, its escapes resolved.
    pub key: Cow<'a, str>,
    /// The bytes the key takes up, its quotes included.
    pub key_span: Range<usize>,
    /// The value.
    pub value: Node<'a>,
}

/// A place for people: both numbers count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line; lines end with a line feed.
    pub line: usize,
    /// The character in the line. A byte order mark is not counted.
    pub column: usize,
}

/// Every how many bytes a position is remembered, so that finding one never reads more than this.
const STRIDE: usize = 4096;

impl<'a> Document<'a> {
    /// Objects and arrays nested deeper than this are not read; serde_json has the same limit.
    pub const MAX_DEPTH: usize = 128;

    /// A document with more values than this is not read: each takes up many times its bytes in memory, and 64 MiB can hold 32
    /// million. A card of 5 MB has 300,000 when it is made of skills.
    pub const MAX_VALUES: usize = 500_000;

    /// Reads a document. There is always a result; what is wrong with it is among the findings of a lint.
    pub fn parse(bytes: &'a [u8]) -> Self {
        Self::parse_up_to(bytes, Self::MAX_VALUES)
    }

    /// Reads a document of the user's own that may have any number of values.
    pub(crate) fn parse_large(bytes: &'a [u8]) -> Self {
        Self::parse_up_to(bytes, usize::MAX)
    }

    fn parse_up_to(bytes: &'a [u8], most_values: usize) -> Self {
        let mut faults = Findings::default();
        let root = parse::root(bytes, most_values, &mut faults);
        Self { bytes, root, faults, marks: OnceLock::new() }
    }

    /// Whether it was not read because it has more than [`Document::MAX_VALUES`] values.
    pub(super) fn is_too_large(&self) -> bool {
        self.faults.codes().any(|code| code == Code::TooManyValues)
    }

    /// The bytes that were read.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The outermost value; `None` when the bytes are not JSON.
    pub fn root(&self) -> Option<&Node<'a>> {
        self.root.as_ref()
    }

    /// Whether every parser would accept the bytes and read the same from them.
    pub fn is_strict(&self) -> bool {
        self.root.is_some() && self.faults.is_empty()
    }

    pub(super) fn faults(&self) -> &Findings {
        &self.faults
    }

    /// The value at a JSON pointer (RFC 6901).
    pub fn get(&self, pointer: &str) -> Option<&Node<'a>> {
        let mut node = self.root()?;
        for segment in segments(pointer)? {
            node = node.child(&segment)?;
        }
        Some(node)
    }

    /// The JSON pointer of the innermost value at a byte offset; the offset of a key leads to its value.
    pub fn pointer_at(&self, offset: usize) -> String {
        let mut pointer = String::new();
        let mut next = self.root();
        while let Some(node) = next {
            next = match &node.kind {
                Kind::Array(items) => {
                    let index = items.partition_point(|item| item.span.end <= offset);
                    items
                        .get(index)
                        .filter(|item| item.span.start <= offset)
                        .inspect(|_| push_segment(&mut pointer, &index.to_string()))
                }
                Kind::Object(members) => {
                    let index = members.partition_point(|member| member.value.span.end <= offset);
                    let member = members.get(index).filter(|member| member.key_span.start <= offset);
                    member.map(|member| {
                        push_segment(&mut pointer, &member.key);
                        &member.value
                    })
                }
                _ => None,
            };
        }
        pointer
    }

    /// The line and column of a byte offset.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.bytes.len());
        let marks = self.marks.get_or_init(|| marks(self.bytes));
        let index = offset / STRIDE;
        let start = marks.get(index).copied().unwrap_or(Position::START);
        let mut position = start.after(self.bytes.get(index * STRIDE..offset).unwrap_or_default());
        if position.line == 1 && offset >= BYTE_ORDER_MARK.len() && self.bytes.starts_with(BYTE_ORDER_MARK) {
            position.column -= 1;
        }
        position
    }

    /// The document as other programs' parsers would have it; `Null` when it is not JSON.
    pub fn to_value(&self) -> Value {
        self.root().map_or(Value::Null, Node::to_value)
    }
}

/// The bytes of a UTF-8 byte order mark.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Position {
    const START: Self = Self { line: 1, column: 1 };

    /// The position after these bytes. Characters are counted by their first bytes, so that invalid UTF-8 needs no care.
    fn after(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            if *byte == b'\n' {
                self = Self { line: self.line + 1, column: 1 };
            } else if byte & 0xc0 != 0x80 {
                self.column += 1;
            }
        }
        self
    }
}

fn marks(bytes: &[u8]) -> Vec<Position> {
    let chunks = bytes.chunks(STRIDE);
    let next = |position: &mut Position, chunk| Some(std::mem::replace(position, position.after(chunk)));
    chunks.scan(Position::START, next).collect()
}

/// The segments of a JSON pointer, their escapes resolved; `None` when it is none (RFC 6901, section 3).
pub(super) fn segments(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let is_escaped = |segment: &str| segment.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    let decode = |segment: &str| is_escaped(segment).then(|| segment.replace("~1", "/").replace("~0", "~"));
    pointer.strip_prefix('/')?.split('/').map(decode).collect()
}

/// The index that a segment of a JSON pointer is: digits without a leading zero (RFC 6901, section 4).
pub(super) fn index(segment: &str) -> Option<usize> {
    let is_index = segment == "0" || (!segment.starts_with('0') && segment.bytes().all(|digit| digit.is_ascii_digit()));
    segment.parse().ok().filter(|_| is_index)
}

/// The integer from 0 to 2^64 - 1 that the text of a JSON number means exactly: `7`, `7.0`, `0.7e1`.
fn integer(text: &str) -> Option<u64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let text = text.strip_prefix('-').map_or(text, |rest| if rest.bytes().any(|b| matches!(b, b'1'..=b'9')) { "x" } else { "0" });
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let shift = exponent.parse::<i64>().ok()? - i64::try_from(fraction.len()).ok()? + zeros;
    significant.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(u32::try_from(shift).ok()?)?)
}

/// Appends one segment to a JSON pointer.
pub(super) fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
}

impl<'a> Node<'a> {
    /// The string it is.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean it is.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The number it is, exactly, when it is an integer from 0 to 2^64 - 1, however it is written: `7.0` is 7.
    pub fn as_u64(&self) -> Option<u64> {
        match self.kind {
            Kind::Number(text) => integer(text),
            _ => None,
        }
    }

    /// The elements of the array it is.
    pub fn as_array(&self) -> Option<&[Node<'a>]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members of the object it is, in the order of the document.
    pub fn as_object(&self) -> Option<&[Member<'a>]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    /// The value of a key of the object it is; of a key that stands twice, the last one.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.as_object()?.iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The value of a key, or of an index in decimal.
    fn child(&self, segment: &str) -> Option<&Node<'a>> {
        match &self.kind {
            Kind::Array(items) => items.get(index(segment)?),
            _ => self.get(segment),
        }
    }

    /// What it is, with its article: `a string`, `an object`.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }

    /// The value as other programs' parsers would have it: a number that is no 64-bit integer becomes the nearest double.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(text) => number(text),
            Kind::String(text) => Value::String(text.clone().into_owned()),
            Kind::Array(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Kind::Object(members) => {
                let pairs = members.iter().map(|member| (member.key.clone().into_owned(), member.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

fn number(text: &str) -> Value {
    if let Ok(value) = text.parse::<u64>() {
        return value.into();
    }
    if let Ok(value) = text.parse::<i64>() {
        return value.into();
    }
    // A number too large for a double is kept as the largest one, so that it stays a number.
    let value = text.parse::<f64>().unwrap_or(0.0).clamp(f64::MIN, f64::MAX);
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_pointer_and_a_pointer_by_offset() {
        let bytes = br#"{"a/b": [1, {"~": "x"}], "c": {}}"#;
        let document = Document::parse(bytes);
        let node = document.get("/a~1b/1/~0").unwrap();
        assert_eq!((node.as_str(), bytes.get(node.span.clone()).unwrap()), (Some("x"), &b"\"x\""[..]));
        assert_eq!(document.pointer_at(node.span.start), "/a~1b/1/~0");
        assert_eq!(document.pointer_at(1), "/a~1b", "the offset of a key leads to its value");
        assert_eq!(document.pointer_at(0), "", "a brace belongs to its object");
        assert_eq!(document.pointer_at(10), "/a~1b", "a comma belongs to its array");
        assert_eq!(document.pointer_at(9_999), "");
        assert!(document.get("a").is_none() && document.get("/a~1b/7").is_none() && document.get("/c/d").is_none());
    }

    #[test]
    fn a_pointer_that_rfc_6901_does_not_know_leads_nowhere() {
        let document = Document::parse(br#"{"arr": [1, 2], "~2": 3, "m~n": 4}"#);
        for wrong in ["/arr/01", "/arr/+1", "/arr/", "/~2", "/~", "arr"] {
            assert!(document.get(wrong).is_none(), "{wrong}");
        }
        for right in ["", "/arr/1", "/~02", "/m~0n"] {
            assert!(document.get(right).is_some(), "{right}");
        }
    }

    #[test]
    fn an_integral_number_is_an_integer_however_it_is_written() {
        let read = |text: &str| Document::parse(text.as_bytes()).root().unwrap().as_u64();
        for (text, value) in
            [("99999.0", 99_999), ("0.0", 0), ("-0", 0), ("1e2", 100), ("0.5E1", 5), ("10.50e1", 105), ("0e9", 0)]
        {
            assert_eq!(read(text), Some(value), "{text}");
        }
        assert_eq!(read("18446744073709551615.0"), Some(u64::MAX));
        for text in ["1.5", "-1", "1e-1", "18446744073709551616", "1e99999999999999999999", "1e400"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn lines_and_columns_count_characters() {
        let text = "{\n  \"ä\": \"本\", \"b\": 1\n}";
        let document = Document::parse(text.as_bytes());
        assert_eq!(document.position(document.get("/b").unwrap().span.start), Position { line: 2, column: 18 });
        assert_eq!(document.position(0), Position { line: 1, column: 1 });
        assert_eq!(document.position(usize::MAX), Position { line: 3, column: 2 });
    }

    #[test]
    fn a_byte_order_mark_has_no_column() {
        let document = Document::parse(b"\xef\xbb\xbf{\"a\": 1}");
        assert_eq!(document.position(document.get("/a").unwrap().span.start), Position { line: 1, column: 7 });
    }

    #[test]
    fn positions_far_inside_a_document_are_those_of_a_plain_count() {
        let text: String = (0..3_000).map(|n| if n % 7 == 0 { "ä\n" } else { "bcd" }).collect();
        let document = Document::parse(text.as_bytes());
        for (offset, _) in text.char_indices().step_by(97) {
            let before = &text[..offset];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            assert_eq!(document.position(offset), Position { line, column }, "{offset}");
        }
    }

    #[test]
    fn numbers_keep_their_digits_and_become_the_nearest_double_for_others() {
        let document = Document::parse(b"[9007199254740993, -5, 1e2, 18446744073709551616, 1e999]");
        assert_eq!(document.get("/0").unwrap().as_u64(), Some(9_007_199_254_740_993));
        assert_eq!(document.get("/1").unwrap().as_u64(), None);
        assert_eq!(
            document.to_value(),
            serde_json::json!([9_007_199_254_740_993_u64, -5, 1e2, 18_446_744_073_709_551_616.0, f64::MAX])
        );
    }
}
