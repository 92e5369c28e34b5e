use crate::identity::Badge;
use crate::registry::AgentStatus;
use crate::verify::{Class, Verdict};

/// How a value is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// The verdict is good.
    Good,
    /// The verdict is bad.
    Bad,
    /// The verdict is open.
    Open,
}

/// One line of a report for people: a word in front and what it says. Foreign text in it is not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The word in front, at most ten characters.
    pub label: &'static str,
    /// What it says.
    pub value: String,
    /// How the value is to be shown.
    pub tone: Tone,
}

/// The report of one verdict for people.
pub fn lines(verdict: &Verdict) -> Vec<Line> {
    let (word, tone) = match verdict.class() {
        Class::Match => ("MATCH", Tone::Good),
        Class::Mismatch => ("MISMATCH", Tone::Bad),
        Class::Absent => ("ABSENT", Tone::Open),
        Class::Undecided => ("UNDECIDED", Tone::Open),
    };
    let mut lines = Lines(vec![Line { label: "verdict", value: word.to_owned(), tone }]);
    let subject = verdict.subject.as_ref();
    lines.add(
        "agent",
        subject.map(|subject| {
            let badge = Badge { contract: subject.contract, token_id: subject.token_id };
            format!("{} of {} on {} ({badge})", subject.token_id, subject.contract, subject.network)
        }),
    );
    let revoked = verdict.anchor.as_ref().filter(|anchor| anchor.status == AgentStatus::Revoked);
    lines.add("status", revoked.map(|anchor| anchor.status.as_str().to_owned()));
    lines.add("uri", verdict.agent_uri.clone());
    let evidence = verdict.evidence.as_ref();
    lines.add("expected", verdict.anchored_sha256.map(|digest| digest.to_string()));
    let got = evidence.and_then(|evidence| evidence.sha256);
    lines.add("got", got.map(|digest| digest.to_string()));
    if let Some(evidence) = evidence {
        let wire = evidence.wire_sha256.filter(|wire| Some(*wire) != evidence.sha256);
        lines.add("on wire", wire.map(|digest| digest.to_string()));
        for hop in &evidence.trace.hops {
            lines.add("redirect", Some(format!("{} from {}", hop.status, hop.url)));
        }
        lines.add("final url", evidence.trace.final_url.clone());
    }
    lines.add("block", verdict.block.map(|block| format!("{} {} at {}", block.height, block.hash, block.time)));
    for note in &verdict.notes {
        lines.add("note", Some(format!("{} ({})", note.message, note.code)));
    }
    for check in &verdict.checks {
        lines.add("check", Some(format!("{}: {} ({})", check.severity.as_str(), check.message, check.code)));
    }
    lines.add("reason", Some(format!("{} ({})", verdict.message, verdict.reason)));
    lines.0
}

/// What tells a fault of the reader's own from one of the host, beside the report (C-15).
pub fn details(verdict: &Verdict) -> Vec<Line> {
    let mut lines = Lines(Vec::new());
    let anchor = verdict.anchor.as_ref();
    lines.add("owner", anchor.map(|anchor| anchor.owner.to_string()));
    lines.add("status", anchor.map(|anchor| anchor.status.as_str().to_owned()));
    if let Some(evidence) = &verdict.evidence {
        lines.add("address", evidence.trace.ip.map(|ip| ip.to_string()));
        lines.add("answer", evidence.trace.status.map(|status| format!("HTTP {status}")));
        lines.add("type", evidence.trace.content_type.clone());
        lines.add("encoding", evidence.trace.content_encoding.clone());
        lines.add("bytes", evidence.bytes.map(|bytes| bytes.to_string()));
        lines.add("got", evidence.sha256.map(|digest| digest.to_string()));
        lines.add("on wire", evidence.wire_sha256.map(|digest| digest.to_string()));
        lines.add("took", Some(format!("{} ms", evidence.trace.elapsed.as_millis())));
    }
    lines.add("expected", verdict.anchored_sha256.map(|digest| digest.to_string()));
    lines.add("block", verdict.block.map(|block| format!("{} {} at {}", block.height, block.hash, block.time)));
    let how = verdict.decoded_with.map(|how| format!(", read with the {}", how.as_str())).unwrap_or_default();
    lines.add("module", verdict.module_ref.map(|module| format!("{module}{how}")));
    lines.0
}

/// Lines as they are written.
struct Lines(Vec<Line>);

impl Lines {
    /// Adds a line, if there is something to say.
    fn add(&mut self, label: &'static str, value: Option<String>) {
        self.0.extend(value.map(|value| Line { label, value, tone: Tone::Plain }));
    }
}
