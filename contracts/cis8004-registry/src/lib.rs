//! A CIS-8004 Agent Registry for the Concordium blockchain.
//!
//! Behaves as the registries deployed at mainnet <10082,0> and testnet <12802,0> do, as far as that is known: same
//! names, layouts, events, limits and rejection codes. Where only the public proposal says how something works, the
//! proposal is followed; where the two differ, the deployed contract wins. What neither says is decided here, and the
//! decision is documented at the item it concerns.
//!
//! Every String, byte list and list in this contract's own types has a 4-byte little-endian length. The CIS-0 and CIS-2
//! types keep the lengths of their standards.
//!
//! One noun per file: [`record`] is what an agent is, [`state`] how it is kept, [`event`] and [`error`] what callers
//! see; the entry points live with the thing they change ([`agent`], [`reference`], [`metadata`], [`wallet`],
//! [`token`]), and [`administration`] has `init`, `upgrade` and `supports`.
#![no_std]

mod administration;
mod agent;
mod error;
mod event;
mod input;
mod metadata;
mod record;
mod reference;
mod state;
mod token;
mod wallet;
