use std::fmt;
use std::io;
use std::sync::Arc;

use super::{Answer, TransitionDocument};
use crate::audit::store::Delivery;

type Write = dyn Fn(&str) -> io::Result<()> + Send + Sync;

/// A line of JSON for each transition, without its line break, handed to whoever may print it.
#[derive(Clone)]
pub struct LineSink(Arc<Write>);

impl LineSink {
    /// Lines go to `write`, which says whether the line is out.
    pub fn new(write: impl Fn(&str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    pub(super) fn name(&self) -> &'static str {
        "stdout"
    }

    pub(super) fn tell(&self, delivery: &Delivery) -> Answer {
        let line = serde_json::to_string(&TransitionDocument::from(delivery)).map_err(io::Error::other);
        match line.and_then(|line| (self.0)(&line)) {
            Ok(()) => Answer::Taken,
            Err(error) => Answer::Failed(format!("the line cannot be written: {error}"), None),
        }
    }
}

impl fmt::Debug for LineSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineSink")
    }
}
