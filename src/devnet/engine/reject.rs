use concordium_rust_sdk::base::contracts_common::{AccountAddress, Address, OwnedContractName};
use concordium_rust_sdk::base::transactions::{InitContractPayload, UpdateContractPayload};
use concordium_rust_sdk::types::RejectReason;
use concordium_smart_contract_testing::{
    ContractInitErrorKind, ContractInvokeErrorKind, InitExecutionError, InvokeFailure, ModuleDeployErrorKind,
};

use super::World;

/// The reason a node gives for a failed update or view.
pub(super) fn of_invoke(
    world: &World,
    kind: &ContractInvokeErrorKind,
    sender: Address,
    payload: &UpdateContractPayload,
) -> RejectReason {
    let too_large = || RejectReason::AmountTooLarge { contents: (sender, payload.amount) };
    let no_contract = || RejectReason::InvalidContractAddress { contents: payload.address };
    let no_entry_point = || match world.contracts.get(&payload.address) {
        Some(contract) => {
            RejectReason::InvalidReceiveMethod { contents: (contract.module_reference, payload.receive_name.clone()) }
        }
        None => no_contract(),
    };
    match kind {
        ContractInvokeErrorKind::ExecutionError { failure_kind } => match failure_kind {
            InvokeFailure::ContractReject { code, .. } => RejectReason::RejectedReceive {
                reject_reason: *code,
                contract_address: payload.address,
                receive_name: payload.receive_name.clone(),
                parameter: payload.message.clone(),
            },
            InvokeFailure::InsufficientAmount => too_large(),
            InvokeFailure::NonExistentContract => no_contract(),
            InvokeFailure::NonExistentEntrypoint => no_entry_point(),
            _ => RejectReason::RuntimeFailure,
        },
        ContractInvokeErrorKind::OutOfEnergy { .. } => RejectReason::OutOfEnergy,
        ContractInvokeErrorKind::ContractDoesNotExist(_) => no_contract(),
        ContractInvokeErrorKind::EntrypointDoesNotExist(_) => no_entry_point(),
        ContractInvokeErrorKind::AmountTooLarge | ContractInvokeErrorKind::InsufficientFunds => too_large(),
        ContractInvokeErrorKind::ParameterTooLarge => RejectReason::SerializationFailure,
        ContractInvokeErrorKind::ModuleDoesNotExist(missing) => {
            RejectReason::InvalidModuleReference { contents: missing.module_reference }
        }
        ContractInvokeErrorKind::InvokerDoesNotExist(missing) => {
            RejectReason::InvalidAccountReference { contents: missing.address }
        }
        ContractInvokeErrorKind::SenderDoesNotExist(Address::Account(address)) => {
            RejectReason::InvalidAccountReference { contents: *address }
        }
        ContractInvokeErrorKind::SenderDoesNotExist(Address::Contract(address)) => {
            RejectReason::InvalidContractAddress { contents: *address }
        }
        ContractInvokeErrorKind::BalanceOverflow => RejectReason::RuntimeFailure,
    }
}

/// The reason a node gives for a failed initialisation.
pub(super) fn of_init(kind: &ContractInitErrorKind, sender: AccountAddress, payload: &InitContractPayload) -> RejectReason {
    let no_contract = |name: &OwnedContractName| RejectReason::InvalidInitMethod { contents: (payload.mod_ref, name.clone()) };
    match kind {
        ContractInitErrorKind::ExecutionError { error, .. } => match error {
            InitExecutionError::Reject { reason, .. } => RejectReason::RejectedInit { reject_reason: *reason },
            InitExecutionError::Trap { .. } => RejectReason::RuntimeFailure,
            InitExecutionError::OutOfEnergy => RejectReason::OutOfEnergy,
        },
        ContractInitErrorKind::OutOfEnergy { .. } => RejectReason::OutOfEnergy,
        ContractInitErrorKind::ModuleDoesNotExist(missing) => {
            RejectReason::InvalidModuleReference { contents: missing.module_reference }
        }
        ContractInitErrorKind::ContractNotPresentInModule { name } => no_contract(name),
        ContractInitErrorKind::SenderDoesNotExist(missing) => RejectReason::InvalidAccountReference { contents: missing.address },
        ContractInitErrorKind::InsufficientFunds | ContractInitErrorKind::AmountTooLarge => {
            RejectReason::AmountTooLarge { contents: (Address::Account(sender), payload.amount) }
        }
        ContractInitErrorKind::ParameterTooLarge => RejectReason::SerializationFailure,
    }
}

/// The reason a node gives for a module it did not take.
pub(super) fn of_deploy(kind: &ModuleDeployErrorKind) -> RejectReason {
    match kind {
        ModuleDeployErrorKind::DuplicateModule(reference) => RejectReason::ModuleHashAlreadyExists { contents: *reference },
        ModuleDeployErrorKind::SenderDoesNotExist(missing) => RejectReason::InvalidAccountReference { contents: missing.address },
        ModuleDeployErrorKind::InsufficientFunds => RejectReason::OutOfEnergy,
        ModuleDeployErrorKind::InvalidModule(_) | ModuleDeployErrorKind::UnsupportedModuleVersion(_) => RejectReason::ModuleNotWF,
    }
}
