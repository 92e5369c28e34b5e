use concordium_rust_sdk::base::base::Energy;
use concordium_rust_sdk::base::contracts_common::{Address, Amount, ContractAddress, ModuleReference, OwnedParameter};
use concordium_rust_sdk::base::transactions::UpdateContractPayload;
use concordium_rust_sdk::smart_contracts::engine::v1::trie::Loader;
use concordium_rust_sdk::types::RejectReason;
use concordium_rust_sdk::v2::generated::{self as proto, invoke_instance_response as invoke_response};
use tonic::Status;

use super::super::convert;
use super::super::engine::{invoke, Invocation, Invoked, World};
use super::super::node::Node;
use super::lookup::{at, block, missing, read};
use super::{stream, Answer, Streamed};

pub(super) fn modules(node: &Node, request: proto::BlockHashInput) -> Answer<Streamed<proto::ModuleRef>> {
    let block = block(node, Some(request))?;
    let references: Vec<proto::ModuleRef> = block.world.modules.keys().map(Into::into).collect();
    at(&block, stream(references))
}

pub(super) fn module_source(node: &Node, request: proto::ModuleSourceRequest) -> Answer<proto::VersionedModuleSource> {
    let block = block(node, request.block_hash)?;
    let reference = read::<_, ModuleReference>(request.module_ref.ok_or_else(|| missing("which module is meant"))?)?;
    let source = block.world.sources.get(&reference).ok_or_else(|| Status::not_found("there is no such module"))?;
    at(&block, source.as_ref().into())
}

pub(super) fn instances(node: &Node, request: proto::BlockHashInput) -> Answer<Streamed<proto::ContractAddress>> {
    let block = block(node, Some(request))?;
    let addresses: Vec<proto::ContractAddress> = block.world.contracts.keys().map(Into::into).collect();
    at(&block, stream(addresses))
}

pub(super) fn info(node: &Node, request: proto::InstanceInfoRequest) -> Answer<proto::InstanceInfo> {
    let block = block(node, request.block_hash)?;
    let address = contract(request.address)?;
    let info = instance_info(&block.world, address).ok_or_else(no_instance)?;
    at(&block, info)
}

/// What is known about a contract instance.
pub(super) fn instance_info(world: &World, address: ContractAddress) -> Option<proto::InstanceInfo> {
    let contract = world.contracts.get(&address)?;
    let module = world.modules.get(&contract.module_reference)?;
    let prefix = format!("{}.", contract.contract_name.as_contract_name().contract_name());
    let names = module.artifact.export.keys().map(AsRef::<str>::as_ref).filter(|name: &&str| name.starts_with(&prefix));
    let version = proto::instance_info::Version::V1(proto::instance_info::V1 {
        owner: Some((&contract.owner).into()),
        amount: Some(contract.self_balance.into()),
        methods: names.map(|name| proto::ReceiveName { value: name.into() }).collect(),
        name: Some((&contract.contract_name).into()),
        source_module: Some((&contract.module_reference).into()),
    });
    Some(proto::InstanceInfo { version: Some(version) })
}

pub(super) fn state(node: &Node, request: proto::InstanceInfoRequest) -> Answer<Streamed<proto::InstanceStateKvPair>> {
    let block = block(node, request.block_hash)?;
    let contract = block.world.contracts.get(&contract(request.address)?).ok_or_else(no_instance)?;
    let mut loader = Loader::new(Vec::new());
    let pairs: Vec<_> =
        contract.state.clone().into_iterator(&mut loader).map(|(key, value)| proto::InstanceStateKvPair { key, value }).collect();
    at(&block, stream(pairs))
}

pub(super) fn state_lookup(node: &Node, request: proto::InstanceStateLookupRequest) -> Answer<proto::InstanceStateValueAtKey> {
    let block = block(node, request.block_hash)?;
    let contract = block.world.contracts.get(&contract(request.address)?).ok_or_else(no_instance)?;
    let value = contract.state.lookup(&mut Loader::new(Vec::new()), &request.key);
    let value = value.ok_or_else(|| Status::not_found("the contract's state has no such key"))?;
    at(&block, proto::InstanceStateValueAtKey { value: value.to_vec() })
}

pub(super) fn invoke_instance(node: &Node, request: proto::InvokeInstanceRequest) -> Answer<proto::InvokeInstanceResponse> {
    let block = block(node, request.block_hash)?;
    let invocation = invocation(Call {
        invoker: request.invoker,
        instance: request.instance,
        amount: request.amount,
        entrypoint: request.entrypoint,
        parameter: request.parameter,
        energy: request.energy,
    })?;
    let invoked = match unknown_invoker(&block.world, invocation.invoker) {
        Some(reason) => Invoked { energy: Energy::from(0), return_value: None, result: Err(reason) },
        None => invoke(&node.view(&block), invocation),
    };
    at(&block, response(invoked))
}

/// The parts of a request to invoke, which two messages have.
pub(super) struct Call {
    pub(super) invoker: Option<proto::Address>,
    pub(super) instance: Option<proto::ContractAddress>,
    pub(super) amount: Option<proto::Amount>,
    pub(super) entrypoint: Option<proto::ReceiveName>,
    pub(super) parameter: Option<proto::Parameter>,
    pub(super) energy: Option<proto::Energy>,
}

/// Reads a request to invoke. Amount, parameter and energy may be left out.
pub(super) fn invocation(call: Call) -> Result<Invocation, Status> {
    let receive_name = read(call.entrypoint.ok_or_else(|| missing("an entry point"))?)?;
    let message = match call.parameter {
        None => OwnedParameter::empty(),
        Some(parameter) => OwnedParameter::try_from(parameter.value)
            .map_err(|_| Status::invalid_argument("a parameter has at most 65535 bytes"))?,
    };
    Ok(Invocation {
        invoker: call.invoker.map(read).transpose()?,
        energy: call.energy.map(Energy::from),
        payload: UpdateContractPayload {
            amount: call.amount.map_or(Amount::zero(), Amount::from),
            address: contract(call.instance)?,
            receive_name,
            message,
        },
    })
}

/// Why an invoker that does not exist cannot call: as on a node, an outcome like any other failure.
pub(super) fn unknown_invoker(world: &World, invoker: Option<Address>) -> Option<RejectReason> {
    match invoker? {
        Address::Account(address) => {
            world.account(address).is_none().then_some(RejectReason::InvalidAccountReference { contents: address })
        }
        Address::Contract(address) => {
            (!world.contracts.contains_key(&address)).then_some(RejectReason::InvalidContractAddress { contents: address })
        }
    }
}

fn response(invoked: Invoked) -> proto::InvokeInstanceResponse {
    let result = match invoked.result {
        Ok(effects) => invoke_response::Result::Success(invoke_response::Success {
            return_value: invoked.return_value,
            used_energy: Some(invoked.energy.into()),
            effects: effects.iter().map(convert::trace).collect(),
        }),
        Err(reason) => invoke_response::Result::Failure(invoke_response::Failure {
            return_value: invoked.return_value,
            used_energy: Some(invoked.energy.into()),
            reason: Some(convert::reject_reason(&reason)),
        }),
    };
    proto::InvokeInstanceResponse { result: Some(result) }
}

fn contract(address: Option<proto::ContractAddress>) -> Result<ContractAddress, Status> {
    Ok(address.ok_or_else(|| missing("which contract is meant"))?.into())
}

fn no_instance() -> Status {
    Status::not_found("there is no such contract instance")
}
