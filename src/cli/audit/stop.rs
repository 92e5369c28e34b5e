//! Being told to stop.

use tokio::sync::watch;

use crate::cli::exit::{CliError, Exit};
use crate::cli::signals::Ends;

/// Ctrl-C or SIGTERM, for everybody who has a clone.
#[derive(Debug, Clone)]
pub(super) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// From now on these signals no longer end the process by themselves.
    pub(super) fn on_signals() -> Result<Self, CliError> {
        let (sender, receiver) = watch::channel(false);
        let mut ends = Ends::listen()?;
        tokio::spawn(async move {
            ends.next().await;
            // A receiver sees the value only while the sender is there.
            let _ = sender.send(true);
            // Whoever asks again does not want to wait. What is stored stays, as after any other end.
            ends.next().await;
            std::process::exit(i32::from(Exit::Interrupted as u8));
        });
        Ok(Self(receiver))
    }

    /// Ready once it was told.
    pub(super) async fn told(&mut self) {
        // An error means that nobody can tell any more.
        if self.0.wait_for(|told| *told).await.is_err() {
            std::future::pending().await
        }
    }

    pub(super) fn is_told(&self) -> bool {
        *self.0.borrow()
    }
}

/// Waits for SIGHUP; for ever where there is none.
#[cfg(unix)]
pub(super) struct Reload(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Reload {
    pub(super) fn on_signal() -> Result<Self, CliError> {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())
            .map(Self)
            .map_err(|error| CliError::internal(format!("signals cannot be waited for: {error}")))
    }

    pub(super) async fn asked(&mut self) {
        self.0.recv().await;
    }
}

/// Waits for SIGHUP; for ever where there is none.
#[cfg(not(unix))]
pub(super) struct Reload;

#[cfg(not(unix))]
impl Reload {
    pub(super) fn on_signal() -> Result<Self, CliError> {
        Ok(Self)
    }

    pub(super) async fn asked(&mut self) {
        std::future::pending().await
    }
}
