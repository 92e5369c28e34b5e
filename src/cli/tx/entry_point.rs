use cardproof::anchor::flow::Change;
use cardproof::anchor::{check_environment, parameter_call, signatures_from_json, Call, Signer, ToSign};
use cardproof::chain::{AgentReader, AtBlock, ChainClient};
use cardproof::digest::Sha256Digest;
use cardproof::identity::{AccountAddress, AgentName, ContractAddress, TokenId};
use cardproof::registry::parameter::{self as wire, EntryPoint, Parameter};
use cardproof::registry::{decode_agent_wallet_nonce, AgentRecord, ExternalReference, ReferenceKind, Timestamp};
use clap::{Args, Subcommand};

use crate::cli::connect;
use crate::cli::exit::CliError;
use crate::cli::failure;
use crate::cli::input;
use crate::cli::settings::NetworkSettings;
use crate::cli::shell::Shell;

use super::options::{read_keys, SenderOptions, SharedOptions};
use super::parameters as options;
use super::parameters::WholeParameter;

/// An entry point with the options that all of them share.
#[derive(Debug, Clone, Args)]
pub(crate) struct With<T: Args> {
    #[command(flatten)]
    pub(crate) entry: T,
    #[command(flatten)]
    pub(crate) shared: SharedOptions,
}

/// The entry points that change something.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Build {
    /// Register a new agent
    Register(With<options::Register>),
    /// Set or erase an agent's URI and hash; an absent value erases, so each must be said
    SetAgentUri(With<options::SetAgentUri>),
    /// Bind an agent to a key of another chain, or end its binding
    SetExternalReference(With<options::SetExternalReference>),
    /// Set the value of a metadata key
    SetMetadata(With<options::SetMetadata>),
    /// Set the account that receives an agent's payments; that account signs too
    SetAgentWallet(With<options::SetAgentWallet>),
    /// Revoke an agent, for good
    Revoke(With<options::Revoke>),
    /// Transfer an agent to another account; clears its external reference and wallet
    Transfer(With<options::Transfer>),
    /// Add or remove accounts that may act for the sender
    UpdateOperator(With<options::UpdateOperator>),
    /// Bind a key of another chain to the sender in the CIS-8 registry
    #[command(name = "cis8-register-external-key")]
    RegisterExternalKey(With<options::RegisterExternalKey>),
    /// Replace what the CIS-8 registry stores with a key of the sender
    #[command(name = "cis8-update-metadata")]
    UpdateKeyMetadata(With<options::UpdateKeyMetadata>),
    /// End the binding of a key in the CIS-8 registry
    #[command(name = "cis8-revoke")]
    RevokeKey(With<options::RevokeKey>),
}

/// What an entry point is called with, and what that changes.
#[derive(PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) call: Call,
    pub(crate) changes: Vec<Change>,
}

/// What turning options into a parameter may need.
pub(crate) struct Surroundings<'a> {
    pub(crate) settings: &'a NetworkSettings,
    /// The chain; `None` when the command runs without a node.
    pub(crate) chain: Option<&'a ChainClient>,
    pub(crate) sender: Option<AccountAddress>,
    pub(crate) sender_options: &'a SenderOptions,
    pub(crate) shell: &'a Shell,
}

impl Build {
    pub(crate) fn entry_point(&self) -> EntryPoint {
        match self {
            Self::Register(_) => EntryPoint::Register,
            Self::SetAgentUri(_) => EntryPoint::SetAgentUri,
            Self::SetExternalReference(_) => EntryPoint::SetExternalReference,
            Self::SetMetadata(_) => EntryPoint::SetMetadata,
            Self::SetAgentWallet(_) => EntryPoint::SetAgentWallet,
            Self::Revoke(_) => EntryPoint::Revoke,
            Self::Transfer(_) => EntryPoint::Transfers,
            Self::UpdateOperator(_) => EntryPoint::UpdateOperators,
            Self::RegisterExternalKey(_) => EntryPoint::RegisterExternalKey,
            Self::UpdateKeyMetadata(_) => EntryPoint::UpdateKeyMetadata,
            Self::RevokeKey(_) => EntryPoint::RevokeKey,
        }
    }

