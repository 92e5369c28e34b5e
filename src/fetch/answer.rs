use std::time::SystemTime;

use reqwest::header::{HeaderMap, HeaderName, AGE, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use reqwest::StatusCode;
use url::Url;

use super::outcome::FailureKind;
use super::retry::retry_after;
use super::stop::Stop;
use super::target::host_of;

/// What the head of an answer says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A `200`: its body is to be judged.
    Card,
    /// A redirect, with its `Location`.
    Redirect(Vec<u8>),
}

/// Judges an answer by its head (the verdict, "undecided"). Only a `200` brings a card; an error page is none.
pub(super) fn judge(url: &Url, status: StatusCode, headers: &HeaderMap) -> Result<Head, Stop> {
    if status == StatusCode::OK {
        return Ok(Head::Card);
    }
    let host = host_of(url);
    let said = format!("{host} answered {}{}", named(status), age(headers));
    if let Some(mark) = wall_mark(headers) {
        let message = format!("{said}, marked by a bot wall ({mark}): it serves browsers and turns programs away");
        return Err(Stop::new(FailureKind::BlockedByBotWall, message).passing(true).not_again());
    }
    match status.as_u16() {
        301 | 302 | 303 | 307 | 308 => return location(headers, &said).map(Head::Redirect),
        404 => {
            return Err(Stop::new(FailureKind::NotFound, format!("{said}: there is no card at this URL{}", well_known_hint(url))))
        }
        410 => return Err(Stop::new(FailureKind::NotFound, format!("{said}: the card has been removed for good"))),
        429 => {
            let stop = Stop::new(FailureKind::RateLimited, format!("{said}: too many requests{}", wait_hint(headers)));
            return Err(Stop { wait: wait(headers), ..stop });
        }
        _ => {}
    }
    let meaning = match status.as_u16() {
        401 => "it asks for a login, and a card must be public",
        403 => "it refuses access",
        451 => "it withholds the card for legal reasons",
        408 | 425 | 500..=599 => "the server has trouble",
        _ => "only 200 brings a card",
    };
    let passes = matches!(status.as_u16(), 408 | 425 | 500 | 502..=504 | 507 | 520..=599);
    let stop = Stop::new(FailureKind::HttpStatus, format!("{said}: {meaning}")).passing(passes);
    Err(Stop { wait: wait(headers), ..stop })
}

/// `403 Forbidden`, or the number alone.
fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// For how many seconds a cache has held an answer.
fn seconds_in_cache(headers: &HeaderMap) -> Option<u64> {
    headers.get(AGE)?.to_str().ok()?.trim().parse().ok()
}

/// Whether a cache repeats an old refusal, which it can be asked to pass by. A wall means what it says.
pub(super) fn is_stale(stop: &Stop, headers: &HeaderMap) -> bool {
    stop.kind != FailureKind::BlockedByBotWall && seconds_in_cache(headers).is_some_and(|seconds| seconds > 0)
}

/// A cache that repeats an old error is named: waiting or purging it helps.
fn age(headers: &HeaderMap) -> String {
    match seconds_in_cache(headers) {
        Some(age) => format!(" from a cache that has held this answer for {age} s (Age: {age})"),
        None => String::new(),
    }
}

/// Clients before version 0.3 of the A2A protocol looked elsewhere. Only the URI on the chain counts; no other is tried.
fn well_known_hint(url: &Url) -> &'static str {
    if url.path().ends_with("/.well-known/agent.json") {
        "; many servers have moved it to /.well-known/agent-card.json, but only the anchored URI counts"
    } else {
        ""
    }
}

fn location(headers: &HeaderMap, said: &str) -> Result<Vec<u8>, Stop> {
    let mut all = headers.get_all(LOCATION).iter();
    let stop = |what: &str| Stop::new(FailureKind::RedirectInvalid, format!("{said}, {what}"));
    let first = all.next().ok_or_else(|| stop("a redirect without a Location"))?;
    if all.any(|other| other != first) {
        return Err(stop("a redirect with several Locations"));
    }
    Ok(first.as_bytes().to_vec())
}

fn wait(headers: &HeaderMap) -> Option<std::time::Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    retry_after(value, SystemTime::now())
}

fn wait_hint(headers: &HeaderMap) -> String {
    wait(headers).map_or_else(String::new, |wait| format!("; it asks to wait {} s", wait.as_secs()))
}

/// Headers with which a wall in front of a host marks its own answers.
const WALL_MARKS: [&str; 4] = ["cf-mitigated", "x-amzn-waf-action", "x-vercel-mitigated", "x-sucuri-block"];

fn wall_mark(headers: &HeaderMap) -> Option<&'static str> {
    WALL_MARKS.into_iter().find(|mark| headers.contains_key(HeaderName::from_static(mark)))
}

