use std::time::{Duration, SystemTime};

use super::deadline::Deadline;
use super::stop::Stop;

/// The longest `Retry-After` that is honoured (fetching facts, section 12).
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before trying again after `stop`, the failure of attempt `attempt` (from 0); `None` to give up.
pub(super) fn pause(stop: &Stop, attempt: u32, retries: u32, deadline: &Deadline) -> Option<Duration> {
    if !stop.again || attempt >= retries {
        return None;
    }
    let pause = stop.wait.map_or_else(|| backoff(attempt), |wait| wait.min(LONGEST_WAIT));
    deadline.allows(pause).then_some(pause)
}

/// Doubles from 200 ms with each attempt; half of it is chance, so that many clients do not come back together.
fn backoff(attempt: u32) -> Duration {
    let full = 200_u64 << attempt.min(8);
    Duration::from_millis(full / 2 + fastrand::u64(0..=full / 2))
}

/// Reads `Retry-After`: seconds or an HTTP date, counted from `now`.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::outcome::FailureKind;
    use super::*;

    fn limited(wait: Option<u64>) -> Stop {
        Stop { wait: wait.map(Duration::from_secs), ..Stop::new(FailureKind::RateLimited, "slow down") }
    }

    #[test]
    fn c_44_retry_after_is_read_as_seconds_and_as_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(retry_after("2", now), Some(Duration::from_secs(2)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:40 GMT", now), Some(Duration::from_secs(3)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("99999999999999999999999", now), Some(Duration::from_secs(u64::MAX)));
        for nonsense in ["", "-1", "1.5", "soon"] {
            assert_eq!(retry_after(nonsense, now), None, "{nonsense}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn c_44_retry_after_is_capped_and_never_passes_the_deadline() {
        let long = Deadline::after(Duration::from_secs(300));
        assert_eq!(pause(&limited(Some(99_999)), 0, 3, &long), Some(Duration::from_secs(60)));
        assert_eq!(pause(&limited(Some(2)), 0, 3, &long), Some(Duration::from_secs(2)));
        let short = Deadline::after(Duration::from_secs(20));
        assert_eq!(pause(&limited(Some(99_999)), 0, 3, &short), None);
    }

    #[tokio::test(start_paused = true)]
    async fn retries_are_counted_and_only_for_what_passes() {
        let deadline = Deadline::after(Duration::from_secs(20));
        assert!(pause(&limited(None), 2, 3, &deadline).is_some());
        assert_eq!(pause(&limited(None), 3, 3, &deadline), None);
        assert_eq!(pause(&Stop::new(FailureKind::NotFound, "gone"), 0, 3, &deadline), None);
    }

    #[test]
    fn backoff_doubles_and_stays_within_its_bounds() {
        for attempt in 0..3 {
            let full = 200 << attempt;
            let pause = backoff(attempt).as_millis();
            assert!((full / 2..=full).contains(&pause), "{attempt}: {pause}");
        }
    }
}
