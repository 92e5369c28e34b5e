use concordium_rust_sdk::v2::generated::{
    self as api, address, contract_trace_element::Element, instance_info::Version, invoke_instance_response::Result as Outcome,
};
use tonic::Code;

use super::block::hash32;
use super::node::Node;
use super::{AtBlock, Block, ChainError, ChainErrorKind, ModuleRef, Rejection};
use crate::identity::{AccountAddress, ContractAddress};

/// A contract as a node describes it at a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The name it was initialised by, such as `init_CIS-8004`.
    pub init_name: String,
    /// The module it runs.
    pub module_ref: ModuleRef,
    /// Whether it is a contract of the first kind, which answers no questions.
    pub is_v0: bool,
}

/// A call of an entry point that is only tried: nothing on the chain changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The contract.
    pub contract: ContractAddress,
    /// The full name of the entry point, such as `CIS-8004.agentOf`.
    pub receive_name: String,
    /// The parameter's bytes.
    pub parameter: Vec<u8>,
    /// The account that calls. `None` calls as nobody, with an address of zeros.
    pub invoker: Option<AccountAddress>,
    /// How many microCCD are sent along.
    pub microccd: u64,
    /// The energy (NRG) to allow. `None` allows as much as the node does.
    pub energy: Option<u64>,
}

/// How a tried call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invoked {
    /// The entry point returned.
    Returned {
        /// What it returned.
        value: Vec<u8>,
        /// The energy used (NRG), without what a transaction costs on top.
        energy: u64,
        /// The events that it and the contracts it called logged, in order.
        events: Vec<ContractEvent>,
    },
    /// It was rejected.
    Rejected {
        /// Why.
        rejection: Rejection,
        /// The energy used (NRG).
        energy: u64,
    },
}

/// An event that a contract logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractEvent {
    /// Which contract logged it.
    pub contract: ContractAddress,
    /// Its bytes, the first of which is the tag.
    pub bytes: Vec<u8>,
}

impl Node {
    /// The contract at `address`, asked once per block.
    pub(crate) async fn instance(&self, block: &Block, address: ContractAddress) -> Result<Instance, ChainError> {
        let cell = self.remembered(block.hash, address);
        let answer = cell.get_or_init(|| self.ask_instance(block, address)).await.clone();
        if answer.is_err() {
            self.forget(&cell);
        }
        answer
    }

    async fn ask_instance(&self, block: &Block, address: ContractAddress) -> Result<Instance, ChainError> {
        let request = api::InstanceInfoRequest { block_hash: Some(block.hash.into()), address: Some(address.into()) };
        let answer =
            self.call_at("GetInstanceInfo", block.hash, request, |mut node, request| async move {
                node.get_instance_info(request).await
            })
            .await;
        let info = match answer {
            Err(failure) if failure.code == Code::NotFound => {
                // The status does not say which of the two is missing: only a known block makes it the contract.
                self.finalized_block(AtBlock::Hash(block.hash)).await?;
                let what = format_args!("knows no contract {address} at block {}", block.hash);
                return Err(self.error(ChainErrorKind::RegistryNotFound, what));
            }
            answer => answer?,
        };
        let (name, module, is_v0) =
            match info.version.ok_or_else(|| self.lacks("GetInstanceInfo", "a kind of contract it knows"))? {
                Version::V0(contract) => (contract.name, contract.source_module, true),
                Version::V1(contract) => (contract.name, contract.source_module, false),
            };
        let module = module.and_then(|module| hash32(&module.value));
        Ok(Instance {
            init_name: name.ok_or_else(|| self.lacks("GetInstanceInfo", "the contract's name"))?.value,
            module_ref: ModuleRef(module.ok_or_else(|| self.lacks("GetInstanceInfo", "the contract's module"))?),
            is_v0,
        })
    }

    /// Tries a call at `block`.
    pub(crate) async fn invoke(&self, block: &Block, call: &Invocation) -> Result<Invoked, ChainError> {
        let invoker = call.invoker.map(|account| api::Address { r#type: Some(address::Type::Account(account.into())) });
        let request = api::InvokeInstanceRequest {
            block_hash: Some(block.hash.into()),
            invoker,
            instance: Some(call.contract.into()),
            amount: Some(api::Amount { value: call.microccd }),
            entrypoint: Some(api::ReceiveName { value: call.receive_name.clone() }),
            parameter: Some(api::Parameter { value: call.parameter.clone() }),
            energy: call.energy.map(|value| api::Energy { value }),
        };
        let answer =
            self.call_at("InvokeInstance", block.hash, request, |mut node, request| async move {
                node.invoke_instance(request).await
            })
            .await;
        let response = match answer {
            Err(failure) if failure.code == Code::NotFound => {
                // The status does not say what is missing. An invoker that is no account is told apart, because it is no fault of the
                // node's; a node that does not know the block may be behind, and another may know it.
                if let Some(invoker) = call.invoker {
                    if self.account(block, invoker).await?.is_none() {
                        return Ok(Invoked::Rejected { rejection: Rejection::NoSuchAccount, energy: 0 });
                    }
                }
                return Err(self.error(ChainErrorKind::BlockNotFound, format_args!("knows no block {}", block.hash)));
            }
            answer => answer?,
        };
        let lacks = |what| self.lacks("InvokeInstance", what);
        let energy = |used: Option<api::Energy>| used.map(|used| used.value).ok_or_else(|| lacks("the energy used"));
        match response.result.ok_or_else(|| lacks("an outcome it knows"))? {
            Outcome::Success(success) => Ok(Invoked::Returned {
                energy: energy(success.used_energy)?,
                events: events(success.effects),
                value: success.return_value.ok_or_else(|| lacks("a return value"))?,
            }),
            Outcome::Failure(failure) => {
                Ok(Invoked::Rejected { rejection: Rejection::from_api(failure.reason), energy: energy(failure.used_energy)? })
            }
        }
    }
}

/// The events in a trace of calls. Elements newer than this program are passed over.
pub(super) fn events(trace: Vec<api::ContractTraceElement>) -> Vec<ContractEvent> {
    let logged = trace.into_iter().filter_map(|step| match step.element? {
        Element::Updated(updated) => Some((updated.address?, updated.events)),
        Element::Interrupted(interrupted) => Some((interrupted.address?, interrupted.events)),
        _ => None,
    });
    logged
        .flat_map(|(address, events)| {
            let contract = ContractAddress::new(address.index, address.subindex);
            events.into_iter().map(move |event| ContractEvent { contract, bytes: event.value })
        })
        .collect()
}

impl From<ContractAddress> for api::ContractAddress {
    fn from(address: ContractAddress) -> Self {
        Self { index: address.index, subindex: address.subindex }
    }
}

impl From<AccountAddress> for api::AccountAddress {
    fn from(address: AccountAddress) -> Self {
        Self { value: address.0.to_vec() }
    }
}
