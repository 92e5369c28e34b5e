//! Ctrl-C while a transaction is on its way: the process ends, the transaction does not, and its hash is how to find it again.

use cardproof::chain::TransactionHash;
use tokio::task::AbortHandle;

use super::exit::{CliError, Exit};
use super::shell::Shell;

/// Watches for Ctrl-C until it is dropped.
pub(crate) struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// From now on Ctrl-C ends the process with 130 and says how to follow the transaction. Call it on the runtime.
///
/// A task of its own watches, because a question at the terminal holds the one that asks.
pub(crate) fn watch(hash: TransactionHash, shell: &Shell) -> Watch {
    let shell = shell.clone();
    let signal = interrupts();
    let task = tokio::spawn(async move {
        if signal.await {
            let message = format!("interrupted; follow it with cardproof tx status {hash}");
            shell.failure(&CliError { exit: Exit::Interrupted, code: "interrupted", message, hint: None });
            std::process::exit(i32::from(Exit::Interrupted as u8));
        }
    });
    Watch(task.abort_handle())
}

/// Ends at the next Ctrl-C; `false` where none can be received. On Unix it counts from the call, not from the first poll.
#[cfg(unix)]
fn interrupts() -> impl std::future::Future<Output = bool> + Send {
    let signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    async move {
        match signal {
            Ok(mut signal) => signal.recv().await.is_some(),
            Err(_) => false,
        }
    }
}

#[cfg(not(unix))]
async fn interrupts() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}
