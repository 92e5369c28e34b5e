use super::site::Claim;
use super::{Findings, Rule, Subject};
use crate::card::Code;

/// The owner in the card is the record's, on the 29 bytes that identify an account. A transfer makes it stale.
pub(super) struct ChainOwner;

impl Rule for ChainOwner {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some(facts) = subject.chain() else {
            return;
        };
        let owner = Claim::Owner(facts.record.owner_account);
        for (offset, claim) in subject.claims() {
            if claim != owner && matches!(claim, Claim::Owner(_)) {
                findings.add(Code::OwnerMismatch, offset, || format!("The card names {claim}; on chain it is {owner}."));
            }
        }
    }
}
