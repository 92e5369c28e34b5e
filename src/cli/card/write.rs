//! Putting a card where it was asked for, and telling its hash.

use std::path::Path;

use cardproof::agent_list::replace_file;
use cardproof::card::build::{Built, Format};
use cardproof::card::convert::Lost;
use cardproof::card::{lint, Document, Finding, LintContext, Severity};
use serde::Serialize;

use crate::cli::exit::CliError;
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// `cardproof.card-build/1` and `cardproof.card-convert/1`: a card that was made.
#[derive(Serialize)]
pub(super) struct CardDocument {
    pub(super) schema: &'static str,
    pub(super) format: &'static str,
    pub(super) sha256: String,
    pub(super) bytes: usize,
    /// The file it was written to; without one the card itself stands in `card`.
    pub(super) out: Option<String>,
    /// The exact text, when it was not written to a file.
    pub(super) card: Option<String>,
    pub(super) notes: Vec<String>,
    /// What a lint finds in the card.
    pub(super) findings: Vec<Finding>,
    /// What of the input, or of the old card, it lacks.
    pub(super) lost: Vec<LostDocument>,
}

/// What could not be carried.
#[derive(Serialize)]
pub(super) struct LostDocument {
    pub(super) pointer: String,
    pub(super) message: String,
}

impl From<Lost> for LostDocument {
    fn from(lost: Lost) -> Self {
        Self { pointer: lost.pointer, message: lost.message }
    }
}

/// A card that was made, and where it goes.
pub(super) struct Made<'a> {
    /// The name of the JSON document about it.
    pub(super) schema: &'static str,
    pub(super) format: Format,
    pub(super) built: &'a Built,
    /// What a conversion, or the format of a card that is built, has no place for.
    pub(super) lost: Vec<LostDocument>,
    /// Where it will be hosted.
    pub(super) card_url: Option<&'a str>,
    /// The file to write; stdout without one.
    pub(super) out: Option<&'a Path>,
}

/// Writes a card to a file or to stdout, its hash to the other place, and what there is to say about it to stderr.
/// Whether a lint finds no error in it.
pub(super) fn card(made: Made<'_>, shell: &Shell, output: &OutputOptions) -> Result<bool, CliError> {
    let Made { schema, format, built, lost, card_url, out } = made;
    if let Some(path) = out {
        to_file(path, &built.bytes)?;
    }
    let context = LintContext { agent_uri: card_url.map(str::to_owned), chain: None };
    let findings = lint(&Document::parse(&built.bytes), &context).findings;
    let is_sound = findings.iter().all(|found| found.severity < Severity::Error);
    if !output.json {
        for found in findings.iter().filter(|found| found.severity > Severity::Info) {
            shell.always(&format!("{}: {}: {} ({})", found.severity, found.pointer, found.message, found.code));
        }
    }
    built.notes.iter().for_each(|note| shell.note(&format!("note: {note}")));
    lost.iter().for_each(|lost| shell.warning(&format!("{}: {}", lost.pointer, lost.message)));
    if output.json {
        shell.document(&CardDocument {
            schema,
            format: format.as_str(),
            sha256: built.sha256.to_string(),
            bytes: built.bytes.len(),
            out: out.map(|path| path.display().to_string()),
            card: out.is_none().then(|| String::from_utf8_lossy(&built.bytes).into_owned()),
            notes: built.notes.clone(),
            findings,
            lost,
        });
    } else if let Some(path) = out {
        shell.line(&format!("{}  {}", built.sha256, path.display()));
    } else {
        shell.bytes(&built.bytes);
        shell.note(&format!("sha256 {}", built.sha256));
    }
    Ok(is_sound)
}

/// Writes bytes to a file in one step.
pub(super) fn to_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    replace_file(path, bytes).map_err(|error| CliError::internal(format!("{} cannot be written: {error}", path.display())))
}
