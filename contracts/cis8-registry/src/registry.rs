//! The registry: its state and its entry points.

use concordium_cis2::{StandardIdentifier, SupportResult, SupportsQueryParams, SupportsQueryResponse, CIS0_STANDARD_IDENTIFIER};
use concordium_std::*;

use crate::{
    error::KeyError,
    key::ExternalKeyId,
    proof::{Claim, Proof},
    registration::{check_metadata, KeyEvent, MetadataEntry, Registration, RegistrationStatus},
};

/// The registry. Cost of a call does not grow with the number of keys.
#[derive(Serial, DeserialWithState)]
#[concordium(state_parameter = "S")]
struct State<S: HasStateApi = StateApi> {
    genesis_hash: [u8; 32],
    registrations: StateMap<ExternalKeyId, Registration, S>,
}

impl State {
    /// The registration of a key, for a change that `sender` asks for.
    ///
    /// # Errors
    /// [`KeyError::NotRegistered`] when nobody has the key now, then [`KeyError::Unauthorized`] unless it is the sender.
    fn registration_to_change(
        &mut self,
        external_key: &ExternalKeyId,
        sender: &Address,
    ) -> Result<StateRefMut<'_, Registration, StateApi>, KeyError> {
        let registration = self.registrations.get_mut(external_key).ok_or(KeyError::NotRegistered)?;
        ensure!(registration.status == RegistrationStatus::Active, KeyError::NotRegistered);
        ensure!(sender.matches_account(&registration.owner), KeyError::Unauthorized);
        Ok(registration)
    }
}

/// What a registry is told once: the hash of the chain's genesis block, 32 bytes.
///
/// Keys sign it so that a proof is good on one chain only. A contract's host does not offer it, a constant would need
/// one module per chain, and a default would make proofs good on every chain that kept the default. So whoever starts
/// a registry says which chain it is on, and anyone can check.
#[derive(Serial, Deserial, SchemaType)]
pub struct InitParameter {
    pub genesis_hash: [u8; 32],
}

/// Starts a registry without keys.
#[init(contract = "CIS-8", parameter = "InitParameter", event = "KeyEvent", error = "KeyError")]
fn init(ctx: &InitContext, builder: &mut StateBuilder) -> Result<State, KeyError> {
    let InitParameter { genesis_hash } = ctx.parameter_cursor().get()?;
    Ok(State { genesis_hash, registrations: builder.new_map() })
}

/// A key, the proof that the sender holds it, and what to remember with it.
#[derive(Serial, Deserial, SchemaType)]
pub struct RegisterExternalKeyParameter {
    pub external_key: ExternalKeyId,
    pub proof: Proof,
    pub metadata: Vec<MetadataEntry>,
}

/// Makes the sender the owner of a key. Whoever holds the key can take it over from another account: logs
/// ExternalKeyRevoked for the old owner then, and ExternalKeyRegistered for the new one always.
///
/// # Errors
/// [`KeyError::Unauthorized`] for a contract as sender; the errors of [`ExternalKeyId::public_key`],
/// [`check_metadata`] and [`Claim::verify`]; [`KeyError::AlreadyRegistered`] when the sender has the key.
#[receive(
    contract = "CIS-8",
    name = "registerExternalKey",
    parameter = "RegisterExternalKeyParameter",
    error = "KeyError",
    enable_logger,
    crypto_primitives,
    mutable
)]
fn register_external_key(
    ctx: &ReceiveContext,
    host: &mut Host<State>,
    logger: &mut Logger,
    crypto: &CryptoPrimitives,
) -> Result<(), KeyError> {
    let Address::Account(owner) = ctx.sender() else { bail!(KeyError::Unauthorized) };
    let RegisterExternalKeyParameter { external_key, proof, metadata } = ctx.parameter_cursor().get()?;
    let public_key = external_key.public_key()?;
    check_metadata(&metadata)?;
    let claim = Claim {
        account: owner,
        registry: ctx.self_address(),
        genesis_hash: &host.state().genesis_hash,
        external_key: &external_key,
    };
    claim.verify(&public_key, &proof, crypto)?;

    let registration = Registration {
        owner,
        external_key: external_key.clone(),
        proof_scheme: proof.scheme.clone(),
        metadata: metadata.clone(),
        status: RegistrationStatus::Active,
        last_updated: ctx.metadata().block_time(),
    };
    let before = host.state_mut().registrations.insert(external_key.clone(), registration);
    if let Some(before) = before.filter(|before| before.status == RegistrationStatus::Active) {
        // The write above is undone with the rest of a rejected call.
        ensure!(before.owner != owner, KeyError::AlreadyRegistered);
        logger.log(&KeyEvent::ExternalKeyRevoked { owner: before.owner, external_key: external_key.clone() })?;
    }
    logger.log(&KeyEvent::ExternalKeyRegistered { owner, external_key, proof_scheme: proof.scheme, metadata })?;
    Ok(())
}

