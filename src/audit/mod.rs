//! Many agents, periodically, with memory: targets, run, store, schedule, notify.
//!
//! A run judges its targets at one finalized block and hands each outcome on as it is reached. The store remembers what earlier
//! runs found, so that what changed can be told from what merely is.

mod outcome;
pub mod serve;
mod transition;

pub use outcome::{AuditOutcome, RunInfo, RunScope};
pub use transition::{Transition, TransitionKind};
