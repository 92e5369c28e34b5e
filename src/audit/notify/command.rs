use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::{name_of, Answer, NotifyError, TransitionDocument};
use crate::audit::store::Delivery;
use crate::digest::Sha256Digest;

/// A program that is started once for each transition, with the transition as a line of JSON on its standard input. It
/// acknowledges by exiting with 0.
///
/// It is started directly and not by a shell, and nothing of a transition is among its arguments: strangers wrote parts of it.
/// Its own output goes nowhere.
#[derive(Debug, Clone)]
pub struct CommandSink {
    name: String,
    program: OsString,
    arguments: Vec<OsString>,
    timeout: Duration,
}

impl CommandSink {
    /// The program and its arguments, and how long it may take.
    ///
    /// # Errors
    /// [`NotifyError::Setup`] when there is no program.
    pub fn new(command: Vec<OsString>, timeout: Duration) -> Result<Self, NotifyError> {
        let words = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join("\0");
        let name = name_of("command", Sha256Digest::of(words.as_bytes()));
        let mut parts = command.into_iter();
        let program = parts.next().filter(|program| !program.is_empty());
        let program = program.ok_or(NotifyError::Setup("a command sink needs a program to start"))?;
        Ok(Self { name, program, arguments: parts.collect(), timeout })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) async fn tell(&self, delivery: &Delivery) -> Answer {
        let mut line = match serde_json::to_vec(&TransitionDocument::from(delivery)) {
            Ok(line) => line,
            Err(error) => return Answer::Failed(format!("the message cannot be written: {error}"), None),
        };
        line.push(b'\n');
        let program = self.program.to_string_lossy();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Answer::Failed(format!("{program} cannot be started: {error}"), None),
        };
        match tokio::time::timeout(self.timeout, feed(child, &line)).await {
            Ok(Ok(status)) if status.success() => Answer::Taken,
            Ok(Ok(status)) => Answer::Failed(format!("{program} ended with {status}"), None),
            Ok(Err(error)) => Answer::Failed(format!("{program} cannot be waited for: {error}"), None),
            Err(_) => Answer::Failed(format!("{program} took longer than {} s and was ended", self.timeout.as_secs_f64()), None),
        }
    }
}

async fn feed(mut child: Child, line: &[u8]) -> std::io::Result<ExitStatus> {
    if let Some(mut input) = child.stdin.take() {
        // A program need not read what it is told; its exit code counts.
        let _ = input.write_all(line).await;
    }
    child.wait().await
}
