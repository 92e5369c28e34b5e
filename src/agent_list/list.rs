use std::collections::HashMap;

use crate::card::{Document, Layout};

use super::{Entry, ListError};

/// An agent list: its entries in their order, and the rest of its document as it was written.
#[derive(Debug, Clone)]
pub struct AgentList {
    /// The document up to and with the bracket that opens the entries.
    head: String,
    /// The document from the bracket that closes them.
    tail: String,
    entries: Vec<Entry>,
    places: HashMap<String, usize>,
    style: Style,
    /// The text it was read from, until something changes.
    unchanged: Option<String>,
}

/// How the entries stand in the document.
#[derive(Debug, Clone)]
struct Style {
    layout: Layout,
    /// What stands before an entry.
    before: String,
    /// What stands between the last entry and the closing bracket.
    end: String,
    /// The indentation of an entry.
    base: String,
}

impl AgentList {
    /// The text of a list without agents.
    pub const EMPTY: &'static str = "{\"agents\":[]}\n";

    /// Reads a list. A byte order mark before it, which some editors write, is not part of it and not written again.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when the text is not JSON, has no list `agents`, or an entry of it has no name or URL or the name
    /// of another.
    pub fn parse(text: &str) -> Result<Self, ListError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let invalid = |why: String| ListError::Invalid(why);
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            invalid(format!("it is not JSON, the first fault is in line {}, column {}", error.line(), error.column()))
        })?;
        let document = Document::parse_large(text.as_bytes());
        let root = document.root().ok_or_else(|| invalid("it is not JSON".into()))?;
        let members = root.as_object().ok_or_else(|| invalid("it is not an object with a list \"agents\"".into()))?;
        if members.iter().filter(|member| member.key == "agents").count() > 1 {
            return Err(invalid("its key \"agents\" stands twice".into()));
        }
        let node = root.get("agents").ok_or_else(|| invalid("it has no list \"agents\"".into()))?;
        let items = node.as_array().ok_or_else(|| invalid("its \"agents\" is not a list".into()))?;
        let values = value.get("agents").and_then(serde_json::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let slice = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let mut list = Self {
            head: slice(0, node.span.start + 1).to_owned(),
            tail: slice(node.span.end.saturating_sub(1), text.len()).to_owned(),
            entries: Vec::with_capacity(items.len()),
            places: HashMap::with_capacity(items.len()),
            style: Style::default(),
            unchanged: None,
        };
        for (n, (item, value)) in items.iter().zip(values).enumerate() {
            let entry = Entry::of(slice(item.span.start, item.span.end), value)
                .map_err(|error| invalid(format!("agent number {}: {error}", n + 1)))?;
            if list.places.contains_key(entry.name()) {
                return Err(invalid(format!("agent number {}: the name {} stands twice", n + 1, entry.name())));
            }
            list.push(entry);
        }
        list.style = match (items.first(), items.last()) {
            (Some(first), Some(last)) => {
                let before = slice(node.span.start + 1, first.span.start).to_owned();
                let end = slice(last.span.end, node.span.end.saturating_sub(1)).to_owned();
                let base = before.rsplit_once('\n').map(|(_, base)| base.to_owned()).unwrap_or_default();
                let whole = Layout::of(&document);
                // Entries on one line each keep to one line, whatever the document around them looks like.
                let entry = Layout::of(&Document::parse_large(slice(first.span.start, first.span.end).as_bytes()));
                Style { layout: Layout { newline: whole.newline, ..entry }, before, end, base }
            }
            _ if members.len() == 1 => {
                (list.head, list.tail) = ("{\n  \"agents\": [".into(), "]\n}\n".into());
                Style::default()
            }
            _ => Style::default(),
        };
        list.unchanged = Some(text.to_owned());
        Ok(list)
    }

    /// Reads the entries of a file to import: an agent list, or a bare list of entries. Names may stand twice, and lose the blanks
    /// around them.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when it is neither, or a name has characters that hide or turn round what is shown of it.
    pub fn parse_import(text: &str) -> Result<Vec<Entry>, ListError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            ListError::Invalid(format!("it is not JSON, the first fault is in line {}, column {}", error.line(), error.column()))
        })?;
        let document = Document::parse_large(text.as_bytes());
        let (pointer, what) = if value.is_array() { ("", &value) } else { ("/agents", &value["agents"]) };
        let (Some(items), Some(values)) = (document.get(pointer).and_then(|node| node.as_array()), what.as_array()) else {
            return Err(ListError::Invalid("it is neither an agent list nor a list of agents".into()));
        };
        let entry = |(n, (item, value)): (usize, (&crate::card::Node<'_>, &serde_json::Value))| {
            let json = text.get(item.span.clone()).unwrap_or_default();
            let entry = Entry::of(json, value).and_then(Entry::admitted);
            entry.map_err(|error| ListError::Invalid(format!("agent number {}: {error}", n + 1)))
        };
        items.iter().zip(values).enumerate().map(entry).collect()
    }

    /// Its entries in their order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry with this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.places.get(name).and_then(|place| self.entries.get(*place))
    }

    /// Adds an entry at the end.
    ///
    /// # Errors
    /// [`ListError::Conflicts`] when there is one of its name.
    pub fn add(&mut self, entry: Entry) -> Result<(), ListError> {
        if self.places.contains_key(entry.name()) {
            return Err(ListError::Conflicts(vec![entry.name().to_owned()]));
        }
        let entry = entry.laid_out(&self.style.layout, &self.style.base);
        self.unchanged = None;
        self.push(entry);
        Ok(())
    }

    /// Puts an entry in the place of the one with its name, or at the end.
    pub(super) fn replace(&mut self, entry: Entry) {
        let entry = entry.laid_out(&self.style.layout, &self.style.base);
        self.unchanged = None;
        let place = self.places.get(entry.name()).copied();
        match place.and_then(|place| self.entries.get_mut(place)) {
            Some(old) => *old = entry,
            None => self.push(entry),
        }
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// [`ListError::NotFound`] when there is none of this name.
    pub fn remove(&mut self, name: &str) -> Result<Entry, ListError> {
        let place = self.places.remove(name).filter(|place| *place < self.entries.len());
        let place = place.ok_or_else(|| ListError::NotFound(name.to_owned()))?;
        self.unchanged = None;
        let removed = self.entries.remove(place);
        self.places = self.entries.iter().enumerate().map(|(n, entry)| (entry.name().to_owned(), n)).collect();
        Ok(removed)
    }

    fn push(&mut self, entry: Entry) {
        self.places.insert(entry.name().to_owned(), self.entries.len());
        self.entries.push(entry);
    }

    /// Whether it is as it was read.
    pub fn is_unchanged(&self) -> bool {
        self.unchanged.is_some()
    }

    /// Its text: byte for byte the one it was read from when nothing changed, but for a byte order mark.
    pub fn to_text(&self) -> String {
        if let Some(text) = &self.unchanged {
            return text.clone();
        }
        let mut text = self.head.clone();
        for (n, entry) in self.entries.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            // In a list on one line, the space that follows a comma does not follow the bracket.
            if n > 0 && self.style.before.is_empty() && self.style.layout.colon.ends_with(' ') {
                text.push(' ');
            }
            text.push_str(&self.style.before);
            text.push_str(entry.json());
        }
        if !self.entries.is_empty() {
            text.push_str(&self.style.end);
        }
        text.push_str(&self.tail);
        text
    }
}

