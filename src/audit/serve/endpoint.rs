use std::future::{Future, IntoFuture};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::State;
use axum::http::{header, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::Router;
use tokio::net::TcpListener;

use super::{MetricsState, ServeError};

/// How long requests that have begun may still take once the daemon stops: a client that never ends its request must not keep
/// the process alive.
const GRACE: Duration = Duration::from_secs(3);

/// The endpoint, listening. Connections wait until it is served.
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
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
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is ready, and then lets the requests that have begun end.
    ///
    /// # Errors
    /// [`ServeError::Serve`] when the system fails.
    pub async fn serve(self, state: MetricsState, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
        let routes = Router::new()
            .route("/metrics", get(metrics))
            // Alive is whoever answers; whether the work gets done is readiness.
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .with_state(state);
        let (stopped, has_stopped) = tokio::sync::oneshot::channel();
        let stop = async move {
            stop.await;
            let _ = stopped.send(());
        };
        let overdue = async move {
            let _ = has_stopped.await;
            tokio::time::sleep(GRACE).await;
        };
        let served = axum::serve(self.listener, routes).with_graceful_shutdown(stop).into_future();
        tokio::select! {
            ended = served => ended.map_err(|cause: io::Error| ServeError::Serve(cause)),
            () = overdue => Ok(()),
        }
    }
}

async fn metrics(State(state): State<MetricsState>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.exposition())
}

async fn ready(State(state): State<MetricsState>) -> impl IntoResponse {
    match state.ready() {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")),
    }
}
