use std::path::PathBuf;

use cardproof::card::edit::{pointer_of, set};
use cardproof::card::Document;
use cardproof::digest::Sha256Digest;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use super::write::to_file;
use crate::cli::exit::{CliError, Exit};
use crate::cli::input;
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// Set one field of a card file and leave every other byte as it was
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card; - is standard input, and the result goes to stdout
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The field: version, provider.url, skills.0.name, or a JSON pointer such as /provider/url; what holds it must be there
    #[arg(value_name = "FIELD")]
    field: String,
    /// The value: JSON, or a text where a text stands already or where it is not JSON
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// Read the value as a text or as JSON, whatever it looks like
    #[arg(long = "as", value_name = "KIND")]
    kind: Option<Kind>,
    /// Write to this file instead of the card; - is stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Text,
    Json,
}

/// `cardproof.card-set/1`: what was changed.
#[derive(Serialize)]
struct SetDocument {
    schema: &'static str,
    file: String,
    pointer: String,
    /// The JSON text that stood there.
    before: Option<String>,
    /// The JSON text that stands there now.
    after: String,
    sha256_before: String,
    sha256: String,
    bytes: usize,
}

pub(super) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let shown = args.file.display();
    if args.field.is_empty() {
        return Err(CliError::usage("a field is needed, such as version; an empty one would be the whole card"));
    }
    let bytes = input::bytes(&args.file)?;
    let pointer = pointer_of(&args.field);
    let document = Document::parse(&bytes);
    let old = document.get(&pointer);
    let value = json_text(&args.value, args.kind, old.is_some_and(|node| node.as_str().is_some()));
    let changed = set(&bytes, &pointer, &value).map_err(|error| CliError::usage(format!("{shown}: {error}")))?;
    let path = args.out.as_ref().unwrap_or(&args.file);
    let to_stdout = path.as_os_str() == "-";
    if to_stdout && !output.json {
        shell.bytes(&changed);
    } else if !to_stdout && (changed != bytes || args.out.is_some()) {
        to_file(path, &changed)?;
    }
    let text =
        |node: &cardproof::card::Node<'_>| String::from_utf8_lossy(bytes.get(node.span.clone()).unwrap_or_default()).into_owned();
    let sha256 = Sha256Digest::of(&changed).to_string();
    if output.json {
        shell.document(&SetDocument {
            schema: "cardproof.card-set/1",
            file: path.display().to_string(),
            pointer,
            before: old.map(text),
            after: value,
            sha256_before: Sha256Digest::of(&bytes).to_string(),
            sha256,
            bytes: changed.len(),
        });
    } else if to_stdout {
        shell.note(&format!("sha256 {sha256}"));
    } else {
        shell.line(&format!("{sha256}  {}", path.display()));
        if changed != bytes {
            shell.note("the card has another hash now: anchor it again once it is hosted");
        }
    }
    Ok(Exit::Ok)
}

/// The value as JSON text. Where a text stands, `1.0` means the text "1.0"; elsewhere it is a number.
fn json_text(value: &str, kind: Option<Kind>, replaces_text: bool) -> String {
    let as_text = || Value::from(value).to_string();
    let json: Option<Value> = serde_json::from_str(value).ok();
    match (kind, json) {
        (Some(Kind::Text), _) => as_text(),
        (Some(Kind::Json), _) => value.to_owned(),
        (None, Some(json)) if json.is_string() || !replaces_text => value.to_owned(),
        (None, _) => as_text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_its_place_expects() {
        assert_eq!(json_text("1.0", None, true), "\"1.0\"");
        assert_eq!(json_text("1.0", None, false), "1.0");
        assert_eq!(json_text("\"x\"", None, true), "\"x\"");
        assert_eq!(json_text("plain", None, false), "\"plain\"");
        assert_eq!(json_text("true", Some(Kind::Text), false), "\"true\"");
        assert_eq!(json_text("true", Some(Kind::Json), true), "true");
    }
}
