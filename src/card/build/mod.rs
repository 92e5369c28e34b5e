//! Making a card: from what it should say ([`Profile`]) and where its agent stands on chain ([`ChainIdentity`]) to bytes.
//!
//! The bytes are the same on every machine and in every run: two-space indentation, the documentation's key order, a
//! final newline. What a dialect cannot say is left out here; [`crate::card::convert::left_out`] tells which that is.

mod a2a;
mod chain_identity;
mod concordium;
mod erc8004;
mod format;
mod parts;
mod profile;
mod society;
mod uumit;

pub use chain_identity::ChainIdentity;
pub use format::{Aspect, Format};
pub use profile::{
    BadgeWords, Capabilities, Extension, Interface, Price, Profile, Provider, Registration, Security, Service, Skill,
    Verification,
};

use serde::Serialize;

use crate::digest::Sha256Digest;

/// A card that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The bytes to host.
    pub bytes: Vec<u8>,
    /// Their SHA-256: what to anchor.
    pub sha256: Sha256Digest,
    /// What had to be assumed or left out for want of information, each a sentence.
    pub notes: Vec<String>,
}

/// Why a card could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A field without which the document would not be of its format.
    #[error("a card in the format {format} needs {field}")]
    Missing {
        /// The format.
        format: &'static str,
        /// The field, and how to give it.
        field: &'static str,
    },
    /// The document could not be written as JSON.
    #[error("the card could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Builds the card of `profile` in a format; `identity` is where the agent stands on chain.
///
/// # Errors
/// [`BuildError::Missing`] when the profile lacks what the format cannot do without.
///
/// # Examples
/// ```
/// use cardproof::card::build::{build, Format, Interface, Profile};
///
/// let profile = Profile {
///     name: "Market Data Agent".into(),
///     description: "Summarises market data.".into(),
///     interfaces: vec![Interface::http_json("https://agents.example.com/market-data/a2a/v1")],
///     ..Profile::default()
/// };
/// let built = build(&profile, None, Format::A2a)?;
/// assert!(built.bytes.ends_with(b"}\n"));
/// # Ok::<(), cardproof::card::build::BuildError>(())
/// ```
pub fn build(profile: &Profile, identity: Option<&ChainIdentity>, format: Format) -> Result<Built, BuildError> {
    let mut notes = Vec::new();
    let bytes = match format {
        Format::Combined => pretty(&erc8004::combined(profile, identity, &mut notes)?),
        Format::Erc8004 => pretty(&erc8004::registration(profile, identity)?),
        Format::A2a => pretty(&a2a::current(profile, identity, &mut notes)?),
        Format::A2a0 => pretty(&a2a::older(profile, &mut notes)?),
        Format::ConcordiumLegacy => pretty(&concordium::legacy(profile, identity, &mut notes)?),
        Format::SocietyAi => pretty(&society::card(profile, &mut notes)?),
        Format::Uumit => pretty(&uumit::card(profile, &mut notes)?),
    }?;
    Ok(Built { sha256: Sha256Digest::of(&bytes), bytes, notes })
}

/// Two-space indentation and a final newline.
fn pretty(document: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(document)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A text that must not be empty.
fn required<'a>(text: &'a str, format: Format, field: &'static str) -> Result<&'a str, BuildError> {
    Some(text).filter(|text| !text.trim().is_empty()).ok_or(BuildError::Missing { format: format.as_str(), field })
}

/// The version, or the one that is assumed.
fn version<'a>(profile: &'a Profile, notes: &mut Vec<String>) -> &'a str {
    profile.version.as_deref().unwrap_or_else(|| {
        notes.push("no version was given, so the card says 1.0.0".into());
        "1.0.0"
    })
}
