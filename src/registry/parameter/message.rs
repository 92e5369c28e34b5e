use crate::identity::{AccountAddress, ContractAddress, GenesisHash, TokenId};
use crate::registry::wire::{Wire, Writer};
use crate::registry::Timestamp;

use super::ExternalKeyId;

/// The message that a wallet signs to become an agent's wallet: 162 bytes (registry facts, section 3).
///
/// ASCII `CIS-8004/v1/setAgentWallet` (26) ‖ token id as u64 without a length byte ‖ owner 32 ‖ new wallet 32 ‖ nonce u64 ‖
/// deadline u64 in milliseconds ‖ contract index u64 ‖ subindex u64 ‖ genesis hash 32; numbers little-endian. The contract
/// checks the account's signatures over these raw bytes. A browser wallet's "sign message" puts the account's address before
/// what it signs, so it cannot produce one.
pub fn set_agent_wallet_message(
    token_id: TokenId,
    owner: &AccountAddress,
    new_wallet: &AccountAddress,
    nonce: u64,
    deadline: Timestamp,
    registry: ContractAddress,
    genesis: &GenesisHash,
) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(b"CIS-8004/v1/setAgentWallet");
    token_id.0.put(&mut out);
    owner.put(&mut out);
    new_wallet.put(&mut out);
    nonce.put(&mut out);
    deadline.put(&mut out);
    registry.put(&mut out);
    out.bytes(&genesis.0);
    out.into_bytes()
}

/// The message that the holder of an external key signs to be bound to an account: CIS-8's canonical message (registry facts,
/// section 10).
///
/// ASCII `CIS-8/v1/canonical` (18) ‖ account 32 ‖ contract index u64 ‖ subindex u64 ‖ genesis hash 32 ‖ external namespace ‖
/// the key's namespace, type and bytes ‖ proof scheme; numbers little-endian, texts and bytes with a 4-byte length. There is
/// no nonce and no expiry.
pub fn key_binding_message(
    account: &AccountAddress,
    cis8: ContractAddress,
    genesis: &GenesisHash,
    external_namespace: &str,
    external_key: &ExternalKeyId,
    proof_scheme: &str,
) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(b"CIS-8/v1/canonical");
    account.put(&mut out);
    cis8.put(&mut out);
    out.bytes(&genesis.0);
    external_namespace.to_string().put(&mut out);
    external_key.put(&mut out);
    proof_scheme.to_string().put(&mut out);
    out.into_bytes()
}
