use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Dialect, Kind, Node};

/// A price is a decimal number: one in dollars in a string, one in units of UUMit in a string or as a number, or `variable`.
pub(super) struct Price;

impl Rule for Price {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        if subject.is(Dialect::Uumit) {
            in_units(subject, findings);
        }
        if !subject.is(Dialect::SocietyAi) {
            return;
        }
        let amounts = subject.skills().iter().filter_map(|skill| skill.get("pricing")?.get("amount_usd"));
        for (node, text) in amounts.filter_map(|node| Some((node, node.as_str()?))) {
            if !is_decimal(text) {
                findings.add(Code::InvalidPrice, node.span.start, || format!("{} is not a price such as 0.05.", quote(text)));
            }
        }
    }
}

/// What the documentation of UUMit writes for a price that depends.
const VARIABLE: &str = "variable";

fn in_units(subject: &Subject<'_, '_>, findings: &mut Findings) {
    for node in subject.skills().iter().filter_map(|skill| skill.get("pricing")?.get("price_ut")) {
        let wrong = match &node.kind {
            Kind::Number(text) => Some(*text).filter(|text| text.starts_with('-')),
            Kind::String(text) => Some(text.as_ref()).filter(|text| *text != VARIABLE && !is_decimal(text)),
            _ => None,
        };
        if let Some(text) = wrong {
            findings.add(Code::InvalidPrice, node.span.start, || {
                format!("{} is not a price such as 0.05, and not {VARIABLE}.", quote(text))
            });
        }
    }
}

/// Digits, and perhaps a point and more digits.
fn is_decimal(text: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    is_number(whole) && is_number(fraction)
}

/// Whether a skill costs something: it is charged by use, or has a fixed price that is not zero.
pub(super) fn costs(skill: &Node<'_>) -> bool {
    let Some(pricing) = skill.get("pricing") else {
        return false;
    };
    let by_use = pricing.get("per_usage").and_then(Node::as_bool) == Some(true);
    let amount = pricing.get("amount_usd").and_then(Node::as_str).unwrap_or_default();
    by_use || (is_decimal(amount) && amount.contains(|digit| ('1'..='9').contains(&digit)))
}
