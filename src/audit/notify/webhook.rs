use std::time::SystemTime;

use super::document::EventDocument;
use super::{Answer, NotifyError, WebhookSecret};
use crate::audit::store::Delivery;
use crate::fetch::{Fetcher, PostUrl};

/// A webhook after the Standard Webhooks specification: the idempotency key is the `webhook-id`, each attempt has its own
/// `webhook-timestamp`, and `webhook-signature` covers both and the body.
#[derive(Debug, Clone)]
pub struct Webhook {
    name: String,
    url: PostUrl,
    secrets: Vec<WebhookSecret>,
    fetcher: Fetcher,
}

impl Webhook {
    /// A webhook at `url`. While a secret is replaced there are two, and a message carries the signature of each.
    ///
    /// # Errors
    /// [`NotifyError::Setup`] without a secret: nobody could tell our messages from another's.
    pub fn new(url: PostUrl, secrets: Vec<WebhookSecret>, fetcher: Fetcher) -> Result<Self, NotifyError> {
        if secrets.is_empty() {
            return Err(NotifyError::Setup(
                "a webhook needs the secret that its messages are signed with, as its receiver shows it",
            ));
        }
        Ok(Self { name: "webhook".to_owned(), url, secrets, fetcher })
    }

    /// The same webhook under a name of its own in the store, for who has several.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn target(&self) -> String {
        self.url.digest().to_string()
    }

    pub(super) async fn tell(&self, delivery: &Delivery) -> Answer {
        let body = match serde_json::to_vec(&EventDocument::from(delivery)) {
            Ok(body) => body,
            Err(error) => return Answer::Failed(format!("the message cannot be written: {error}"), None),
        };
        let id = &delivery.transition.idempotency_key;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let signatures: Vec<_> = self.secrets.iter().map(|secret| secret.sign(id, now, &body)).collect();
        let headers =
            [("webhook-id", id.clone()), ("webhook-timestamp", now.to_string()), ("webhook-signature", signatures.join(" "))];
        let posted = match self.fetcher.post(&self.url, &headers, body).await {
            Ok(posted) => posted,
            Err(failure) => return Answer::Failed(failure.message, None),
        };
        let said = format!("{} answered {}", self.url.host(), posted.status);
        match posted.status {
            200..=299 => Answer::Taken,
            410 => Answer::Gone(format!("{said}: it wants no more messages")),
            300..=399 => Answer::Failed(format!("{said}: redirects are not followed, so configure the URL it leads to"), None),
            _ => Answer::Failed(said, posted.retry_after),
        }
    }
}