/// Texts of the challenge pages of well-known walls.
const WALL_TEXTS: [&[u8]; 7] = [
    b"_cf_chl_opt",
    b"/cdn-cgi/challenge-platform/",
    b"<title>Just a moment...</title>",
    b"captcha-delivery.com",
    b"_Incapsula_Resource",
    b"awsWafCookieDomainList",
    b"Pardon Our Interruption",
];

/// Whether a `200` is marked as, or looks like, a challenge page. It is judged by its bytes all the same.
pub(super) fn looks_like_wall(headers: &HeaderMap, kept: Option<&[u8]>) -> bool {
    if wall_mark(headers).is_some() {
        return true;
    }
    let Some(body) = kept else {
        return false;
    };
    let declared_html =
        headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().to_ascii_lowercase().starts_with(b"text/html"));
    let starts_html = body.trim_ascii_start().first() == Some(&b'<');
    let start = body.get(..64 << 10).unwrap_or(body);
    (declared_html || starts_html) && WALL_TEXTS.iter().any(|text| start.windows(text.len()).any(|window| window == *text))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    fn stop(status: u16, pairs: &[(&'static str, &'static str)]) -> Stop {
        let url = Url::parse("https://cards.example/.well-known/agent.json").unwrap();
        judge(&url, StatusCode::from_u16(status).unwrap(), &headers(pairs)).unwrap_err()
    }

    #[test]
    fn c_35_statuses_are_told_apart_by_their_sentences() {
        let kinds = [
            (401, FailureKind::HttpStatus),
            (403, FailureKind::HttpStatus),
            (404, FailureKind::NotFound),
            (410, FailureKind::NotFound),
            (451, FailureKind::HttpStatus),
            (204, FailureKind::HttpStatus),
            (206, FailureKind::HttpStatus),
            (304, FailureKind::HttpStatus),
            (500, FailureKind::HttpStatus),
            (429, FailureKind::RateLimited),
        ];
        let mut sentences = std::collections::HashSet::new();
        for (status, kind) in kinds {
            let stop = stop(status, &[]);
            assert_eq!(stop.kind, kind, "{status}");
            assert!(stop.message.contains(&status.to_string()), "{}", stop.message);
            sentences.insert(stop.message);
        }
        assert_eq!(sentences.len(), kinds.len());
    }

    #[test]
    fn c_14_the_age_of_a_cached_error_is_in_the_sentence() {
        let stop = stop(403, &[("age", "329423")]);
        assert!(stop.message.contains("403 Forbidden from a cache that has held this answer for 329423 s (Age: 329423)"));
        assert!(!super::tests::stop(403, &[("age", "1<x>")]).message.contains('<'));
    }

    #[test]
    fn c_34_a_missing_old_well_known_path_gets_a_hint() {
        assert!(stop(404, &[]).message.contains("/.well-known/agent-card.json"));
    }

    #[test]
    fn c_51_a_marked_answer_is_a_bot_wall_unless_it_is_a_200() {
        for status in [403, 404, 429, 503] {
            let stop = stop(status, &[("cf-mitigated", "challenge")]);
            assert_eq!((stop.kind, stop.retryable, stop.again), (FailureKind::BlockedByBotWall, true, false));
        }
        let url = Url::parse("https://cards.example/").unwrap();
        assert_eq!(judge(&url, StatusCode::OK, &headers(&[("cf-mitigated", "challenge")])), Ok(Head::Card));
    }

    #[test]
    fn c_51_a_challenge_page_is_recognised() {
        let html = headers(&[("content-type", "text/html; charset=UTF-8")]);
        assert!(looks_like_wall(&headers(&[("cf-mitigated", "challenge")]), None));
        assert!(looks_like_wall(&html, Some(b"<html><script>window._cf_chl_opt={}</script>")));
        assert!(looks_like_wall(&HeaderMap::new(), Some(b"\n<html><title>Just a moment...</title>")));
        assert!(!looks_like_wall(&html, Some(b"<html>my card</html>")));
        assert!(!looks_like_wall(&HeaderMap::new(), Some(br#"{"about":"_cf_chl_opt"}"#)));
    }

    #[test]
    fn redirects_need_one_location() {
        assert_eq!(stop(302, &[]).kind, FailureKind::RedirectInvalid);
        let mut two = headers(&[("location", "/a")]);
        two.append(LOCATION, HeaderValue::from_static("/a"));
        assert_eq!(location(&two, ""), Ok(b"/a".to_vec()));
        two.append(LOCATION, HeaderValue::from_static("/b"));
        assert_eq!(location(&two, "").unwrap_err().kind, FailureKind::RedirectInvalid);
    }
}
