use std::io::Cursor;

use concordium_rust_sdk::base::transactions as sdk;
use concordium_rust_sdk::common::types::TransactionSignature;
use concordium_rust_sdk::common::{from_bytes, to_bytes};
use serde_json::{json, Value};

use crate::chain::TransactionHash;
use crate::identity::AccountAddress;

use super::{schema_json, AnchorError, Signatures, Transaction};

/// The tag of an extended transaction among the block items.
const EXTENDED: u8 = 3;
/// What an extended header has before an ordinary one: which of the optional parts are there.
const FEATURE_BYTES: u64 = 2;
/// A sponsor's address.
const SPONSOR_BYTES: u64 = 32;

/// An extended (version 1) account transaction, which another account may sponsor, that is pay for.
///
/// It is read and shown, and neither built, signed nor sent here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SponsoredTransaction {
    /// What is asked of which contract, by whom. Its own hash to sign is another one: see [`SponsoredTransaction::hash_to_sign`].
    pub transaction: Transaction,
    /// Who pays, if it is not the sender.
    pub sponsor: Option<AccountAddress>,
    /// By the sender.
    pub signatures: Signatures,
    /// By the sponsor, once it has signed.
    pub sponsor_signatures: Option<Signatures>,
    item: sdk::AccountTransactionV1<sdk::EncodedPayload>,
}

impl SponsoredTransaction {
    /// Reads a block item, with or without its version byte; `None` when it is no extended transaction at all.
    ///
    /// # Errors
    /// [`AnchorError::NotATransaction`] for an extended transaction that is no update of a contract without money, or in other bytes
    /// than the chain writes.
    pub fn from_block_item(bytes: &[u8]) -> Result<Option<Self>, AnchorError> {
        let unversioned = bytes.strip_prefix(&[0]).filter(|item| item.first() == Some(&EXTENDED));
        let Some(content) = unversioned.unwrap_or(bytes).strip_prefix(&[EXTENDED]) else { return Ok(None) };
        let mut source = Cursor::new(content);
        let item: sdk::AccountTransactionV1<sdk::EncodedPayload> = match from_bytes(&mut source) {
            Ok(item) => item,
            // A version byte and three credentials of an ordinary transaction look like this, too.
            Err(_) if unversioned.is_some() => return Ok(None),
            Err(_) => return Err(refuse("it begins like an extended (sponsored) one, and its bytes cannot be read")),
        };
        if source.position() != content.len() as u64 || to_bytes(&item) != content {
            return Err(refuse("it is an extended (sponsored) one, and not in the one form that the chain writes"));
        }
        let header = sdk::TransactionHeader {
            sender: item.header.sender,
            nonce: item.header.nonce,
            energy_amount: item.header.energy_amount,
            payload_size: item.header.payload_size,
            expiry: item.header.expiry,
        };
        let transaction = Transaction::from_header_and_payload(&header, &item.payload)?;
        let signatures = signatures_of(&item.signatures.sender)?;
        let sponsor_signatures = item.signatures.sponsor.as_ref().map(signatures_of).transpose()?;
        let sponsor = item.header.sponsor.map(|sponsor| AccountAddress(sponsor.0));
        if sponsor.is_none() && sponsor_signatures.is_some() {
            return Err(refuse("a sponsor has signed it that its header does not name"));
        }
        Ok(Some(Self { transaction, sponsor, signatures, sponsor_signatures, item }))
    }

    /// The 32 bytes that sender and sponsor sign.
    pub fn hash_to_sign(&self) -> [u8; 32] {
        let hash = sdk::compute_transaction_sign_hash_v1(&self.item.header, &self.item.payload);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(hash.as_ref());
        bytes
    }

    /// The hash that names it on the chain; `None` while the sponsor's signature is missing, which the hash covers.
    pub fn hash(&self) -> Option<TransactionHash> {
        let is_complete = self.sponsor.is_none() || self.sponsor_signatures.is_some();
        is_complete.then(|| {
            let mut bytes = [0; 32];
            bytes.copy_from_slice(sdk::BlockItem::AccountTransactionV1(self.item.clone()).hash().as_ref());
            TransactionHash(bytes)
        })
    }

