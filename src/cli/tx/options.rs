//! Options that the commands which build, sign and send have in common.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cardproof::anchor::keys::{read_secret, AccountSigner, FileModes, KeyError, KeyFile, KeySelection, SecretSource};
use cardproof::anchor::{Choices, Energy};
use cardproof::identity::AccountAddress;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args};
use zeroize::Zeroizing;

use crate::cli::config::Config;
use crate::cli::exit::CliError;
use crate::cli::input;
use crate::cli::options::{FetchOptions, NodeOptions, TlsOptions};
use crate::cli::shell::Shell;

/// The account that signs, and its keys.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sender")]
pub(crate) struct SenderOptions {
    /// The account that sends and pays [default: the one the key file names]
    #[arg(long, value_name = "ADDRESS", env = "CARDPROOF_SENDER")]
    pub(crate) sender: Option<AccountAddress>,
    /// The account's keys: a file, - for standard input, or fd:<number>
    #[arg(long, value_name = "FILE", env = "CARDPROOF_KEYS", value_parser = secret_source())]
    pub(crate) keys: Option<SecretSource>,
    /// Which keys sign, as credential:key pairs, for example 0:0,0:1 [default: as many as the account needs]
    #[arg(long, value_name = "PAIRS")]
    pub(crate) signers: Option<KeySelection>,
    /// The password of an encrypted key file: a file, - or fd:<number> [default: asked for in the terminal]
    #[arg(long, value_name = "FILE", value_parser = secret_source())]
    pub(crate) password_file: Option<SecretSource>,
    /// Read key and password files that other users of the machine may open
    #[arg(long)]
    pub(crate) allow_open_key_file: bool,
}

/// Reads the name of a file with a secret, which need not be text.
pub(super) fn secret_source() -> impl TypedValueParser<Value = SecretSource> {
    OsStringValueParser::new().try_map(|argument| SecretSource::from_argument(&argument))
}

/// A signer, and the network that its wallet says the keys are for.
pub(crate) struct SenderKeys {
    pub(crate) signer: AccountSigner,
    pub(crate) environment: Option<String>,
}

impl SenderOptions {
    /// Reads the keys, when some were named.
    pub(crate) fn read(&self, shell: &Shell) -> Result<Option<SenderKeys>, CliError> {
        let Some(source) = &self.keys else { return Ok(None) };
        read_keys(source, self.sender, self.signers.as_ref(), self.password_file.as_ref(), self.modes(), shell).map(Some)
    }

    /// Reads the keys, which the command cannot do without. `without` is what the user can do who has none here.
    pub(crate) fn require(&self, without: &str, shell: &Shell) -> Result<SenderKeys, CliError> {
        self.read(shell)?.ok_or_else(|| {
            CliError::usage("signing needs the account's keys").hint(format!("name their file with --keys, or {without}"))
        })
    }

    pub(crate) fn modes(&self) -> FileModes {
        if self.allow_open_key_file {
            FileModes::Unchecked
        } else {
            FileModes::Checked
        }
    }
}

/// Reads a key file, asking for its password where that is needed and possible.
pub(crate) fn read_keys(
    source: &SecretSource,
    sender: Option<AccountAddress>,
    selection: Option<&KeySelection>,
    password_file: Option<&SecretSource>,
    modes: FileModes,
    shell: &Shell,
) -> Result<SenderKeys, CliError> {
    let is_stdin = |source: &&SecretSource| **source == SecretSource::Stdin;
    if [Some(source), password_file].into_iter().flatten().any(|source| is_stdin(&source)) {
        drop(input::stdin().map_err(|error| input::unreadable(Path::new("-"), &error))?);
    }
    let read = || -> Result<SenderKeys, KeyError> {
        let bytes = read_secret(source, modes)?;
        let mut ask = || match password_file {
            Some(file) => password_in(file, modes),
            None => shell.ask_secret("password of the key file: ").ok_or(KeyError::PasswordNeeded("a wallet or client export")),
        };
        let file = KeyFile::read(&bytes, &mut ask)?;
        let environment = file.environment().map(str::to_owned);
        Ok(SenderKeys { signer: file.signer(sender, selection)?, environment })
    };
    read().map_err(|error| crate::cli::failure::keys(&error))
}

