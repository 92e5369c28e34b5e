//! Linking an agent to a key of another chain, through the CIS-8 registry.

use concordium_std::*;

use crate::{
    error::RegistryError,
    event::RegistryEvent,
    input,
    record::{same_account, AgentTokenId, ExternalKeyId, ExternalRefKind, ExternalReference},
    state::State,
};

/// What `ownerOfKey` of a CIS-8 registry says about a key. Field order as in the CIS-8 proposal, 4-byte lengths.
#[derive(Deserial)]
struct Registration {
    owner: AccountAddress,
    _external_key: ExternalKeyId,
    _proof_scheme: String,
    _metadata: Vec<(String, String)>,
    status: RegistrationStatus,
    _last_updated: Timestamp,
}

/// A revoked registration is still returned, so "found" does not mean "valid".
#[derive(Deserial, PartialEq, Eq)]
enum RegistrationStatus {
    Active,
    Revoked,
}

/// Whether `owner` may give `reference` to the agent `holder` (`None`: to a new agent).
///
/// A reference stays with an agent when its key later changes hands in the CIS-8 registry: nothing tells this contract.
/// Readers who care ask `ownerOfKey` themselves.
///
/// # Errors
/// [`RegistryError::InvalidExternalReference`] unless it is a CIS-8 key, active and owned by `owner`, in the configured
/// registry; [`RegistryError::ExternalReferenceTaken`] when another active agent has it.
pub fn check(
    host: &Host<State>,
    owner: &AccountAddress,
    reference: &ExternalReference,
    holder: Option<AgentTokenId>,
) -> Result<(), RegistryError> {
    let cis8 = host.state().cis8;
    ensure_eq!(reference.contract_address, cis8, RegistryError::InvalidExternalReference);
    let ExternalRefKind::Cis8(key) = &reference.kind else { bail!(RegistryError::InvalidExternalReference) };

    let answer =
        host.invoke_contract_read_only(&cis8, key, EntrypointName::new_unchecked("ownerOfKey"), Amount::zero()).ok().flatten();
    let registration = answer.and_then(input::answer::<Option<Registration>>).flatten();
    let proved =
        registration.is_some_and(|found| found.status == RegistrationStatus::Active && same_account(&found.owner, owner));
    ensure!(proved, RegistryError::InvalidExternalReference);

    match host.state().holder_of(reference) {
        Some(other) if Some(other) != holder => bail!(RegistryError::ExternalReferenceTaken),
        _ => Ok(()),
    }
}

/// Which agent gets which reference, or loses the one it has.
#[derive(Serial, Deserial, SchemaType)]
pub struct SetExternalReferenceParameter {
    pub token_id: AgentTokenId,
    pub external_reference: Option<ExternalReference>,
}

/// Sets or clears the reference of an agent. Logs ExternalReferenceSet.
///
/// # Errors
/// Those of [`State::agent_to_change`] and [`check`].
#[receive(
    contract = "CIS-8004",
    name = "setExternalReference",
    parameter = "SetExternalReferenceParameter",
    error = "RegistryError",
    enable_logger,
    mutable
)]
fn set_external_reference(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), RegistryError> {
    let parameter: SetExternalReferenceParameter = input::parameter(ctx)?;
    let token_id = parameter.token_id;
    let mut agent = host.state().agent_to_change(&token_id, &ctx.sender())?;
    if let Some(reference) = &parameter.external_reference {
        check(host, &agent.record.owner_account, reference, Some(token_id))?;
    }
    host.state_mut().set_reference(&mut agent, parameter.external_reference);
    host.state_mut().save(&agent);
    RegistryEvent::ExternalReferenceSet { token_id, external_reference: agent.record.external_reference }.log(logger)?;
    Ok(())
}
