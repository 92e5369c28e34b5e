use concordium_rust_sdk::base::base::Energy;
use concordium_rust_sdk::base::contracts_common::{Amount, ExchangeRate};

/// What energy costs: euro per energy, and microCCD per euro.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::devnet) struct Rates {
    /// Euro per energy, as numerator and denominator.
    pub(in crate::devnet) euro_per_energy: (u64, u64),
    /// MicroCCD per euro, as numerator and denominator.
    pub(in crate::devnet) micro_ccd_per_euro: (u64, u64),
}

impl Default for Rates {
    /// The price at which a real registration of 2334 energy cost 15 430 833 microCCD (registry facts, section 8).
    fn default() -> Self {
        Self { euro_per_energy: (1, 1_000_000), micro_ccd_per_euro: (6_611_325_192, 1) }
    }
}

impl Rates {
    pub(in crate::devnet) fn euro_per_energy(&self) -> ExchangeRate {
        ExchangeRate::new_unchecked(self.euro_per_energy.0, self.euro_per_energy.1)
    }

    pub(in crate::devnet) fn micro_ccd_per_euro(&self) -> ExchangeRate {
        ExchangeRate::new_unchecked(self.micro_ccd_per_euro.0, self.micro_ccd_per_euro.1)
    }

    /// The price of `energy`, rounded up to a whole microCCD as the chain does; `u64::MAX` when it is beyond that.
    pub(in crate::devnet) fn price(&self, energy: Energy) -> Amount {
        let numerator = u128::from(self.euro_per_energy.0) * u128::from(self.micro_ccd_per_euro.0);
        let denominator = u128::from(self.euro_per_energy.1) * u128::from(self.micro_ccd_per_euro.1);
        let price = numerator.saturating_mul(u128::from(energy.energy)).div_ceil(denominator.max(1));
        Amount::from_micro_ccd(u64::try_from(price).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_costs_what_a_real_one_did() {
        assert_eq!(Rates::default().price(Energy::from(2334)), Amount::from_micro_ccd(15_430_833));
        assert_eq!(Rates::default().price(Energy::from(0)), Amount::from_micro_ccd(0));
        assert_eq!(Rates::default().price(Energy::from(u64::MAX)), Amount::from_micro_ccd(u64::MAX));
    }
}