/// The first line of a file.
fn password_in(source: &SecretSource, modes: FileModes) -> Result<Zeroizing<String>, KeyError> {
    let bytes = read_secret(source, modes)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = std::str::from_utf8(line).map_err(|_| KeyError::Unsupported("the password file is not text in UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// What goes into the transaction's header.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Transaction")]
pub(crate) struct HeaderOptions {
    /// The account's sequence number to use [default: the next one, by the node]
    #[arg(long, value_name = "N")]
    pub(crate) nonce: Option<u64>,
    /// When the transaction expires: a duration such as 10m, an RFC 3339 time, or seconds since 1970 [default: 10m]
    #[arg(long, value_name = "TIME")]
    pub(crate) expiry: Option<When>,
    /// The energy (NRG) that the whole transaction may take [default: what a dry run used, and a margin]
    #[arg(long, value_name = "NRG", conflicts_with = "execution_energy")]
    pub(crate) energy: Option<u64>,
    /// The energy (NRG) that the contract may take; signatures and bytes are added
    #[arg(long, value_name = "NRG")]
    pub(crate) execution_energy: Option<u64>,
    /// How many signatures the energy must pay for [default: as many as the keys give or the account needs; offline 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255 * 255))]
    pub(crate) signature_count: Option<u32>,
}

impl HeaderOptions {
    pub(crate) fn choices(&self) -> Choices {
        Choices {
            nonce: self.nonce,
            expiry: self.expiry.filter(|expiry| expiry.lifetime.is_none()).map(When::seconds),
            lifetime: self.expiry.and_then(|expiry| expiry.lifetime),
            energy: self.energy.map(Energy::Total).or(self.execution_energy.map(Energy::Execution)),
            signatures: self.signature_count,
        }
    }

    /// Whether nothing needs to be asked of a node to build the transaction.
    pub(crate) fn is_complete(&self) -> bool {
        self.nonce.is_some() && self.expiry.is_some() && (self.energy.is_some() || self.execution_energy.is_some())
    }
}

/// Where journals are, whether to ask, and how long to wait.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sending")]
pub(crate) struct SendOptions {
    /// Answer the confirmation with yes; required where there is no terminal to ask
    #[arg(long, visible_alias = "no-confirm", short = 'y')]
    pub(crate) yes: bool,
    /// Wait until the transaction is finalized (the default)
    #[arg(long, conflicts_with = "no_wait")]
    pub(crate) wait: bool,
    /// Return when a node has taken the transaction
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// How long to wait at most [default: 20m]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, conflicts_with = "no_wait")]
    pub(crate) wait_timeout: Option<Duration>,
    /// The folder with the journal of transactions [default: cardproof in the XDG state folder]
    #[arg(long, value_name = "FOLDER", env = "CARDPROOF_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Do not require the URI to serve the card that is anchored
    #[arg(long)]
    pub(crate) no_url_check: bool,
}

/// Long enough for a transaction with the usual expiry to be finalized or to expire.
const USUAL_WAIT: Duration = Duration::from_secs(20 * 60);

impl SendOptions {
    pub(crate) fn wait_for(&self) -> Option<Duration> {
        (!self.no_wait).then(|| self.wait_timeout.unwrap_or(USUAL_WAIT))
    }

    pub(crate) fn state_folder(&self, config: &Config) -> Result<PathBuf, CliError> {
        use etcetera::BaseStrategy;

        if let Some(folder) = self.state_dir.clone().or_else(|| config.state_dir.clone()) {
            return Ok(folder);
        }
        let usual = etcetera::base_strategy::Xdg::new().ok().and_then(|folders| folders.state_dir());
        usual.map(|folder| folder.join("cardproof")).ok_or_else(|| {
            CliError::refused("configuration", "there is no home folder to keep the journal of transactions in")
                .hint("name one with --state-dir")
        })
    }
}

/// The node, TLS and fetching options, together.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReachOptions {
    #[command(flatten)]
    pub(crate) node: NodeOptions,
    #[command(flatten)]
    pub(crate) fetch: FetchOptions,
    #[command(flatten)]
    pub(crate) tls: TlsOptions,
}

impl ReachOptions {
    /// Refuses `--offline` where nothing can be done without a node. `instead` is what can.
    pub(crate) fn require_online(&self, instead: &str) -> Result<(), CliError> {
        if !self.node.is_offline() {
            return Ok(());
        }
        Err(CliError::refused("offline", "this needs a node, and --offline forbids it")
            .hint(format!("leave --offline out{instead}")))
    }
}

/// What to do with the transaction instead of sending it.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Mode")]
pub(crate) struct ModeOptions {
    /// Only build the transaction and print it; needs no node when nonce, expiry and energy are given
    #[arg(long, group = "mode")]
    pub(crate) build_only: bool,
    /// Only try it, and print what it would do and cost
    #[arg(long, group = "mode", action = ArgAction::SetTrue)]
    pub(crate) dry_run: bool,
    /// Only build and sign it and print it
    #[arg(long, group = "mode")]
    pub(crate) sign_only: bool,
}

/// What every command has that builds a transaction of one entry point.
#[derive(Debug, Clone, Args)]
pub(crate) struct SharedOptions {
    #[command(flatten)]
    pub(crate) mode: ModeOptions,
    #[command(flatten)]
    pub(crate) header: HeaderOptions,
    #[command(flatten)]
    pub(crate) sender: SenderOptions,
    #[command(flatten)]
    pub(crate) send: SendOptions,
    /// Write the transaction document to this file, too
    #[arg(long, value_name = "FILE", help_heading = "Mode")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reach: ReachOptions,
}

/// A point in time: a duration from now, or absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct When {
    milliseconds: u64,
    /// What was said, in seconds, when it was a duration: it counts from each use anew where there are several.
    lifetime: Option<u64>,
}

impl When {
    pub(crate) fn seconds(self) -> u64 {
        self.milliseconds / 1000
    }

    pub(crate) fn milliseconds(self) -> u64 {
        self.milliseconds
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "it is neither a duration such as 10m, nor an RFC 3339 time, nor seconds since 1970".to_owned();
        if text.bytes().all(|b| b.is_ascii_digit()) {
            let seconds: u64 = text.parse().map_err(|_| wrong())?;
            return seconds.checked_mul(1000).map(|milliseconds| Self { milliseconds, lifetime: None }).ok_or_else(wrong);
        }
        let duration = humantime::parse_duration(text).ok();
        let time = match duration {
            Some(duration) => SystemTime::now().checked_add(duration),
            None => humantime::parse_rfc3339_weak(text).ok(),
        };
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).ok_or_else(wrong)?;
        u64::try_from(since.as_millis())
            .map(|milliseconds| Self { milliseconds, lifetime: duration.map(|duration| duration.as_secs()) })
            .map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_relative_or_absolute() {
        assert_eq!("1798761600".parse::<When>().unwrap().seconds(), 1_798_761_600);
        assert_eq!("2027-01-01T00:00:00Z".parse::<When>().unwrap().seconds(), 1_798_761_600);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let in_ten_minutes = "10m".parse::<When>().unwrap().seconds();
        assert!((now + 599..=now + 601).contains(&in_ten_minutes));
        for text in ["", "soon", "-5m", "99999999999999999999", "18446744073709551615"] {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }
}
