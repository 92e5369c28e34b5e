//! How failures of the anchor room end a command.

use cardproof::anchor::flow::FlowError;
use cardproof::anchor::journal::JournalError;
use cardproof::anchor::keys::KeyError;
use cardproof::anchor::AnchorError;
use cardproof::fetch::{FailureKind, FetchFailure, Origin};
use cardproof::verify::Reason;
use url::{Host, Url};

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

/// A failure with its exit code, of a command that takes `--no-url-check`.
pub(crate) fn anchor(error: AnchorError) -> CliError {
    told(error, UrlCheck::Optional)
}

/// A failure with its exit code, where `--no-url-check` conflicts with what was typed.
pub(crate) fn anchor_checked(error: AnchorError) -> CliError {
    told(error, UrlCheck::Needed)
}

/// A failure with its exit code, of a transaction that was built before: its URI cannot be changed any more.
pub(crate) fn built(error: AnchorError) -> CliError {
    told(error, UrlCheck::Built)
}

/// Whether the command can do without the host: a hint names only what can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlCheck {
    Optional,
    Needed,
    Built,
}

impl UrlCheck {
    /// What helps, and what helps without the host where that can be done.
    fn or(self, hint: &str, without: &str) -> String {
        match self {
            Self::Optional | Self::Built => format!("{hint}, or {without}"),
            Self::Needed => hint.to_owned(),
        }
    }

    /// How another URI is named.
    fn another_uri(self) -> &'static str {
        match self {
            Self::Optional | Self::Needed => "name it with --uri",
            Self::Built => "build the transaction anew with that",
        }
    }
}

fn told(error: AnchorError, check: UrlCheck) -> CliError {
    let message = error.to_string();
    match error {
        AnchorError::Key(error) => keys(&error),
        AnchorError::Chain(error) => connect::refused(error),
        AnchorError::Flow(error) => flow(error, check),
        AnchorError::Journal(JournalError::Busy(_)) => CliError::cannot_tell("account_busy", message),
        AnchorError::Journal(JournalError::Damaged { .. }) => CliError::refused("journal_damaged", message),
        AnchorError::Journal(JournalError::Disk { .. }) => CliError::internal(message),
        AnchorError::WalletNetwork { .. } | AnchorError::DocumentNetwork { .. } => {
            CliError::refused("wrong_network", message).hint("choose the network with --network")
        }
        AnchorError::NoSuchAccount { .. } => {
            CliError::refused("no_such_account", message).hint("check the address and --network")
        }
        AnchorError::ForeignKey { .. } => CliError::refused("foreign_key", message),
        AnchorError::BadSignature { .. } => CliError::refused("bad_signature", message),
        AnchorError::SignatureConflict { .. } => CliError::refused("signature_conflict", message),
        AnchorError::NotEnoughSignatures { .. } => CliError::refused("not_enough_signatures", message).hint(
            "sign it with `cardproof tx register --sign-only --out <FILE>` (a card anew: `cardproof tx set-agent-uri --sign-only`), have the \
             others add theirs with `cardproof tx sign`, and send it with `cardproof tx send`",
        ),
        AnchorError::Signer(_) => CliError::cannot_tell("signer", message),
        AnchorError::Build(_) => CliError::usage(message),
        AnchorError::NotATransaction(_) => CliError::refused("not_a_transaction", message),
        AnchorError::Document { .. } => CliError::negative("inconsistent", message),
        AnchorError::WouldBeRejected { .. } => CliError::negative("would_be_rejected", message),
        AnchorError::OutOfEnergy { needed, .. } => CliError::negative("out_of_energy", message)
            .hint(format!("allow it at least {needed} NRG with --energy, or leave --energy out")),
        AnchorError::InsufficientFunds { .. } => CliError::negative("insufficient_funds", message),
        AnchorError::Pending { .. } => CliError::cannot_tell("pending_transactions", message)
            .hint("run the same command again when they are finalized"),
        AnchorError::NonceUsed { .. } => CliError::refused("nonce_used", message),
        AnchorError::NonceGap { .. } => CliError::refused("nonce_gap", message),
        AnchorError::Expired(_) => CliError::refused("expired", message),
        AnchorError::ExpiryTooFar(_) => CliError::refused("expiry_too_far", message),
        // To forget the journal of a public chain is how to do a thing twice.
        AnchorError::Repeated { is_local: true, .. } => CliError::refused("already_signed", message).hint(
            "if it is of a local chain that is gone, wait until it expires, or give the chain that was started anew a journal of its own with \
             --state-dir <FOLDER>",
        ),
        AnchorError::Repeated { .. } => CliError::refused("already_signed", message),
        AnchorError::Refused { .. } => CliError::negative("refused_by_node", message),
        AnchorError::SendUnclear { .. } => CliError::cannot_tell("send_unclear", message),
        AnchorError::NotConfirmed => CliError::refused("not_confirmed", message),
    }
}

