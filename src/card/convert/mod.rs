//! From one dialect to another: reading what a card says, and telling what the other dialect cannot say.

mod identity;
mod left_out;
mod read;
mod reader;

pub use left_out::left_out;
pub use read::read;

pub use reader::Understood;

use std::collections::HashSet;

use serde_json::Value;

use super::build::{build, BuildError, Built, ChainIdentity, Format, Profile};
use super::document::{push_segment, Kind, Node};
use super::Document;

/// What a card says, in whatever dialect it said it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it says.
    pub profile: Profile,
    /// Where it says its agent stands on chain. A claim: only the chain proves it.
    pub identity: Option<ChainIdentity>,
    /// Which value said what.
    pub understood: Vec<Understood>,
    /// The values that say something else, by their JSON pointers. Empty lists and objects and `null` are values.
    pub unread: Vec<(String, Value)>,
    /// What the bytes have that never reached the reading; only known when bytes were read.
    pub altered: Vec<Lost>,
}

/// A value of the old card that the new one does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Where it stood, a JSON pointer.
    pub pointer: String,
    /// Why it could not be carried, a sentence.
    pub message: String,
}

/// A card in another dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// The new card.
    pub built: Built,
    /// What of the old one it lacks.
    pub lost: Vec<Lost>,
}

/// Converts what was read from a card; change the reading's profile and identity before to fill what the old card lacked.
///
/// What was lost is found by reading the new card in its turn: a value of the old card is carried when the new one says the same,
/// and lost otherwise, whatever the reason.
///
/// # Errors
/// [`BuildError`] when the old card does not say what the new one cannot do without.
pub fn convert(reading: &Reading, format: Format) -> Result<Conversion, BuildError> {
    let built = build(&reading.profile, reading.identity.as_ref(), format)?;
    let new: Value = serde_json::from_slice(&built.bytes)?;
    let mut said: HashSet<String> = read(&new).understood.into_iter().flat_map(|value| value.facts).collect();
    if format == Format::Erc8004 {
        said.extend(read(&interfaces_among_services(&new)).understood.into_iter().flat_map(|value| value.facts));
    }
    let lacking = |value: &&Understood| !value.facts.iter().all(|fact| said.contains(fact));
    let understood = reading.understood.iter().filter(lacking).map(|value| Lost {
        pointer: value.pointer.clone(),
        message: match value.aspect {
            Some(aspect) if format.carries(aspect) => "the new card says something else in its place, or nothing".into(),
            _ => format!("{format} has no place for it, so it is not in the new card"),
        },
    });
    let elsewhere = |(pointer, value): &&(String, Value)| new.pointer(pointer) != Some(value);
    let unread = reading.unread.iter().filter(elsewhere).map(|(pointer, _)| Lost {
        pointer: pointer.clone(),
        message: "it is not a field that a conversion knows, so it is not in the new card".into(),
    });
    let mut lost: Vec<Lost> = reading.altered.iter().cloned().chain(understood).chain(unread).collect();
    lost.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    lost.dedup_by(|a, b| a.pointer == b.pointer);
    Ok(Conversion { built, lost })
}

/// The interfaces that a registration file names as services, in the words of a card that has interfaces.
fn interfaces_among_services(card: &Value) -> Value {
    let services = card.get("services").and_then(Value::as_array).into_iter().flatten();
    let interfaces: Vec<Value> = services
        .filter(|service| service.get("name").and_then(Value::as_str) == Some("A2A"))
        .map(|service| serde_json::json!({ "url": service.get("endpoint"), "protocolVersion": service.get("version") }))
        .collect();
    serde_json::json!({ "supportedInterfaces": interfaces })
}

/// What reading a document as a value changes: of a key that stands twice only the last value is seen, and integers of more than
/// 64 bits lose digits.
fn altered(document: &Document<'_>) -> Vec<Lost> {
    let mut found = Vec::new();
    let mut waiting: Vec<(String, &Node<'_>)> = document.root().map(|root| (String::new(), root)).into_iter().collect();
    while let Some((pointer, node)) = waiting.pop() {
        match &node.kind {
            Kind::Object(members) => {
                let mut last = HashSet::new();
                for member in members.iter().rev() {
                    let mut at = pointer.clone();
                    push_segment(&mut at, &member.key);
                    if last.insert(&*member.key) {
                        waiting.push((at, &member.value));
                    } else {
                        let message = "its key stands twice, and only the last value was read".into();
                        found.push(Lost { pointer: at, message });
                    }
                }
            }
            Kind::Array(items) => waiting.extend(items.iter().enumerate().map(|(n, item)| (format!("{pointer}/{n}"), item))),
            Kind::Number(text) if is_too_long(text) => {
                found.push(Lost { pointer, message: "the number has too many digits to be carried exactly".into() });
            }
            _ => {}
        }
    }
    found
}

/// Whether a number is an integer of more digits than a value keeps. Whether it keeps them all depends on how serde_json was built.
fn is_too_long(number: &str) -> bool {
    let kept = serde_json::from_str(number).map(|value: Value| value.to_string());
    let is_integer = !number.contains(['.', 'e', 'E']) && number != "-0";
    is_integer && kept.ok().as_deref() != Some(number)
}

/// Parses a card's bytes and reads it.
///
/// # Errors
/// When the bytes are not one JSON object; the text is a sentence.
pub fn read_bytes(bytes: &[u8]) -> Result<Reading, NotACard> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let document = Document::parse(bytes);
    if document.is_too_large() {
        return Err(NotACard::TooLarge);
    }
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| NotACard::Json { line: error.line(), column: error.column() })?;
    if value.is_object() {
        Ok(Reading { altered: altered(&document), ..read(&value) })
    } else {
        Err(NotACard::NotAnObject)
    }
}

/// Why bytes are no card.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotACard {
    /// They are not JSON.
    #[error("this is not JSON: the first fault is in line {line}, column {column}")]
    Json {
        /// Where, counted from 1.
        line: usize,
        /// Where, counted from 1.
        column: usize,
    },
    /// They hold more values than a card may have.
    #[error("this holds more than {} values, which is more than a card may have here", Document::MAX_VALUES)]
    TooLarge,
    /// They are JSON, but not an object.
    #[error("a card is a JSON object, and this is not one")]
    NotAnObject,
}
