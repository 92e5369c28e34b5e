use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;
use crate::identity::AccountAddress;

/// The owner is a Concordium account address.
pub(super) struct Account;

impl Rule for Account {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for (offset, text) in subject.texts(|role| role == Role::Owner).filter(|(_, text)| !text.trim().is_empty()) {
            if let Err(error) = text.parse::<AccountAddress>() {
                findings.add(Code::InvalidAccount, offset, || format!("{}: {error}.", quote(text)));
            }
        }
    }
}