    /// The command that builds what this call is, as it is typed.
    pub(crate) fn command_of(call: &Call) -> &'static str {
        match EntryPoint::from_receive_name(&call.receive_name) {
            Some(EntryPoint::Register) => "cardproof tx register",
            Some(EntryPoint::SetAgentUri) => "cardproof tx set-agent-uri",
            Some(EntryPoint::SetExternalReference) => "cardproof tx set-external-reference",
            Some(EntryPoint::SetMetadata) => "cardproof tx set-metadata",
            Some(EntryPoint::SetAgentWallet) => "cardproof tx set-agent-wallet",
            Some(EntryPoint::Revoke) => "cardproof tx revoke",
            Some(EntryPoint::Transfers) => "cardproof tx transfer",
            Some(EntryPoint::UpdateOperators) => "cardproof tx update-operator",
            Some(EntryPoint::RegisterExternalKey) => "cardproof tx cis8-register-external-key",
            Some(EntryPoint::UpdateKeyMetadata) => "cardproof tx cis8-update-metadata",
            Some(EntryPoint::RevokeKey) => "cardproof tx cis8-revoke",
            _ => "cardproof tx <ENTRY POINT>",
        }
    }

    fn whole(&self) -> &WholeParameter {
        match self {
            Self::Register(args) => &args.entry.whole,
            Self::SetAgentUri(args) => &args.entry.whole,
            Self::SetExternalReference(args) => &args.entry.whole,
            Self::SetMetadata(args) => &args.entry.whole,
            Self::SetAgentWallet(args) => &args.entry.whole,
            Self::Revoke(args) => &args.entry.whole,
            Self::Transfer(args) => &args.entry.whole,
            Self::UpdateOperator(args) => &args.entry.whole,
            Self::RegisterExternalKey(args) => &args.entry.whole,
            Self::UpdateKeyMetadata(args) => &args.entry.whole,
            Self::RevokeKey(args) => &args.entry.whole,
        }
    }

    /// The options that all entry points share.
    pub(crate) fn shared(&self) -> &SharedOptions {
        match self {
            Self::Register(args) => &args.shared,
            Self::SetAgentUri(args) => &args.shared,
            Self::SetExternalReference(args) => &args.shared,
            Self::SetMetadata(args) => &args.shared,
            Self::SetAgentWallet(args) => &args.shared,
            Self::Revoke(args) => &args.shared,
            Self::Transfer(args) => &args.shared,
            Self::UpdateOperator(args) => &args.shared,
            Self::RegisterExternalKey(args) => &args.shared,
            Self::UpdateKeyMetadata(args) => &args.shared,
            Self::RevokeKey(args) => &args.shared,
        }
    }

    /// The agent that the options name, and the contract it is of.
    pub(crate) fn agent(&self) -> Option<AgentName> {
        match self {
            Self::SetAgentUri(args) => args.entry.agent,
            Self::SetExternalReference(args) => args.entry.agent,
            Self::SetMetadata(args) => args.entry.agent,
            Self::SetAgentWallet(args) => args.entry.agent,
            Self::Revoke(args) => args.entry.agent,
            Self::Transfer(args) => args.entry.agent,
            _ => None,
        }
    }

    /// The accounts that are given something, which must exist.
    pub(crate) fn receivers(&self) -> Vec<AccountAddress> {
        match self {
            Self::Transfer(args) => args.entry.to.into_iter().collect(),
            Self::SetAgentWallet(args) => args.entry.wallet.into_iter().collect(),
            Self::UpdateOperator(args) => args.entry.add.clone(),
            _ => Vec::new(),
        }
    }

    /// The contract that is called.
    pub(crate) fn contract(&self, settings: &NetworkSettings) -> Result<ContractAddress, CliError> {
        let key = match self {
            Self::RegisterExternalKey(args) => Some(&args.entry.key),
            Self::UpdateKeyMetadata(args) => Some(&args.entry.key),
            Self::RevokeKey(args) => Some(&args.entry.key),
            _ => None,
        };
        if let Some(key) = key {
            return Ok(key.cis8.unwrap_or(settings.network.cis8));
        }
        Ok(match self.agent() {
            Some(agent) => settings.locate(&agent)?.0,
            None => settings.network.registry,
        })
    }

    /// Whether the options leave something to be read from the chain.
    pub(crate) fn needs_node(&self) -> Option<&'static str> {
        match self {
            Self::SetAgentUri(args) if args.entry.keep_uri => Some("--keep-uri reads the agent's record"),
            Self::SetAgentWallet(args) if args.entry.signatures.is_none() && !self.whole().is_given() => {
                Some("signing the wallet's message needs the agent's owner and wallet nonce")
            }
            _ => None,
        }
    }

    /// Whether building it again reads the same files again: not what comes through standard input, and no keys, whose password
    /// would be asked for again.
    pub(crate) fn is_repeatable(&self) -> bool {
        let card = match self {
            Self::Register(args) => args.entry.card.as_deref(),
            Self::SetAgentUri(args) => args.entry.card.as_deref(),
            Self::SetMetadata(args) => args.entry.value_file.as_deref(),
            Self::SetAgentWallet(_) if self.needs_node().is_some() => return false,
            _ => None,
        };
        [card, self.whole().file()].into_iter().flatten().all(|path| std::fs::metadata(path).is_ok_and(|file| file.is_file()))
    }

    /// The call, and what it changes.
    pub(crate) async fn build(&self, around: &Surroundings<'_>) -> Result<Built, CliError> {
        let contract = self.contract(around.settings)?;
        let entry_point = self.entry_point();
        if let Some(parameter) = self.whole().read(entry_point)? {
            let json = entry_point.parameter_json(&parameter).map_err(|error| CliError::usage(error.to_string()))?;
            let call = Call { contract, receive_name: entry_point.receive_name().to_owned(), parameter };
            return Ok(Built { call, changes: vec![set("parameter", json.to_string())] });
        }
        let agent = match self.agent() {
            Some(agent) => around.settings.locate(&agent)?.1,
            None => TokenId(0),
        };
        match self {
            Self::Register(args) => register(contract, &args.entry, around),
            Self::SetAgentUri(args) => set_agent_uri(contract, agent, &args.entry, around).await,
            Self::SetExternalReference(args) => set_external_reference(contract, agent, &args.entry, around).await,
            Self::SetMetadata(args) => set_metadata(contract, agent, &args.entry),
            Self::SetAgentWallet(args) => set_agent_wallet(contract, agent, &args.entry, around).await,
            Self::Revoke(args) => {
                let reason = args.entry.reason.clone().unwrap_or_else(|| "(no reason)".into());
                let old = record(around, agent).await?.and_then(|record| record.external_reference).as_ref().map(described);
                let mut changes = vec![set("agent", agent.to_string()), set("status", format!("revoked for good: {reason}"))];
                changes.extend(old.map(|old| Change { what: "external reference", old: Some(old), new: None }));
                built(contract, &wire::Revoke { token_id: agent, reason: args.entry.reason.clone() }, changes)
            }
            Self::Transfer(args) => transfer(contract, agent, &args.entry, around).await,
            Self::UpdateOperator(args) => update_operator(contract, &args.entry),
            Self::RegisterExternalKey(args) => super::cis8::register(contract, &args.entry),
            Self::UpdateKeyMetadata(args) => super::cis8::update_metadata(contract, &args.entry),
            Self::RevokeKey(args) => super::cis8::revoke(contract, &args.entry),
        }
    }
}

