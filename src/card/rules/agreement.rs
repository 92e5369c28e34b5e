use super::site::{Claim, Which};
use super::{Findings, Role, Rule, Subject};
use crate::card::Code;

/// Whatever a card says twice about its place on chain, it says alike; and its registry is the one its token address names.
pub(super) struct Agreement;

impl Rule for Agreement {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let claims: Vec<(usize, Claim)> = subject.claims().collect();
        let first = |same: fn(&Claim) -> bool| claims.iter().map(|(_, claim)| *claim).find(same);
        let token = first(|claim| matches!(claim, Claim::Token(_)));
        let registry = match token {
            Some(Claim::Token(badge)) => Some(Claim::Contract(Which::Cis8004, badge.contract)),
            _ => first(|claim| matches!(claim, Claim::Contract(Which::Cis8004, _))),
        };
        let cis8 = first(|claim| matches!(claim, Claim::Contract(Which::Cis8, _)));
        let chain = first(|claim| matches!(claim, Claim::Chain(_)));
        let owner = first(|claim| matches!(claim, Claim::Owner(_)));
        // An agent may be registered on other chains as well; on its own it has one token.
        let registrations = subject.sites.iter().filter(|site| site.role == Role::Registration);
        for (site, named) in registrations.filter_map(|site| Some((site, site.registration()?))) {
            let other = Claim::Token(named.1);
            let offset = site.node.get("agentId").map_or(site.node.span.start, |id| id.span.start);
            if let Some(expected) = token.filter(|token| *token != other && chain == Some(Claim::Chain(named.0))) {
                findings.add(Code::ConflictingTokenAddress, offset, || {
                    format!("This names {other}, while another place of the card names {expected}.")
                });
            }
        }
        for (offset, claim) in &claims {
            let (code, expected) = match claim {
                Claim::Token(_) => (Code::ConflictingTokenAddress, token),
                Claim::Contract(Which::Cis8004, _) => (Code::ConflictingContract, registry),
                Claim::Contract(Which::Cis8, _) => (Code::ConflictingContract, cis8),
                Claim::Chain(_) => (Code::ConflictingChain, chain),
                Claim::Owner(_) => (Code::ConflictingOwner, owner),
            };
            if let Some(expected) = expected.filter(|expected| expected != claim) {
                findings.add(code, *offset, || format!("This names {claim}, while another place of the card names {expected}."));
            }
        }
    }
}
