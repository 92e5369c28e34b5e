use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect};

/// A version is semantic where a dialect says so.
pub(super) struct Version;

impl Rule for Version {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let code = if subject.is(Dialect::ConcordiumLegacy) {
            Code::VersionNotSemver
        } else if subject.is(Dialect::Uumit) {
            Code::VersionUnusual
        } else {
            return;
        };
        let Some((node, text)) = subject.root.get("version").and_then(|node| Some((node, node.as_str()?))) else {
            return;
        };
        if let (false, Err(error)) = (text.is_empty(), semver::Version::parse(text)) {
            findings.add(code, node.span.start, || format!("{} is not a semantic version such as 1.0.0: {error}.", quote(text)));
        }
    }
}
