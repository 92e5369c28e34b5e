use std::fmt;

/// A point in time as the chain writes it: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The last moment of the year 9999.
    const LAST_DATE: Self = Self(253_402_300_799_999);

    /// RFC 3339 in UTC with milliseconds and `Z`, as our own documents write times.
    ///
    /// RFC 3339 has years of four digits: a later time, which only a hostile node or contract would give, is written as the number
    /// it is.
    pub fn to_rfc3339(self) -> String {
        let date = self.date().filter(|_| self <= Self::LAST_DATE);
        date.map_or(self.0.to_string(), |date| date.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
    }

    /// RFC 3339 with `+00:00`, as the contract's schema JSON writes times: milliseconds only when there are any.
    pub fn to_schema_json(self) -> String {
        self.date().map_or(self.0.to_string(), |date| date.to_rfc3339())
    }

    /// Reads a time as schema JSON may write it: RFC 3339 with any offset, or a number of milliseconds. `None` for anything
    /// else, and for a time before 1970. Parts of a millisecond are cut off.
    pub fn from_schema_json(text: &str) -> Option<Self> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().map(Self);
        }
        let date = chrono::DateTime::parse_from_rfc3339(text).ok()?;
        u64::try_from(date.timestamp_millis()).ok().map(Self)
    }

    fn date(self) -> Option<chrono::DateTime<chrono::Utc>> {
        i64::try_from(self.0).ok().and_then(chrono::DateTime::from_timestamp_millis)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())?;
        match *self {
            time if time > Self::LAST_DATE => f.write_str(" ms since 1970"),
            _ => Ok(()),
        }
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
        assert_eq!(Timestamp(1_785_771_369_000).to_schema_json(), "2026-08-03T15:36:09+00:00");
    }

    #[test]
    fn a_time_out_of_range_is_the_number_it_is_and_neither_a_date_nor_a_crash() {
        for hostile in [u64::MAX, 1 << 63, 1_000_000_000_000_000, 253_402_300_800_000] {
            assert_eq!(Timestamp(hostile).to_rfc3339(), hostile.to_string());
            assert_eq!(Timestamp(hostile).to_string(), format!("{hostile} ms since 1970"));
        }
        assert_eq!(Timestamp(253_402_300_799_999).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_time_reads_back_from_schema_json() {
        let time = Timestamp(1_785_771_369_045);
        for text in
            ["2026-08-03T15:36:09.045+00:00", "2026-08-03T15:36:09.045Z", "2026-08-03T17:36:09.045+02:00", "1785771369045"]
        {
            assert_eq!(Timestamp::from_schema_json(text), Some(time), "{text}");
        }
        for text in ["", "1969-12-31T23:59:59Z", "2026-08-03", "-1", "18446744073709551616", "yesterday"] {
            assert_eq!(Timestamp::from_schema_json(text), None, "{text}");
        }
    }
}
