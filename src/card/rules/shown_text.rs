use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::invisible::hidden;
use crate::card::{Code, Node};

/// What people read of a card: it says something, and nothing in it acts on what shows it.
pub(super) struct ShownText;

impl Rule for ShownText {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let root = subject.root;
        let items = |key: &str| root.get(key).and_then(Node::as_array).unwrap_or_default();
        let parts = items("skills").iter().chain(items("services")).chain(items("endpoints"));
        let display = root.get("metadata").and_then(|metadata| metadata.get("display"));
        for holder in std::iter::once(root).chain(parts).chain(display).chain(root.get("provider")) {
            for key in ["name", "display_name", "description", "long_description", "tagline", "role", "organization"] {
                let Some((node, text)) = holder.get(key).and_then(|node| Some((node, node.as_str()?))) else {
                    continue;
                };
                // A description may have paragraphs. One that stands in the bytes unescaped is another finding.
                let is_allowed = |c: char| key.ends_with("description") && matches!(c, '\n' | '\r' | '\t');
                let found = text.chars().find(|c| acts(*c) && !is_allowed(*c)).or_else(|| hidden(text));
                if let Some(c) = found.filter(|_| !findings.has_within(Code::ControlCharacter, &node.span)) {
                    findings.add(Code::UnsafeCharacter, node.span.start, || {
                        format!(
                            "The {key} {} holds the character U+{:04X}, which can hide or reorder text.",
                            quote(text),
                            u32::from(c)
                        )
                    });
                }
            }
        }
        let description = root.get("description").filter(|node| node.as_str().is_some_and(|text| text.trim().is_empty()));
        if let Some(node) = description {
            findings.add(Code::EmptyDescription, node.span.start, || Code::EmptyDescription.sentence().into());
        }
    }
}

/// Whether a character acts on what shows it: a control, or one that embeds, overrides or isolates a direction of writing. The
/// marks that real texts in two directions need are not among them.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