/// A change of something whose present value is not read.
pub(super) fn set(what: &'static str, new: String) -> Change {
    Change { what, old: None, new: Some(new) }
}

pub(super) fn built<P: Parameter>(contract: ContractAddress, parameter: &P, changes: Vec<Change>) -> Result<Built, CliError> {
    let call = parameter_call(contract, parameter).map_err(failure::anchor)?;
    Ok(Built { call, changes })
}

/// The options' digest: given, or of a file.
fn digest(hash: Option<Sha256Digest>, card: Option<&std::path::Path>) -> Result<Option<Sha256Digest>, CliError> {
    match (hash, card) {
        (Some(hash), _) => Ok(Some(hash)),
        (None, Some(path)) => Ok(Some(Sha256Digest::of(&input::bytes(path)?))),
        (None, None) => Ok(None),
    }
}

fn reference(of: &options::Reference, around: &Surroundings<'_>) -> Result<Option<ExternalReference>, CliError> {
    let (Some(namespace), Some(key_type), Some(public_key)) = (&of.namespace, &of.key_type, &of.public_key) else {
        return Ok(None);
    };
    let kind = ReferenceKind::Cis8 {
        namespace: namespace.clone(),
        key_type: key_type.clone(),
        public_key: super::cis8::public_key(public_key)?,
    };
    Ok(Some(ExternalReference { contract_address: of.cis8.unwrap_or(around.settings.network.cis8), kind }))
}

