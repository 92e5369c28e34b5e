//! How failures of the anchor room end a command.

use cardproof::anchor::flow::FlowError;
use cardproof::anchor::journal::JournalError;
use cardproof::anchor::keys::KeyError;
use cardproof::anchor::AnchorError;

use super::connect;
use super::exit::CliError;

/// Keys that cannot be used are refused before any work.
pub(crate) fn keys(error: &KeyError) -> CliError {
    let code = match error {
        KeyError::OpenToOthers { .. } => "key_file_open_to_others",
        KeyError::PasswordNeeded(_) => "password_needed",
        KeyError::WrongPassword(_) => "wrong_password",
        KeyError::OtherAccount(_) | KeyError::SenderNeeded | KeyError::SeveralAccounts(_) => "wrong_sender",
        _ => "keys",
    };
    CliError::refused(code, error.to_string())
}

/// A failure with its exit code.
pub(crate) fn anchor(error: AnchorError) -> CliError {
    let message = error.to_string();
    match error {
        AnchorError::Key(error) => keys(&error),
        AnchorError::Chain(error) => connect::refused(error),
        AnchorError::Flow(error) => flow(error),
        AnchorError::Journal(JournalError::Busy(_)) => CliError::cannot_tell("account_busy", message),
        AnchorError::Journal(JournalError::Damaged { .. }) => CliError::refused("journal_damaged", message),
        AnchorError::Journal(JournalError::Disk { .. }) => CliError::internal(message),
        AnchorError::WalletNetwork { .. } | AnchorError::DocumentNetwork { .. } => {
            CliError::refused("wrong_network", message).hint("choose the network with --network")
        }
        AnchorError::NoSuchAccount { .. } => CliError::refused("no_such_account", message).hint("check --sender and --network"),
        AnchorError::ForeignKey { .. } => CliError::refused("foreign_key", message),
        AnchorError::BadSignature { .. } => CliError::refused("bad_signature", message),
        AnchorError::SignatureConflict { .. } => CliError::refused("signature_conflict", message),
        AnchorError::NotEnoughSignatures { .. } => CliError::refused("not_enough_signatures", message),
        AnchorError::Signer(_) => CliError::cannot_tell("signer", message),
        AnchorError::Build(_) => CliError::usage(message),
        AnchorError::NotATransaction(_) => CliError::negative("not_a_transaction", message),
        AnchorError::Document { .. } => CliError::negative("inconsistent", message),
        AnchorError::WouldBeRejected { .. } => CliError::negative("would_be_rejected", message),
        AnchorError::OutOfEnergy { needed, .. } => CliError::negative("out_of_energy", message)
            .hint(format!("allow it at least {needed} NRG with --energy, or leave --energy out")),
        AnchorError::InsufficientFunds { .. } => CliError::negative("insufficient_funds", message),
        AnchorError::Pending { .. } => CliError::refused("pending_transactions", message),
        AnchorError::NonceUsed { .. } => CliError::refused("nonce_used", message),
        AnchorError::NonceGap { .. } => CliError::refused("nonce_gap", message),
        AnchorError::Expired(_) => CliError::refused("expired", message),
        AnchorError::Repeated { .. } => CliError::refused("already_signed", message),
        AnchorError::Refused { .. } => CliError::negative("refused_by_node", message),
        AnchorError::SendUnclear { .. } => CliError::cannot_tell("send_unclear", message),
        AnchorError::NotConfirmed => CliError::refused("not_confirmed", message),
    }
}

fn flow(error: FlowError) -> CliError {
    let message = error.to_string();
    match error {
        FlowError::Differs(_) => CliError::negative("card_differs", message)
            .hint("host the local file's exact bytes, or anchor all the same with --no-url-check"),
        FlowError::HashDiffers { .. } => {
            CliError::negative("card_differs", message).hint("host what is to be anchored, or go on with --no-url-check")
        }
        FlowError::Fetch { .. } => {
            CliError::cannot_tell("card_not_fetched", message).hint("host the card first, or go on with --no-url-check")
        }
        FlowError::LengthUnverified { .. } => CliError::cannot_tell("length_unverified", message),
        FlowError::AgentNotFound(_) => {
            CliError::negative("agent_not_found", message).hint("check the agent, --network and --contract")
        }
        FlowError::AgentRevoked(_) => CliError::negative("agent_revoked", message),
        FlowError::NotOwner { .. } => CliError::negative("not_owner", message).hint("sign with the owner's keys"),
        FlowError::NoUri(_) => CliError::usage(message),
        FlowError::Duplicate { .. } => CliError::refused("duplicate", message),
        FlowError::SearchIncomplete { .. } => CliError::cannot_tell("search_incomplete", message),
        FlowError::Template(_) => CliError::usage(message),
        FlowError::Rejected { .. } => CliError::negative("rejected", message),
        FlowError::StillPending { .. } => CliError::cannot_tell("still_pending", message),
        FlowError::NoTokenId(_) => CliError::cannot_tell("no_token_id", message),
        FlowError::NotHosted { .. } => CliError::cannot_tell("not_hosted", message),
        FlowError::File { .. } => CliError::internal(message),
        FlowError::State { .. } => CliError::refused("state_damaged", message),
    }
}