    /// The contract's share of the energy, in NRG: what signatures, header and payload leave. A sponsor that has not signed yet will, and
    /// counts with the one signature that most accounts have.
    fn execution_energy(&self) -> u64 {
        let to_come = u32::from(self.sponsor.is_some());
        let signatures = self.signatures.count() + self.sponsor_signatures.as_ref().map_or(to_come, Signatures::count);
        let sponsor = if self.sponsor.is_some() { SPONSOR_BYTES } else { 0 };
        let base = self.transaction.call().base_energy(signatures) + FEATURE_BYTES + sponsor;
        self.transaction.energy().saturating_sub(base)
    }

    /// The document `cardproof.tx/1` of these bytes, which do not say their network. The header has a `sponsor`, and
    /// `sponsor_signatures` stand beside the sender's.
    ///
    /// # Errors
    /// [`AnchorError::NotATransaction`] when the parameter is none of the entry point's.
    pub fn to_json(&self) -> Result<Value, AnchorError> {
        let (transaction, call) = (&self.transaction, self.transaction.call());
        let parameter = hex::encode(&call.parameter);
        let mut json = json!({
            "schema": "cardproof.tx/1",
            "network": null,
            "genesis_hash": null,
            "contract": {"index": call.contract.index.to_string(), "subindex": call.contract.subindex.to_string()},
            "receive_name": call.receive_name,
            "parameter_hex": parameter,
            "schema_json": schema_json(call)?,
            "hex": parameter,
            "header": {
                "sender": transaction.sender().to_string(),
                "nonce": transaction.nonce().to_string(),
                "expiry": transaction.expiry(),
                "energy": transaction.energy().to_string(),
                "sponsor": self.sponsor.map(|sponsor| sponsor.to_string()),
            },
            "signature_count": self.signatures.count(),
            "execution_energy": self.execution_energy().to_string(),
            "payload_hex": hex::encode(transaction.payload()),
            "hash_to_sign": hex::encode(self.hash_to_sign()),
            "estimate": null,
            "signatures": self.signatures.to_json(),
            "sponsor_signatures": self.sponsor_signatures.as_ref().map(Signatures::to_json),
        });
        if let (Some(hash), Value::Object(fields)) = (self.hash(), &mut json) {
            let item = [&[0, EXTENDED], to_bytes(&self.item).as_slice()].concat();
            fields.insert("block_item_hex".into(), hex::encode(item).into());
            fields.insert("transaction_hash".into(), hash.to_string().into());
        }
        Ok(json)
    }
}

fn refuse(why: &str) -> AnchorError {
    AnchorError::NotATransaction(why.into())
}

fn signatures_of(signature: &TransactionSignature) -> Result<Signatures, AnchorError> {
    let mut signatures = Signatures::default();
    for (credential, keys) in &signature.signatures {
        let by_key = signatures.0.entry(credential.index).or_default();
        for (key, signature) in keys {
            let bytes = signature.sig.as_slice().try_into().map_err(|_| refuse("a signature does not have 64 bytes"))?;
            by_key.insert(key.0, bytes);
        }
    }
    Ok(signatures)
}

#[cfg(test)]
mod tests {
    use concordium_rust_sdk::base::contracts_common as chain;
    use concordium_rust_sdk::common::types::{CredentialIndex, KeyIndex, Signature, TransactionSignaturesV1};

    use super::*;
    use crate::anchor::{Call, Energy, SignedTransaction};
    use crate::identity::ContractAddress;

    fn transaction() -> Transaction {
        let call = Call {
            contract: ContractAddress::new(12802, 0),
            receive_name: "CIS-8004.revoke".into(),
            parameter: [&[8][..], &[0; 9]].concat(),
        };
        Transaction::new(call, AccountAddress([1; 32]), 7, 1_798_761_600, Energy::Total(9000), 2).unwrap()
    }

