use crate::chain::{Account, AgentReader, AtBlock, Block, ChainClient, ContractEvent, Invocation, Invoked, Rejection};
use crate::identity::{AccountAddress, Network, MAINNET, TESTNET};
use crate::registry::Timestamp;

use super::account_keys::{check_keys, signatures_needed};
use super::describe::{rejection_name, rejection_words};
use super::{AnchorError, Call, Energy, Estimate, PublicKeys, Transaction};

/// What the user has decided about a transaction. The rest is asked of the node.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The nonce.
    pub nonce: Option<u64>,
    /// When the transaction expires, in seconds since 1970; 10 minutes from now when not given.
    pub expiry: Option<u64>,
    /// For how many seconds it may wait, from when it is planned, when `expiry` is not given.
    pub lifetime: Option<u64>,
    /// The energy allowance; what the dry run used and a margin when not given.
    pub energy: Option<Energy>,
    /// How many signatures it will carry; as many as the account needs when not given.
    pub signatures: Option<u32>,
}

/// How long a transaction may wait to be included when the user does not say: as long as concordium-client's, 10 minutes.
pub const DEFAULT_EXPIRY_SECONDS: u64 = 600;

/// How far ahead a transaction may expire when it is sent: what nodes accept unless they are told otherwise.
const LONGEST_LIFE_SECONDS: u64 = 2 * 60 * 60;

/// A transaction ready to be shown and signed, and what a node says about it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The transaction. Its nonce is a guess until the account is held (see [`super::Session`]).
    pub transaction: Transaction,
    /// How many signatures its energy pays for.
    pub signature_count: u32,
    /// What it is expected to take: what the dry run used, and what a transaction costs on top.
    pub estimate: Estimate,
    /// What its whole energy allowance costs, in microCCD: the most it can cost.
    pub most_microccd: u64,
    /// The finalized block it was tried at.
    pub block: Block,
    /// The sender at that block.
    pub account: Account,
    /// The events that the dry run logged.
    pub events: Vec<ContractEvent>,
    /// Whether the keys that were named reach the account's thresholds; `false` when none were.
    pub can_be_signed: bool,
}

/// Requires the network that a wallet's keys are for to be the one in use (fault C-76).
///
/// # Errors
/// [`AnchorError::WalletNetwork`].
pub fn check_environment(environment: Option<&str>, network: &Network) -> Result<(), AnchorError> {
    let Some(wallet) = environment else { return Ok(()) };
    // A local chain has another genesis block with every seed, so only the public networks are known by theirs.
    let same = match [MAINNET, TESTNET].iter().find(|public| public.name == wallet) {
        Some(public) => public.genesis == network.genesis,
        None => wallet == network.name,
    };
    if same {
        return Ok(());
    }
    Err(AnchorError::WalletNetwork { wallet: wallet.to_owned(), network: network.name.to_string() })
}

/// What an execution that used `used` NRG in a dry run is allowed: a twentieth and 50 NRG more.
///
/// The chain may have moved on a little by the time it runs, and unused energy is not paid for. The whole allowance stays within
/// a tenth and 100 NRG of the real use.
fn with_margin(used: u64) -> u64 {
    used.saturating_add(used / 20).saturating_add(50)
}

/// The energy that `call` takes by a dry run, in NRG, for the contract alone, and the events it would log.
///
/// # Errors
/// [`AnchorError::WouldBeRejected`] with the rejection's name.
pub async fn dry_run(
    chain: &ChainClient,
    block: &Block,
    call: &Call,
    sender: AccountAddress,
) -> Result<(u64, Vec<ContractEvent>), AnchorError> {
    let invocation = Invocation {
        contract: call.contract,
        receive_name: call.receive_name.clone(),
        parameter: call.parameter.clone(),
        invoker: Some(sender),
        microccd: 0,
        energy: None,
    };
    match chain.invoke(block, &invocation).await? {
        Invoked::Returned { energy, events, .. } => Ok((energy, events)),
        // Nodes answer so for a sender that does not exist, and contracts for an account that they were given.
        Invoked::Rejected { rejection: Rejection::NoSuchAccount, .. } if chain.account(block, sender).await?.is_none() => {
            Err(AnchorError::NoSuchAccount { address: sender, network: chain.settings().network.name.to_string() })
        }
        Invoked::Rejected { rejection, .. } => Err(would_be_rejected(call, &rejection)),
    }
}

fn would_be_rejected(call: &Call, rejection: &Rejection) -> AnchorError {
    let mut reason = rejection_words(rejection);
    if matches!(rejection, Rejection::NoSuchContract | Rejection::NoSuchEntryPoint) {
        let standard = call.receive_name.split('.').next().unwrap_or_default();
        reason += &format!(": there is no {standard} registry at {}", call.contract);
    }
    AnchorError::WouldBeRejected {
        receive_name: call.receive_name.clone(),
        reason,
        code: rejection.code(),
        name: rejection_name(rejection),
    }
}

