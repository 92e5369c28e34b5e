use super::{Findings, Role, Rule, Subject};
use crate::card::findings::quote;
use crate::card::Code;
use crate::identity::{Caip10, Caip19, Caip2};

/// CAIP identifiers are well formed, and of the kind that belongs in their place.
pub(super) struct Caip;

impl Rule for Caip {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        for site in &subject.sites {
            let Some(text) = site.node.as_str().filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let fault = match site.role {
                Role::Chain => text.parse::<Caip2>().err().map(|error| (Code::InvalidChainId, error.to_string())),
                Role::Caip19 => text.parse::<Caip19>().err().map(|error| (Code::InvalidCaip19, error.to_string())),
                Role::OwnerCaip10 => match text.parse() {
                    Ok(Caip10::Account(..)) => None,
                    Ok(Caip10::Contract(..)) => Some("this names a contract, where an account belongs".to_owned()),
                    Err(error) => Some(error.to_string()),
                }
                .map(|why| (Code::InvalidCaip10, why)),
                Role::ContractCaip10(_) => match text.parse() {
                    Ok(Caip10::Contract(..)) => None,
                    Ok(Caip10::Account(..)) => Some("this names an account, where a contract belongs".to_owned()),
                    Err(error) => Some(error.to_string()),
                }
                .map(|why| (Code::InvalidCaip10, why)),
                Role::AnyRegistry => any_registry(text).map(|why| (Code::InvalidCaip10, why)),
                _ => None,
            };
            if let Some((code, why)) = fault {
                findings.add(code, site.node.span.start, || format!("{}: {why}.", quote(text)));
            }
        }
    }
}

/// What is wrong with a registry's identifier. Those of other chains are judged by the syntax of CAIP-10 alone.
fn any_registry(text: &str) -> Option<String> {
    if text.starts_with("ccd:") || text.starts_with("concordium:") {
        return match text.parse() {
            Ok(Caip10::Contract(..)) => None,
            Ok(Caip10::Account(..)) => Some("this names an account, where a contract belongs".into()),
            Err(error) => Some(error.to_string()),
        };
    }
    let made_of = |part: &str, range: std::ops::RangeInclusive<usize>, others: &str| {
        range.contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let mut parts = text.splitn(3, ':');
    let mut part = || parts.next().unwrap_or_default();
    let well_formed = made_of(part(), 3..=8, "-") && made_of(part(), 1..=32, "-_") && made_of(part(), 1..=128, "-.%");
    (!well_formed).then(|| "this is not a CAIP-10 identifier: it is not <namespace>:<chain>:<address>".into())
}