/// A key and its new metadata.
#[derive(Serial, Deserial, SchemaType)]
pub struct UpdateMetadataParameter {
    pub external_key: ExternalKeyId,
    pub metadata: Vec<MetadataEntry>,
}

/// Replaces all metadata of a key. Logs UpdateMetadata.
///
/// # Errors
/// Those of [`State::registration_to_change`] and [`check_metadata`].
#[receive(
    contract = "CIS-8",
    name = "updateMetadata",
    parameter = "UpdateMetadataParameter",
    error = "KeyError",
    enable_logger,
    mutable
)]
fn update_metadata(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), KeyError> {
    let UpdateMetadataParameter { external_key, metadata } = ctx.parameter_cursor().get()?;
    let mut registration = host.state_mut().registration_to_change(&external_key, &ctx.sender())?;
    check_metadata(&metadata)?;
    registration.metadata = metadata.clone();
    registration.last_updated = ctx.metadata().block_time();
    let owner = registration.owner;
    logger.log(&KeyEvent::UpdateMetadata { owner, external_key, metadata })?;
    Ok(())
}

/// A key, alone in a struct: in schema JSON `{"external_key": …}`, in bytes the ExternalKeyId.
#[derive(Serial, Deserial, SchemaType)]
pub struct KeyParameter {
    pub external_key: ExternalKeyId,
}

/// Gives a key up. The entry stays, revoked. Logs ExternalKeyRevoked.
///
/// # Errors
/// Those of [`State::registration_to_change`].
#[receive(contract = "CIS-8", name = "revoke", parameter = "KeyParameter", error = "KeyError", enable_logger, mutable)]
fn revoke(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), KeyError> {
    let KeyParameter { external_key } = ctx.parameter_cursor().get()?;
    let mut registration = host.state_mut().registration_to_change(&external_key, &ctx.sender())?;
    registration.status = RegistrationStatus::Revoked;
    registration.last_updated = ctx.metadata().block_time();
    let owner = registration.owner;
    logger.log(&KeyEvent::ExternalKeyRevoked { owner, external_key })?;
    Ok(())
}

/// The last registration of a key, active or revoked, or `None`.
#[receive(
    contract = "CIS-8",
    name = "ownerOfKey",
    parameter = "KeyParameter",
    return_value = "Option<Registration>",
    error = "KeyError"
)]
fn owner_of_key(ctx: &ReceiveContext, host: &Host<State>) -> Result<Option<Registration>, KeyError> {
    let KeyParameter { external_key } = ctx.parameter_cursor().get()?;
    Ok(host.state().registrations.get(&external_key).map(|registration| registration.clone()))
}

/// CIS-0: this contract is CIS-0 and CIS-8.
#[receive(
    contract = "CIS-8",
    name = "supports",
    parameter = "SupportsQueryParams",
    return_value = "SupportsQueryResponse",
    error = "KeyError"
)]
fn supports(ctx: &ReceiveContext, _host: &Host<State>) -> Result<SupportsQueryResponse, KeyError> {
    const SUPPORTED: [StandardIdentifier<'static>; 2] = [CIS0_STANDARD_IDENTIFIER, StandardIdentifier::new_unchecked("CIS-8")];
    let asked: SupportsQueryParams = ctx.parameter_cursor().get()?;
    let results = asked.queries.iter().map(|standard| {
        if SUPPORTED.contains(&standard.as_standard_identifier()) {
            SupportResult::Support
        } else {
            SupportResult::NoSupport
        }
    });
    Ok(SupportsQueryResponse { results: results.collect() })
}
