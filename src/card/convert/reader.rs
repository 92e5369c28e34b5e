use serde_json::Value;

use crate::card::build::Aspect;
use crate::card::document::push_segment;

/// A value of a card that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Understood {
    /// What it is about; `None` for what a dialect has beside the things that other dialects know.
    pub aspect: Option<Aspect>,
    /// Where it stands, a JSON pointer.
    pub pointer: String,
    /// What it says, in words that are the same in every dialect: a card that says all of them carries the value.
    pub(super) facts: Vec<String>,
}

/// Looks into a parsed card and remembers which values were understood, and what they say.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    root: &'a Value,
    understood: Vec<Understood>,
    /// What the values read now belong to: a skill's id, an interface's URL.
    holder: String,
}

impl<'a> Reader<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, understood: Vec::new(), holder: String::new() }
    }

    /// The value at a JSON pointer, not yet counted as understood.
    pub(super) fn peek(&self, pointer: &str) -> Option<&'a Value> {
        self.root.pointer(pointer)
    }

    /// The text at a pointer, not yet counted as understood.
    pub(super) fn peek_text(&self, pointer: &str) -> Option<&'a str> {
        self.peek(pointer)?.as_str()
    }

    /// From here on values belong to this member of a list; to the card itself when it is empty.
    ///
    /// Members are known by what they are called and not by their place, which differs from dialect to dialect.
    pub(super) fn within(&mut self, holder: &str) {
        holder.clone_into(&mut self.holder);
    }

    /// Counts a value, and everything below it, as understood: it says what it holds.
    pub(super) fn understand(&mut self, aspect: impl Into<Option<Aspect>>, pointer: impl Into<String>) {
        let (aspect, pointer) = (aspect.into(), pointer.into());
        let Some(value) = self.peek(&pointer) else { return };
        let facts = vec![self.fact(aspect, same_key(pointer.rsplit('/').next().unwrap_or_default()), value)];
        self.understood.push(Understood { aspect, pointer, facts });
    }

    /// Counts a value as understood that says these things, however it writes them.
    pub(super) fn understand_as(&mut self, aspect: impl Into<Option<Aspect>>, pointer: impl Into<String>, facts: Vec<String>) {
        self.understood.push(Understood { aspect: aspect.into(), pointer: pointer.into(), facts });
    }

    /// A fact about the present holder. The interfaces after the first are interfaces too.
    pub(super) fn fact(&self, aspect: Option<Aspect>, key: &str, value: &Value) -> String {
        let aspect = if aspect == Some(Aspect::FurtherInterfaces) { Some(Aspect::Interfaces) } else { aspect };
        format!("{aspect:?} of {:?}: {key} = {value}", self.holder)
    }

    /// Counts a value that only shows which dialect this is as understood. Any other value in its place is not.
    pub(super) fn mark(&mut self, pointer: &str, expected: &str) {
        if self.peek_text(pointer) == Some(expected) {
            self.understand_as(None, pointer, Vec::new());
        }
    }

    pub(super) fn text(&mut self, aspect: Aspect, pointer: &str) -> Option<String> {
        let text = self.peek_text(pointer)?.to_owned();
        self.understand(aspect, pointer);
        Some(text)
    }

    pub(super) fn flag(&mut self, aspect: Aspect, pointer: &str) -> Option<bool> {
        let flag = self.peek(pointer)?.as_bool()?;
        self.understand(aspect, pointer);
        Some(flag)
    }

    /// A list of texts; a list with anything else in it is not understood.
    pub(super) fn texts(&mut self, aspect: Aspect, pointer: &str) -> Vec<String> {
        let Some(list) = self.peek(pointer).and_then(Value::as_array) else { return Vec::new() };
        let texts: Option<Vec<String>> = list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        match texts {
            // An empty list says nothing; whether it is there is told like that of every other empty value.
            Some(texts) if !texts.is_empty() => {
                self.understand(aspect, pointer);
                texts
            }
            _ => Vec::new(),
        }
    }

    /// How many items the list at a pointer has; 0 when there is no list.
    pub(super) fn len(&self, pointer: &str) -> usize {
        self.peek(pointer).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// What was understood, and the values that were not, with their pointers. Empty lists and objects and `null` are values.
    pub(super) fn finish(self) -> (Vec<Understood>, Vec<(String, Value)>) {
        let mut unread = Vec::new();
        let covered: std::collections::HashSet<&str> = self.understood.iter().map(|value| value.pointer.as_str()).collect();
        let mut waiting = vec![(String::new(), self.root)];
        while let Some((pointer, value)) = waiting.pop() {
            if covered.contains(pointer.as_str()) {
                continue;
            }
            match value {
                Value::Object(members) if !members.is_empty() => {
                    waiting.extend(members.iter().rev().map(|(key, value)| {
                        let mut at = pointer.clone();
                        push_segment(&mut at, key);
                        (at, value)
                    }));
                }
                Value::Array(items) if !items.is_empty() => {
                    waiting.extend(items.iter().enumerate().rev().map(|(n, value)| (format!("{pointer}/{n}"), value)));
                }
                leaf => unread.push((pointer, leaf.clone())),
            }
        }
        (self.understood, unread)
    }
}

/// The one name of a key that dialects call differently.
fn same_key(key: &str) -> &str {
    match key {
        "iconUrl" | "avatar_url" => "image",
        "transport" | "preferredTransport" => "protocolBinding",
        "x402support" => "x402Support",
        other => other,
    }
}
