//! Switches that are on, off, or left to the configuration, and what an empty variable means.

use std::ffi::OsStr;

use clap::builder::{Resettable, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};

/// Reads the value of a switch. A word that is neither yes nor no is refused, for either guess could open what should be shut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch;

const YES: [&str; 6] = ["1", "true", "yes", "on", "t", "y"];
const NO: [&str; 6] = ["0", "false", "no", "off", "f", "n"];

impl TypedValueParser for Switch {
    type Value = bool;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<bool, clap::Error> {
        let text = value.to_string_lossy();
        let is = |words: [&str; 6]| words.iter().any(|word| word.eq_ignore_ascii_case(&text));
        if is(YES) {
            return Ok(true);
        }
        if is(NO) {
            return Ok(false);
        }
        let flag = arg.and_then(Arg::get_long).map(|long| format!("--{long}")).unwrap_or_default();
        let variable = arg.and_then(Arg::get_env).map(|name| format!(" and {}", name.to_string_lossy())).unwrap_or_default();
        // What it holds is quoted as the shell's boundary would: it may act on a terminal.
        let text = super::shell::escape(&text);
        let message =
            format!("\"{text}\" is neither true nor false: {flag}{variable} take true, yes, on, 1 or false, no, off, 0");
        Err(clap::Error::raw(ErrorKind::InvalidValue, format!("{message}\n")).with_cmd(command))
    }
}

/// Takes a variable that is set to nothing for one that is not set.
pub(crate) fn forget_empty_variables(command: Command) -> Command {
    let forget = |arg: Arg| match arg.get_env().and_then(std::env::var_os) {
        Some(value) if value.is_empty() => arg.env(Resettable::Reset),
        _ => arg,
    };
    command.mut_args(forget).mut_subcommands(forget_empty_variables)
}
