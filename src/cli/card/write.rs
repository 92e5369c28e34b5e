//! Putting a card where it was asked for, and telling its hash.

use std::path::Path;

use cardproof::agent_list::replace_file;
use cardproof::card::build::Built;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<Vec<LostDocument>>,
}

/// What a conversion could not carry.
#[derive(Serialize)]
pub(super) struct LostDocument {
    pub(super) pointer: String,
    pub(super) message: String,
}

/// Writes a card to a file or to stdout, its hash to the other place, and its notes to stderr.
pub(super) fn card(
    schema: &'static str,
    format: &'static str,
    built: &Built,
    lost: Option<Vec<LostDocument>>,
    out: Option<&Path>,
    shell: &Shell,
    output: &OutputOptions,
) -> Result<(), CliError> {
    if let Some(path) = out {
        to_file(path, &built.bytes)?;
    }
    built.notes.iter().for_each(|note| shell.note(&format!("note: {note}")));
    lost.iter().flatten().for_each(|lost| shell.warning(&format!("{}: {}", lost.pointer, lost.message)));
    if output.json {
        shell.document(&CardDocument {
            schema,
            format,
            sha256: built.sha256.to_string(),
            bytes: built.bytes.len(),
            out: out.map(|path| path.display().to_string()),
            card: out.is_none().then(|| String::from_utf8_lossy(&built.bytes).into_owned()),
            notes: built.notes.clone(),
            lost,
        });
    } else if let Some(path) = out {
        shell.line(&format!("{}  {}", built.sha256, path.display()));
    } else {
        shell.bytes(&built.bytes);
        shell.note(&format!("sha256 {}", built.sha256));
    }
    Ok(())
}

/// Writes bytes to a file in one step.
pub(super) fn to_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    replace_file(path, bytes).map_err(|error| CliError::internal(format!("{} cannot be written: {error}", path.display())))
}
