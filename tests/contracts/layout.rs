//! Byte layouts, from the facts about the registry and nothing else: lengths are 4 bytes little-endian, options `00` or
//! `01` and the value, token ids `08` and 8 bytes little-endian.

use concordium_smart_contract_testing::{AccountAddress, ContractAddress};

/// Pieces in a row.
pub(crate) fn concat(pieces: &[&[u8]]) -> Vec<u8> {
    pieces.concat()
}

/// A token id.
pub(crate) fn token(id: u64) -> Vec<u8> {
    concat(&[&[8], &id.to_le_bytes()])
}

/// A byte list.
pub(crate) fn bytes(value: &[u8]) -> Vec<u8> {
    concat(&[&u32::try_from(value.len()).unwrap().to_le_bytes(), value])
}

/// A String.
pub(crate) fn string(value: &str) -> Vec<u8> {
    bytes(value.as_bytes())
}

/// A present value.
pub(crate) fn some(value: &[u8]) -> Vec<u8> {
    concat(&[&[1], value])
}

/// A value that may be absent.
pub(crate) fn option(value: Option<Vec<u8>>) -> Vec<u8> {
    value.map_or(vec![0], |value| some(&value))
}

/// A contract's address.
pub(crate) fn contract(address: ContractAddress) -> Vec<u8> {
    concat(&[&address.index.to_le_bytes(), &address.subindex.to_le_bytes()])
}

/// A CIS-8 ExternalKeyId.
pub(crate) fn key_id(namespace: &str, key_type: &str, public_key: &[u8]) -> Vec<u8> {
    concat(&[&string(namespace), &string(key_type), &bytes(public_key)])
}

/// A reference to a CIS-8 key.
pub(crate) fn cis8_reference(registry: ContractAddress, key_id: &[u8]) -> Vec<u8> {
    concat(&[&contract(registry), &[0], key_id])
}

/// Metadata entries with their count; values are byte lists or Strings, which look the same.
pub(crate) fn entries(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = u32::try_from(entries.len()).unwrap().to_le_bytes().to_vec();
    for (key, value) in entries {
        out.extend(string(key));
        out.extend(bytes(value));
    }
    out
}

/// A CIS-2 address: `00` and an account, or `01` and a contract.
pub(crate) fn account(address: AccountAddress) -> Vec<u8> {
    concat(&[&[0], &address.0])
}

/// The parameter of `register`.
pub(crate) fn register(
    uri: Option<&str>,
    hash: Option<[u8; 32]>,
    reference: Option<Vec<u8>>,
    metadata: &[(&str, &[u8])],
) -> Vec<u8> {
    concat(&[&option(uri.map(string)), &option(hash.map(Vec::from)), &option(reference), &entries(metadata)])
}

/// The parameter of `setAgentURI`.
pub(crate) fn set_uri(id: u64, uri: Option<&str>, hash: Option<[u8; 32]>) -> Vec<u8> {
    concat(&[&token(id), &option(uri.map(string)), &option(hash.map(Vec::from))])
}

/// The parameter of `revoke`.
pub(crate) fn revoke(id: u64, reason: Option<&str>) -> Vec<u8> {
    concat(&[&token(id), &option(reason.map(string))])
}

/// The parameter of `setMetadata`.
pub(crate) fn set_metadata(id: u64, key: &str, value: &[u8]) -> Vec<u8> {
    concat(&[&token(id), &string(key), &bytes(value)])
}

/// The parameter of `transfer`, for one transfer to an account without additional data. CIS-2 counts have 2 bytes,
/// amounts are LEB128.
pub(crate) fn transfer(id: u64, amount: u8, from: &[u8], to: AccountAddress) -> Vec<u8> {
    concat(&[&1u16.to_le_bytes(), &token(id), &[amount], from, &account(to), &0u16.to_le_bytes()])
}

/// An agent's record, as `agentOf` must return it.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) id: u64,
    pub(crate) owner: AccountAddress,
    pub(crate) uri: Option<String>,
    pub(crate) hash: Option<[u8; 32]>,
    pub(crate) reference: Option<Vec<u8>>,
    pub(crate) wallet: Option<AccountAddress>,
    pub(crate) registered_at: u64,
    /// Time and reason: present exactly in a revoked record.
    pub(crate) revoked: Option<(u64, Option<String>)>,
    pub(crate) metadata: Vec<(String, Vec<u8>)>,
}

impl Record {
    /// A fresh agent with nothing set.
    pub(crate) fn bare(id: u64, owner: AccountAddress, registered_at: u64) -> Self {
        Record {
            id,
            owner,
            uri: None,
            hash: None,
            reference: None,
            wallet: Some(owner),
            registered_at,
            revoked: None,
            metadata: Vec::new(),
        }
    }

    /// `Option<record>` with the record present.
    pub(crate) fn answer(&self) -> Vec<u8> {
        let metadata: Vec<(&str, &[u8])> = self.metadata.iter().map(|(key, value)| (key.as_str(), value.as_slice())).collect();
        let reason = self.revoked.as_ref().and_then(|(_, reason)| reason.as_deref());
        some(&concat(&[
            &token(self.id),
            &self.owner.0,
            &option(self.uri.as_deref().map(string)),
            &option(self.hash.map(Vec::from)),
            &option(self.reference.clone()),
            &option(self.wallet.map(|wallet| wallet.0.to_vec())),
            &[u8::from(self.revoked.is_some())],
            &self.registered_at.to_le_bytes(),
            &option(self.revoked.as_ref().map(|(time, _)| time.to_le_bytes().to_vec())),
            &option(reason.map(string)),
            &entries(&metadata),
        ]))
    }
}
