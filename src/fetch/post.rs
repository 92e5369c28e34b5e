use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, CONTENT_TYPE, RETRY_AFTER};
use url::Url;

use super::deadline::Deadline;
use super::explain::no_answer;
use super::outcome::{FailureKind, FetchFailure, FetchTrace};
use super::retry::retry_after;
use super::settings::FetchSetupError;
use super::stop::Stop;
use super::target::{check_hop, host_of};
use super::{Fetcher, Origin};
use crate::digest::Sha256Digest;

/// A URL of the user's own that JSON is posted to. It may carry a secret anywhere in it, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct PostUrl(Url);

impl PostUrl {
    /// The host, which may be named in messages.
    pub fn host(&self) -> &str {
        host_of(&self.0)
    }

    /// The SHA-256 of the URL, which tells it from another one and does not show it.
    pub fn digest(&self) -> Sha256Digest {
        Sha256Digest::of(self.0.as_str().as_bytes())
    }
}

impl fmt::Debug for PostUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostUrl(hidden)")
    }
}

impl FromStr for PostUrl {
    type Err = FetchSetupError;

    /// Reads an `http:` or `https:` URL.
    fn from_str(text: &str) -> Result<Self, FetchSetupError> {
        let url = Url::parse(text.trim()).map_err(|_| FetchSetupError::Post)?;
        match url.scheme() {
            "http" | "https" => Ok(Self(url)),
            _ => Err(FetchSetupError::Post),
        }
    }
}

/// What a server said to a POST. Its body is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The status.
    pub status: u16,
    /// How long it asks to be left alone (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl Fetcher {
    /// Posts JSON to a URL that the user has configured, once, within the deadline of the settings.
    ///
    /// The URL gets the checks of a first hop that the user typed: it may be on this machine or in a private network, and
    /// plain http goes to this machine alone unless it is allowed. Redirects are not followed: a signed message is for one
    /// receiver.
    ///
    /// # Errors
    /// [`FetchFailure`] when there is no answer. Neither message nor trace holds more of the URL than its host.
    pub async fn post(&self, url: &PostUrl, headers: &[(&str, String)], body: Vec<u8>) -> Result<Posted, FetchFailure> {
        let parts = self.parts();
        let mut deadline = Deadline::after(parts.settings.deadline);
        let posted = async {
            check_hop(&url.0, Origin::User, &parts.typed.guard, &parts.settings)?;
            let _turn = deadline.paused(parts.limits.turn(url.host())).await;
            let mut all = header_map(headers)?;
            all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let proxied = parts.settings.proxy.is_some();
            let answer = async {
                let sent = async { parts.typed.pooled()?.post(url.0.clone()).headers(all).body(body).send().await };
                sent.await.map_err(|error| no_answer(&error, &url.0, proxied))
            };
            let response = deadline.within(url.host(), answer).await?;
            let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let wait = wait.and_then(|value| retry_after(value, SystemTime::now()));
            Ok(Posted { status: response.status().as_u16(), retry_after: wait })
        };
        posted.await.map_err(|stop: Stop| stop.with(FetchTrace::default()))
    }
}

fn header_map(headers: &[(&str, String)]) -> Result<HeaderMap, Stop> {
    let wrong = || Stop::new(FailureKind::ProtocolError, "a header of the request holds a character that none can carry");
    let pairs = headers.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        Ok((name, HeaderValue::from_str(value).map_err(|_| wrong())?))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_receiver_is_never_printed() {
        let url: PostUrl = " https://hooks.example/T0/geheim?token=geheim ".parse().unwrap();
        assert!(!format!("{url:?}").contains("geheim"));
        assert_eq!(url.host(), "hooks.example");
        for wrong in ["", "geheim", "ftp://geheim.example/", "https://"] {
            let error = wrong.parse::<PostUrl>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("geheim"), "{error}");
        }
    }

    #[test]
    fn a_header_takes_no_line_break() {
        assert_eq!(header_map(&[("webhook-id", "a".into())]).unwrap().len(), 1);
        assert!(header_map(&[("webhook-id", "a\r\nb: c".into())]).is_err());
    }
}
