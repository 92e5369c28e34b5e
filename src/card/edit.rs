//! Changing one field of a document and no other byte.

use super::document::{index, segments, Kind, Node};
use super::layout::Layout;
use super::Document;

/// Why a field could not be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The document is not JSON, so nothing in it can be found safely.
    #[error("the document is not valid JSON (line {line}, column {column}); run card lint on it")]
    NotJson {
        /// Where, counted from 1.
        line: usize,
        /// Where, counted from 1.
        column: usize,
    },
    /// The new value is not JSON.
    #[error("the new value is not JSON")]
    Value,
    /// Not a JSON pointer.
    #[error("{0} is not a JSON pointer such as /provider/url")]
    Pointer(String),
    /// What should hold the field does not exist, or cannot hold it.
    #[error("the field cannot be set: {0}")]
    NoPlace(String),
    /// A key on the way stands twice, so that readers disagree which one counts.
    #[error("the key {0} stands twice in its object; remove one of them first")]
    Duplicate(String),
}

/// Sets the value at a JSON pointer to `value`, which is JSON text, and leaves every other byte as it was.
///
/// A field that is not there is added at the end of its object, laid out like its neighbours; an array grows at its length or at
/// `-`. A new object or array is laid out like the rest of the document.
///
/// # Errors
/// [`EditError`]; the document is not changed then.
///
/// # Examples
/// ```
/// use cardproof::card::edit::set;
///
/// let card = b"{\n  \"name\":   \"Old\"\n}\n";
/// assert_eq!(set(card, "/name", "\"New\"")?, b"{\n  \"name\":   \"New\"\n}\n");
/// assert_eq!(set(card, "/active", "true")?, b"{\n  \"name\":   \"Old\",\n  \"active\":   true\n}\n");
/// # Ok::<(), cardproof::card::edit::EditError>(())
/// ```
pub fn set(bytes: &[u8], pointer: &str, value: &str) -> Result<Vec<u8>, EditError> {
    serde_json::from_str::<serde::de::IgnoredAny>(value).map_err(|_| EditError::Value)?;
    let plain = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<serde::de::IgnoredAny>(plain)
        .map_err(|error| EditError::NotJson { line: error.line(), column: error.column() })?;
    let document = Document::parse_large(bytes);
    let layout = Layout::of(&document);
    let root = document.root().ok_or(EditError::NotJson { line: 1, column: 1 })?;
    let segments = segments(pointer).ok_or_else(|| EditError::Pointer(pointer.to_owned()))?;
    let Some((last, way)) = segments.split_last() else {
        return splice(bytes, root.span.clone(), &layout.write(value, ""));
    };
    let mut holder = root;
    let mut so_far = String::new();
    for segment in way {
        so_far.push('/');
        so_far.push_str(segment);
        holder = child(holder, segment)?
            .ok_or_else(|| EditError::NoPlace(format!("there is nothing at {so_far}; set that first, for example to {{}}")))?;
    }
    if let Some(old) = child(holder, last)? {
        let base = indentation_at(bytes, old.span.start);
        return splice(bytes, old.span.clone(), &layout.write(value, &base));
    }
    add(bytes, holder, last, value, &layout)
}

/// A field's name as people write it, as a JSON pointer: `provider.url` is `/provider/url`; a pointer stays one.
pub fn pointer_of(field: &str) -> String {
    if field.is_empty() || field.starts_with('/') {
        return field.to_owned();
    }
    let segments = field.split('.').map(|segment| segment.replace('~', "~0").replace('/', "~1"));
    segments.fold(String::new(), |pointer, segment| pointer + "/" + &segment)
}

