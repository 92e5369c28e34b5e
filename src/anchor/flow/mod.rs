//! Anchoring a card and registering an agent, from the local file to the finalized transaction.
//!
//! The expensive mistakes are the wrong hash, the wrong network and a second registration: the way through here checks for each
//! before anything is signed. A caller sees every step, and says yes, through [`Attendant`].

mod anchor;
mod attendant;
mod duplicate;
mod error;
mod execute;
mod progress;
mod register;
mod served;
mod template;
mod two_step;

pub use anchor::{anchor, AnchorRequest, Anchored, Card, UriChoice};
pub use attendant::{Attendant, Change, Review, Step};
pub use duplicate::{find_duplicate, Search};
pub use error::FlowError;
pub use execute::{execute, hold, BeforeSending, Confirmed, Context, Executed, Held};
pub use progress::{half_done, HalfDone};
pub use register::{register, RegisterRequest};
pub use served::{check_served, require_same, CardDiffers};
pub use template::{fill, has_placeholder, placeholder_in, CardValues, PLACEHOLDERS};
pub use two_step::{require_writable, two_step, TwoStep, TwoStepRequest};
