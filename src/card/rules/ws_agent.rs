use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect, Node};

/// An agent behind the hub is reached at `ws-agent://{name}`, under its own name.
pub(super) struct WsAgent;

impl Rule for WsAgent {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let text = |key| subject.root.get(key).and_then(Node::as_str);
        let (Some(name), Some(url)) = (text("name"), text("url")) else {
            return;
        };
        let Some(called) = url.strip_prefix("ws-agent://").filter(|_| subject.is(Dialect::SocietyAi)) else {
            return;
        };
        let offset = subject.root.get("url").map_or(0, |node| node.span.start);
        let is_template = subject.placeholders.iter().any(|site| site.node.span.start == offset);
        // A name that no URL can hold is the finding of the name.
        if called != name && !name.is_empty() && !is_template && super::is_url_safe(name) {
            findings.add(Code::WsAgentName, offset, || {
                format!("The URL leads to the agent {}, while the card's name is {}.", quote(called), quote(name))
            });
        }
    }
}
