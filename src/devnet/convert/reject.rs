use concordium_rust_sdk::types::RejectReason;
use concordium_rust_sdk::v2::generated::{self as proto, reject_reason as message, reject_reason::Reason};

/// A reason for a rejection as the node's message.
///
/// Only the reasons that the local chain gives are told apart; of the others the message says none, which the SDKs read as
/// "unknown".
pub(in crate::devnet) fn reject_reason(reason: &RejectReason) -> proto::RejectReason {
    proto::RejectReason { reason: known(reason) }
}

fn known(reason: &RejectReason) -> Option<Reason> {
    Some(match reason {
        RejectReason::ModuleNotWF => Reason::ModuleNotWf(proto::Empty {}),
        RejectReason::ModuleHashAlreadyExists { contents } => Reason::ModuleHashAlreadyExists(contents.into()),
        RejectReason::InvalidAccountReference { contents } => Reason::InvalidAccountReference(contents.into()),
        RejectReason::InvalidInitMethod { contents: (module, name) } => Reason::InvalidInitMethod(message::InvalidInitMethod {
            module_ref: Some(module.into()),
            init_name: Some(name.into()),
        }),
        RejectReason::InvalidReceiveMethod { contents: (module, name) } => {
            Reason::InvalidReceiveMethod(message::InvalidReceiveMethod {
                module_ref: Some(module.into()),
                receive_name: Some(name.into()),
            })
        }
        RejectReason::InvalidModuleReference { contents } => Reason::InvalidModuleReference(contents.into()),
        RejectReason::InvalidContractAddress { contents } => Reason::InvalidContractAddress(contents.into()),
        RejectReason::RuntimeFailure => Reason::RuntimeFailure(proto::Empty {}),
        RejectReason::AmountTooLarge { contents: (address, amount) } => {
            Reason::AmountTooLarge(message::AmountTooLarge { address: Some(address.into()), amount: Some(amount.into()) })
        }
        RejectReason::SerializationFailure => Reason::SerializationFailure(proto::Empty {}),
        RejectReason::OutOfEnergy => Reason::OutOfEnergy(proto::Empty {}),
        RejectReason::RejectedInit { reject_reason } => {
            Reason::RejectedInit(message::RejectedInit { reject_reason: *reject_reason })
        }
        RejectReason::RejectedReceive { reject_reason, contract_address, receive_name, parameter } => {
            Reason::RejectedReceive(message::RejectedReceive {
                reject_reason: *reject_reason,
                contract_address: Some(contract_address.into()),
                receive_name: Some(receive_name.into()),
                parameter: Some(parameter.into()),
            })
        }
        _ => return None,
    })
}
