use std::time::Duration;

use super::{Exposition, Kind};
use crate::identity::TokenId;
use crate::report::run::CLASSES;
use crate::report::{ReportRow, RunEnd, RunHeader, Tally};
use crate::verify::{Class, Reason};

/// What one run found, as gauges.
///
/// Every class and every reason has its series, also at zero, so that an alert has something to compare with. The series of
/// single agents are there only on request: they cost 16 bytes each here and much more in a Prometheus server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMetrics {
    header: RunHeader,
    tally: Tally,
    agents: Option<Vec<(TokenId, Class)>>,
}

impl RunMetrics {
    /// The gauges of a run that begins.
    pub fn new(header: &RunHeader, per_agent: bool) -> Self {
        Self { header: header.clone(), tally: Tally::default(), agents: per_agent.then(Vec::new) }
    }

    /// Counts one agent.
    pub fn add(&mut self, row: &ReportRow<'_>) {
        self.tally.add(row);
        if let (Some(agents), Some(subject)) = (&mut self.agents, &row.verdict.subject) {
            agents.push((subject.token_id, row.verdict.class()));
        }
    }

    /// Writes the gauges of the run that ended like this.
    pub fn write(&self, end: &RunEnd, out: &mut Exposition) {
        let registry = self.header.registry();
        let place = [("network", self.header.network.as_str()), ("registry", registry.as_str())];
        let with = |more: &[(&'static str, &'static str)]| place.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();

        out.metric("cardproof_agents", Kind::Gauge, "Agents that the last run judged, by class.");
        for class in CLASSES {
            out.sample("cardproof_agents", &with(&[("class", class.as_str())]), self.tally.of_class(class));
        }
        out.metric("cardproof_agents_by_reason", Kind::Gauge, "Agents that the last run judged, by reason.");
        for reason in Reason::ALL {
            let labels = with(&[("class", reason.class().as_str()), ("reason", reason.as_str())]);
            out.sample("cardproof_agents_by_reason", &labels, self.tally.of_reason(*reason));
        }
        let mut gauge = |name: &str, help: &str, value: String| {
            out.metric(name, Kind::Gauge, help);
            out.sample(name, &place, value);
        };
        gauge(
            "cardproof_revoked_agents",
            "Revoked agents that the last run judged, whatever their class.",
            self.tally.revoked().to_string(),
        );
        gauge(
            "cardproof_inactive_agents",
            "Agents that the last run counted as mismatches only because they are revoked and active ones are required.",
            self.tally.inactive().to_string(),
        );
        gauge(
            "cardproof_last_run_complete",
            "Whether every selected agent got a result in the last run: 1, or 0 if it was interrupted.",
            u8::from(end.complete).to_string(),
        );
        gauge(
            "cardproof_last_run_timestamp_seconds",
            "When the last run ended, in seconds since 1970.",
            Exposition::seconds_since_epoch(end.finished_at),
        );
        if let Some(success) = end.last_success(&self.header) {
            gauge(
                "cardproof_last_success_timestamp_seconds",
                "When a run was last complete and answered by a node, in seconds since 1970, whatever the cards were like.",
                Exposition::seconds_since_epoch(success),
            );
        }
        let took = Duration::from_millis(end.finished_at.0.saturating_sub(self.header.started_at.0));
        gauge("cardproof_last_run_duration_seconds", "How long the last run took.", Exposition::seconds(took));
        gauge(
            "cardproof_last_run_slowest_check_seconds",
            "How long the slowest agent of the last run took.",
            Exposition::seconds(self.tally.slowest()),
        );
        gauge(
            "cardproof_last_run_cards_bytes",
            "Size of the complete cards of the last run together, after content decoding.",
            self.tally.fetched_bytes().to_string(),
        );
        if let Some(block) = self.header.block {
            let lag = Duration::from_millis(self.header.started_at.0.saturating_sub(block.time.0));
            gauge(
                "cardproof_node_lag_seconds",
                "Age of the block that the last run was pinned to when the run began.",
                Exposition::seconds(lag),
            );
            gauge("cardproof_block_height", "Height of the block that the last run was pinned to.", block.height.to_string());
        }
        if let Some(agents) = &self.agents {
            out.metric(
                "cardproof_agent_class",
                Kind::Gauge,
                "Class of each agent in the last run: the series of its class is 1.",
            );
            for (token_id, class) in agents {
                let token_id = token_id.to_string();
                let labels = [place.as_slice(), &[("token_id", token_id.as_str()), ("class", class.as_str())]].concat();
                out.sample("cardproof_agent_class", &labels, 1);
            }
        }
    }
}
