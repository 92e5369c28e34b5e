use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cardproof::anchor::{
    check_environment, signatures_from_json, AnchorError, Document, Signatures, Signer, ToSign, Transaction,
};
use cardproof::registry::Timestamp;
use serde_json::Value;

use crate::cli::config::Config;
use crate::cli::exit::{CliError, Exit};
use crate::cli::failure;
use crate::cli::options::{NetworkOptions, OutputOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;

use super::file::{self, Given};
use super::options::SenderOptions;
use super::readable;

/// Add signatures to a transaction document (offline)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The transaction document; - is standard input
    #[arg(value_name = "FILE")]
    transaction: OsString,
    /// Add signatures made elsewhere, from a file: {"0": {"0": "<128 hex>"}}, or the document that somebody else signed
    #[arg(long, value_name = "FILE")]
    signatures: Option<PathBuf>,
    /// Where to write the signed document [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Sign without asking; where there is no terminal nobody is asked
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    sender: SenderOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let mut document = match file::read(&args.transaction, file::Names::Nothing)? {
        Given::Document(document) => document,
        Given::Sponsored(_) => return Err(file::sponsored("sign")),
        Given::BlockItem(_) => {
            return Err(CliError::usage("a block item has all its signatures; signatures are added to a transaction document"))
        }
    };
    let settings = network_of(&document, &args.network, output)?;
    require_unexpired(&document.transaction)?;
    if let Some(path) = &args.signatures {
        let json = file::json(path)?;
        document.add_signatures(made_elsewhere(&json, path, &document)?).map_err(failure::anchor)?;
    }
    if args.sender.keys.is_some() || args.signatures.is_none() {
        let sender = Some(document.transaction.sender());
        let options = SenderOptions { sender, ..args.sender.clone() };
        if args.sender.sender.is_some_and(|named| Some(named) != sender) {
            return Err(CliError::refused(
                "wrong_sender",
                format!("the transaction's sender is {}", document.transaction.sender()),
            ));
        }
        let keys = options.require("add signatures made elsewhere with --signatures", shell)?;
        check_environment(keys.environment.as_deref(), &settings.network).map_err(failure::anchor)?;
        let cost = readable::cost(document.estimate, document.transaction.energy());
        let lines = readable::review(&settings.network.name, &document.transaction, &cost);
        let is_agreed = args.yes || !shell.can_ask();
        if !readable::confirmed(&lines, SIGN_IT, is_agreed, shell) {
            return Err(failure::anchor(AnchorError::NotConfirmed));
        }
        require_unexpired(&document.transaction)?;
        let signatures = super::super::block_on(async {
            keys.signer.sign(ToSign::Transaction(&document.transaction)).await.map_err(failure::anchor)
        })?;
        document.add_signatures(signatures).map_err(failure::anchor)?;
    }
    let missing = document.signature_count - document.signatures.count();
    if missing > 0 {
        shell.note(&format!("{missing} more signature(s) are needed"));
    }
    file::give(&document, args.out.as_deref(), output.json, shell)?;
    Ok(Exit::Ok)
}

/// Signatures by themselves, or in the whole document that somebody else has signed.
fn made_elsewhere(json: &Value, path: &Path, document: &Document) -> Result<Signatures, CliError> {
    if json.get("schema").is_none() {
        return signatures_from_json(json).map_err(failure::anchor);
    }
    let other = Document::from_json(json).map_err(failure::anchor)?;
    if (other.genesis, &other.transaction) != (document.genesis, &document.transaction) {
        let message = format!("{} is a document of another transaction: its signatures are not of this one", path.display());
        return Err(CliError::refused("another_transaction", message));
    }
    if other.signatures.is_empty() {
        return Err(CliError::refused("not_enough_signatures", format!("the document {} has no signatures", path.display())));
    }
    Ok(other.signatures)
}

pub(super) const SIGN_IT: &str = "sign it? [y/N] ";

/// Refuses what no node would take any more.
pub(super) fn require_unexpired(transaction: &Transaction) -> Result<(), CliError> {
    let expiry = Timestamp(transaction.expiry().saturating_mul(1000));
    if std::time::UNIX_EPOCH.elapsed().is_ok_and(|now| now.as_millis() >= u128::from(expiry.0)) {
        return Err(failure::anchor(AnchorError::Expired(expiry)));
    }
    Ok(())
}

/// The network that a document names, which the user's choice must not contradict.
pub(super) fn network_of(
    document: &Document,
    options: &NetworkOptions,
    output: &OutputOptions,
) -> Result<NetworkSettings, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let mut options = options.clone();
    if options.network.is_none() {
        options.network = Some(document.network.clone());
    }
    let settings = NetworkSettings::resolve(&options, &config)?;
    if settings.network.genesis != document.genesis {
        let (built, network) = (document.genesis.to_string(), settings.network.name.to_string());
        return Err(failure::anchor(AnchorError::DocumentNetwork { built, network }));
    }
    Ok(settings)
}
