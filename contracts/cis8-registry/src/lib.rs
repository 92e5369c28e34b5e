//! A CIS-8 External Key Registry for the Concordium blockchain.
//!
//! Records that an account holds a key of another chain, proved by a signature of that key. CIS-8004 agent registries
//! ask `ownerOfKey` here before they link an agent to such a key.
//!
//! Behaves as the registries deployed at mainnet <10081,0> and testnet <12801,0> do, as far as that is known; all
//! Strings, byte lists and lists have 4-byte little-endian lengths, as in the one canonical message whose hash is
//! published. The proof schemes are in [`proof`].
#![no_std]

mod error;
mod key;
mod proof;
mod registration;
mod registry;
