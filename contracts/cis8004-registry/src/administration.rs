//! The registry itself: how it starts, how its code is replaced, what it says it is.

use concordium_cis2::{
    StandardIdentifier, SupportResult, SupportsQueryParams, SupportsQueryResponse, CIS0_STANDARD_IDENTIFIER,
    CIS2_STANDARD_IDENTIFIER,
};
use concordium_std::*;

use crate::{error::RegistryError, input, record::same_account, state::State};

/// What a registry is told once: 80 bytes, admin 32, CIS-8 index and subindex 8 each, genesis hash 32.
///
/// The deployed contract's init parameter is unpublished. The genesis hash is the surprise in this one. A wallet signs
/// it (see the wallet entry points) so that its signature is good on one chain only, and the proposal has the contract
/// take it from the chain's metadata; but a contract's host offers the block time and nothing else. A constant for each
/// network would need one module per chain, and none would fit a local one. A default would make signatures good on
/// every chain that kept the default. So whoever starts a registry says which chain it is on; anyone can check it, as
/// they must check the admin.
#[derive(Serial, Deserial, SchemaType)]
pub struct InitParameter {
    /// May replace the code with `upgrade`.
    pub admin: AccountAddress,
    /// The CIS-8 registry that external references must point to.
    pub cis8: ContractAddress,
    /// Hash of the chain's genesis block.
    pub genesis_hash: [u8; 32],
}

/// Starts a registry without agents.
#[init(contract = "CIS-8004", parameter = "InitParameter", event = "crate::event::RegistryEvent", error = "RegistryError")]
fn init(ctx: &InitContext, builder: &mut StateBuilder) -> Result<State, RegistryError> {
    let parameter: InitParameter = ctx.parameter_cursor().get()?;
    Ok(State::empty(builder, parameter.admin, parameter.cis8, parameter.genesis_hash))
}

/// Which code to run from now on, and what to call in it right away.
#[derive(Serial, Deserial, SchemaType)]
pub struct UpgradeParameter {
    /// Reference of a deployed module with a contract of the same name.
    pub module: ModuleReference,
    /// Entry point of the new code and its parameter, for moving the state to a new layout.
    pub migrate: Option<(OwnedEntrypointName, OwnedParameter)>,
}

/// Replaces the code of this registry; address and state stay.
///
/// Low level because the state must not be written back after the call: a migration may have changed its layout.
///
/// # Errors
/// [`RegistryError::Unauthorized`] unless the admin asks; what the chain says about the module; what the migration says.
#[receive(contract = "CIS-8004", name = "upgrade", parameter = "UpgradeParameter", error = "RegistryError", low_level)]
fn upgrade(ctx: &ReceiveContext, host: &mut LowLevelHost) -> ReceiveResult<()> {
    let state: State = host.state().read_root()?;
    let is_admin = matches!(ctx.sender(), Address::Account(sender) if same_account(&sender, &state.admin));
    ensure!(is_admin, RegistryError::Unauthorized.into());

    let parameter: UpgradeParameter = input::parameter(ctx)?;
    host.upgrade(parameter.module)?;
    if let Some((entry_point, parameter)) = parameter.migrate {
        host.invoke_contract_raw(
            &ctx.self_address(),
            parameter.as_parameter(),
            entry_point.as_entrypoint_name(),
            Amount::zero(),
        )?;
    }
    Ok(())
}

/// CIS-0: this contract is CIS-0, CIS-2 and CIS-8004.
#[receive(
    contract = "CIS-8004",
    name = "supports",
    parameter = "SupportsQueryParams",
    return_value = "SupportsQueryResponse",
    error = "RegistryError"
)]
fn supports(ctx: &ReceiveContext, _host: &Host<State>) -> Result<SupportsQueryResponse, RegistryError> {
    const SUPPORTED: [StandardIdentifier<'static>; 3] =
        [CIS0_STANDARD_IDENTIFIER, CIS2_STANDARD_IDENTIFIER, StandardIdentifier::new_unchecked("CIS-8004")];
    let asked: SupportsQueryParams = input::parameter(ctx)?;
    let results = asked.queries.iter().map(|standard| {
        if SUPPORTED.contains(&standard.as_standard_identifier()) {
            SupportResult::Support
        } else {
            SupportResult::NoSupport
        }
    });
    Ok(SupportsQueryResponse { results: results.collect() })
}