/// Plans a transaction: tries it at the newest finalized block, and asks what it costs and whether the sender can pay.
///
/// `keys` are the public keys that will sign, when they are known here.
///
/// # Errors
/// [`AnchorError`] with the reason why it would fail: nothing has been signed by then.
pub async fn plan(
    chain: &ChainClient,
    call: Call,
    sender: AccountAddress,
    keys: Option<&PublicKeys>,
    choices: &Choices,
) -> Result<Plan, AnchorError> {
    let network = &chain.settings().network;
    let block = chain.pin(AtBlock::LastFinalized).await?;
    let (account, price, tried) =
        tokio::join!(chain.account(&block, sender), chain.energy_price(&block), dry_run(chain, &block, &call, sender));
    let missing = || AnchorError::NoSuchAccount { address: sender, network: network.name.to_string() };
    let account = account?.ok_or_else(missing)?;
    let complete = keys.map(|keys| check_keys(&account, keys)).transpose()?;
    let signature_count = match (choices.signatures, keys, complete) {
        (Some(chosen), ..) => chosen,
        (None, Some(keys), Some(true)) => keys.values().map(|by_key| by_key.len() as u32).sum(),
        _ => signatures_needed(&account),
    };
    let (used, events) = tried?;
    let base = call.base_energy(signature_count);
    let energy = choices.energy.unwrap_or(Energy::Execution(with_margin(used)));
    let nonce = match choices.nonce {
        Some(nonce) => nonce,
        None => chain.next_nonce(sender).await?.nonce,
    };
    let now = (chain.settings().clock)();
    let expiry =
        choices.expiry.unwrap_or_else(|| (now.0 / 1000).saturating_add(choices.lifetime.unwrap_or(DEFAULT_EXPIRY_SECONDS)));
    check_expiry(expiry, now)?;
    let transaction = Transaction::new(call, sender, nonce, expiry, energy, signature_count)?;
    if transaction.energy() < base + used {
        return Err(AnchorError::OutOfEnergy { needed: base + used, allowed: transaction.energy() });
    }
    let price = price?;
    let microccd = |energy| price.microccd(energy).ok_or_else(|| AnchorError::Build("its cost is out of range".into()));
    let estimate = Estimate { energy: base + used, microccd: microccd(base + used)? };
    let most_microccd = microccd(transaction.energy())?;
    let available = account.available.unwrap_or(account.balance);
    if available < most_microccd {
        return Err(AnchorError::InsufficientFunds { address: sender, available, cost: most_microccd });
    }
    let can_be_signed = complete == Some(true);
    Ok(Plan { transaction, signature_count, estimate, most_microccd, block, account, events, can_be_signed })
}

/// Requires an expiry (seconds since 1970) to be in the future.
///
/// # Errors
/// [`AnchorError::Expired`].
pub(super) fn check_expiry(expiry: u64, now: Timestamp) -> Result<(), AnchorError> {
    let expiry = Timestamp(expiry.saturating_mul(1000));
    if expiry > now {
        return Ok(());
    }
    Err(AnchorError::Expired(expiry))
}

/// Requires an expiry (seconds since 1970) to be one that nodes accept now.
///
/// # Errors
/// [`AnchorError::Expired`] and [`AnchorError::ExpiryTooFar`].
pub(super) fn check_sendable(expiry: u64, now: Timestamp) -> Result<(), AnchorError> {
    check_expiry(expiry, now)?;
    if expiry > (now.0 / 1000).saturating_add(LONGEST_LIFE_SECONDS) {
        return Err(AnchorError::ExpiryTooFar(Timestamp(expiry.saturating_mul(1000))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_71_the_margin_stays_within_the_promise() {
        for base in [200, 312, 66_000] {
            for used in [0, 1, 19, 20, 999, 1663, 20_000, 3_000_000] {
                let (real, estimated) = (base + used, base + with_margin(used));
                assert!(estimated >= real && estimated <= real + real / 10 + 100, "{base} + {used}");
            }
        }
    }

    #[test]
    fn c_76_a_wallet_of_another_network_is_refused() {
        let (mainnet, testnet) = (Network::built_in("mainnet").unwrap(), Network::built_in("testnet").unwrap());
        assert!(check_environment(None, &mainnet).is_ok());
        assert!(check_environment(Some("mainnet"), &mainnet).is_ok());
        assert!(check_environment(Some("testnet"), &mainnet).is_err());
        assert!(check_environment(Some("stagenet"), &mainnet).is_err());
        // A network of the user's own, named like a public one and of another genesis, is not it.
        let own = Network { name: "testnet".into(), ..mainnet };
        assert!(check_environment(Some("testnet"), &own).is_err());
        let devnet = Network { name: "devnet".into(), ..testnet };
        assert!(check_environment(Some("devnet"), &devnet).is_ok());
    }
}