fn child<'a, 'd>(node: &'a Node<'d>, segment: &str) -> Result<Option<&'a Node<'d>>, EditError> {
    match &node.kind {
        Kind::Object(members) => {
            let mut named = members.iter().filter(|member| member.key == segment);
            let found = named.next();
            match named.next() {
                Some(_) => Err(EditError::Duplicate(segment.to_owned())),
                None => Ok(found.map(|member| &member.value)),
            }
        }
        Kind::Array(items) => Ok(index(segment).and_then(|n| items.get(n))),
        _ => Ok(None),
    }
}

/// Adds a member to an object or an item to an array.
fn add(bytes: &[u8], holder: &Node<'_>, last: &str, value: &str, layout: &Layout) -> Result<Vec<u8>, EditError> {
    let text = |from: usize, to: usize| bytes.get(from..to).and_then(|piece| std::str::from_utf8(piece).ok()).unwrap_or_default();
    let key = serde_json::Value::from(last).to_string();
    // Where the neighbour starts and ends, what stands before it, and what the new piece starts with.
    let (neighbour, front) = match &holder.kind {
        Kind::Object(members) => {
            let neighbour = members.last().map(|member| (member.key_span.start, member.value.span.end));
            let colon =
                members.first().map_or(layout.colon.as_str(), |member| text(member.key_span.end, member.value.span.start));
            (neighbour, format!("{key}{colon}"))
        }
        Kind::Array(items) if last == "-" || index(last) == Some(items.len()) => {
            (items.last().map(|item| (item.span.start, item.span.end)), String::new())
        }
        Kind::Array(items) => {
            return Err(EditError::NoPlace(format!("the array has {} items, so the next one is {}", items.len(), items.len())));
        }
        _ => return Err(EditError::NoPlace(format!("what should hold {last} is {}", holder.type_name()))),
    };
    let inner = holder.span.start + 1;
    let Some((start, end)) = neighbour else {
        let outer = indentation_at(bytes, holder.span.start);
        let piece = match &layout.unit {
            Some(unit) => {
                let base = format!("{outer}{unit}");
                let newline = layout.newline;
                format!("{newline}{base}{front}{}{newline}{outer}", layout.write(value, &base))
            }
            None => format!("{front}{}", layout.write(value, "")),
        };
        return splice(bytes, inner..holder.span.end.saturating_sub(1), &piece);
    };
    // The space before the neighbour, back to the comma or bracket in front of it.
    let before = text(inner, start);
    let space = &before[before.trim_end_matches([' ', '\t', '\n', '\r']).len()..];
    let separator = match space.rfind('\n') {
        // An empty line between neighbours belongs to them, not to every new one.
        Some(at) => {
            let at = if space[..at].ends_with('\r') { at - 1 } else { at };
            space[at..].to_owned()
        }
        None if space.is_empty() && layout.colon.ends_with(' ') && before.is_empty() => " ".to_owned(),
        None => space.to_owned(),
    };
    let inner_layout = if separator.contains('\n') { layout.clone() } else { Layout { unit: None, ..layout.clone() } };
    let base = separator.rsplit_once('\n').map_or("", |(_, base)| base);
    splice(bytes, end..end, &format!(",{separator}{front}{}", inner_layout.write(value, base)))
}

/// The indentation of the line that a byte stands in.
fn indentation_at(bytes: &[u8], offset: usize) -> String {
    let before = bytes.get(..offset).unwrap_or_default();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = before.get(start..).unwrap_or_default();
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).map(|byte| char::from(*byte)).collect()
}

