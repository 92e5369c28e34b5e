use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Shell;

/// A progress bar on stderr; nothing at all where that is no terminal.
#[derive(Debug)]
pub(crate) struct Bar(Option<ProgressBar>);

impl Shell {
    /// A bar for work on `total` things.
    pub(crate) fn bar(&self, total: u64) -> Bar {
        if self.quiet || !std::io::stderr().is_terminal() {
            return Bar(None);
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let template = "{wide_bar} {pos}/{len}  {per_sec}  {msg}  {eta} left";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(500));
        Bar(Some(bar))
    }
}

impl Bar {
    /// So many are done.
    pub(crate) fn at(&self, done: u64, message: &str) {
        if let Some(bar) = &self.0 {
            bar.set_position(done);
            bar.set_message(message.to_owned());
        }
    }

    /// Lets something else write to the terminal.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
