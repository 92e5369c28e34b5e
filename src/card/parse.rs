//! The JSON reader behind [`super::Document`].
//!
//! Own code because it has to go on where parsers stop: the published crates that keep spans give up at the first key that
//! stands twice, half a surrogate pair, or byte that is not UTF-8, which are just what a lint has to show.

use std::borrow::Cow;
use std::collections::HashSet;

use super::document::{Document, Kind, Member, Node, BYTE_ORDER_MARK};
use super::findings::{quote, Findings};
use super::Code;

/// The largest integer that every reader of JSON numbers as doubles keeps: 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Reading cannot go on; why is among the findings.
struct Stop;

/// Reads a whole document; `None` when it is not JSON.
pub(super) fn root<'a>(bytes: &'a [u8], most_values: usize, findings: &mut Findings) -> Option<Node<'a>> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        findings.add(Code::InvalidUtf8, 0, || "The document is encoded in UTF-16; JSON is exchanged in UTF-8.".into());
        return None;
    }
    let text = std::str::from_utf8(bytes).ok();
    if text.is_none() {
        invalid_utf8(bytes, findings);
    }
    let mut at = 0;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        findings.add(Code::ByteOrderMark, 0, || Code::ByteOrderMark.sentence().into());
        at = BYTE_ORDER_MARK.len();
    }
    let mut reader = Reader { bytes, text, at, values_left: most_values, findings };
    let root = reader.value(0).ok()?;
    reader.skip_space();
    if reader.at < bytes.len() {
        let at = reader.at;
        reader.findings.add(Code::TrailingContent, at, || "The document ends here, but more text follows.".into());
    }
    Some(root)
}

fn invalid_utf8(bytes: &[u8], findings: &mut Findings) {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        at += chunk.valid().len();
        if let Some(byte) = chunk.invalid().first() {
            findings.add(Code::InvalidUtf8, at, || format!("The byte 0x{byte:02x} is not valid UTF-8."));
        }
        at += chunk.invalid().len();
    }
}

struct Reader<'a, 'f> {
    bytes: &'a [u8],
    /// The bytes as text, when they are all valid.
    text: Option<&'a str>,
    at: usize,
    values_left: usize,
    findings: &'f mut Findings,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn slice(&self, start: usize, end: usize) -> Cow<'a, str> {
        match self.text {
            Some(text) => Cow::Borrowed(text.get(start..end).unwrap_or_default()),
            None => String::from_utf8_lossy(self.bytes.get(start..end).unwrap_or_default()),
        }
    }

    fn stop<T>(&mut self, why: impl FnOnce() -> String) -> Result<T, Stop> {
        self.findings.add(Code::InvalidJson, self.at, why);
        Err(Stop)
    }

