use std::fmt::Write;

use maud::{html, Markup};

use super::page::time;
use super::rank;
use crate::report::run::CLASSES;
use crate::report::{HistoryPoint, ReportRow, RunPoint};
use crate::verify::{Class, Summary};

/// How many runs a plot shows at most, the newest ones.
const RUNS: usize = 90;

const WIDTH: u64 = 900;
const HEIGHT: u64 = 120;
/// What a class that is there is never thinner than: two mismatches among ten thousand agents must be seen.
const THINNEST: u64 = 4;

/// The shares of the classes, a bar per run.
pub(super) fn runs(runs: &[RunPoint]) -> Markup {
    let shown = runs.get(runs.len().saturating_sub(RUNS)..).unwrap_or_default();
    let step = WIDTH / (shown.len() as u64).max(1);
    let step = step.clamp(4, 60);
    let date = |run: Option<&RunPoint>| html! { @if let Some(run) = run { (time(&run.at.to_rfc3339())) } };
    html! {
        svg.runs viewBox={ "0 0 " (step * shown.len() as u64) " " (HEIGHT) } preserveAspectRatio="none" role="img"
            aria-label="Share of each class in every run" {
            @for (number, run) in shown.iter().enumerate() {
                g {
                    title { (sentence(run)) }
                    @for (class, top, height) in bars(run.summary) {
                        rect class=(class.as_str()) x=(number as u64 * step) y=(top) width=(step - 1) height=(height) {}
                    }
                }
            }
        }
        p.axis { (date(shown.first())) (date(shown.last())) }
        p.legend {
            @for class in [Class::Mismatch, Class::Undecided, Class::Absent, Class::Match] {
                span class={ "pill " (class.as_str()) } { (class.as_str()) } " "
            }
            "Bars show shares; a class that is there at all is drawn thick enough to be seen."
        }
    }
}

fn sentence(run: &RunPoint) -> String {
    let Summary { agents, matches, mismatches, absent, undecided } = run.summary;
    let at = run.at.to_rfc3339();
    format!("{at}: {agents} agents, {mismatches} mismatch, {undecided} undecided, {absent} absent, {matches} match")
}

/// Top and height of each class, the worst on top.
fn bars(summary: Summary) -> Vec<(Class, u64, u64)> {
    let mut counts = [
        (Class::Mismatch, summary.mismatches),
        (Class::Undecided, summary.undecided),
        (Class::Absent, summary.absent),
        (Class::Match, summary.matches),
    ]
    .to_vec();
    counts.retain(|(_, count)| *count > 0);
    let room = HEIGHT - THINNEST * counts.len() as u64;
    let mut top = 0;
    let mut bars = Vec::new();
    for (number, (class, count)) in counts.iter().enumerate() {
        let share = u128::from(room) * u128::from(*count) / u128::from(summary.agents.max(1));
        let height = THINNEST + u64::try_from(share).unwrap_or(room);
        let last = number + 1 == counts.len();
        let height = if last { HEIGHT.saturating_sub(top) } else { height };
        bars.push((*class, top, height));
        top += height;
    }
    bars
}

/// What earlier runs and this one found about an agent: a small box each, the newest at the right.
pub(super) fn agent(row: &ReportRow<'_>) -> Markup {
    if row.history.is_empty() {
        return html! { span.none { "none" } };
    }
    let most = usize::from(HistoryPoint::SHOWN);
    let earlier = row.history.get(row.history.len().saturating_sub(most)..).unwrap_or_default();
    let classes: Vec<Class> = earlier.iter().map(|point| point.reason.class()).chain([row.verdict.class()]).collect();
    let good = classes.iter().filter(|class| **class == Class::Match).count();
    let label = format!("{good} of the last {} verdicts are matches", classes.len());
    html! {
        svg.strip width=(classes.len() * 6) height="14" role="img" aria-label=(label) {
            title { (label) }
            // One path per class instead of one box per verdict keeps a page of ten thousand agents small.
            @for class in CLASSES {
                @let path = boxes(&classes, class);
                @if !path.is_empty() { path class=(class.as_str()) d=(path) {} }
            }
        }
    }
}

fn boxes(classes: &[Class], of: Class) -> String {
    let mut path = String::new();
    for (number, class) in classes.iter().enumerate().filter(|(_, class)| **class == of) {
        // Bad news is taller, for those who do not see colours.
        let top = u32::from(rank(*class)) * 3;
        // Writing to a string does not fail.
        let _ = write!(path, "M{} {top}h5v{}h-5z", number * 6, 14 - top);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mismatches_among_ten_thousand_are_seen_and_bars_fill_the_plot() {
        let summary = Summary { agents: 10_000, matches: 9_998, mismatches: 2, absent: 0, undecided: 0 };
        assert_eq!(bars(summary), [(Class::Mismatch, 0, THINNEST), (Class::Match, THINNEST, HEIGHT - THINNEST)]);
        let summary = Summary { agents: 3, matches: 0, mismatches: 1, absent: 1, undecided: 1 };
        assert_eq!(bars(summary).iter().map(|bar| bar.2).sum::<u64>(), HEIGHT);
        assert_eq!(bars(Summary::default()), []);
    }
}
