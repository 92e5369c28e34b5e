use std::ffi::OsString;

use cardproof::card::diff::{diff, Change, Formatting};
use cardproof::card::Document;
use serde::Serialize;

use super::source::{load, Source, SourceOptions};
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::{Shell, Style};

/// Show what differs between two cards
///
/// Exit codes: 0 the same bytes; 1 different, even if only in their formatting, because their hashes differ.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file, a URL, an agent, or - for standard input
    #[arg(value_name = "A")]
    a: OsString,
    /// The other one
    #[arg(value_name = "B")]
    b: OsString,
    /// Exit with 0 when only the formatting differs
    #[arg(long)]
    ignore_formatting: bool,
    #[command(flatten)]
    source: SourceOptions,
}

/// `cardproof.card-diff/1`: what differs.
#[derive(Serialize)]
struct DiffDocument {
    schema: &'static str,
    a: SourceDocument,
    b: SourceDocument,
    identical: bool,
    formatting_only: bool,
    formatting: Vec<&'static str>,
    changes: Vec<ChangeDocument>,
    /// Why readers may disagree what either document says.
    unclear: Vec<String>,
}

#[derive(Serialize)]
struct SourceDocument {
    source: String,
    url: Option<String>,
    sha256: String,
    bytes: usize,
}

#[derive(Serialize)]
struct ChangeDocument {
    pointer: String,
    kind: &'static str,
    /// JSON text.
    before: Option<String>,
    /// JSON text.
    after: Option<String>,
}

impl From<&Source> for SourceDocument {
    fn from(source: &Source) -> Self {
        Self {
            source: source.name.clone(),
            url: source.url.clone(),
            sha256: source.sha256.to_string(),
            bytes: source.bytes.len(),
        }
    }
}

pub(super) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    if args.a == "-" && args.b == "-" {
        return Err(CliError::usage("only one of the two cards can come from standard input"));
    }
    let (a, b) = (load(&args.a, &args.source, output)?, load(&args.b, &args.source, output)?);
    let found = diff(&Document::parse(&a.bytes), &Document::parse(&b.bytes));
    let same = found.identical || (args.ignore_formatting && found.is_formatting_only());
    if output.json {
        shell.document(&DiffDocument {
            schema: "cardproof.card-diff/1",
            a: (&a).into(),
            b: (&b).into(),
            identical: found.identical,
            formatting_only: found.is_formatting_only(),
            formatting: found.formatting.iter().map(|what| what.as_str()).collect(),
            changes: found.changes.iter().map(ChangeDocument::from).collect(),
            unclear: found.unclear,
        });
    } else {
        for change in &found.changes {
            report(change, shell);
        }
        for why in &found.unclear {
            shell.warning(&format!("{why}, so readers may disagree what it says"));
        }
        if !found.identical && found.changes.is_empty() && !found.unclear.is_empty() {
            shell.line("different bytes; whether they say the same cannot be told");
        }
        if found.is_formatting_only() {
            let ways: Vec<&str> = found.formatting.iter().map(|what: &Formatting| what.sentence()).collect();
            shell.line(&format!("only the formatting differs ({}); the hashes differ all the same", ways.join("; ")));
        }
        if found.identical {
            shell.line(&format!("the same bytes: {}", a.sha256));
        } else {
            shell.note(&format!("{}  {}", a.sha256, a.name));
            shell.note(&format!("{}  {}", b.sha256, b.name));
        }
    }
    Ok(if same { Exit::Ok } else { Exit::Negative })
}

impl From<&Change> for ChangeDocument {
    fn from(change: &Change) -> Self {
        Self { pointer: change.pointer.clone(), kind: change.kind(), before: change.before.clone(), after: change.after.clone() }
    }
}

fn report(change: &Change, shell: &Shell) {
    let pointer = if change.pointer.is_empty() { "(the whole document)" } else { &change.pointer };
    shell.styled(&[(Style::Bold, pointer)]);
    if let Some(before) = &change.before {
        shell.styled(&[(Style::Red, &format!("  - {}", short(before)))]);
    }
    if let Some(after) = &change.after {
        shell.styled(&[(Style::Green, &format!("  + {}", short(after)))]);
    }
}

/// A JSON text on one line, and not a whole card.
fn short(json: &str) -> String {
    const SHOWN: usize = 200;
    let line = json.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
