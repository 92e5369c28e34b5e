//! Parameters of the entry points of CIS-8004 (with CIS-2 and CIS-0) and CIS-8: their bytes, their schema, their schema JSON.
//!
//! Layouts are those of registry facts, sections 3 and 10. The lists of CIS-2 and CIS-0 have 2-byte counts, everything else
//! 4-byte lengths. Also here: the two messages that are signed outside of a transaction.

mod agent;
mod cis2;
mod cis8;
mod entry_point;
mod message;
mod signatures;

use serde_json::Value as Json;

pub use agent::{
    AgentByExternalReference, AgentOf, GetAgentWallet, GetAgentWalletNonce, GetMetadata, Register, Revoke, SetAgentUri,
    SetAgentWallet, SetExternalReference, SetMetadata,
};
pub use cis2::{
    AdditionalData, Address, BalanceOf, BalanceQuery, OperatorChange, OperatorOf, OperatorQuery, Receiver, Supports, TokenAmount,
    TokenMetadata, Transfer, Transfers, UpdateOperator, UpdateOperators,
};
pub use cis8::{ExternalKeyId, KeyMetadataEntry, KeyProof, OwnerOfKey, RegisterExternalKey, RevokeKey, UpdateKeyMetadata};
pub use entry_point::EntryPoint;
pub use message::{key_binding_message, set_agent_wallet_message};
pub use signatures::AccountSignatures;

use super::schema::Type;
use super::{DecodeError, EncodeError};

/// How many bytes a parameter may have: the chain's limit from protocol 5 on.
pub const MAX_PARAMETER_BYTES: usize = 65_535;

/// The parameter of one entry point.
pub trait Parameter: Sized {
    /// The entry point.
    const ENTRY_POINT: EntryPoint;

    /// The parameter's bytes.
    ///
    /// # Errors
    /// [`EncodeError`] when a text or list is longer than its length can say, or the whole is above [`MAX_PARAMETER_BYTES`].
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError>;

    /// Reads the parameter, which must use up all bytes.
    ///
    /// # Errors
    /// [`DecodeError`], which names the field.
    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError>;

    /// The parameter as the contract's schema writes it in JSON.
    fn to_schema_json(&self) -> Json;

    /// The parameter's schema: for `register` the published one byte for byte, for the others what follows from it.
    fn schema() -> Type;
}

/// Implements [`Parameter`] for a type that has its bytes, its schema and its JSON.
macro_rules! parameter {
    ($($name:ident),+ $(,)?) => {$(
        impl $crate::registry::parameter::Parameter for $name {
            const ENTRY_POINT: $crate::registry::parameter::EntryPoint = $crate::registry::parameter::EntryPoint::$name;

            fn to_bytes(&self) -> Result<Vec<u8>, $crate::registry::EncodeError> {
                let mut out = $crate::registry::wire::Writer::default();
                $crate::registry::wire::Wire::put(self, &mut out);
                let bytes = out.finish()?;
                $crate::registry::parameter::check_size(&bytes)?;
                Ok(bytes)
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self, $crate::registry::DecodeError> {
                $crate::registry::wire::Wire::from_all(bytes, "the parameter")
            }

            fn to_schema_json(&self) -> serde_json::Value {
                $crate::registry::wire::Wire::json(self)
            }

            fn schema() -> $crate::registry::schema::Type {
                <Self as $crate::registry::wire::Wire>::schema()
            }
        }
    )+};
}
use parameter;

/// Implements [`super::wire::Wire`] for a struct that is written as its only field.
macro_rules! wire_newtype {
    ($name:ident($content:ty)) => {
        impl $crate::registry::wire::Wire for $name {
            fn schema() -> $crate::registry::schema::Type {
                <$content as $crate::registry::wire::Wire>::schema()
            }

            fn put(&self, out: &mut $crate::registry::wire::Writer) {
                $crate::registry::wire::Wire::put(&self.0, out);
            }

            fn take(
                from: &mut $crate::registry::wire::Reader<'_>,
                what: &'static str,
            ) -> Result<Self, $crate::registry::DecodeError> {
                $crate::registry::wire::Wire::take(from, what).map(Self)
            }

            fn json(&self) -> serde_json::Value {
                $crate::registry::wire::Wire::json(&self.0)
            }
        }
    };
}
use wire_newtype;

fn check_size(bytes: &[u8]) -> Result<(), EncodeError> {
    match bytes.len() {
        0..=MAX_PARAMETER_BYTES => Ok(()),
        bytes => Err(EncodeError::ParameterTooLong { bytes, limit: MAX_PARAMETER_BYTES }),
    }
}
