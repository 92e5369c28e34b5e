use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect};

/// In `concordium-legacy` alone, `url` is where the card itself is hosted: the agent_uri on chain. (The `url` of an A2A card is
/// that of the service.)
pub(super) struct AgentUri;

impl Rule for AgentUri {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let Some(agent_uri) = subject.context.agent_uri().filter(|_| subject.is(Dialect::ConcordiumLegacy)) else {
            return;
        };
        let Some((node, url)) = subject.root.get("url").and_then(|node| Some((node, node.as_str()?))) else {
            return;
        };
        if url != agent_uri {
            findings.add(Code::UrlNotAgentUri, node.span.start, || {
                format!("The card says it is hosted at {}, while its agent_uri is {}.", quote(url), quote(agent_uri))
            });
        }
    }
}