impl Default for Style {
    /// The layout of a list that this program began.
    fn default() -> Self {
        Self { layout: Layout::default(), before: "\n    ".into(), end: "\n  ".into(), base: "    ".into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        Entry::new(name, "http://localhost:1").unwrap()
    }

    #[test]
    fn the_first_agent_gives_an_empty_list_its_layout() {
        let mut list = AgentList::parse(AgentList::EMPTY).unwrap();
        assert_eq!(list.to_text(), AgentList::EMPTY);
        list.add(entry("a")).unwrap();
        let text = "{\n  \"agents\": [\n    {\n      \"name\": \"a\",\n      \"url\": \"http://localhost:1\"\n    }\n  ]\n}\n";
        assert_eq!(list.to_text(), text);
        let mut list = AgentList::parse(text).unwrap();
        list.add(entry("b")).unwrap();
        list.remove("a").unwrap();
        assert_eq!(list.to_text(), text.replace("\"a\"", "\"b\""));
        list.remove("b").unwrap();
        assert_eq!(list.to_text(), "{\n  \"agents\": []\n}\n");
    }

    #[test]
    fn a_byte_order_mark_is_read_over_and_not_written() {
        let text = "{\"agents\":[{\"name\":\"a\",\"url\":\"u\"}]}";
        let mut list = AgentList::parse(&format!("\u{feff}{text}")).unwrap();
        assert_eq!(list.to_text(), text);
        list.add(entry("b")).unwrap();
        assert!(list.to_text().starts_with("{\"agents\"") && AgentList::parse(&list.to_text()).is_ok(), "{}", list.to_text());
    }

    #[test]
    fn blanks_around_a_name_do_not_make_another_agent() {
        let names = |entries: Vec<Entry>| entries.iter().map(|entry| entry.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(vec![entry(" a"), entry("a\u{3000}").renamed("\u{a0}b ").unwrap()]), ["a", "b"]);
        let imported = AgentList::parse_import(r#"[{"q":1.50,"name":" a ","url":"u"}]"#).unwrap();
        assert_eq!(imported[0].json(), r#"{"q":1.50,"name":"a","url":"u"}"#);
        let mut list = AgentList::parse(r#"{"agents":[{"name":"a","url":"u"}]}"#).unwrap();
        assert!(matches!(list.import(vec![entry(" a")], |_| None), Err(ListError::Conflicts(_))));
    }

    #[test]
    fn unknown_fields_of_document_and_entries_survive_byte_for_byte() {
        let text = "{\"z\": {\"n\": 1.50, \"a\": 123456789012345678901234567890},\r\n \"agents\" : [\r\n  { \"url\":\"u\", \"name\" : \"a\", \"q\": [1e3, \"\\u00e9\"] },\r\n  {\"name\":\"b\",\"url\":\"u\"}\r\n ], \"after\": null }";
        let mut list = AgentList::parse(text).unwrap();
        list.add(entry("c")).unwrap();
        list.remove("b").unwrap();
        let new = "{\"name\":\"c\",\"url\":\"http://localhost:1\"}";
        assert_eq!(list.to_text(), text.replace("{\"name\":\"b\",\"url\":\"u\"}", new));
    }

    #[test]
    fn what_is_not_a_list_is_refused_with_a_sentence() {
        for (text, why) in [
            ("", "line 1"),
            ("{\"agents\":[", "line 1"),
            ("[]", "not an object"),
            ("{}", "no list"),
            ("{\"agents\":{}}", "not a list"),
            ("{\"agents\":[],\"agents\":[]}", "twice"),
            ("{\"agents\":[{\"name\":\"a\"}]}", "agent number 1: it has no url"),
            (
                "{\"agents\":[{\"name\":\"a\",\"url\":\"u\"},{\"name\":\"a\",\"url\":\"v\"}]}",
                "agent number 2: the name a stands twice",
            ),
        ] {
            let error = AgentList::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
