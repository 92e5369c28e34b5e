use std::collections::BTreeMap;
use std::sync::Arc;

use concordium_rust_sdk::base::base::AccountAddressEq;
use concordium_rust_sdk::base::contracts_common::{AccountAddress, Amount, ContractAddress, ModuleReference, Timestamp};
use concordium_rust_sdk::base::smart_contracts::WasmModule;
use concordium_rust_sdk::base::transactions::AccountAccessStructure;
use concordium_smart_contract_testing::{Account, Chain, Contract, ContractModule};

use super::Rates;

/// Everything that a block's transactions can change.
///
/// A clone is cheap (contract states are persistent tries and modules are shared), so every block keeps its own.
#[derive(Debug, Clone, Default)]
pub(in crate::devnet) struct World {
    /// Accounts by the 29 bytes that identify them.
    pub(in crate::devnet) accounts: BTreeMap<AccountAddressEq, Account>,
    /// The sequence number of each account's next transaction; 1 when absent.
    pub(in crate::devnet) nonces: BTreeMap<AccountAddressEq, u64>,
    /// Modules ready to run.
    pub(in crate::devnet) modules: BTreeMap<ModuleReference, ContractModule>,
    /// Their sources.
    pub(in crate::devnet) sources: BTreeMap<ModuleReference, Arc<WasmModule>>,
    /// Contract instances.
    pub(in crate::devnet) contracts: BTreeMap<ContractAddress, Contract>,
    /// The index of the next contract instance.
    pub(in crate::devnet) next_contract_index: u64,
}

impl World {
    /// The engine over a copy of this state, with `time` as its block time.
    pub(super) fn chain(&self, time: Timestamp, rates: &Rates) -> Chain {
        let built = Chain::new_with_time_and_rates(time, rates.micro_ccd_per_euro(), rates.euro_per_energy());
        // Rates the engine finds too high are refused when the chain is configured; the fallback keeps this total.
        let mut chain = built.unwrap_or_else(|_| Chain::new_with_time(time));
        chain.accounts.clone_from(&self.accounts);
        chain.modules.clone_from(&self.modules);
        chain.contracts.clone_from(&self.contracts);
        chain
    }

    /// Takes over what the engine changed.
    pub(super) fn absorb(&mut self, chain: Chain) {
        self.accounts = chain.accounts;
        self.modules = chain.modules;
        self.contracts = chain.contracts;
    }

    /// The account with this address or an alias of it.
    pub(in crate::devnet) fn account(&self, address: AccountAddress) -> Option<&Account> {
        self.accounts.get(&AccountAddressEq::from(address))
    }

    /// The sequence number of the account's next transaction.
    pub(in crate::devnet) fn nonce(&self, address: AccountAddress) -> u64 {
        self.nonces.get(&AccountAddressEq::from(address)).copied().unwrap_or(1)
    }

    /// What the account can spend.
    pub(in crate::devnet) fn balance(&self, address: AccountAddress) -> Amount {
        self.account(address).map(|account| account.balance.available()).unwrap_or_default()
    }

    /// Who must sign for the account.
    pub(in crate::devnet) fn keys(&self, address: AccountAddress) -> Option<&AccountAccessStructure> {
        self.account(address).map(|account| &account.keys)
    }

    /// Takes `amount` from the account's balance, or all of it if there is less.
    pub(super) fn charge(&mut self, address: AccountAddress, amount: Amount) {
        if let Some(account) = self.accounts.get_mut(&AccountAddressEq::from(address)) {
            let left = account.balance.total.micro_ccd().saturating_sub(amount.micro_ccd());
            account.balance.total = Amount::from_micro_ccd(left);
        }
    }

    /// Adds `amount` to the account's balance.
    pub(in crate::devnet) fn credit(&mut self, address: AccountAddress, amount: Amount) {
        if let Some(account) = self.accounts.get_mut(&AccountAddressEq::from(address)) {
            let total = account.balance.total.micro_ccd().saturating_add(amount.micro_ccd());
            account.balance.total = Amount::from_micro_ccd(total);
        }
    }
}
