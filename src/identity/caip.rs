use std::fmt;
use std::str::FromStr;

use super::{AccountAddress, Badge, ContractAddress, GenesisHash, IdentityError, MAINNET, TESTNET};

/// A CAIP-2 chain identifier, `ccd:<32 hex>`: the first 16 bytes of the genesis hash.
///
/// The aliases seen in the wild (`concordium:mainnet`, `ccd:testnet`, …) are read as the chains they mean, and never printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caip2(pub [u8; 16]);

impl Caip2 {
    /// The identifier of the chain with this genesis hash.
    pub fn of(genesis: &GenesisHash) -> Self {
        let mut reference = [0; 16];
        reference.copy_from_slice(genesis.0.split_at(16).0);
        Self(reference)
    }
}

impl fmt::Display for Caip2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ccd:{}", hex::encode(self.0))
    }
}

impl FromStr for Caip2 {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let malformed = |why| IdentityError::Caip { kind: "CAIP-2", why };
        let (namespace, reference) = text.split_once(':').ok_or(malformed("it has no colon"))?;
        if namespace != "ccd" && namespace != "concordium" {
            return Err(malformed("its namespace is not ccd"));
        }
        if let Some(row) = [MAINNET, TESTNET].iter().find(|row| row.name == reference) {
            return Ok(Self::of(&row.genesis));
        }
        let mut bytes = [0; 16];
        hex::decode_to_slice(reference, &mut bytes)
            .map_err(|_| malformed("its reference is not the first 32 hexadecimal digits of a genesis hash"))?;
        Ok(Self(bytes))
    }
}

/// A CAIP-10 identifier of an account (`ccd:<32 hex>:<base58>`) or a contract (`ccd:<32 hex>:<index>.<subindex>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caip10 {
    /// An account.
    Account(Caip2, AccountAddress),
    /// A contract instance.
    Contract(Caip2, ContractAddress),
}

impl Caip10 {
    /// The chain it is on.
    pub fn chain(&self) -> Caip2 {
        match self {
            Self::Account(chain, _) | Self::Contract(chain, _) => *chain,
        }
    }
}

impl fmt::Display for Caip10 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(chain, account) => write!(f, "{chain}:{account}"),
            Self::Contract(chain, contract) => write!(f, "{chain}:{}.{}", contract.index, contract.subindex),
        }
    }
}

impl FromStr for Caip10 {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let malformed = |why| IdentityError::Caip { kind: "CAIP-10", why };
        let (chain, address) = text.rsplit_once(':').ok_or(malformed("it has no colon"))?;
        let chain = chain.parse()?;
        match address.split_once('.') {
            Some((index, subindex)) => {
                let contract =
                    format!("{index},{subindex}").parse().map_err(|_| malformed("its contract is not <index>.<subindex>"))?;
                Ok(Self::Contract(chain, contract))
            }
            None => Ok(Self::Account(chain, address.parse()?)),
        }
    }
}

/// A CAIP-19 identifier of a token, `ccd:<32 hex>/cis-2:<badge>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caip19 {
    /// The chain the token is on.
    pub chain: Caip2,
    /// The token's address.
    pub badge: Badge,
}

impl fmt::Display for Caip19 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/cis-2:{}", self.chain, self.badge)
    }
}

impl FromStr for Caip19 {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let malformed = |why| IdentityError::Caip { kind: "CAIP-19", why };
        let (chain, asset) = text.split_once('/').ok_or(malformed("it has no slash"))?;
        let badge = asset.strip_prefix("cis-2:").ok_or(malformed("its asset namespace is not cis-2"))?;
        Ok(Self { chain: chain.parse()?, badge: badge.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::identity::TokenId;

    #[test]
    fn the_aliases_seen_in_the_wild_mean_the_networks() {
        for alias in ["concordium:mainnet", "ccd:mainnet", "ccd:9dd9ca4d19e9393877d2c44b70f89acb"] {
            assert_eq!(alias.parse(), Ok(Caip2::of(&MAINNET.genesis)), "{alias}");
        }
        assert_eq!("concordium:testnet".parse(), Ok(Caip2::of(&TESTNET.genesis)));
        for text in ["eip155:1", "ccd", "ccd:", "ccd:9dd9", "mainnet", "ccd:stagenet"] {
            assert!(text.parse::<Caip2>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_documented_caip_19_names_its_token() {
        let text = "ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs";
        let token: Caip19 = text.parse().unwrap();
        assert_eq!(token.badge.token_id, TokenId(484));
        assert_eq!(token.to_string(), text);
        for text in ["ccd:mainnet/cis-7:Mf22soLh1NuZYFgBK8iSs", "ccd:mainnet", "/cis-2:Mf22soLh1NuZYFgBK8iSs"] {
            assert!(text.parse::<Caip19>().is_err(), "{text}");
        }
    }

    #[test]
    fn caip_10_names_accounts_and_contracts() {
        for text in [
            "ccd:4221332d34e1694168c2a0c0b3fd0f27:12802.0",
            "ccd:4221332d34e1694168c2a0c0b3fd0f27:4Wx1vpgAfpE6k9ksmtYaH6z4iQN61LFFRUgbbG6gDro1ziKNL7",
        ] {
            assert_eq!(text.parse::<Caip10>().unwrap().to_string(), text);
        }
        assert!("ccd:testnet:12802.x".parse::<Caip10>().is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "\\PC{0,60}", tail in "[:/.a-z0-9]{0,60}") {
            let text = format!("ccd:{text}{tail}");
            let _ = (text.parse::<Caip2>(), text.parse::<Caip10>(), text.parse::<Caip19>());
        }
    }
}
