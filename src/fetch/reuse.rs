use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use hyper_util::client::legacy::connect::HttpInfo;
use hyper_util::client::legacy::Error as ClientError;
use reqwest::{Client, RequestBuilder, Response};

use super::client::GuardedClient;
use super::explain::closed_without_answer;
use crate::tls::find;

/// The connections that have brought an answer, by our end and the server's. Our ends are few, so this stays small.
#[derive(Debug, Default)]
pub(super) struct Answered(Mutex<HashMap<SocketAddr, SocketAddr>>);

impl Answered {
    fn note(&self, response: &Response) {
        if let Some(info) = response.extensions().get::<HttpInfo>() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(info.local_addr(), info.remote_addr());
        }
    }

    /// Whether a request failed because the server closed a connection that had served before.
    ///
    /// A server may close an idle connection at any time, and then a request on it crosses its farewell: that says nothing
    /// about the server's health.
    fn ended(&self, error: &reqwest::Error) -> bool {
        // HTTP/2 says that it goes, and that this request came too late.
        let goes_away = find::<h2::Error>(error).is_some_and(|error| error.is_remote() && error.is_go_away());
        if !goes_away && !closed_without_answer(error) {
            return false;
        }
        let mut extensions = hyper::http::Extensions::new();
        if let Some(connected) = find::<ClientError>(error).and_then(ClientError::connect_info) {
            connected.get_extras(&mut extensions);
        }
        let answered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        extensions.get::<HttpInfo>().is_some_and(|info| answered.get(&info.local_addr()) == Some(&info.remote_addr()))
    }
}

impl GuardedClient {
    /// Sends a request that may be repeated (GET). Where a connection from the pool proves to be closed, the request goes out at
    /// once on a new one, and only what comes of that counts (RFC 9112, section 9.3.1).
    pub(super) async fn get(&self, request: impl Fn(&Client) -> RequestBuilder) -> reqwest::Result<Response> {
        match request(self.pooled()?).send().await {
            Ok(response) => {
                self.answered.note(&response);
                Ok(response)
            }
            Err(error) if self.answered.ended(&error) => request(self.unpooled()?).send().await,
            Err(error) => Err(error),
        }
    }
}
