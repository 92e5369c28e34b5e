use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;
use crate::registry::AgentStatus;

/// The agent that the card describes is active.
pub(super) struct ChainStatus;

impl Rule for ChainStatus {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some(record) = subject.chain().map(|facts| &facts.record).filter(|record| record.status != AgentStatus::Active)
        else {
            return;
        };
        findings.add(Code::AgentNotActive, subject.root.span.start, || match &record.revocation_reason {
            Some(reason) => format!("The agent is revoked: {}.", quote(reason)),
            None => "The agent is revoked.".into(),
        });
    }
}
