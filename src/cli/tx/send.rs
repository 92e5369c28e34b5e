use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use cardproof::anchor::journal::Journal;
use cardproof::anchor::{
    check_signatures, dry_run, follow, schema_json, AnchorError, Document, Session, SignedTransaction, State,
};
use cardproof::chain::{AgentReader, AtBlock, ChainClient, TransactionStatus};
use cardproof::fetch::Fetcher;

use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::failure;
use crate::cli::interrupt;
use crate::cli::options::OutputOptions;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;
use crate::cli::terminal::ccd;

use super::entry_point::Build;
use super::file::{self, Given};
use super::options::{ReachOptions, SendOptions};
use super::readable::{self, MOMENT};
use super::run::{check_url, require_still_served};
use super::sign::network_of;
use super::status;

/// Send a signed transaction, once, and follow it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A signed transaction document or a block item in hexadecimal, from a file or - ; or the hash of one in the journal
    #[arg(value_name = "FILE|HEX|HASH")]
    transaction: OsString,
    /// Send it without trying it first, even if its parameter cannot be read: what fails costs its fee all the same
    #[arg(long)]
    no_dry_run: bool,
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
        let hash = signed.hash();
        if submit(args, &signed, &chain, &fetcher, &state_folder, shell).await? {
            shell.note("it is on its way or over already: it is followed, and not sent again");
        }
        let _watch = interrupt::watch(hash, shell);
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
        Given::Sponsored(_) => Err(file::sponsored("send")),
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

/// Checks everything that can be known before it costs anything: the parameter, the signatures, the funds, and
/// by a dry run what would come of it. Returns the most it can cost, in microCCD.
async fn check(args: &Args, signed: &SignedTransaction, chain: &ChainClient) -> Result<u64, CliError> {
    let transaction = &signed.transaction;
    if !args.no_dry_run {
        schema_json(transaction.call()).map_err(|error| {
            CliError::refused("unreadable_parameter", format!("{error}; nothing was sent")).hint(ALL_THE_SAME)
        })?;
    }
    let check = async {
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
        if !args.no_dry_run {
            let (used, _) = dry_run(chain, &block, transaction.call(), address).await?;
            let needed = used.saturating_add(transaction.call().base_energy(signed.signatures.count()));
            if needed > transaction.energy() {
                return Err(AnchorError::OutOfEnergy { needed, allowed: transaction.energy() });
            }
        }
        Ok(cost)
    };
    check.await.map_err(|error| match error {
        AnchorError::WouldBeRejected { .. } => failure::anchor(error).hint(ALL_THE_SAME),
        // It is signed: its energy cannot be another any more.
        AnchorError::OutOfEnergy { .. } => {
            failure::anchor(error).hint(format!("build it again with more energy; {ALL_THE_SAME}"))
        }
        // It was built for fewer, and its energy pays for no more.
        AnchorError::NotEnoughSignatures { needed, .. } => {
            let command = Build::command_of(transaction.call());
            failure::anchor(error).hint(format!(
                "build it again for that many with `{command} … --signature-count {needed} --build-only --out <FILE>`, sign it with \
                 `cardproof tx sign`, and send it with `cardproof tx send`"
            ))
        }
        _ => failure::anchor(error),
    })
}

const ALL_THE_SAME: &str = "send it all the same with --no-dry-run";

/// Sends the transaction, unless the chain has it already, or never will have it. Returns whether that was so.
async fn submit(
    args: &Args,
    signed: &SignedTransaction,
    chain: &ChainClient,
    fetcher: &Fetcher,
    state_folder: &Path,
    shell: &Shell,
) -> Result<bool, CliError> {
    let (hash, transaction) = (signed.hash(), &signed.transaction);
    let unsent = interrupt::watch_unsent(shell);
    let open = async {
        let mut tell = |waiting: String| shell.note(&waiting);
        let session = Session::open_telling(chain, state_folder, transaction.sender(), &mut tell).await?;
        let is_known = chain.transaction_status(hash).await? != TransactionStatus::Unknown;
        if is_known || session.is_settled(hash)? {
            return Ok(None);
        }
        session.refuse_repetition(signed)?;
        let turn = session.turn(Some(transaction.nonce())).await?;
        Ok(Some((session, turn)))
    };
    let Some((session, turn)) = open.await.map_err(failure::anchor)? else { return Ok(true) };
    if turn.after_pending && !args.no_dry_run {
        shell.note("transactions of the account are on their way: what is tried now does not know what they change");
    }
    let asked = !args.send.no_url_check;
    check_url(fetcher, transaction.call(), asked, shell).await.map_err(failure::built)?;
    let most = check(args, signed, chain).await?;
    let cost = format!("{} at most", ccd(most));
    let lines = readable::review(&chain.settings().network.name, transaction, &cost);
    let asked = Instant::now();
    if !readable::confirmed(&lines, "send it? [y/N] ", args.send.yes, shell) {
        return Err(failure::anchor(AnchorError::NotConfirmed));
    }
    if asked.elapsed() > MOMENT {
        let asked = !args.send.no_url_check;
        require_still_served(fetcher, transaction.call(), asked).await.map_err(failure::built)?;
        check(args, signed, chain).await?;
        session.turn(Some(transaction.nonce())).await.map_err(failure::anchor)?;
    }
    session.record(signed).map_err(failure::anchor)?;
    shell.always(&format!("the transaction is {hash}"));
    let _watch = interrupt::watch(hash, shell);
    drop(unsent);
    if let Some(error) = session.send(signed).await.map_err(failure::anchor)? {
        shell.warning(&format!("it is sent, and that could not be written down: {error}"));
    }
    Ok(false)
}