    /// Stops because something else was expected here.
    fn unexpected<T>(&mut self, expected: &str) -> Result<T, Stop> {
        let here = match self.peek() {
            None => "the document ends".to_owned(),
            Some(b'/') => "there is a slash (JSON has no comments)".to_owned(),
            Some(_) => {
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                let first = rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
                first.map_or("there is a byte that is no text".to_owned(), |c| format!("there is {}", quote(&c.to_string())))
            }
        };
        self.stop(|| format!("Here {here}, where {expected} is expected."))
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, Stop> {
        self.skip_space();
        let start = self.at;
        let Some(left) = self.values_left.checked_sub(1) else {
            let why = format!("The document holds more than {} values, and was not read.", Document::MAX_VALUES);
            self.findings.add(Code::TooManyValues, start, || why);
            return Err(Stop);
        };
        self.values_left = left;
        let kind = match self.peek() {
            Some(b'{' | b'[') if depth >= Document::MAX_DEPTH => {
                let why = format!("Objects and arrays are nested more than {} deep; nothing more was read.", Document::MAX_DEPTH);
                self.findings.add(Code::TooDeep, start, || why);
                return Err(Stop);
            }
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            _ => return self.unexpected("a value"),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn word(&mut self, word: &str, kind: Kind<'a>) -> Result<Kind<'a>, Stop> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return self.unexpected("a value");
        }
        self.at += word.len();
        Ok(kind)
    }

    fn array(&mut self, depth: usize) -> Result<Kind<'a>, Stop> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.eat(b']') {
            return Ok(Kind::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.eat(b']') {
                return Ok(Kind::Array(items));
            }
            if !self.eat(b',') {
                return self.unexpected("a comma or the end of the array");
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Kind<'a>, Stop> {
        self.at += 1;
        let mut members: Vec<Member<'a>> = Vec::new();
        self.skip_space();
        if self.eat(b'}') {
            return Ok(Kind::Object(members));
        }
        loop {
            self.skip_space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return self.unexpected("a key in double quotes");
            }
            let key = self.string()?;
            let key_span = start..self.at;
            self.skip_space();
            if !self.eat(b':') {
                return self.unexpected("a colon");
            }
            let value = self.value(depth + 1)?;
            members.push(Member { key, key_span, value });
            self.skip_space();
            if self.eat(b'}') {
                break;
            }
            if !self.eat(b',') {
                return self.unexpected("a comma or the end of the object");
            }
        }
        self.duplicates(&members);
        Ok(Kind::Object(members))
    }

    fn duplicates(&mut self, members: &[Member<'a>]) {
        // Few keys are compared with one another, which is faster than hashing them.
        const FEW: usize = 16;
        let mut seen = HashSet::with_capacity(if members.len() > FEW { members.len() } else { 0 });
        for (index, member) in members.iter().enumerate() {
            let twice = if members.len() > FEW {
                !seen.insert(&member.key)
            } else {
                members.iter().take(index).any(|earlier| earlier.key == member.key)
            };
            if twice {
                let why = || format!("The key {} stands in this object a second time.", quote(&member.key));
                self.findings.add(Code::DuplicateKey, member.key_span.start, why);
            }
        }
    }

    fn digits(&mut self) -> Result<(), Stop> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.unexpected("a digit");
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Kind<'a>, Stop> {
        let start = self.at;
        self.eat(b'-');
        if self.eat(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.stop(|| "A number starts with a zero, which JSON does not allow.".into());
            }
        } else {
            self.digits()?;
        }
        let mut integer = true;
        if self.eat(b'.') {
            integer = false;
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            integer = false;
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let text = self.bytes.get(start..self.at).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default();
        let safe = if integer {
            text.trim_start_matches('-').parse().is_ok_and(|value: u64| value <= MAX_SAFE_INTEGER)
        } else {
            text.parse().is_ok_and(f64::is_finite)
        };
        if !safe {
            let why = || match text.trim_start_matches('-').parse::<u64>() {
                // It is a double itself, but so is what 2^53 + 1 becomes.
                Ok(value) if value == MAX_SAFE_INTEGER + 1 => {
                    format!("The number {} may be another one, rounded: parsers that read numbers as doubles have it for 2^53 + 1 too.", quote(text))
                }
                _ => format!("The number {} loses digits in parsers that read numbers as doubles.", quote(text)),
            };
            self.findings.add(Code::NumberBeyond2To53, start, why);
        }
        Ok(Kind::Number(text))
    }

    /// Reads a string; nothing is copied unless it has escapes.
    fn string(&mut self) -> Result<Cow<'a, str>, Stop> {
        let quote_at = self.at;
        self.at += 1;
        let mut text = Cow::Borrowed("");
        let mut start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    append(&mut text, self.slice(start, self.at));
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    append(&mut text, self.slice(start, self.at));
                    let escaped = self.escape()?;
                    text.to_mut().push(escaped);
                    start = self.at;
                }
                Some(byte) => {
                    if byte < 0x20 {
                        let why = || format!("The control character 0x{byte:02x} stands unescaped in a string.");
                        self.findings.add(Code::ControlCharacter, self.at, why);
                    }
                    self.at += 1;
                }
                None => {
                    self.at = quote_at;
                    return self.stop(|| "A string starts here and never ends.".into());
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Stop> {
        let start = self.at;
        let letter = self.bytes.get(self.at + 1).copied();
        self.at += 2;
        Ok(match letter {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => {
                self.at = start;
                return self.stop(|| "A backslash in a string starts no escape that JSON knows.".into());
            }
        })
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, Stop> {
        let first = self.four_digits(start)?;
        if (0xd800..0xdc00).contains(&first) && self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u")) {
            let second_start = self.at;
            self.at += 2;
            let second = self.four_digits(second_start)?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = second_start;
        }
        Ok(char::from_u32(first).unwrap_or_else(|| {
            let why = || format!("The escape \\u{first:04x} is half of a character, without its other half.");
            self.findings.add(Code::LoneSurrogate, start, why);
            char::REPLACEMENT_CHARACTER
        }))
    }

    fn four_digits(&mut self, escape: usize) -> Result<u32, Stop> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        let value = digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?));
        match value {
            Some(value) if digits.len() == 4 => {
                self.at += 4;
                Ok(value)
            }
            _ => {
                self.at = escape;
                self.stop(|| "An escape \\u has fewer than four hexadecimal digits.".into())
            }
        }
    }
}

