//! Telling of transitions: to a webhook, to a command, on a line.
//!
//! The store notes what is to be delivered together with the transition itself; a [`Notifier`] delivers it and keeps at it until
//! each sink has acknowledged, so every transition arrives at least once. What arrives twice carries the same idempotency key.

mod command;
mod document;
mod error;
mod line;
mod notifier;
mod secret;
mod webhook;

pub use command::CommandSink;
pub use document::TransitionDocument;
pub use error::NotifyError;
pub use line::LineSink;
pub use notifier::{Delivered, Notifier, NotifySettings};
pub use secret::WebhookSecret;
pub use webhook::Webhook;

use std::time::Duration;

use super::store::{Delivery, SinkKey};

/// Where transitions are told.
#[derive(Debug, Clone)]
pub enum Sink {
    /// An HTTP endpoint that speaks Standard Webhooks.
    Webhook(Webhook),
    /// A program that is given a transition on its standard input.
    Command(CommandSink),
    /// A line of JSON for each transition.
    Line(LineSink),
}

impl Sink {
    /// What the sink is called in the store: `webhook`, `command` or `stdout`, or the name it was given. It stays the same when a
    /// URL or a command is corrected, so that what waits goes there.
    pub fn name(&self) -> &str {
        match self {
            Self::Webhook(sink) => sink.name(),
            Self::Command(sink) => sink.name(),
            Self::Line(sink) => sink.name(),
        }
    }

    /// Its name, and a digest of where it leads.
    pub fn key(&self) -> SinkKey {
        let target = match self {
            Self::Webhook(sink) => sink.target(),
            Self::Command(sink) => sink.target(),
            Self::Line(_) => String::new(),
        };
        SinkKey { name: self.name().to_owned(), target }
    }

    async fn tell(&self, delivery: &Delivery) -> Answer {
        match self {
            Self::Webhook(sink) => sink.tell(delivery).await,
            Self::Command(sink) => sink.tell(delivery).await,
            Self::Line(sink) => sink.tell(delivery),
        }
    }
}

/// What a sink said to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// It has it.
    Taken,
    /// Not now: why, and how long it asks to be left alone.
    Failed(String, Option<Duration>),
    /// It wants nothing any more.
    Gone(String),
}
