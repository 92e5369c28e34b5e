use cardproof::chain::{AgentReader, AtBlock, Block, DecodedWith, Reading};
use cardproof::identity::{AgentName, Badge, Caip19, ContractAddress, Network};
use cardproof::registry::{AgentRecord, ExternalReference, MetadataEntry, ReferenceKind};
use cardproof::report::{BlockDocument, ContractDocument};
use serde::Serialize;

use super::config::Config;
use super::connect;
use super::exit::{CliError, Exit};
use super::options::{NodeOptions, OutputOptions, TlsOptions};
use super::settings::NetworkSettings;
use super::shell::Shell;

/// Print what the registry holds about an agent
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A token id, a badge or a CAIP-19 identifier
    #[arg(value_name = "AGENT")]
    agent: AgentName,
    /// Read at this finalized block of the past instead of the newest
    #[arg(long, value_name = "HASH|HEIGHT")]
    at_block: Option<AtBlock>,
    #[command(flatten)]
    node: NodeOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let config = Config::load(output.config.as_deref())?;
    let settings = NetworkSettings::resolve(&args.node.network, &config)?;
    let (contract, token_id) = settings.locate(&args.agent)?;
    let at = args.at_block.unwrap_or(AtBlock::LastFinalized);
    let reader = connect::chain(&args.node, &args.tls, &config, &settings.network, contract, at)?;
    let (block, reading) = super::block_on(async {
        let block = reader.pin(at).await.map_err(connect::refused)?;
        let reading = reader.read(&block, token_id).await.map_err(connect::refused)?;
        Ok((block, reading))
    })?;
    let Some(record) = &reading.record else {
        let message =
            format!("the registry {contract} of {} has no agent {token_id} at block {}", settings.network.name, block.height);
        return Err(CliError::negative("agent_not_found", message));
    };
    if output.json {
        shell.document(&AgentDocument::of(record, &settings.network, contract, block, &reading));
    } else {
        for (label, value) in lines(record, &settings.network, contract, block, &reading) {
            shell.line(&format!("{label:<19}{value}"));
        }
    }
    Ok(Exit::Ok)
}

/// `cardproof.agent/1`: the record, with the field names of the contract's schema.
#[derive(Serialize)]
struct AgentDocument {
    schema: &'static str,
    network: String,
    contract: ContractDocument,
    token_id: String,
    badge: String,
    caip19: String,
    block: BlockDocument,
    module_ref: String,
    decoded_with: &'static str,
    owner_account: String,
    agent_uri: Option<String>,
    metadata_hash: Option<String>,
    external_reference: Option<ReferenceDocument>,
    agent_wallet: Option<String>,
    status: &'static str,
    registered_at: String,
    revoked_at: Option<String>,
    revocation_reason: Option<String>,
    on_chain_metadata: Vec<MetadataDocument>,
}

#[derive(Serialize)]
struct ReferenceDocument {
    contract_address: ContractDocument,
    kind: KindDocument,
}

#[derive(Serialize)]
enum KindDocument {
    Cis8 { namespace: String, key_type: String, public_key: String },
    Cis10 { namespace: String, identifier_type: String, identifier: String },
}

#[derive(Serialize)]
struct MetadataDocument {
    key: String,
    value: String,
    text: Option<String>,
}

impl AgentDocument {
    fn of(record: &AgentRecord, network: &Network, contract: ContractAddress, block: Block, reading: &Reading) -> Self {
        let badge = Badge { contract, token_id: record.token_id };
        Self {
            schema: "cardproof.agent/1",
            network: network.name.clone().into_owned(),
            contract: contract.into(),
            token_id: record.token_id.to_string(),
            badge: badge.to_string(),
            caip19: Caip19 { chain: network.caip2(), badge }.to_string(),
            block: block.into(),
            module_ref: reading.module_ref.to_string(),
            decoded_with: reading.decoded_with.unwrap_or(DecodedWith::Layout).as_str(),
            owner_account: record.owner_account.to_string(),
            agent_uri: record.agent_uri.clone(),
            metadata_hash: record.metadata_hash.map(|digest| digest.to_string()),
            external_reference: record.external_reference.as_ref().map(ReferenceDocument::from),
            agent_wallet: record.agent_wallet.map(|wallet| wallet.to_string()),
            status: record.status.as_str(),
            registered_at: record.registered_at.to_rfc3339(),
            revoked_at: record.revoked_at.map(|time| time.to_rfc3339()),
            revocation_reason: record.revocation_reason.clone(),
            on_chain_metadata: record.on_chain_metadata.iter().map(MetadataDocument::from).collect(),
        }
    }
}

impl From<&ExternalReference> for ReferenceDocument {
    fn from(reference: &ExternalReference) -> Self {
        let kind = match reference.kind.clone() {
            ReferenceKind::Cis8 { namespace, key_type, public_key } => {
                KindDocument::Cis8 { namespace, key_type, public_key: hex::encode(public_key) }
            }
            ReferenceKind::Cis10 { namespace, identifier_type, identifier } => {
                KindDocument::Cis10 { namespace, identifier_type, identifier: hex::encode(identifier) }
            }
        };
        Self { contract_address: reference.contract_address.into(), kind }
    }
}

impl From<&MetadataEntry> for MetadataDocument {
    fn from(entry: &MetadataEntry) -> Self {
        let text = std::str::from_utf8(&entry.value).ok().map(str::to_owned);
        Self { key: entry.key.clone(), value: hex::encode(&entry.value), text }
    }
}

fn lines(
    record: &AgentRecord,
    network: &Network,
    contract: ContractAddress,
    block: Block,
    reading: &Reading,
) -> Vec<(&'static str, String)> {
    let badge = Badge { contract, token_id: record.token_id };
    let none = || "(none)".to_owned();
    let mut lines = vec![
        ("agent", format!("{} of {contract} on {}", record.token_id, network.name)),
        ("badge", badge.to_string()),
        ("caip19", Caip19 { chain: network.caip2(), badge }.to_string()),
        ("owner_account", record.owner_account.to_string()),
        ("agent_uri", record.agent_uri.clone().unwrap_or_else(none)),
        ("metadata_hash", record.metadata_hash.map_or_else(none, |digest| digest.to_string())),
        ("agent_wallet", record.agent_wallet.map_or_else(none, |wallet| wallet.to_string())),
        ("status", record.status.as_str().to_owned()),
        ("registered_at", record.registered_at.to_rfc3339()),
    ];
    lines.extend(record.revoked_at.map(|time| ("revoked_at", time.to_rfc3339())));
    lines.extend(record.revocation_reason.clone().map(|reason| ("revocation_reason", reason)));
    let reference = record.external_reference.as_ref().map_or_else(none, |reference| {
        let (what, key) = match &reference.kind {
            ReferenceKind::Cis8 { namespace, key_type, public_key } => (format!("{namespace} {key_type}"), public_key),
            ReferenceKind::Cis10 { namespace, identifier_type, identifier } => {
                (format!("{namespace} {identifier_type}"), identifier)
            }
        };
        format!("{what} {} in {}", hex::encode(key), reference.contract_address)
    });
    lines.push(("external_reference", reference));
    for entry in record.on_chain_metadata.iter().map(MetadataDocument::from) {
        lines.push(("metadata", format!("{} = {}", entry.key, entry.text.unwrap_or(format!("0x{}", entry.value)))));
    }
    lines.push(("block", format!("{} {} at {}", block.height, block.hash, block.time)));
    let how = reading.decoded_with.map(|how| format!(", read with the {}", how.as_str())).unwrap_or_default();
    lines.push(("module", format!("{}{how}", reading.module_ref)));
    lines
}