fn flow(error: FlowError, check: UrlCheck) -> CliError {
    let message = error.to_string();
    let or = |hint: &str, other: &str| check.or(hint, other);
    match error {
        FlowError::Differs(_) => CliError::negative("card_differs", message)
            .hint(or("host the local file's exact bytes", "anchor all the same with --no-url-check")),
        FlowError::HashDiffers { .. } => {
            CliError::negative("card_differs", message).hint(or("host what is to be anchored", "go on with --no-url-check"))
        }
        FlowError::Fetch { uri, failure } => not_fetched(&uri, failure.kind, message, check),
        FlowError::LengthUnverified { .. } => CliError::cannot_tell("length_unverified", message),
        FlowError::NothingServed(_) => CliError::negative("empty_card", message).hint("host the card first"),
        FlowError::AgentNotFound(_) => {
            CliError::negative("agent_not_found", message).hint("check the agent, --network and --contract")
        }
        FlowError::AgentRevoked(_) => CliError::negative("agent_revoked", message),
        FlowError::NotOwner { .. } => CliError::negative("not_owner", message).hint("sign with the owner's keys"),
        FlowError::NoUri(_) => CliError::usage(message),
        FlowError::Duplicate { .. } => CliError::refused("duplicate", message),
        FlowError::OtherTemplate { agent, .. } => CliError::refused("duplicate", message).hint(format!(
            "undo the change of the card and run the same command again, or fill the changed card in yourself, host it, and anchor it with \
             `cardproof anchor {agent} --card <FILLED FILE>`"
        )),
        FlowError::SearchIncomplete { .. } => CliError::cannot_tell("search_incomplete", message),
        FlowError::Template(_) => CliError::usage(message),
        FlowError::Rejected { .. } => CliError::negative("rejected", message),
        FlowError::StillPending { .. } => CliError::cannot_tell("still_pending", message),
        FlowError::NoTokenId(_) => CliError::cannot_tell("no_token_id", message),
        FlowError::NotHosted { .. } => CliError::cannot_tell("not_hosted", message),
        FlowError::Changed(_) => CliError::refused("changed_meanwhile", message),
        FlowError::Busy => CliError::cannot_tell("registration_busy", message),
        FlowError::FilledCard { .. } => {
            CliError::refused("filled_card", message).hint("name a new file in a folder of yours with --filled-card <FILE>")
        }
        FlowError::NotWritten { token_id, .. } => CliError::internal(message)
            .hint(format!("agent {token_id} is registered; run the same command again with another --filled-card")),
        FlowError::File { .. } => CliError::internal(message),
        FlowError::Gone { .. } => CliError::refused("agent_gone", message),
        FlowError::State { .. } => CliError::refused("state_damaged", message),
    }
}

/// A URL that brought no body. What the user typed and nobody can fetch is a mistake that can be told at once; what a host does may be
/// otherwise later.
pub(crate) fn of_fetch(url: &str, failure: &FetchFailure, origin: Origin) -> CliError {
    use FailureKind as Kind;
    let message = format!("{url}: {failure}");
    let code = Reason::from(failure.kind).as_str();
    let is_its_own =
        matches!(failure.kind, Kind::InvalidUri | Kind::UnsupportedScheme | Kind::BlockedAddress | Kind::BlockedPort);
    if origin == Origin::User && is_its_own && failure.trace.hops.is_empty() {
        return CliError::refused(code, message);
    }
    CliError::cannot_tell(code, message)
}

