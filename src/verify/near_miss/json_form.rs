use std::fmt;

use super::json::Json;

/// No card that was rewritten to at most 1 MiB was larger than this before.
const MAX_TEXT: usize = 8 << 20;

/// How a program writes JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) layout: Layout,
    pub(super) sorted_keys: bool,
    pub(super) escaping: Escaping,
    pub(super) numbers: Numbers,
    pub(super) final_newline: bool,
}

/// Where the white space goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Minified,
    /// As Python's `json.dumps` writes by default.
    Spaced,
    TwoSpaces,
    FourSpaces,
    Tabs,
}

/// The order in which layouts are tried: the likeliest first.
pub(super) const ORDER: &[Layout] = &[Layout::Minified, Layout::TwoSpaces, Layout::FourSpaces, Layout::Spaced, Layout::Tabs];

/// What is escaped in strings besides what must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escaping {
    Minimal,
    /// Everything beyond ASCII, as Python does by default.
    Ascii,
    /// `<`, `>`, `&` and the Unicode line separators, as Go does by default.
    Html,
    /// Slashes and everything beyond ASCII, as PHP does by default.
    Php,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    AsWritten,
    /// Whole numbers without fraction and exponent, as JavaScript writes them.
    Shortest,
}

impl Escaping {
    pub(super) const ALL: &[Self] = &[Self::Minimal, Self::Ascii, Self::Html, Self::Php];

    /// Whether it writes some string of the document otherwise than [`Escaping::Minimal`] does.
    pub(super) fn changes(self, document: &Json) -> bool {
        let any = |text: &str| text.chars().any(|c| self.escapes(c));
        self == Self::Minimal
            || match document {
                Json::Word(_) | Json::Number(_) => false,
                Json::String(text) => any(text),
                Json::Array(items) => items.iter().any(|item| self.changes(item)),
                Json::Object(entries) => entries.iter().any(|(key, value)| any(key) || self.changes(value)),
            }
    }

    fn escapes(self, c: char) -> bool {
        match self {
            Self::Minimal => false,
            Self::Ascii => !c.is_ascii(),
            Self::Html => matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
            Self::Php => c == '/' || !c.is_ascii(),
        }
    }
}

impl Numbers {
    /// Whether it writes some number of the document otherwise than it was written.
    pub(super) fn changes(self, document: &Json) -> bool {
        match document {
            Json::Number(digits) => self.written(digits).is_some_and(|shortest| shortest != *digits),
            Json::Word(_) | Json::String(_) => false,
            Json::Array(items) => items.iter().any(|item| self.changes(item)),
            Json::Object(entries) => entries.iter().any(|(_, value)| self.changes(value)),
        }
    }

    fn written(self, digits: &str) -> Option<String> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let value: f64 = digits.parse().ok()?;
        (self == Self::Shortest && value.fract() == 0.0 && value.abs() < EXACT).then(|| format!("{}", value as i64))
    }
}

impl Form {
    /// Appends the document in this form, without the final newline.
    pub(super) fn write(&self, document: &Json, out: &mut Vec<u8>) {
        self.value(document, 0, out);
    }

    fn value(&self, value: &Json, depth: usize, out: &mut Vec<u8>) {
        match value {
            Json::Word(word) => out.extend_from_slice(word.as_bytes()),
            Json::Number(digits) => match self.numbers.written(digits) {
                Some(shortest) => out.extend_from_slice(shortest.as_bytes()),
                None => out.extend_from_slice(digits.as_bytes()),
            },
            Json::String(text) => self.string(text, out),
            Json::Array(items) => self.list(b"[]", items, depth, out, |item, out| self.value(item, depth + 1, out)),
            Json::Object(entries) => self.list(b"{}", entries, depth, out, |(key, value), out| {
                self.string(key, out);
                out.extend_from_slice(if self.layout == Layout::Minified { b":" } else { b": " });
                self.value(value, depth + 1, out);
            }),
        }
    }

    fn list<T>(&self, brackets: &[u8; 2], items: &[T], depth: usize, out: &mut Vec<u8>, mut item: impl FnMut(&T, &mut Vec<u8>)) {
        let [open, close] = *brackets;
        out.push(open);
        for (at, one) in items.iter().enumerate() {
            if at > 0 {
                out.push(b',');
                if self.layout == Layout::Spaced {
                    out.push(b' ');
                }
            }
            self.new_line(depth + 1, out);
            item(one, out);
        }
        if !items.is_empty() {
            self.new_line(depth, out);
        }
        out.push(close);
    }

    fn new_line(&self, depth: usize, out: &mut Vec<u8>) {
        let indent: &[u8] = match self.layout {
            Layout::Minified | Layout::Spaced => return,
            Layout::TwoSpaces => b"  ",
            Layout::FourSpaces => b"    ",
            Layout::Tabs => b"\t",
        };
        out.push(b'\n');
        // Past the limit nothing can match any more, so nothing needs to be indented.
        if out.len() < MAX_TEXT {
            for _ in 0..depth {
                out.extend_from_slice(indent);
            }
        }
    }

    fn string(&self, text: &str, out: &mut Vec<u8>) {
        out.push(b'"');
        for c in text.chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\u{8}' => out.extend_from_slice(b"\\b"),
                '\u{c}' => out.extend_from_slice(b"\\f"),
                '/' if self.escaping == Escaping::Php => out.extend_from_slice(b"\\/"),
                c if c < ' ' || self.escaping.escapes(c) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                    }
                }
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.push(b'"');
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.layout {
            Layout::Minified => "minified",
            Layout::Spaced => "with a space after each colon and comma",
            Layout::TwoSpaces => "with two-space indentation",
            Layout::FourSpaces => "with four-space indentation",
            Layout::Tabs => "with tab indentation",
        })?;
        if self.final_newline {
            f.write_str(" and a final newline")?;
        }
        if self.sorted_keys {
            f.write_str(", with sorted keys")?;
        }
        f.write_str(match self.escaping {
            Escaping::Minimal => "",
            Escaping::Ascii => ", with escapes for everything beyond ASCII",
            Escaping::Html => ", with escapes for <, > and &",
            Escaping::Php => ", with escapes for slashes and everything beyond ASCII",
        })?;
        f.write_str(match self.numbers {
            Numbers::AsWritten => "",
            Numbers::Shortest => ", with whole numbers written shortest",
        })
    }
}
