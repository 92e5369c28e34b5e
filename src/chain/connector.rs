use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::TlsConnector;
use tonic::codegen::http::Uri;
use tonic::codegen::{BoxFuture, Service, StdError};

/// The only protocol that the API of nodes is spoken over.
pub(super) const HTTP2: &[u8] = b"h2";

/// Connects to a node over TLS by the program's own rules for certificates, which the gRPC library's connector does not know.
/// What it is called with has the scheme `http`, or that library would add TLS of its own.
#[derive(Clone)]
pub(super) struct Connector {
    tcp: HttpConnector,
    tls: TlsConnector,
    name: ServerName<'static>,
}

/// Why there is no connection, where TLS itself does not say.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("it broke off the TLS handshake")]
    Handshake,
    #[error("it speaks TLS, but not HTTP/2, which the API of nodes needs")]
    NoHttp2,
}

impl Connector {
    pub(super) fn new(tls: ClientConfig, name: ServerName<'static>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        Self { tcp, tls: TlsConnector::from(Arc::new(tls)), name }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = StdError;
    type Future = BoxFuture<Self::Response, StdError>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, tls, name) = (self.tcp.call(uri), self.tls.clone(), self.name.clone());
        let connected: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move {
            let stream = tls.connect(name, connecting.await?.into_inner()).await.map_err(handshake)?;
            match stream.get_ref().1.alpn_protocol() {
                Some(HTTP2) => Ok(TokioIo::new(stream)),
                _ => Err(ConnectError::NoHttp2.into()),
            }
        });
        connected
    }
}

fn handshake(error: io::Error) -> StdError {
    use io::ErrorKind as Io;
    match error.kind() {
        Io::UnexpectedEof | Io::ConnectionReset | Io::BrokenPipe | Io::ConnectionAborted => ConnectError::Handshake.into(),
        _ => error.into(),
    }
}
