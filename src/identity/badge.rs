use std::fmt;
use std::str::FromStr;

use super::{ContractAddress, IdentityError, TokenId};

/// The Base58Check version byte of a token address.
const VERSION: u8 = 2;
/// The length byte that a draft of the encoding puts before the token id.
const DRAFT_LENGTH: u8 = 8;

/// A token address ("badge"): Base58Check( `02` ‖ ULEB128(index) ‖ ULEB128(subindex) ‖ token id as 8 bytes little-endian ).
///
/// A draft elsewhere writes a length byte `08` before the token id. Both are read, only the first is printed
/// (registry facts, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Badge {
    /// The registry that issued the token.
    pub contract: ContractAddress,
    /// The token.
    pub token_id: TokenId,
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut payload = Vec::with_capacity(28);
        push_uleb128(&mut payload, self.contract.index);
        push_uleb128(&mut payload, self.contract.subindex);
        payload.extend_from_slice(&self.token_id.0.to_le_bytes());
        f.write_str(&bs58::encode(payload).with_check_version(VERSION).into_string())
    }
}

impl FromStr for Badge {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        // The longest badge has 46 characters; decoding is quadratic, so a long text is refused unread.
        if text.len() > 64 {
            return Err(IdentityError::Badge("it is too long"));
        }
        let bytes = bs58::decode(text).with_check(Some(VERSION)).into_vec().map_err(|error| {
            IdentityError::Badge(match error {
                bs58::decode::Error::InvalidVersion { .. } => "it is an address of another kind",
                _ => "a character is mistyped or missing (the checksum does not fit)",
            })
        })?;
        let mut rest = bytes.get(1..).unwrap_or_default();
        let index = take_uleb128(&mut rest)?;
        let subindex = take_uleb128(&mut rest)?;
        let token = match rest {
            [DRAFT_LENGTH, id @ ..] if id.len() == 8 => id,
            id => id,
        };
        let token: [u8; 8] = token.try_into().map_err(|_| IdentityError::Badge("its token id does not have 8 bytes"))?;
        Ok(Self { contract: ContractAddress::new(index, subindex), token_id: TokenId(u64::from_le_bytes(token)) })
    }
}

fn push_uleb128(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes one number, in its shortest form only: otherwise two texts would name one token.
fn take_uleb128(bytes: &mut &[u8]) -> Result<u64, IdentityError> {
    const MALFORMED: IdentityError = IdentityError::Badge("its contract address is malformed");
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(MALFORMED)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return Err(MALFORMED);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return if byte == 0 && shift > 0 { Err(MALFORMED) } else { Ok(value) };
        }
    }
    Err(MALFORMED)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn published_badges_read_and_print() {
        let vectors: serde_json::Value = serde_json::from_str(include_str!("../../tests/vectors/badges.json")).unwrap();
        let cases = vectors["cases"].as_array().unwrap();
        assert!(cases.len() >= 5);
        for case in cases {
            let badge: Badge = case["badge"].as_str().unwrap().parse().unwrap();
            let contract = ContractAddress::new(case["index"].as_u64().unwrap(), case["subindex"].as_u64().unwrap());
            assert_eq!(badge, Badge { contract, token_id: TokenId(case["token_id"].as_u64().unwrap()) });
            if case["form"].is_null() {
                assert_eq!(badge.to_string(), case["badge"].as_str().unwrap());
            } else {
                assert_eq!(badge.to_string(), "Mf22soLh1NuZYFgBK8iSs", "the draft form is read, never printed");
            }
        }
    }

    #[test]
    fn an_overlong_number_is_refused() {
        let text = |payload: &[u8]| bs58::encode(payload).with_check_version(VERSION).into_string();
        for payload in [
            &[0x80, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[0xff; 30],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[],
            &[0x01],
            &[0x01, 0x00, 1, 2, 3],
        ] {
            assert!(matches!(text(payload).parse::<Badge>(), Err(IdentityError::Badge(_))), "{payload:?}");
        }
    }

    #[test]
    fn an_account_address_is_told_apart() {
        assert!("JyP9UULNJGYEmchgQB4fx".parse::<Badge>().is_err());
        assert!("4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7".parse::<Badge>().is_err());
    }

    proptest! {
        #[test]
        fn every_badge_reads_back(index: u64, subindex: u64, token: u64) {
            let badge = Badge { contract: ContractAddress::new(index, subindex), token_id: TokenId(token) };
            prop_assert_eq!(badge.to_string().parse(), Ok(badge));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = text.parse::<Badge>();
        }
    }
}
