//! Which agents a run is about: named ones, ranges of token ids, or all that the registry has.

mod end;
mod ids;

pub use end::{find_end, RegistryEnd};
pub use ids::{IdListError, Targets};
