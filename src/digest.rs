//! The SHA-256 digest that a registry anchors, and hashing a stream as it passes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A SHA-256 digest: 32 bytes, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Digest(pub [u8; 32]);

impl Sha256Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What was given is not a SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest is 64 hexadecimal digits; this has {got} characters or a character that is none")]
pub struct DigestError {
    /// How many characters were given.
    pub got: usize,
}

impl FromStr for Sha256Digest {
    type Err = DigestError;

    /// Reads 64 hexadecimal digits in either case, with or without a leading `0x`.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| DigestError { got: digits.chars().count() })?;
        Ok(Self(bytes))
    }
}

/// Hashes bytes as they arrive and counts them.
#[derive(Clone, Default)]
pub struct Sha256Stream {
    state: Sha256,
    bytes: u64,
}

impl Sha256Stream {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes of the stream.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// How many bytes have been added.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The digest of all bytes added.
    pub fn finish(self) -> Sha256Digest {
        Sha256Digest(self.state.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_in_either_case_and_prints_lower_case() {
        let digest = Sha256Digest::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.to_uppercase().parse(), Ok(digest));
        assert_eq!(format!("0x{text}").parse(), Ok(digest));
    }

    #[test]
    fn a_wrong_length_or_a_stray_character_is_refused() {
        assert_eq!("ab".parse::<Sha256Digest>(), Err(DigestError { got: 2 }));
        assert_eq!("zz".repeat(32).parse::<Sha256Digest>(), Err(DigestError { got: 64 }));
        assert_eq!("é".repeat(32).parse::<Sha256Digest>(), Err(DigestError { got: 32 }));
    }

    #[test]
    fn a_stream_hashes_like_the_whole() {
        let mut stream = Sha256Stream::new();
        stream.update(b"a");
        stream.update(b"bc");
        assert_eq!(stream.bytes(), 3);
        assert_eq!(stream.finish(), Sha256Digest::of(b"abc"));
    }
}
