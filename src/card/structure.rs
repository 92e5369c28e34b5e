//! Judging the structure of a card by the JSON Schema of each of its dialects.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

use super::findings::{Findings, Found, PER_CODE};
use super::{Code, Dialect, Document, Kind, Node};

/// The schema of a dialect, as published in `schemas/cards/`.
fn schema(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Erc8004 => include_str!("../../schemas/cards/erc8004.schema.json"),
        Dialect::A2a1 => include_str!("../../schemas/cards/a2a-1.0.schema.json"),
        Dialect::A2a0 => include_str!("../../schemas/cards/a2a-0.x.schema.json"),
        Dialect::ConcordiumLegacy => include_str!("../../schemas/cards/concordium-legacy.schema.json"),
        Dialect::ConcordiumBadge2026 => include_str!("../../schemas/cards/concordium-badge-2026-07.schema.json"),
        Dialect::ConcordiumBadgeV1 => include_str!("../../schemas/cards/concordium-badge-v1.schema.json"),
        Dialect::SocietyAi => include_str!("../../schemas/cards/society-ai.schema.json"),
        Dialect::Uumit => include_str!("../../schemas/cards/uumit.schema.json"),
    }
}

/// The compiled schema of a dialect. A test compiles every one, so `None` does not happen.
fn validator(dialect: Dialect) -> Option<&'static Validator> {
    static COMPILED: [OnceLock<Option<Validator>>; Dialect::ALL.len()] = [const { OnceLock::new() }; Dialect::ALL.len()];
    let place = Dialect::ALL.iter().position(|known| *known == dialect).and_then(|index| COMPILED.get(index))?;
    let compile = || jsonschema::draft202012::new(&serde_json::from_str(schema(dialect)).ok()?).ok();
    place.get_or_init(compile).as_ref()
}

/// What is wrong in one place; several dialects may say it.
struct Fault {
    missing: Option<String>,
    dialects: Vec<Dialect>,
    sentence: String,
}

/// How many items of lists are checked in one card. The validator keeps every violation, so a card of nothing but violations would
/// take hundreds of times its own size.
const MOST_ITEMS: usize = 20_000;
/// How many members of one object are checked beside those that the schema names.
const MOST_MEMBERS: usize = 1_000;

pub(super) fn check(document: &Document<'_>, root: &Node<'_>, dialects: &[Dialect], findings: &mut Findings) {
    let mut excerpt = Excerpt { dialects, items: 0, cut: None };
    let value = excerpt.of(root);
    if let Some(offset) = excerpt.cut {
        findings.add(Code::TooManyItems, offset, || {
            format!("Only the first {MOST_ITEMS} items of lists are checked against the dialect; these are more.")
        });
    }
    let mut faults: BTreeMap<(Code, String), Fault> = BTreeMap::new();
    let mut kept: HashMap<Code, u64> = HashMap::new();
    let mut unkept: HashMap<Code, u64> = HashMap::new();
    for dialect in dialects {
        let mut more: HashMap<Code, u64> = HashMap::new();
        for error in validator(*dialect).into_iter().flat_map(|validator| validator.iter_errors(&value)) {
            let (code, missing, sentence) = read(&error);
            let pointer = error.instance_path().as_str();
            let key = (code, missing.as_ref().map_or_else(|| pointer.to_owned(), |field| format!("{pointer}/{field}")));
            if let Some(fault) = faults.get_mut(&key) {
                if fault.dialects.last() != Some(dialect) {
                    fault.dialects.push(*dialect);
                }
                continue;
            }
            let count = kept.entry(code).or_default();
            if *count < PER_CODE {
                *count += 1;
                faults.insert(key, Fault { missing, dialects: vec![*dialect], sentence });
            } else {
                *more.entry(code).or_default() += 1;
            }
        }
        // Several dialects may say the same of one value, so their counts do not add up.
        for (code, count) in more {
            let most = unkept.entry(code).or_default();
            *most = count.max(*most);
        }
    }
    findings.add_omitted(unkept.values().sum());
    for ((code, pointer), fault) in faults {
        findings.add_with(code, || {
            let holder = fault.missing.as_ref().and_then(|field| pointer.strip_suffix(field.as_str())?.strip_suffix('/'));
            let offset = document.get(holder.unwrap_or(&pointer)).map_or(root.span.start, |node| node.span.start);
            Found { code, offset, message: format!("{} ({}).", fault.sentence, list(&fault.dialects)), missing: fault.missing }
        });
    }
}

