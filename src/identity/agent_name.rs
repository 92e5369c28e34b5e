use std::fmt;
use std::str::FromStr;

use super::{Badge, Caip19, IdentityError, TokenId};

/// How a user names an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentName {
    /// A token of the configured registry.
    TokenId(TokenId),
    /// A token address, which names its own contract.
    Badge(Badge),
    /// A CAIP-19 identifier, which names its own chain and contract.
    Caip19(Caip19),
}

impl AgentName {
    /// The token it names.
    pub fn token_id(&self) -> TokenId {
        match self {
            Self::TokenId(id) => *id,
            Self::Badge(badge) => badge.token_id,
            Self::Caip19(caip) => caip.badge.token_id,
        }
    }

    /// The token address, when the name carries one.
    pub fn badge(&self) -> Option<Badge> {
        match self {
            Self::TokenId(_) => None,
            Self::Badge(badge) => Some(*badge),
            Self::Caip19(caip) => Some(caip.badge),
        }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TokenId(id) => id.fmt(f),
            Self::Badge(badge) => badge.fmt(f),
            Self::Caip19(caip) => caip.fmt(f),
        }
    }
}

impl FromStr for AgentName {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let wrap = |error| IdentityError::AgentName(Box::new(error));
        if text.contains(['/', ':']) {
            text.parse().map(Self::Caip19).map_err(wrap)
        } else if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            text.parse().map(Self::TokenId).map_err(wrap)
        } else {
            text.parse().map(Self::Badge).map_err(wrap)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_told_apart() {
        assert_eq!("287".parse(), Ok(AgentName::TokenId(TokenId(287))));
        assert!(matches!("JyP9UULNJGYEmchgQB4fw".parse(), Ok(AgentName::Badge(_))));
        assert!(matches!("ccd:testnet/cis-2:JyP9UULNJGYEmchgQB4fw".parse(), Ok(AgentName::Caip19(_))));
        for text in ["", "-1", "0x1f", "287 ", "18446744073709551616", "https://example.com/card.json"] {
            assert!(text.parse::<AgentName>().is_err(), "{text}");
        }
    }
}
