//! The same keys and inputs give the bytes that the official JavaScript SDK gives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cardproof::anchor::keys::{KeyError, KeyFile};
use cardproof::anchor::{Call, Energy, SignedTransaction, Signer, SponsoredTransaction, ToSign, Transaction};
use cardproof::digest::Sha256Digest;
use cardproof::identity::ContractAddress;
use serde_json::Value;

fn cases() -> Vec<Value> {
    let vectors: Value = serde_json::from_str(include_str!("vectors/transactions.json")).unwrap();
    vectors["cases"].as_array().unwrap().clone()
}

async fn signed(case: &Value) -> SignedTransaction {
    let text = |name: &str| case[name].as_str().unwrap().to_owned();
    let keys = KeyFile::read(case["signKeys"].to_string().as_bytes(), &mut || Err(KeyError::PasswordNeeded("test"))).unwrap();
    let signer = keys.signer(Some(text("sender").parse().unwrap()), None).unwrap();
    let call = Call {
        contract: ContractAddress::new(case["contract"][0].as_u64().unwrap(), case["contract"][1].as_u64().unwrap()),
        receive_name: text("receiveName"),
        parameter: hex::decode(text("parameterHex")).unwrap(),
    };
    let energy = Energy::Execution(case["maxContractExecutionEnergy"].as_u64().unwrap());
    let (nonce, expiry) = (text("nonce").parse().unwrap(), case["expiry"].as_u64().unwrap());
    let transaction = Transaction::new(call, signer.address(), nonce, expiry, energy, signer.signature_count()).unwrap();
    let signatures = signer.sign(ToSign::Transaction(&transaction)).await.unwrap();
    SignedTransaction { transaction, signatures }
}

#[tokio::test]
async fn block_items_and_hashes_equal_those_of_the_javascript_sdk() {
    assert_eq!(cases().len(), 2);
    for case in cases() {
        let signed = signed(&case).await;
        assert_eq!(hex::encode(signed.block_item()), case["blockItemHex"].as_str().unwrap(), "{}", case["name"]);
        assert_eq!(signed.hash().to_string(), case["transactionHash"].as_str().unwrap(), "{}", case["name"]);
    }
}

#[tokio::test]
async fn what_the_javascript_sdk_signs_is_understood() {
    for case in cases() {
        let bytes = hex::decode(case["blockItemHex"].as_str().unwrap()).unwrap();
        assert_eq!(SignedTransaction::from_block_item(&bytes).unwrap(), signed(&case).await);
    }
}

#[test]
fn a_sponsored_transaction_of_the_javascript_sdk_is_read() {
    let vector: Value = serde_json::from_str(include_str!("vectors/sponsored.json")).unwrap();
    let text = |field: &str| vector[field].as_str().unwrap().to_owned();
    let item = hex::decode(text("blockItemHex")).unwrap();
    let read = SponsoredTransaction::from_block_item(&item).unwrap().unwrap();
    assert_eq!(read.transaction.sender().to_string(), text("sender"));
    assert_eq!(read.sponsor.unwrap().to_string(), text("sponsor"));
    assert_eq!(hex::encode(read.hash_to_sign()), text("signDigest"));
    let json = read.to_json().unwrap();
    assert_eq!(json["execution_energy"], vector["maxContractExecutionEnergy"].to_string());
    assert_eq!(json["block_item_hex"], format!("00{}", text("blockItemHex")));
    // The chain's hash covers the whole block item, as that of an ordinary one does.
    assert_eq!(read.hash().unwrap().to_string(), Sha256Digest::of(&item).to_string());
    assert_eq!(Sha256Digest::of(&item[1..]).to_string(), text("hashWithoutKind"));
    let unsponsored = hex::decode(text("unsponsoredHex")).unwrap();
    let unsponsored = SponsoredTransaction::from_block_item(&unsponsored).unwrap().unwrap();
    assert_eq!((unsponsored.sponsor, unsponsored.hash()), (read.sponsor, None));
    assert_eq!(unsponsored.hash_to_sign(), read.hash_to_sign());
}
