use std::time::Duration;

use crate::report::prometheus::{Exposition, Kind};

/// Upper bounds in milliseconds, and as the format writes them: from a card near by to the longest fetch that is allowed.
const BOUNDS: [(u64, &str); 10] = [
    (50, "0.05"),
    (100, "0.1"),
    (250, "0.25"),
    (500, "0.5"),
    (1_000, "1"),
    (2_500, "2.5"),
    (5_000, "5"),
    (10_000, "10"),
    (30_000, "30"),
    (60_000, "60"),
];

/// How many observations were at most how long.
#[derive(Debug, Clone, Default)]
pub(super) struct DurationBuckets {
    at_most: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl DurationBuckets {
    pub(super) fn observe(&mut self, length: Duration) {
        for ((bound, _), bucket) in BOUNDS.iter().zip(&mut self.at_most) {
            *bucket += u64::from(length <= Duration::from_millis(*bound));
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(length);
    }

    pub(super) fn write(&self, name: &str, help: &str, out: &mut Exposition) {
        out.metric(name, Kind::Histogram, help);
        let bucket = format!("{name}_bucket");
        for ((_, bound), count) in BOUNDS.iter().zip(self.at_most) {
            out.sample(&bucket, &[("le", bound)], count);
        }
        out.sample(&bucket, &[("le", "+Inf")], self.count);
        out.sample(&format!("{name}_sum"), &[], Exposition::seconds(self.sum));
        out.sample(&format!("{name}_count"), &[], self.count);
    }
}
