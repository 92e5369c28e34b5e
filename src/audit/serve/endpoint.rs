use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{header, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::socket::Socket;
use super::{MetricsState, ServeError};

/// How long requests that have begun may still take once the daemon stops: a client that never ends its request must not keep
/// the process alive.
const GRACE: Duration = Duration::from_secs(3);
/// How long an answer may take to be read.
const ANSWER: Duration = Duration::from_secs(30);
/// How long to wait when no connection can be had, and how often in a row before that is an error.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSES: u32 = 100;

/// How much of a process the clients of its endpoint may take, so that none of them keeps the audit from its own connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointLimits {
    /// How many connections are open at once. When all places are taken, the one that has been silent for the longest, and has sent no
    /// whole request, makes room for a new one; when all have sent theirs, a new one waits for its turn.
    pub connections: usize,
    /// How long a request may take to come.
    pub request: Duration,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self { connections: 64, request: Duration::from_secs(10) }
    }
}

/// The endpoint, listening. Connections wait until it is served.
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
    limits: EndpointLimits,
}

impl Endpoint {
    /// Listens on `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// [`ServeError::Bind`] when the address cannot be had, before any run has begun.
    pub async fn bind(address: SocketAddr) -> Result<Self, ServeError> {
        let bind = |cause| ServeError::Bind { address, cause };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Ok(Self { listener, address, limits: EndpointLimits::default() })
    }

    /// The same endpoint with other limits.
    pub fn with_limits(self, limits: EndpointLimits) -> Self {
        Self { limits, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is ready, and then lets the requests that have begun end. A connection is for one request.
    ///
    /// # Errors
    /// [`ServeError::Serve`] when the system fails.
    pub async fn serve(self, state: MetricsState, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
        let Self { listener, limits, .. } = self;
        let places = Arc::new(Semaphore::new(limits.connections.max(1)));
        let (mut connections, mut failed) = (JoinSet::new(), 0);
        // Those that have sent no whole request yet, the oldest first.
        let mut silent: VecDeque<Silent> = VecDeque::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(cause) if failed >= PAUSES => return Err(ServeError::Serve(cause)),
                // Such as when the process has no file descriptor left for a moment.
                Err(_) => {
                    failed += 1;
                    sleep(PAUSE).await;
                    continue;
                }
            };
            failed = 0;
            silent.retain(Silent::is_still);
            if places.available_permits() == 0 {
                if let Some(oldest) = silent.pop_front() {
                    oldest.task.abort();
                }
            }
            let place = tokio::select! {
                biased;
                () = &mut stop => break,
                place = Arc::clone(&places).acquire_owned() => place,
            };
            let asked = Arc::new(Asked::default());
            let answered = answer(stream, state.clone(), limits.request, Arc::clone(&asked));
            let task = connections.spawn(async move {
                let _place = place;
                answered.await;
            });
            silent.push_back(Silent { task, asked });
        }
        drop(listener);
        let _ = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
        Ok(())
    }
}

/// Whether a connection has sent its request.
#[derive(Default)]
struct Asked {
    told: Notify,
    yes: AtomicBool,
}

/// A connection that has not, as far as is known.
struct Silent {
    task: AbortHandle,
    asked: Arc<Asked>,
}

impl Silent {
    fn is_still(&self) -> bool {
        !self.task.is_finished() && !self.asked.yes.load(Ordering::Acquire)
    }
}

/// Answers one request, or gives up on who does not end it.
async fn answer(stream: TcpStream, state: MetricsState, patience: Duration, asked: Arc<Asked>) {
    let has_asked = Arc::clone(&asked);
    let routes = service_fn(move |request: Request<Incoming>| {
        has_asked.yes.store(true, Ordering::Release);
        has_asked.told.notify_one();
        let answer = route(request.method(), request.uri().path(), &state);
        async move { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new().keep_alive(false).serve_connection(Socket(stream), routes);
    let late = async {
        if timeout(patience, asked.told.notified()).await.is_ok() {
            sleep(ANSWER).await;
        }
    };
    tokio::select! {
        _ = served => {}
        () = late => {}
    }
}

fn route(method: &Method, path: &str, state: &MetricsState) -> Response {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    match path {
        "/metrics" => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.exposition()).into_response(),
        // Alive is whoever answers; whether the work gets done is readiness.
        "/healthz" => "ok\n".into_response(),
        "/readyz" => match state.ready() {
            Ok(()) => "ready\n".into_response(),
            Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response(),
        },
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
