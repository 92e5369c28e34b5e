use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::{Answer, NotifyError, TransitionDocument};
use crate::audit::store::Delivery;
use crate::digest::Sha256Digest;

/// A program that is started once for each transition, with the transition as a line of JSON on its standard input. It
/// acknowledges by exiting with 0.
///
/// It is started directly and not by a shell, and nothing of a transition is among its arguments: strangers wrote parts of it.
/// Its own output goes nowhere. Of this process's environment it gets all but the settings (`CARDPROOF_…`): a secret may be among
/// them. When it takes too long, all that it has started is ended with it.
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
        let mut parts = command.into_iter();
        let program = parts.next().filter(|program| !program.is_empty());
        let program = program.ok_or(NotifyError::Setup("a command sink needs a program to start"))?;
        Ok(Self { name: "command".to_owned(), program, arguments: parts.collect(), timeout })
    }

    /// The same program under a name of its own in the store, for who has several.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn target(&self) -> String {
        let mut words = Vec::new();
        for word in std::iter::once(&self.program).chain(&self.arguments) {
            words.extend_from_slice(word.as_encoded_bytes());
            words.push(0);
        }
        Sha256Digest::of(&words).to_string()
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
        let settings = std::env::vars_os().map(|(name, _)| name);
        settings.filter(|name| name.as_encoded_bytes().starts_with(b"CARDPROOF_")).for_each(|name| {
            command.env_remove(name);
        });
        #[cfg(unix)]
        command.process_group(0);
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
    let mut group = Group(child.id());
    if let Some(mut input) = child.stdin.take() {
        // A program need not read what it is told; its exit code counts.
        let _ = input.write_all(line).await;
    }
    let status = child.wait().await;
    // What a program that has ended leaves running is its own business.
    group.0 = None;
    status
}

/// The process group of a program. Dropped before the program has ended, it is killed.
struct Group(Option<u32>);

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // Where there is no such program, at least the leader is killed as the child is dropped.
            let mut kill = std::process::Command::new("kill");
            kill.args(["-s", "KILL", "--", &format!("-{leader}")]);
            let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}
