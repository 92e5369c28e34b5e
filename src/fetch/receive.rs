use std::future::poll_fn;
use std::pin::Pin;

use hyper::body::Body as _;
use reqwest::header::{HeaderMap, HeaderName, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use reqwest::{Response, Version};
use url::Url;

use super::answer::looks_like_wall;
use super::body::{Body, BodyStream, OverCap};
use super::coding::{CodingError, Decoding};
use super::explain::broken_body;
use super::outcome::{FailureKind, FetchTrace, Fetched};
use super::stop::Stop;
use super::target::host_of;
use crate::digest::{Sha256Digest, Sha256Stream};

/// A complete body and what is known of how it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) body: Body,
    pub(super) wire_sha256: Sha256Digest,
    pub(super) looks_like_bot_wall: bool,
    pub(super) length_verified: bool,
}

impl Card {
    pub(super) fn fetched(self, trace: FetchTrace) -> Fetched {
        let Self { body, wire_sha256, looks_like_bot_wall, length_verified } = self;
        Fetched { trace, body, wire_sha256, looks_like_bot_wall, length_verified }
    }
}

/// Reads the body of a `200` to its end, hashing it on the wire and decoded.
pub(super) async fn receive(response: Response, url: &Url, cap: u64) -> Result<Card, Stop> {
    let headers = response.headers().clone();
    let version = response.version();
    let chunked = is_chunked(&headers, version, url)?;
    let declared = content_length(&headers);
    let length = if chunked { None } else { declared };
    if length.is_some_and(|length| length > cap) {
        return Err(too_large(url, cap));
    }
    let codings = values(&headers, &CONTENT_ENCODING);
    let codings: Vec<&str> = codings.iter().map(String::as_str).collect();
    let mut decoding = Decoding::new(&codings, cap).map_err(|error| coding_stop(&error, url, cap))?;
    let identity = decoding.is_identity();
    let mut body = BodyStream::new(cap, length.filter(|_| identity));
    // What is not encoded is hashed once.
    let mut wire = Sha256Stream::new();
    let mut received = 0_u64;
    let mut frames = reqwest::Body::from(response);
    while let Some(frame) = poll_fn(|context| Pin::new(&mut frames).poll_frame(context)).await {
        // What is no data is trailers, which nobody needs.
        let Ok(chunk) = frame.map_err(|error| broken_body(&error, url, received))?.into_data() else { continue };
        received += chunk.len() as u64;
        if received > cap {
            return Err(too_large(url, cap));
        }
        if !identity {
            wire.update(&chunk);
        }
        decoding.push(&chunk, &mut body).map_err(|error| coding_stop(&error, url, cap))?;
    }
    // An HTTP/2 stream that is reset "without an error" looks like its end to the client, so the length is compared here too; without
    // one, only a stream that was ended properly is complete. A client that decodes hides that: then nothing proves it.
    let ended = frames.is_end_stream();
    if length.is_some_and(|length| length != received) {
        let message = format!("{} ended the body too early, after {received} bytes", host_of(url));
        return Err(Stop::new(FailureKind::Truncated, message));
    }
    // TLS says itself where a stream ends; only plaintext that ends by closing may have been cut by anybody.
    let framed = if version >= Version::HTTP_2 { ended } else { chunked || url.scheme() == "https" };
    // Chunking decides over a Content-Length (RFC 9112, section 6.3), but one of the two is wrong.
    let length_verified = (length.is_some() || framed) && declared.is_none_or(|declared| declared == received);
    decoding.finish(&mut body).map_err(|error| match error {
        CodingError::Cut(_) if !length_verified => {
            Stop::new(FailureKind::Truncated, format!("{} ended the connection, and {error}", host_of(url)))
        }
        _ => coding_stop(&error, url, cap),
    })?;
    let body = body.finish();
    Ok(Card {
        wire_sha256: if identity { body.sha256 } else { wire.finish() },
        looks_like_bot_wall: looks_like_wall(&headers, body.kept.as_deref()),
        length_verified,
        body,
    })
}

/// Whether the transfer is chunked. Any other transfer coding would leave bytes that are not the body.
fn is_chunked(headers: &HeaderMap, version: Version, url: &Url) -> Result<bool, Stop> {
    let codings = values(headers, &TRANSFER_ENCODING).join(",");
    if version >= Version::HTTP_2 || codings.is_empty() {
        return Ok(false);
    }
    if codings.trim().eq_ignore_ascii_case("chunked") {
        return Ok(true);
    }
    let message = format!("{} uses a transfer coding other than chunked", host_of(url));
    Err(Stop::new(FailureKind::ProtocolError, message))
}

/// The declared length. A list that repeats one value is that value (RFC 9110, section 8.6).
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter().flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let first = lengths.next()?.trim().parse().ok()?;
    lengths.all(|other| other.trim().parse() == Ok(first)).then_some(first)
}

/// All values of a header, unreadable characters replaced.
pub(super) fn values(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}

fn too_large(url: &Url, cap: u64) -> Stop {
    let message = format!("the body from {} has more than {cap} bytes (--max-bytes)", host_of(url));
    Stop::new(FailureKind::TooLarge, message)
}

fn coding_stop(error: &CodingError, url: &Url, cap: u64) -> Stop {
    match error {
        CodingError::TooLarge(OverCap { .. }) => too_large(url, cap),
        _ => Stop::new(FailureKind::BadContentCoding, format!("{}: {error}", host_of(url))),
    }
}
