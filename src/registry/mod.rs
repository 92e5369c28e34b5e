//! What the CIS-8004 standard says, without I/O: the record, parameters, events, rejections, and decoding by schema.
//!
//! Layouts are those of the deployed contract, which differ from the proposal's text (lengths are 4 bytes, the record
//! has an eleventh field, a missing agent is `None`); each item names its source.

mod consistency;
mod error;
mod layout;
mod record;
pub mod schema;
mod timestamp;
mod wire;

pub use consistency::Inconsistency;
pub use error::{DecodeError, EncodeError};
pub use layout::{decode_agent_of, encode_agent_of};
pub use record::{AgentRecord, AgentStatus, ExternalReference, MetadataEntry, ReferenceKind};
pub use timestamp::Timestamp;
