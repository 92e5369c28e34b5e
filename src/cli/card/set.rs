use std::path::PathBuf;

use cardproof::card::edit::{pointer_of, set};
use cardproof::card::{Document, Node};
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
    /// The value, of the type that stands there: a text needs no quotes, everything else is JSON; in a new field it is a text where
    /// it is not JSON
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// Read the value as a text or as JSON, whatever it looks like and whatever type stands there
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
    let value = json_text(&args.value, args.kind, old).map_err(|is| {
        let stands = old.map_or("nothing", Node::type_name);
        CliError::usage(format!("{shown}: {pointer} is {stands}, and the value is {is}")).hint(match old {
            Some(node) if matches!(node.kind, cardproof::card::Kind::Bool(_)) => {
                "write true or false, or change the field's type with --as json or --as text"
            }
            _ => "change the field's type with --as json or --as text",
        })
    })?;
    let changed = set(&bytes, &pointer, &value).map_err(|error| CliError::usage(format!("{shown}: {error}")))?;
    let path = args.out.as_ref().unwrap_or(&args.file);
    let to_stdout = path.as_os_str() == "-";
    if to_stdout && !output.json {
        shell.bytes(&changed);
    } else if !to_stdout && (changed != bytes || args.out.is_some()) {
        to_file(path, &changed)?;
    }
    let text = |node: &Node<'_>| String::from_utf8_lossy(bytes.get(node.span.clone()).unwrap_or_default()).into_owned();
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

/// The value as JSON text, of the type of what it replaces: where a text stands, `1.0` means the text "1.0", elsewhere it is a number.
///
/// # Errors
/// What the value is instead.
fn json_text(value: &str, kind: Option<Kind>, replaced: Option<&Node<'_>>) -> Result<String, &'static str> {
    let as_text = || Value::from(value).to_string();
    let json: Option<Value> = serde_json::from_str(value).ok();
    let is = match &json {
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
        Some(Value::String(_)) | None => "a string",
    };
    match (kind, replaced.map(Node::type_name)) {
        (Some(Kind::Text), _) => Ok(as_text()),
        (Some(Kind::Json), _) => Ok(value.to_owned()),
        (None, Some("a string")) if is != "a string" => Ok(as_text()),
        // null holds a place for any type.
        (None, Some(stands)) if stands != "null" && stands != is => Err(is),
        (None, _) if json.is_some() => Ok(value.to_owned()),
        (None, _) => Ok(as_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_its_place_expects() {
        let card = Document::parse(br#"{"s": "x", "b": true, "n": 1, "z": null, "a": [], "o": {}}"#);
        let set = |value: &str, kind, place: &str| json_text(value, kind, card.get(place));
        let same = |value: &str| Ok(value.to_owned());
        assert_eq!(set("1.0", None, "/s"), same("\"1.0\""));
        assert_eq!(set("true", None, "/s"), same("\"true\""));
        assert_eq!(set("\"x\"", None, "/s"), same("\"x\""));
        for (value, place) in [("false", "/b"), ("-2.50", "/n"), ("[1]", "/a"), ("{\"q\": 1}", "/o")] {
            assert_eq!(set(value, None, place), same(value));
            for free in ["/z", "/new"] {
                assert_eq!(set(value, None, free), same(value));
            }
        }
        assert_eq!(set("plain", None, "/new"), same("\"plain\""));
        assert_eq!(set("plain", None, "/z"), same("\"plain\""));
    }

    #[test]
    fn the_type_of_a_field_changes_only_on_demand() {
        let card = Document::parse(br#"{"b": true, "n": 1, "a": [], "o": {}}"#);
        let set = |value: &str, kind, place: &str| json_text(value, kind, card.get(place));
        for (value, place, is) in [
            ("notabool", "/b", "a string"),
            ("\"true\"", "/b", "a string"),
            ("1", "/b", "a number"),
            ("null", "/b", "null"),
            ("one", "/n", "a string"),
            ("{}", "/a", "an object"),
            ("x", "/o", "a string"),
            ("[]", "/o", "an array"),
        ] {
            assert_eq!(set(value, None, place), Err(is), "{value} {place}");
            assert_eq!(set(value, Some(Kind::Json), place), Ok(value.to_owned()));
            assert_eq!(set(value, Some(Kind::Text), place), Ok(Value::from(value).to_string()));
        }
    }
}
