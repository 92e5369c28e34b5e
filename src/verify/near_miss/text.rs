//! Rewrites that editors, version control and hosts do to any text: line endings, final newline, byte order mark.

use std::borrow::Cow;

use crate::digest::Sha256Digest;
use crate::verify::NoteCode;

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

type Rewrite = fn(&[u8]) -> Option<Vec<u8>>;

/// Line endings first, then the final newline (which takes the form of the others), then the byte order mark.
const LINE_ENDINGS: [(NoteCode, Rewrite); 2] = [(NoteCode::MatchesWithLf, with_lf), (NoteCode::MatchesWithCrlf, with_crlf)];
const FINAL_NEWLINES: [(NoteCode, Rewrite); 3] = [
    (NoteCode::MatchesWithoutFinalNewline, without_final_newline),
    (NoteCode::MatchesWithoutFinalNewline, without_final_newlines),
    (NoteCode::MatchesWithFinalNewline, with_final_newline),
];
const BYTE_ORDER_MARKS: [(NoteCode, Rewrite); 2] =
    [(NoteCode::MatchesWithoutBom, without_bom), (NoteCode::MatchesWithBom, with_bom)];

/// The fewest rewrites that together make `body` hash to `expected`; none when no combination does.
pub(super) fn find(body: &[u8], expected: Sha256Digest) -> Vec<NoteCode> {
    let mut best: Vec<NoteCode> = Vec::new();
    for (ending, text) in choices(body, &LINE_ENDINGS) {
        for (newline, text) in choices(&text, &FINAL_NEWLINES) {
            for (mark, text) in choices(&text, &BYTE_ORDER_MARKS) {
                let codes: Vec<NoteCode> = [ending, newline, mark].into_iter().flatten().collect();
                let fewer = best.is_empty() || codes.len() < best.len();
                if !codes.is_empty() && fewer && Sha256Digest::of(&text) == expected {
                    best = codes;
                }
            }
        }
    }
    best
}

/// `text` as it is, and after each of `rewrites` that changes it.
fn choices<'a>(text: &'a [u8], rewrites: &[(NoteCode, Rewrite)]) -> Vec<(Option<NoteCode>, Cow<'a, [u8]>)> {
    let mut choices = vec![(None, Cow::Borrowed(text))];
    choices.extend(rewrites.iter().filter_map(|(code, rewrite)| Some((Some(*code), Cow::Owned(rewrite(text)?)))));
    choices
}

fn with_lf(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        if !(byte == b'\r' && text.get(at + 1) == Some(&b'\n')) {
            out.push(byte);
        }
    }
    (out.len() != text.len()).then_some(out)
}

fn with_crlf(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16);
    let mut before = 0;
    for &byte in text {
        if byte == b'\n' && before != b'\r' {
            out.push(b'\r');
        }
        out.push(byte);
        before = byte;
    }
    (out.len() != text.len()).then_some(out)
}

fn without_final_newline(text: &[u8]) -> Option<Vec<u8>> {
    let rest = text.strip_suffix(b"\r\n").or_else(|| text.strip_suffix(b"\n"))?;
    Some(rest.to_vec())
}

/// Without all of several final newlines.
fn without_final_newlines(text: &[u8]) -> Option<Vec<u8>> {
    let mut rest = text;
    let mut taken = 0;
    while let Some(shorter) = rest.strip_suffix(b"\r\n").or_else(|| rest.strip_suffix(b"\n")) {
        rest = shorter;
        taken += 1;
    }
    (taken > 1).then(|| rest.to_vec())
}

fn with_final_newline(text: &[u8]) -> Option<Vec<u8>> {
    let newline: &[u8] = if text.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    Some([text, newline].concat())
}

fn without_bom(text: &[u8]) -> Option<Vec<u8>> {
    Some(text.strip_prefix(UTF8_BOM)?.to_vec())
}

fn with_bom(text: &[u8]) -> Option<Vec<u8>> {
    (!text.starts_with(UTF8_BOM)).then(|| [UTF8_BOM, text].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published card of testnet token 287.
    const CARD: &[u8] = include_bytes!("../../../tests/vectors/card-testnet-287.json");

    fn published_digest(change: &str) -> Sha256Digest {
        let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../tests/vectors/near-misses.json")).unwrap();
        let cases = vectors["cases"].as_array().unwrap();
        let case = cases.iter().find(|case| case["change"] == change).unwrap();
        case["sha256"].as_str().unwrap().parse().unwrap()
    }

    #[test]
    fn the_real_card_hashes_to_its_anchor() {
        let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../tests/vectors/near-misses.json")).unwrap();
        assert_eq!(Sha256Digest::of(CARD).to_string(), vectors["anchor"].as_str().unwrap());
    }

    /// Each published digest is that of a rewritten card: serving the real one is a near miss of it, and the reverse.
    #[test]
    fn near_misses_of_the_real_card_are_named() {
        let anchor = Sha256Digest::of(CARD);
        for (change, rewrite, away, back) in [
            (
                "no final newline",
                without_final_newline as Rewrite,
                NoteCode::MatchesWithoutFinalNewline,
                NoteCode::MatchesWithFinalNewline,
            ),
            ("CRLF", with_crlf, NoteCode::MatchesWithCrlf, NoteCode::MatchesWithLf),
            ("UTF-8 BOM in front", with_bom, NoteCode::MatchesWithBom, NoteCode::MatchesWithoutBom),
        ] {
            let rewritten = rewrite(CARD).unwrap();
            assert_eq!(Sha256Digest::of(&rewritten), published_digest(change), "{change}");
            assert_eq!(find(CARD, published_digest(change)), [away], "{change}");
            assert_eq!(find(&rewritten, anchor), [back], "{change}");
        }
    }

    #[test]
    fn rewrites_are_found_together_and_the_fewest_win() {
        let anchor = Sha256Digest::of(CARD);
        let mangled = with_bom(&with_crlf(&without_final_newline(CARD).unwrap()).unwrap()).unwrap();
        assert_eq!(
            find(&mangled, anchor),
            [NoteCode::MatchesWithLf, NoteCode::MatchesWithFinalNewline, NoteCode::MatchesWithoutBom]
        );
        let newlines = [CARD, b"\n\n\n"].concat();
        assert_eq!(find(&newlines, Sha256Digest::of(CARD.strip_suffix(b"\n").unwrap())), [NoteCode::MatchesWithoutFinalNewline]);
        assert_eq!(find(b"{}", Sha256Digest::of(b"{}\n")), [NoteCode::MatchesWithFinalNewline]);
    }

    #[test]
    fn a_foreign_digest_is_no_near_miss() {
        assert_eq!(find(CARD, Sha256Digest::of(b"something else")), []);
        assert_eq!(find(b"", Sha256Digest::of(b"something else")), []);
    }
}