fn described(reference: &ExternalReference) -> String {
    match &reference.kind {
        ReferenceKind::Cis8 { namespace, key_type, public_key } => {
            format!("{namespace} {key_type} {} in {}", hex::encode(public_key), reference.contract_address)
        }
        ReferenceKind::Cis10 { namespace, identifier_type, identifier } => {
            format!("{namespace} {identifier_type} {} in {}", hex::encode(identifier), reference.contract_address)
        }
    }
}

fn register(contract: ContractAddress, args: &options::Register, around: &Surroundings<'_>) -> Result<Built, CliError> {
    let parameter = wire::Register {
        agent_uri: args.uri.clone(),
        metadata_hash: digest(args.hash, args.card.as_deref())?,
        external_reference: reference(&args.reference, around)?,
        initial_metadata: options::metadata_entries(&args.metadata)?,
    };
    let mut changes = vec![
        set("agent", "a new one".into()),
        Change { what: "URI", old: None, new: parameter.agent_uri.clone() },
        Change { what: "SHA-256", old: None, new: parameter.metadata_hash.map(|hash| hash.to_string()) },
    ];
    changes.extend(parameter.external_reference.as_ref().map(|reference| set("external reference", described(reference))));
    changes.extend(args.metadata.iter().map(|(key, value)| set("metadata", format!("{key} = {value}"))));
    built(contract, &parameter, changes)
}

/// The agent's record, where a node is asked.
async fn record(around: &Surroundings<'_>, agent: TokenId) -> Result<Option<AgentRecord>, CliError> {
    let Some(chain) = around.chain else { return Ok(None) };
    let block = chain.pin(AtBlock::LastFinalized).await.map_err(connect::refused)?;
    Ok(chain.read(&block, agent).await.map_err(connect::refused)?.record)
}

async fn set_agent_uri(
    contract: ContractAddress,
    agent: TokenId,
    args: &options::SetAgentUri,
    around: &Surroundings<'_>,
) -> Result<Built, CliError> {
    let says_hash = args.hash.is_some() || args.card.is_some() || args.clear_hash;
    let says_uri = args.uri.is_some() || args.keep_uri || args.clear_uri;
    if !says_hash || !says_uri {
        return Err(CliError::usage("an absent URI or hash erases the stored one, so both must be said")
            .hint("give one of --hash, --card, --clear-hash and one of --uri, --keep-uri, --clear-uri"));
    }
    let present = record(around, agent).await?;
    let agent_uri = if args.keep_uri {
        let record =
            present.as_ref().ok_or_else(|| CliError::refused("agent_not_found", format!("there is no agent {agent}")))?;
        let no_uri =
            || CliError::usage(format!("agent {agent} has no URI to keep")).hint("give one with --uri, or none with --clear-uri");
        Some(record.agent_uri.clone().ok_or_else(no_uri)?)
    } else {
        args.uri.clone()
    };
    let parameter = wire::SetAgentUri { token_id: agent, agent_uri, metadata_hash: digest(args.hash, args.card.as_deref())? };
    let old_hash = present.as_ref().and_then(|record| record.metadata_hash).map(|hash| hash.to_string());
    let changes = vec![
        set("agent", agent.to_string()),
        Change { what: "URI", old: present.and_then(|record| record.agent_uri), new: parameter.agent_uri.clone() },
        Change { what: "SHA-256", old: old_hash, new: parameter.metadata_hash.map(|hash| hash.to_string()) },
    ];
    built(contract, &parameter, changes)
}

