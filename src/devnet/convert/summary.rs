use concordium_rust_sdk::base::smart_contracts::{ContractEvent, ContractTraceElement};
use concordium_rust_sdk::types::Address;
use concordium_rust_sdk::v2::generated::{
    self as proto, account_transaction_effects as effects, account_transaction_effects::Effect as Message,
    block_item_summary as item, contract_trace_element as element, contract_trace_element::Element,
};

use super::super::engine::{Effect, Execution};
use super::super::history::Transaction;
use super::{reject_reason, transaction_hash};

/// The outcome of the transaction at `place` in its block.
pub(in crate::devnet) fn summary(place: usize, transaction: &Transaction, execution: &Execution) -> proto::BlockItemSummary {
    let details = account_transaction_details(transaction.sender(), execution);
    proto::BlockItemSummary {
        index: Some(item::TransactionIndex { value: place as u64 }),
        energy_cost: Some(execution.energy.into()),
        hash: Some(transaction_hash(&transaction.hash)),
        details: Some(item::Details::AccountTransaction(details)),
    }
}

/// What an account transaction cost and did.
pub(in crate::devnet) fn account_transaction_details(
    sender: concordium_rust_sdk::base::contracts_common::AccountAddress,
    execution: &Execution,
) -> proto::AccountTransactionDetails {
    proto::AccountTransactionDetails {
        cost: Some(execution.cost.into()),
        sender: Some(sender.into()),
        effects: Some(proto::AccountTransactionEffects { effect: Some(effect(execution)) }),
        sponsor: None,
    }
}

fn effect(execution: &Execution) -> Message {
    match &execution.effect {
        Effect::Rejected(reason) => Message::None(effects::None {
            transaction_type: execution.kind.map(kind),
            reject_reason: Some(reject_reason(reason)),
        }),
        Effect::Deployed(module) => Message::ModuleDeployed(module.into()),
        Effect::Initialized { address, module, name, amount, events: logged, parameter } => {
            Message::ContractInitialized(proto::ContractInitializedEvent {
                contract_version: proto::ContractVersion::V1.into(),
                origin_ref: Some(module.into()),
                address: Some((*address).into()),
                amount: Some(amount.into()),
                init_name: Some(name.into()),
                events: events(logged),
                parameter: Some(parameter.into()),
            })
        }
        Effect::Updated(elements) => {
            Message::ContractUpdateIssued(effects::ContractUpdateIssued { effects: elements.iter().map(trace).collect() })
        }
        Effect::Transferred { receiver, amount, memo } => Message::AccountTransfer(effects::AccountTransfer {
            amount: Some(amount.into()),
            receiver: Some(receiver.into()),
            memo: memo.as_ref().map(Into::into),
        }),
        Effect::Registered(data) => Message::DataRegistered(data.into()),
    }
}

fn kind(kind: concordium_rust_sdk::base::transactions::TransactionType) -> i32 {
    use concordium_rust_sdk::base::transactions::TransactionType as Kind;
    let kind = match kind {
        Kind::DeployModule => proto::TransactionType::DeployModule,
        Kind::InitContract => proto::TransactionType::InitContract,
        Kind::Transfer => proto::TransactionType::Transfer,
        Kind::TransferWithMemo => proto::TransactionType::TransferWithMemo,
        Kind::RegisterData => proto::TransactionType::RegisterData,
        // Admission lets no other kind through.
        _ => proto::TransactionType::Update,
    };
    kind.into()
}

/// One step of a contract's run.
pub(in crate::devnet) fn trace(step: &ContractTraceElement) -> proto::ContractTraceElement {
    let step = match step {
        ContractTraceElement::Updated { data } => Element::Updated(proto::InstanceUpdatedEvent {
            contract_version: proto::ContractVersion::V1.into(),
            address: Some((&data.address).into()),
            instigator: Some(instigator(&data.instigator)),
            amount: Some(data.amount.into()),
            parameter: Some((&data.message).into()),
            receive_name: Some((&data.receive_name).into()),
            events: events(&data.events),
        }),
        ContractTraceElement::Transferred { from, amount, to } => Element::Transferred(element::Transferred {
            sender: Some(from.into()),
            amount: Some(amount.into()),
            receiver: Some(to.into()),
        }),
        ContractTraceElement::Interrupted { address, events: logged } => {
            Element::Interrupted(element::Interrupted { address: Some(address.into()), events: events(logged) })
        }
        ContractTraceElement::Resumed { address, success } => {
            Element::Resumed(element::Resumed { address: Some(address.into()), success: *success })
        }
        ContractTraceElement::Upgraded { address, from, to } => {
            Element::Upgraded(element::Upgraded { address: Some(address.into()), from: Some(from.into()), to: Some(to.into()) })
        }
    };
    proto::ContractTraceElement { element: Some(step) }
}

fn instigator(address: &Address) -> proto::Address {
    address.into()
}

fn events(events: &[ContractEvent]) -> Vec<proto::ContractEvent> {
    events.iter().map(|event| proto::ContractEvent { value: event.as_ref().to_vec() }).collect()
}
