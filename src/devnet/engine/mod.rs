//! The state of the chain, and what a transaction or a view does to it: Concordium's own contract execution engine, with the
//! accounting around it that a node adds.

mod execute;
mod invoke;
mod preload;
mod rates;
mod reject;
mod world;

pub(super) use execute::{execute, Effect, Execution, Order};
pub(super) use invoke::{invoke, Invocation, Invoked, View};
pub(super) use preload::update_all;
pub(super) use rates::Rates;
pub(super) use world::World;

/// The most energy that the transactions of a block may use together, and so the most that one may ask for (as on mainnet).
pub(super) const MAX_BLOCK_ENERGY: u64 = 3_000_000;
/// The most energy an invoke gets, whatever it asks for; a node has such a cap too.
pub(super) const MAX_INVOKE_ENERGY: u64 = 3_000_000;
