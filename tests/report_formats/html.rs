//! The HTML report: what stands in it without a browser, and what a browser makes of it.

use std::path::PathBuf;
use std::time::Instant;

use cardproof::registry::Timestamp;
use cardproof::report::{Format, ReportOptions, RunPoint};
use cardproof::verify::{Reason, Summary};

use crate::browser::Browser;
use crate::sample::{agents, report_of, verdict, Agent, HOSTILE, START};

fn options() -> ReportOptions {
    let run = |days: u64, mismatches, undecided| RunPoint {
        at: Timestamp(START.0 - days * 86_400_000),
        summary: Summary { agents: 7, matches: 5 - mismatches - undecided, mismatches, absent: 2, undecided },
    };
    let earlier_runs = (1..30).rev().map(|day| run(day, u64::from(day % 9 == 0), u64::from(day % 4 == 1))).collect();
    ReportOptions { earlier_runs, ..ReportOptions::default() }
}

/// The page in a file that stays under the build's folder, as a CI artefact.
fn page_of(name: &str, agents: &[Agent]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, report_of(Format::Html, agents, &options())).unwrap();
    path
}

#[test]
fn without_javascript_it_is_a_table_with_the_worst_first_and_nothing_that_does_not_work() {
    let page = report_of(Format::Html, &agents(), &options());
    let order: Vec<_> = page.split("<tr id=\"agent-").skip(1).map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(order, ["1", "18446744073709551615", "2", "5", "3", "4", "0"]);
    assert!(!page.contains("<tr id=\"agent-1\" hidden"));
    assert!(page.contains("<section class=\"controls\" hidden>"), "a search that does not search is not shown");
    let tiles: Vec<_> = page.split("<button ").skip(1).map(|tile| tile.split('>').next().unwrap()).collect();
    assert!(tiles.len() == 6 && tiles.iter().all(|tile| tile.contains(" disabled ")), "{tiles:?}");
    assert!(page.contains("<details><summary>"), "details open without a script");
}

#[test]
fn nothing_is_loaded_from_elsewhere_and_nothing_foreign_is_markup_or_a_link() {
    let page = report_of(Format::Html, &agents(), &options());
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
    for loader in ["src=\"", "<link", "@import", "url(", "<iframe", "<form", "http-equiv=\"refresh\""] {
        assert!(!page.contains(loader), "{loader}");
    }
    let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    assert!(links.into_iter().all(|link| link.starts_with("#agent-")), "only links within the page");
    assert_eq!(page.matches("<script").count(), 1, "one script, ours");
    assert!(!page.contains("<img") && page.contains("&lt;img src=x onerror="));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'), "what cannot be seen is shown as such");
    assert!(!page.contains("style=\""), "the policy would not apply it");
}

#[test]
fn html() {
    let page = report_of(Format::Html, &agents()[1..2], &ReportOptions::default());
    let row = page.split("<tbody>").nth(1).unwrap().split("</tbody><").next().unwrap();
    insta::assert_snapshot!("html_row", row.replace("><", ">\n<"));
}

const VISIBLE: &str = "return Array.from(document.querySelectorAll('#agents > tbody > tr')).filter((row) => row.offsetParent !== null).map((row) => row.id.slice(6)).join(' ')";

