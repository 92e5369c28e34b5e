use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::{Caip2, ContractAddress, IdentityError};

/// The hash of a chain's genesis block, which names the chain: 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GenesisHash(pub [u8; 32]);

impl fmt::Display for GenesisHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for GenesisHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for GenesisHash {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| IdentityError::GenesisHash)?;
        Ok(Self(bytes))
    }
}

/// A Concordium network and where its registries live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The name that users give it.
    pub name: Cow<'static, str>,
    /// The hash of its genesis block. A node that answers another one is not of this network.
    pub genesis: GenesisHash,
    /// The CIS-8004 Agent Registry.
    pub registry: ContractAddress,
    /// The CIS-8 External Key Registry.
    pub cis8: ContractAddress,
    /// URLs of the node's gRPC API v2, in order of preference.
    pub nodes: Vec<Cow<'static, str>>,
    /// Where a person looks up a transaction: this text followed by the transaction hash.
    pub explorer: Option<Cow<'static, str>>,
}

/// Concordium's main network (registry facts, section 6).
pub const MAINNET: BuiltIn = BuiltIn {
    name: "mainnet",
    genesis: GenesisHash([
        0x9d, 0xd9, 0xca, 0x4d, 0x19, 0xe9, 0x39, 0x38, 0x77, 0xd2, 0xc4, 0x4b, 0x70, 0xf8, 0x9a, 0xcb, 0xfc, 0x08, 0x83, 0xc2,
        0x24, 0x3e, 0x5e, 0xea, 0xec, 0xc0, 0xd1, 0xcd, 0x05, 0x03, 0xf4, 0x78,
    ]),
    registry: ContractAddress::new(10082, 0),
    cis8: ContractAddress::new(10081, 0),
    node: "https://grpc.mainnet.concordium.software:20000",
    explorer: Some("https://ccdscan.io/?dcount=1&dentity=transaction&dhash="),
};

/// Concordium's test network (registry facts, section 6).
pub const TESTNET: BuiltIn = BuiltIn {
    name: "testnet",
    genesis: GenesisHash([
        0x42, 0x21, 0x33, 0x2d, 0x34, 0xe1, 0x69, 0x41, 0x68, 0xc2, 0xa0, 0xc0, 0xb3, 0xfd, 0x0f, 0x27, 0x38, 0x09, 0x61, 0x2c,
        0xb1, 0x3d, 0x00, 0x0d, 0x5c, 0x2e, 0x00, 0xe8, 0x5f, 0x50, 0xf7, 0x96,
    ]),
    registry: ContractAddress::new(12802, 0),
    cis8: ContractAddress::new(12801, 0),
    node: "https://grpc.testnet.concordium.com:20000",
    explorer: Some("https://testnet.ccdscan.io/?dcount=1&dentity=transaction&dhash="),
};

/// The embedded local chain as `cardproof devnet` starts it when nothing else is said. Everybody knows its keys.
pub const DEVNET: BuiltIn = BuiltIn {
    name: "devnet",
    genesis: GenesisHash([
        0x0e, 0x4c, 0x2e, 0x46, 0x60, 0xae, 0x03, 0xdb, 0x5c, 0xe7, 0x2a, 0xa0, 0x52, 0x77, 0x53, 0x71, 0x8c, 0xb9, 0xe4, 0x78,
        0xde, 0x6b, 0xe8, 0x1f, 0xa0, 0xc8, 0x2a, 0xdf, 0x90, 0xe0, 0xca, 0x0a,
    ]),
    registry: ContractAddress::new(2, 0),
    cis8: ContractAddress::new(1, 0),
    node: "http://127.0.0.1:20100",
    explorer: None,
};

/// The built-in table.
const BUILT_IN: [BuiltIn; 3] = [MAINNET, TESTNET, DEVNET];

/// A row of the built-in table of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// The name that users give it.
    pub name: &'static str,
    /// The hash of its genesis block.
    pub genesis: GenesisHash,
    /// The CIS-8004 Agent Registry.
    pub registry: ContractAddress,
    /// The CIS-8 External Key Registry.
    pub cis8: ContractAddress,
    /// The public node.
    pub node: &'static str,
    /// The explorer's address of a transaction, without the hash.
    pub explorer: Option<&'static str>,
}

impl BuiltIn {
    /// The network of this row.
    pub fn network(&self) -> Network {
        Network {
            name: Cow::Borrowed(self.name),
            genesis: self.genesis,
            registry: self.registry,
            cis8: self.cis8,
            nodes: vec![Cow::Borrowed(self.node)],
            explorer: self.explorer.map(Cow::Borrowed),
        }
    }
}

impl Network {
    /// The names of the built-in networks.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|row| row.name)
    }

    /// The built-in network of this name: `mainnet`, `testnet` or `devnet`.
    pub fn built_in(name: &str) -> Option<Self> {
        BUILT_IN.iter().find(|row| row.name == name).map(BuiltIn::network)
    }

    /// The name of the built-in network with this genesis hash.
    pub fn name_of(genesis: &GenesisHash) -> Option<&'static str> {
        BUILT_IN.iter().find(|row| row.genesis == *genesis).map(|row| row.name)
    }

    /// The CAIP-2 identifier of the network.
    pub fn caip2(&self) -> Caip2 {
        Caip2::of(&self.genesis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses as the registry's documentation gives them: a stale address would send money to a stranger.
    #[test]
    fn c_87_registry_addresses_are_the_documented_ones() {
        let mainnet = Network::built_in("mainnet").unwrap();
        assert_eq!(mainnet.genesis.to_string(), "9dd9ca4d19e9393877d2c44b70f89acbfc0883c2243e5eeaecc0d1cd0503f478");
        assert_eq!((mainnet.registry, mainnet.cis8), (ContractAddress::new(10082, 0), ContractAddress::new(10081, 0)));
        assert_eq!(mainnet.caip2().to_string(), "ccd:9dd9ca4d19e9393877d2c44b70f89acb");
        let testnet = Network::built_in("testnet").unwrap();
        assert_eq!(testnet.genesis.to_string(), "4221332d34e1694168c2a0c0b3fd0f273809612cb13d000d5c2e00e85f50f796");
        assert_eq!((testnet.registry, testnet.cis8), (ContractAddress::new(12802, 0), ContractAddress::new(12801, 0)));
        assert_eq!(testnet.caip2().to_string(), "ccd:4221332d34e1694168c2a0c0b3fd0f27");
        assert_eq!(Network::built_in("stagenet"), None);
        assert_eq!(Network::built_in_names().collect::<Vec<_>>(), ["mainnet", "testnet", "devnet"]);
        assert_eq!(Network::name_of(&testnet.genesis), Some("testnet"));
    }
}