async fn set_external_reference(
    contract: ContractAddress,
    agent: TokenId,
    args: &options::SetExternalReference,
    around: &Surroundings<'_>,
) -> Result<Built, CliError> {
    let external_reference = reference(&args.reference, around)?;
    if external_reference.is_none() && !args.clear_reference {
        return Err(CliError::usage("no reference was given, and an absent one erases the stored one")
            .hint("give --namespace, --key-type and --public-key, or --clear-reference"));
    }
    let old = record(around, agent).await?.and_then(|record| record.external_reference).as_ref().map(described);
    let new = external_reference.as_ref().map(described);
    let changes = vec![set("agent", agent.to_string()), Change { what: "external reference", old, new }];
    built(contract, &wire::SetExternalReference { token_id: agent, external_reference }, changes)
}

fn set_metadata(contract: ContractAddress, agent: TokenId, args: &options::SetMetadata) -> Result<Built, CliError> {
    let (key, value) = match (&args.metadata, &args.key, &args.value_hex, &args.value_file) {
        (Some((key, value)), ..) => (key.clone(), value.clone().into_bytes()),
        (None, Some(key), Some(hex), _) => {
            (key.clone(), hex::decode(hex).map_err(|_| CliError::usage("--value-hex is not hexadecimal"))?)
        }
        (None, Some(key), None, Some(path)) => (key.clone(), input::bytes(path)?),
        _ => {
            return Err(CliError::usage("no key and value were given")
                .hint("give --metadata KEY=VALUE, or --key with --value-hex or --value-file"))
        }
    };
    let shown = String::from_utf8(value.clone()).unwrap_or_else(|_| format!("0x{}", hex::encode(&value)));
    let changes = vec![set("agent", agent.to_string()), set("metadata", format!("{key} = {shown}"))];
    built(contract, &wire::SetMetadata { token_id: agent, key, value }, changes)
}

/// The message that a wallet signs, and what is in it that the chain knows.
pub(crate) struct WalletMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) owner: AccountAddress,
    pub(crate) nonce: u64,
}

/// Asks the chain for what is missing in the message that a wallet signs.
pub(crate) async fn wallet_message(
    chain: &ChainClient,
    contract: ContractAddress,
    agent: TokenId,
    wallet: AccountAddress,
    deadline: Timestamp,
) -> Result<WalletMessage, CliError> {
    let block = chain.pin(AtBlock::LastFinalized).await.map_err(connect::refused)?;
    let record = chain.read(&block, agent).await.map_err(connect::refused)?.record;
    let record = record.ok_or_else(|| CliError::refused("agent_not_found", format!("there is no agent {agent}")))?;
    let parameter = wire::GetAgentWalletNonce(agent).to_bytes().map_err(|error| CliError::internal(error.to_string()))?;
    let answer = chain.view(&block, contract, "CIS-8004", "getAgentWalletNonce", parameter).await.map_err(connect::refused)?;
    let nonce = decode_agent_wallet_nonce(&answer)
        .map_err(|error| CliError::cannot_tell("record_undecodable", format!("the wallet's nonce cannot be read: {error}")))?;
    let genesis = chain.settings().network.genesis;
    let owner = record.owner_account;
    let bytes = wire::set_agent_wallet_message(agent, &owner, &wallet, nonce, deadline, contract, &genesis);
    Ok(WalletMessage { bytes, owner, nonce })
}

