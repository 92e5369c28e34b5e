use std::ffi::OsString;
use std::path::Path;

use cardproof::anchor::journal::{Journal, JournalState};
use cardproof::anchor::{follow, AnchorError, State, Status};
use cardproof::chain::{AtBlock, ChainClient, TransactionHash};
use cardproof::registry::Timestamp;
use serde_json::Value;

use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::failure;
use crate::cli::interrupt;
use crate::cli::options::OutputOptions;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::{Shell, Style};
use crate::cli::terminal::ccd;

use super::file::{self, Given};
use super::options::{ReachOptions, SendOptions, When};
use super::sign::network_of;

/// Follow a transaction to its end, and say what it did
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The transaction's hash, or its document or block item
    #[arg(value_name = "HASH|FILE|HEX")]
    transaction: OsString,
    /// When it expires, if neither the journal nor the document says [seconds since 1970, or RFC 3339]
    #[arg(long, value_name = "TIME")]
    expiry: Option<When>,
    #[command(flatten)]
    send: SendOptions,
    #[command(flatten)]
    reach: ReachOptions,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let state_folder = args.send.state_folder(&config)?;
    let Named { hash, expiry, refused, settings } = named(args, &config, output, &state_folder)?;
    let reach = &args.reach;
    reach.require_online("")?;
    let network = &settings.network;
    let chain = connect::chain(&reach.node, &reach.tls, &config, network, network.registry, AtBlock::LastFinalized)?;
    super::super::block_on(async {
        let _watch = interrupt::watch(hash, shell);
        let mut on_change = |state: State| shell.detail(&format!("{hash} is {}", state.as_str()));
        let now = match follow(&chain, &state_folder, hash, expiry, None, &mut on_change).await {
            // A node that stumbles is asked again.
            Err(AnchorError::Chain(_)) if args.send.wait_for().is_some() && expiry.is_some() => {
                Status::unknown(&chain, hash, expiry)
            }
            now => now.map_err(failure::anchor)?,
        };
        if refused && now.state == State::Unknown {
            shell.note("the node refused this transaction when it was sent");
        }
        // Nothing is to come of a transaction that was refused, or that nobody knows and nobody says how long it is good for.
        let wait = args.send.wait_for().filter(|_| now.state != State::Unknown || (expiry.is_some() && !refused));
        if let (true, State::Unknown, Some(_), Some(expiry)) = (now.answered, now.state, wait, expiry) {
            let expiry = Timestamp(expiry.saturating_mul(1000));
            shell.note(&format!(
                "this node does not know it yet: waiting until it comes, or expires at {expiry}; --no-wait answers at once"
            ));
        }
        let status = match wait {
            Some(_) => follow(&chain, &state_folder, hash, expiry, wait, &mut on_change).await.map_err(failure::anchor)?,
            None => now,
        };
        // Asked how things stand, "not yet" is an answer only to someone who did not want to wait.
        let exit = show(&status, &chain, None, true, output.json, shell);
        Ok(exit)
    })
}

/// Which transaction, when it expires, whether a node refused it, and on which network it is.
struct Named {
    hash: TransactionHash,
    expiry: Option<u64>,
    refused: bool,
    settings: NetworkSettings,
}

fn named(args: &Args, config: &Config, output: &OutputOptions, state_folder: &Path) -> Result<Named, CliError> {
    let options = &args.reach.node.network;
    let chosen = args.expiry.map(When::seconds);
    if let Some(hash) = file::hash(&args.transaction) {
        let settings = NetworkSettings::resolve(options, config)?;
        let found =
            Journal::find(state_folder, &settings.network.genesis, hash).map_err(|error| failure::anchor(error.into()))?;
        let refused = found.as_ref().is_some_and(|(_, entry)| entry.state == JournalState::Refused);
        let expiry = found.map(|(_, entry)| entry.signed.transaction.expiry()).or(chosen);
        return Ok(Named { hash, expiry, refused, settings });
    }
    let given = file::read(&args.transaction, file::Names::Transaction)?;
    let (signed, settings) = match given {
        Given::Sponsored(sponsored) => {
            let settings = NetworkSettings::resolve(options, config)?;
            let hash = sponsored.hash().ok_or_else(|| CliError::usage("its sponsor has not signed it yet, so it has no hash"))?;
            return Ok(Named { hash, expiry: Some(sponsored.transaction.expiry()), refused: false, settings });
        }
        Given::BlockItem(signed) => (signed, NetworkSettings::resolve(options, config)?),
        Given::Document(document) => {
            let settings = network_of(&document, options, output)?;
            let signed = document.signed().ok_or_else(|| CliError::usage("the document is not signed yet, so it has no hash"))?;
            (signed, settings)
        }
    };
    Ok(Named { hash: signed.hash(), expiry: Some(signed.transaction.expiry()), refused: false, settings })
}

