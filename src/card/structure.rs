//! Judging the structure of a card by the JSON Schema of each of its dialects.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};

use super::findings::{Findings, Found};
use super::{Code, Dialect, Document, Node};

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

pub(super) fn check(document: &Document<'_>, root: &Node<'_>, dialects: &[Dialect], findings: &mut Findings) {
    let value = root.to_value();
    let mut faults: BTreeMap<(Code, String), Fault> = BTreeMap::new();
    for dialect in dialects {
        for error in validator(*dialect).into_iter().flat_map(|validator| validator.iter_errors(&value)) {
            let (code, missing, sentence) = read(&error);
            let pointer = error.instance_path().as_str();
            let key = (code, missing.as_ref().map_or_else(|| pointer.to_owned(), |field| format!("{pointer}/{field}")));
            let fault = faults.entry(key).or_insert_with(|| Fault { missing, dialects: Vec::new(), sentence });
            if fault.dialects.last() != Some(dialect) {
                fault.dialects.push(*dialect);
            }
        }
    }
    for ((code, pointer), fault) in faults {
        findings.add_with(code, || {
            let holder = fault.missing.as_ref().and_then(|field| pointer.strip_suffix(field.as_str())?.strip_suffix('/'));
            let offset = document.get(holder.unwrap_or(&pointer)).map_or(root.span.start, |node| node.span.start);
            Found { code, offset, message: format!("{} ({}).", fault.sentence, list(&fault.dialects)), missing: fault.missing }
        });
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
