//! Ctrl-C or SIGTERM while a transaction is on its way: the process ends, the transaction does not, and its hash is how to find it again.

use cardproof::chain::TransactionHash;
use tokio::task::AbortHandle;

use super::exit::{CliError, Exit};
use super::shell::Shell;
use super::signals::Ends;

/// Watches for Ctrl-C and SIGTERM until it is dropped.
pub(crate) struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// From now on they end the process with 130 and it says how to follow the transaction. Call it on the runtime.
pub(crate) fn watch(hash: TransactionHash, shell: &Shell) -> Watch {
    watch_saying(format!("interrupted; follow it with cardproof tx status {hash}"), shell)
}

/// From now on they end the process with 130 and it says that there is nothing to follow. Call it on the runtime.
pub(crate) fn watch_unsent(shell: &Shell) -> Watch {
    watch_saying("interrupted; this run has sent nothing".into(), shell)
}

/// From now on they end the process with 130 and this message. Call it on the runtime.
///
/// A task of its own watches, because a question at the terminal holds the one that asks.
pub(crate) fn watch_saying(message: String, shell: &Shell) -> Watch {
    let shell = shell.clone();
    let ends = Ends::listen();
    let task = tokio::spawn(async move {
        // Without signals the transaction goes on just the same.
        let Ok(mut ends) = ends else { return };
        ends.next().await;
        shell.failure(&CliError { exit: Exit::Interrupted, code: "interrupted", message, hint: None });
        std::process::exit(i32::from(Exit::Interrupted as u8));
    });
    Watch(task.abort_handle())
}
