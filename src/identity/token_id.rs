use std::fmt;
use std::str::FromStr;

use super::IdentityError;

/// The id of an agent's token: a u64, decimal for people, 8 bytes little-endian in the contract's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u64);

impl TokenId {
    /// The token id as the contract's schema JSON writes it: 16 hexadecimal digits, little-endian (`1f01000000000000` is 287).
    pub fn to_schema_hex(self) -> String {
        hex::encode(self.0.to_le_bytes())
    }

    /// Reads the schema JSON form.
    ///
    /// # Errors
    /// [`IdentityError::TokenId`] when it is not 16 hexadecimal digits.
    pub fn from_schema_hex(text: &str) -> Result<Self, IdentityError> {
        let mut bytes = [0; 8];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| IdentityError::TokenId)?;
        Ok(Self(u64::from_le_bytes(bytes)))
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for TokenId {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(IdentityError::TokenId);
        }
        text.parse().map(Self).map_err(|_| IdentityError::TokenId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_hex_is_little_endian() {
        assert_eq!(TokenId(484).to_schema_hex(), "e401000000000000");
        assert_eq!(TokenId::from_schema_hex("1f01000000000000"), Ok(TokenId(287)));
        assert!(TokenId::from_schema_hex("1f01").is_err());
    }

    #[test]
    fn ids_above_two_to_the_53_survive() {
        let text = "9007199254740993";
        assert_eq!(text.parse::<TokenId>().unwrap().to_string(), text);
    }

    #[test]
    fn signs_spaces_and_overflow_are_refused() {
        for text in ["", "+1", "-1", " 1", "18446744073709551616", "1e3", "0x1"] {
            assert_eq!(text.parse::<TokenId>(), Err(IdentityError::TokenId), "{text}");
        }
    }
}
