use std::net::IpAddr;
use std::time::Duration;

use super::Body;
use crate::digest::Sha256Digest;

/// What happened on the way to a body, complete or not.
///
/// Every text in it has been written by a stranger; escape it before it reaches a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchTrace {
    /// Where the last answer came from, without credentials; the host in punycode. `None` when no request was made.
    pub final_url: Option<String>,
    /// The redirects followed, in order.
    pub hops: Vec<Hop>,
    /// The address that was connected to last.
    pub ip: Option<IpAddr>,
    /// The status of the last answer.
    pub status: Option<u16>,
    /// Its `Content-Type`.
    pub content_type: Option<String>,
    /// Its `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// The `Content-Length` that an HTTP/1 answer was read up to. Nothing in the protocol tells whether it has more bytes.
    pub content_length: Option<u64>,
    /// The whole fetch, retries and redirects included.
    pub elapsed: Duration,
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The URL that answered with a redirect.
    pub url: String,
    /// The status it answered with.
    pub status: u16,
}

/// A complete body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// How it came.
    pub trace: FetchTrace,
    /// The content-decoded body: what the verdict is judged on.
    pub body: Body,
    /// The digest of the bytes on the wire, before content decoding; equal to the body's when nothing was encoded.
    pub wire_sha256: Sha256Digest,
    /// Whether the answer is marked as, or looks like, the challenge page of a bot wall.
    pub looks_like_bot_wall: bool,
    /// Whether the length was proven by Content-Length, chunking or HTTP/2. A plaintext body that ends only by closing is not, nor one
    /// that contradicts its Content-Length.
    pub length_verified: bool,
}

/// Why there is no complete body. Each kind is a reason of the verdict with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it; docs/reasons.md explains each")]
pub enum FailureKind {
    InvalidUri,
    UnsupportedScheme,
    BlockedAddress,
    BlockedPort,
    RedirectLimit,
    RedirectDowngrade,
    RedirectInvalid,
    DnsFailure,
    ConnectFailure,
    TlsFailure,
    Timeout,
    NotFound,
    RateLimited,
    HttpStatus,
    BlockedByBotWall,
    TooLarge,
    Truncated,
    BadContentCoding,
    ProtocolError,
}

/// A fetch that brought no complete body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchFailure {
    /// Which kind of failure.
    pub kind: FailureKind,
    /// One sentence with the cause. It holds no byte of a body and no credentials.
    pub message: String,
    /// Whether trying again later may help.
    pub retryable: bool,
    /// How far it came.
    pub trace: FetchTrace,
}
