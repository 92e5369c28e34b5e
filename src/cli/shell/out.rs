use std::io::{self, IsTerminal, Write};

use super::{escape, escape_json, write_out, Shell};

/// How much is gathered before it is written in the middle of a document.
const GATHERED: usize = 32 << 10;

/// stdout for a report that is written piece by piece. It goes out in whole lines, escaped like everything else.
pub(crate) struct Out {
    json: bool,
    terminal: bool,
    gathered: Vec<u8>,
}

impl Shell {
    /// stdout for a report. In JSON what could act on a terminal is always escaped, in other formats on a terminal.
    pub(crate) fn out(&self, json: bool) -> Out {
        Out { json, terminal: io::stdout().is_terminal(), gathered: Vec::new() }
    }
}

impl Out {
    fn release(&mut self, end: usize) {
        let lines: Vec<u8> = self.gathered.drain(..end).collect();
        let text = String::from_utf8_lossy(&lines);
        if self.json {
            write_out(escape_json(&text).as_bytes());
        } else if self.terminal {
            let safe = |line: &str| match line.strip_suffix('\n') {
                Some(line) => escape(line.trim_end_matches('\r')) + "\n",
                None => escape(line),
            };
            write_out(text.split_inclusive('\n').map(safe).collect::<String>().as_bytes());
        } else {
            write_out(&lines);
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        // A reader of lines sees each result as it is reached.
        if bytes.ends_with(b"\n") || self.gathered.len() >= GATHERED {
            if let Some(last) = self.gathered.iter().rposition(|byte| *byte == b'\n') {
                self.release(last + 1);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let end = self.gathered.len();
        if end > 0 {
            self.release(end);
        }
        Ok(())
    }
}
