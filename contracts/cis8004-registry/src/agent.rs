//! Registering, reading, re-pointing and revoking agents.

use concordium_cis2::TokenAmountU64;
use concordium_std::*;

use crate::{
    error::RegistryError,
    event::RegistryEvent,
    input,
    record::{
        check_uri, AgentRecord, AgentStatus, AgentTokenId, ExternalReference, MetadataEntry, MetadataHash, MAX_REASON_BYTES,
    },
    reference,
    state::{Agent, AgentAnswer, State},
    token,
};

/// What a new agent starts with. The count of `initial_metadata` has 4 bytes, not the proposal's 2.
#[derive(Serial, Deserial, SchemaType)]
pub struct RegisterParameter {
    pub agent_uri: Option<String>,
    pub metadata_hash: Option<MetadataHash>,
    pub external_reference: Option<ExternalReference>,
    pub initial_metadata: Vec<MetadataEntry>,
}

/// Mints a new agent to the sender, whose account is also the agent's first wallet.
///
/// Logs Mint, Registered, AgentWalletSet, one MetadataSet for each initial entry, and TokenMetadata when there is a URI.
///
/// # Errors
/// [`RegistryError::Unauthorized`] for a contract as sender; [`RegistryError::InvalidMetadata`] and
/// [`RegistryError::ReservedKey`] for URI and metadata, a key twice among them; the errors of [`reference::check`].
#[receive(
    contract = "CIS-8004",
    name = "register",
    parameter = "RegisterParameter",
    error = "RegistryError",
    enable_logger,
    mutable
)]
fn register(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), RegistryError> {
    let Address::Account(owner) = ctx.sender() else { bail!(RegistryError::Unauthorized) };
    let parameter: RegisterParameter = input::parameter(ctx)?;
    check_uri(&parameter.agent_uri)?;
    if let Some(reference) = &parameter.external_reference {
        reference::check(host, &owner, reference, None)?;
    }

    let time = ctx.metadata().block_time();
    let token_id = host.state_mut().new_token_id();
    let mut agent = Agent {
        record: AgentRecord {
            token_id,
            owner_account: owner,
            agent_uri: parameter.agent_uri,
            metadata_hash: parameter.metadata_hash,
            external_reference: None,
            agent_wallet: Some(owner),
            status: AgentStatus::Active,
            registered_at: time,
            revoked_at: None,
            revocation_reason: None,
            on_chain_metadata: Vec::new(),
        },
        wallet_nonce: 0,
    };
    let entries = parameter.initial_metadata.len();
    for entry in parameter.initial_metadata {
        agent.record.put_metadata(entry)?;
    }
    // A key given twice has replaced its first value: which one was meant is not ours to guess.
    ensure_eq!(agent.record.on_chain_metadata.len(), entries, RegistryError::InvalidMetadata);
    host.state_mut().set_reference(&mut agent, parameter.external_reference);
    host.state_mut().save(&agent);

    let record = agent.record;
    let metadata_url = record.agent_uri.is_some().then(|| token::metadata_url(&record));
    RegistryEvent::Mint { token_id, amount: TokenAmountU64(1), owner: Address::Account(owner) }.log(logger)?;
    RegistryEvent::Registered {
        token_id,
        owner,
        agent_uri: record.agent_uri,
        metadata_hash: record.metadata_hash,
        external_reference: record.external_reference,
        time,
    }
    .log(logger)?;
    RegistryEvent::AgentWalletSet { token_id, new_wallet: record.agent_wallet }.log(logger)?;
    for MetadataEntry { key, value } in record.on_chain_metadata {
        RegistryEvent::MetadataSet { token_id, key, value }.log(logger)?;
    }
    if let Some(metadata_url) = metadata_url {
        RegistryEvent::TokenMetadata { token_id, metadata_url }.log(logger)?;
    }
    Ok(())
}

/// The record of an agent, or `None`. The proposal rejects with AgentNotFound here, the deployed contract does not.
#[receive(
    contract = "CIS-8004",
    name = "agentOf",
    parameter = "AgentTokenId",
    return_value = "Option<AgentRecord>",
    error = "RegistryError"
)]
fn agent_of(ctx: &ReceiveContext, host: &Host<State>) -> Result<AgentAnswer, RegistryError> {
    let token_id: AgentTokenId = input::parameter(ctx)?;
    Ok(host.state().answer(&token_id))
}

