use crate::identity::{Caip2, ContractAddress};
use crate::registry::AgentRecord;

use super::dialect::recognise;
use super::findings::Findings;
use super::rules::{Subject, RULES};
use super::{structure, Code, Document, LintReport};

/// What is known about a card besides its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LintContext {
    /// Where the card is hosted, or will be; taken from `chain` when it is `None`.
    pub agent_uri: Option<String>,
    /// What the chain says about the agent the card describes.
    pub chain: Option<ChainFacts>,
}

/// What a chain says about one agent, and where it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFacts {
    /// The network.
    pub chain: Caip2,
    /// The CIS-8004 registry that holds the record.
    pub registry: ContractAddress,
    /// The network's CIS-8 registry, when it is known.
    pub cis8: Option<ContractAddress>,
    /// The agent's record.
    pub record: AgentRecord,
}

impl LintContext {
    /// Where the card is said to be hosted.
    pub fn agent_uri(&self) -> Option<&str> {
        let on_chain = || self.chain.as_ref().and_then(|facts| facts.record.agent_uri.as_deref());
        self.agent_uri.as_deref().or_else(on_chain)
    }
}

/// Judges what a card says: its bytes as JSON, its structure by the schema of each dialect it has the marks of, the rules that
/// a schema cannot say, and, with [`ChainFacts`], whether it agrees with the chain.
///
/// Findings never change a verdict. Linting cannot fail: bytes that are no card are a report with a finding.
pub fn lint(document: &Document<'_>, context: &LintContext) -> LintReport {
    let mut findings: Findings = document.faults().clone();
    let dialects = recognise(document);
    match document.root() {
        None => {}
        Some(root) if root.as_object().is_none() => {
            let what = root.type_name();
            findings.add(Code::NotAnObject, root.span.start, || format!("A card is a JSON object; this is {what}."));
        }
        Some(root) if dialects.is_empty() => findings.add(Code::UnknownDialect, root.span.start, || UNKNOWN.into()),
        Some(root) => {
            structure::check(document, root, &dialects, &mut findings);
            let subject = Subject::new(root, &dialects, context);
            for rule in RULES {
                rule.check(&subject, &mut findings);
            }
        }
    }
    LintReport::new(document, dialects, findings)
}

const UNKNOWN: &str = "This is no known kind of card: none of url, supportedInterfaces, a concordium block, the ERC-8004 type, \
                       or the marks of another dialect is in it.";
