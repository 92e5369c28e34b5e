//! What the CIS-8004 standard says, without I/O: the record, parameters, events, rejections, and decoding by schema.
//!
//! Layouts are those of the deployed contract, which differ from the proposal's text (lengths are 4 bytes, the record
//! has an eleventh field, a missing agent is `None`); each item names its source.

mod answer;
mod consistency;
mod document;
mod error;
mod event;
mod key_event;
mod layout;
pub mod parameter;
mod record;
mod rejection;
pub mod schema;
mod timestamp;
mod wire;
mod wire_types;

pub use answer::{
    decode_agent_wallet, decode_agent_wallet_nonce, decode_balances, decode_metadata, decode_operators, decode_supports,
    decode_token_metadata, MetadataUrl, Support,
};
pub use consistency::Inconsistency;
pub use error::{DecodeError, EncodeError};
pub use event::{EventTime, RegistryEvent};
pub use key_event::{Added, KeyEvent};
pub use layout::{decode_agent_of, encode_agent_of};
pub use record::{AgentRecord, AgentStatus, ExternalReference, MetadataEntry, ReferenceKind};
pub use rejection::Rejection;
pub use timestamp::Timestamp;
