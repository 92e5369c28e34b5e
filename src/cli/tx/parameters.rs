//! The entry points as commands: each turns its options into a parameter.

use std::path::{Path, PathBuf};

use cardproof::digest::Sha256Digest;
use cardproof::identity::{AccountAddress, AgentName, ContractAddress};
use cardproof::registry::parameter::EntryPoint;
use cardproof::registry::MetadataEntry;
use clap::Args;

use crate::cli::exit::CliError;

use super::options::When;

/// The parameter as a whole, instead of the options for its parts.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Parameter as a whole")]
pub(crate) struct WholeParameter {
    /// The whole parameter as the contract's schema JSON, from this file; - is standard input
    #[arg(long, value_name = "FILE", group = "whole")]
    pub(crate) parameter_json: Option<PathBuf>,
    /// The whole parameter's bytes
    #[arg(long, value_name = "HEX", group = "whole")]
    pub(crate) parameter_hex: Option<String>,
}

impl WholeParameter {
    /// Whether it was given.
    pub(crate) fn is_given(&self) -> bool {
        self.parameter_json.is_some() || self.parameter_hex.is_some()
    }

    /// The file that it is in.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.parameter_json.as_deref()
    }

    /// The bytes, when the parameter was given as a whole; they are a parameter of `entry_point`.
    pub(crate) fn read(&self, entry_point: EntryPoint) -> Result<Option<Vec<u8>>, CliError> {
        let name = entry_point.receive_name();
        if let Some(text) = &self.parameter_hex {
            let text = text.strip_prefix("0x").unwrap_or(text);
            let bytes = hex::decode(text).map_err(|_| CliError::usage("--parameter-hex is not hexadecimal"))?;
            let no_parameter = |error| CliError::usage(format!("--parameter-hex is no parameter of {name}: {error}"));
            entry_point.parameter_json(&bytes).map_err(no_parameter)?;
            return Ok(Some(bytes));
        }
        let Some(path) = &self.parameter_json else { return Ok(None) };
        let json = super::file::json(path)?;
        let no_parameter = |error| CliError::usage(format!("{} is no parameter of {name}: {error}", path.display()));
        entry_point.parameter_from_json(&json).map_err(no_parameter).map(Some)
    }
}

