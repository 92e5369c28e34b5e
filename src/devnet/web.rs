use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::Either;
use tonic::body::BoxBody;
use tonic::codegen::http::header::{HeaderValue, ACCESS_CONTROL_EXPOSE_HEADERS};
use tonic::codegen::http::{Request, Response, Version};
use tonic::codegen::{BoxFuture, Service, StdError};
use tonic::server::NamedService;
use tonic_web::CorsGrpcWeb;

/// What a page may read of an answer's head: the status, and the block that the answer was made at.
const READABLE: HeaderValue = HeaderValue::from_static("grpc-status,grpc-message,grpc-status-details-bin,blockhash");

/// A service with two doors: HTTP/2 leads straight to it, and HTTP/1.1, which browsers speak here, by way of gRPC-web.
///
/// Pages of every origin may call: the chain holds nothing of worth, its accounts' keys are public.
#[derive(Debug, Clone)]
pub(super) struct TwoDoors<S> {
    native: S,
    /// Shared, because each native call clones both doors and would clone the rules for pages for nothing.
    web: Arc<CorsGrpcWeb<S>>,
}

impl<S> TwoDoors<S>
where
    S: Service<Request<BoxBody>, Response = Response<BoxBody>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<StdError> + Send,
{
    pub(super) fn of(service: S) -> Self {
        Self { native: service.clone(), web: Arc::new(tonic_web::enable(service)) }
    }
}

impl<S> Service<Request<BoxBody>> for TwoDoors<S>
where
    S: Service<Request<BoxBody>, Response = Response<BoxBody>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<StdError> + Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.native.poll_ready(context)
    }

    fn call(&mut self, request: Request<BoxBody>) -> Self::Future {
        // Browsers speak HTTP/2 over TLS only, so without it this is a native client, which needs no translation.
        if request.version() == Version::HTTP_2 {
            return Either::Left(self.native.call(request));
        }
        let mut web = CorsGrpcWeb::clone(&self.web);
        Either::Right(Box::pin(async move {
            poll_fn(|context| web.poll_ready(context)).await?;
            let mut response = web.call(request).await?;
            if let Some(readable) = response.headers_mut().get_mut(ACCESS_CONTROL_EXPOSE_HEADERS) {
                *readable = READABLE;
            }
            Ok(response)
        }))
    }
}

impl<S: NamedService> NamedService for TwoDoors<S> {
    const NAME: &'static str = S::NAME;
}
