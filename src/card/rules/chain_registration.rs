use super::{Findings, Rule, Subject};
use crate::card::{Code, Dialect, Kind, Node};
use crate::identity::Caip10;

/// The `registrations[]` of an ERC-8004 card name this token.
pub(super) struct ChainRegistration;

impl Rule for ChainRegistration {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some(facts) = subject.chain().filter(|_| subject.is(Dialect::Erc8004)) else {
            return;
        };
        let registrations = subject.root.get("registrations");
        let Some(entries) = registrations.and_then(Node::as_array).filter(|entries| !entries.is_empty()) else {
            // Another type than an array is the schema's finding.
            if registrations.is_none_or(|node| node.is_null() || node.as_array().is_some()) {
                findings.add_missing(Code::RegistrationMissing, subject.root.span.start, "registrations", || {
                    Code::RegistrationMissing.sentence().into()
                });
            }
            return;
        };
        let here = Caip10::Contract(facts.chain, facts.registry);
        let names_registry = |entry: &&Node<'_>| {
            entry.get("agentRegistry").and_then(Node::as_str).and_then(|text| text.parse().ok()) == Some(here)
        };
        let token_id = facts.record.token_id;
        let mut nearest = registrations;
        for id in entries.iter().filter(names_registry).filter_map(|entry| entry.get("agentId")) {
            if id_of(id) == Some(token_id.0) {
                return;
            }
            nearest = Some(id);
        }
        let Some(node) = nearest else {
            return;
        };
        findings.add(Code::RegistrationMismatch, node.span.start, || match id_of(node) {
            // What a program wrote that keeps numbers as doubles.
            Some(id) if id as f64 == token_id.0 as f64 => {
                format!("The agentId {id} is the agent's, {token_id}, rounded by a program that reads numbers as doubles.")
            }
            Some(id) => format!("The agentId is {id}; the agent's token id is {token_id}."),
            None => format!("No registration names the token {token_id} of {here}."),
        });
    }
}

/// The token id that an entry names, exactly: its digits are read as they are written.
fn id_of(node: &Node<'_>) -> Option<u64> {
    match &node.kind {
        Kind::Number(_) => node.as_u64(),
        Kind::String(text) => text.parse().ok(),
        _ => None,
    }
}
