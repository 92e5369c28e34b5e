use std::io::Cursor;

use concordium_rust_sdk::base::contracts_common as chain;
use concordium_rust_sdk::base::smart_contracts::{OwnedParameter, OwnedReceiveName};
use concordium_rust_sdk::base::transactions as sdk;
use concordium_rust_sdk::base::transactions::construct::{self, GivenEnergy, PreAccountTransaction};
use concordium_rust_sdk::common::types::{CredentialIndex, KeyIndex, Signature, TransactionSignature, TransactionTime};
use concordium_rust_sdk::common::{from_bytes, to_bytes};
use concordium_rust_sdk::types::Nonce;

use crate::amount::MicroCcd;
use crate::chain::TransactionHash;
use crate::identity::{AccountAddress, ContractAddress};

use super::{AnchorError, Signatures};

/// The version byte that a block item starts with.
const BLOCK_ITEM_VERSION: u8 = 0;
/// Energy for each signature (registry facts, section 8).
const SIGNATURE_ENERGY: u64 = 100;
/// The header's length in bytes, each of which costs 1 NRG.
const HEADER_BYTES: u64 = 60;

/// What a transaction asks of a contract. No money goes with it: no entry point of the registries takes any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The contract.
    pub contract: ContractAddress,
    /// Contract name and entry point, for example `CIS-8004.register`. At most 100 ASCII characters.
    pub receive_name: String,
    /// The parameter's bytes. At most 65535.
    pub parameter: Vec<u8>,
}

impl Call {
    /// How many bytes the payload has: 1 + 8 + 16 + 2 + receive name + 2 + parameter.
    pub fn payload_bytes(&self) -> u64 {
        1 + 8 + 16 + 2 + self.receive_name.len() as u64 + 2 + self.parameter.len() as u64
    }

    /// What a transaction with this call costs besides the contract's own work, in NRG: 100 for each signature, 60 for the
    /// header and 1 for each byte of the payload (registry facts, section 8).
    pub fn base_energy(&self, signatures: u32) -> u64 {
        SIGNATURE_ENERGY * u64::from(signatures) + HEADER_BYTES + self.payload_bytes()
    }
}

/// An allowance of energy, in NRG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Energy {
    /// Of the whole transaction: `--energy`, as in concordium-client.
    Total(u64),
    /// Of the contract alone, to which [`Call::base_energy`] is added: `--execution-energy`.
    Execution(u64),
}

/// An account transaction that updates a contract, without its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    call: Call,
    sender: AccountAddress,
    nonce: u64,
    expiry: u64,
    energy: u64,
}

impl Transaction {
    /// Puts a transaction together. `expiry` is in seconds since 1970; `signatures` is how many it will carry.
    ///
    /// # Errors
    /// [`AnchorError::Build`] when a part is out of range, or the energy does not even pay for the signatures and bytes.
    pub fn new(
        call: Call,
        sender: AccountAddress,
        nonce: u64,
        expiry: u64,
        energy: Energy,
        signatures: u32,
    ) -> Result<Self, AnchorError> {
        let build = |why: String| Err(AnchorError::Build(why));
        if let Err(error) = OwnedReceiveName::new(call.receive_name.clone()) {
            return build(format!("{} is not a contract and entry point: {error}", call.receive_name));
        }
        if call.parameter.len() > usize::from(u16::MAX) {
            return build(format!("the parameter has {} bytes; the chain takes at most {}", call.parameter.len(), u16::MAX));
        }
        if nonce == 0 {
            return build("the nonce (sequence number) of an account starts at 1".into());
        }
        if signatures == 0 {
            return build("it needs at least one signature".into());
        }
        let base = call.base_energy(signatures);
        let energy = match energy {
            Energy::Total(total) if total < base => {
                return build(format!(
                    "{total} NRG in total do not pay for its bytes and {signatures} signature(s), which take {base} NRG"
                ));
            }
            Energy::Total(total) => total,
            Energy::Execution(execution) => match base.checked_add(execution) {
                Some(total) => total,
                None => return build("the energy is out of range".into()),
            },
        };
        Ok(Self { call, sender, nonce, expiry, energy })
    }

    /// What it asks of which contract.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Who sends it and pays for it.
    pub fn sender(&self) -> AccountAddress {
        self.sender
    }

    /// The sender's sequence number that it uses up.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// When it can no longer be included in a block, in seconds since 1970.
    pub fn expiry(&self) -> u64 {
        self.expiry
    }

    /// The same transaction with another nonce.
    ///
    /// # Errors
    /// [`AnchorError::Build`] for 0.
    pub fn with_nonce(self, nonce: u64) -> Result<Self, AnchorError> {
        Self::new(self.call, self.sender, nonce, self.expiry, Energy::Total(self.energy), 1)
    }

