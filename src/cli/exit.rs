//! How a command ends: exit codes and failures.

use std::process::ExitCode;

/// The exit codes. `verify` and `audit` give 1, 3 and 4 their own meaning by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done; every agent is a match.
    Ok = 0,
    /// A negative answer: a mismatch, findings, a rejected transaction, different bytes.
    Negative = 1,
    /// Usage, configuration, wrong network: refused before any work.
    Usage = 2,
    /// Cannot tell now: a node or host is unavailable, or still pending when time ran out.
    CannotTell = 3,
    /// Only absent agents besides matches.
    Absent = 4,
    /// An internal error, or a disk or database failure.
    Internal = 5,
    /// Interrupted; what was finished is out and stored.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A command that failed: what to tell the user, and how to exit.
#[derive(Debug)]
pub(crate) struct CliError {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// A stable code for programs.
    pub(crate) code: &'static str,
    /// One sentence that says what is wrong.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl CliError {
    fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self { exit, code, message: message.into(), hint: None }
    }

    /// The command was used wrongly, or its configuration is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// Refused before any work for a reason with a code of its own.
    pub(crate) fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, message)
    }

    /// A negative answer.
    pub(crate) fn negative(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Negative, code, message)
    }

    /// It cannot be told now.
    pub(crate) fn cannot_tell(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::CannotTell, code, message)
    }

    /// Something that should not happen, or the disk failed.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Exit::Internal, "internal_error", message)
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
