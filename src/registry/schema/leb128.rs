//! LEB128 numbers of any size, to and from decimal digits.

use std::borrow::Cow;

use crate::registry::wire::Reader;
use crate::registry::{DecodeError, EncodeError};

/// How many bytes a number may take, whatever its type allows: 448 bits. Token amounts take at most 37 bytes.
pub(super) const MAX_BYTES: u32 = 64;

/// A limb of a number holds nine decimal digits.
const BASE: u64 = 1_000_000_000;

/// Takes a number of at most `limit` bytes and gives its decimal digits.
pub(super) fn take(from: &mut Reader<'_>, limit: u32, signed: bool) -> Result<String, DecodeError> {
    const WHAT: &str = "a LEB128 number";
    let offset = from.offset();
    let mut groups = Vec::new();
    loop {
        if groups.len() as u32 >= limit.min(MAX_BYTES) {
            let why = "takes more bytes than it may";
            return Err(DecodeError::Malformed { what: Cow::Borrowed(WHAT), offset, why });
        }
        let byte = from.byte(WHAT)?;
        groups.push(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    let negative = signed && groups.last().is_some_and(|top| top & 0x40 != 0);
    if negative {
        negate(&mut groups);
    }
    let digits = decimal(&groups);
    Ok(if negative { format!("-{digits}") } else { digits })
}

/// The bytes of a number given in decimal digits.
pub(super) fn encode(digits: &str, limit: u32, signed: bool) -> Result<Vec<u8>, EncodeError> {
    let (negative, magnitude) = match digits.strip_prefix('-') {
        Some(magnitude) if signed => (true, magnitude),
        _ => (false, digits),
    };
    // 135 digits are more than 448 bits hold, and conversion is quadratic.
    if magnitude.is_empty() || magnitude.len() > 135 || !magnitude.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(EncodeError::mismatch("a whole number in decimal digits is expected here"));
    }
    let mut groups = base128(magnitude);
    if signed {
        // Room for the sign bit: the top group must not look negative, unless negation makes it so.
        groups.push(0);
        if negative {
            negate(&mut groups);
        }
        shorten(&mut groups);
    }
    if groups.len() as u32 > limit.min(MAX_BYTES) {
        return Err(EncodeError::mismatch(format!("the number takes more than {} bytes", limit.min(MAX_BYTES))));
    }
    let last = groups.len().saturating_sub(1);
    groups.iter_mut().take(last).for_each(|group| *group |= 0x80);
    Ok(groups)
}

/// Two's complement in groups of 7 bits, least significant first.
fn negate(groups: &mut [u8]) {
    let mut carry = 1;
    for group in groups {
        let flipped = (!*group & 0x7f) + carry;
        carry = flipped >> 7;
        *group = flipped & 0x7f;
    }
}

/// Drops top groups that only repeat the sign.
fn shorten(groups: &mut Vec<u8>) {
    while let [.., below, top] = groups.as_slice() {
        let sign = if below & 0x40 == 0 { 0 } else { 0x7f };
        if *top != sign {
            break;
        }
        groups.pop();
    }
}

fn decimal(groups: &[u8]) -> String {
    let mut limbs: Vec<u64> = vec![0];
    for group in groups.iter().rev() {
        let mut carry = u64::from(*group);
        for limb in &mut limbs {
            let value = *limb * 128 + carry;
            *limb = value % BASE;
            carry = value / BASE;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut limbs = limbs.iter().rev();
    let first = limbs.next().map(u64::to_string).unwrap_or_default();
    limbs.fold(first, |text, limb| format!("{text}{limb:09}"))
}

fn base128(digits: &str) -> Vec<u8> {
    let mut number: Vec<u8> = digits.bytes().map(|digit| digit - b'0').collect();
    let mut groups = Vec::new();
    loop {
        let mut remainder = 0u16;
        for digit in &mut number {
            let value = remainder * 10 + u16::from(*digit);
            *digit = (value / 128) as u8;
            remainder = value % 128;
        }
        groups.push(remainder as u8);
        if number.iter().all(|digit| *digit == 0) {
            return groups;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], limit: u32, signed: bool) -> Result<String, DecodeError> {
        take(&mut Reader::new(bytes), limit, signed)
    }

    #[test]
    fn numbers_of_known_bytes() {
        for (digits, bytes, signed) in [
            ("0", &[0][..], false),
            ("127", &[0x7f], false),
            ("128", &[0x80, 1], false),
            ("18446744073709551615", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], false),
            ("0", &[0], true),
            ("63", &[0x3f], true),
            ("64", &[0xc0, 0], true),
            ("-1", &[0x7f], true),
            ("-64", &[0x40], true),
            ("-65", &[0xbf, 0x7f], true),
            ("-128", &[0x80, 0x7f], true),
            ("-129", &[0xff, 0x7e], true),
        ] {
            assert_eq!(encode(digits, 10, signed).as_deref(), Ok(bytes), "{digits}");
            assert_eq!(read(bytes, 10, signed).as_deref(), Ok(digits), "{digits}");
        }
    }

    #[test]
    fn a_padded_number_is_read_and_one_beyond_its_limit_is_not() {
        assert_eq!(read(&[0x80, 0x80, 0], 3, false).as_deref(), Ok("0"));
        assert!(matches!(read(&[0x80, 1], 1, false), Err(DecodeError::Malformed { .. })));
        assert!(encode("128", 1, false).is_err());
        assert!(read(&[], 5, false).is_err());
        assert!(read(&[0x80; 100], u32::MAX, true).is_err(), "64 bytes are the most, whatever the type says");
        for digits in ["", "-", "-1", "+1", "1a", " 1", &"9".repeat(1000)] {
            assert!(encode(digits, 64, false).is_err(), "{digits}");
        }
    }
}
