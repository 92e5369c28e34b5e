//! The agent as a CIS-2 token: supply 1, owned by an account.

use concordium_cis2::{
    BalanceOfQueryParams, BalanceOfQueryResponse, Cis2Error, OperatorOfQueryParams, OperatorOfQueryResponse, OperatorUpdate,
    Receiver, TokenAmountU64, TokenMetadataQueryParams, TokenMetadataQueryResponse, Transfer, TransferParams,
    UpdateOperatorParams,
};
use concordium_std::*;

use crate::{
    error::RegistryError,
    event::RegistryEvent,
    input,
    record::{same_account, AgentRecord, AgentStatus, AgentTokenId},
    state::State,
};

/// CIS-2's three rejections, or one of ours.
type TokenError = Cis2Error<RegistryError>;
/// CIS-2 amounts are LEB128; an agent's is 0 or 1.
type Amount1 = TokenAmountU64;

/// What a wallet app is told to show for an agent: its card, with the hash of it.
pub fn metadata_url(record: &AgentRecord) -> MetadataUrl {
    MetadataUrl { url: record.agent_uri.clone().unwrap_or_default(), hash: record.metadata_hash }
}

/// Changes owners. All transfers of a call happen, or none.
///
/// # Errors
/// Those of [`transfer_one`].
#[receive(
    contract = "CIS-8004",
    name = "transfer",
    parameter = "TransferParams<AgentTokenId, TokenAmountU64>",
    error = "Cis2Error<RegistryError>",
    enable_logger,
    mutable
)]
fn transfer(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), TokenError> {
    let TransferParams(transfers): TransferParams<AgentTokenId, Amount1> = input::parameter(ctx)?;
    for transfer in transfers {
        transfer_one(ctx.sender(), transfer, host.state_mut(), logger)?;
    }
    Ok(())
}

/// Gives an agent to another account, without its reference and wallet: those were the old owner's. Wallet signatures
/// made for the old owner are void. Logs Transfer, ExternalReferenceSet and AgentWalletSet. A transfer of amount 0 logs
/// Transfer and changes nothing, as CIS-2 asks.
///
/// # Errors
/// In this order: InvalidTokenId, CIS-2 Unauthorized unless the owner or its operator asks, InvalidReceiver for a
/// contract, AgentRevoked, InsufficientFunds for more than 1 or from another than the owner.
fn transfer_one(
    sender: Address,
    transfer: Transfer<AgentTokenId, Amount1>,
    state: &mut State,
    logger: &mut Logger,
) -> Result<(), TokenError> {
    let Transfer { token_id, amount, from, to, .. } = transfer;
    let mut agent = state.agent(&token_id).map_err(|_| TokenError::InvalidTokenId)?;
    let is_authorized = match &from {
        Address::Account(owner) => {
            matches!(&sender, Address::Account(sender) if same_account(sender, owner)) || state.is_operator(owner, &sender)
        }
        Address::Contract(_) => sender == from,
    };
    ensure!(is_authorized, TokenError::Unauthorized);
    let Receiver::Account(to) = to else { bail!(TokenError::Custom(RegistryError::InvalidReceiver)) };
    ensure!(agent.record.status == AgentStatus::Active, TokenError::Custom(RegistryError::AgentRevoked));
    let balance = u64::from(agent.is_owned_by(&from));
    ensure!(amount.0 <= balance, TokenError::InsufficientFunds);

    RegistryEvent::Transfer { token_id, amount, from, to: Address::Account(to) }.log(logger)?;
    if amount.0 == 0 {
        return Ok(());
    }

    state.set_reference(&mut agent, None);
    agent.record.owner_account = to;
    agent.record.agent_wallet = None;
    agent.wallet_nonce += 1;
    state.save(&agent);
    RegistryEvent::ExternalReferenceSet { token_id, external_reference: None }.log(logger)?;
    RegistryEvent::AgentWalletSet { token_id, new_wallet: None }.log(logger)?;
    Ok(())
}

