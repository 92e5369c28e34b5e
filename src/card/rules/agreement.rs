use std::collections::HashMap;

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
        // An agent may be registered in other registries as well, on its own chain too; in each of them it has one token.
        let mut tokens = HashMap::new();
        if let (Some(Claim::Chain(chain)), Some(Claim::Token(badge))) = (chain, token) {
            tokens.insert((chain, badge.contract), badge);
        }
        let registrations = subject.sites.iter().filter(|site| site.role == Role::Registration);
        for (site, (chain, badge)) in registrations.filter_map(|site| Some((site, site.registration()?))) {
            let expected = *tokens.entry((chain, badge.contract)).or_insert(badge);
            if expected != badge {
                let offset = site.node.get("agentId").map_or(site.node.span.start, |id| id.span.start);
                let (other, expected) = (Claim::Token(badge), Claim::Token(expected));
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
