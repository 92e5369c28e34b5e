//! Who is who on Concordium: token ids, contract and account addresses, badges, CAIP identifiers, and the table of networks.
//!
//! Nothing here does I/O, and nothing here knows what a record holds (that is [`crate::registry`]).

mod account;
mod agent_name;
mod badge;
mod caip;
mod contract;
mod network;
mod token_id;

pub use account::AccountAddress;
pub use agent_name::AgentName;
pub use badge::Badge;
pub use caip::{Caip10, Caip19, Caip2};
pub use contract::ContractAddress;
pub use network::{GenesisHash, Network, DEVNET, MAINNET, TESTNET};
pub use token_id::TokenId;

/// Why a name of an account, contract, token or chain could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Not a Base58Check account address.
    #[error("this is not a Concordium account address: {0}")]
    Account(String),
    /// Not a contract address.
    #[error("a contract address is written 10082,0 or <10082,0> or 10082, with numbers below 2^64")]
    Contract,
    /// Not a decimal token id.
    #[error("a token id is a decimal number from 0 to 18446744073709551615")]
    TokenId,
    /// Not a token address.
    #[error("this is not a token address (badge): {0}")]
    Badge(&'static str),
    /// Not a CAIP identifier.
    #[error("this is not a {kind} identifier: {why}")]
    Caip {
        /// Which of the CAIP standards was expected.
        kind: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not a genesis hash.
    #[error("a genesis hash is 64 hexadecimal digits")]
    GenesisHash,
    /// None of the forms that name an agent.
    #[error("an agent is named by a decimal token id, a badge, or a CAIP-19 identifier such as ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:<badge>; {0}")]
    AgentName(Box<IdentityError>),
}