/// Lets addresses transfer all agents of the sender, or no longer. Logs UpdateOperator for each.
///
/// # Errors
/// [`RegistryError::Unauthorized`] for a contract as sender: it can own nothing to transfer.
#[receive(
    contract = "CIS-8004",
    name = "updateOperator",
    parameter = "UpdateOperatorParams",
    error = "Cis2Error<RegistryError>",
    enable_logger,
    mutable
)]
fn update_operator(ctx: &ReceiveContext, host: &mut Host<State>, logger: &mut Logger) -> Result<(), TokenError> {
    let Address::Account(owner) = ctx.sender() else { bail!(TokenError::Custom(RegistryError::Unauthorized)) };
    let UpdateOperatorParams(updates) = input::parameter(ctx)?;
    for change in updates {
        match change.update {
            OperatorUpdate::Add => host.state_mut().add_operator(&owner, &change.operator),
            OperatorUpdate::Remove => host.state_mut().remove_operator(&owner, &change.operator),
        }
        RegistryEvent::UpdateOperator { update: change.update, owner: Address::Account(owner), operator: change.operator }
            .log(logger)?;
    }
    Ok(())
}

/// How many of a token an address has: 1 for the owner, revoked or not, else 0.
///
/// # Errors
/// InvalidTokenId.
#[receive(
    contract = "CIS-8004",
    name = "balanceOf",
    parameter = "BalanceOfQueryParams<AgentTokenId>",
    return_value = "BalanceOfQueryResponse<TokenAmountU64>",
    error = "Cis2Error<RegistryError>"
)]
fn balance_of(ctx: &ReceiveContext, host: &Host<State>) -> Result<BalanceOfQueryResponse<Amount1>, TokenError> {
    let asked: BalanceOfQueryParams<AgentTokenId> = input::parameter(ctx)?;
    let mut balances = Vec::with_capacity(asked.queries.len());
    for query in asked.queries {
        let agent = host.state().agent(&query.token_id).map_err(|_| TokenError::InvalidTokenId)?;
        balances.push(TokenAmountU64(u64::from(agent.is_owned_by(&query.address))));
    }
    Ok(balances.into())
}

/// Whether addresses may transfer the agents of owners.
#[receive(
    contract = "CIS-8004",
    name = "operatorOf",
    parameter = "OperatorOfQueryParams",
    return_value = "OperatorOfQueryResponse",
    error = "Cis2Error<RegistryError>"
)]
fn operator_of(ctx: &ReceiveContext, host: &Host<State>) -> Result<OperatorOfQueryResponse, TokenError> {
    let asked: OperatorOfQueryParams = input::parameter(ctx)?;
    let answers: Vec<bool> = asked
        .queries
        .iter()
        .map(|query| match &query.owner {
            Address::Account(owner) => host.state().is_operator(owner, &query.address),
            Address::Contract(_) => false,
        })
        .collect();
    Ok(answers.into())
}

/// Where the cards of agents are: [`metadata_url`].
///
/// # Errors
/// InvalidTokenId.
#[receive(
    contract = "CIS-8004",
    name = "tokenMetadata",
    parameter = "TokenMetadataQueryParams<AgentTokenId>",
    return_value = "TokenMetadataQueryResponse",
    error = "Cis2Error<RegistryError>"
)]
fn token_metadata(ctx: &ReceiveContext, host: &Host<State>) -> Result<TokenMetadataQueryResponse, TokenError> {
    let asked: TokenMetadataQueryParams<AgentTokenId> = input::parameter(ctx)?;
    let mut urls = Vec::with_capacity(asked.queries.len());
    for token_id in asked.queries {
        let agent = host.state().agent(&token_id).map_err(|_| TokenError::InvalidTokenId)?;
        urls.push(metadata_url(&agent.record));
    }
    Ok(urls.into())
}
