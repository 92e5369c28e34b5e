use super::site::{Role, Site};
use super::{Findings, Rule, Subject};
use crate::card::document::Kind;
use crate::card::findings::quote;
use crate::card::Code;
use crate::identity::ContractAddress;

/// A value copied from an example: `TKN1A2B3C4...`, `0x1234...abcd`, `https://...`, `ws-agent://{name}`. And in any text one of
/// those that a registration in two steps fills in: `{{badge}}`.
pub(super) struct Placeholder;

impl Rule for Placeholder {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for site in &subject.placeholders {
            let text = site.node.as_str().unwrap_or_default();
            findings.add(Code::Placeholder, site.node.span.start, || {
                format!("{} is the placeholder of an example; put the real value in its place.", quote(text))
            });
        }
        let mut waiting = vec![subject.root];
        while let Some(node) = waiting.pop() {
            match &node.kind {
                Kind::Object(members) => waiting.extend(members.iter().rev().map(|member| &member.value)),
                Kind::Array(items) => waiting.extend(items.iter().rev()),
                Kind::String(text) if subject.placeholders.iter().all(|site| site.node.span.start != node.span.start) => {
                    if let Some(name) = unfilled(text) {
                        findings.add(Code::Placeholder, node.span.start, || {
                            format!(
                                "{} is not filled in; put the real value in its place, as register --two-step does.",
                                quote(name)
                            )
                        });
                    }
                }
                _ => {}
            }
        }
    }
}

/// What a registration in two steps fills in.
const FILLED_IN: [&str; 8] = ["badge", "caip19", "token_id", "chain", "owner", "owner_caip10", "registry", "registry_caip10"];

/// The first of [`FILLED_IN`] in two pairs of braces, however it is spelled. Other names are a skill's own: `Weather in {{city}}`.
fn unfilled(text: &str) -> Option<&str> {
    text.match_indices("{{").find_map(|(at, _)| {
        let inner = text.get(at + 2..)?.split_once("}}")?.0;
        let name = inner.trim().to_ascii_lowercase().replace('-', "_");
        FILLED_IN.contains(&name.as_str()).then(|| text.get(at..at + inner.len() + 4)).flatten()
    })
}

/// Whether a value stands for one that its author has yet to fill in.
pub(super) fn is_placeholder(site: &Site<'_, '_>) -> bool {
    let Some(text) = site.node.as_str() else {
        return false;
    };
    let encloses = |open, close| text.find(open).zip(text.rfind(close)).is_some_and(|(open, close)| open < close);
    let marked = encloses('<', '>') || encloses('{', '}');
    let lower = text.to_ascii_lowercase();
    match site.role {
        // Dots may be part of a path, a data URI may hold anything, and a sentence is no placeholder.
        role if role.is_address() => {
            let unfilled = marked || lower.contains("://...") || lower.contains("://your-") || text.contains('…');
            unfilled && !lower.starts_with("data:") && !text.contains(char::is_whitespace)
        }
        // One of the forms that people write a contract in has brackets: `<10082,0>` (registry facts, section 7).
        Role::Contract(_) | Role::Reference if text.parse::<ContractAddress>().is_ok() => false,
        _ => marked || text.contains("...") || text.contains('…') || lower.starts_with("your_") || lower.starts_with("your-"),
    }
}