    fn signature(byte: u8) -> TransactionSignature {
        let keys = [(KeyIndex(0), Signature { sig: vec![byte; 64] })].into();
        TransactionSignature { signatures: [(CredentialIndex { index: 0 }, keys)].into() }
    }

    /// As the official SDKs write it.
    fn bytes(sponsor: Option<[u8; 32]>, sponsor_signature: Option<TransactionSignature>) -> Vec<u8> {
        let signed = SignedTransaction { transaction: transaction(), signatures: signatures_of(&signature(5)).unwrap() };
        let ordinary: sdk::BlockItem<sdk::EncodedPayload> = from_bytes(&mut Cursor::new(&signed.block_item()[1..])).unwrap();
        let sdk::BlockItem::AccountTransaction(ordinary) = ordinary else { panic!() };
        let header = sdk::TransactionHeaderV1 {
            sender: ordinary.header.sender,
            nonce: ordinary.header.nonce,
            energy_amount: ordinary.header.energy_amount,
            payload_size: ordinary.header.payload_size,
            expiry: ordinary.header.expiry,
            sponsor: sponsor.map(chain::AccountAddress),
        };
        let signatures = TransactionSignaturesV1 { sender: ordinary.signature, sponsor: sponsor_signature };
        let item = sdk::AccountTransactionV1 { signatures, header, payload: ordinary.payload };
        to_bytes(&sdk::BlockItem::AccountTransactionV1(item))
    }

    #[test]
    fn a_sponsored_transaction_is_read_with_its_sponsor() {
        let item = bytes(Some([2; 32]), Some(signature(6)));
        assert_eq!(item[..2], [3, 1], "as the JavaScript SDK begins it");
        let read = SponsoredTransaction::from_block_item(&item).unwrap().unwrap();
        assert_eq!(read.transaction, transaction());
        assert_eq!(read.sponsor, Some(AccountAddress([2; 32])));
        assert_eq!((read.signatures.count(), read.sponsor_signatures.as_ref().map(Signatures::count)), (1, Some(1)));
        assert_eq!(read.hash().unwrap().0, crate::digest::Sha256Digest::of(&item).0);
        assert_ne!(read.hash_to_sign(), transaction().hash_to_sign(), "the two kinds are signed apart");
        let versioned = [&[0], item.as_slice()].concat();
        assert_eq!(SponsoredTransaction::from_block_item(&versioned).unwrap().unwrap(), read);
        let json = read.to_json().unwrap();
        assert_eq!(json["header"]["sponsor"], AccountAddress([2; 32]).to_string());
        assert_eq!(json["block_item_hex"], hex::encode(versioned));
    }

    #[test]
    fn without_its_sponsors_signature_it_has_no_hash_yet() {
        let read = SponsoredTransaction::from_block_item(&bytes(Some([2; 32]), None)).unwrap().unwrap();
        assert_eq!((read.hash(), &read.to_json().unwrap()["sponsor_signatures"]), (None, &Value::Null));
        assert!(SponsoredTransaction::from_block_item(&bytes(None, None)).unwrap().unwrap().hash().is_some());
        assert!(SponsoredTransaction::from_block_item(&bytes(None, Some(signature(6)))).is_err());
    }

    #[test]
    fn bytes_that_say_more_or_less_are_refused() {
        let item = bytes(Some([2; 32]), Some(signature(6)));
        for cut in 1..item.len() {
            assert!(SponsoredTransaction::from_block_item(&item[..cut]).is_err(), "{cut}");
        }
        assert!(SponsoredTransaction::from_block_item(&[item.as_slice(), &[0]].concat()).is_err());
        let ordinary = SignedTransaction { transaction: transaction(), signatures: signatures_of(&signature(5)).unwrap() };
        assert!(SponsoredTransaction::from_block_item(&ordinary.block_item()).unwrap().is_none());
    }
}
