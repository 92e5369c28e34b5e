use std::collections::BTreeMap;
use std::sync::Arc;

use concordium_rust_sdk::base::base::{AccountAddressEq, Energy};
use concordium_rust_sdk::base::contracts_common::{
    AccountAddress, AccountBalance, Amount, OwnedContractName, OwnedParameter, OwnedPolicy, Timestamp,
};
use concordium_rust_sdk::base::smart_contracts::WasmModule;
use concordium_rust_sdk::base::transactions::{AccountAccessStructure, InitContractPayload, Payload, PayloadLike};
use concordium_smart_contract_testing::Account;
use sha2::{Digest, Sha256};

use super::engine::{execute, Effect, Order, Rates, World, MAX_BLOCK_ENERGY};
use super::history::{Block, Hash};
use super::wallet::TestAccount;
use super::{AccountSpec, DevnetError, Preset};
use crate::identity::{ContractAddress, MAINNET, TESTNET};

const CIS8_MODULE: &[u8] = include_bytes!("../../contracts/modules/cis8-registry.wasm.v1");
const CIS8004_MODULE: &[u8] = include_bytes!("../../contracts/modules/cis8004-registry.wasm.v1");

/// Everything that decides the first block. It is kept with the chain, so that a folder is continued with the contracts it was
/// started with.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Genesis {
    /// Where the registries are.
    pub(super) preset: Preset,
    /// What all keys follow from.
    pub(super) seed: String,
    /// Milliseconds since 1970.
    pub(super) time: u64,
    /// The funded accounts, in order; the first one administers the registries.
    pub(super) accounts: Vec<AccountSpec>,
    /// What energy costs.
    pub(super) rates: Rates,
    /// The module of the CIS-8 registry, in hex.
    cis8_module: String,
    /// The module of the CIS-8004 registry, in hex.
    registry_module: String,
}

impl Genesis {
    /// A first block with the contracts that this version brings.
    pub(super) fn new(preset: Preset, seed: String, time: u64, accounts: Vec<AccountSpec>) -> Result<Self, DevnetError> {
        if accounts.is_empty() || accounts.len() > 1000 {
            return Err(DevnetError::Configuration("a devnet has 1 to 1000 accounts".into()));
        }
        let total: u128 = accounts.iter().map(|account| u128::from(account.micro_ccd)).sum();
        if total > u128::from(u64::MAX / 4) {
            return Err(DevnetError::Configuration("the accounts hold more CCD than the chain can count".into()));
        }
        let (cis8_module, registry_module) = (hex::encode(CIS8_MODULE), hex::encode(CIS8004_MODULE));
        Ok(Self { preset, seed, time, accounts, rates: Rates::default(), cis8_module, registry_module })
    }

