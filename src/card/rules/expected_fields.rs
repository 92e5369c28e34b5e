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
        // A service is used by its name at its endpoint.
        let services = subject.root.get("services").filter(|_| subject.is(Dialect::Erc8004)).and_then(Node::as_array);
        for service in services.unwrap_or_default().iter().filter(|service| service.as_object().is_some()) {
            ["name", "endpoint"].iter().for_each(|field| expect(service, field, Dialect::Erc8004, findings));
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