fn splice(bytes: &[u8], span: std::ops::Range<usize>, piece: &str) -> Result<Vec<u8>, EditError> {
    let (Some(before), Some(after)) = (bytes.get(..span.start), bytes.get(span.end..)) else {
        return Err(EditError::NoPlace("the document's places do not fit its bytes".into()));
    };
    Ok([before, piece.as_bytes(), after].concat())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{json, Value};

    use super::*;

    fn set_text(text: &str, pointer: &str, value: &str) -> String {
        String::from_utf8(set(text.as_bytes(), pointer, value).unwrap()).unwrap()
    }

    #[test]
    fn one_value_is_replaced_and_no_other_byte() {
        let odd = "\u{feff}{ \"a\" :\t[1,  2.50 ,3],\r\n\r\n \"b\":{\"c\": \"\\u00e9\"}  }\n\n";
        assert_eq!(set_text(odd, "/a/1", "\"x\""), odd.replace("2.50", "\"x\""));
        assert_eq!(set_text(odd, "/b/c", "null"), odd.replace("\"\\u00e9\"", "null"));
    }

    #[test]
    fn a_new_field_looks_like_its_neighbours() {
        assert_eq!(
            set_text("{\n\t\"a\": 1\n}", "/b", "{\"c\":[1]}"),
            "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": [\n\t\t\t1\n\t\t]\n\t}\n}"
        );
        assert_eq!(set_text("{\r\n  \"a\": 1\r\n}", "/b", "2"), "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}");
        assert_eq!(set_text("{\"a\":1}", "/b", "{\"c\": 2}"), "{\"a\":1,\"b\":{\"c\":2}}");
        assert_eq!(set_text("{\"a\": 1, \"b\": 2}", "/c", "3"), "{\"a\": 1, \"b\": 2, \"c\": 3}");
        assert_eq!(set_text("{\"a\": 1}", "/b", "2"), "{\"a\": 1, \"b\": 2}");
        assert_eq!(set_text("{\n  \"a\": {}\n}", "/a/b", "1"), "{\n  \"a\": {\n    \"b\": 1\n  }\n}");
        assert_eq!(set_text("{\n  \"a\": [{ \"x\": 1 }]\n}", "/a/-", "2"), "{\n  \"a\": [{ \"x\": 1 }, 2]\n}");
        assert_eq!(set_text("{\n  \"a\": [\n    1\n  ]\n}", "/a/1", "2"), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
        assert_eq!(set_text("{\r\n}\r\n", "/a", "1"), "{\r\n  \"a\": 1\r\n}\r\n");
        assert_eq!(set_text("{}", "/a", "1"), "{\n  \"a\": 1\n}");
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_a_sentence() {
        let text = br#"{"a": 1, "b": [1], "d": 1, "d": 2}"#;
        assert!(matches!(set(text, "/a/x", "1"), Err(EditError::NoPlace(_))));
        assert!(matches!(set(text, "/x/y", "1"), Err(EditError::NoPlace(_))));
        assert!(matches!(set(text, "/b/7", "1"), Err(EditError::NoPlace(_))));
        assert_eq!(set(text, "/d", "1"), Err(EditError::Duplicate("d".into())));
        assert_eq!(set(text, "a", "1"), Err(EditError::Pointer("a".into())));
        assert_eq!(set(text, "/~2", "1"), Err(EditError::Pointer("/~2".into())));
        assert!(matches!(set(text, "/b/00", "1"), Err(EditError::NoPlace(_))));
        assert_eq!(set(text, "/a", "{"), Err(EditError::Value));
        assert_eq!(set(b"{\"a\":}", "/a", "1"), Err(EditError::NotJson { line: 1, column: 6 }));
    }

    #[test]
    fn a_field_name_is_a_pointer() {
        assert_eq!(pointer_of("provider.url"), "/provider/url");
        assert_eq!(pointer_of("skills.0.name"), "/skills/0/name");
        assert_eq!(pointer_of("/a.b"), "/a.b");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c~/]{1,2}", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_set_is_read_and_the_rest_is_as_it_was(document in prop::collection::btree_map("[a-d]", any_json(), 0..4), value in any_json(), pretty: bool) {
            let document = json!(document);
            let text = if pretty { format!("{document:#}") } else { document.to_string() };
            let mut expected = document;
            expected["x"] = value.clone();
            let changed = set(text.as_bytes(), "/x", &value.to_string()).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Value>(&changed).unwrap(), expected);
        }
    }
}