/// What the URI itself forbids is refused, with the option that helps; what a host does not do now may be otherwise later.
fn not_fetched(uri: &str, kind: FailureKind, message: String, check: UrlCheck) -> CliError {
    let name_it = check.another_uri();
    let url = Url::parse(uri).ok();
    let scheme = url.as_ref().map_or("", Url::scheme);
    let plain = if scheme == "http" { "--allow-http and " } else { "" };
    let (code, hint) = match kind {
        FailureKind::InvalidUri => ("invalid_uri", format!("find the complete https URL of the card, and {name_it}")),
        FailureKind::UnsupportedScheme => (
            "unsupported_scheme",
            match (scheme, url.as_ref().and_then(private_host)) {
                ("http", Some(name)) => format!("allow it with --allow-http and --allow-private (or --allow-host {name})"),
                ("http", None) => "host the card at an https URL, or allow plain http with --allow-http".to_owned(),
                ("ipfs", _) => "name a gateway with --ipfs-gateway <URL>".to_owned(),
                _ => format!("host the card at an https URL, and {name_it}"),
            },
        ),
        // Some addresses nothing opens.
        FailureKind::BlockedAddress if !message.contains("--allow-private") => {
            ("blocked_address", format!("host the card at a public address, and {name_it}"))
        }
        FailureKind::BlockedAddress => (
            "blocked_address",
            match url.as_ref().and_then(Url::host_str) {
                Some(name) => format!("allow it with {plain}--allow-private, or this host alone with {plain}--allow-host {name}"),
                None => "allow it with --allow-private, or one host with --allow-host <name>".to_owned(),
            },
        ),
        FailureKind::BlockedPort => ("blocked_port", format!("host the card on a port that is for the web, and {name_it}")),
        _ => {
            let hint = check.or("host the card first", "go on with --no-url-check");
            return CliError::cannot_tell("card_not_fetched", message).hint(hint);
        }
    };
    CliError::refused(code, message).hint(hint)
}

/// The host of a URL that names this machine or an address that is not public.
fn private_host(url: &Url) -> Option<&str> {
    let is_private = match url.host()? {
        Host::Ipv4(ip) => ip.is_loopback() || ip.is_private(),
        Host::Ipv6(ip) => ip.is_loopback() || ip.is_unique_local(),
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
    };
    url.host_str().filter(|_| is_private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::Exit;

    #[test]
    fn too_few_signatures_name_commands_that_there_are() {
        let error = anchor(AnchorError::NotEnoughSignatures { given: 1, needed: 2 });
        let hint = error.hint.unwrap();
        assert!(hint.contains("tx register --sign-only") && hint.contains("tx set-agent-uri --sign-only"), "{hint}");
        assert!(!error.message.contains("--sign-only"), "neither register nor anchor has it: {}", error.message);
    }

    #[test]
    fn a_uri_that_is_not_fetched_is_refused_with_the_option_that_helps() {
        let refused = |uri: &str, kind| {
            let error = not_fetched(uri, kind, "it is private; --allow-private opens it".into(), UrlCheck::Optional);
            (error.exit, error.code, error.hint.unwrap())
        };
        let (exit, code, hint) = refused("http://127.0.0.1:8000/card.json", FailureKind::UnsupportedScheme);
        assert_eq!((exit, code), (Exit::Usage, "unsupported_scheme"));
        assert!(hint.contains("--allow-http") && hint.contains("--allow-private") && hint.contains("127.0.0.1"), "{hint}");
        let (exit, code, hint) = refused("http://127.0.0.1:8000/card.json", FailureKind::BlockedAddress);
        assert_eq!((exit, code), (Exit::Usage, "blocked_address"));
        assert!(hint.contains("--allow-http") && hint.contains("--allow-private"), "{hint}");
        let (_, _, hint) = refused("https://intranet.example/c", FailureKind::BlockedAddress);
        assert!(!hint.contains("--allow-http") && hint.contains("--allow-host intranet.example"), "{hint}");
        assert_eq!(refused("ftp://a.example/", FailureKind::UnsupportedScheme).0, Exit::Usage);
        assert_eq!(refused("https://a.example:22/", FailureKind::BlockedPort).1, "blocked_port");
        assert_eq!(refused("cards", FailureKind::InvalidUri).1, "invalid_uri");
        let (exit, code, hint) = refused("https://a.example/", FailureKind::NotFound);
        assert_eq!((exit, code), (Exit::CannotTell, "card_not_fetched"));
        assert!(hint.contains("--no-url-check"));
        let told = |kind, check| not_fetched("https://169.254.169.254/", kind, "it is link-local".into(), check).hint.unwrap();
        assert!(!told(FailureKind::BlockedAddress, UrlCheck::Optional).contains("--allow"), "nothing opens it");
        assert!(!told(FailureKind::NotFound, UrlCheck::Needed).contains("--no-url-check"));
        for kind in
            [FailureKind::InvalidUri, FailureKind::UnsupportedScheme, FailureKind::BlockedAddress, FailureKind::BlockedPort]
        {
            let hint = told(kind, UrlCheck::Built);
            assert!(!hint.contains("--uri") && hint.contains("anew"), "tx send has no --uri: {hint}");
        }
    }
}
