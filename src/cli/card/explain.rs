use std::ffi::OsString;

use cardproof::card::convert::read_bytes;
use cardproof::card::explain::{explain, Explanation};
use cardproof::card::{recognise, Dialect, Document};
use serde::Serialize;

use super::source::{load, SourceOptions};
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::{Shell, Style};

/// Tell what a card says, in a person's words
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file, a URL, an agent, or - for standard input
    #[arg(value_name = "CARD")]
    card: OsString,
    #[command(flatten)]
    source: SourceOptions,
}

/// `cardproof.card-explain/1`: what a card says.
#[derive(Serialize)]
struct ExplainDocument {
    schema: &'static str,
    source: String,
    url: Option<String>,
    sha256: String,
    bytes: usize,
    dialects: Vec<Dialect>,
    #[serde(flatten)]
    explanation: Explanation,
}

pub(super) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let source = load(&args.card, &args.source, output)?;
    let reading = read_bytes(&source.bytes).map_err(|error| source.is_no_card(&error))?;
    let explanation = explain(&reading);
    let dialects = recognise(&Document::parse(&source.bytes));
    if output.json {
        shell.document(&ExplainDocument {
            schema: "cardproof.card-explain/1",
            source: source.name,
            url: source.url,
            sha256: source.sha256.to_string(),
            bytes: source.bytes.len(),
            dialects,
            explanation,
        });
        return Ok(Exit::Ok);
    }
    for line in explanation.lines() {
        let label = format!("{:<10}", line.label);
        let style = if line.label == "name" { Style::Bold } else { Style::Plain };
        let mut text = line.value.lines();
        // A text of several lines keeps them, each escaped by itself.
        shell.styled(&[(Style::Dim, &label), (style, text.next().unwrap_or_default())]);
        text.for_each(|more| shell.line(&format!("{:<10}{more}", "")));
    }
    let names: Vec<&str> = dialects.iter().map(|dialect| dialect.as_str()).collect();
    let names = if names.is_empty() { "none that is known".to_owned() } else { names.join(", ") };
    shell.styled(&[(Style::Dim, &format!("{:<10}", "dialects")), (Style::Plain, &names)]);
    shell.styled(&[(Style::Dim, &format!("{:<10}", "sha256")), (Style::Plain, &source.sha256.to_string())]);
    Ok(Exit::Ok)
}
