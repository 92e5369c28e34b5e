use crate::registry::wire::{wire_list, wire_struct};

use super::parameter;

/// A key of another chain (registry facts, section 10). On the wire: three times a 4-byte length and the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalKeyId {
    /// The chain, for example `solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1`.
    pub namespace: String,
    /// `secp256k1-compressed` (33 bytes), `secp256k1-uncompressed` (65) or `ed25519` (32).
    pub key_type: String,
    /// The key's bytes.
    pub public_key: Vec<u8>,
}

/// The proof that the holder of a key agrees to be bound to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyProof {
    /// `ethereum-personal-sign`, `solana-ed25519`, `fetch-ai-ed25519` or `cosmos-secp256k1`.
    pub scheme: String,
    /// The signature over the message of [`super::key_binding_message`], as the scheme says.
    pub signature: Vec<u8>,
}

/// A key and a value, both texts, stored with an external key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMetadataEntry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// `registerExternalKey` of CIS-8: binds a key to the sender. Takes the binding over when another account holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterExternalKey {
    /// The key.
    pub external_key: ExternalKeyId,
    /// The key holder's proof.
    pub proof: KeyProof,
    /// What to store with it.
    pub metadata: Vec<KeyMetadataEntry>,
}

/// `updateMetadata` of CIS-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateKeyMetadata {
    /// The key.
    pub external_key: ExternalKeyId,
    /// What to store with it, in place of what is there.
    pub metadata: Vec<KeyMetadataEntry>,
}

/// `revoke` of CIS-8: ends the sender's binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeKey {
    /// The key.
    pub external_key: ExternalKeyId,
}

/// `ownerOfKey` of CIS-8: asks who holds a key. The parameter is wrapped in a struct, where `agentOf` takes the bare value;
/// the bytes are the same. A revoked entry is answered too: look at its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerOfKey {
    /// The key.
    pub external_key: ExternalKeyId,
}

wire_struct!(ExternalKeyId { namespace: String, key_type: String, public_key: Vec<u8> });
wire_struct!(KeyProof { scheme: String, signature: Vec<u8> });
wire_struct!(KeyMetadataEntry { key: String, value: String });
wire_list!(KeyMetadataEntry);
wire_struct!(RegisterExternalKey { external_key: ExternalKeyId, proof: KeyProof, metadata: Vec<KeyMetadataEntry> });
wire_struct!(UpdateKeyMetadata { external_key: ExternalKeyId, metadata: Vec<KeyMetadataEntry> });
wire_struct!(RevokeKey { external_key: ExternalKeyId });
wire_struct!(OwnerOfKey { external_key: ExternalKeyId });

parameter!(RegisterExternalKey, UpdateKeyMetadata, RevokeKey, OwnerOfKey);
