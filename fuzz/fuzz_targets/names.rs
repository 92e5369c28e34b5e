//! Names of agents, accounts, contracts and chains, from a user or a card.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use cardproof::identity::{AccountAddress, AgentName, Badge, Caip10, Caip19, Caip2, ContractAddress, TokenId};
use libfuzzer_sys::fuzz_target;

/// What is read must read back from what is printed.
fn check<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Display + Debug + PartialEq,
{
    match text.parse::<T>() {
        Ok(name) => assert_eq!(name.to_string().parse::<T>().as_ref(), Ok(&name)),
        Err(error) => {
            let _ = error.to_string();
        }
    }
}

fuzz_target!(|text: &str| {
    check::<AgentName>(text);
    check::<Badge>(text);
    check::<Caip2>(text);
    check::<Caip10>(text);
    check::<Caip19>(text);
    check::<TokenId>(text);
    check::<ContractAddress>(text);
    check::<AccountAddress>(text);
});
