use std::fmt;

/// Something worth knowing beside a verdict. A note never changes `match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Which kind of note.
    pub code: NoteCode,
    /// What it says, as a sentence.
    pub message: String,
}

impl Note {
    /// A note with the sentence that is always the same for its code.
    pub fn new(code: NoteCode) -> Self {
        Self { code, message: code.sentence().to_owned() }
    }
}

/// The kinds of [`Note`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoteCode {
    /// The body matches when its final newline is taken away.
    MatchesWithoutFinalNewline,
    /// The body matches when a final newline is added.
    MatchesWithFinalNewline,
    /// The body matches with LF line endings.
    MatchesWithLf,
    /// The body matches with CRLF line endings.
    MatchesWithCrlf,
    /// The body matches without its byte order mark.
    MatchesWithoutBom,
    /// The body matches with a byte order mark in front.
    MatchesWithBom,
    /// The bytes on the wire match, before content decoding.
    MatchesBeforeDecoding,
    /// The body looks compressed although nothing marks it so.
    BodyLooksCompressed,
    /// The same JSON matches in another form.
    MatchesReserialized,
    /// The body is an HTML page.
    ContentTypeHtml,
    /// The body looks like the challenge page of a bot wall.
    LooksLikeBotWall,
    /// Nothing proves that the body is complete.
    LengthUnverified,
    /// The body starts with a byte order mark.
    BomPresent,
    /// The body matches an older anchor of the same agent.
    MatchesOlderAnchor,
}

impl NoteCode {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::MatchesWithoutFinalNewline,
        Self::MatchesWithFinalNewline,
        Self::MatchesWithLf,
        Self::MatchesWithCrlf,
        Self::MatchesWithoutBom,
        Self::MatchesWithBom,
        Self::MatchesBeforeDecoding,
        Self::BodyLooksCompressed,
        Self::MatchesReserialized,
        Self::ContentTypeHtml,
        Self::LooksLikeBotWall,
        Self::LengthUnverified,
        Self::BomPresent,
        Self::MatchesOlderAnchor,
    ];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MatchesWithoutFinalNewline => "matches_without_final_newline",
            Self::MatchesWithFinalNewline => "matches_with_final_newline",
            Self::MatchesWithLf => "matches_with_lf",
            Self::MatchesWithCrlf => "matches_with_crlf",
            Self::MatchesWithoutBom => "matches_without_bom",
            Self::MatchesWithBom => "matches_with_bom",
            Self::MatchesBeforeDecoding => "matches_before_decoding",
            Self::BodyLooksCompressed => "body_looks_compressed",
            Self::MatchesReserialized => "matches_reserialized",
            Self::ContentTypeHtml => "content_type_html",
            Self::LooksLikeBotWall => "looks_like_bot_wall",
            Self::LengthUnverified => "length_unverified",
            Self::BomPresent => "bom_present",
            Self::MatchesOlderAnchor => "matches_older_anchor",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::MatchesWithoutFinalNewline => "It would match without its final newline: an editor or a host added one.",
            Self::MatchesWithFinalNewline => "It would match with a final newline: an editor or a host took it away.",
            Self::MatchesWithLf => "It would match with LF line endings: something turned them into CRLF.",
            Self::MatchesWithCrlf => "It would match with CRLF line endings: something turned them into LF.",
            Self::MatchesWithoutBom => "It would match without the byte order mark in front.",
            Self::MatchesWithBom => "It would match with a byte order mark in front.",
            Self::MatchesBeforeDecoding => {
                "The bytes on the wire match before content decoding: the hash of the compressed file was anchored."
            }
            Self::BodyLooksCompressed => "The body is compressed data without a Content-Encoding that says so.",
            Self::MatchesReserialized => "The same JSON in another form matches: the card was reformatted.",
            Self::ContentTypeHtml => {
                "The body is an HTML page, not a card: the URI may point at a viewer instead of the raw file."
            }
            Self::LooksLikeBotWall => "The body looks like the challenge page of a bot wall.",
            Self::LengthUnverified => "The host closed the connection to end the body, so nothing proves that it is complete.",
            Self::BomPresent => "The body starts with a UTF-8 byte order mark, which many JSON parsers refuse.",
            Self::MatchesOlderAnchor => {
                "The body matches an older anchor of this agent: the host still serves the previous card."
            }
        }
    }
}

impl fmt::Display for NoteCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
