use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect};

/// The name of a Society AI agent routes requests, so it has to be URL-safe.
pub(super) struct Name;

impl Rule for Name {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        if !subject.is(Dialect::SocietyAi) {
            return;
        }
        let Some((node, text)) = subject.root.get("name").and_then(|node| Some((node, node.as_str()?))) else {
            return;
        };
        // A blank one is the schema's finding.
        if !text.trim().is_empty() && !is_url_safe(text) {
            findings.add(Code::NameNotUrlSafe, node.span.start, || {
                format!("The name {} may only have ASCII letters, digits and - . _ ~, and more than dots.", quote(text))
            });
        }
    }
}

/// Whether a name can be a segment of a URL: the unreserved characters of RFC 3986, section 2.3, but for the segments `.` and `..`,
/// which lead elsewhere.
pub(in crate::card) fn is_url_safe(name: &str) -> bool {
    !matches!(name, "." | "..") && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
}
