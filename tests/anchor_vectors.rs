//! The same keys and inputs give the bytes that the official JavaScript SDK gives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cardproof::anchor::keys::{KeyError, KeyFile};
use cardproof::anchor::{Call, Energy, SignedTransaction, Signer, ToSign, Transaction};
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
