//! Finding the card of a running agent at the places where agents publish theirs.

use bytes::Bytes;
use serde::Serialize;
use url::Url;

use crate::card::convert::{read_bytes, Reading};
use crate::card::{recognise, Dialect, Document};
use crate::credentials::without_credentials;
use crate::digest::Sha256Digest;
use crate::fetch::{check_uri, Body, CardFetcher, FetchFailure, Origin};

use super::entry::is_reachable;
use super::{Entry, ListError, OnChain, Transport};

/// Where agents publish their card, newest convention first (card facts).
pub const WELL_KNOWN: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// What came of looking for a card.
#[derive(Debug)]
pub struct Discovery {
    /// The places that were tried, in order; the last one has the card when there is one.
    pub attempts: Vec<Attempt>,
    /// The card.
    pub found: Option<FoundCard>,
}

/// One place that was tried.
#[derive(Debug)]
pub struct Attempt {
    /// Its URL.
    pub url: String,
    /// Why no card came from there, as a sentence; `None` when one did.
    pub failure: Option<String>,
    /// The status it answered with, when it did.
    pub status: Option<u16>,
    /// Whether trying again later may help.
    pub retryable: bool,
}

/// A card that was found.
#[derive(Debug)]
pub struct FoundCard {
    /// The place that was asked.
    pub url: String,
    /// The place that answered, redirects followed.
    pub final_url: String,
    /// The card's bytes.
    pub bytes: Bytes,
    /// Their SHA-256.
    pub sha256: Sha256Digest,
    /// What it says.
    pub reading: Reading,
    /// Whether the answer proved that it was complete; if not, bytes behind the last brace may be missing.
    pub length_verified: bool,
}

/// Looks for the card of an agent or a site whose URL the user typed.
///
/// A URL with a path is tried itself, then the well-known places below it and those of its host; a bare host at the well-known places,
/// then itself. The first answer that is a card is taken: a page is none, whatever its status, and neither is any other JSON.
///
/// # Errors
/// [`ListError::Invalid`] when it is not a URL with a host.
pub async fn discover(fetcher: &impl CardFetcher, site: &str) -> Result<Discovery, ListError> {
    let mut discovery = Discovery { attempts: Vec::new(), found: None };
    for place in places(site)? {
        let url = place.to_string();
        match fetcher.fetch(&url, Origin::User).await {
            Ok(fetched) => {
                let status = fetched.trace.status;
                let length_verified = fetched.length_verified;
                let final_url = fetched.trace.final_url.clone().unwrap_or_else(|| url.clone());
                match card_of(fetched.body) {
                    Ok((bytes, sha256, reading)) => {
                        discovery.attempts.push(Attempt { url: url.clone(), failure: None, status, retryable: false });
                        discovery.found = Some(FoundCard { url, final_url, bytes, sha256, reading, length_verified });
                        break;
                    }
                    Err(failure) => {
                        discovery.attempts.push(Attempt { url, failure: Some(failure), status, retryable: false });
                    }
                }
            }
            Err(FetchFailure { message, retryable, trace, .. }) => {
                discovery.attempts.push(Attempt { url, failure: Some(message), status: trace.status, retryable });
            }
        }
    }
    Ok(discovery)
}

fn card_of(body: Body) -> Result<(Bytes, Sha256Digest, Reading), String> {
    let sha256 = body.sha256;
    let bytes = body.kept.ok_or_else(|| format!("the answer has {} bytes, which is more than a card may have", body.bytes))?;
    let reading = read_bytes(&bytes).map_err(|error| format!("the answer is not a card: {error}"))?;
    if !is_card(&Document::parse(&bytes), &reading) {
        return Err("the answer is not a card: it is JSON without the marks of one".into());
    }
    Ok((bytes, sha256, reading))
}

/// Whether a JSON object is a card. Programs answer all kinds of places with objects of their own, and many of those have a `url`:
/// that alone marks no card.
fn is_card(document: &Document<'_>, reading: &Reading) -> bool {
    let profile = &reading.profile;
    let has_name = !profile.name.trim().is_empty();
    let has_endpoint = !profile.interfaces.is_empty() || profile.services.iter().any(|service| service.endpoint.is_some());
    match recognise(document).as_slice() {
        [] => has_name && has_endpoint,
        [Dialect::A2a0] => has_name || document.get("/skills").is_some() || document.get("/capabilities").is_some(),
        _ => true,
    }
}

