//! The proof that an account holds a key: what is signed, and how each scheme signs it.

use concordium_std::*;

use crate::{
    error::KeyError,
    key::{ExternalKeyId, PublicKey},
};

/// First bytes of the canonical message: 18, ASCII.
const DOMAIN: &[u8] = b"CIS-8/v1/canonical";

/// A signature over the canonical message: scheme String, signature bytes, 4-byte lengths.
#[derive(Debug, Clone, Serial, Deserial, SchemaType)]
pub struct Proof {
    /// `solana-ed25519`, `fetch-ai-ed25519` or `ethereum-personal-sign`.
    pub scheme: String,
    /// As the scheme makes it.
    pub signature: Vec<u8>,
}

/// Where and for whom a proof counts.
pub struct Claim<'a> {
    /// The account that registers the key.
    pub account: AccountAddress,
    /// This registry.
    pub registry: ContractAddress,
    /// This chain.
    pub genesis_hash: &'a [u8; 32],
    /// The key.
    pub external_key: &'a ExternalKeyId,
}

impl Claim<'_> {
    /// What the key signs: [`DOMAIN`] 18, account 32, contract index u64 LE, subindex u64 LE, genesis hash 32, namespace
    /// String, the ExternalKeyId (which begins with the same namespace again), scheme String.
    ///
    /// There is no nonce and no expiry: a proof stays good, for this account in this registry, as long as the key does.
    /// An owner who lost a key to another account can take it back with the old proof.
    fn canonical_message(&self, scheme: &str) -> Vec<u8> {
        let mut message = DOMAIN.to_vec();
        let fields = (self.account, self.registry, *self.genesis_hash);
        // Writing to a vector cannot fail.
        fields.0.serial(&mut message).unwrap_abort();
        fields.1.serial(&mut message).unwrap_abort();
        message.extend_from_slice(&fields.2);
        self.external_key.namespace.serial(&mut message).unwrap_abort();
        self.external_key.serial(&mut message).unwrap_abort();
        scheme.serial(&mut message).unwrap_abort();
        message
    }

    /// Whether the key signed this claim.
    ///
    /// - `solana-ed25519`, `fetch-ai-ed25519` with an `ed25519` key: 64 bytes over the message itself.
    /// - `ethereum-personal-sign` with a secp256k1 key: 65 bytes r‖s‖v over Keccak-256 of the EIP-191 envelope. The
    ///   standard has the key recovered with v and compared; here r‖s is verified against the key, which accepts the
    ///   same (r, s). v must be one that wallets write (0, 1, 27, 28), but whether it is the right one of them is not
    ///   looked at: it carries no secret. The host refuses an s in the upper half of the order, as Ethereum does.
    /// - `cosmos-secp256k1` is not supported: the standard leaves its envelope to each deployment, and the deployed
    ///   one's is unpublished. A guess would refuse real signatures or accept ones nobody else does.
    ///
    /// # Errors
    /// [`KeyError::UnsupportedProofScheme`] for another scheme, or one of another type of key;
    /// [`KeyError::InvalidProof`].
    pub fn verify(&self, key: &PublicKey, proof: &Proof, crypto: &impl HasCryptoPrimitives) -> Result<(), KeyError> {
        let message = self.canonical_message(&proof.scheme);
        let is_signed = match (proof.scheme.as_str(), key) {
            ("solana-ed25519" | "fetch-ai-ed25519", PublicKey::Ed25519(key)) => {
                let signature = proof.signature.as_slice().try_into().map_err(|_| KeyError::InvalidProof)?;
                crypto.verify_ed25519_signature(*key, SignatureEd25519(signature), &message)
            }
            ("ethereum-personal-sign", PublicKey::Secp256k1(key)) => {
                let signature: &[u8; 65] = proof.signature.as_slice().try_into().map_err(|_| KeyError::InvalidProof)?;
                let [r_and_s @ .., v] = signature;
                ensure!(matches!(v, 0 | 1 | 27 | 28), KeyError::InvalidProof);
                let digest = crypto.hash_keccak_256(&personal_message(&message)).0;
                crypto.verify_ecdsa_secp256k1_signature(*key, SignatureEcdsaSecp256k1(*r_and_s), digest)
            }
            _ => bail!(KeyError::UnsupportedProofScheme),
        };
        ensure!(is_signed, KeyError::InvalidProof);
        Ok(())
    }
}

/// EIP-191 version `45`: what an Ethereum wallet hashes instead of the message, so that it is never a transaction.
fn personal_message(message: &[u8]) -> Vec<u8> {
    let mut envelope = b"\x19Ethereum Signed Message:\n".to_vec();
    envelope.extend_from_slice(message.len().to_string().as_bytes());
    envelope.extend_from_slice(message);
    envelope
}
