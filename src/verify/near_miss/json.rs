//! The same JSON, written by another program: minified, indented, with sorted keys, with other escapes.
//!
//! Parsed here and not by `serde_json`, because the digits of a number and the order of keys must stay as they were written.

use crate::digest::Sha256Digest;

use super::json_form::{Escaping, Form, Numbers, ORDER};

/// Deeper documents are not tried: no card nests so deep, and parsing descends once per level.
const MAX_DEPTH: usize = 128;

/// How many bytes of rewritten documents are hashed at most. A few forms of a 1 MiB card, every form of a usual one; a document that
/// is nested so deep that indentation blows it up is given up early.
const MAX_WRITTEN: usize = 48 << 20;

/// A JSON value that remembers its key order and how its numbers were written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    /// `true`, `false` or `null`.
    Word(&'static str),
    /// The digits as they were written.
    Number(String),
    /// Unescaped.
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// The form in which the JSON of `body` hashes to `expected`, if one of the usual ones does.
pub(super) fn find(body: &[u8], expected: Sha256Digest) -> Option<Form> {
    let text = std::str::from_utf8(body).ok()?;
    let document = parse(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let mut sorted = document.clone();
    sorted.sort_keys();
    let escapings: Vec<Escaping> = Escaping::ALL.iter().copied().filter(|escaping| escaping.changes(&document)).collect();
    let numbers: &[Numbers] =
        if Numbers::Shortest.changes(&document) { &[Numbers::AsWritten, Numbers::Shortest] } else { &[Numbers::AsWritten] };
    let orders: &[bool] = if sorted == document { &[false] } else { &[false, true] };

    let mut text = Vec::with_capacity(body.len() * 2);
    let mut written = 0;
    for &layout in ORDER {
        for &sorted_keys in orders {
            for &escaping in &escapings {
                for &numbers in numbers {
                    let mut form = Form { layout, sorted_keys, escaping, numbers, final_newline: false };
                    text.clear();
                    form.write(if sorted_keys { &sorted } else { &document }, &mut text);
                    written += text.len();
                    if written > MAX_WRITTEN {
                        return None;
                    }
                    if Sha256Digest::of(&text) == expected {
                        return Some(form);
                    }
                    text.push(b'\n');
                    if Sha256Digest::of(&text) == expected {
                        form.final_newline = true;
                        return Some(form);
                    }
                }
            }
        }
    }
    None
}

impl Json {
    fn sort_keys(&mut self) {
        match self {
            Self::Array(items) => items.iter_mut().for_each(Self::sort_keys),
            Self::Object(entries) => {
                entries.sort_by(|(one, _), (other, _)| one.cmp(other));
                entries.iter_mut().for_each(|(_, value)| value.sort_keys());
            }
            Self::Word(_) | Self::Number(_) | Self::String(_) => {}
        }
    }
}

/// Parses a whole document; `None` when it is not JSON.
fn parse(text: &str) -> Option<Json> {
    let mut parser = Parser { rest: text };
    let value = parser.value(MAX_DEPTH)?;
    parser.skip_space();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(token)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        let inner = depth.checked_sub(1)?;
        self.skip_space();
        match self.rest.as_bytes().first()? {
            b'{' => self.object(inner),
            b'[' => self.array(inner),
            b'"' => self.string().map(Json::String),
            b't' => self.take("true").map(|()| Json::Word("true")),
            b'f' => self.take("false").map(|()| Json::Word("false")),
            b'n' => self.take("null").map(|()| Json::Word("null")),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        let mut entries = Vec::new();
        self.list("{", "}", |parser| {
            parser.skip_space();
            let key = parser.string()?;
            parser.skip_space();
            parser.take(":")?;
            entries.push((key, parser.value(depth)?));
            Some(())
        })?;
        Some(Json::Object(entries))
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        let mut items = Vec::new();
        self.list("[", "]", |parser| {
            items.push(parser.value(depth)?);
            Some(())
        })?;
        Some(Json::Array(items))
    }

    fn list(&mut self, open: &str, close: &str, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(open)?;
        self.skip_space();
        if self.take(close).is_some() {
            return Some(());
        }
        loop {
            item(self)?;
            self.skip_space();
            if self.take(close).is_some() {
                return Some(());
            }
            self.take(",")?;
        }
    }

    fn string(&mut self) -> Option<String> {
        // The end of the literal is the first quote that no backslash escapes; serde_json knows what is in between.
        let bytes = self.rest.as_bytes();
        let mut end = 1;
        (bytes.first() == Some(&b'"')).then_some(())?;
        loop {
            match bytes.get(end)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let (literal, rest) = self.rest.split_at_checked(end + 1)?;
        self.rest = rest;
        serde_json::from_str(literal).ok()
    }

    fn number(&mut self) -> Option<Json> {
        let end = self.rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(self.rest.len());
        let (literal, rest) = self.rest.split_at(end);
        self.rest = rest;
        serde_json::from_str::<serde_json::Number>(literal).ok()?;
        Some(Json::Number(literal.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CARD: &str = include_str!("../../../tests/vectors/card-testnet-287.json");

    /// A user minified, indented or sorted the card: the form is named.
    #[test]
    fn c_04_the_form_of_a_reformatted_card_is_named() {
        let minified = r#"{"type":"https://eips.ethereum.org/EIPS/eip-8004#registration-v1","name":"XCF Demo4 Registered Agent","x402Support":true,"active":true,"services":[{"name":"xcf-premium-resource","skills":["resource.premium.read"]}]}"#;
        let form =
            |anchored: &str, served: &str| find(served.as_bytes(), Sha256Digest::of(anchored.as_bytes())).map(|f| f.to_string());
        assert_eq!(form(minified, CARD).unwrap(), "minified");
        assert_eq!(form(CARD, minified).unwrap(), "with two-space indentation and a final newline");
        assert_eq!(form("{\"a\":2,\"b\":1}", "{\"b\":1, \"a\":2}").unwrap(), "minified, with sorted keys");
        assert_eq!(
            form("{\"a\": [1, 2], \"b\": {}}", "{\"a\":[1,2],\"b\":{}}").unwrap(),
            "with a space after each colon and comma"
        );
        assert_eq!(form("{\n\t\"a\": []\n}", "{\"a\":[]}").unwrap(), "with tab indentation");
        assert_eq!(form("{\n    \"a\": 1\n}\n", "{\"a\":1}").unwrap(), "with four-space indentation and a final newline");
        assert_eq!(
            form("{\"a\":\"\\u00e9\"}", "{ \"a\": \"é\" }").unwrap(),
            "minified, with escapes for everything beyond ASCII"
        );
        assert_eq!(form("{\"a\":\"\\u003cb\\u003e\"}", "{ \"a\": \"<b>\" }").unwrap(), "minified, with escapes for <, > and &");
        assert_eq!(
            form("{\"a\":\"\\/\\u00e9\"}", "{ \"a\": \"/é\" }").unwrap(),
            "minified, with escapes for slashes and everything beyond ASCII"
        );
        assert_eq!(form("{\"a\":1}", "{\"a\":1.0}").unwrap(), "minified, with whole numbers written shortest");
        assert_eq!(form("{\"a\":2}", "{\"a\":1}"), None, "another content is no near miss");
    }

    #[test]
    fn numbers_keep_their_digits() {
        let served = "{ \"a\": 12345678901234567890.1234567890e+2 }";
        let anchored = "{\"a\":12345678901234567890.1234567890e+2}";
        assert!(find(served.as_bytes(), Sha256Digest::of(anchored.as_bytes())).is_some());
    }

    #[test]
    fn hostile_documents_are_left_alone() {
        let digest = Sha256Digest::of(b"x");
        for text in ["", "{", "[", "\"", "\"\\", "{\"a\"}", "[1,]", "01", "--1", "nul", "{}{}", "\"\\ud800\"", "\u{feff}"] {
            assert_eq!(find(text.as_bytes(), digest), None, "{text}");
        }
        assert_eq!(find("[".repeat(1_000_000).as_bytes(), digest), None);
        assert_eq!(find(&[0xff, 0xfe], digest), None);
        let deep = format!("[{}]", vec![format!("{}{}", "[".repeat(120), "]".repeat(120)); 4000].join(","));
        let started = std::time::Instant::now();
        assert_eq!(find(deep.as_bytes(), digest), None);
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "indentation must not blow it up");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[\\[\\]{}\":,\\\\ue0-9a-f.\\-é ]{0,60}") {
            let _ = parse(&text);
        }
    }
}