/// The places to try, each once.
fn places(site: &str) -> Result<Vec<Url>, ListError> {
    let typed = site.trim();
    // As a host, 287 would be the address 0.0.1.31.
    if !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ListError::Invalid(format!(
            "{typed} is a number, and this looks for the card of a site; card explain and card lint take an agent"
        )));
    }
    // What people type for a site often lacks the scheme.
    let typed = if typed.contains("://") { typed.to_owned() } else { format!("https://{typed}") };
    let invalid = || {
        let shown = without_credentials(&typed);
        let shown = if site.contains("://") { &shown } else { shown.trim_start_matches("https://") };
        ListError::Invalid(format!("{shown} is not the URL of an agent or a site"))
    };
    let mut base = Url::parse(&typed).map_err(|_| invalid())?;
    if !base.has_host() {
        return Err(invalid());
    }
    // A URL that nobody can fetch is told once, and not at each of its well-known places.
    check_uri(&typed).map_err(|failure| ListError::Invalid(format!("{}: {failure}", without_credentials(&typed))))?;
    base.set_fragment(None);
    let itself = base.clone();
    base.set_query(None);
    let path = base.path().trim_end_matches('/').to_owned();
    let at = |path: &str| {
        let mut url = base.clone();
        url.set_path(path);
        url
    };
    let mut places = Vec::new();
    if !path.is_empty() {
        places.push(itself.clone());
        if !path.ends_with(".json") {
            places.extend(WELL_KNOWN.iter().map(|place| at(&format!("{path}{place}"))));
        }
    }
    places.extend(WELL_KNOWN.iter().map(|place| at(place)));
    if path.is_empty() {
        places.push(itself);
    }
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    Ok(places)
}

/// The entry of the list that a card makes. A card that does not say where its agent is reached makes one that is reached where the
/// card was.
///
/// # Errors
/// [`ListError::Invalid`] when the card has no name, or one that no list should hold.
pub fn entry_of_card(reading: &Reading, card_url: &str) -> Result<Entry, ListError> {
    let profile = &reading.profile;
    let url = profile.interfaces.iter().map(|interface| interface.url.as_str()).find(|url| is_reachable(url));
    let url = url.unwrap_or(card_url);
    if profile.name.trim().is_empty() {
        return Err(ListError::Invalid(format!("the card at {card_url} has no name; give the agent one with --name")));
    }
    let mut entry = Entry::new(&profile.name, url)?;
    if !profile.description.is_empty() {
        entry.set("description", &profile.description)?;
    }
    if let Some(version) = &profile.version {
        entry.set("version", version)?;
    }
    let skills: Vec<SkillOfEntry<'_>> = profile
        .skills
        .iter()
        .map(|skill| SkillOfEntry { id: &skill.id, name: &skill.name, description: &skill.description })
        .collect();
    if !skills.is_empty() {
        entry.set("skills", &skills)?;
    }
    let said = &profile.capabilities;
    if said.streaming.is_some() || said.push_notifications.is_some() {
        let capabilities = CapabilitiesOfEntry { streaming: said.streaming, push_notifications: said.push_notifications };
        entry.set("capabilities", &capabilities)?;
    }
    entry.set("transport", &None::<Transport>)?;
    if let Some(token) = reading.identity.as_ref().and_then(|identity| identity.caip19()) {
        entry.set_on_chain(&OnChain { token, card_url: Some(card_url.to_owned()) })?;
    }
    Ok(entry)
}

/// A skill as the list knows it.
#[derive(Serialize)]
struct SkillOfEntry<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
}

