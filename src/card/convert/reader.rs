use serde_json::Value;

use crate::card::build::Aspect;
use crate::card::document::push_segment;

/// Looks into a parsed card and remembers which values were understood, and as what.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    root: &'a Value,
    understood: Vec<(Option<Aspect>, String)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, understood: Vec::new() }
    }

    /// The value at a JSON pointer, not yet counted as understood.
    pub(super) fn peek(&self, pointer: &str) -> Option<&'a Value> {
        self.root.pointer(pointer)
    }

    /// The text at a pointer, not yet counted as understood.
    pub(super) fn peek_text(&self, pointer: &str) -> Option<&'a str> {
        self.peek(pointer)?.as_str()
    }

    /// Counts a value, and everything below it, as understood; without an aspect it is a mark of the dialect itself.
    pub(super) fn understand(&mut self, aspect: Option<Aspect>, pointer: impl Into<String>) {
        self.understood.push((aspect, pointer.into()));
    }

    /// Counts a mark of the dialect as understood when it is there.
    pub(super) fn mark(&mut self, pointer: &str) {
        if self.peek(pointer).is_some() {
            self.understand(None, pointer);
        }
    }

    pub(super) fn text(&mut self, aspect: Aspect, pointer: &str) -> Option<String> {
        let text = self.peek_text(pointer)?.to_owned();
        self.understand(Some(aspect), pointer);
        Some(text)
    }

    pub(super) fn flag(&mut self, aspect: Aspect, pointer: &str) -> Option<bool> {
        let flag = self.peek(pointer)?.as_bool()?;
        self.understand(Some(aspect), pointer);
        Some(flag)
    }

    /// A list of texts; a list with anything else in it is not understood.
    pub(super) fn texts(&mut self, aspect: Aspect, pointer: &str) -> Vec<String> {
        let Some(list) = self.peek(pointer).and_then(Value::as_array) else { return Vec::new() };
        let texts: Option<Vec<String>> = list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        match texts {
            Some(texts) => {
                self.understand(Some(aspect), pointer);
                texts
            }
            None => Vec::new(),
        }
    }

    /// How many items the list at a pointer has; 0 when there is no list.
    pub(super) fn len(&self, pointer: &str) -> usize {
        self.peek(pointer).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// What was understood, and the pointers of the values that were not.
    pub(super) fn finish(self) -> (Vec<(Aspect, String)>, Vec<String>) {
        let mut unread = Vec::new();
        let covered: std::collections::HashSet<&str> = self.understood.iter().map(|(_, pointer)| pointer.as_str()).collect();
        let mut waiting = vec![(String::new(), self.root)];
        while let Some((pointer, value)) = waiting.pop() {
            if covered.contains(pointer.as_str()) {
                continue;
            }
            match value {
                Value::Object(members) => {
                    waiting.extend(members.iter().rev().map(|(key, value)| {
                        let mut at = pointer.clone();
                        push_segment(&mut at, key);
                        (at, value)
                    }));
                }
                Value::Array(items) => {
                    waiting.extend(items.iter().enumerate().rev().map(|(n, value)| (format!("{pointer}/{n}"), value)));
                }
                Value::Null => {}
                _ => unread.push(pointer),
            }
        }
        let understood = self.understood.iter().filter_map(|(aspect, pointer)| Some(((*aspect)?, pointer.clone()))).collect();
        (understood, unread)
    }
}
