//! Small data about an agent that other contracts can read.

use concordium_std::*;

use crate::{
    error::RegistryError,
    event::RegistryEvent,
    input,
    record::{AgentTokenId, MetadataEntry},
    state::State,
};

/// One value for one key of one agent.
#[derive(Serial, Deserial, SchemaType)]
pub struct SetMetadataParameter {
    pub token_id: AgentTokenId,
    pub key: String,
    pub value: Vec<u8>,
}

/// Sets a metadata value. An empty value is a value; there is no way to remove a key. Logs MetadataSet.
///
/// # Errors
/// Those of [`State::agent_to_change`] and [`crate::record::AgentRecord::put_metadata`].
#[receive(
    contract = "CIS-8004",
    name = "setMetadata",
    parameter = "SetMetadataParameter",
    error = "RegistryError",
    enable_logger,
    mutable
)]
fn set_metadata(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), RegistryError> {
    let SetMetadataParameter { token_id, key, value } = input::parameter(ctx)?;
    let mut agent = host.state().agent_to_change(&token_id, &ctx.sender())?;
    agent.record.put_metadata(MetadataEntry { key: key.clone(), value: value.clone() })?;
    host.state_mut().save(&agent);
    RegistryEvent::MetadataSet { token_id, key, value }.log(logger)?;
    Ok(())
}

/// Which key of which agent.
#[derive(Serial, Deserial, SchemaType)]
pub struct GetMetadataParameter {
    pub token_id: AgentTokenId,
    pub key: String,
}

/// The value of a key, or `None`. Works for revoked agents too.
///
/// # Errors
/// [`RegistryError::AgentNotFound`].
#[receive(
    contract = "CIS-8004",
    name = "getMetadata",
    parameter = "GetMetadataParameter",
    return_value = "Option<Vec<u8>>",
    error = "RegistryError"
)]
fn get_metadata(ctx: &ReceiveContext, host: &Host<State>) -> Result<Option<Vec<u8>>, RegistryError> {
    let GetMetadataParameter { token_id, key } = input::parameter(ctx)?;
    let entries = host.state().agent(&token_id)?.record.on_chain_metadata;
    Ok(entries.into_iter().find(|entry| entry.key == key).map(|entry| entry.value))
}