/// Capabilities as the list knows them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CapabilitiesOfEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use crate::fetch::{FailureKind, FetchTrace, Fetched};

    use super::*;

    /// Serves these bodies, and nothing else.
    struct Site(HashMap<&'static str, &'static str>);

    impl CardFetcher for Site {
        async fn fetch(&self, uri: &str, origin: Origin) -> Result<Fetched, FetchFailure> {
            assert_eq!(origin, Origin::User);
            let trace = FetchTrace { final_url: Some(uri.to_owned()), ..FetchTrace::default() };
            let Some(text) = self.0.get(uri) else {
                let message = format!("{uri} answered 404.");
                let trace = FetchTrace { status: Some(404), ..trace };
                return Err(FetchFailure { kind: FailureKind::NotFound, message, retryable: false, trace });
            };
            let sha256 = Sha256Digest::of(text.as_bytes());
            let body = Body { sha256, bytes: text.len() as u64, kept: Some(Bytes::from_static(text.as_bytes())) };
            let trace = FetchTrace { status: Some(200), ..trace };
            Ok(Fetched { trace, body, wire_sha256: sha256, looks_like_bot_wall: false, length_verified: true })
        }
    }

    fn tried(site: &str) -> Vec<String> {
        places(site).unwrap().iter().map(Url::to_string).collect()
    }

    #[test]
    fn a_bare_host_is_tried_at_the_well_known_places_first() {
        let expected =
            ["https://a.example/.well-known/agent-card.json", "https://a.example/.well-known/agent.json", "https://a.example/"];
        for site in ["https://a.example", "https://a.example/", "a.example"] {
            assert_eq!(tried(site), expected, "{site}");
        }
        assert_eq!(tried("localhost:8001")[0], "https://localhost:8001/.well-known/agent-card.json");
    }

    #[test]
    fn a_url_with_a_path_is_tried_itself_first() {
        assert_eq!(
            tried("http://a.example/agents/x/?k=v#f"),
            [
                "http://a.example/agents/x/?k=v",
                "http://a.example/agents/x/.well-known/agent-card.json",
                "http://a.example/agents/x/.well-known/agent.json",
                "http://a.example/.well-known/agent-card.json",
                "http://a.example/.well-known/agent.json",
            ]
        );
        assert_eq!(tried("https://a.example/.well-known/agent.json").len(), 2);
        assert!(places("").is_err() && places("data:,x").is_err());
    }

    #[tokio::test]
    async fn the_first_card_is_taken_and_a_page_is_none() {
        let site = Site(HashMap::from([
            ("https://a.example/.well-known/agent-card.json", "<!doctype html>"),
            (
                "https://a.example/.well-known/agent.json",
                r#"{"name":"A","url":"https://a.example/a2a","skills":[{"id":"s"}],"capabilities":{"streaming":true}}"#,
            ),
        ]));
        let discovery = discover(&site, "a.example").await.unwrap();
        assert_eq!(discovery.attempts.len(), 2);
        assert!(discovery.attempts[0].failure.as_deref().unwrap().contains("not a card"));
        let found = discovery.found.unwrap();
        let entry = entry_of_card(&found.reading, &found.url).unwrap();
        assert_eq!(
            entry.value(),
            json!({ "name": "A", "url": "https://a.example/a2a", "skills": [{ "id": "s", "name": "", "description": "" }], "capabilities": { "streaming": true }, "transport": null })
        );
        let nothing = discover(&Site(HashMap::new()), "a.example").await.unwrap();
        assert!(nothing.found.is_none() && nothing.attempts.len() == 3 && nothing.attempts[0].status == Some(404));
    }

    #[tokio::test]
    async fn an_object_that_is_no_card_does_not_end_the_search() {
        let card = r#"{"name":"A","url":"https://a.example/a2a","capabilities":{}}"#;
        for other in ["{}", r#"{"error":"not found"}"#, r#"{"url":"https://a.example","status":404}"#, r#"{"name":"api"}"#] {
            let site = Site(HashMap::from([
                ("https://a.example/.well-known/agent-card.json", other),
                ("https://a.example/.well-known/agent.json", card),
            ]));
            let discovery = discover(&site, "a.example").await.unwrap();
            assert!(discovery.attempts[0].failure.as_deref().unwrap().contains("not a card"), "{other}");
            assert_eq!(discovery.found.unwrap().url, "https://a.example/.well-known/agent.json", "{other}");
        }
        let nameless = crate::card::convert::read(&json!({ "skills": [], "url": "https://a.example" }));
        assert!(entry_of_card(&nameless, "https://a.example").unwrap_err().to_string().contains("--name"));
        assert!(discover(&Site(HashMap::new()), "287").await.unwrap_err().to_string().contains("a number"));
    }

    #[test]
    fn a_card_whose_first_url_is_none_of_http_is_reached_where_it_can_be() {
        let card = |urls: &[&str]| {
            let interfaces: Vec<_> = urls.iter().map(|url| json!({ "url": url })).collect();
            crate::card::convert::read(&json!({ "name": "A", "supportedInterfaces": interfaces }))
        };
        let place = "https://a.example/card.json";
        let url = |urls: &[&str]| entry_of_card(&card(urls), place).unwrap().url().to_owned();
        assert_eq!(url(&["a.example:443", "https://b.example"]), "https://b.example");
        assert_eq!(url(&["javascript:alert(1)", "/relative", ""]), place);
        assert_eq!(url(&["ws-agent://a"]), "ws-agent://a");
        let hostile = crate::card::convert::read(&json!({ "name": "A\u{202e}x", "url": "https://a.example" }));
        assert!(entry_of_card(&hostile, place).is_err());
    }

    #[test]
    fn an_entry_remembers_the_token_that_its_card_names() {
        let token = "ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs";
        let card = json!({ "name": "A", "concordium": { "tokenAddress": token } });
        let reading = crate::card::convert::read(&card);
        let entry = entry_of_card(&reading, "https://a.example/card.json").unwrap();
        let on_chain = entry.on_chain().unwrap().unwrap();
        assert_eq!(
            (on_chain.token.to_string().as_str(), on_chain.card_url.as_deref()),
            (token, Some("https://a.example/card.json"))
        );
        assert_eq!(entry.url(), "https://a.example/card.json");
    }
}
