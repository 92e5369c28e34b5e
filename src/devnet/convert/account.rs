use std::collections::HashMap;

use concordium_rust_sdk::base::common::to_bytes;
use concordium_rust_sdk::base::curve_arithmetic::Curve;
use concordium_rust_sdk::base::id::constants::ArCurve;
use concordium_rust_sdk::base::id::types::VerifyKey;
use concordium_rust_sdk::v2::generated::{self as proto, account_credential::CredentialValues};

use super::super::engine::World;
use super::super::wallet::TestAccount;

/// What the node says about the account number `index`, or `None` when the state has no such account.
///
/// Each credential is one of an identity provider 0 that does not exist, with a valid registration id and policy, for the SDKs
/// parse both.
pub(in crate::devnet) fn account_info(world: &World, account: &TestAccount, index: u64) -> Option<proto::AccountInfo> {
    let state = world.account(account.address)?;
    let keys = &state.keys;
    let creds: HashMap<_, _> = keys
        .keys
        .iter()
        .filter_map(|(credential, keys)| {
            let id = account.registration_ids.get(&credential.index)?;
            let values = CredentialValues::Initial(proto::InitialCredentialValues {
                keys: Some(public_keys(keys)),
                cred_id: Some(proto::CredentialRegistrationId { value: to_bytes(id) }),
                ip_id: Some(proto::IdentityProviderIdentity { value: 0 }),
                policy: Some(policy()),
            });
            Some((u32::from(credential.index), proto::AccountCredential { credential_values: Some(values) }))
        })
        .collect();
    Some(proto::AccountInfo {
        sequence_number: Some(proto::SequenceNumber { value: world.nonce(account.address) }),
        amount: Some(state.balance.total.into()),
        schedule: Some(proto::ReleaseSchedule { total: Some(proto::Amount { value: 0 }), schedules: Vec::new() }),
        creds,
        threshold: Some(proto::AccountThreshold { value: u32::from(u8::from(keys.threshold)) }),
        encrypted_balance: Some(proto::EncryptedBalance {
            self_amount: Some(nothing_encrypted()),
            start_index: 0,
            aggregated_amount: None,
            num_aggregated: None,
            incoming_amounts: Vec::new(),
        }),
        encryption_key: Some(encryption_key(account)),
        index: Some(proto::AccountIndex { value: index }),
        stake: None,
        address: Some((&state.address).into()),
        cooldowns: Vec::new(),
        available_balance: Some(state.balance.available().into()),
        tokens: Vec::new(),
    })
}

fn public_keys(keys: &concordium_rust_sdk::base::id::types::CredentialPublicKeys) -> proto::CredentialPublicKeys {
    let key = |VerifyKey::Ed25519VerifyKey(key): &VerifyKey| proto::AccountVerifyKey {
        key: Some(proto::account_verify_key::Key::Ed25519Key(key.to_bytes().to_vec())),
    };
    proto::CredentialPublicKeys {
        keys: keys.keys.iter().map(|(index, verify)| (u32::from(index.0), key(verify))).collect(),
        threshold: Some(proto::SignatureThreshold { value: u32::from(u8::from(keys.threshold)) }),
    }
}

fn policy() -> proto::Policy {
    proto::Policy {
        created_at: Some(proto::YearMonth { year: 2020, month: 1 }),
        valid_to: Some(proto::YearMonth { year: 9999, month: 12 }),
        attributes: HashMap::new(),
    }
}

/// Two ciphers of zero, each two points of the curve.
fn nothing_encrypted() -> proto::EncryptedAmount {
    let zero = to_bytes(&ArCurve::zero_point());
    proto::EncryptedAmount { value: zero.repeat(4) }
}

/// A generator and the account's point.
fn encryption_key(account: &TestAccount) -> proto::EncryptionKey {
    let mut value = to_bytes(&ArCurve::one_point());
    value.extend(to_bytes(&account.encryption_key));
    proto::EncryptionKey { value }
}
