//! The account that speaks for an agent, and the proof that it agreed to.

use concordium_std::*;

use crate::{
    error::RegistryError,
    event::RegistryEvent,
    input,
    record::AgentTokenId,
    state::{Agent, State},
};

/// First bytes of the signed message: 26, ASCII.
const DOMAIN: &[u8] = b"CIS-8004/v1/setAgentWallet";
/// Bytes of the signed message.
const MESSAGE_BYTES: usize = 162;

/// A new wallet, and its signature over [`signed_message`].
#[derive(Serial, Deserial, SchemaType)]
pub struct SetAgentWalletParameter {
    pub token_id: AgentTokenId,
    pub new_wallet: AccountAddress,
    /// Last block time at which the signature counts, milliseconds since 1970.
    pub deadline: Timestamp,
    /// By the keys of `new_wallet`, as many as its thresholds ask for.
    pub signatures: AccountSignatures,
}

/// What a wallet signs to become an agent's: 162 bytes, [`DOMAIN`] 26, token id 8 (no length byte), owner 32, new
/// wallet 32, nonce 8, deadline 8, contract index 8, subindex 8, genesis hash 32. Integers little-endian.
///
/// The keys sign these bytes themselves. The "sign message" of a wallet app puts an account address and zeros in front
/// so that nothing signed in it can be taken for a transaction, and thus cannot make this signature.
fn signed_message(
    agent: &Agent,
    new_wallet: &AccountAddress,
    deadline: Timestamp,
    registry: ContractAddress,
    genesis_hash: &[u8; 32],
) -> Vec<u8> {
    let mut message = Vec::with_capacity(MESSAGE_BYTES);
    message.extend_from_slice(DOMAIN);
    message.extend_from_slice(&agent.record.token_id.0.to_le_bytes());
    message.extend_from_slice(&agent.record.owner_account.0);
    message.extend_from_slice(&new_wallet.0);
    message.extend_from_slice(&agent.wallet_nonce.to_le_bytes());
    message.extend_from_slice(&deadline.timestamp_millis().to_le_bytes());
    message.extend_from_slice(&registry.index.to_le_bytes());
    message.extend_from_slice(&registry.subindex.to_le_bytes());
    message.extend_from_slice(genesis_hash);
    message
}

/// Makes another account the agent's wallet, if that account signed for it. Logs AgentWalletSet.
///
/// # Errors
/// Those of [`State::agent_to_change`]; [`RegistryError::AgentWalletDeadlinePassed`];
/// [`RegistryError::InvalidAgentWalletProof`] when the account does not exist or did not sign exactly this.
#[receive(
    contract = "CIS-8004",
    name = "setAgentWallet",
    parameter = "SetAgentWalletParameter",
    error = "RegistryError",
    enable_logger,
    mutable
)]
fn set_agent_wallet(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), RegistryError> {
    let parameter: SetAgentWalletParameter = input::parameter(ctx)?;
    let mut agent = host.state().agent_to_change(&parameter.token_id, &ctx.sender())?;
    ensure!(ctx.metadata().block_time() <= parameter.deadline, RegistryError::AgentWalletDeadlinePassed);

    let message =
        signed_message(&agent, &parameter.new_wallet, parameter.deadline, ctx.self_address(), &host.state().genesis_hash);
    let signed = host.check_account_signature(parameter.new_wallet, &parameter.signatures, &message);
    ensure!(signed == Ok(true), RegistryError::InvalidAgentWalletProof);

    agent.record.agent_wallet = Some(parameter.new_wallet);
    agent.wallet_nonce += 1;
    host.state_mut().save(&agent);
    RegistryEvent::AgentWalletSet { token_id: parameter.token_id, new_wallet: agent.record.agent_wallet }.log(logger)?;
    Ok(())
}

/// The wallet of an agent, or `None`.
///
/// # Errors
/// [`RegistryError::AgentNotFound`].
#[receive(
    contract = "CIS-8004",
    name = "getAgentWallet",
    parameter = "AgentTokenId",
    return_value = "Option<AccountAddress>",
    error = "RegistryError"
)]
fn get_agent_wallet(ctx: &ReceiveContext, host: &Host<State>) -> Result<Option<AccountAddress>, RegistryError> {
    let token_id: AgentTokenId = input::parameter(ctx)?;
    Ok(host.state().agent(&token_id)?.record.agent_wallet)
}

/// The nonce that the next wallet of an agent must sign, u64 LE.
///
/// # Errors
/// [`RegistryError::AgentNotFound`].
#[receive(
    contract = "CIS-8004",
    name = "getAgentWalletNonce",
    parameter = "AgentTokenId",
    return_value = "u64",
    error = "RegistryError"
)]
fn get_agent_wallet_nonce(ctx: &ReceiveContext, host: &Host<State>) -> Result<u64, RegistryError> {
    let token_id: AgentTokenId = input::parameter(ctx)?;
    Ok(host.state().agent(&token_id)?.wallet_nonce)
}
