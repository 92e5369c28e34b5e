use super::{Findings, Rule, Subject};
use crate::card::{Code, Dialect, Node};

/// Fields that a dialect expects but real cards lack: their absence is worth knowing, not an error.
pub(super) struct ExpectedFields;

const EXPECTED: &[(Dialect, &[&str])] = &[(Dialect::Erc8004, &["description", "image"]), (Dialect::SocietyAi, &["metadata"])];

impl Rule for ExpectedFields {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for (dialect, fields) in EXPECTED.iter().filter(|(dialect, _)| subject.is(*dialect)) {
            fields.iter().for_each(|field| expect(subject.root, field, *dialect, findings));
        }
        // A service is used by its name at its endpoint; `endpoints` is what `services` was called before.
        let lists = ["services", "endpoints"].map(|key| subject.root.get(key).and_then(Node::as_array).unwrap_or_default());
        let services = lists.into_iter().flatten().filter(|_| subject.is(Dialect::Erc8004));
        for service in services.filter(|service| service.as_object().is_some()) {
            ["name", "endpoint"].iter().for_each(|field| expect(service, field, Dialect::Erc8004, findings));
        }
        if let Some(block) = subject.root.get("concordium").filter(|_| subject.is(Dialect::ConcordiumBadge2026)) {
            ["verify", "verification"].iter().for_each(|field| expect(block, field, Dialect::ConcordiumBadge2026, findings));
        }
    }
}

/// Reports a field that is not there, or says nothing. One that stands there has a place of its own.
fn expect(holder: &Node<'_>, field: &str, dialect: Dialect, findings: &mut Findings) {
    let why = || format!("The field \"{field}\" is missing, which readers of {dialect} expect.");
    match holder.get(field) {
        None => findings.add_missing(Code::MissingExpectedField, holder.span.start, field, why),
        Some(node) if node.is_null() => findings.add(Code::MissingExpectedField, node.span.start, why),
        Some(_) => {}
    }
}
