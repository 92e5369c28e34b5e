use std::fmt;
use std::str::FromStr;

use super::IdentityError;

/// The address of a contract instance: index and subindex, written `<10082,0>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContractAddress {
    /// Which instance.
    pub index: u64,
    /// Which incarnation of it; 0 for every instance today.
    pub subindex: u64,
}

impl ContractAddress {
    /// The contract with this index and subindex.
    pub const fn new(index: u64, subindex: u64) -> Self {
        Self { index, subindex }
    }
}

impl fmt::Display for ContractAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{},{}>", self.index, self.subindex)
    }
}

impl FromStr for ContractAddress {
    type Err = IdentityError;

    /// Reads `10082,0`, `<10082,0>`, or `10082` (subindex 0).
    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let text = text.trim();
        let inner = match (text.strip_prefix('<'), text.ends_with('>')) {
            (Some(rest), true) => rest.strip_suffix('>').unwrap_or(rest),
            (None, false) => text,
            _ => return Err(IdentityError::Contract),
        };
        let (index, subindex) = inner.split_once(',').unwrap_or((inner, "0"));
        Ok(Self { index: decimal(index)?, subindex: decimal(subindex)? })
    }
}

fn decimal(text: &str) -> Result<u64, IdentityError> {
    let text = text.trim();
    // `u64::from_str` would take a leading plus sign.
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(IdentityError::Contract);
    }
    text.parse().map_err(|_| IdentityError::Contract)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_written_forms_are_one_address() {
        for text in ["10082,0", "<10082,0>", "10082", " <10082, 0> "] {
            assert_eq!(text.parse(), Ok(ContractAddress::new(10082, 0)), "{text}");
        }
        assert_eq!(ContractAddress::new(10082, 0).to_string(), "<10082,0>");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "<10082,0", "10082,0>", "1,2,3", "+1", "-1", "1,", ",1", "18446744073709551616", "0x10"] {
            assert_eq!(text.parse::<ContractAddress>(), Err(IdentityError::Contract), "{text}");
        }
    }
}
