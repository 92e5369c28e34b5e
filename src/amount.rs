//! An amount of money, as people read it.

use std::fmt;

/// An amount in microCCD, the chain's unit. It is shown in CCD with all six decimals, as `15.430833 CCD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroCcd(pub u64);

impl fmt::Display for MicroCcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} CCD", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_six_decimals() {
        assert_eq!(MicroCcd(15_430_833).to_string(), "15.430833 CCD");
        assert_eq!(MicroCcd(1).to_string(), "0.000001 CCD");
        assert_eq!(MicroCcd(0).to_string(), "0.000000 CCD");
        assert_eq!(MicroCcd(u64::MAX).to_string(), "18446744073709.551615 CCD");
    }
}