#[tokio::test]
async fn in_a_browser_it_filters_searches_sorts_opens_an_agent_and_keeps_hostile_text_text() {
    let page = page_of("report.html", &agents());
    let Some(browser) = Browser::start().await else { return };
    browser.open(&page).await;
    assert_eq!(browser.complaints().await, Vec::<String>::new(), "the policy lets our own style and script through");
    assert_eq!(browser.run(VISIBLE).await, "1 18446744073709551615 2 5 3 4 0");
    let rounded = browser.run("return getComputedStyle(document.querySelector('.tile')).borderRadius").await;
    assert_eq!(rounded, "8px", "the style is in force");
    browser.picture("report.png").await;

    browser.click(".tile.mismatch").await;
    assert_eq!(browser.run(VISIBLE).await, "1 18446744073709551615");
    assert_eq!(browser.run("return document.getElementById('shown').value").await, "2 of 7 agents");
    browser.click(".tile.changed").await;
    assert_eq!(browser.run(VISIBLE).await, "1 5");
    browser.click(".tile.changed").await;

    browser.type_into("#search", "revoked").await;
    assert_eq!(browser.run(VISIBLE).await, "3");
    browser.type_into("#search", "5f4b3bde TIMEOUT").await;
    assert_eq!(browser.run(VISIBLE).await, "1 2", "every word, in any case, also in the history");
    browser.type_into("#search", "no such agent").await;
    assert_eq!(browser.run("return document.getElementById('nothing').offsetParent !== null").await, true);
    browser.run("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))").await;

    browser.click("th.agent button").await;
    assert_eq!(browser.run(VISIBLE).await, "0 1 2 3 4 5 18446744073709551615", "a token id is a number of 64 bits");
    browser.click("th.agent button").await;
    assert_eq!(browser.run(VISIBLE).await, "18446744073709551615 5 4 3 2 1 0");
    assert_eq!(browser.run("return document.querySelector('th.agent').ariaSort").await, "descending");
    browser.click("th.verdict button").await;

    let opened = "return document.querySelector('#agent-1 details').open";
    assert_eq!(browser.run(opened).await, false);
    browser.click("#agent-1 summary").await;
    assert_eq!(browser.run(opened).await, true);
    let past = browser.run("return document.querySelector('#agent-1 .past').innerText").await;
    assert!(past.as_str().unwrap().contains("timeout"), "{past}");
    browser.click("#agent-5 th a").await;
    assert_eq!(browser.run("return document.querySelector('#agent-5 details').open").await, true, "a link opens its agent");
    browser.picture("report-opened.png").await;

    // The hostile agent's words are there as words: one text node, no element, no title, nothing run, nothing asked for.
    let shown = browser.run("return document.querySelector('#agent-5 bdi.card').textContent").await;
    assert_eq!(shown, HOSTILE.replace(['\u{1b}', '\u{202e}', '\n'], "\u{fffd}"));
    assert_eq!(browser.run("return document.querySelector('#agent-5 bdi.card').childElementCount").await, 0);
    assert_eq!(browser.run("return document.title").await, "Agent cards of registry 10082,0 on testnet");
    assert_eq!(browser.run("return document.scripts.length + document.images.length").await, 1);
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length").await, 0);
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.close().await;
}

#[tokio::test]
async fn without_javascript_a_browser_shows_every_agent_and_opens_its_details() {
    let page = page_of("report-plain.html", &agents());
    let Some(browser) = Browser::without_javascript().await else { return };
    browser.open(&page).await;
    assert_eq!(browser.text(".controls").await, "", "the search is not shown where it does not work");
    let table = browser.text("#agents").await;
    for agent in agents() {
        assert!(table.contains(&agent.verdict.message.split(':').next().unwrap().to_owned()), "{table}");
    }
    assert_eq!(browser.text("#agent-1 .past").await, "");
    browser.click("#agent-1 summary").await;
    assert!(browser.text("#agent-1 .past").await.contains("timeout"));
    browser.picture("report-plain.png").await;
    browser.close().await;
}

#[tokio::test]
async fn ten_thousand_agents_are_searched_and_sorted_without_a_wait() {
    let reasons = [Reason::Match; 40].into_iter().chain([Reason::HashMismatch, Reason::Timeout, Reason::NoHashOnChain]);
    let agents: Vec<Agent> = (0..10_000)
        .zip(reasons.cycle())
        .map(|(token, reason)| Agent { verdict: verdict(token, reason), changes: vec![], history: vec![] })
        .collect();
    let page = page_of("report-10000.html", &agents);
    let size = std::fs::metadata(&page).unwrap().len();
    assert!(size < 20_000_000, "{size} bytes");
    let Some(browser) = Browser::start().await else { return };
    let began = Instant::now();
    browser.open(&page).await;
    println!("{size} bytes with 10,000 agents open in {:?}", began.elapsed());
    let timed = "const began = performance.now(); const s = document.getElementById('search'); s.value = '/9999/'; \
                 s.dispatchEvent(new Event('input')); document.querySelector('th.took button').click(); \
                 document.body.offsetHeight; return performance.now() - began";
    let took = browser.run(timed).await.as_f64().unwrap();
    println!("a search and a sort of them take {took:.0} ms");
    assert!(took < 5_000.0, "{took} ms");
    assert_eq!(browser.run(VISIBLE).await, "9999");
    browser.close().await;
}