/// The record of the active agent with a reference, or `None`.
#[receive(
    contract = "CIS-8004",
    name = "agentByExternalReference",
    parameter = "ExternalReference",
    return_value = "Option<AgentRecord>",
    error = "RegistryError"
)]
fn agent_by_external_reference(ctx: &ReceiveContext, host: &Host<State>) -> Result<AgentAnswer, RegistryError> {
    let reference: ExternalReference = input::parameter(ctx)?;
    Ok(host.state().answer_by_reference(&reference))
}

/// The new whereabouts and hash of a card. What is absent is cleared.
#[derive(Serial, Deserial, SchemaType)]
pub struct SetAgentUriParameter {
    pub token_id: AgentTokenId,
    pub agent_uri: Option<String>,
    pub metadata_hash: Option<MetadataHash>,
}

/// Replaces URI and hash. Logs URIUpdated and TokenMetadata.
///
/// # Errors
/// Those of [`State::agent_to_change`]; [`RegistryError::InvalidMetadata`] for a long URI.
#[receive(
    contract = "CIS-8004",
    name = "setAgentURI",
    parameter = "SetAgentUriParameter",
    error = "RegistryError",
    enable_logger,
    mutable
)]
fn set_agent_uri(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), RegistryError> {
    let parameter: SetAgentUriParameter = input::parameter(ctx)?;
    let mut agent = host.state().agent_to_change(&parameter.token_id, &ctx.sender())?;
    check_uri(&parameter.agent_uri)?;
    agent.record.agent_uri = parameter.agent_uri;
    agent.record.metadata_hash = parameter.metadata_hash;
    host.state_mut().save(&agent);

    let record = agent.record;
    let metadata_url = token::metadata_url(&record);
    RegistryEvent::URIUpdated {
        token_id: record.token_id,
        agent_uri: record.agent_uri,
        metadata_hash: record.metadata_hash,
        time: ctx.metadata().block_time(),
    }
    .log(logger)?;
    RegistryEvent::TokenMetadata { token_id: record.token_id, metadata_url }.log(logger)?;
    Ok(())
}

/// Which agent is withdrawn, and why.
#[derive(Serial, Deserial, SchemaType)]
pub struct RevokeParameter {
    pub token_id: AgentTokenId,
    pub reason: Option<String>,
}

/// Withdraws an agent for good. Its reference becomes free, its owner keeps the token. Logs ExternalReferenceSet when
/// there was a reference, then Revoked.
///
/// # Errors
/// [`RegistryError::AgentNotFound`]; [`RegistryError::Unauthorized`] unless the owner asks;
/// [`RegistryError::AgentRevoked`] the second time; [`RegistryError::InvalidMetadata`] for a long reason.
#[receive(contract = "CIS-8004", name = "revoke", parameter = "RevokeParameter", error = "RegistryError", enable_logger, mutable)]
fn revoke(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), RegistryError> {
    let RevokeParameter { token_id, reason } = input::parameter(ctx)?;
    let mut agent = host.state().agent(&token_id)?;
    ensure!(agent.is_owned_by(&ctx.sender()), RegistryError::Unauthorized);
    ensure!(agent.record.status == AgentStatus::Active, RegistryError::AgentRevoked);
    ensure!(reason.as_ref().map_or(0, String::len) <= MAX_REASON_BYTES, RegistryError::InvalidMetadata);

    let had_reference = agent.record.external_reference.is_some();
    host.state_mut().set_reference(&mut agent, None);
    agent.record.status = AgentStatus::Revoked;
    agent.record.revoked_at = Some(ctx.metadata().block_time());
    agent.record.revocation_reason = reason.clone();
    host.state_mut().save(&agent);

    if had_reference {
        RegistryEvent::ExternalReferenceSet { token_id, external_reference: None }.log(logger)?;
    }
    RegistryEvent::Revoked { token_id, owner: agent.record.owner_account, reason }.log(logger)?;
    Ok(())
}
