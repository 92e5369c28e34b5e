use std::sync::Arc;

use concordium_rust_sdk::base::base::{AccountAddressEq, Energy};
use concordium_rust_sdk::base::contracts_common::{AccountAddress, AccountBalance, Address, Amount, Timestamp};
use concordium_rust_sdk::base::smart_contracts::ContractTraceElement;
use concordium_rust_sdk::base::transactions::UpdateContractPayload;
use concordium_rust_sdk::types::RejectReason;
use concordium_smart_contract_testing::{Account, Chain};

use super::{reject, Rates, World, MAX_INVOKE_ENERGY};

/// The account that invokes when nobody is named: address 0, no credentials, enough CCD for anything (as on a node).
const NOBODY: AccountAddress = AccountAddress([0; 32]);
/// Half of all microCCD that fit, so that nothing overflows.
const ENOUGH: Amount = Amount::from_micro_ccd(u64::MAX / 2);

/// A view: a call whose changes are thrown away.
#[derive(Debug, Clone)]
pub(in crate::devnet) struct Invocation {
    /// Who calls; nobody in particular when absent.
    pub(in crate::devnet) invoker: Option<Address>,
    /// The most energy to use; the node's cap when absent.
    pub(in crate::devnet) energy: Option<Energy>,
    /// What to call.
    pub(in crate::devnet) payload: UpdateContractPayload,
}

/// What a view gave.
#[derive(Debug, Clone)]
pub(in crate::devnet) struct Invoked {
    /// Energy used.
    pub(in crate::devnet) energy: Energy,
    /// What the contract answered, when it answered (also with a rejection).
    pub(in crate::devnet) return_value: Option<Vec<u8>>,
    /// What would have happened, or why it would not.
    pub(in crate::devnet) result: Result<Vec<ContractTraceElement>, RejectReason>,
}

/// The engine over the state of one block, ready for any number of views at the same time.
pub(in crate::devnet) struct View {
    world: Arc<World>,
    chain: Chain,
    time: Timestamp,
    rates: Rates,
}

impl View {
    /// Prepares views at the end of a block.
    pub(in crate::devnet) fn new(world: Arc<World>, time: Timestamp, rates: Rates) -> Self {
        let mut chain = world.chain(time, &rates);
        chain.create_account(Account::new(NOBODY, ENOUGH));
        Self { world, chain, time, rates }
    }
}

/// Runs a view. Energy is free, as on a node: an invoker without CCD sees its true balance.
pub(in crate::devnet) fn invoke(view: &View, invocation: Invocation) -> Invoked {
    let energy = invocation.energy.unwrap_or(Energy::from(MAX_INVOKE_ENERGY)).min(Energy::from(MAX_INVOKE_ENERGY));
    match invocation.invoker {
        None => run(view, &view.chain, NOBODY, Address::Account(NOBODY), energy, invocation.payload),
        Some(sender @ Address::Account(invoker)) => {
            // The engine sets the price of the energy aside first, so the invoker is lent just that.
            let mut chain = view.world.chain(view.time, &view.rates);
            if let Some(account) = chain.accounts.get_mut(&AccountAddressEq::from(invoker)) {
                let lent = account.balance.total.micro_ccd().saturating_add(view.rates.price(energy).micro_ccd());
                account.balance = AccountBalance { total: Amount::from_micro_ccd(lent), ..account.balance };
            }
            run(view, &chain, invoker, sender, energy, invocation.payload)
        }
        // A contract has no keys and pays nothing: its owner stands behind it, as on a node.
        Some(sender @ Address::Contract(contract)) => {
            let owner = view.world.contracts.get(&contract).map_or(NOBODY, |contract| contract.owner);
            let mut chain = view.world.chain(view.time, &view.rates);
            if let Some(account) = chain.accounts.get_mut(&AccountAddressEq::from(owner)) {
                account.balance.total = ENOUGH;
            }
            run(view, &chain, owner, sender, energy, invocation.payload)
        }
    }
}

fn run(
    view: &View,
    chain: &Chain,
    invoker: AccountAddress,
    sender: Address,
    energy: Energy,
    payload: UpdateContractPayload,
) -> Invoked {
    // The engine adds the amount to what it sets aside, which could overflow.
    if payload.amount > ENOUGH {
        let reason = RejectReason::AmountTooLarge { contents: (sender, payload.amount) };
        return Invoked { energy: Energy::from(0), return_value: None, result: Err(reason) };
    }
    match chain.contract_invoke(invoker, sender, energy, payload.clone()) {
        Ok(success) => Invoked {
            energy: success.energy_used,
            result: Ok(success.effective_trace_elements_cloned()),
            return_value: Some(success.return_value),
        },
        Err(error) => Invoked {
            energy: error.energy_used,
            return_value: error.return_value().map(<[u8]>::to_vec),
            result: Err(reject::of_invoke(&view.world, &error.kind, sender, &payload)),
        },
    }
}