async fn set_agent_wallet(
    contract: ContractAddress,
    agent: TokenId,
    args: &options::SetAgentWallet,
    around: &Surroundings<'_>,
) -> Result<Built, CliError> {
    let (Some(new_wallet), Some(deadline)) = (args.wallet, args.deadline) else {
        return Err(CliError::usage("--wallet and --deadline are missing"));
    };
    let deadline = Timestamp(deadline.milliseconds());
    let signatures = match (&args.signatures, around.chain) {
        (Some(path), _) => {
            let json = super::file::json(path)?;
            signatures_from_json(&json).map_err(failure::anchor)?
        }
        (None, Some(chain)) => {
            let sender = around.sender_options;
            // The sender's own account may be the wallet: then the same keys sign.
            let source = args.wallet_keys.as_ref().or(sender.keys.as_ref().filter(|_| around.sender == Some(new_wallet)));
            let source = source.ok_or_else(|| {
                CliError::usage("the wallet must sign, and neither its signatures nor its keys were given")
                    .hint("give --wallet-keys, or --signatures over the message of `cardproof tx message agent-wallet`")
            })?;
            let keys = read_keys(source, Some(new_wallet), None, sender.password_file.as_ref(), sender.modes(), around.shell)?;
            check_environment(keys.environment.as_deref(), &around.settings.network).map_err(failure::anchor)?;
            let message = wallet_message(chain, contract, agent, new_wallet, deadline).await?;
            let network = &around.settings.network.name;
            around.shell.note(&format!(
                "signing for the wallet: on {network}, account {new_wallet} becomes the wallet of agent {agent} of {contract}, owned by \
                 {} (wallet nonce {}), until {deadline}",
                message.owner, message.nonce
            ));
            keys.signer.sign(ToSign::Message(&message.bytes)).await.map_err(failure::anchor)?
        }
        (None, None) => return Err(CliError::usage("without a node the wallet's signatures must be given with --signatures")),
    };
    let parameter =
        wire::SetAgentWallet { token_id: agent, new_wallet, deadline, signatures: wire::AccountSignatures(signatures.0) };
    let old = record(around, agent).await?.and_then(|record| record.agent_wallet).map(|wallet| wallet.to_string());
    let changes = vec![set("agent", agent.to_string()), Change { what: "wallet", old, new: Some(new_wallet.to_string()) }];
    built(contract, &parameter, changes)
}

async fn transfer(
    contract: ContractAddress,
    agent: TokenId,
    args: &options::Transfer,
    around: &Surroundings<'_>,
) -> Result<Built, CliError> {
    let sender = around.sender;
    let to = args.to.ok_or_else(|| CliError::usage("--to is missing"))?;
    let from = args.from.or(sender).ok_or_else(|| CliError::usage("--from or --sender is missing"))?;
    let transfer = wire::Transfer {
        token_id: agent,
        amount: wire::TokenAmount(1),
        from: wire::Address::Account(from),
        to: wire::Receiver::Account(to),
        data: wire::AdditionalData::default(),
    };
    // The contract clears both, whoever the receiver is (registry facts, section 3).
    let record = record(around, agent).await?;
    let wallet = record.as_ref().and_then(|record| record.agent_wallet).map(|wallet| wallet.to_string());
    let reference = record.and_then(|record| record.external_reference).as_ref().map(described);
    let changes = vec![
        set("agent", agent.to_string()),
        Change { what: "owner", old: Some(from.to_string()), new: Some(to.to_string()) },
        Change { what: "wallet", old: wallet, new: None },
        Change { what: "external reference", old: reference, new: None },
    ];
    built(contract, &wire::Transfers(vec![transfer]), changes)
}

fn update_operator(contract: ContractAddress, args: &options::UpdateOperator) -> Result<Built, CliError> {
    let change = |update, operator: &AccountAddress| wire::UpdateOperator { update, operator: wire::Address::Account(*operator) };
    let mut updates: Vec<_> = args.remove.iter().map(|operator| change(wire::OperatorChange::Remove, operator)).collect();
    updates.extend(args.add.iter().map(|operator| change(wire::OperatorChange::Add, operator)));
    let mut changes: Vec<_> =
        args.remove.iter().map(|operator| Change { what: "operator", old: Some(operator.to_string()), new: None }).collect();
    changes.extend(args.add.iter().map(|operator| set("operator", operator.to_string())));
    built(contract, &wire::UpdateOperators(updates), changes)
}