    /// The hash of the genesis block. It follows from the preset and the seed, and is never that of a real network.
    pub(super) fn hash(&self) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(b"cardproof devnet genesis\0");
        hasher.update(self.preset.name());
        hasher.update(b"\0");
        hasher.update(&self.seed);
        let hash: Hash = hasher.finalize().into();
        debug_assert!(hash != MAINNET.genesis.0 && hash != TESTNET.genesis.0);
        hash
    }

    /// The accounts with their keys.
    pub(super) fn test_accounts(&self) -> Result<Vec<TestAccount>, DevnetError> {
        self.accounts.iter().enumerate().map(|(index, spec)| TestAccount::derive(&self.seed, index, spec)).collect()
    }

    /// The address of the CIS-8 registry.
    pub(super) fn cis8(&self) -> ContractAddress {
        ContractAddress::new(self.preset.first_index(), 0)
    }

    /// The address of the CIS-8004 registry, which follows.
    pub(super) fn registry(&self) -> ContractAddress {
        ContractAddress::new(self.preset.first_index() + 1, 0)
    }

    /// The first block: funded accounts, and both registries deployed and initialised.
    pub(super) fn block(&self, accounts: &[TestAccount]) -> Result<Block, DevnetError> {
        let mut world = World { next_contract_index: self.preset.first_index(), ..World::default() };
        for account in accounts {
            world.accounts.insert(AccountAddressEq::from(account.address), self.account(account));
        }
        let admin = accounts.first().ok_or_else(|| DevnetError::Configuration("a devnet has an account".into()))?;
        // Genesis is free of charge: the administrator is lent what it takes.
        let lent = world.clone();
        world.credit(admin.address, self.rates.price(Energy::from(MAX_BLOCK_ENERGY * 4)));

        let hash = self.hash();
        let cis8 = self.deploy(&mut world, admin, &self.cis8_module)?;
        self.init(&mut world, admin, cis8, "init_CIS-8", &hash)?;
        let mut parameter = admin.address.0.to_vec();
        parameter.extend(self.cis8().index.to_le_bytes());
        parameter.extend(self.cis8().subindex.to_le_bytes());
        parameter.extend(hash);
        let registry = self.deploy(&mut world, admin, &self.registry_module)?;
        self.init(&mut world, admin, registry, "init_CIS-8004", &parameter)?;

        world.accounts = lent.accounts;
        world.nonces = BTreeMap::new();
        Ok(Block { height: 0, hash, parent: hash, time: self.time, transactions: Vec::new(), world: Arc::new(world) })
    }

    fn account(&self, account: &TestAccount) -> Account {
        let balance = AccountBalance {
            total: Amount::from_micro_ccd(account.initial_micro_ccd()),
            staked: Amount::zero(),
            locked: Amount::zero(),
        };
        let policy = OwnedPolicy {
            identity_provider: 0,
            created_at: Timestamp::from_timestamp_millis(0),
            valid_to: Timestamp::from_timestamp_millis(u64::MAX),
            items: Vec::new(),
        };
        Account::new_with_policy_and_keys(account.address, balance, policy, AccountAccessStructure::from(&account.keys))
    }

    fn deploy(
        &self,
        world: &mut World,
        admin: &TestAccount,
        module: &str,
    ) -> Result<concordium_rust_sdk::base::contracts_common::ModuleReference, DevnetError> {
        let bytes = hex::decode(module).map_err(|error| DevnetError::Genesis(format!("a module is not in hex: {error}")))?;
        let module = WasmModule::from_slice(&bytes)
            .map_err(|error| DevnetError::Genesis(format!("a contract module cannot be read: {error}")))?;
        match self.run(world, admin.address, Payload::DeployModule { module }) {
            Effect::Deployed(reference) => Ok(reference),
            other => Err(DevnetError::Genesis(format!("a contract module was not taken ({})", name(&other)))),
        }
    }

    fn init(
        &self,
        world: &mut World,
        admin: &TestAccount,
        mod_ref: concordium_rust_sdk::base::contracts_common::ModuleReference,
        init_name: &str,
        parameter: &[u8],
    ) -> Result<(), DevnetError> {
        let param = OwnedParameter::try_from(parameter.to_vec())
            .map_err(|error| DevnetError::Genesis(format!("an init parameter is too long: {error}")))?;
        let init_name = OwnedContractName::new(init_name.into())
            .map_err(|error| DevnetError::Genesis(format!("a contract has no valid name: {error}")))?;
        let payload = InitContractPayload { amount: Amount::zero(), mod_ref, init_name, param };
        match self.run(world, admin.address, Payload::InitContract { payload }) {
            Effect::Initialized { .. } => Ok(()),
            other => Err(DevnetError::Genesis(format!("a registry was not initialised ({})", name(&other)))),
        }
    }

    fn run(&self, world: &mut World, sender: AccountAddress, payload: Payload) -> Effect {
        let order = Order { sender, energy: Energy::from(MAX_BLOCK_ENERGY), signatures: 1, payload: payload.encode() };
        execute(world, &order, Timestamp::from_timestamp_millis(self.time), &self.rates).effect
    }
}

fn name(effect: &Effect) -> String {
    match effect {
        Effect::Rejected(reason) => format!("rejected: {reason:?}"),
        _ => "it did something else".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_genesis_hash_follows_from_preset_and_seed_alone() {
        let hash =
            |preset, seed: &str, time| Genesis::new(preset, seed.into(), time, vec![AccountSpec::simple(1)]).unwrap().hash();
        assert_eq!(hash(Preset::Default, "a", 1), hash(Preset::Default, "a", 2));
        assert_ne!(hash(Preset::Default, "a", 1), hash(Preset::Default, "b", 1));
        assert_ne!(hash(Preset::Default, "a", 1), hash(Preset::MainnetLike, "a", 1));
        for preset in [Preset::Default, Preset::MainnetLike, Preset::TestnetLike] {
            assert!(![MAINNET.genesis.0, TESTNET.genesis.0].contains(&hash(preset, "a", 1)));
        }
    }

    #[test]
    fn the_mainnet_like_registries_are_where_mainnets_are() {
        let genesis = Genesis::new(Preset::MainnetLike, "a".into(), 1, vec![AccountSpec::simple(1)]).unwrap();
        assert_eq!((genesis.registry(), genesis.cis8()), (MAINNET.registry, MAINNET.cis8));
        let genesis = Genesis::new(Preset::TestnetLike, "a".into(), 1, vec![AccountSpec::simple(1)]).unwrap();
        assert_eq!((genesis.registry(), genesis.cis8()), (TESTNET.registry, TESTNET.cis8));
    }

    #[test]
    fn genesis_costs_nothing_and_holds_both_registries() {
        let genesis = Genesis::new(Preset::Default, "a".into(), 1, vec![AccountSpec::simple(5)]).unwrap();
        let accounts = genesis.test_accounts().unwrap();
        let block = genesis.block(&accounts).unwrap();
        assert_eq!(block.world.balance(accounts[0].address), Amount::from_micro_ccd(5));
        assert_eq!(block.world.nonce(accounts[0].address), 1);
        let names: Vec<_> = block.world.contracts.values().map(|c| c.contract_name.to_string()).collect();
        assert_eq!(names, ["init_CIS-8", "init_CIS-8004"]);
    }
}
