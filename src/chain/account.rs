use std::collections::BTreeMap;

use concordium_rust_sdk::v2::generated::{
    self as api, account_credential::CredentialValues, account_identifier_input::AccountIdentifierInput, account_verify_key::Key,
    chain_parameters::Parameters,
};
use tonic::Code;

use super::block::hash32;
use super::node::Node;
use super::{Block, ChainClient, ChainError};
use crate::amount::MicroCcd;
use crate::identity::AccountAddress;

/// An account as the chain has it at a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its canonical address.
    pub address: AccountAddress,
    /// The sequence number that its next transaction must have, as far as this block goes.
    pub next_nonce: u64,
    /// What it owns, in microCCD.
    pub balance: u64,
    /// What of it can be spent now, in microCCD, when the node says so.
    pub available: Option<u64>,
    /// How many credentials must sign.
    pub threshold: u32,
    /// The credentials by index.
    pub credentials: BTreeMap<u32, Credential>,
}

/// The keys of one credential of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// How many of the keys must sign.
    pub threshold: u32,
    /// The Ed25519 public keys by index. A key of another kind is left out.
    pub keys: BTreeMap<u32, [u8; 32]>,
}

/// The sequence number that an account's next transaction must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextNonce {
    /// The number.
    pub nonce: u64,
    /// Whether all transactions of the account that the node knows are finalized. Otherwise the number is a guess.
    pub all_final: bool,
}

/// What energy costs at a block: microCCD per NRG, as the exact product of the chain's two exchange rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnergyPrice {
    euro_per_energy: (u64, u64),
    microccd_per_euro: (u64, u64),
}

