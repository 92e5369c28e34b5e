use std::fmt;

use concordium_rust_sdk::v2::generated::{reject_reason::Reason, RejectReason};

use crate::identity::ContractAddress;
use crate::registry;

/// Why the chain rejected a call or a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// A contract rejected it with a code of its own. Names and hints are in [`registry::Rejection`].
    Contract {
        /// The contract, when the node says which.
        contract: Option<ContractAddress>,
        /// The code, negative. For a registry, its name stands in the standard.
        code: i32,
    },
    /// The energy allowed was used up.
    OutOfEnergy,
    /// There is no contract at the address.
    NoSuchContract,
    /// The contract has no such entry point.
    NoSuchEntryPoint,
    /// The contract failed while running (a trap).
    RuntimeFailure,
    /// The sender does not have the amount sent along.
    AmountTooLarge,
    /// An account that the call names does not exist.
    NoSuchAccount,
    /// The payload's bytes are none.
    Unreadable,
    /// A reason that calls of contracts do not have, or that is newer than this program.
    Other,
}

impl Rejection {
    pub(super) fn from_api(reason: Option<RejectReason>) -> Self {
        match reason.and_then(|reason| reason.reason) {
            Some(Reason::RejectedReceive(rejected)) => Self::Contract {
                contract: rejected.contract_address.map(|address| ContractAddress::new(address.index, address.subindex)),
                code: rejected.reject_reason,
            },
            Some(Reason::OutOfEnergy(_)) => Self::OutOfEnergy,
            Some(Reason::InvalidContractAddress(_)) => Self::NoSuchContract,
            Some(Reason::InvalidReceiveMethod(_)) => Self::NoSuchEntryPoint,
            Some(Reason::RuntimeFailure(_)) => Self::RuntimeFailure,
            Some(Reason::AmountTooLarge(_)) => Self::AmountTooLarge,
            Some(Reason::InvalidAccountReference(_)) => Self::NoSuchAccount,
            Some(Reason::SerializationFailure(_)) => Self::Unreadable,
            _ => Self::Other,
        }
    }

    /// The contract's own code, if it was a contract that rejected.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Contract { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Contract { contract, code } => {
                let name = registry::Rejection::of(*code);
                return match contract {
                    Some(contract) => write!(f, "contract {contract} rejected it with {name}"),
                    None => write!(f, "the contract rejected it with {name}"),
                };
            }
            Self::OutOfEnergy => "the energy allowed was used up",
            Self::NoSuchContract => "there is no contract at this address",
            Self::NoSuchEntryPoint => "the contract has no such entry point",
            Self::RuntimeFailure => "the contract failed while running",
            Self::AmountTooLarge => "the sender does not have the amount sent along",
            Self::NoSuchAccount => "an account named in it does not exist",
            Self::Unreadable => "its payload cannot be read",
            Self::Other => "for a reason that this program does not know",
        })
    }
}
