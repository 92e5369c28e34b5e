//! The two messages that are signed outside of a transaction.

use cardproof::anchor::{check_environment, Signer, ToSign};
use cardproof::chain::AtBlock;
use cardproof::digest::Sha256Digest;
use cardproof::identity::{AccountAddress, AgentName, Badge, ContractAddress, TokenId};
use cardproof::registry::parameter as wire;
use cardproof::registry::Timestamp;
use clap::Subcommand;
use serde_json::{json, Value};

use crate::cli::config::Config;
use crate::cli::connect;
use crate::cli::exit::{CliError, Exit};
use crate::cli::failure;
use crate::cli::options::{NetworkOptions, NodeOptions, OutputOptions, TlsOptions};
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;

use super::cis8::public_key;
use super::entry_point::{wallet_message, WalletMessage};
use super::options::{SenderOptions, When};

/// Print a message that is signed outside of a transaction
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Message {
    /// The message that an account signs to become an agent's wallet (162 bytes, without any prefix)
    AgentWallet(Box<AgentWallet>),
    /// The message that the holder of an external key signs to be bound to an account
    ExternalKey(Box<ExternalKeyMessage>),
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AgentWallet {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT")]
    agent: AgentName,
    /// The account that shall be the wallet
    #[arg(long, value_name = "ADDRESS")]
    wallet: AccountAddress,
    /// Until when the signature holds: a duration, an RFC 3339 time, or seconds since 1970
    #[arg(long, value_name = "TIME")]
    deadline: When,
    /// The agent's owner, to do without a node
    #[arg(long, value_name = "ADDRESS", requires = "wallet_nonce")]
    owner: Option<AccountAddress>,
    /// The agent's wallet nonce, to do without a node
    #[arg(long, value_name = "N", requires = "owner")]
    wallet_nonce: Option<u64>,
    /// The wallet's keys and how to read them; with --keys the message is signed too
    #[command(flatten)]
    sender: SenderOptions,
    #[command(flatten)]
    node: NodeOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ExternalKeyMessage {
    /// The account that the key is bound to
    #[arg(long, value_name = "ADDRESS")]
    account: AccountAddress,
    /// The key's namespace, for example solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1
    #[arg(long, value_name = "TEXT")]
    namespace: String,
    /// ed25519, secp256k1-compressed or secp256k1-uncompressed
    #[arg(long, value_name = "TYPE")]
    key_type: String,
    /// The key's bytes
    #[arg(long, value_name = "HEX")]
    public_key: String,
    /// The CIS-8 registry [default: the network's]
    #[arg(long, value_name = "INDEX,SUBINDEX")]
    cis8: Option<ContractAddress>,
    /// The external namespace in the message [default: the key's namespace]
    #[arg(long, value_name = "TEXT")]
    external_namespace: Option<String>,
    /// ethereum-personal-sign, solana-ed25519, fetch-ai-ed25519 or cosmos-secp256k1
    #[arg(long, value_name = "SCHEME")]
    scheme: String,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(crate) fn run(message: &Message, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    match message {
        Message::AgentWallet(args) => agent_wallet(args, shell, output),
        Message::ExternalKey(args) => external_key_message(args, shell, output),
    }
}

fn agent_wallet(args: &AgentWallet, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let settings = NetworkSettings::resolve(&args.node.network, &config)?;
    let (contract, agent) = settings.locate(&args.agent)?;
    let deadline = Timestamp(args.deadline.milliseconds());
    let options = SenderOptions { sender: Some(args.wallet), ..args.sender.clone() };
    let keys = options.read(shell)?;
    let environment = keys.as_ref().and_then(|keys| keys.environment.as_deref());
    check_environment(environment, &settings.network).map_err(failure::anchor)?;
    let (message, signatures) = super::super::block_on(async {
        let message = match (&args.owner, args.wallet_nonce) {
            (Some(owner), Some(nonce)) => {
                let genesis = &settings.network.genesis;
                let bytes = wire::set_agent_wallet_message(agent, owner, &args.wallet, nonce, deadline, contract, genesis);
                WalletMessage { bytes, owner: *owner, nonce }
            }
            _ => {
                let chain = connect::chain(&args.node, &args.tls, &config, &settings.network, contract, AtBlock::LastFinalized)?;
                wallet_message(&chain, contract, agent, args.wallet, deadline).await?
            }
        };
        // What is signed is shown before, and what the owner needs to go on is told.
        for (label, value) in lines(&message, &settings, contract, agent, args) {
            shell.note(&format!("{label:<11}{value}"));
        }
        let signatures = match &keys {
            Some(keys) => Some(keys.signer.sign(ToSign::Message(&message.bytes)).await.map_err(failure::anchor)?),
            None => None,
        };
        Ok((message, signatures))
    })?;
    let signatures = signatures.map(|signatures| signatures.to_json());
    let next = next(&settings, contract, agent, args);
    let more = json!({
        "network": settings.network.name,
        "genesis_hash": settings.network.genesis.to_string(),
        "contract": {"index": contract.index.to_string(), "subindex": contract.subindex.to_string()},
        "token_id": agent.to_string(),
        "wallet": args.wallet.to_string(),
        "owner": message.owner.to_string(),
        "wallet_nonce": message.nonce.to_string(),
        "deadline": deadline.to_rfc3339(),
        "deadline_ms": deadline.0,
        "next": next,
    });
    give("setAgentWallet", &message.bytes, signatures, &more, output.json, shell);
    shell.note(&format!("next       {next}"));
    Ok(Exit::Ok)
}

fn lines(
    message: &WalletMessage,
    settings: &NetworkSettings,
    contract: ContractAddress,
    agent: TokenId,
    args: &AgentWallet,
) -> Vec<(&'static str, String)> {
    vec![
        ("network", settings.network.name.to_string()),
        ("contract", format!("{contract} CIS-8004.setAgentWallet")),
        ("agent", format!("{agent}, of account {} (wallet nonce {})", message.owner, message.nonce)),
        ("wallet", args.wallet.to_string()),
        ("deadline", Timestamp(args.deadline.milliseconds()).to_rfc3339()),
    ]
}

/// The command with which the owner puts the signatures to use: with the deadline that was signed, to the millisecond.
fn next(settings: &NetworkSettings, contract: ContractAddress, agent: TokenId, args: &AgentWallet) -> String {
    let agent = match contract == settings.network.registry {
        true => agent.to_string(),
        false => Badge { contract, token_id: agent }.to_string(),
    };
    format!(
        "cardproof tx set-agent-wallet {agent} --network {} --wallet {} --deadline {} --signatures <FILE> --keys <THE OWNER'S KEYS>",
        settings.network.name,
        args.wallet,
        Timestamp(args.deadline.milliseconds()).to_rfc3339()
    )
}

fn external_key_message(args: &ExternalKeyMessage, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let network = NetworkSettings::resolve(&args.network, &config)?.network;
    let key = wire::ExternalKeyId {
        namespace: args.namespace.clone(),
        key_type: args.key_type.clone(),
        public_key: public_key(&args.public_key)?,
    };
    let namespace = args.external_namespace.as_deref().unwrap_or(&key.namespace);
    let cis8 = args.cis8.unwrap_or(network.cis8);
    let message = wire::key_binding_message(&args.account, cis8, &network.genesis, namespace, &key, &args.scheme);
    give("registerExternalKey", &message, None, &Value::Null, output.json, shell);
    Ok(Exit::Ok)
}

/// Prints the message in hexadecimal, and in JSON `more` about it; with signatures, these are the result.
fn give(purpose: &str, message: &[u8], signatures: Option<Value>, more: &Value, json: bool, shell: &Shell) {
    if json {
        let mut document = json!({
            "schema": "cardproof.message/1",
            "purpose": purpose,
            "message_hex": hex::encode(message),
            "bytes": message.len(),
            "sha256": Sha256Digest::of(message).to_string(),
            "signatures": signatures,
        });
        if let (Value::Object(fields), Value::Object(more)) = (&mut document, more) {
            fields.extend(more.clone());
        }
        shell.document(&document);
    } else if let Some(signatures) = signatures {
        shell.document(&signatures);
    } else {
        shell.line(&hex::encode(message));
    }
}