impl EnergyPrice {
    /// The price of `energy` NRG in microCCD, rounded up as the chain does. `None` when it exceeds a u64.
    pub fn microccd(&self, energy: u64) -> Option<u64> {
        // The product of three u64 may exceed 128 bits: common factors go first.
        let mut above = [u128::from(energy), self.euro_per_energy.0.into(), self.microccd_per_euro.0.into()];
        let mut below = [u128::from(self.euro_per_energy.1), self.microccd_per_euro.1.into()];
        for numerator in &mut above {
            for denominator in &mut below {
                let divisor = greatest_common_divisor(*numerator, *denominator);
                (*numerator, *denominator) = (*numerator / divisor, *denominator / divisor);
            }
        }
        let numerator = above.iter().try_fold(1_u128, |product, factor| product.checked_mul(*factor))?;
        let denominator = below.iter().try_fold(1_u128, |product, factor| product.checked_mul(*factor))?;
        u64::try_from(numerator.div_ceil(denominator)).ok()
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl ChainClient {
    /// The account at `block`, or `None` when there is none with this address.
    ///
    /// # Errors
    /// Whatever keeps a node from answering.
    pub async fn account(&self, block: &Block, address: AccountAddress) -> Result<Option<Account>, ChainError> {
        let describe = |account: &Option<Account>| match account {
            Some(account) => format!("account {address} has {} and nonce {}", MicroCcd(account.balance), account.next_nonce),
            None => format!("there is no account {address}"),
        };
        self.nodes.ask(describe, |node| async move { node.account(block, address).await }).await
    }

    /// The sequence number for the account's next transaction, counting those that the node has not finalized yet.
    ///
    /// # Errors
    /// Whatever keeps a node from answering.
    pub async fn next_nonce(&self, address: AccountAddress) -> Result<NextNonce, ChainError> {
        let nonce = |node: std::sync::Arc<Node>| async move {
            node.ensure_network().await?;
            node.next_nonce(address).await
        };
        self.nodes.first(nonce).await
    }

    /// What energy costs at `block`.
    ///
    /// # Errors
    /// Whatever keeps a node from answering, and [`NodeError`](super::ChainErrorKind::NodeError) when the chain's parameters are of a version
    /// newer than this program.
    pub async fn energy_price(&self, block: &Block) -> Result<EnergyPrice, ChainError> {
        let describe =
            |price: &EnergyPrice| format!("1000000 NRG cost {}", MicroCcd(price.microccd(1_000_000).unwrap_or(u64::MAX)));
        self.nodes.ask(describe, |node| async move { node.energy_price(block).await }).await
    }
}

impl Node {
    pub(super) async fn account(&self, block: &Block, address: AccountAddress) -> Result<Option<Account>, ChainError> {
        let request = api::AccountInfoRequest {
            block_hash: Some(block.hash.into()),
            account_identifier: Some(api::AccountIdentifierInput {
                account_identifier_input: Some(AccountIdentifierInput::Address(address.into())),
            }),
        };
        let answer =
            self.call_at("GetAccountInfo", block.hash, request, |mut node, request| async move {
                node.get_account_info(request).await
            })
            .await;
        let info = match answer {
            Err(failure) if failure.code == Code::NotFound => {
                // The status does not say which of the two is missing: only a known block makes it the account.
                self.finalized_block(super::AtBlock::Hash(block.hash)).await?;
                return Ok(None);
            }
            answer => answer?,
        };
        let lacks = |what| self.lacks("GetAccountInfo", what);
        let canonical = info.address.and_then(|address| hash32(&address.value));
        Ok(Some(Account {
            address: AccountAddress(canonical.ok_or_else(|| lacks("the account's address"))?),
            next_nonce: info.sequence_number.ok_or_else(|| lacks("the account's sequence number"))?.value,
            balance: info.amount.ok_or_else(|| lacks("the account's balance"))?.value,
            available: info.available_balance.map(|amount| amount.value),
            threshold: info.threshold.ok_or_else(|| lacks("the account's threshold"))?.value,
            credentials: info.creds.into_iter().filter_map(|(index, held)| Some((index, credential(held)?))).collect(),
        }))
    }

    async fn next_nonce(&self, address: AccountAddress) -> Result<NextNonce, ChainError> {
        let request = api::AccountAddress::from(address);
        let method = "GetNextAccountSequenceNumber";
        let answer = self
            .call(method, request, |mut node, request| async move { node.get_next_account_sequence_number(request).await })
            .await?;
        let nonce = answer.sequence_number.ok_or_else(|| self.lacks(method, "the number"))?.value;
        Ok(NextNonce { nonce, all_final: answer.all_final })
    }

    async fn energy_price(&self, block: &Block) -> Result<EnergyPrice, ChainError> {
        let method = "GetBlockChainParameters";
        let request = api::BlockHashInput::from(block.hash);
        let answer =
            self.call_at(method, block.hash, request, |mut node, request| async move {
                node.get_block_chain_parameters(request).await
            })
            .await?;
        let (euro, ccd) = match answer.parameters.ok_or_else(|| self.lacks(method, "a version of them it knows"))? {
            Parameters::V0(parameters) => (parameters.euro_per_energy, parameters.micro_ccd_per_euro),
            Parameters::V1(parameters) => (parameters.euro_per_energy, parameters.micro_ccd_per_euro),
            Parameters::V2(parameters) => (parameters.euro_per_energy, parameters.micro_ccd_per_euro),
            Parameters::V3(parameters) => (parameters.euro_per_energy, parameters.micro_ccd_per_euro),
        };
        let price = ratio(euro).zip(ratio(ccd)).ok_or_else(|| self.lacks(method, "the exchange rates"))?;
        Ok(EnergyPrice { euro_per_energy: price.0, microccd_per_euro: price.1 })
    }
}

fn ratio(rate: Option<api::ExchangeRate>) -> Option<(u64, u64)> {
    let ratio = rate?.value?;
    (ratio.denominator != 0).then_some((ratio.numerator, ratio.denominator))
}

fn credential(held: api::AccountCredential) -> Option<Credential> {
    let keys = match held.credential_values? {
        CredentialValues::Initial(values) => values.keys,
        CredentialValues::Normal(values) => values.keys,
    }?;
    let ed25519 = |key: api::AccountVerifyKey| match key.key? {
        Key::Ed25519Key(bytes) => hash32(&bytes),
    };
    let threshold = keys.threshold?.value;
    Some(Credential { threshold, keys: keys.keys.into_iter().filter_map(|(index, key)| Some((index, ed25519(key)?))).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_exact_and_rounded_up() {
        let price = EnergyPrice { euro_per_energy: (1, 50_000), microccd_per_euro: (3, 1) };
        assert_eq!(price.microccd(0), Some(0));
        assert_eq!(price.microccd(1), Some(1));
        assert_eq!(price.microccd(50_000), Some(3));
        assert_eq!(price.microccd(50_001), Some(4));
    }

    #[test]
    fn rates_with_large_terms_neither_overflow_nor_lose_digits() {
        // The exchange rate on mainnet has terms of this size.
        let price =
            EnergyPrice { euro_per_energy: (1, 1_000_000), microccd_per_euro: (13_228_609_101_616_775_168, 198_642_838_177) };
        let exact = 2334_u128 * 13_228_609_101_616_775_168 / (1_000_000 * 198_642_838_177) + 1;
        assert_eq!(price.microccd(2334).map(u128::from), Some(exact));
        let absurd = EnergyPrice { euro_per_energy: (u64::MAX, 1), microccd_per_euro: (u64::MAX, 1) };
        assert_eq!(absurd.microccd(u64::MAX), None);
    }
}