fn append<'a>(text: &mut Cow<'a, str>, piece: Cow<'a, str>) {
    if text.is_empty() {
        *text = piece;
    } else if !piece.is_empty() {
        text.to_mut().push_str(&piece);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn codes(bytes: &[u8]) -> Vec<(Code, usize)> {
        Document::parse(bytes).faults().clone().sorted().iter().map(|found| (found.code, found.offset)).collect()
    }

    #[test]
    fn what_parsers_refuse_is_a_finding_with_its_place() {
        for (bytes, expected) in [
            (&b""[..], (Code::InvalidJson, 0)),
            (b"{", (Code::InvalidJson, 1)),
            (b"{\"a\":1,}", (Code::InvalidJson, 7)),
            (b"[1,]", (Code::InvalidJson, 3)),
            (b"[1 2]", (Code::InvalidJson, 3)),
            (b"{\"a\" 1}", (Code::InvalidJson, 5)),
            (b"{a:1}", (Code::InvalidJson, 1)),
            (b"// hi\n{}", (Code::InvalidJson, 0)),
            (b"[01]", (Code::InvalidJson, 2)),
            (b"[1.]", (Code::InvalidJson, 3)),
            (b"[-]", (Code::InvalidJson, 2)),
            (b"[tru]", (Code::InvalidJson, 1)),
            (b"[NaN]", (Code::InvalidJson, 1)),
            (b"[\"a]", (Code::InvalidJson, 1)),
            (b"[\"\\x\"]", (Code::InvalidJson, 2)),
            (b"[\"\\u12\"]", (Code::InvalidJson, 2)),
            (b"[\"\\ud800\\u12\"]", (Code::InvalidJson, 8)),
            (b"\xff\xfe{\0}\0", (Code::InvalidUtf8, 0)),
            (b"[\"a\xff\"]", (Code::InvalidUtf8, 3)),
            (b"\xef\xbb\xbf{}", (Code::ByteOrderMark, 0)),
            (b"{} x", (Code::TrailingContent, 3)),
            (b"{\"a\":1,\"\\u0061\":2}", (Code::DuplicateKey, 7)),
            (b"[\"\n\"]", (Code::ControlCharacter, 2)),
            (b"[\"\\udc00\"]", (Code::LoneSurrogate, 2)),
            (b"[\"\\ud800\\u0041\"]", (Code::LoneSurrogate, 2)),
            (b"[9007199254740992]", (Code::NumberBeyond2To53, 1)),
            (b"[-9007199254740993]", (Code::NumberBeyond2To53, 1)),
            (b"[1e999]", (Code::NumberBeyond2To53, 1)),
        ] {
            assert_eq!(codes(bytes), [expected], "{}", String::from_utf8_lossy(bytes));
        }
        assert!(codes(b"[9007199254740991, -0, 0.5e-3, \"\\ud83d\\ude00\", \"\\/\\b\\f\\n\\r\\t\"]").is_empty());
    }

    #[test]
    fn reading_goes_on_behind_a_fault() {
        let document = Document::parse(b"\xef\xbb\xbf{\"a\":1,\"a\":\"x\xffy\\ud800\"} {}");
        assert_eq!(document.to_value(), serde_json::json!({ "a": "x\u{fffd}y\u{fffd}" }), "the last of two keys counts");
        assert!(!document.is_strict());
    }

    #[test]
    fn nesting_ends_at_the_limit_however_deep_it_goes() {
        let nest = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(codes(&nest(Document::MAX_DEPTH)).is_empty());
        assert_eq!(codes(&nest(Document::MAX_DEPTH + 1)), [(Code::TooDeep, Document::MAX_DEPTH)]);
        assert_eq!(codes(&vec![b'['; 5_000_000]), [(Code::TooDeep, Document::MAX_DEPTH)]);
    }

    #[test]
    fn the_findings_of_a_hostile_document_are_counted_not_kept() {
        let mut findings = Findings::default();
        root(&vec![0xff; 1_000_000], Document::MAX_VALUES, &mut findings);
        assert_eq!(findings.omitted(), 999_900);
        assert!(findings.sorted().len() <= 101);
        let many: String = (0..50_000).map(|n| format!("\"{}\":1,", n / 2)).collect();
        assert_eq!(codes(format!("{{{many}\"x\":1}}").as_bytes()).len(), 100);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let document = Document::parse(&bytes);
            let _ = (document.to_value(), document.pointer_at(bytes.len() / 2), document.position(bytes.len()));
        }

        #[test]
        fn no_json_like_text_makes_it_panic(text in "[\\[\\]{}:,\"\\\\u0-9dtrfalsn.eE+\\- \u{fffd}é]{0,80}") {
            let document = Document::parse(text.as_bytes());
            let theirs = serde_json::from_str::<Value>(&text);
            // Whatever serde_json reads is read, and to the same value; and what it refuses is a finding.
            match theirs {
                Ok(value) => prop_assert_eq!(document.to_value(), value),
                Err(_) => prop_assert!(!document.is_strict(), "{}", text),
            }
        }

        #[test]
        fn a_written_value_reads_back(text in "\\PC{0,20}", number in any::<i64>(), float in -1e300..1e300) {
            let value = serde_json::json!({ "a": [text.clone(), number, float, null_or(number)], text: { "b": true } });
            for json in [value.to_string(), format!("{value:#}")] {
                prop_assert_eq!(&Document::parse(json.as_bytes()).to_value(), &value);
            }
        }
    }

    fn null_or(number: i64) -> Option<bool> {
        (number % 2 == 0).then_some(number > 0)
    }
}
