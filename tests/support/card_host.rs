//! A loopback server for cards that answers what a script says, down to the last byte and the way it hangs up.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cardproof::fetch::FetchSettings;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Settings with which a loopback server can be reached, and that try once.
pub fn loopback() -> FetchSettings {
    FetchSettings { allow_http: true, allow_private: true, retries: 0, ..FetchSettings::default() }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub head: String,
    pub at: Instant,
}

impl Request {
    /// The value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// One thing that the server does.
#[derive(Debug, Clone)]
pub enum Act {
    Write(Vec<u8>),
    Pause(Duration),
    /// One byte each time, for ever.
    Drip(u8, Duration),
    /// The same bytes, for ever.
    Endless(Vec<u8>),
    /// The same bytes, so many times.
    Repeat(Vec<u8>, usize),
    /// Nothing more, with the connection open.
    Hang,
    /// Closes in order: over TLS with close_notify.
    Close,
    /// Closes the socket under the encryption: no close_notify.
    Abort,
    /// A TCP reset.
    Reset,
}

/// What the server does for one request. Unless it ends the connection, the next request is waited for.
#[derive(Debug, Clone, Default)]
pub struct Answer(pub Vec<Act>);

impl Answer {
    /// A `200` with this body and its length.
    pub fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::with(200, &[], body)
    }

    /// A status with headers and a body of known length.
    pub fn with(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len().to_string();
        let mut all = headers.to_vec();
        all.push(("Content-Length", &length));
        Self::head(status, &all).write(body)
    }

    /// A status without a body.
    pub fn status(status: u16) -> Self {
        Self::with(status, &[], "")
    }

    pub fn redirect(status: u16, location: &str) -> Self {
        Self::with(status, &[("Location", location)], "")
    }

    /// The head of an answer alone, with exactly these headers.
    pub fn head(status: u16, headers: &[(&str, &str)]) -> Self {
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        Self::default().write(format!("HTTP/1.1 {status} Whatever\r\n{lines}\r\n"))
    }

    pub fn write(self, bytes: impl AsRef<[u8]>) -> Self {
        self.then(Act::Write(bytes.as_ref().to_vec()))
    }

    pub fn then(mut self, act: Act) -> Self {
        self.0.push(act);
        self
    }
}

type Script = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// The server. It ends when it is dropped.
pub struct CardHost {
    pub address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    connections: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
    requests: Mutex<Vec<Request>>,
}

impl CardHost {
    /// Plain HTTP on a port of its own.
    pub async fn http(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start("127.0.0.1:0", None, Arc::new(script)).await
    }

    /// Plain HTTP on another address, such as `[::1]:0`.
    pub async fn http_at(address: &str, script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(address, None, Arc::new(script)).await
    }

    /// HTTPS with these TLS settings.
    pub async fn https(tls: Arc<ServerConfig>, script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start("127.0.0.1:0", Some(tls), Arc::new(script)).await
    }

    async fn start(address: &str, tls: Option<Arc<ServerConfig>>, script: Script) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let scheme = if tls.is_some() { "https" } else { "http" };
        let task = tokio::spawn(accept(listener, tls.map(TlsAcceptor::from), script, Arc::clone(&state)));
        Self { address, scheme, state, task }
    }

    /// The URL of a path on this server, by its address.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// The same by a name, for a resolver that knows it.
    pub fn url_at(&self, name: &str, path: &str) -> String {
        format!("{}://{name}:{}{path}", self.scheme, self.address.port())
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// How many connections have been accepted.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The largest number of requests that were being answered at one time.
    pub fn most_open(&self) -> usize {
        self.state.most_open.load(Ordering::SeqCst)
    }
}

impl Drop for CardHost {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, script: Script, state: Arc<State>) {
    let mut tasks = tokio::task::JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        state.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, script, state) = (tls.clone(), Arc::clone(&script), Arc::clone(&state));
        tasks.spawn(async move {
            match tls {
                None => serve(Plain(socket), &script, &state).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(socket).await {
                        serve(Encrypted(Box::new(stream)), &script, &state).await;
                    }
                }
            }
        });
    }
}

/// A connection that can also be ended the wrong way.
trait Connection {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send;
    fn stream(&mut self) -> &mut Self::Stream;
    fn socket(self) -> TcpStream;
}

struct Plain(TcpStream);
struct Encrypted(Box<tokio_rustls::server::TlsStream<TcpStream>>);

impl Connection for Plain {
    type Stream = TcpStream;
    fn stream(&mut self) -> &mut TcpStream {
        &mut self.0
    }
    fn socket(self) -> TcpStream {
        self.0
    }
}

impl Connection for Encrypted {
    type Stream = tokio_rustls::server::TlsStream<TcpStream>;
    fn stream(&mut self) -> &mut Self::Stream {
        &mut self.0
    }
    fn socket(self) -> TcpStream {
        self.0.into_inner().0
    }
}

async fn serve(mut connection: impl Connection, script: &Script, state: &State) {
    while let Some(request) = read_request(connection.stream()).await {
        state.requests.lock().unwrap().push(request.clone());
        let open = state.open.fetch_add(1, Ordering::SeqCst) + 1;
        state.most_open.fetch_max(open, Ordering::SeqCst);
        let end = answer(connection.stream(), script(&request)).await;
        state.open.fetch_sub(1, Ordering::SeqCst);
        let asked_to_close = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        match end {
            None if !asked_to_close => {}
            None => {
                let _ = connection.stream().shutdown().await;
                return;
            }
            Some(Act::Close) => {
                let _ = connection.stream().shutdown().await;
                return;
            }
            Some(Act::Reset) => {
                let _ = connection.socket().set_zero_linger();
                return;
            }
            Some(_) => {
                let _ = connection.socket().shutdown().await;
                return;
            }
        }
    }
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut words = head.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some(Request { method, path, head, at: Instant::now() })
}

/// Acts, and says how the connection ends if it does.
async fn answer(stream: &mut (impl AsyncWrite + Unpin), answer: Answer) -> Option<Act> {
    for act in answer.0 {
        let written = match act {
            Act::Write(bytes) => write(stream, &bytes).await,
            Act::Pause(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Act::Drip(byte, every) => loop {
                if let Err(error) = write(stream, &[byte]).await {
                    break Err(error);
                }
                tokio::time::sleep(every).await;
            },
            Act::Endless(bytes) => loop {
                if let Err(error) = write(stream, &bytes).await {
                    break Err(error);
                }
            },
            Act::Repeat(bytes, times) => {
                let mut result = Ok(());
                for _ in 0..times {
                    result = result.and(write(stream, &bytes).await);
                }
                result
            }
            Act::Hang => std::future::pending().await,
            end => return Some(end),
        };
        if written.is_err() {
            return Some(Act::Abort);
        }
    }
    None
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}
