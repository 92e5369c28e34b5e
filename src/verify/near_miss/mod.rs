//! Which small rewrite would have made a body match its anchor.
//!
//! Each is found by trying the rewrite and hashing the result; a near miss is a note and never turns false into true.

mod json;
mod json_form;
mod text;

use crate::digest::Sha256Digest;
use crate::fetch::Fetched;

use super::{Note, NoteCode};

/// The near misses of a complete body whose digest differs from `expected`.
///
/// A body over 1 MiB is not kept, so only what its digests tell is found.
pub fn find(fetched: &Fetched, expected: Sha256Digest) -> Vec<Note> {
    let mut notes = Vec::new();
    if fetched.wire_sha256 == expected {
        notes.push(Note::new(NoteCode::MatchesBeforeDecoding));
    }
    let Some(body) = fetched.body.kept.as_deref() else {
        return notes;
    };
    if looks_compressed(body) {
        notes.push(Note::new(NoteCode::BodyLooksCompressed));
    }
    if is_html(fetched.trace.content_type.as_deref(), body) {
        notes.push(Note::new(NoteCode::ContentTypeHtml));
    }
    let rewrites = text::find(body, expected);
    if !rewrites.is_empty() {
        notes.extend(rewrites.into_iter().map(Note::new));
    } else if let Some(form) = json::find(body, expected) {
        let message = format!("The same JSON matches when it is written {form}: the card was reformatted.");
        notes.push(Note { code: NoteCode::MatchesReserialized, message });
    }
    notes
}

fn looks_compressed(body: &[u8]) -> bool {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    let zlib = matches!(body, [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0);
    body.starts_with(GZIP) || body.starts_with(ZSTD) || zlib
}

fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    let declared = content_type.is_some_and(|value| {
        let essence = value.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("text/html") || essence.eq_ignore_ascii_case("application/xhtml+xml")
    });
    let start = body.trim_ascii_start();
    let start = start.get(..start.len().min(16)).unwrap_or_default().to_ascii_lowercase();
    declared || start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}
