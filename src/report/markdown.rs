use std::io::{self, Write};

use super::foreign::seen;
use super::run::CLASSES;
use super::{ReportRow, ReportWriter, RunEnd, RunHeader, Tally};
use crate::verify::{Class, Reason};

/// How many agents each table shows at most: a CI page has a size limit, and its reader has one, too.
const SHOWN: usize = 50;

/// A summary for a CI page: the counts, what changed, and the agents that need somebody.
///
/// What strangers wrote has every character escaped that Markdown or HTML would see something in, so it makes no link, image,
/// heading or mention.
pub(super) struct MarkdownReport<W> {
    out: W,
    header: RunHeader,
    tally: Tally,
    changes: Rows,
    mismatches: Rows,
    inactive: Rows,
    undecided: Rows,
    absent: Rows,
}

/// The rows that are shown, and how many there are.
#[derive(Default)]
struct Rows {
    shown: Vec<String>,
    all: u64,
}

impl Rows {
    fn add(&mut self, row: impl FnOnce() -> String) {
        self.all += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(row());
        }
    }
}

impl<W: Write> MarkdownReport<W> {
    pub(super) fn begin(out: W, header: &RunHeader) -> Self {
        Self {
            out,
            header: header.clone(),
            tally: Tally::default(),
            changes: Rows::default(),
            mismatches: Rows::default(),
            inactive: Rows::default(),
            undecided: Rows::default(),
            absent: Rows::default(),
        }
    }

    fn table(&mut self, heading: &str, columns: &[&str], rows: &Rows) -> io::Result<()> {
        if rows.all == 0 {
            return Ok(());
        }
        writeln!(self.out, "\n### {heading}\n\n| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()))?;
        for row in &rows.shown {
            writeln!(self.out, "{row}")?;
        }
        let hidden = rows.all - rows.shown.len() as u64;
        if hidden > 0 {
            writeln!(self.out, "\nand {hidden} more.")?;
        }
        Ok(())
    }
}

impl<W: Write + Send> ReportWriter for MarkdownReport<W> {
    fn row(&mut self, row: &ReportRow<'_>) -> io::Result<()> {
        let verdict = row.verdict;
        self.tally.add(row);
        for change in row.changes {
            let side = |side: &Option<String>| side.as_deref().map_or_else(String::new, inert);
            self.changes
                .add(|| format!("| {} | {} | {} | {} |", row.token(), change.words(), side(&change.before), side(&change.after)));
        }
        let rows = match verdict.class() {
            _ if row.inactive => &mut self.inactive,
            Class::Match => return Ok(()),
            Class::Mismatch => &mut self.mismatches,
            Class::Undecided => &mut self.undecided,
            Class::Absent => &mut self.absent,
        };
        rows.add(|| {
            let uri = verdict.agent_uri.as_deref().map_or_else(String::new, inert);
            format!("| {} | `{}` | {} | {uri} |", row.token(), verdict.reason, sentence(&verdict.message))
        });
        Ok(())
    }

    fn finish(mut self: Box<Self>, end: &RunEnd) -> io::Result<()> {
        let header = self.header.clone();
        let inactive = self.tally.inactive();
        let found = |class: &Class| self.tally.of_class(*class) > 0 || (*class == Class::Mismatch && inactive > 0);
        let worst = CLASSES.into_iter().filter(found);
        let verdict = match worst.max_by_key(|class| match class {
            Class::Match => 0,
            Class::Absent => 1,
            Class::Undecided => 2,
            Class::Mismatch => 3,
        }) {
            None => "No agent was judged",
            Some(Class::Match) => "Every card is the anchored one",
            Some(Class::Absent) => "Some agents have nothing to compare",
            Some(Class::Undecided) => "Some agents could not be decided",
            Some(Class::Mismatch) if self.tally.of_class(Class::Mismatch) > 0 => "Some cards are not the anchored ones",
            Some(Class::Mismatch) => "Some agents are revoked, and active ones are required",
        };
        let unfinished = if end.complete { "" } else { " (interrupted)" };
        writeln!(self.out, "## Agent cards: {verdict}{unfinished}\n")?;
        let at = header.block.map_or_else(
            || "without a block: no node answered".to_owned(),
            |block| format!("at block {} of {}", block.height, block.time.to_rfc3339()),
        );
        let (registry, network) = (header.registry(), sentence(&header.network));
        writeln!(self.out, "Registry {registry} on {network}, {at}. {}\n", sentence(&header.selection))?;
        writeln!(self.out, "| agents | {} |", CLASSES.map(Class::as_str).join(" | "))?;
        writeln!(self.out, "|{}", "---:|".repeat(1 + CLASSES.len()))?;
        let counts = CLASSES.map(|class| self.tally.of_class(class).to_string());
        writeln!(self.out, "| {} | {} |", self.tally.summary().agents, counts.join(" | "))?;

        let rows = |rows: &mut Rows| std::mem::take(rows);
        let changes = rows(&mut self.changes);
        self.table("What changed", &["agent", "change", "before", "after"], &changes)?;
        let columns = ["agent", "reason", "what happened", "card"];
        let mismatches = rows(&mut self.mismatches);
        self.table("Mismatches", &columns, &mismatches)?;
        let inactive = rows(&mut self.inactive);
        self.table("Revoked, which counts as a mismatch", &columns, &inactive)?;
        let undecided = rows(&mut self.undecided);
        self.table("Undecided", &columns, &undecided)?;
        let absent = rows(&mut self.absent);
        self.table("Nothing to compare", &columns, &absent)?;

        let mut reasons: Vec<(Reason, u64)> = Reason::ALL.iter().map(|reason| (*reason, self.tally.of_reason(*reason))).collect();
        reasons.retain(|(reason, count)| *count > 0 && reason.class() != Class::Match);
        if !reasons.is_empty() {
            writeln!(self.out, "\n### Reasons\n\n| reason | agents | what to do |\n|---|---:|---|")?;
            for (reason, count) in reasons {
                writeln!(self.out, "| `{reason}` | {count} | {} |", super::advice::advice(reason))?;
            }
        }
        self.out.flush()
    }
}

/// A foreign value, such as a URI, as Markdown that shows it and does nothing else.
fn inert(text: &str) -> String {
    format!("<code>{}</code>", sentence(text))
}

/// Prose that may quote foreign text, as Markdown that shows it and does nothing else.
fn sentence(text: &str) -> String {
    let mut shown = String::new();
    for c in seen(text).chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            // Inside a table `\|` is the only way to write it, and the entity is safe everywhere.
            '|' => shown.push_str("&#124;"),
            // These make mentions and references of what is already rendered, unless they stand alone.
            '@' | '#' => shown.extend(["<span>", c.encode_utf8(&mut [0; 4]), "</span>"]),
            // These mean nothing to Markdown, and prose is full of them.
            '\'' | ',' => shown.push(c),
            c if c.is_ascii_punctuation() => shown.extend(['\\', c]),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(inert("https://a.example/x"), "<code>https\\:\\/\\/a\\.example\\/x</code>");
        assert_eq!(inert("<img src=x>\n|"), "<code>&lt;img src\\=x&gt;\u{fffd}&#124;</code>");
        assert_eq!(inert("[a](b) `c` @d \u{202e}"), "<code>\\[a\\]\\(b\\) \\`c\\` <span>@</span>d \u{fffd}</code>");
    }
}
