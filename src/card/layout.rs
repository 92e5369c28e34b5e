use super::Document;

/// How a document is laid out: what a new piece of it should look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The indentation of one level; `None` when everything stands on one line.
    pub(crate) unit: Option<String>,
    /// What ends a line.
    pub(crate) newline: &'static str,
    /// What stands between a key and its value.
    pub(crate) colon: String,
    /// The indentation of the outermost closing bracket.
    pub(crate) base: String,
}

impl Default for Layout {
    /// Two spaces: the layout of a built card.
    fn default() -> Self {
        Self { unit: Some("  ".into()), newline: "\n", colon: ": ".into(), base: String::new() }
    }
}

impl Layout {
    /// The layout of a document, as its outermost object or array shows it; an empty one shows none.
    pub(crate) fn of(document: &Document<'_>) -> Self {
        let text = |from: usize, to: usize| {
            document.bytes().get(from..to).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
        };
        let Some(root) = document.root() else { return Self::default() };
        let (first, last, colon) = match (root.as_object(), root.as_array()) {
            (Some([first, .., last]), _) => {
                (first.key_span.start, last.value.span.end, text(first.key_span.end, first.value.span.start))
            }
            (Some([only]), _) => (only.key_span.start, only.value.span.end, text(only.key_span.end, only.value.span.start)),
            (_, Some([first, .., last])) => (first.span.start, last.span.end, ": "),
            (_, Some([only])) => (only.span.start, only.span.end, ": "),
            // An empty document shows how its lines end at most.
            _ if document.bytes().windows(2).any(|pair| pair == b"\r\n") => return Self { newline: "\r\n", ..Self::default() },
            _ => return Self::default(),
        };
        let colon = if colon.trim() == ":" && !colon.contains(['\n', '\r']) { colon.to_owned() } else { ": ".into() };
        let before = text(root.span.start + 1, first);
        let after = text(last, root.span.end.saturating_sub(1));
        let indentation = |space: &str| space.rsplit_once('\n').map(|(_, indentation)| indentation.to_owned());
        let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
        let base = indentation(after).unwrap_or_default();
        let unit = indentation(before).map(|deeper| deeper.strip_prefix(base.as_str()).unwrap_or(&deeper).to_owned());
        Self { unit, newline, colon, base }
    }

    /// Lays out JSON text anew, its strings and numbers as they are written; lines after the first start with `base`.
    pub(crate) fn write(&self, json: &str, base: &str) -> String {
        let mut out = String::with_capacity(json.len() * 2);
        let mut depth = 0usize;
        let mut pieces = json.char_indices().filter(|(_, c)| !c.is_ascii_whitespace()).peekable();
        let comma = if self.colon.ends_with(' ') { ", " } else { "," };
        while let Some((at, c)) = pieces.next() {
            match c {
                '"' => {
                    let string = json.get(at..at + string_length(json.get(at..).unwrap_or_default())).unwrap_or_default();
                    out.push_str(string);
                    while pieces.peek().is_some_and(|(next, _)| *next < at + string.len()) {
                        pieces.next();
                    }
                }
                '{' | '[' => {
                    out.push(c);
                    if let Some((_, closing @ ('}' | ']'))) = pieces.peek().copied() {
                        out.push(closing);
                        pieces.next();
                    } else {
                        depth += 1;
                        self.line(&mut out, base, depth);
                    }
                }
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    self.line(&mut out, base, depth);
                    out.push(c);
                }
                ',' if self.unit.is_some() => {
                    out.push(',');
                    self.line(&mut out, base, depth);
                }
                ',' => out.push_str(comma),
                ':' => out.push_str(&self.colon),
                other => out.push(other),
            }
        }
        out
    }

    fn line(&self, out: &mut String, base: &str, depth: usize) {
        if let Some(unit) = &self.unit {
            out.push_str(self.newline);
            out.push_str(base);
            (0..depth).for_each(|_| out.push_str(unit));
        }
    }
}

/// How many bytes the string at the start of `json` takes up, its quotes included.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers_stay_as_they_are_written() {
        let json = r#"{ "a" : [ 1.50 , "x: {\"y\\\\\", é" ] ,"b":{},"c":[ ] , "d": 12345678901234567890123 }"#;
        let pretty = Layout::default().write(json, "");
        assert_eq!(
            pretty,
            "{\n  \"a\": [\n    1.50,\n    \"x: {\\\"y\\\\\\\\\\\", é\"\n  ],\n  \"b\": {},\n  \"c\": [],\n  \"d\": 12345678901234567890123\n}"
        );
        let compact = Layout { unit: None, colon: ":".into(), ..Layout::default() };
        assert_eq!(compact.write(&pretty, "ignored on one line"), json_compact());
    }

    fn json_compact() -> String {
        r#"{"a":[1.50,"x: {\"y\\\\\", é"],"b":{},"c":[],"d":12345678901234567890123}"#.into()
    }

    #[test]
    fn a_layout_is_recognised() {
        let of = |text: &str| Layout::of(&Document::parse(text.as_bytes()));
        assert_eq!(of("{\n  \"a\": 1\n}"), Layout::default());
        assert_eq!(of("{\r\n\t\"a\" : 1\r\n}").unit.as_deref(), Some("\t"));
        assert_eq!((of("{\r\n\t\"a\" : 1\r\n}").newline, of("{\r\n\t\"a\" : 1\r\n}").colon.as_str()), ("\r\n", " : "));
        assert_eq!(of("{\"a\":1}"), Layout { unit: None, newline: "\n", colon: ":".into(), base: String::new() });
        assert_eq!(of("{\n      \"a\": 1\n    }").unit.as_deref(), Some("  "), "a piece of a deeper level");
    }
}
