//! The only place that writes to stdout and stderr.
//!
//! stdout carries the result and nothing else; everything else goes to stderr. Whatever a stranger wrote is escaped here,
//! on its way out, so that no escape sequence, direction override or invisible character reaches a terminal; and what is said
//! beside the result, errors above all, names no user or password of a URL.

mod bar;
mod out;

pub(crate) use bar::Bar;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use cardproof::credentials::without_credentials;
use cardproof::report::{self, Line, Tone};
use cardproof::verify::Verdict;
use serde::Serialize;
use zeroize::Zeroizing;

use super::exit::{CliError, Exit};
use super::options::OutputOptions;

/// Where a command writes.
#[derive(Debug, Clone)]
pub(crate) struct Shell {
    json: bool,
    quiet: bool,
    verbose: bool,
    colour_out: bool,
}

/// How a piece of text is shown on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
}

impl Style {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Green => Some("1;32"),
            Self::Red => Some("1;31"),
            Self::Yellow => Some("1;33"),
        }
    }
}

impl Shell {
    pub(crate) fn new(options: &OutputOptions) -> Self {
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json: options.json,
            quiet: options.quiet,
            verbose: options.verbose > 0,
            colour_out: colour && io::stdout().is_terminal(),
        }
    }

    /// Writes one line of the result for people, piece by piece.
    pub(crate) fn styled(&self, pieces: &[(Style, &str)]) {
        let mut line = String::new();
        for (style, text) in pieces {
            match style.code().filter(|_| self.colour_out) {
                Some(code) => drop(write!(line, "\x1b[{code}m{}\x1b[0m", escape(text))),
                None => line.push_str(&escape(text)),
            }
        }
        line.push('\n');
        write_out(line.as_bytes());
    }

    /// Writes one line of a report.
    fn toned(&self, line: &Line) {
        let style = match line.tone {
            Tone::Plain => Style::Plain,
            Tone::Good => Style::Green,
            Tone::Bad => Style::Red,
            Tone::Open => Style::Yellow,
        };
        self.styled(&[(Style::Dim, &format!("{:<11}", line.label)), (style, &line.value)]);
    }

    /// Writes the report of a verdict for people; with `-v` its details beside it, on stderr.
    pub(crate) fn verdict(&self, verdict: &Verdict) {
        report::lines(verdict).iter().for_each(|line| self.toned(line));
        for line in report::details(verdict) {
            self.detail(&format!("{:<11}{}", line.label, line.value));
        }
    }

    /// Has this folder removed also when the program ends because nobody reads its stdout any more. There is one such folder.
    pub(crate) fn remove_in_any_case(&self, folder: &Path) {
        let _ = TEMPORARY.set(folder.to_owned());
    }

    /// Writes one line of the result for people.
    pub(crate) fn line(&self, text: &str) {
        self.styled(&[(Style::Plain, text)]);
    }

    /// Writes a text of our own, line breaks included, to stdout: a manual page, a completion script.
    pub(crate) fn raw(&self, text: &[u8]) {
        write_out(text);
    }

    /// Writes bytes that a stranger may have written to stdout: as they are into a pipe or a file, escaped on a terminal.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        if io::stdout().is_terminal() {
            let text = String::from_utf8_lossy(bytes);
            text.split_inclusive('\n').for_each(|line| self.line(line.trim_end_matches(['\r', '\n'])));
        } else {
            write_out(bytes);
        }
    }

    /// Writes one JSON document to stdout, indented.
    pub(crate) fn document(&self, document: &impl Serialize) {
        write_document(serde_json::to_string_pretty(document));
    }

    /// Writes one JSON document on one line to stdout.
    pub(crate) fn document_line(&self, document: &impl Serialize) {
        write_document(serde_json::to_string(document));
    }

    /// Writes one serialised JSON document on a line to stdout.
    pub(crate) fn json_line(&self, document: &str) {
        write_out(format!("{}\n", escape_json(document)).as_bytes());
    }

    /// Says something beside the result, on stderr.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            write_err(&format!("{}\n", said(text)));
        }
    }

    /// Says something beside the result that only `-v` shows, on stderr.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            write_err(&format!("{}\n", said(text)));
        }
    }

    /// Warns on stderr, even with `-q`.
    pub(crate) fn warning(&self, text: &str) {
        write_err(&format!("warning: {}\n", said(text)));
    }

    /// Says on stderr what nobody may miss, even with `-q`.
    pub(crate) fn always(&self, text: &str) {
        write_err(&format!("{}\n", said(text)));
    }

    /// Whether there is a person to ask: both ends are a terminal.
    pub(crate) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks on stderr and reads one line; `None` where there is nobody to ask.
    pub(crate) fn ask(&self, question: &str) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        write_err(&said(question));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok().filter(|read| *read > 0)?;
        Some(answer)
    }

    /// Asks for what a command cannot do without; the answer is without the space around it.
    pub(crate) fn answer(&self, question: &str) -> Result<String, CliError> {
        let answer = self.ask(&format!("{question} ")).map(|answer| answer.trim().to_owned());
        answer.ok_or_else(|| CliError::usage("the questions were not answered, so nothing was done"))
    }

    /// Asks the controlling terminal for a secret, which is not shown; `None` where there is none.
    pub(crate) fn ask_secret(&self, question: &str) -> Option<Zeroizing<String>> {
        rpassword::prompt_password(question).ok().map(Zeroizing::new)
    }

    /// Tells why a command failed: on stderr for people and, with `--json`, as a document on stdout.
    pub(crate) fn failure(&self, error: &CliError) {
        self.complain(error);
        if self.json {
            self.document(&ErrorDocument {
                schema: "cardproof.error/1",
                code: error.code,
                message: &without_credentials(&error.message),
                hint: error.hint.as_deref().map(without_credentials).as_deref(),
            });
        }
    }

    /// Tells on stderr alone what went wrong.
    pub(crate) fn complain(&self, error: &CliError) {
        let mut text = format!("error: {}\n", said(&error.message));
        if let Some(hint) = &error.hint {
            let _ = writeln!(text, "  try: {}", said(hint));
        }
        write_err(&text);
    }
}

