//! Module schemas: what a Concordium contract says about its own bytes.
//!
//! A contract's module may carry a schema (in the custom section `concordium-schema`) with the types of its parameters, return
//! values and events. Reading by it survives upgrades of the contract that add or reorder fields. The wire format is that of
//! `concordium-contracts-common` 10; its own parser recurses as deep as the input says, and the input comes from a node. Ours
//! stops at [`MAX_DEPTH`] and [`MAX_SCHEMA_BYTES`], and decoding stops at [`MAX_VALUES`].

mod by_name;
mod decode;
mod encode;
mod from_json;
mod key_registration;
mod leb128;
mod module;
mod record;
mod ty;
mod value;
mod wasm;

pub use key_registration::{decode_owner_of_key_with_schema, KeyRegistration};
pub use module::{ContractSchema, FunctionSchema, ModuleSchema};
pub use record::decode_agent_of_with_schema;
pub use ty::{Fields, SizeLength, Type};
pub use value::{FieldValues, Value};

use super::DecodeError;

/// How deep types may be nested. The registry's own schema nests seven deep.
pub const MAX_DEPTH: usize = 32;
/// How many bytes a schema may have; the chain allows a whole module 512 KiB.
pub const MAX_SCHEMA_BYTES: usize = 512 * 1024;
/// How many values one decoding may make. A list of bytes counts as one.
pub const MAX_VALUES: usize = 1 << 18;

/// Why a schema could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The schema's bytes end early, go on too long, or hold something that is not known.
    #[error("the schema cannot be read: {0}")]
    Bytes(#[from] DecodeError),
    /// Types nested too deep.
    #[error("the schema nests types more than {MAX_DEPTH} deep: it is not read any further")]
    TooDeep,
    /// The schema is too large.
    #[error("the schema has {bytes} bytes, more than the {MAX_SCHEMA_BYTES} that are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Two contracts, functions or variants have one name or tag.
    #[error("the schema describes {what} twice")]
    Duplicate {
        /// What is described twice.
        what: String,
    },
    /// The bytes do not start with `ff ff`.
    #[error("the schema does not say its version (it does not start with ff ff): only versioned schemas can stand alone")]
    Unversioned,
    /// A version of schemas that is not known.
    #[error("the schema has version {0}; versions 0 to 3 are understood")]
    Version(u8),
    /// The module is not well-formed.
    #[error("the contract's module cannot be read: {0}")]
    Module(&'static str),
}
