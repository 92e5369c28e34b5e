use std::fmt::Write;
use std::time::Duration;

use crate::registry::Timestamp;

/// What a metric's values mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only goes up while the process lives.
    Counter,
    /// Counts observations by size.
    Histogram,
}

/// A document in the Prometheus text format, version 0.0.4, that grows metric by metric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a metric; its samples follow before the next one begins.
    pub fn metric(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample. Label values may be any text.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.text.push_str(name);
        for (number, (label, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{}{label}=\"{value}\"", if number == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// The document so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The whole document.
    pub fn into_string(self) -> String {
        self.text
    }

    /// A time as the format writes it: seconds since 1970.
    pub fn seconds_since_epoch(at: Timestamp) -> String {
        format!("{}.{:03}", at.0 / 1000, at.0 % 1000)
    }

    /// A length of time as the format writes it: seconds.
    pub fn seconds(length: Duration) -> String {
        format!("{}.{:03}", length.as_secs(), length.subsec_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_help_are_escaped() {
        let mut exposition = Exposition::default();
        exposition.metric("cardproof_agents", Kind::Gauge, "two\nlines \\ \"quoted\"");
        exposition.sample("cardproof_agents", &[("network", "a\"b\\c\nd"), ("class", "match")], 1);
        exposition.sample("cardproof_agents", &[], "0.5");
        let expected = concat!(
            "# HELP cardproof_agents two\\nlines \\\\ \"quoted\"\n",
            "# TYPE cardproof_agents gauge\n",
            "cardproof_agents{network=\"a\\\"b\\\\c\\nd\",class=\"match\"} 1\n",
            "cardproof_agents 0.5\n",
        );
        assert_eq!(exposition.as_str(), expected);
    }
}
