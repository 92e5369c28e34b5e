use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use super::IdentityError;

/// The Base58Check version byte of an account address.
const VERSION: u8 = 1;
/// How many of the 32 bytes identify the account; the last three count its aliases.
const IDENTIFYING_BYTES: usize = 29;

/// An account address: 32 bytes, of which the first 29 identify the account and the last 3 are an alias counter.
///
/// Two addresses are **equal when they name the same account**, that is, when their first 29 bytes are equal
/// (registry facts, section 7). Use [`AccountAddress::bytes`] to compare the exact bytes.
#[derive(Clone, Copy)]
pub struct AccountAddress(pub [u8; 32]);

impl AccountAddress {
    /// All 32 bytes, alias counter included.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn identifying(&self) -> &[u8] {
        self.0.split_at(IDENTIFYING_BYTES).0
    }
}

impl PartialEq for AccountAddress {
    fn eq(&self, other: &Self) -> bool {
        self.identifying() == other.identifying()
    }
}

impl Eq for AccountAddress {}

impl Hash for AccountAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identifying().hash(state);
    }
}

impl fmt::Display for AccountAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bs58::encode(self.0).with_check_version(VERSION).into_string())
    }
}

impl fmt::Debug for AccountAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for AccountAddress {
    type Err = IdentityError;

    /// Reads the Base58Check form (version byte 1, 32 bytes, 4 bytes of checksum).
    fn from_str(text: &str) -> Result<Self, IdentityError> {
        // An address has at most 52 characters; decoding is quadratic, so a long text is refused unread.
        if text.len() > 60 {
            return Err(IdentityError::Account("it is too long".into()));
        }
        let bytes = bs58::decode(text)
            .with_check(Some(VERSION))
            .into_vec()
            .map_err(|_| IdentityError::Account("a character is mistyped or missing (the checksum does not fit)".into()))?;
        let address = bytes.get(1..).and_then(|rest| <[u8; 32]>::try_from(rest).ok());
        address.map(Self).ok_or_else(|| IdentityError::Account("it does not hold 32 bytes".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7";

    #[test]
    fn an_address_reads_back() {
        let address: AccountAddress = OWNER.parse().unwrap();
        assert_eq!(address.to_string(), OWNER);
    }

    #[test]
    fn aliases_of_one_account_are_equal() {
        let address: AccountAddress = OWNER.parse().unwrap();
        let mut alias = address;
        alias.0[31] ^= 1;
        assert_eq!(address, alias);
        assert_ne!(address.bytes(), alias.bytes());
        let mut other = address;
        other.0[28] ^= 1;
        assert_ne!(address, other);
    }

    #[test]
    fn a_mistyped_or_foreign_address_is_refused() {
        assert!(OWNER.replacen('x', "y", 1).parse::<AccountAddress>().is_err());
        assert!("JyP9UULNJGYEmchgQB4fw".parse::<AccountAddress>().is_err());
        assert!("".parse::<AccountAddress>().is_err());
        assert!("1".repeat(100_000).parse::<AccountAddress>().is_err());
    }
}
