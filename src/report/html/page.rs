use std::time::Duration;

use base64::prelude::{Engine, BASE64_STANDARD};
use maud::{html, Markup, PreEscaped, DOCTYPE};

use super::plot;
use crate::digest::Sha256Digest;
use crate::report::foreign::seen;
use crate::report::{RunEnd, RunHeader, RunPoint, Tally};
use crate::verify::Class;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Stands where the rows belong; no escaped text contains it.
const ROWS: &str = "<!-- rows -->";

/// What stands before the rows, and what after them.
pub(super) fn around(header: &RunHeader, end: &RunEnd, tally: &Tally, changed: u64, runs: &[RunPoint]) -> (String, String) {
    let page = page(header, end, tally, changed, runs).into_string();
    match page.split_once(ROWS) {
        Some((before, after)) => (before.to_owned(), after.to_owned()),
        None => (page, String::new()),
    }
}

fn page(header: &RunHeader, end: &RunEnd, tally: &Tally, changed: u64, runs: &[RunPoint]) -> Markup {
    let title = format!("Agent cards of registry {} on {}", header.registry(), seen(&header.network));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p.facts { (facts(header, end)) }
                    p.facts { (seen(&header.selection)) }
                    @if !end.complete {
                        p.warning { "This run was interrupted: agents are missing here." }
                    }
                    @if tally.inactive() > 0 {
                        p.warning {
                            (tally.inactive()) " revoked agents count as mismatches here, because active ones are required. They stand among the first."
                        }
                    }
                    @if header.block.is_none() {
                        p.warning { "No node could be asked, so nothing here was read from the chain." }
                    }
                }
                main {
                    (tiles(tally, changed))
                    @if runs.len() > 1 {
                        section.time {
                            h2 { "Over time" }
                            (plot::runs(runs))
                        }
                    }
                    section.controls hidden {
                        label for="search" { "Search" }
                        input id="search" type="search" autocomplete="off" spellcheck="false"
                            placeholder="token id, URI, owner, digest, reason";
                        output id="shown" for="search" {}
                    }
                    (table())
                    p id="nothing" hidden { "No agent is like this." }
                }
                footer {
                    p {
                        "Written by cardproof " (env!("CARGO_PKG_VERSION"))
                        ". A card matches when the SHA-256 of its bytes is the one anchored on chain. What cannot be decided is neither a match nor a mismatch."
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Nothing may be loaded, and of what is written here only this style and this script are in force.
fn policy() -> String {
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256Digest::of(text.as_bytes()).0);
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT),
    )
}

fn facts(header: &RunHeader, end: &RunEnd) -> Markup {
    let took = Duration::from_millis(end.finished_at.0.saturating_sub(header.started_at.0));
    html! {
        @if let Some(id) = header.id { "Run " (id) ", " } @else { "Run " }
        "begun " (time(&header.started_at.to_rfc3339()))
        ", took " (format!("{:.1}", took.as_secs_f64())) " s"
        @if let Some(block) = header.block {
            ", judged at block " (block.height) " of " (time(&block.time.to_rfc3339()))
            " " code { (block.hash) }
        }
        "."
    }
}

/// A time, to the second, with its exact value for programs. One beyond all dates is a number, and stays whole.
pub(super) fn time(rfc3339: &str) -> Markup {
    let short = rfc3339.get(..19).filter(|short| short.contains('T'));
    let short = short.map_or_else(|| rfc3339.to_owned(), |short| format!("{} UTC", short.replace('T', " ")));
    html! { time datetime=(rfc3339) { (short) } }
}

fn tiles(tally: &Tally, changed: u64) -> Markup {
    let classes = [Class::Mismatch, Class::Undecided, Class::Absent, Class::Match];
    // Buttons do nothing without the script, so it is the script that enables them.
    html! {
        section.tiles aria-label="How many agents of each class" {
            button.tile type="button" disabled data-filter="" { b { (tally.summary().agents) } span { "agents" } }
            @for class in classes {
                button class={ "tile " (class.as_str()) } type="button" disabled data-filter=(class.as_str()) {
                    b { (tally.of_class(class)) }
                    span { (class.as_str()) }
                }
            }
            button.tile.changed type="button" disabled data-filter="changed" { b { (changed) } span { "changed" } }
        }
    }
}

fn table() -> Markup {
    html! {
        table id="agents" {
            caption { "Every agent, the worst first. Open a finding for its details." }
            thead {
                tr {
                    th.agent scope="col" { "Agent" }
                    th.verdict scope="col" { "Verdict" }
                    th.finding scope="col" { "Finding" }
                    th.history scope="col" { "Earlier runs" }
                    th.took scope="col" { "Took" }
                }
            }
            tbody { (PreEscaped(ROWS)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::Timestamp;

    use super::time;

    #[test]
    fn a_time_is_cut_to_the_second_and_a_number_is_not_cut() {
        let shown = |millis| time(&Timestamp(millis).to_rfc3339()).into_string();
        assert!(shown(1_785_771_369_045).ends_with(">2026-08-03 15:36:09 UTC</time>"));
        assert!(shown(u64::MAX).ends_with(">18446744073709551615</time>"));
    }
}
