//! From one dialect to another: reading what a card says, and telling what the other dialect cannot say.

mod identity;
mod read;
mod reader;

pub use read::read;

use serde_json::Value;

use super::build::{build, Aspect, BuildError, Built, ChainIdentity, Format, Profile};

/// What a card says, in whatever dialect it said it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it says.
    pub profile: Profile,
    /// Where it says its agent stands on chain. A claim: only the chain proves it.
    pub identity: Option<ChainIdentity>,
    /// Which value (a JSON pointer) said what.
    pub understood: Vec<(Aspect, String)>,
    /// The JSON pointers of the values that say something else.
    pub unread: Vec<String>,
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
/// # Errors
/// [`BuildError`] when the old card does not say what the new one cannot do without.
pub fn convert(reading: &Reading, format: Format) -> Result<Conversion, BuildError> {
    let built = build(&reading.profile, reading.identity.as_ref(), format)?;
    let no_place = |pointer: &String| Lost {
        pointer: pointer.clone(),
        message: format!("{format} has no place for it, so it is not in the new card"),
    };
    let mut lost: Vec<Lost> = reading
        .understood
        .iter()
        .filter(|(aspect, pointer)| !format.carries(*aspect) || is_foreign_price(*aspect, pointer, format))
        .map(|(_, pointer)| no_place(pointer))
        .collect();
    if lacks_badge(reading.identity.as_ref(), format) {
        let identity = |aspect| matches!(aspect, Aspect::Owner | Aspect::Verification) && format.carries(aspect);
        let claims = reading.understood.iter().filter(|(aspect, _)| identity(*aspect));
        lost.extend(claims.map(|(_, pointer)| Lost {
            pointer: pointer.clone(),
            message: "a badge needs both token and owner, and the card tells only one of them".into(),
        }));
    }
    lost.extend(reading.unread.iter().map(|pointer| Lost {
        pointer: pointer.clone(),
        message: "it is not a field that a conversion knows, so it is not in the new card".into(),
    }));
    lost.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    lost.dedup_by(|a, b| a.pointer == b.pointer);
    Ok(Conversion { built, lost })
}

/// Whether the badge extension was left out because half of it is unknown.
fn lacks_badge(identity: Option<&ChainIdentity>, format: Format) -> bool {
    matches!(format, Format::Combined | Format::A2a)
        && identity.is_some_and(|identity| identity.token_id.is_none() || identity.owner.is_none())
}

/// Whether this is a price in a currency that the format cannot say.
fn is_foreign_price(aspect: Aspect, pointer: &str, format: Format) -> bool {
    let spoken = match format {
        Format::SocietyAi => "USD",
        Format::Uumit => "UT",
        _ => return false,
    };
    let said = if pointer.ends_with("/price_ut") { "UT" } else { "USD" };
    aspect == Aspect::Prices && said != spoken
}

/// Parses a card's bytes and reads it.
///
/// # Errors
/// When the bytes are not one JSON object; the text is a sentence.
pub fn read_bytes(bytes: &[u8]) -> Result<Reading, NotACard> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| NotACard::Json { line: error.line(), column: error.column() })?;
    if value.is_object() {
        Ok(read(&value))
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
    /// They are JSON, but not an object.
    #[error("a card is a JSON object, and this is not one")]
    NotAnObject,
}