/// What became of a transaction that was sent. When no node says so any more, it is unknown, and its hash is not lost.
pub(crate) fn or_unknown(
    status: Result<Status, AnchorError>,
    chain: &ChainClient,
    hash: TransactionHash,
    expiry: Option<u64>,
    shell: &Shell,
) -> Result<Status, CliError> {
    match status {
        Err(AnchorError::Chain(error)) => {
            shell.warning(&format!("what became of it cannot be told now: {error}"));
            Ok(Status::unknown(chain, hash, expiry))
        }
        status => status.map_err(failure::anchor),
    }
}

/// Prints what is known of a transaction, and says how the command ends. `waited` makes "not finalized yet" a failure.
pub(crate) fn show(
    status: &Status,
    chain: &ChainClient,
    verify: Option<&Value>,
    waited: bool,
    json: bool,
    shell: &Shell,
) -> Exit {
    if let Some(why) = &status.unrecorded {
        shell.warning(&format!("the end of the transaction could not be written down: {why}"));
    }
    let document = status.to_json(chain, verify);
    if json {
        shell.document(&document);
    } else {
        for (label, value, style) in lines(status, &document) {
            shell.styled(&[(Style::Dim, &format!("{label:<11}")), (style, &value)]);
        }
    }
    match status.state {
        State::Finalized if status.rejection().is_none() => Exit::Ok,
        State::Finalized | State::Expired => Exit::Negative,
        _ if waited => Exit::CannotTell,
        _ => Exit::Ok,
    }
}

fn lines(status: &Status, document: &Value) -> Vec<(&'static str, String, Style)> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let state = match status.state {
        State::Expired => "expired: it is not on the chain and never will be; it is safe to build a new one".to_owned(),
        State::Unknown if !status.answered => "unknown: no node answered; look again later with cardproof tx status".to_owned(),
        State::Unknown if status.expiry.is_some() => {
            "unknown: this node does not know it, and it has not expired; look again later".to_owned()
        }
        State::Unknown => {
            "unknown: this node does not know it, nor is it known here when it expires; with --expiry it can be told \
            whether it may still come"
                .to_owned()
        }
        other => other.as_str().to_owned(),
    };
    let style = match status.state {
        State::Finalized if status.rejection().is_none() => Style::Green,
        State::Finalized | State::Expired => Style::Red,
        _ => Style::Yellow,
    };
    let mut lines = vec![("tx", status.hash.to_string(), Style::Plain), ("state", state, style)];
    let mut plain = |label, value: Option<String>| lines.extend(value.map(|value| (label, value, Style::Plain)));
    plain("rejected", status.rejection_words());
    let block = text("/block/hash").map(|hash| match (text("/block/height"), text("/block/time")) {
        (Some(height), Some(time)) => format!("{height} {hash} at {time}"),
        _ => hash,
    });
    plain("block", block);
    plain("energy", text("/energy").map(|energy| format!("{energy} NRG")));
    plain("cost", text("/microccd").and_then(|cost| cost.parse().ok()).map(ccd));
    for event in document.get("events").and_then(Value::as_array).into_iter().flatten() {
        plain("event", Some(event_line(event)));
    }
    plain("token id", text("/token_id"));
    plain("badge", text("/badge"));
    plain("caip19", text("/caip19"));
    plain("explorer", text("/explorer"));
    lines
}

/// `Registered: token_id=1, agent_uri=…`.
fn event_line(event: &Value) -> String {
    let name = event.get("name").and_then(Value::as_str).unwrap_or("Unknown");
    let fields = event
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(field, value)| !matches!(field.as_str(), "name" | "tag" | "contract") && !value.is_null());
    let fields: Vec<_> = fields
        .map(|(field, value)| match value {
            Value::String(text) => format!("{field}={text}"),
            other => format!("{field}={other}"),
        })
        .collect();
    format!("{name}: {}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use cardproof::chain::ChainSettings;
    use cardproof::identity::Network;

    use super::*;

    #[test]
    fn a_node_that_did_not_answer_is_not_said_to_know_nothing() {
        let mut settings = ChainSettings::new(Network::built_in("testnet").unwrap());
        settings.nodes = vec!["http://127.0.0.1:1".into()];
        let chain = ChainClient::new(settings).unwrap();
        for expiry in [None, Some(1)] {
            let status = Status::unknown(&chain, TransactionHash([1; 32]), expiry);
            let document = status.to_json(&chain, None);
            let state = lines(&status, &document).into_iter().find(|(label, ..)| *label == "state").unwrap().1;
            assert!(state.contains("no node answered") && !state.contains("does not know"), "{state}");
        }
    }
}
