//! Many agents, periodically, with memory: targets, run, store, schedule, notify.
//!
//! A run judges its targets at one finalized block and hands each outcome on as it is reached. The store remembers what earlier
//! runs found, so that what changed can be told from what merely is.

mod changed;
pub mod notify;
mod outcome;
mod run;
pub mod serve;
pub mod store;
mod targets;
mod transition;
mod unchanged;

pub use changed::ChangedSince;
pub use outcome::{AuditOutcome, RunInfo, RunScope};
pub use run::{Audit, AuditSettings, Found, Progress, Running};
pub use targets::{find_end, IdListError, RegistryEnd, Targets};
pub use transition::{Transition, TransitionKind};
pub use unchanged::Unchanged;
