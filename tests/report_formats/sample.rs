//! A run with something of everything, and with agents whose every word is an attack.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cardproof::chain::{Block, BlockHash, DecodedWith, ModuleRef};
use cardproof::digest::Sha256Digest;
use cardproof::fetch::FetchTrace;
use cardproof::identity::{AccountAddress, Caip2, ContractAddress, TokenId, TESTNET};
use cardproof::registry::{AgentStatus, Timestamp};
use cardproof::report::{Change, Format, HistoryPoint, ReportOptions, ReportRow, RunEnd, RunHeader};
use cardproof::verify::{Anchor, Evidence, Note, NoteCode, Reason, Subject, Verdict};

/// When the run began.
pub const START: Timestamp = Timestamp(1_785_771_369_045);

/// What a stranger may anchor as the URI of a card, and so what every format must keep harmless.
pub const HOSTILE: &str = "=cmd|'/C calc'!A0</code></script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">]]>&\u{1b}[31m\u{202e}[click](https://evil.example) `x` |\n\"# HELP";

pub const CONTRACT: ContractAddress = ContractAddress { index: 10082, subindex: 0 };

pub fn header() -> RunHeader {
    RunHeader {
        id: Some(7),
        network: "testnet".into(),
        contract: CONTRACT,
        block: Some(Block { hash: BlockHash([0xb1; 32]), height: 41_000_287, time: Timestamp(START.0 - 4_500) }),
        started_at: START,
        selection: "All agents: the end was found at token id 6, after which 64 ids have no agent.".into(),
    }
}

pub fn end() -> RunEnd {
    RunEnd { finished_at: Timestamp(START.0 + 12_345), complete: true, earlier_success: None }
}

/// A verdict of this reason, with the evidence that goes with it.
pub fn verdict(token: u64, reason: Reason) -> Verdict {
    let anchored = Sha256Digest::of(b"the anchored card");
    let served = match reason {
        Reason::Match => Some(anchored),
        Reason::HashMismatch => Some(Sha256Digest::of(b"another card")),
        _ => None,
    };
    let uri = format!("https://cards.example/{token}/agent-card.json");
    let fetched = served.is_some() || reason == Reason::Timeout;
    Verdict {
        subject: Some(Subject {
            network: "testnet".into(),
            chain: Caip2::of(&TESTNET.genesis),
            contract: CONTRACT,
            token_id: TokenId(token),
        }),
        block: header().block,
        anchor: Some(Anchor { owner: AccountAddress([1; 32]), status: AgentStatus::Active, registered_at: None }),
        agent_uri: (reason != Reason::NoUriOnChain).then_some(uri.clone()),
        anchored_sha256: (reason != Reason::NoHashOnChain).then_some(anchored),
        reason,
        message: reason.sentence().into(),
        evidence: fetched.then(|| Evidence {
            trace: FetchTrace {
                final_url: Some(uri),
                ip: Some([203, 0, 113, 7].into()),
                status: served.map(|_| 200),
                content_type: Some("application/json".into()),
                elapsed: Duration::from_millis(87),
                ..FetchTrace::default()
            },
            bytes: served.map(|_| 2048),
            sha256: served,
            wire_sha256: served,
        }),
        notes: Vec::new(),
        checks: Vec::new(),
        decoded_with: Some(DecodedWith::Schema),
        module_ref: Some(ModuleRef([7; 32])),
        started_at: Timestamp(START.0 + 1_000),
        elapsed: Duration::from_millis(120 + token % 1000),
    }
}

/// One agent of the sample.
pub struct Agent {
    pub verdict: Verdict,
    pub changes: Vec<Change>,
    pub history: Vec<HistoryPoint>,
}

impl Agent {
    fn of(verdict: Verdict) -> Self {
        Self { verdict, changes: Vec::new(), history: Vec::new() }
    }

    pub fn row(&self) -> ReportRow<'_> {
        ReportRow { verdict: &self.verdict, changes: &self.changes, history: &self.history, inactive: false }
    }
}

/// The agents of the sample run.
pub fn agents() -> Vec<Agent> {
    let mut changed = Agent::of(verdict(1, Reason::HashMismatch));
    changed.verdict.notes.push(Note::new(NoteCode::MatchesWithoutFinalNewline));
    changed.changes.push(Change {
        kind: "match_to_mismatch",
        before: Some("match".into()),
        after: Some("mismatch".into()),
        at: START,
        idempotency_key: "testnet/10082,0/1/match_to_mismatch/41000287".into(),
    });
    let day = |days: u64| Timestamp(START.0 - days * 86_400_000);
    let point = |days, reason| HistoryPoint { at: day(days), reason, sha256: Some(Sha256Digest::of(b"the anchored card")) };
    changed.history = vec![point(3, Reason::Match), point(2, Reason::Timeout), point(1, Reason::Match)];

    let mut revoked = Agent::of(verdict(3, Reason::NoHashOnChain));
    revoked.verdict.anchor.as_mut().unwrap().status = AgentStatus::Revoked;

    let mut hostile = Agent::of(verdict(5, Reason::InvalidUri));
    hostile.verdict.agent_uri = Some(HOSTILE.into());
    hostile.verdict.message = format!("The agent_uri is not a URI that can be fetched: {HOSTILE}");
    hostile.changes.push(Change {
        kind: "uri_changed",
        before: Some("https://cards.example/5".into()),
        after: Some(HOSTILE.into()),
        at: START,
        idempotency_key: HOSTILE.into(),
    });
    let mut formula = Agent::of(verdict(u64::MAX, Reason::HashMismatch));
    formula.verdict.agent_uri = Some("=1+1".into());
    vec![
        Agent::of(verdict(0, Reason::Match)),
        changed,
        Agent::of(verdict(2, Reason::Timeout)),
        revoked,
        Agent::of(verdict(4, Reason::NoUriOnChain)),
        hostile,
        formula,
    ]
}

/// An output that several can look at.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The report of these agents.
pub fn report_of(format: Format, agents: &[Agent], options: &ReportOptions) -> String {
    let out = Shared::default();
    let mut report = format.begin(out.clone(), &header(), options).unwrap();
    for agent in agents {
        report.row(&agent.row()).unwrap();
    }
    report.finish(&end()).unwrap();
    out.text()
}

/// The report of the sample.
pub fn report(format: Format) -> String {
    report_of(format, &agents(), &ReportOptions::default())
}
