//! A chain with both registries on it, and people to use them.

use std::{collections::BTreeMap, path::PathBuf};

use concordium_rust_sdk::{
    base::smart_contracts::WasmModule,
    common::types::KeyPair,
    id::types::{AccountKeys, CredentialData},
    smart_contracts::common::AccountBalance,
};
use concordium_smart_contract_testing::*;
use ed25519_dalek::SigningKey;

use crate::layout;

/// May upgrade the registry.
pub(crate) const ADMIN: AccountAddress = AccountAddress([0xad; 32]);
/// Owns agents.
pub(crate) const ALICE: AccountAddress = AccountAddress([0xa1; 32]);
/// Wants Alice's.
pub(crate) const BOB: AccountAddress = AccountAddress([0xb0; 32]);
/// The chain the registries were told they are on.
pub(crate) const GENESIS: [u8; 32] = [0x6e; 32];
/// Block time when the world begins, milliseconds since 1970.
pub(crate) const START: u64 = 1_790_000_000_000;
/// Enough for anything here.
const ENERGY: Energy = Energy { energy: 1_000_000 };

/// A chain, a CIS-8 registry and a CIS-8004 registry that trusts it.
pub(crate) struct World {
    pub(crate) chain: Chain,
    pub(crate) cis8: ContractAddress,
    pub(crate) registry: ContractAddress,
}

/// What a call did, or why it did not.
pub(crate) type Outcome = Result<Done, Refused>;

/// A call that happened.
#[derive(Debug)]
pub(crate) struct Done {
    /// What the called contract logged, in order.
    pub(crate) events: Vec<Vec<u8>>,
    /// Execution energy, as a dry run reports it.
    pub(crate) energy: u64,
}

/// A call that was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The contract's code.
    pub(crate) code: i32,
    /// The serialised error.
    pub(crate) value: Vec<u8>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_cis8(None)
    }

    /// A world whose CIS-8004 registry was told another CIS-8 registry than the one that is there.
    pub(crate) fn with_cis8(told: Option<ContractAddress>) -> Self {
        let mut chain = Chain::new_with_time(Timestamp::from_timestamp_millis(START));
        for address in [ADMIN, ALICE, BOB] {
            let balance = AccountBalance { total: Amount::from_ccd(100_000), staked: Amount::zero(), locked: Amount::zero() };
            let access = AccountAccessStructure::from(&keys(address));
            chain.create_account(Account::new_with_keys(address, balance, access));
        }
        let cis8 = start(&mut chain, "cis8-registry", "init_CIS-8", GENESIS.to_vec());
        let parameter = layout::concat(&[&ADMIN.0, &layout::contract(told.unwrap_or(cis8)), &GENESIS]);
        let registry = start(&mut chain, "cis8004-registry", "init_CIS-8004", parameter);
        World { chain, cis8, registry }
    }

    /// Sends a transaction to the CIS-8004 registry.
    pub(crate) fn send(&mut self, sender: AccountAddress, entry_point: &str, parameter: Vec<u8>) -> Outcome {
        self.send_as(Address::Account(sender), entry_point, parameter)
    }

    /// The same, as a contract would.
    pub(crate) fn send_as(&mut self, sender: Address, entry_point: &str, parameter: Vec<u8>) -> Outcome {
        let registry = self.registry;
        self.send_to(registry, sender, &format!("CIS-8004.{entry_point}"), parameter)
    }

    /// Sends a transaction to the CIS-8 registry.
    pub(crate) fn send_cis8(&mut self, sender: Address, entry_point: &str, parameter: Vec<u8>) -> Outcome {
        let cis8 = self.cis8;
        self.send_to(cis8, sender, &format!("CIS-8.{entry_point}"), parameter)
    }

    fn send_to(&mut self, address: ContractAddress, sender: Address, receive_name: &str, parameter: Vec<u8>) -> Outcome {
        let invoker = match sender {
            Address::Account(account) => account,
            Address::Contract(_) => BOB,
        };
        let payload = payload(address, receive_name, parameter);
        let outcome = self.chain.contract_update(Signer::with_one_key(), invoker, sender, ENERGY, payload);
        outcome.map(|done| finished(&done, address)).map_err(|error| refused(&error))
    }

    /// Asks the CIS-8004 registry; nothing is written.
    pub(crate) fn ask(&self, entry_point: &str, parameter: Vec<u8>) -> Result<Vec<u8>, Refused> {
        self.ask_of(self.registry, &format!("CIS-8004.{entry_point}"), parameter)
    }

    /// Asks the CIS-8 registry.
    pub(crate) fn ask_cis8(&self, entry_point: &str, parameter: Vec<u8>) -> Result<Vec<u8>, Refused> {
        self.ask_of(self.cis8, &format!("CIS-8.{entry_point}"), parameter)
    }

    fn ask_of(&self, address: ContractAddress, receive_name: &str, parameter: Vec<u8>) -> Result<Vec<u8>, Refused> {
        let outcome = self.chain.contract_invoke(BOB, Address::Account(BOB), ENERGY, payload(address, receive_name, parameter));
        outcome.map(|done| done.return_value).map_err(|error| refused(&error))
    }

    /// Execution energy of asking the CIS-8004 registry.
    pub(crate) fn energy_of(&self, entry_point: &str, parameter: Vec<u8>) -> u64 {
        let payload = payload(self.registry, &format!("CIS-8004.{entry_point}"), parameter);
        self.chain.contract_invoke(BOB, Address::Account(BOB), ENERGY, payload).unwrap().energy_used.energy
    }

    /// Registers an agent with nothing set.
    pub(crate) fn register_bare(&mut self, owner: AccountAddress) {
        self.send(owner, "register", layout::register(None, None, None, &[])).unwrap();
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.chain.tick_block_time(Duration::from_millis(milliseconds)).unwrap();
    }
}

