use std::ffi::OsString;

use cardproof::anchor::{Document, SignedTransaction, SponsoredTransaction};
use cardproof::identity::GenesisHash;
use cardproof::registry::Timestamp;
use serde_json::Value;

use crate::cli::exit::{CliError, Exit};
use crate::cli::failure;
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;
use crate::cli::terminal::ccd;

use super::file::{self, Given};
use super::readable;

/// Derive everything about a transaction from its bytes again, and fail on any inconsistency
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A transaction document, or a block item in hexadecimal: a file, - for standard input, or the hexadecimal itself
    #[arg(value_name = "FILE|HEX")]
    transaction: OsString,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let (json, document, sponsored) = match file::read(&args.transaction, file::Names::Nothing)? {
        Given::Document(document) => (document.to_json().map_err(failure::anchor)?, *document, None),
        Given::BlockItem(signed) => {
            let document = of_block_item(signed);
            (without_network(&document)?, document, None)
        }
        Given::Sponsored(sponsored) => {
            let (transaction, signatures) = (sponsored.transaction.clone(), sponsored.signatures.clone());
            let document = of_block_item(SignedTransaction { transaction, signatures });
            (sponsored.to_json().map_err(failure::anchor)?, document, Some(sponsored))
        }
    };
    if output.json {
        shell.document(&json);
        return Ok(Exit::Ok);
    }
    let sponsor = sponsored.as_deref().map(sponsor_lines).unwrap_or_default();
    for (label, value) in lines(&json, &document).into_iter().chain(sponsor) {
        shell.line(&format!("{label:<17}{value}"));
    }
    Ok(Exit::Ok)
}

fn sponsor_lines(sponsored: &SponsoredTransaction) -> Vec<(&'static str, String)> {
    let Some(sponsor) = sponsored.sponsor else { return vec![("kind", "extended, without a sponsor".into())] };
    let signed = sponsored.sponsor_signatures.as_ref().map_or_else(
        || "not signed by the sponsor yet".to_owned(),
        |signatures| format!("{} signature(s) of the sponsor", signatures.count()),
    );
    vec![("sponsor", format!("{sponsor} pays; {signed}"))]
}

/// The document of a block item: the chain's own bytes do not say which network they are for.
pub(super) fn without_network(document: &Document) -> Result<Value, CliError> {
    let mut json = document.to_json().map_err(failure::anchor)?;
    for field in ["network", "genesis_hash"] {
        if let Some(value) = json.get_mut(field) {
            *value = Value::Null;
        }
    }
    Ok(json)
}

pub(super) fn of_block_item(signed: SignedTransaction) -> Document {
    Document {
        network: String::new(),
        genesis: GenesisHash([0; 32]),
        signature_count: signed.signatures.count(),
        transaction: signed.transaction,
        estimate: None,
        signatures: signed.signatures,
    }
}

fn lines(json: &Value, document: &Document) -> Vec<(&'static str, String)> {
    let (transaction, call) = (&document.transaction, document.transaction.call());
    let text = |field: &str| json.get(field).and_then(Value::as_str).map(str::to_owned);
    let mut lines = vec![
        ("network", text("network").unwrap_or_else(|| "(the bytes do not say)".into())),
        ("genesis hash", text("genesis_hash").unwrap_or_else(|| "(the bytes do not say)".into())),
        ("contract", call.contract.to_string()),
        ("entry point", call.receive_name.clone()),
    ];
    lines.extend(readable::parameter(call).into_iter().map(|line| ("parameter", line)));
    lines.extend([
        ("sender", transaction.sender().to_string()),
        ("nonce", transaction.nonce().to_string()),
        ("expires", Timestamp(transaction.expiry().saturating_mul(1000)).to_string()),
        (
            "energy",
            format!("{} NRG, of which {} for the contract", transaction.energy(), text("execution_energy").unwrap_or_default()),
        ),
        ("hash to sign", text("hash_to_sign").unwrap_or_default()),
        ("signatures", format!("{} of {}", document.signatures.count(), document.signature_count)),
    ]);
    lines.extend(
        document
            .estimate
            .map(|e| ("estimate", format!("{} NRG, {} (its builder's word: no signature covers it)", e.energy, ccd(e.microccd)))),
    );
    lines.extend(text("transaction_hash").map(|hash| ("transaction hash", hash)));
    lines
}
