use crate::verify::Reason;

/// The documentation of the reasons: every reason has a row in one of its tables.
const REASONS: &str = include_str!("../../docs/reasons.md");

/// What to do about a reason: the last column of its row in `docs/reasons.md`, in Markdown.
pub(super) fn advice(reason: Reason) -> &'static str {
    let start = format!("| `{reason}` | {} |", if reason.retryable() { "yes" } else { "no" });
    let row = REASONS.lines().find(|line| line.starts_with(&start));
    row.and_then(|row| row.trim_end().strip_suffix('|')?.rsplit(" | ").next()).map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_advice_for_every_reason() {
        for reason in Reason::ALL {
            assert!(advice(*reason).ends_with('.'), "{reason}: {}", advice(*reason));
        }
        assert_eq!(advice(Reason::Timeout), "Try again, or with a longer `--timeout`.");
    }
}
