use concordium_rust_sdk::base::base::Energy;
use concordium_rust_sdk::base::contracts_common::{AccountAddress, Address, Timestamp};
use concordium_rust_sdk::base::transactions::UpdateContractPayload;
use concordium_smart_contract_testing::Signer;

use super::{Rates, World, MAX_BLOCK_ENERGY};
use crate::devnet::DevnetError;

/// Runs many updates one after the other, free of charge and without a block for each.
pub(in crate::devnet) fn update_all(
    world: &mut World,
    sender: AccountAddress,
    time: Timestamp,
    rates: &Rates,
    payloads: impl Iterator<Item = Result<UpdateContractPayload, DevnetError>>,
) -> Result<(), DevnetError> {
    let mut chain = world.chain(time, rates);
    let energy = Energy::from(MAX_BLOCK_ENERGY);
    let funds = chain.account(sender).map(|account| account.balance).ok();
    for (index, payload) in payloads.enumerate() {
        let result = chain.contract_update(Signer::with_one_key(), sender, Address::Account(sender), energy, payload?);
        result.map_err(|error| DevnetError::Refused(format!("number {index}: {error}")))?;
        if let (Some(balance), Some(account)) = (funds, chain.accounts.get_mut(&sender.into())) {
            account.balance = balance;
        }
    }
    world.absorb(chain);
    Ok(())
}
