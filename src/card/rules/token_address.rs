use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;
use crate::identity::{Badge, Caip19};

/// Token addresses decode, and are written in the form that readers know (registry facts, section 7).
pub(super) struct TokenAddress;

impl Rule for TokenAddress {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for (offset, text) in subject.texts(|role| role == Role::Badge).filter(|(_, text)| !text.trim().is_empty()) {
            match text.parse::<Badge>() {
                Ok(badge) => draft_form(offset, text, badge, findings),
                Err(error) => findings.add(Code::InvalidTokenAddress, offset, || format!("{}: {error}.", quote(text))),
            }
        }
        for (offset, text) in subject.texts(|role| role == Role::Caip19) {
            if let (Ok(token), Some((_, address))) = (text.parse::<Caip19>(), text.rsplit_once(':')) {
                draft_form(offset, address, token.badge, findings);
            }
        }
    }
}

fn draft_form(offset: usize, text: &str, badge: Badge, findings: &mut Findings) {
    let usual = badge.to_string();
    if text != usual {
        findings.add(Code::TokenAddressDraftForm, offset, || {
            format!("{} is written in the form of a draft; everybody else writes this token {usual}.", quote(text))
        });
    }
}
