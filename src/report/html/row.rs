use maud::{html, Markup};

use super::page::time;
use super::{plot, rank};
use crate::digest::Sha256Digest;
use crate::identity::{Badge, Caip19};
use crate::registry::{AgentStatus, Timestamp};
use crate::report::foreign::seen;
use crate::report::run::INACTIVE;
use crate::report::{Change, HistoryPoint, ReportRow};
use crate::verify::{Reason, Verdict};

/// The row of one agent. Cells carry what they are sorted by where that is not their text.
pub(super) fn row(row: &ReportRow<'_>) -> Markup {
    let verdict = row.verdict;
    let token = row.token();
    let class = verdict.class().as_str();
    let revoked = verdict.anchor.as_ref().is_some_and(|anchor| anchor.status == AgentStatus::Revoked);
    let uri = verdict.agent_uri.as_deref().map(seen).unwrap_or_default();
    let millis = verdict.elapsed.as_millis();
    html! {
        tr id={ "agent-" (token) } data-class=(class) data-changed[!row.changes.is_empty()] {
            th.agent scope="row" data-value=(format!("{token:0>20}")) {
                a href={ "#agent-" (token) } { (token) }
                @if revoked { " " span.tag { "revoked" } }
            }
            td.verdict data-value=(rank(row.counts_as())) { span class={ "pill " (class) } { (class) } }
            td.finding data-value={ (verdict.reason) " " (uri) } {
                details {
                    summary {
                        code { (verdict.reason) } " "
                        @if row.inactive { span.tag.inactive title=(INACTIVE) { "counts as a mismatch" } " " }
                        @for change in row.changes { span.tag.change { (change.words()) } " " }
                        span.message { (seen(&verdict.message)) }
                        @if !uri.is_empty() { bdi.card { (uri) } }
                    }
                    (details(row))
                }
            }
            td.history data-value=(format!("{:0>9}", row.history.len())) { (plot::agent(row)) }
            td.took data-value=(format!("{millis:0>20}")) { (millis) " ms" }
        }
    }
}

fn details(row: &ReportRow<'_>) -> Markup {
    let verdict = row.verdict;
    html! {
        dl {
            (digests(verdict))
            (fetched(verdict))
            @if let Some(anchor) = &verdict.anchor {
                (fact("owner", html! { code { (anchor.owner) } }))
                (fact("status", html! { (anchor.status.as_str()) }))
            }
            @if let Some(subject) = &verdict.subject {
                @let badge = Badge { contract: subject.contract, token_id: subject.token_id };
                (fact("CAIP-19", html! { code { (Caip19 { chain: subject.chain, badge }) } }))
            }
            @if let Some(block) = verdict.block {
                (fact("block", html! { (block.height) " of " (time(&block.time.to_rfc3339())) }))
            }
            @for note in &verdict.notes { (fact("note", html! { (seen(&note.message)) " (" code { (note.code) } ")" })) }
            @for check in &verdict.checks {
                (fact(check.severity.as_str(), html! { (seen(&check.message)) " (" code { (seen(&check.code)) } ")" }))
            }
            @for change in row.changes { (fact("changed", changed(change))) }
            (fact("judged", time(&verdict.started_at.to_rfc3339())))
        }
        @if !row.history.is_empty() { (history(row.history)) }
    }
}

fn fact(label: &str, value: Markup) -> Markup {
    html! { dt { (label) } dd { (value) } }
}

fn digests(verdict: &Verdict) -> Markup {
    let got = verdict.evidence.as_ref().and_then(|evidence| evidence.sha256);
    html! {
        @if let Some(expected) = verdict.anchored_sha256 { (fact("anchored", html! { code { (expected) } })) }
        @if let Some(got) = got { (fact("served", html! { code { (got) } })) }
    }
}

fn fetched(verdict: &Verdict) -> Markup {
    let Some(evidence) = &verdict.evidence else { return html! {} };
    html! {
        @for hop in &evidence.trace.hops {
            (fact("redirect", html! { (hop.status) " from " bdi { (seen(&hop.url)) } }))
        }
        @if let Some(url) = evidence.trace.final_url.as_ref().filter(|url| Some(*url) != verdict.agent_uri.as_ref()) {
            (fact("final URL", html! { bdi { (seen(url)) } }))
        }
        @if let Some(status) = evidence.trace.status {
            (fact("answer", html! {
                "HTTP " (status)
                @if let Some(bytes) = evidence.bytes { ", " (bytes) " bytes" }
                @if let Some(kind) = &evidence.trace.content_type { ", " bdi { (seen(kind)) } }
                @if let Some(ip) = evidence.trace.ip { ", from " (ip) }
                ", in " (evidence.trace.elapsed.as_millis()) " ms"
            }))
        }
    }
}

fn changed(change: &Change) -> Markup {
    let side = |side: &Option<String>| html! { @if let Some(text) = side { bdi { (seen(text)) } } @else { "nothing" } };
    html! { (change.words()) ": " (side(&change.before)) " → " (side(&change.after)) }
}

/// Runs in a row that found the same.
struct Span {
    reason: Reason,
    sha256: Option<Sha256Digest>,
    from: Timestamp,
    to: Timestamp,
    runs: u64,
}

fn history(points: &[HistoryPoint]) -> Markup {
    let mut spans: Vec<Span> = Vec::new();
    for point in points {
        match spans.last_mut() {
            Some(span) if span.reason == point.reason && span.sha256 == point.sha256 => {
                span.to = point.at;
                span.runs += 1;
            }
            _ => spans.push(Span { reason: point.reason, sha256: point.sha256, from: point.at, to: point.at, runs: 1 }),
        }
    }
    html! {
        table.past {
            caption { "What earlier runs found, newest first" }
            thead { tr { th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Runs" } th scope="col" { "Found" } th scope="col" { "Digest served" } } }
            tbody {
                @for span in spans.iter().rev() {
                    tr {
                        td { (time(&span.from.to_rfc3339())) }
                        td { (time(&span.to.to_rfc3339())) }
                        td { (span.runs) }
                        td { span class={ "pill " (span.reason.class().as_str()) } { (span.reason) } }
                        td { @if let Some(digest) = span.sha256 { code { (digest) } } }
                    }
                }
            }
        }
    }
}
