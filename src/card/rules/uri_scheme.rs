use super::{uri, Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect};

/// The `url` of a card has a scheme that the dialect's readers understand.
pub(super) struct UriScheme;

const ALLOWED: &[(Dialect, &[&str])] = &[
    (Dialect::ConcordiumLegacy, &["https", "http", "ipfs", "data"]),
    (Dialect::SocietyAi, &["https", "http", "ws-agent"]),
    (Dialect::Uumit, &["https", "http"]),
];

impl Rule for UriScheme {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some((node, text)) = subject.root.get("url").and_then(|node| Some((node, node.as_str()?))) else {
            return;
        };
        let Ok(url) = uri::parse(text) else {
            return;
        };
        for (dialect, schemes) in ALLOWED.iter().filter(|(dialect, _)| subject.is(*dialect)) {
            if !schemes.contains(&url.scheme()) {
                findings.add(Code::UriScheme, node.span.start, || {
                    format!("{} has the scheme {}, where {dialect} allows {}.", quote(text), url.scheme(), schemes.join(", "))
                });
                return;
            }
        }
    }
}
