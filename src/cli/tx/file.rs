//! Transaction documents and block items, from files and to files.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use cardproof::anchor::{read_json, Document, SignedTransaction, SponsoredTransaction};
use cardproof::chain::TransactionHash;
use serde_json::Value;

use crate::cli::exit::CliError;
use crate::cli::failure;
use crate::cli::input;
use crate::cli::shell::Shell;

use super::inspect;

/// A transaction as the user gave it.
pub(crate) enum Given {
    /// A document, which says its network.
    Document(Box<Document>),
    /// A block item, whose bytes do not.
    BlockItem(SignedTransaction),
    /// A block item that another account may pay for.
    Sponsored(Box<SponsoredTransaction>),
}

/// What the argument may be besides a file and hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Nothing.
    Nothing,
    /// The hash of a transaction; the caller has looked for one before.
    Transaction,
}

/// Reads a document or a block item in hexadecimal: from a file, standard input (`-`), or the argument itself.
pub(crate) fn read(argument: &OsStr, names: Names) -> Result<Given, CliError> {
    if let Some(bytes) = argument.to_str().and_then(block_item) {
        return from_bytes(&bytes);
    }
    let path = Path::new(argument);
    let argument = argument.to_string_lossy();
    if argument != "-" && !path.exists() {
        return Err(nothing(&argument, names));
    }
    let content = input::bytes(path)?;
    let text = std::str::from_utf8(&content).map_err(|_| CliError::usage(format!("{argument} is not text in UTF-8")))?;
    if let Some(bytes) = block_item(text.trim()) {
        return from_bytes(&bytes);
    }
    let json = read_json(text.as_bytes()).map_err(|error| match error.is_data() {
        true => CliError::negative("inconsistent", format!("the transaction document {argument} is inconsistent: {error}")),
        false => CliError::usage(format!("{argument} is neither JSON nor hexadecimal: {error}")),
    })?;
    if json.get("schema").and_then(Value::as_str) != Some("cardproof.tx/1") {
        let message = format!("{argument} is not a transaction document: its schema is not cardproof.tx/1");
        return Err(CliError::refused("not_a_transaction", message));
    }
    if json.get("network").is_some_and(Value::is_null) {
        return inspected(&json);
    }
    Document::from_json(&json).map(|document| Given::Document(Box::new(document))).map_err(failure::anchor)
}

/// The hash of a transaction, if the argument is one.
pub(crate) fn hash(argument: &OsStr) -> Option<TransactionHash> {
    argument.to_str().and_then(|text| text.parse().ok())
}

/// Reads a JSON file that goes into a transaction.
pub(crate) fn json(path: &Path) -> Result<Value, CliError> {
    let shown = path.display();
    read_json(&input::bytes(path)?).map_err(|error| match error.is_data() {
        true => CliError::usage(format!("{shown} is ambiguous: {error}")),
        false => CliError::usage(format!("{shown} is not JSON: {error}")),
    })
}

/// What `tx inspect` says about a block item, which does not say its network: those bytes, from which all the rest must follow.
fn inspected(json: &Value) -> Result<Given, CliError> {
    let refuse = |why: &str| CliError::negative("inconsistent", format!("the transaction document is inconsistent: {why}"));
    let item = json.get("block_item_hex").and_then(Value::as_str).and_then(|item| hex::decode(item).ok());
    let item = item.ok_or_else(|| refuse("it names no network, and holds no block item"))?;
    if let Some(sponsored) = SponsoredTransaction::from_block_item(&item).map_err(failure::anchor)? {
        let is_same = sponsored.to_json().map_err(failure::anchor)? == *json;
        return is_same
            .then(|| Given::Sponsored(Box::new(sponsored)))
            .ok_or_else(|| refuse("it does not follow from its block item"));
    }
    let signed = SignedTransaction::from_block_item(&item).map_err(failure::anchor)?;
    if inspect::without_network(&inspect::of_block_item(signed.clone()))? != *json {
        return Err(refuse("it does not follow from its block item"));
    }
    Ok(Given::BlockItem(signed))
}

/// The argument is no file, nor anything else.
fn nothing(argument: &str, names: Names) -> CliError {
    let is_hash = argument.parse::<TransactionHash>().is_ok();
    match names {
        Names::Transaction => CliError::usage(format!(
            "{argument} is neither a transaction's hash, which has 64 hexadecimal digits, nor a transaction in hexadecimal, nor a file"
        )),
        Names::Nothing if is_hash => CliError::usage(format!("{argument} is the hash of a transaction, and the whole is needed"))
            .hint("follow it with `cardproof tx status`"),
        Names::Nothing if argument.len() > 2 && argument.bytes().all(|byte| byte.is_ascii_hexdigit()) => CliError::refused(
            "not_a_transaction",
            format!("{argument} is hexadecimal and not a transaction: {} digits are too few, or one is missing", argument.len()),
        ),
        Names::Nothing => CliError::usage(format!("{argument} is neither a transaction in hexadecimal nor a file")),
    }
}

/// Long enough not to be a file's name, and hexadecimal.
fn block_item(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    (digits.len() > 200).then(|| hex::decode(digits).ok()).flatten()
}

/// What cannot be done with a transaction of another account's money.
pub(crate) fn sponsored(what: &str) -> CliError {
    CliError::refused(
        "sponsored_transaction",
        format!("this is an extended (sponsored) transaction, and cardproof does not {what} those"),
    )
    .hint("look at it with `cardproof tx inspect`, and go on with the program that made it")
}

fn from_bytes(bytes: &[u8]) -> Result<Given, CliError> {
    if let Some(sponsored) = SponsoredTransaction::from_block_item(bytes).map_err(failure::anchor)? {
        return Ok(Given::Sponsored(Box::new(sponsored)));
    }
    SignedTransaction::from_block_item(bytes).map(Given::BlockItem).map_err(failure::anchor)
}

/// Writes a document: to a file when one is named, and to stdout when none is or `--json` asks for it.
pub(crate) fn give(document: &Document, out: Option<&Path>, json: bool, shell: &Shell) -> Result<(), CliError> {
    let value = document.to_json().map_err(failure::anchor)?;
    if let Some(path) = out {
        write(path, &value)?;
        shell.note(&format!("wrote {}", path.display()));
    }
    if out.is_none() || json {
        shell.document(&value);
    }
    Ok(())
}

/// Writes JSON to a file, whole or not at all.
pub(crate) fn write(path: &Path, value: &Value) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(format!("{value:#}\n").as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    };
    write()
        .map(drop)
        .map_err(|error: std::io::Error| CliError::internal(format!("{} cannot be written: {error}", path.display())))
}
