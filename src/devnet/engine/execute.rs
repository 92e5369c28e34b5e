use std::sync::Arc;

use concordium_rust_sdk::base::base::{AccountAddressEq, Energy};
use concordium_rust_sdk::base::contracts_common::{
    AccountAddress, Address, Amount, ContractAddress, ModuleReference, OwnedContractName, OwnedParameter, Timestamp,
};
use concordium_rust_sdk::base::smart_contracts::{ContractEvent, ContractTraceElement, WasmModule};
use concordium_rust_sdk::base::transactions::{
    construct::TRANSACTION_HEADER_SIZE, cost, EncodedPayload, InitContractPayload, Memo, Payload, RegisteredData,
    TransactionType, UpdateContractPayload,
};
use concordium_rust_sdk::types::RejectReason;
use concordium_smart_contract_testing::Signer;

use super::{reject, Rates, World};

/// A transaction that has been admitted: what its sender ordered.
#[derive(Debug, Clone)]
pub(in crate::devnet) struct Order {
    /// Who pays and acts.
    pub(in crate::devnet) sender: AccountAddress,
    /// The most energy it may use, at least its base cost and at most the block's limit.
    pub(in crate::devnet) energy: Energy,
    /// How many signatures it carries, at least 1.
    pub(in crate::devnet) signatures: u32,
    /// What to do.
    pub(in crate::devnet) payload: EncodedPayload,
}

impl Order {
    /// What checking the transaction costs before anything is done: 100 per signature and 1 per byte, header included
    /// (registry facts, section 8).
    pub(in crate::devnet) fn base_cost(&self) -> Energy {
        let size = TRANSACTION_HEADER_SIZE + u64::from(u32::from(self.payload.size()));
        cost::base_cost(size, self.signatures)
    }
}

/// What a transaction did.
#[derive(Debug, Clone)]
pub(in crate::devnet) enum Effect {
    /// Nothing, except that it was paid for.
    Rejected(RejectReason),
    /// Added a module.
    Deployed(ModuleReference),
    /// Made a contract instance.
    Initialized {
        /// Where.
        address: ContractAddress,
        /// From which module.
        module: ModuleReference,
        /// Which contract of it.
        name: OwnedContractName,
        /// With which balance.
        amount: Amount,
        /// What it logged.
        events: Vec<ContractEvent>,
        /// The parameter it was given.
        parameter: OwnedParameter,
    },
    /// Ran contracts.
    Updated(Vec<ContractTraceElement>),
    /// Moved CCD to an account.
    Transferred {
        /// To whom.
        receiver: AccountAddress,
        /// How much.
        amount: Amount,
        /// With which note.
        memo: Option<Memo>,
    },
    /// Put data on the chain.
    Registered(RegisteredData),
}

/// The outcome of a transaction.
#[derive(Debug, Clone)]
pub(in crate::devnet) struct Execution {
    /// Its kind, unknown when its payload could not be read.
    pub(in crate::devnet) kind: Option<TransactionType>,
    /// Energy used.
    pub(in crate::devnet) energy: Energy,
    /// What was paid for the energy.
    pub(in crate::devnet) cost: Amount,
    /// What it did.
    pub(in crate::devnet) effect: Effect,
    /// What a contract answered, for a dry run.
    pub(in crate::devnet) return_value: Option<Vec<u8>>,
}

/// What running a payload gave: energy used, and the effect or the reason for none.
struct Run {
    energy: Energy,
    effect: Result<Effect, RejectReason>,
    return_value: Option<Vec<u8>>,
}

impl Run {
    fn rejected(energy: Energy, reason: RejectReason) -> Self {
        Self { energy, effect: Err(reason), return_value: None }
    }
}

/// Executes an admitted transaction: afterwards `world` has its effects, or, if it was rejected, nothing but the payment and
/// the next sequence number.
pub(in crate::devnet) fn execute(world: &mut World, order: &Order, time: Timestamp, rates: &Rates) -> Execution {
    let before = world.clone();
    let payload = order.payload.decode().ok();
    let kind = payload.as_ref().map(Payload::transaction_type);
    let run = match payload {
        None => Run::rejected(order.base_cost(), RejectReason::SerializationFailure),
        Some(payload) => run(world, order, payload, time, rates),
    };
    // The energy a rejection for lack of it costs is all of it.
    let energy = match &run.effect {
        Err(RejectReason::OutOfEnergy) => order.energy,
        _ => run.energy.min(order.energy),
    };
    let cost = rates.price(energy);
    let effect = run.effect.unwrap_or_else(|reason| {
        *world = before;
        world.charge(order.sender, cost);
        Effect::Rejected(reason)
    });
    let sender = AccountAddressEq::from(order.sender);
    *world.nonces.entry(sender).or_insert(1) += 1;
    Execution { kind, energy, cost, effect, return_value: run.return_value }
}

