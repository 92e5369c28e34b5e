use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;
use crate::identity::ContractAddress;

/// A contract is named by its index and subindex.
pub(super) struct Contract;

impl Rule for Contract {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let contracts = subject.texts(|role| matches!(role, Role::Contract(_)));
        for (offset, text) in contracts.filter(|(_, text)| !text.is_empty()) {
            if let Err(error) = text.parse::<ContractAddress>() {
                findings.add(Code::InvalidContract, offset, || format!("{}: {error}.", quote(text)));
            }
        }
    }
}
