use super::site::{Claim, Which};
use super::{Findings, Rule, Subject};
use crate::card::Code;

/// The contracts in the card are those of the network.
pub(super) struct ChainContracts;

impl Rule for ChainContracts {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some(facts) = subject.chain() else {
            return;
        };
        for (offset, claim) in subject.claims() {
            let Claim::Contract(which, contract) = claim else {
                continue;
            };
            let expected = match which {
                Which::Cis8004 => Some(facts.registry),
                Which::Cis8 => facts.cis8,
            };
            if let Some(expected) = expected.filter(|expected| *expected != contract) {
                findings.add(Code::ContractMismatch, offset, || format!("The card names {claim}; this one is {expected}."));
            }
        }
    }
}