fn run(world: &mut World, order: &Order, payload: Payload, time: Timestamp, rates: &Rates) -> Run {
    match payload {
        Payload::Update { payload } => update(world, order, payload, time, rates),
        Payload::InitContract { payload } => init(world, order, payload, time, rates),
        Payload::DeployModule { module } => deploy(world, order, module, time, rates),
        Payload::Transfer { to_address, amount } => transfer(world, order, to_address, amount, None, rates),
        Payload::TransferWithMemo { to_address, memo, amount } => transfer(world, order, to_address, amount, Some(memo), rates),
        Payload::RegisterData { data } => {
            let energy = order.base_cost() + cost::REGISTER_DATA;
            if energy > order.energy {
                return Run::rejected(order.energy, RejectReason::OutOfEnergy);
            }
            world.charge(order.sender, rates.price(energy));
            Run { energy, effect: Ok(Effect::Registered(data)), return_value: None }
        }
        // Admission refuses the other kinds; should one slip through, it is rejected and paid for.
        _ => Run::rejected(order.base_cost(), RejectReason::SerializationFailure),
    }
}

fn signer(order: &Order) -> Signer {
    Signer::with_keys(order.signatures).unwrap_or(Signer::with_one_key())
}

/// An amount beyond what the account has is answered here: the engine adds it to the deposit, which could overflow.
fn too_large(world: &World, order: &Order, amount: Amount) -> Option<RejectReason> {
    let contents = (Address::Account(order.sender), amount);
    (amount > world.balance(order.sender)).then_some(RejectReason::AmountTooLarge { contents })
}

fn update(world: &mut World, order: &Order, payload: UpdateContractPayload, time: Timestamp, rates: &Rates) -> Run {
    if let Some(reason) = too_large(world, order, payload.amount) {
        return Run::rejected(order.base_cost(), reason);
    }
    let mut chain = world.chain(time, rates);
    let sender = Address::Account(order.sender);
    match chain.contract_update(signer(order), order.sender, sender, order.energy, payload.clone()) {
        Ok(success) => {
            world.absorb(chain);
            let trace = success.effective_trace_elements_cloned();
            Run { energy: success.energy_used, effect: Ok(Effect::Updated(trace)), return_value: Some(success.return_value) }
        }
        Err(error) => Run {
            energy: error.energy_used,
            effect: Err(reject::of_invoke(world, &error.kind, sender, &payload)),
            return_value: error.return_value().map(<[u8]>::to_vec),
        },
    }
}

fn init(world: &mut World, order: &Order, payload: InitContractPayload, time: Timestamp, rates: &Rates) -> Run {
    if let Some(reason) = too_large(world, order, payload.amount) {
        return Run::rejected(order.base_cost(), reason);
    }
    let mut chain = world.chain(time, rates);
    // The engine counts instances from 0 and cannot be told otherwise, so the instance is made at index 0 and moved to its
    // own index. It cannot notice: an init function does not learn its contract's address.
    let first = ContractAddress::new(0, 0);
    let displaced = chain.contracts.remove(&first);
    let result = chain.contract_init(signer(order), order.sender, order.energy, payload.clone());
    let success = match result {
        Ok(success) => success,
        Err(error) => return Run::rejected(error.energy_used, reject::of_init(&error.kind, order.sender, &payload)),
    };
    let address = ContractAddress::new(world.next_contract_index, 0);
    if let Some(mut contract) = chain.contracts.remove(&success.contract_address) {
        contract.address = address;
        chain.contracts.insert(address, contract);
    }
    if let Some(displaced) = displaced {
        chain.contracts.insert(first, displaced);
    }
    world.absorb(chain);
    world.next_contract_index += 1;
    let effect = Effect::Initialized {
        address,
        module: payload.mod_ref,
        name: payload.init_name,
        amount: payload.amount,
        events: success.events,
        parameter: payload.param,
    };
    Run { energy: success.energy_used, effect: Ok(effect), return_value: None }
}

fn deploy(world: &mut World, order: &Order, module: WasmModule, time: Timestamp, rates: &Rates) -> Run {
    let energy = order.base_cost() + cost::deploy_module(module.source.size());
    if energy > order.energy {
        return Run::rejected(order.energy, RejectReason::OutOfEnergy);
    }
    let mut chain = world.chain(time, rates);
    match chain.module_deploy_v1(signer(order), order.sender, module.clone()) {
        Ok(success) => {
            world.absorb(chain);
            world.sources.insert(success.module_reference, Arc::new(module));
            Run { energy: success.energy_used, effect: Ok(Effect::Deployed(success.module_reference)), return_value: None }
        }
        Err(error) => Run::rejected(energy, reject::of_deploy(&error.kind)),
    }
}

fn transfer(
    world: &mut World,
    order: &Order,
    receiver: AccountAddress,
    amount: Amount,
    memo: Option<Memo>,
    rates: &Rates,
) -> Run {
    let energy = order.base_cost() + cost::SIMPLE_TRANSFER;
    if energy > order.energy {
        return Run::rejected(order.energy, RejectReason::OutOfEnergy);
    }
    // As on a node, the deposit for the energy cannot be spent.
    let spendable = world.balance(order.sender).micro_ccd().saturating_sub(rates.price(order.energy).micro_ccd());
    if amount.micro_ccd() > spendable {
        let contents = (Address::Account(order.sender), amount);
        return Run::rejected(energy, RejectReason::AmountTooLarge { contents });
    }
    if world.account(receiver).is_none() {
        return Run::rejected(energy, RejectReason::InvalidAccountReference { contents: receiver });
    }
    world.charge(order.sender, rates.price(energy));
    world.charge(order.sender, amount);
    world.credit(receiver, amount);
    Run { energy, effect: Ok(Effect::Transferred { receiver, amount, memo }), return_value: None }
}
