use super::{Findings, Rule, Subject};
use crate::card::{Code, Dialect};

/// A tagline is shown in search results, which have room for about 100 characters.
pub(super) struct Tagline;

const ROOM: usize = 100;

impl Rule for Tagline {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        if !subject.is(Dialect::SocietyAi) {
            return;
        }
        let tagline = subject.root.get("metadata").and_then(|node| node.get("display")).and_then(|node| node.get("tagline"));
        let Some(node) = tagline else {
            return;
        };
        let length = node.as_str().map_or(0, |text| text.chars().count());
        if length > ROOM {
            findings.add(Code::TaglineLong, node.span.start, || {
                format!("The tagline has {length} characters; there is room for about {ROOM}.")
            });
        }
    }
}