    /// All the energy it may take, in NRG.
    pub fn energy(&self) -> u64 {
        self.energy
    }

    /// The payload's bytes.
    pub fn payload(&self) -> Vec<u8> {
        to_bytes(&self.prepared().encoded)
    }

    /// The 32 bytes that are signed: SHA-256 of header and payload.
    pub fn hash_to_sign(&self) -> [u8; 32] {
        let hash = self.prepared().hash_to_sign;
        let mut bytes = [0; 32];
        bytes.copy_from_slice(hash.as_ref());
        bytes
    }

    fn prepared(&self) -> PreAccountTransaction {
        let payload = sdk::UpdateContractPayload {
            amount: chain::Amount::zero(),
            address: chain::ContractAddress::new(self.call.contract.index, self.call.contract.subindex),
            // Both were checked when the transaction was made.
            receive_name: OwnedReceiveName::new_unchecked(self.call.receive_name.clone()),
            message: OwnedParameter::new_unchecked(self.call.parameter.clone()),
        };
        construct::make_transaction(
            chain::AccountAddress(*self.sender.bytes()),
            Nonce { nonce: self.nonce },
            TransactionTime { seconds: self.expiry },
            GivenEnergy::Absolute(self.energy.into()),
            sdk::Payload::Update { payload },
        )
    }

    pub(super) fn from_header_and_payload(
        header: &sdk::TransactionHeader,
        payload: &sdk::EncodedPayload,
    ) -> Result<Self, AnchorError> {
        let refuse = |why: String| Err(AnchorError::NotATransaction(why));
        let update = match payload.decode() {
            Ok(sdk::Payload::Update { payload }) => payload,
            Ok(_) => return refuse("it is a transaction of another kind than an update of a contract".into()),
            Err(_) => return refuse("its payload cannot be read".into()),
        };
        if update.amount.micro_ccd() != 0 {
            return refuse(format!(
                "it sends {} to the contract, and no entry point takes money",
                MicroCcd(update.amount.micro_ccd())
            ));
        }
        let contract = ContractAddress::new(update.address.index, update.address.subindex);
        let receive_name = update.receive_name.as_receive_name().get_chain_name().to_owned();
        let call = Call { contract, receive_name, parameter: update.message.as_ref().to_vec() };
        let energy = Energy::Total(header.energy_amount.energy);
        let sender = AccountAddress(header.sender.0);
        Self::new(call, sender, header.nonce.nonce, header.expiry.seconds, energy, 1)
    }
}

/// A transaction with its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTransaction {
    /// What was signed.
    pub transaction: Transaction,
    /// By whom.
    pub signatures: Signatures,
}

impl SignedTransaction {
    /// The block item as it is submitted: version byte 00, then signatures, header and payload.
    pub fn block_item(&self) -> Vec<u8> {
        let mut bytes = vec![BLOCK_ITEM_VERSION];
        bytes.extend(to_bytes(&self.item()));
        bytes
    }

    /// The hash that names it on the chain: SHA-256 of the block item without its version byte.
    pub fn hash(&self) -> TransactionHash {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.item().hash().as_ref());
        TransactionHash(bytes)
    }

    fn item(&self) -> sdk::BlockItem<sdk::EncodedPayload> {
        let prepared = self.transaction.prepared();
        let keys = |keys: &std::collections::BTreeMap<u8, [u8; 64]>| {
            keys.iter().map(|(&key, signature)| (KeyIndex(key), Signature { sig: signature.to_vec() })).collect()
        };
        let signatures = self.signatures.0.iter().map(|(&index, by_key)| (CredentialIndex { index }, keys(by_key))).collect();
        let signature = TransactionSignature { signatures };
        sdk::AccountTransaction { signature, header: prepared.header, payload: prepared.encoded }.into()
    }

    /// Reads a block item, with or without its version byte, and checks it by writing it again.
    ///
    /// # Errors
    /// [`AnchorError::NotATransaction`] for anything but an update of a contract without money, in exactly these bytes.
    pub fn from_block_item(bytes: &[u8]) -> Result<Self, AnchorError> {
        // A version byte and the tag of an account transaction are both 0; a signature count of 0 is never valid.
        let item = match bytes {
            [BLOCK_ITEM_VERSION, item @ ..] if item.first() == Some(&0) => item,
            _ => bytes,
        };
        let refuse = |why: &str| AnchorError::NotATransaction(why.into());
        let mut source = Cursor::new(item);
        let parsed: sdk::BlockItem<sdk::EncodedPayload> = from_bytes(&mut source).map_err(|_| refuse(kind_of(bytes)))?;
        if source.position() != item.len() as u64 {
            return Err(refuse("bytes follow its end"));
        }
        let sdk::BlockItem::AccountTransaction(account) = parsed else {
            return Err(refuse("it is not an ordinary transaction of an account"));
        };
        let transaction = Transaction::from_header_and_payload(&account.header, &account.payload)?;
        let mut signatures = Signatures::default();
        for (credential, keys) in account.signature.signatures {
            let by_key = signatures.0.entry(credential.index).or_default();
            for (key, signature) in keys {
                let signature = signature.sig.try_into().map_err(|_| refuse("a signature does not have 64 bytes"))?;
                by_key.insert(key.0, signature);
            }
        }
        let signed = Self { transaction, signatures };
        if signed.block_item().get(1..) != Some(item) {
            return Err(refuse("its bytes are not in the one form that the chain writes"));
        }
        Ok(signed)
    }
}

