//! The signals by which a user, or the system, asks the process to end.

use super::exit::CliError;

/// Waits for Ctrl-C or SIGTERM. From its making on, these signals no longer end the process by themselves.
pub(crate) struct Ends {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Ends {
    /// Call it on the runtime.
    pub(crate) fn listen() -> Result<Self, CliError> {
        use tokio::signal::unix::{signal, SignalKind};
        let failed = |error| CliError::internal(format!("signals cannot be received: {error}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    /// Ready at the next of them.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Ends {
    pub(crate) fn listen() -> Result<Self, CliError> {
        Ok(Self {})
    }

    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
