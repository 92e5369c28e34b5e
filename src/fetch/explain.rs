use std::error::Error;
use std::io;

use url::Url;

use super::address::way_in;
use super::outcome::FailureKind;
use super::resolve::NameError;
use super::stop::Stop;
use super::target::host_of;

use crate::tls::{explain, find, links};

/// Why a request brought no answer. A request through a proxy is connected, and its name resolved, on the way to the proxy.
pub(super) fn no_answer(error: &reqwest::Error, url: &Url, proxied: bool) -> Stop {
    let host = host_of(url);
    if proxied && error.is_connect() && find::<rustls::Error>(error).is_none() {
        let message = format!("the proxy cannot be reached, or does not reach {host}: {}", causes_of(error));
        return Stop::new(FailureKind::ConnectFailure, message);
    }
    if let Some(name) = find::<NameError>(error) {
        return name_stop(name, host);
    }
    if let Some(fault) = explain(error) {
        return Stop::new(FailureKind::TlsFailure, format!("{host} {fault}"));
    }
    let io_kind = io_kinds(error).next();
    if error.is_connect() {
        return connect_stop(error, io_kind, url);
    }
    if find::<h2::Error>(error).is_some_and(h2::Error::is_remote) {
        return Stop::new(FailureKind::Truncated, format!("{host} reset the HTTP/2 stream before a complete answer"));
    }
    match find::<hyper::Error>(error) {
        Some(http) if http.is_parse() => {
            Stop::new(FailureKind::ProtocolError, format!("{host} did not answer in valid HTTP: {}", chain(http)))
        }
        Some(_) if closed_without_answer(error) => {
            let manner = if io_kind == Some(io::ErrorKind::ConnectionReset) { "reset" } else { "closed" };
            Stop::new(FailureKind::ConnectFailure, format!("{host} {manner} the connection without an answer"))
        }
        _ => Stop::new(FailureKind::ProtocolError, format!("{host} gave no usable answer: {}", causes_of(error))),
    }
}

/// Whether a connection that stood was closed or reset by the server before an answer came. To the HTTP library a head that
/// breaks off looks the same.
pub(super) fn closed_without_answer(error: &reqwest::Error) -> bool {
    if error.is_connect() || find::<rustls::Error>(error).is_some() {
        return false;
    }
    find::<hyper::Error>(error).is_some_and(|http| {
        let is_ended = http.is_incomplete_message() || http.is_canceled() || http.is_closed();
        !http.is_parse() && (is_ended || io_kinds(error).next().is_some())
    })
}

/// Why an answer ended before its body was complete.
pub(super) fn broken_body(error: &reqwest::Error, url: &Url, received: u64) -> Stop {
    let host = host_of(url);
    if find::<rustls::Error>(error).is_some() {
        let message = format!("the encrypted connection to {host} broke after {received} bytes of the body");
        return Stop::new(FailureKind::TlsFailure, message).passing(true);
    }
    let malformed = find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse)
        || io_kinds(error).any(|kind| matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput));
    if malformed {
        let message = format!("{host} broke the HTTP protocol after {received} bytes of the body: {}", causes_of(error));
        return Stop::new(FailureKind::ProtocolError, message);
    }
    let how = match io_kinds(error).next() {
        Some(io::ErrorKind::UnexpectedEof) => "the connection was closed".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "the connection was reset".to_owned(),
        _ => match find::<h2::Error>(error) {
            Some(stream) if stream.is_go_away() => "the HTTP/2 connection was given up".to_owned(),
            Some(stream) if stream.is_reset() => "the HTTP/2 stream was reset".to_owned(),
            _ => causes_of(error),
        },
    };
    let message = format!("{host} ended the body too early, after {received} bytes: {how}");
    Stop::new(FailureKind::Truncated, message)
}

fn name_stop(error: &NameError, host: &str) -> Stop {
    match error {
        NameError::Lookup(cause) => {
            Stop::new(FailureKind::DnsFailure, format!("the name {host} cannot be resolved: {}", chain(cause)))
        }
        NameError::Empty => Stop::new(FailureKind::DnsFailure, format!("the name {host} has no address")),
        NameError::Refused { ip, class } => {
            let message = format!("{host} is not connected to: one of its addresses is {ip}, {class}{}", way_in(*class));
            Stop::new(FailureKind::BlockedAddress, message)
        }
    }
}

fn connect_stop(error: &reqwest::Error, io_kind: Option<io::ErrorKind>, url: &Url) -> Stop {
    use io::ErrorKind as Io;
    let host = host_of(url);
    let port = url.port_or_known_default().unwrap_or_default();
    let (kind, message) = match io_kind {
        Some(Io::ConnectionRefused) => (FailureKind::ConnectFailure, format!("{host} refuses connections on port {port}")),
        Some(Io::UnexpectedEof | Io::ConnectionReset | Io::BrokenPipe | Io::ConnectionAborted) if url.scheme() == "https" => {
            (FailureKind::TlsFailure, format!("{host} broke off the TLS handshake on port {port}"))
        }
        Some(Io::TimedOut) => (FailureKind::ConnectFailure, format!("{host} completes no connection on port {port} in time")),
        _ if error.is_timeout() => {
            (FailureKind::ConnectFailure, format!("{host} completes no connection on port {port} in time"))
        }
        _ => (FailureKind::ConnectFailure, format!("{host} cannot be reached on port {port}: {}", causes_of(error))),
    };
    Stop::new(kind, message).passing(true)
}

/// What kinds of I/O error there are among the causes; wrappers say nothing themselves.
fn io_kinds<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = io::ErrorKind> + 'a {
    let kinds = links(error).filter_map(|link| link.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.filter(|kind| *kind != io::ErrorKind::Other)
}

/// The causes below an error of the HTTP client, whose own text only says that there is one.
fn causes_of(error: &reqwest::Error) -> String {
    error.source().map_or_else(|| "no cause is known".to_owned(), chain)
}

/// An error and its causes as one sentence part, each said once. What the HTTP client calls its own parts tells nobody anything.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let telling = links(error).filter(|link| !link.is::<hyper_util::client::legacy::Error>());
    for link in telling.map(ToString::to_string) {
        if text.is_empty() {
            text = link;
        } else if !text.contains(&link) {
            text.push_str(": ");
            text.push_str(&link);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn c_49_causes_are_flattened_and_said_once() {
        let error = Outer(io::Error::other(NameError::Empty));
        assert_eq!(chain(&error), "outer: the name has no address");
        assert!(find::<NameError>(&error).is_some());
    }
}