/// What bytes are that cannot be read as an ordinary transaction, as far as their first ones tell.
fn kind_of(bytes: &[u8]) -> &'static str {
    match bytes {
        [1, ..] => "its bytes begin like those of a new credential, and are not those of an account transaction",
        [2, ..] => "its bytes begin like those of an update of the chain itself, and are not those of an account transaction",
        [3, ..] | [0, 3, ..] => "it is an extended (sponsored) transaction, which cardproof shows and does not sign or send",
        _ => "its bytes are not those of an account transaction",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call() -> Call {
        Call { contract: ContractAddress::new(12802, 0), receive_name: "CIS-8004.revoke".into(), parameter: vec![0; 10] }
    }

    fn build(energy: Energy, signatures: u32) -> Result<Transaction, AnchorError> {
        Transaction::new(call(), AccountAddress([1; 32]), 1, 1_798_761_600, energy, signatures)
    }

    /// A register with a 106-byte parameter whose dry run used 1663 NRG was charged 2057 (registry facts, section 8).
    #[test]
    fn c_71_the_base_energy_is_the_published_one() {
        let call = |name: &str, bytes| Call {
            contract: ContractAddress::new(0, 0),
            receive_name: name.into(),
            parameter: vec![0; bytes],
        };
        let register = call("CIS-8004.register", 106);
        assert_eq!(register.payload_bytes(), 152);
        assert_eq!(register.base_energy(1), 312);
        // 2057 - 1663 = 394 = 100 + 60 + 234.
        let other = call("CIS-8004.setExternalReference", 234 - 29 - 29);
        assert_eq!(other.base_energy(1), 2057 - 1663);
    }

    #[test]
    fn total_and_execution_energy_differ_by_the_base() {
        let base = call().base_energy(2);
        assert_eq!(build(Energy::Execution(1000), 2).unwrap().energy(), base + 1000);
        assert_eq!(build(Energy::Total(base), 2).unwrap().energy(), base);
        assert!(build(Energy::Total(base - 1), 2).is_err());
        assert!(build(Energy::Execution(u64::MAX), 1).is_err());
    }

    #[test]
    fn a_part_that_is_out_of_range_is_refused() {
        let with = |call, nonce| Transaction::new(call, AccountAddress([1; 32]), nonce, 1, Energy::Execution(0), 1);
        assert!(with(Call { parameter: vec![0; 65536], ..call() }, 1).is_err());
        assert!(with(Call { parameter: vec![0; 65535], ..call() }, 1).is_ok());
        assert!(with(Call { receive_name: "no dot".into(), ..call() }, 1).is_err());
        assert!(with(call(), 0).is_err());
        assert!(build(Energy::Execution(0), 0).is_err());
    }

    #[test]
    fn bytes_that_say_more_or_less_are_refused() {
        let transaction = build(Energy::Execution(1000), 1).unwrap();
        let signatures = Signatures([(0, [(0, [5; 64])].into())].into());
        let signed = SignedTransaction { transaction, signatures };
        let bytes = signed.block_item();
        assert_eq!(SignedTransaction::from_block_item(&bytes).unwrap(), signed);
        assert_eq!(SignedTransaction::from_block_item(&bytes[1..]).unwrap(), signed);
        for cut in 0..bytes.len() {
            let read = SignedTransaction::from_block_item(&bytes[..cut]);
            assert!(read.is_err(), "{cut} bytes are not a transaction");
        }
        let mut more = bytes.clone();
        more.push(0);
        assert!(SignedTransaction::from_block_item(&more).is_err());
        // An amount of 1 microCCD: the last byte of the eight after the payload's tag.
        let payload = bytes.len() - signed.transaction.payload().len();
        let mut paid = bytes;
        paid[payload + 8] = 1;
        let error = SignedTransaction::from_block_item(&paid).unwrap_err().to_string();
        assert!(error.contains("it sends 0.000001 CCD"), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = SignedTransaction::from_block_item(&bytes);
        }
    }
}
