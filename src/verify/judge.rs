use crate::digest::Sha256Digest;
use crate::fetch::{CardFetcher, FetchFailure, Fetched};

use super::{near_miss, Evidence, Note, NoteCode, Reason};

/// What a fetch makes of an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// [`Reason::Match`], [`Reason::HashMismatch`], or why it cannot be decided.
    pub reason: Reason,
    /// The reason as a sentence.
    pub message: String,
    /// What the fetch found.
    pub evidence: Evidence,
    /// Near misses and other things worth knowing.
    pub notes: Vec<Note>,
}

/// What a fetch brought, after a second look at a body that is not the anchored one.
pub async fn settled(
    fetcher: &impl CardFetcher,
    uri: &str,
    outcome: Result<Fetched, FetchFailure>,
    anchor: Option<Sha256Digest>,
) -> Result<Fetched, FetchFailure> {
    match (outcome, anchor) {
        (Ok(fetched), Some(anchor)) if fetched.body.sha256 != anchor && fetched.length_verified => {
            Ok(fetcher.look_again(uri, fetched, anchor).await)
        }
        (outcome, _) => outcome,
    }
}

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// Compares the outcome of a fetch with an anchor: steps 3 and 4 of the verdict, without the second look at the chain.
///
/// A complete `200` body is judged by its bytes alone, however it looks. `anchor` is `None` for an agent without a hash,
/// whose card is fetched all the same: the digest is reported and nothing is compared.
pub fn judge_body(outcome: Result<Fetched, FetchFailure>, anchor: Option<Sha256Digest>) -> Judged {
    let fetched = match outcome {
        Ok(fetched) => fetched,
        Err(failure) => {
            return Judged {
                reason: failure.kind.into(),
                message: failure.message,
                evidence: Evidence { trace: failure.trace, ..Evidence::default() },
                notes: Vec::new(),
            }
        }
    };
    let mut notes = Vec::new();
    let mut note = |applies: bool, code| {
        if applies {
            notes.push(Note::new(code));
        }
    };
    let kept = fetched.body.kept.as_deref().unwrap_or_default();
    note(!fetched.length_verified, NoteCode::LengthUnverified);
    note(kept.starts_with(UTF8_BOM), NoteCode::BomPresent);
    note(fetched.looks_like_bot_wall, NoteCode::LooksLikeBotWall);

    let got = fetched.body.sha256;
    let (reason, message) = match anchor {
        None => (Reason::NoHashOnChain, format!("{} Its card hashes to {got}.", Reason::NoHashOnChain.sentence())),
        Some(expected) if expected == got => (Reason::Match, Reason::Match.sentence().to_owned()),
        Some(expected) if !fetched.length_verified => {
            let message = format!(
                "The host sent {} bytes, but not that they are all: it closes the connection without a length, or declares another one \
                 than it sends. They do not hash to the anchored hash (expected {expected}, got {got}), and may be only a part of the \
                 card.",
                fetched.body.bytes
            );
            (Reason::Truncated, message)
        }
        Some(expected) => {
            notes.extend(near_miss::find(&fetched, expected));
            (
                Reason::HashMismatch,
                format!("The card's hash differs from the hash anchored on chain: expected {expected}, got {got}."),
            )
        }
    };
    let evidence = Evidence {
        trace: fetched.trace,
        bytes: Some(fetched.body.bytes),
        sha256: Some(got),
        wire_sha256: Some(fetched.wire_sha256),
    };
    Judged { reason, message, evidence, notes }
}
