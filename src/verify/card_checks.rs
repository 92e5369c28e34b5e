use crate::card::{lint, ChainFacts, Document, Finding, LintContext};
use crate::identity::ContractAddress;
use crate::registry::AgentRecord;

use super::{CardCheck, Check, Subject};

/// The lint of cards as a [`CardCheck`]: what the card says, and whether it agrees with the agent's record.
#[derive(Debug, Clone, Copy)]
pub struct LintCheck {
    /// The network's CIS-8 registry.
    pub cis8: ContractAddress,
}

impl CardCheck for LintCheck {
    fn check(&self, card: &[u8], subject: &Subject, record: &AgentRecord) -> Vec<Check> {
        let (chain, registry, record) = (subject.chain, subject.contract, record.clone());
        let facts = ChainFacts { chain, registry, cis8: Some(self.cis8), record };
        card_checks(card, &LintContext { agent_uri: None, chain: Some(facts) })
    }
}

/// Lints the body of a card for a report's `checks`. Whatever is found, `match` stays as it is.
pub fn card_checks(body: &[u8], context: &LintContext) -> Vec<Check> {
    lint(&Document::parse(body), context).findings.into_iter().map(Check::from).collect()
}

impl From<Finding> for Check {
    fn from(finding: Finding) -> Self {
        let Finding { code, severity, pointer, line, column, message } = finding;
        let place = if pointer.is_empty() { "the card" } else { &pointer };
        Self { code: code.as_str().to_owned(), severity, message: format!("{message} ({place}, line {line}, column {column})") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    #[test]
    fn c_58_a_card_that_advertises_a_private_or_unencrypted_url_is_told_so() {
        let body = br#"{"name":"a","description":"b","version":"1","url":"http://0.0.0.0:8000","capabilities":{},"skills":[]}"#;
        let checks = card_checks(body, &LintContext::default());
        let codes: Vec<&str> = checks.iter().map(|check| check.code.as_str()).collect();
        assert_eq!(codes, ["card_url_insecure", "card_url_not_public"]);
        assert!(checks.iter().all(|check| check.severity == Severity::Warning));
        assert!(checks.iter().all(|check| check.message.ends_with(" (/url, line 1, column 51)")), "{checks:#?}");
    }

    #[test]
    fn a_body_that_is_no_card_is_a_check_too() {
        let checks = card_checks(b"<html>", &LintContext::default());
        assert_eq!(checks.len(), 1);
        assert_eq!((checks[0].code.as_str(), checks[0].severity), ("invalid_json", Severity::Error));
    }
}
