//! What the views other than `agentOf` answer, in their fixed layouts (registry facts, section 3; CIS-0; CIS-2).

use serde_json::{json, Value as Json};

use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, ContractAddress};

use super::parameter::TokenAmount;
use super::schema::{Fields, SizeLength, Type};
use super::wire::{Reader, Wire, Writer};
use super::DecodeError;

/// Where a token's metadata is, by CIS-2. On the wire: the URL with a 2-byte length, then an optional SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataUrl {
    /// The URL.
    pub url: String,
    /// The SHA-256 of its content.
    pub hash: Option<Sha256Digest>,
}

/// Whether a contract keeps a standard. On the wire: 0 no, 1 yes, 2 through others (a 1-byte count and their addresses).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// These do in its place.
    By(Vec<ContractAddress>),
}

/// Reads the answer of `getAgentWallet`.
///
/// # Errors
/// [`DecodeError`] for anything but `00`, or `01` and 32 bytes.
pub fn decode_agent_wallet(bytes: &[u8]) -> Result<Option<AccountAddress>, DecodeError> {
    Wire::from_all(bytes, "the agent's wallet")
}

/// Reads the answer of `getAgentWalletNonce`.
///
/// # Errors
/// [`DecodeError`] for anything but 8 bytes.
pub fn decode_agent_wallet_nonce(bytes: &[u8]) -> Result<u64, DecodeError> {
    Wire::from_all(bytes, "the wallet's nonce")
}

/// Reads the answer of `getMetadata`.
///
/// # Errors
/// [`DecodeError`] for anything but an optional byte list.
pub fn decode_metadata(bytes: &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
    Wire::from_all(bytes, "the metadata's value")
}

/// Reads the answer of `balanceOf`: one amount per question.
///
/// # Errors
/// [`DecodeError`] for anything but a 2-byte count and LEB128 numbers below 2^64.
pub fn decode_balances(bytes: &[u8]) -> Result<Vec<u64>, DecodeError> {
    list(bytes, "the balances", |from, what| TokenAmount::take(from, what).map(|amount| amount.0))
}

/// Reads the answer of `operatorOf`: one truth value per question.
///
/// # Errors
/// [`DecodeError`] for anything but a 2-byte count and bytes 0 or 1.
pub fn decode_operators(bytes: &[u8]) -> Result<Vec<bool>, DecodeError> {
    list(bytes, "the operators", |from, what| match from.byte(what)? {
        0 => Ok(false),
        1 => Ok(true),
        tag => Err(from.bad_tag(tag, what)),
    })
}

/// Reads the answer of `tokenMetadata`: one URL per token.
///
/// # Errors
/// [`DecodeError`] for anything but a 2-byte count and metadata URLs.
pub fn decode_token_metadata(bytes: &[u8]) -> Result<Vec<MetadataUrl>, DecodeError> {
    list(bytes, "the metadata URLs", MetadataUrl::take)
}

/// Reads the answer of `supports`: one answer per standard asked about.
///
/// # Errors
/// [`DecodeError`] for anything but a 2-byte count and answers.
pub fn decode_supports(bytes: &[u8]) -> Result<Vec<Support>, DecodeError> {
    list(bytes, "the supported standards", |from, what| match from.byte(what)? {
        0 => Ok(Support::No),
        1 => Ok(Support::Yes),
        2 => {
            let count = from.byte(what)?;
            from.items(count.into(), what, |from| ContractAddress::take(from, what)).map(Support::By)
        }
        tag => Err(from.bad_tag(tag, what)),
    })
}

fn list<T>(
    bytes: &[u8],
    what: &'static str,
    mut item: impl FnMut(&mut Reader<'_>, &'static str) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let mut from = Reader::new(bytes);
    let count = from.u16(what)?;
    let items = from.items(count.into(), what, |from| item(from, what))?;
    from.finish(what)?;
    Ok(items)
}

impl Wire for MetadataUrl {
    fn schema() -> Type {
        Type::Struct(Fields::Named(vec![
            ("url".into(), Type::String(SizeLength::U16)),
            ("hash".into(), Type::option(Type::ByteArray(32))),
        ]))
    }

    fn put(&self, out: &mut Writer) {
        out.length::<2>(self.url.len(), "the metadata URL");
        out.bytes(self.url.as_bytes());
        self.hash.put(out);
    }

    fn take(from: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let length = from.u16(what)?;
        Ok(Self { url: from.text(length.into(), what)?, hash: Wire::take(from, what)? })
    }

    fn json(&self) -> Json {
        let hash = match self.hash {
            None => json!({ "None": [] }),
            Some(hash) => json!({ "Some": [hash.to_string()] }),
        };
        json!({ "url": self.url, "hash": hash })
    }
}
