use std::fmt;

/// A point in time as the chain writes it: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// RFC 3339 in UTC with milliseconds and `Z`, as our own documents write times.
    ///
    /// A time past the year 262142, which only a hostile node would send, is written as its number of milliseconds.
    pub fn to_rfc3339(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%S%.3fZ")
    }

    /// RFC 3339 with milliseconds and `+00:00`, as the contract's schema JSON writes times.
    pub fn to_schema_json(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%S%.3f+00:00")
    }

    fn format(self, pattern: &str) -> String {
        let millis = i64::try_from(self.0).ok();
        match millis.and_then(chrono::DateTime::from_timestamp_millis) {
            Some(time) => time.format(pattern).to_string(),
            None => self.0.to_string(),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_milliseconds() {
        // The registration time of testnet token 287.
        let time = Timestamp(1_785_771_369_045);
        assert_eq!(time.to_rfc3339(), "2026-08-03T15:36:09.045Z");
        assert_eq!(time.to_schema_json(), "2026-08-03T15:36:09.045+00:00");
    }

    #[test]
    fn a_time_out_of_range_is_a_number_and_not_a_crash() {
        assert_eq!(Timestamp(u64::MAX).to_rfc3339(), "18446744073709551615");
    }
}
