use std::future::{poll_fn, Future};
use std::net::{IpAddr, SocketAddr};
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Body as _;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONNECTION, HOST, USER_AGENT};
use hyper::Request;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Position, Url};

use super::body::Body;
use crate::digest::{Sha256Digest, Sha256Stream};

/// How long the whole look may take, if not less is allowed. What it cannot find out by then does not change a verdict.
const LONGEST: Duration = Duration::from_secs(5);

/// How long more bytes are waited for where the server does not close, as it is asked to.
const LINGER: Duration = Duration::from_millis(500);

/// Whether a body that is not the `expected` one looks like the beginning of a card. A complete document of another content does not, nor
/// does what is no card at all: their hosts are not asked twice.
pub(super) fn may_be_cut(body: &Body, expected: Sha256Digest) -> bool {
    let Some(bytes) = &body.kept else { return true };
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let lacks_its_end = || [&b"\n"[..], b"\r\n"].iter().any(|end| Sha256Digest::of(&[bytes, *end].concat()) == expected);
    match start.first() {
        None => true,
        Some(b'{' | b'[') => serde_json::from_slice::<serde::de::IgnoredAny>(start).is_err() || lacks_its_end(),
        Some(_) => false,
    }
}

/// An HTTP/1 answer whose body ended where its `Content-Length` said.
pub(super) struct FirstAnswer<'a> {
    /// What was asked for, without credentials and fragment.
    pub(super) url: &'a Url,
    /// The address that sent it, which has passed every check.
    pub(super) ip: IpAddr,
    /// The digest of its body on the wire.
    pub(super) wire_sha256: Sha256Digest,
    /// How many bytes it had there.
    pub(super) length: u64,
}

/// Asks again, on connections where what follows a body can be seen.
///
/// An HTTP client stops at the `Content-Length` and drops what comes after it, so a server that declares too little seems to send a
/// card that differs.
#[derive(Debug)]
pub(super) struct SurplusProbe {
    tls: Arc<ClientConfig>,
    user_agent: String,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl SurplusProbe {
    pub(super) fn new(mut tls: ClientConfig, user_agent: &str) -> Self {
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { tls: Arc::new(tls), user_agent: user_agent.to_owned() }
    }

    /// Whether the server sends the same body again and more bytes after it. It gets no more time than `allowed`.
    pub(super) async fn sends_more(&self, first: &FirstAnswer<'_>, allowed: Duration) -> bool {
        // A look that fails says nothing: the answer that was judged stands.
        matches!(timeout(LONGEST.min(allowed), self.look(first)).await, Ok(Ok(true)))
    }

    async fn look(&self, first: &FirstAnswer<'_>) -> Result<bool, Failure> {
        let port = first.url.port_or_known_default().ok_or("no port")?;
        let tcp = TcpStream::connect(SocketAddr::new(first.ip, port)).await?;
        let request = Request::get(&first.url[Position::BeforePath..Position::AfterQuery])
            .header(HOST, &first.url[Position::BeforeHost..Position::AfterPort])
            .header(ACCEPT, "*/*")
            .header(ACCEPT_ENCODING, "identity")
            .header(USER_AGENT, &self.user_agent)
            .header(CONNECTION, "close")
            .body(reqwest::Body::default())?;
        if first.url.scheme() == "http" {
            return has_surplus(tcp, request, first).await;
        }
        let host = first.url.host_str().ok_or("no host")?.trim_matches(['[', ']']);
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let tls = connector.connect(ServerName::try_from(host.to_owned())?, tcp).await?;
        has_surplus(tls, request, first).await
    }
}

async fn has_surplus<S>(stream: S, request: Request<reqwest::Body>, first: &FirstAnswer<'_>) -> Result<bool, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, mut connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut exchange = pin!(async {
        let mut body = sender.send_request(request).await?.into_body();
        let mut hash = Sha256Stream::new();
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            if let Ok(chunk) = frame?.into_data() {
                hash.update(&chunk);
            }
            // It is another answer now, whatever else it has.
            if hash.bytes() > first.length {
                break;
            }
        }
        Ok::<_, hyper::Error>(hash.finish())
    });
    let mut is_over = false;
    let digest = poll_fn(|context| {
        // It fails where bytes follow the body; those are looked at below.
        is_over = is_over || connection.poll_without_shutdown(context).is_ready();
        exchange.as_mut().poll(context)
    });
    if digest.await? != first.wire_sha256 {
        return Ok(false);
    }
    let parts = connection.into_parts();
    if !parts.read_buf.is_empty() {
        return Ok(true);
    }
    let more = timeout(LINGER, parts.io.into_inner().read_u8()).await;
    Ok(matches!(more, Ok(Ok(_))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_a_beginning_is_asked_for_again() {
        let card = b"{\"name\":\"a card\"}\n";
        let expected = Sha256Digest::of(card);
        let may_be_cut = |bytes: &[u8]| super::may_be_cut(&Body::read(bytes, u64::MAX).unwrap(), expected);
        for cut in [&card[..card.len() - 1], &card[..card.len() - 2], &card[..3], b"", b"\xef\xbb\xbf{"] {
            assert!(may_be_cut(cut), "{cut:?}");
        }
        for whole in [&b"{\"name\":\"another card\"}"[..], b"[]\n", b"<html>", b"\n <!DOCTYPE html>", b"a text"] {
            assert!(!may_be_cut(whole), "{whole:?}");
        }
    }
}