/// A committed module.
pub(crate) fn module(name: &str) -> WasmModule {
    module_load_v1(modules_folder().join(format!("{name}.wasm.v1"))).unwrap()
}

/// Where the committed modules are.
pub(crate) fn modules_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("contracts/modules")
}

/// The keys of one of the accounts: credential 0, key 0, thresholds 1.
pub(crate) fn keys(owner: AccountAddress) -> AccountKeys {
    let pair = KeyPair::from(SigningKey::from_bytes(&owner.0));
    let credential =
        CredentialData { keys: BTreeMap::from([(KeyIndex(0), pair)]), threshold: SignatureThreshold::try_from(1u8).unwrap() };
    AccountKeys {
        keys: BTreeMap::from([(CredentialIndex { index: 0 }, credential)]),
        threshold: AccountThreshold::try_from(1u8).unwrap(),
    }
}

fn start(chain: &mut Chain, module_name: &str, init_name: &str, parameter: Vec<u8>) -> ContractAddress {
    let deployed = chain.module_deploy_v1(Signer::with_one_key(), ADMIN, module(module_name)).unwrap();
    let payload = InitContractPayload {
        amount: Amount::zero(),
        mod_ref: deployed.module_reference,
        init_name: OwnedContractName::new(init_name.to_owned()).unwrap(),
        param: OwnedParameter::try_from(parameter).unwrap(),
    };
    chain.contract_init(Signer::with_one_key(), ADMIN, ENERGY, payload).unwrap().contract_address
}

fn payload(address: ContractAddress, receive_name: &str, parameter: Vec<u8>) -> UpdateContractPayload {
    UpdateContractPayload {
        amount: Amount::zero(),
        address,
        receive_name: OwnedReceiveName::new(receive_name.to_owned()).unwrap(),
        message: OwnedParameter::try_from(parameter).unwrap(),
    }
}

fn finished(done: &ContractInvokeSuccess, called: ContractAddress) -> Done {
    let own = done.events().filter(|(address, _)| *address == called);
    Done {
        events: own.flat_map(|(_, events)| events.iter().map(|event| event.as_ref().to_vec())).collect(),
        energy: done.energy_used.energy,
    }
}

fn refused(error: &ContractInvokeError) -> Refused {
    let code = error.reject_code().unwrap_or_else(|| panic!("the call failed without a rejection: {error:?}"));
    Refused { code, value: error.return_value().unwrap_or_default().to_vec() }
}

/// The code a call was rejected with.
pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T, Refused>) -> i32 {
    outcome.expect_err("the call should have been rejected").code
}
