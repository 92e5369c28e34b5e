use super::{Findings, Rule, Subject};
use crate::card::{Code, Dialect, Node};

/// Fields that a dialect expects but real cards lack: their absence is worth knowing, not an error.
pub(super) struct ExpectedFields;

const EXPECTED: &[(Dialect, &[&str])] = &[(Dialect::Erc8004, &["description", "image"]), (Dialect::SocietyAi, &["metadata"])];

impl Rule for ExpectedFields {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for (dialect, fields) in EXPECTED.iter().filter(|(dialect, _)| subject.is(*dialect)) {
            for field in fields.iter().filter(|field| subject.root.get(field).is_none_or(Node::is_null)) {
                findings.add_missing(Code::MissingExpectedField, subject.root.span.start, field, || {
                    format!("The field \"{field}\" is missing, which readers of {dialect} expect.")
                });
            }
        }
    }
}
