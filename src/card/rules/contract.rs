use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Kind, Node};
use crate::identity::{Caip10, ContractAddress};

/// A contract is named by its index and subindex.
pub(super) struct Contract;

impl Rule for Contract {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let contracts = subject.texts(|role| matches!(role, Role::Contract(_)));
        for (offset, text) in contracts.filter(|(_, text)| !text.trim().is_empty()) {
            if let Err(error) = text.parse::<ContractAddress>() {
                findings.add(Code::InvalidContract, offset, || format!("{}: {error}.", quote(text)));
            }
        }
        for (offset, text) in subject.texts(|role| role == Role::Reference).filter(|(_, text)| !text.trim().is_empty()) {
            let is_caip10 = matches!(text.parse(), Ok(Caip10::Contract(..)));
            if let Err(error) = text.parse::<ContractAddress>() {
                if !is_caip10 {
                    findings.add(Code::InvalidContract, offset, || format!("{}: {error}.", quote(text)));
                }
            }
        }
        let is_object = |role| matches!(role, Role::ContractObject(_) | Role::Reference);
        let objects = subject.sites.iter().filter(|site| is_object(site.role));
        for node in objects.flat_map(|site| ["index", "subindex"].map(|part| site.node.get(part))).flatten() {
            too_large(Code::InvalidContract, node, findings);
        }
        let registrations = subject.sites.iter().filter(|site| site.role == Role::Registration);
        for entry in registrations.filter(|site| site.is_on_concordium()) {
            entry.node.get("agentId").into_iter().for_each(|id| too_large(Code::InvalidTokenAddress, id, findings));
        }
    }
}

/// Reports an integer of more than 64 bits. Fractions and negative numbers are the schema's finding.
fn too_large(code: Code, node: &Node<'_>, findings: &mut Findings) {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    let Kind::Number(text) = node.kind else { return };
    if node.as_u64().is_none() && text.parse::<f64>().is_ok_and(|value| value >= LIMIT) {
        findings.add(code, node.span.start, || format!("{} is more than an integer of 64 bits can be.", quote(text)));
    }
}
