//! Which key on which chain.

use concordium_std::*;
use primitive_types::{U256, U512};

use crate::error::KeyError;

/// Longest namespace in bytes. Unpublished, chosen here: CAIP-2 allows 41.
pub const MAX_NAMESPACE_BYTES: usize = 64;

/// A key of another chain: namespace String, key type String, public key bytes, 4-byte lengths.
#[derive(Debug, Clone, PartialEq, Eq, Serial, Deserial, SchemaType)]
pub struct ExternalKeyId {
    /// The chain, in the manner of CAIP-2.
    pub namespace: String,
    /// How `public_key` is encoded: the names at [`KeyType`].
    pub key_type: String,
    /// The key itself.
    pub public_key: Vec<u8>,
}

/// A checked public key.
pub enum PublicKey {
    /// `ed25519`: 32 bytes.
    Ed25519(PublicKeyEd25519),
    /// `secp256k1-compressed`: `02` or `03` and x, 33 bytes; or `secp256k1-uncompressed`: `04`, x and y, 65 bytes.
    /// Compressed in either case, as the host takes it.
    Secp256k1(PublicKeyEcdsaSecp256k1),
}

impl ExternalKeyId {
    /// The key, once its text and bytes are found in order.
    ///
    /// Whether 32 bytes are a point of ed25519, or 33 of secp256k1, shows when the host checks a signature with them.
    ///
    /// # Errors
    /// [`KeyError::UnsupportedKeyType`], [`KeyError::MalformedExternalKey`].
    pub fn public_key(&self) -> Result<PublicKey, KeyError> {
        let namespace_bytes = self.namespace.len();
        let key = match self.key_type.as_str() {
            "ed25519" => PublicKey::Ed25519(PublicKeyEd25519(fixed(&self.public_key)?)),
            "secp256k1-compressed" => {
                let compressed: [u8; 33] = fixed(&self.public_key)?;
                ensure!(matches!(compressed[0], 2 | 3), KeyError::MalformedExternalKey);
                PublicKey::Secp256k1(PublicKeyEcdsaSecp256k1(compressed))
            }
            "secp256k1-uncompressed" => PublicKey::Secp256k1(PublicKeyEcdsaSecp256k1(compress(&fixed(&self.public_key)?)?)),
            _ => bail!(KeyError::UnsupportedKeyType),
        };
        ensure!((1..=MAX_NAMESPACE_BYTES).contains(&namespace_bytes), KeyError::MalformedExternalKey);
        Ok(key)
    }
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], KeyError> {
    bytes.try_into().map_err(|_| KeyError::MalformedExternalKey)
}

/// The prime of secp256k1's field, 2^256 - 2^32 - 977 (SEC 2, section 2.4.1), as 64-bit limbs from the lowest.
const FIELD_PRIME: U256 = U256([0xFFFF_FFFE_FFFF_FC2F, u64::MAX, u64::MAX, u64::MAX]);

/// `04 x y` to `02|03 x`. The host takes compressed keys only, and compression drops y: a y that does not belong to x
/// would pass unseen and let one key register under many names. So the point must be on the curve y² = x³ + 7.
fn compress(key: &[u8; 65]) -> Result<[u8; 33], KeyError> {
    let x = U256::from_big_endian(&key[1..33]);
    let y = U256::from_big_endian(&key[33..]);
    let x_cubed = times(times(x, x), x);
    let is_point = key[0] == 4
        && x < FIELD_PRIME
        && y < FIELD_PRIME
        && U512::from(times(y, y)) == (U512::from(x_cubed) + U512::from(7u64)) % U512::from(FIELD_PRIME);
    ensure!(is_point, KeyError::MalformedExternalKey);

    let mut compressed = [0u8; 33];
    compressed[0] = if y.bit(0) { 3 } else { 2 };
    compressed[1..].copy_from_slice(&key[1..33]);
    Ok(compressed)
}

/// Product in secp256k1's field.
fn times(a: U256, b: U256) -> U256 {
    let product = a.full_mul(b) % U512::from(FIELD_PRIME);
    // Less than the prime, so the upper half is zero.
    let U512(limbs) = product;
    U256([limbs[0], limbs[1], limbs[2], limbs[3]])
}
