use super::site::Claim;
use super::{Findings, Rule, Subject};
use crate::card::Code;

/// The network in the card is the one the agent is registered on.
pub(super) struct ChainNetwork;

impl Rule for ChainNetwork {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some(facts) = subject.chain() else {
            return;
        };
        for (offset, claim) in subject.claims() {
            if claim != Claim::Chain(facts.chain) && matches!(claim, Claim::Chain(_)) {
                findings.add(Code::ChainMismatch, offset, || {
                    format!("The card names {claim}; the agent is registered on {}.", Claim::Chain(facts.chain))
                });
            }
        }
    }
}
