use serde_json::Value;

use crate::chain::{ContractEvent, Rejection};
use crate::identity::{ContractAddress, Network, TokenId};
use crate::registry::parameter::{EntryPoint, Parameter};
use crate::registry::{self, KeyEvent, RegistryEvent};

use super::{AnchorError, Call};

/// The call of an entry point with a parameter.
///
/// # Errors
/// [`AnchorError::Build`] when the parameter is longer than the chain takes.
pub fn parameter_call<P: Parameter>(contract: ContractAddress, parameter: &P) -> Result<Call, AnchorError> {
    let bytes = parameter.to_bytes().map_err(|error| AnchorError::Build(error.to_string()))?;
    Ok(Call { contract, receive_name: P::ENTRY_POINT.receive_name().to_owned(), parameter: bytes })
}

/// The parameter of a call as the contract's schema JSON.
///
/// `Null` for an entry point that cardproof does not know.
///
/// # Errors
/// [`AnchorError::NotATransaction`] when it is no parameter of a known entry point.
pub fn schema_json(call: &Call) -> Result<Value, AnchorError> {
    match EntryPoint::from_receive_name(&call.receive_name) {
        None => Ok(Value::Null),
        Some(entry_point) => entry_point
            .parameter_json(&call.parameter)
            .map_err(|error| AnchorError::NotATransaction(format!("its parameter is none of {}: {error}", call.receive_name))),
    }
}

/// The code and name of a rejection, in words, and what to do about it.
pub(super) fn rejection_words(rejection: &Rejection) -> String {
    let Some(code) = rejection.code() else { return rejection.to_string() };
    let known = registry::Rejection::of(code);
    let hint = known.hint.map(|hint| format!(": {}", hint.trim_end_matches('.'))).unwrap_or_default();
    format!("{known}{hint}")
}

/// The name of a rejection: the standard's for a contract's code, else what the chain calls it.
pub(super) fn rejection_name(rejection: &Rejection) -> Option<&'static str> {
    match rejection {
        Rejection::Contract { code, .. } => registry::Rejection::of(*code).name,
        Rejection::OutOfEnergy => Some("OutOfEnergy"),
        Rejection::NoSuchContract => Some("InvalidContractAddress"),
        Rejection::NoSuchEntryPoint => Some("InvalidReceiveMethod"),
        Rejection::RuntimeFailure => Some("RuntimeFailure"),
        Rejection::AmountTooLarge => Some("AmountTooLarge"),
        Rejection::NoSuchAccount => Some("InvalidAccountReference"),
        Rejection::Unreadable => Some("SerializationFailure"),
        Rejection::Other => None,
    }
}

/// An event as JSON: `{"tag", "name", …, "contract"}`. Whose event it is decides how it is read; one that cannot be read is data
/// (fault C-86).
pub(super) fn event_json(event: &ContractEvent, registries: &Registries) -> Value {
    let mut json = if event.contract == registries.cis8 {
        KeyEvent::parse(&event.bytes).to_json()
    } else if event.contract == registries.cis8004 {
        RegistryEvent::parse(&event.bytes).to_json()
    } else {
        RegistryEvent::Unknown { tag: event.bytes.first().copied(), bytes: event.bytes.clone() }.to_json()
    };
    if let Value::Object(fields) = &mut json {
        let (index, subindex) = (event.contract.index.to_string(), event.contract.subindex.to_string());
        fields.insert("contract".into(), serde_json::json!({"index": index, "subindex": subindex}));
    }
    json
}

/// The token that the events are about: the first that one of them names.
pub(super) fn token_of(events: &[ContractEvent], registries: &Registries) -> Option<TokenId> {
    let ours = events.iter().filter(|event| event.contract == registries.cis8004);
    ours.filter_map(|event| RegistryEvent::parse(&event.bytes).token_id()).next()
}

/// The contracts whose events are understood.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registries {
    pub(super) cis8004: ContractAddress,
    pub(super) cis8: ContractAddress,
}

impl Registries {
    pub(super) fn of(network: &Network, registry: ContractAddress) -> Self {
        Self { cis8004: registry, cis8: network.cis8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRIES: Registries = Registries { cis8004: ContractAddress::new(10082, 0), cis8: ContractAddress::new(10081, 0) };

    fn event(index: u64, bytes: &[u8]) -> ContractEvent {
        ContractEvent { contract: ContractAddress::new(index, 0), bytes: bytes.to_vec() }
    }

    #[test]
    fn c_86_the_token_is_told_by_mint_when_the_registration_cannot_be_read() {
        let mint = [&[254, 8][..], &14u64.to_le_bytes(), &[1, 0], &[7; 32]].concat();
        let events = [event(10082, &[240, 99]), event(10082, &mint)];
        assert_eq!(token_of(&events, &REGISTRIES), Some(TokenId(14)));
        let json = event_json(&events[0], &REGISTRIES);
        assert_eq!(
            (json["tag"].as_u64(), json["name"].as_str(), json["bytes"].as_str()),
            (Some(240), Some("Unknown"), Some("f063"))
        );
    }

    #[test]
    fn the_contract_decides_what_an_event_is() {
        let mint = [&[254, 8][..], &14u64.to_le_bytes(), &[1, 0], &[7; 32]].concat();
        let foreign = event(7, &mint);
        assert_eq!(token_of(std::slice::from_ref(&foreign), &REGISTRIES), None);
        assert_eq!(event_json(&foreign, &REGISTRIES)["name"], "Unknown");
        assert_eq!(event_json(&event(10082, &mint), &REGISTRIES)["name"], "Mint");
    }

    #[test]
    fn c_73_rejections_have_names() {
        let contract = |code| Rejection::Contract { contract: None, code };
        assert_eq!(rejection_name(&contract(-7202)), Some("AgentRevoked"));
        assert_eq!(rejection_name(&Rejection::OutOfEnergy), Some("OutOfEnergy"));
        assert_eq!(rejection_name(&contract(-1)), None);
        assert!(rejection_words(&contract(-7202)).starts_with("AgentRevoked (-7202): "));
        assert_eq!(rejection_words(&contract(-1)), "-1");
    }
}
