use std::ffi::OsString;
use std::path::Path;

use cardproof::anchor::journal::Journal;
use cardproof::anchor::{check_signatures, follow, AnchorError, Document, Session, SignedTransaction, State};
use cardproof::chain::{AgentReader, AtBlock, ChainClient, TransactionHash, TransactionStatus};

use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::failure;
use crate::cli::interrupt;
use crate::cli::options::OutputOptions;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;

use super::file::{self, Given};
use super::options::{ReachOptions, SendOptions};
use super::readable;
use super::run::check_url;
use super::sign::network_of;
use super::status;

/// Send a signed transaction, once, and follow it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A signed transaction document or a block item in hexadecimal, from a file or - ; or the hash of one in the journal
    #[arg(value_name = "FILE|HEX|HASH")]
    transaction: OsString,
    #[command(flatten)]
    send: SendOptions,
    #[command(flatten)]
    reach: ReachOptions,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let state_folder = args.send.state_folder(&config)?;
    let (signed, settings) = signed(args, &config, output, &state_folder)?;
    if !args.send.yes && !shell.can_ask() {
        return Err(CliError::refused("confirmation_needed", "there is no terminal to confirm the transaction in")
            .hint("look at it with `cardproof tx inspect`, and confirm it with --yes"));
    }
    args.reach.require_online("")?;
    let reach = &args.reach;
    let network = &settings.network;
    let chain = connect::chain(&reach.node, &reach.tls, &config, network, network.registry, AtBlock::LastFinalized)?;
    let fetcher = connect::fetcher(&reach.fetch, &reach.tls, &config)?;
    super::super::block_on(async {
        let asked = !args.send.no_url_check;
        check_url(&fetcher, signed.transaction.call(), asked, shell).await.map_err(failure::built)?;
        let most = check(&chain, &signed).await?;
        let lines = readable::review(&network.name, &signed.transaction, Some(most));
        if !readable::confirmed(&lines, "send it? [y/N] ", args.send.yes, shell) {
            return Err(failure::anchor(AnchorError::NotConfirmed));
        }
        let _watch = interrupt::watch(signed.hash(), shell);
        let hash = submit(&chain, &signed, &state_folder, shell).await.map_err(failure::anchor)?;
        let wait = args.send.wait_for();
        let mut on_change = |state: State| shell.detail(&format!("{hash} is {}", state.as_str()));
        let expiry = Some(signed.transaction.expiry());
        let status = follow(&chain, &state_folder, hash, expiry, wait, &mut on_change).await;
        let status = status::or_unknown(status, &chain, hash, expiry, shell)?;
        Ok(status::show(&status, &chain, None, wait.is_some(), output.json, shell))
    })
}

/// The transaction with all its signatures, and the network it is for.
fn signed(
    args: &Args,
    config: &Config,
    output: &OutputOptions,
    state_folder: &Path,
) -> Result<(SignedTransaction, NetworkSettings), CliError> {
    let options = &args.reach.node.network;
    if let Some(hash) = file::hash(&args.transaction) {
        let settings = NetworkSettings::resolve(options, config)?;
        let found =
            Journal::find(state_folder, &settings.network.genesis, hash).map_err(|error| failure::anchor(error.into()))?;
        let (_, entry) = found.ok_or_else(|| {
            CliError::usage(format!("the journal of {} has no transaction {hash}", settings.network.name)).hint("give its file")
        })?;
        return Ok((entry.signed, settings));
    }
    match file::read(&args.transaction, file::Names::Transaction)? {
        Given::BlockItem(signed) => Ok((signed, NetworkSettings::resolve(options, config)?)),
        Given::Document(document) => {
            let settings = network_of(&document, options, output)?;
            Ok((complete(&document)?, settings))
        }
    }
}

fn complete(document: &Document) -> Result<SignedTransaction, CliError> {
    let (given, needed) = (document.signatures.count(), document.signature_count);
    document.signed().ok_or_else(|| {
        CliError::refused("not_enough_signatures", format!("the document has {given} of the {needed} signature(s) that it needs"))
            .hint("add them with `cardproof tx sign`")
    })
}

/// Checks the signatures against the account's keys and its funds. Returns the most it can cost, in microCCD.
async fn check(chain: &ChainClient, signed: &SignedTransaction) -> Result<u64, CliError> {
    let check = async {
        let transaction = &signed.transaction;
        let address = transaction.sender();
        let block = chain.pin(AtBlock::LastFinalized).await?;
        let (account, price) = tokio::join!(chain.account(&block, address), chain.energy_price(&block));
        let network = chain.settings().network.name.to_string();
        let account = account?.ok_or(AnchorError::NoSuchAccount { address, network })?;
        if !check_signatures(&account, &transaction.hash_to_sign(), &signed.signatures)? {
            let needed = cardproof::anchor::signatures_needed(&account);
            return Err(AnchorError::NotEnoughSignatures { given: signed.signatures.count(), needed });
        }
        let cost = price?.microccd(transaction.energy()).ok_or_else(|| AnchorError::Build("its cost is out of range".into()))?;
        let available = account.available.unwrap_or(account.balance);
        if available < cost {
            return Err(AnchorError::InsufficientFunds { address, available, cost });
        }
        Ok(cost)
    };
    check.await.map_err(failure::anchor)
}

async fn submit(
    chain: &ChainClient,
    signed: &SignedTransaction,
    state_folder: &Path,
    shell: &Shell,
) -> Result<TransactionHash, AnchorError> {
    let hash = signed.hash();
    let session = Session::open(chain, state_folder, signed.transaction.sender()).await?;
    // A transaction that the chain has already, or never will have, is followed, not sent.
    let is_known = chain.transaction_status(hash).await? != TransactionStatus::Unknown;
    if !is_known && !session.is_settled(hash)? {
        session.refuse_repetition(signed)?;
        session.nonce(Some(signed.transaction.nonce())).await?;
        session.record(signed)?;
        shell.always(&format!("the transaction is {hash}"));
        session.send(signed).await?;
    }
    Ok(hash)
}