/// The part of a card that is checked: all of a real one.
struct Excerpt<'d> {
    dialects: &'d [Dialect],
    items: usize,
    /// Where the first value was left out.
    cut: Option<usize>,
}

impl Excerpt<'_> {
    fn of(&mut self, node: &Node<'_>) -> Value {
        match &node.kind {
            Kind::Array(items) => {
                let mut kept = Vec::new();
                for item in items {
                    if self.items >= MOST_ITEMS {
                        self.cut.get_or_insert(item.span.start);
                        break;
                    }
                    self.items += 1;
                    kept.push(self.of(item));
                }
                Value::Array(kept)
            }
            Kind::Object(members) => {
                let mut kept = serde_json::Map::new();
                for (n, member) in members.iter().enumerate() {
                    if n < MOST_MEMBERS || self.is_named(&member.key) {
                        kept.insert(member.key.clone().into_owned(), self.of(&member.value));
                    } else {
                        self.cut.get_or_insert(member.value.span.start);
                    }
                }
                Value::Object(kept)
            }
            _ => node.to_value(),
        }
    }

    /// Whether a schema knows the key.
    fn is_named(&self, key: &str) -> bool {
        let quoted = Value::from(key).to_string();
        key.len() < 100 && self.dialects.iter().any(|dialect| schema(*dialect).contains(&quoted))
    }
}

/// What a violation of a schema means: its code, the field that is missing, and a sentence without its full stop.
fn read(error: &ValidationError<'_>) -> (Code, Option<String>, String) {
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let field = property.as_str().unwrap_or_default().to_owned();
            let sentence = format!("The required field \"{field}\" is missing");
            (Code::MissingField, Some(field), sentence)
        }
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(json_type) => with_article(*json_type).to_owned(),
                TypeKind::Multiple(types) => types.iter().map(with_article).collect::<Vec<_>>().join(" or "),
            };
            let actual = with_article(JsonType::from(error.instance().as_ref()));
            (Code::WrongType, None, format!("This is {actual}, where {expected} belongs"))
        }
        ValidationErrorKind::Pattern { .. } => (Code::EmptyValue, None, "This text is blank".into()),
        ValidationErrorKind::MinProperties { .. } => (Code::EmptyValue, None, "This object is empty".into()),
        ValidationErrorKind::MinLength { .. } => (Code::EmptyValue, None, "This text is empty".into()),
        ValidationErrorKind::MinItems { .. } => (Code::EmptyValue, None, "This list is empty".into()),
        ValidationErrorKind::MaxLength { limit } => (Code::TooLong, None, format!("This text has more than {limit} characters")),
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().filter_map(|option| option.as_str());
            (Code::NotAllowedValue, None, format!("This is none of {}", options.collect::<Vec<_>>().join(", ")))
        }
        _ => (Code::NotAllowedValue, None, "This value is not allowed here".into()),
    }
}

fn with_article(json_type: JsonType) -> &'static str {
    match json_type {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}

fn list(dialects: &[Dialect]) -> String {
    dialects.iter().map(|dialect| dialect.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_a_valid_schema_and_compiles() {
        for dialect in Dialect::ALL {
            let value = serde_json::from_str(schema(*dialect)).unwrap();
            assert!(jsonschema::meta::is_valid(&value), "{dialect}");
            assert!(validator(*dialect).is_some(), "{dialect}");
        }
    }
}