/// `cardproof.error/1`: a command that failed and has no other document.
#[derive(Serialize)]
struct ErrorDocument<'a> {
    schema: &'static str,
    code: &'static str,
    message: &'a str,
    hint: Option<&'a str>,
}

/// Prints what clap has to say: help and version to stdout, everything else to stderr and, with `--json`, as a document.
pub(crate) fn print_usage(error: &clap::Error, json: bool) -> ExitCode {
    let text = error.render().to_string();
    let printed = match without_credentials(&text) {
        // What it repeats of the command line is not shown in colours then.
        Cow::Owned(masked) if error.use_stderr() => {
            write_err(&masked);
            Ok(())
        }
        _ => error.print().and_then(|()| io::stdout().flush()),
    };
    match printed {
        Err(failure) if !error.use_stderr() => end_unread(&failure),
        _ => {}
    }
    if json && error.use_stderr() {
        let text = without_credentials(&text);
        let (message, hint) = usage_sentences(&text);
        write_document(serde_json::to_string_pretty(&ErrorDocument {
            schema: "cardproof.error/1",
            code: "usage",
            message: &message,
            hint: Some(&hint),
        }));
    }
    if error.use_stderr() {
        Exit::Usage.into()
    } else {
        Exit::Ok.into()
    }
}

/// What clap says about a command line, in one line, and what it suggests. It goes without the summary of the usage that follows.
fn usage_sentences(text: &str) -> (String, String) {
    let error = text.strip_prefix("error: ").unwrap_or(text);
    let (mut said, mut tips) = (Vec::new(), Vec::new());
    for line in error.lines().map(str::trim) {
        if line.starts_with("Usage: ") || line.starts_with("For more information") {
            break;
        }
        match line.strip_prefix("tip: ") {
            Some(tip) => tips.push(tip),
            None if line.is_empty() => {}
            None => said.push(line),
        }
    }
    // What follows a colon is a list, each on a line of its own.
    let message = match said.split_first() {
        Some((first, list)) if first.ends_with(':') && !list.is_empty() => format!("{first} {}", list.join(", ")),
        _ => said.join(" "),
    };
    tips.push("cardproof help shows every command and option");
    (message, tips.join("; "))
}

fn write_document(document: serde_json::Result<String>) {
    match document {
        Ok(text) => write_out(format!("{}\n", escape_json(&text)).as_bytes()),
        // Our documents have text keys only, so this does not happen; silence would be worse than this line.
        Err(error) => write_err(&format!("error: the document could not be written: {error}\n")),
    }
}

/// What is removed when the program ends because stdout cannot be written to.
static TEMPORARY: OnceLock<PathBuf> = OnceLock::new();

fn write_out(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(bytes).and_then(|()| out.flush()) {
        end_unread(&error);
    }
}

/// Ends the program because stdout cannot be written to. A reader that closed the pipe wants no more: then it ends quietly, as if by
/// SIGPIPE, for what was not written may have been a mismatch.
fn end_unread(error: &io::Error) -> ! {
    const BY_SIGPIPE: i32 = 128 + 13;
    let closed = error.kind() == io::ErrorKind::BrokenPipe;
    if !closed {
        write_err(&format!("error: stdout could not be written: {error}\n"));
    }
    if let Some(folder) = TEMPORARY.get() {
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(if closed { BY_SIGPIPE } else { i32::from(Exit::Internal as u8) });
}

fn write_err(text: &str) {
    // There is nowhere left to report a failure of stderr to.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether a character could act on a terminal, or hide, instead of being seen.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// What is said beside the result: safe for a terminal, and without the passwords of URLs, because it ends up in logs.
fn said(text: &str) -> String {
    escape(&without_credentials(text))
}

/// Makes a text safe for one line of a terminal: what could act on it is shown as `\u{1b}`.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Escapes inside a serialised JSON document what JSON itself allows unescaped; it can only stand inside strings.
fn escape_json(document: &str) -> String {
    let mut safe = String::with_capacity(document.len());
    for c in document.chars() {
        if is_unsafe(c) && c != '\n' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    const HOSTILE: &str = "a\x1b]8;;https://evil.example\x1b\\b\u{202e}c\u{200b}d\u{9b}31me\r\nf\u{7f}\u{e0041}";

    #[test]
    fn nothing_that_acts_on_a_terminal_passes() {
        let safe = escape(HOSTILE);
        assert!(!safe.chars().any(is_unsafe), "{safe}");
        assert!(safe.contains("\\u{1b}]8;;https://evil.example"), "it stays readable: {safe}");
        assert_eq!(escape("Bücher – 本"), "Bücher – 本");
    }

    #[test]
    fn an_escaped_document_is_the_same_document() {
        let document = json!({ "name": HOSTILE, "list": [HOSTILE] });
        for text in [escape_json(&document.to_string()), escape_json(&format!("{document:#}"))] {
            assert!(!text.chars().any(|c| is_unsafe(c) && c != '\n'));
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
        }
    }
}