/// Register a new agent
#[derive(Debug, Clone, Args)]
pub(crate) struct Register {
    /// Where the card is hosted
    #[arg(long, value_name = "URI")]
    pub(crate) uri: Option<String>,
    /// The SHA-256 of the card's raw bytes
    #[arg(long, value_name = "HEX", group = "digest")]
    pub(crate) hash: Option<Sha256Digest>,
    /// Take the SHA-256 of this file
    #[arg(long, value_name = "FILE", group = "digest")]
    pub(crate) card: Option<PathBuf>,
    /// A key and value to store with the agent (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) metadata: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) reference: Reference,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Set or erase an agent's URI and hash (an absent value erases, so each must be said)
#[derive(Debug, Clone, Args)]
pub(crate) struct SetAgentUri {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT", required_unless_present = "whole")]
    pub(crate) agent: Option<AgentName>,
    /// The new SHA-256
    #[arg(long, value_name = "HEX", group = "digest")]
    pub(crate) hash: Option<Sha256Digest>,
    /// Take the SHA-256 of this file
    #[arg(long, value_name = "FILE", group = "digest")]
    pub(crate) card: Option<PathBuf>,
    /// Erase the hash
    #[arg(long, group = "digest")]
    pub(crate) clear_hash: bool,
    /// The new URI
    #[arg(long, value_name = "URI", group = "place")]
    pub(crate) uri: Option<String>,
    /// Keep the URI that the agent has
    #[arg(long, group = "place")]
    pub(crate) keep_uri: bool,
    /// Erase the URI
    #[arg(long, group = "place")]
    pub(crate) clear_uri: bool,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Bind an agent to a key of another chain, or end its binding
#[derive(Debug, Clone, Args)]
pub(crate) struct SetExternalReference {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT", required_unless_present = "whole")]
    pub(crate) agent: Option<AgentName>,
    #[command(flatten)]
    pub(crate) reference: Reference,
    /// End the binding
    #[arg(long, conflicts_with_all = ["namespace", "key_type", "public_key"])]
    pub(crate) clear_reference: bool,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Set the value of a metadata key
#[derive(Debug, Clone, Args)]
pub(crate) struct SetMetadata {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT", required_unless_present = "whole")]
    pub(crate) agent: Option<AgentName>,
    /// The key and its value, a text
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, group = "entry", required_unless_present_any = ["whole", "key"])]
    pub(crate) metadata: Option<(String, String)>,
    /// The key of a value that is given as bytes
    #[arg(long, value_name = "KEY", group = "entry", requires = "bytes")]
    pub(crate) key: Option<String>,
    /// The value's bytes
    #[arg(long, value_name = "HEX", requires = "key", group = "bytes")]
    pub(crate) value_hex: Option<String>,
    /// The value is this file's content
    #[arg(long, value_name = "FILE", requires = "key", group = "bytes")]
    pub(crate) value_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Set the account that receives an agent's payments; that account signs too
#[derive(Debug, Clone, Args)]
pub(crate) struct SetAgentWallet {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT", required_unless_present = "whole")]
    pub(crate) agent: Option<AgentName>,
    /// The wallet's account
    #[arg(long, value_name = "ADDRESS", required_unless_present = "whole")]
    pub(crate) wallet: Option<AccountAddress>,
    /// Until when the wallet's signature holds: a duration, an RFC 3339 time, or seconds since 1970
    #[arg(long, value_name = "TIME", required_unless_present = "whole")]
    pub(crate) deadline: Option<When>,
    /// The wallet's signatures over the message of `tx message agent-wallet`: {"0": {"0": "<128 hex>"}}, from a file
    #[arg(long, value_name = "FILE", group = "proof")]
    pub(crate) signatures: Option<PathBuf>,
    /// The wallet's keys, to sign the message here: a file, - or fd:<number>
    #[arg(long, value_name = "FILE", group = "proof", value_parser = super::options::secret_source())]
    pub(crate) wallet_keys: Option<cardproof::anchor::keys::SecretSource>,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Revoke an agent, for good
#[derive(Debug, Clone, Args)]
pub(crate) struct Revoke {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT", required_unless_present = "whole")]
    pub(crate) agent: Option<AgentName>,
    /// Why, for everyone to read
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Transfer an agent to another account (clears its external reference and wallet)
#[derive(Debug, Clone, Args)]
pub(crate) struct Transfer {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT", required_unless_present = "whole")]
    pub(crate) agent: Option<AgentName>,
    /// The new owner
    #[arg(long, value_name = "ADDRESS", required_unless_present = "whole")]
    pub(crate) to: Option<AccountAddress>,
    /// The present owner [default: the sender]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) from: Option<AccountAddress>,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Add or remove accounts that may act for the sender
#[derive(Debug, Clone, Args)]
pub(crate) struct UpdateOperator {
    /// An account to add (repeatable)
    #[arg(long, value_name = "ADDRESS", required_unless_present_any = ["remove", "whole"])]
    pub(crate) add: Vec<AccountAddress>,
    /// An account to remove (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) remove: Vec<AccountAddress>,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// A key of another chain in the CIS-8 registry, to refer to.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "External key")]
pub(crate) struct Reference {
    /// The key's namespace, for example solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1
    #[arg(long, value_name = "TEXT", requires_all = ["key_type", "public_key"])]
    pub(crate) namespace: Option<String>,
    /// ed25519, secp256k1-compressed or secp256k1-uncompressed
    #[arg(long, value_name = "TYPE", requires_all = ["namespace", "public_key"])]
    pub(crate) key_type: Option<String>,
    /// The key's bytes
    #[arg(long, value_name = "HEX", requires_all = ["namespace", "key_type"])]
    pub(crate) public_key: Option<String>,
    /// The CIS-8 registry that holds the key [default: the network's]
    #[arg(long, value_name = "INDEX,SUBINDEX")]
    pub(crate) cis8: Option<ContractAddress>,
}

/// A key of another chain.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "External key")]
pub(crate) struct ExternalKey {
    /// The key's namespace, for example solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1
    #[arg(long, value_name = "TEXT", required_unless_present = "whole")]
    pub(crate) namespace: Option<String>,
    /// ed25519, secp256k1-compressed or secp256k1-uncompressed
    #[arg(long, value_name = "TYPE", required_unless_present = "whole")]
    pub(crate) key_type: Option<String>,
    /// The key's bytes
    #[arg(long, value_name = "HEX", required_unless_present = "whole")]
    pub(crate) public_key: Option<String>,
    /// The CIS-8 registry [default: the network's]
    #[arg(long, value_name = "INDEX,SUBINDEX")]
    pub(crate) cis8: Option<ContractAddress>,
}

/// Bind a key of another chain to the sender in the CIS-8 registry
#[derive(Debug, Clone, Args)]
pub(crate) struct RegisterExternalKey {
    #[command(flatten)]
    pub(crate) key: ExternalKey,
    /// ethereum-personal-sign, solana-ed25519, fetch-ai-ed25519 or cosmos-secp256k1
    #[arg(long, value_name = "SCHEME", required_unless_present = "whole")]
    pub(crate) scheme: Option<String>,
    /// The key's signature over the message of `tx message external-key`, as the scheme says
    #[arg(long, value_name = "HEX", required_unless_present = "whole")]
    pub(crate) signature: Option<String>,
    /// A key and value to store with it (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) metadata: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Replace what the CIS-8 registry stores with a key of the sender
#[derive(Debug, Clone, Args)]
pub(crate) struct UpdateKeyMetadata {
    #[command(flatten)]
    pub(crate) key: ExternalKey,
    /// A key and value to store with it, in place of what is there (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) metadata: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// End the binding of a key in the CIS-8 registry
#[derive(Debug, Clone, Args)]
pub(crate) struct RevokeKey {
    #[command(flatten)]
    pub(crate) key: ExternalKey,
    #[command(flatten)]
    pub(crate) whole: WholeParameter,
}

/// Reads `key=value`; the value may hold further equal signs.
/// The keys and values of a new agent; which of two values a key has must not be left to the contract.
pub(crate) fn metadata_entries(metadata: &[(String, String)]) -> Result<Vec<MetadataEntry>, CliError> {
    let doubled = metadata.iter().enumerate().find(|(at, (key, _))| metadata.iter().take(*at).any(|(other, _)| other == key));
    if let Some((_, (key, _))) = doubled {
        return Err(CliError::usage(format!("--metadata gives the key {key} twice")).hint("give each key once"));
    }
    Ok(metadata.iter().map(|(key, value)| MetadataEntry { key: key.clone(), value: value.clone().into_bytes() }).collect())
}

pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is not KEY=VALUE")?;
    if key.is_empty() {
        return Err("the key is empty".into());
    }
    Ok((key.to_owned(), value.to_owned()))
}
