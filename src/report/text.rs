use crate::identity::Badge;
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

/// The report of one verdict for people; `verbose` adds the details that tell a local fault from a remote one (C-15).
pub fn lines(verdict: &Verdict, verbose: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut plain = |label, value: Option<String>| {
        if let Some(value) = value {
            lines.push(Line { label, value, tone: Tone::Plain });
        }
    };
    plain(
        "agent",
        verdict.subject.as_ref().map(|subject| {
            let badge = Badge { contract: subject.contract, token_id: subject.token_id };
            format!("{} of {} on {} ({badge})", subject.token_id, subject.contract, subject.network)
        }),
    );
    plain(
        "status",
        verdict.anchor.as_ref().filter(|_| verbose || is_revoked(verdict)).map(|anchor| anchor.status.as_str().to_owned()),
    );
    plain("owner", verdict.anchor.as_ref().filter(|_| verbose).map(|anchor| anchor.owner.to_string()));
    plain("uri", verdict.agent_uri.clone());
    let evidence = verdict.evidence.as_ref();
    plain("expected", verdict.anchored_sha256.map(|digest| digest.to_string()));
    let got = evidence.and_then(|evidence| evidence.sha256);
    plain("got", got.map(|digest| digest.to_string()));
    if let Some(evidence) = evidence {
        let wire = evidence.wire_sha256.filter(|wire| verbose || Some(*wire) != evidence.sha256);
        plain("on wire", wire.map(|digest| digest.to_string()));
        for hop in &evidence.hops {
            plain("redirect", Some(format!("{} from {}", hop.status, hop.url)));
        }
        plain("final url", evidence.final_url.clone());
        if verbose {
            plain("address", evidence.ip.map(|ip| ip.to_string()));
            plain("status", evidence.status.map(|status| format!("HTTP {status}")));
            plain("type", evidence.content_type.clone());
            plain("encoding", evidence.content_encoding.clone());
            plain("bytes", evidence.bytes.map(|bytes| bytes.to_string()));
            plain("took", Some(format!("{} ms", evidence.elapsed.as_millis())));
        }
    }
    plain("block", verdict.block.map(|block| format!("{} {} at {}", block.height, block.hash, block.time)));
    if verbose {
        let module = verdict
            .module_ref
            .map(|module| format!("{module}, read with the {}", verdict.decoded_with.map_or("layout", |how| how.as_str())));
        plain("module", module);
    }
    for note in &verdict.notes {
        plain("note", Some(format!("{} ({})", note.message, note.code)));
    }
    for check in &verdict.checks {
        plain("check", Some(format!("{}: {} ({})", check.severity.as_str(), check.message, check.code)));
    }
    let (word, tone) = match verdict.class() {
        Class::Match => ("MATCH", Tone::Good),
        Class::Mismatch => ("MISMATCH", Tone::Bad),
        Class::Absent => ("ABSENT", Tone::Open),
        Class::Undecided => ("UNDECIDED", Tone::Open),
    };
    plain("reason", Some(format!("{} ({})", verdict.message, verdict.reason)));
    lines.insert(0, Line { label: "verdict", value: word.to_owned(), tone });
    lines
}

fn is_revoked(verdict: &Verdict) -> bool {
    verdict.anchor.as_ref().is_some_and(|anchor| anchor.status == crate::registry::AgentStatus::Revoked)
}
