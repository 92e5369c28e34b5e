use super::site::Claim;
use super::{Findings, Rule, Subject};
use crate::card::Code;
use crate::identity::Badge;

/// The token address in the card is the agent's.
pub(super) struct ChainToken;

impl Rule for ChainToken {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some(facts) = subject.chain() else {
            return;
        };
        let expected = Badge { contract: facts.registry, token_id: facts.record.token_id };
        for (offset, claim) in subject.claims() {
            if let Claim::Token(badge) = claim {
                if badge != expected {
                    findings.add(Code::TokenAddressMismatch, offset, || {
                        format!("The card names {claim}; the agent is {}.", Claim::Token(expected))
                    });
                }
            }
        }
    }
}
