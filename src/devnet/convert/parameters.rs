use std::sync::LazyLock;

use concordium_rust_sdk::base::common::to_bytes;
use concordium_rust_sdk::base::id::constants::ArCurve;
use concordium_rust_sdk::base::id::types::GlobalContext;
use concordium_rust_sdk::v2::generated as proto;

use super::super::engine::MAX_BLOCK_ENERGY;
use super::super::genesis::Genesis;

/// Made once, on the first request: it takes a tenth of a second.
static CRYPTOGRAPHIC: LazyLock<proto::CryptographicParameters> = LazyLock::new(|| {
    let context = GlobalContext::<ArCurve>::generate("cardproof devnet".into());
    proto::CryptographicParameters {
        bulletproof_generators: to_bytes(&context.bulletproof_generators),
        on_chain_commitment_key: to_bytes(&context.on_chain_commitment_key),
        genesis_string: context.genesis_string,
    }
});

/// Valid cryptographic parameters, derived as those of the public networks are.
pub(in crate::devnet) fn cryptographic_parameters() -> proto::CryptographicParameters {
    CRYPTOGRAPHIC.clone()
}

/// The chain's parameters. Those that matter here are the exchange rates, the block energy limit and the foundation account;
/// the others are those of a network with one validator.
pub(in crate::devnet) fn chain_parameters(
    genesis: &Genesis,
    foundation: proto::AccountAddress,
    block_time: u64,
) -> proto::ChainParameters {
    let fraction = |parts| Some(proto::AmountFraction { parts_per_hundred_thousand: parts });
    let any = || {
        let range = proto::InclusiveRangeAmountFraction { min: fraction(0), max: fraction(100_000) };
        Some(range)
    };
    let ratio = |(numerator, denominator)| proto::Ratio { numerator, denominator };
    let rate = |value| Some(proto::ExchangeRate { value: Some(ratio(value)) });
    let seconds = |value| Some(proto::DurationSeconds { value });
    let parameters = proto::ChainParametersV3 {
        consensus_parameters: Some(proto::ConsensusParametersV1 {
            timeout_parameters: Some(proto::TimeoutParameters {
                timeout_base: Some(proto::Duration { value: 10_000 }),
                timeout_increase: Some(ratio((5, 4))),
                timeout_decrease: Some(ratio((4, 5))),
            }),
            min_block_time: Some(proto::Duration { value: block_time }),
            block_energy_limit: Some(proto::Energy { value: MAX_BLOCK_ENERGY }),
        }),
        euro_per_energy: rate(genesis.rates.euro_per_energy),
        micro_ccd_per_euro: rate(genesis.rates.micro_ccd_per_euro),
        cooldown_parameters: Some(proto::CooldownParametersCpv1 {
            pool_owner_cooldown: seconds(1_209_600),
            delegator_cooldown: seconds(1_209_600),
        }),
        time_parameters: Some(proto::TimeParametersCpv1 {
            reward_period_length: Some(proto::RewardPeriodLength { value: Some(proto::Epoch { value: 24 }) }),
            mint_per_payday: Some(proto::MintRate { mantissa: 0, exponent: 1 }),
        }),
        account_creation_limit: Some(proto::CredentialsPerBlockLimit { value: 0 }),
        mint_distribution: Some(proto::MintDistributionCpv1 { baking_reward: fraction(0), finalization_reward: fraction(0) }),
        transaction_fee_distribution: Some(proto::TransactionFeeDistribution { baker: fraction(0), gas_account: fraction(0) }),
        gas_rewards: Some(proto::GasRewardsCpv2 { baker: fraction(0), account_creation: fraction(0), chain_update: fraction(0) }),
        foundation_account: Some(foundation),
        pool_parameters: Some(proto::PoolParametersCpv1 {
            passive_finalization_commission: fraction(100_000),
            passive_baking_commission: fraction(100_000),
            passive_transaction_commission: fraction(100_000),
            commission_bounds: Some(proto::CommissionRanges { finalization: any(), baking: any(), transaction: any() }),
            minimum_equity_capital: Some(proto::Amount { value: 500_000_000_000 }),
            capital_bound: Some(proto::CapitalBound { value: fraction(100_000) }),
            leverage_bound: Some(proto::LeverageFactor { value: Some(ratio((3, 1))) }),
        }),
        root_keys: Some(nobody()),
        level1_keys: Some(nobody()),
        level2_keys: Some(no_authorizations()),
        finalization_committee_parameters: Some(proto::FinalizationCommitteeParameters {
            minimum_finalizers: 1,
            maximum_finalizers: 1,
            finalizer_relative_stake_threshold: fraction(0),
        }),
        validator_score_parameters: Some(proto::ValidatorScoreParameters { maximum_missed_rounds: u64::MAX }),
    };
    proto::ChainParameters { parameters: Some(proto::chain_parameters::Parameters::V3(parameters)) }
}

/// Nobody can change the chain's parameters.
fn nobody() -> proto::HigherLevelKeys {
    proto::HigherLevelKeys { keys: Vec::new(), threshold: Some(proto::UpdateKeysThreshold { value: 1 }) }
}

fn no_authorizations() -> proto::AuthorizationsV1 {
    let none = || {
        Some(proto::AccessStructure {
            access_public_keys: Vec::new(),
            access_threshold: Some(proto::UpdateKeysThreshold { value: 1 }),
        })
    };
    proto::AuthorizationsV1 {
        v0: Some(proto::AuthorizationsV0 {
            keys: Vec::new(),
            emergency: none(),
            protocol: none(),
            parameter_consensus: none(),
            parameter_euro_per_energy: none(),
            parameter_micro_ccd_per_euro: none(),
            parameter_foundation_account: none(),
            parameter_mint_distribution: none(),
            parameter_transaction_fee_distribution: none(),
            parameter_gas_rewards: none(),
            pool_parameters: none(),
            add_anonymity_revoker: none(),
            add_identity_provider: none(),
        }),
        parameter_cooldown: none(),
        parameter_time: none(),
        create_plt: none(),
    }
}
