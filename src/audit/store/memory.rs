use crate::audit::TransitionKind;
use crate::digest::Sha256Digest;
use crate::identity::{AccountAddress, TokenId};
use crate::registry::{AgentStatus, Timestamp};
use crate::verify::{Class, Reason, Verdict};

/// How patient the store is before it calls a change one, so that a flapping host raises no alarm at every turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How many runs must agree that a card matches, or does not, before that is a transition (`--min-consecutive`). Runs that
    /// could not decide in between neither count nor start the count again. 0 means 1.
    pub min_consecutive: u64,
    /// How many runs in a row must fail to decide before that is a transition. 0 means 1.
    pub undecided_after: u64,
}

impl Default for Patience {
    /// A decided change counts at once, an undecided one after three runs.
    fn default() -> Self {
        Self { min_consecutive: 1, undecided_after: 3 }
    }
}

/// What is known about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMemory {
    /// The agent.
    pub token_id: TokenId,
    /// When it was judged first.
    pub first_seen: Timestamp,
    /// When it was judged last.
    pub last_seen: Timestamp,
    /// The run that judged it last.
    pub last_run: i64,
    /// Whether the registry had it when that could last be told; `None` when it never could.
    pub present: Option<bool>,
    /// The height of the newest block that it was judged at; `None` when no node could be asked yet.
    pub block_height: Option<u64>,
    /// The class of the last verdict.
    pub class: Class,
    /// The reason of the last verdict.
    pub reason: Reason,
    /// When the first of the verdicts was reached that have been of this class without a break.
    pub since: Timestamp,
    /// How many those are.
    pub consecutive: u64,
    /// When the card matched last.
    pub last_match: Option<Timestamp>,
    /// The owner when the record was read last.
    pub owner: Option<AccountAddress>,
    /// The status when the record was read last.
    pub status: Option<AgentStatus>,
    /// The URI when the record was read last.
    pub agent_uri: Option<String>,
    /// The anchored hash when the record was read last.
    pub anchored_sha256: Option<Sha256Digest>,
    /// The digest of the last complete body.
    pub body_sha256: Option<Sha256Digest>,
    /// What has been reported: the class that transitions start from.
    pub(super) settled: Option<Class>,
    /// The last of match and mismatch that was settled.
    pub(super) decided: Option<Class>,
    /// The decided class that the last decided verdicts agree on, and how many they are.
    pub(super) candidate: Option<Class>,
    pub(super) candidate_count: u64,
}

/// What of a run matters to what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunFacts {
    pub(super) id: i64,
    /// No run of the scope that could read the registry had been finished when this one began: everything is new, which is no news.
    pub(super) first_run: bool,
    /// The time of the block of the last such run.
    pub(super) read_at: Option<Timestamp>,
    /// The highest token id that the registry was known to have when the run began.
    pub(super) known_up_to: Option<u64>,
}

/// A transition before it has its place and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) kind: TransitionKind,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

/// Whether a verdict is about a block before the newest one that the agent was judged at: it says nothing about now.
pub(super) fn is_past(before: Option<&AgentMemory>, verdict: &Verdict) -> bool {
    let (newest, block) = (before.and_then(|memory| memory.block_height), verdict.block);
    newest.zip(block).is_some_and(|(newest, block)| block.height < newest)
}

/// Takes a verdict into the memory of an agent and says what it changes.
pub(super) fn remember(
    before: Option<AgentMemory>,
    token_id: TokenId,
    verdict: &Verdict,
    run: RunFacts,
    patience: Patience,
) -> (AgentMemory, Vec<Change>) {
    let mut changes = Vec::new();
    let mut memory = before.unwrap_or_else(|| blank(token_id, verdict, run));
    let read_before = memory.present == Some(true);
    see_record(&mut memory, verdict, run, &mut changes);
    see_class(&mut memory, verdict, read_before, patience, &mut changes);
    memory.last_seen = verdict.started_at;
    memory.last_run = run.id;
    memory.block_height = verdict.block.map(|block| block.height).or(memory.block_height);
    memory.reason = verdict.reason;
    if verdict.class() == Class::Match {
        memory.last_match = Some(verdict.started_at);
    }
    memory.body_sha256 = verdict.evidence.as_ref().and_then(|evidence| evidence.sha256).or(memory.body_sha256);
    (memory, changes)
}

fn blank(token_id: TokenId, verdict: &Verdict, run: RunFacts) -> AgentMemory {
    AgentMemory {
        token_id,
        first_seen: verdict.started_at,
        last_seen: verdict.started_at,
        last_run: run.id,
        present: None,
        block_height: None,
        class: verdict.class(),
        reason: verdict.reason,
        since: verdict.started_at,
        consecutive: 0,
        last_match: None,
        owner: None,
        status: None,
        agent_uri: None,
        anchored_sha256: None,
        body_sha256: None,
        settled: None,
        decided: None,
        candidate: None,
        candidate_count: 0,
    }
}

/// What the chain says. It is final, so it needs no patience.
fn see_record(memory: &mut AgentMemory, verdict: &Verdict, run: RunFacts, changes: &mut Vec<Change>) {
    let Some(anchor) = &verdict.anchor else {
        if verdict.reason == Reason::AgentNotFound {
            if memory.present == Some(true) {
                changes.push(change(TransitionKind::Vanished, Some(memory.class.as_str()), None::<&str>));
            }
            memory.present = Some(false);
        }
        return;
    };
    if memory.present != Some(true) && is_new(memory, anchor.registered_at, run) {
        changes.push(change(TransitionKind::New, None::<&str>, Some(verdict.class().as_str())));
    }
    // A record that had vanished is compared with nothing: what came back is new as a whole.
    if memory.present == Some(true) {
        if memory.anchored_sha256 != verdict.anchored_sha256 {
            changes.push(change(TransitionKind::HashReanchored, memory.anchored_sha256, verdict.anchored_sha256));
        }
        if memory.agent_uri != verdict.agent_uri {
            changes.push(change(TransitionKind::UriChanged, memory.agent_uri.as_ref(), verdict.agent_uri.as_ref()));
        }
        if memory.owner != Some(anchor.owner) {
            changes.push(change(TransitionKind::OwnerChanged, memory.owner, Some(anchor.owner)));
        }
        if memory.status == Some(AgentStatus::Active) && anchor.status == AgentStatus::Revoked {
            let [before, after] = [AgentStatus::Active, AgentStatus::Revoked].map(AgentStatus::as_str);
            changes.push(change(TransitionKind::Revoked, Some(before), Some(after)));
        }
    }
    memory.present = Some(true);
    memory.anchored_sha256 = verdict.anchored_sha256;
    memory.agent_uri.clone_from(&verdict.agent_uri);
    memory.owner = Some(anchor.owner);
    memory.status = Some(anchor.status);
}

/// An agent that was there when the registry was read last, and was merely outside of what was selected or could not be read, is no
/// news, unless it was looked for and not found. Where its record does not say since when it is there, the sequence in which registries
/// assign token ids does.
fn is_new(memory: &AgentMemory, registered_at: Option<Timestamp>, run: RunFacts) -> bool {
    let looked_for = memory.present == Some(false);
    let later = match registered_at.zip(run.read_at) {
        Some((registered_at, read_at)) => registered_at > read_at,
        None => run.known_up_to.is_none_or(|highest| memory.token_id.0 > highest),
    };
    !run.first_run && (looked_for || later)
}

/// What the verdict is, over time.
fn see_class(memory: &mut AgentMemory, verdict: &Verdict, read_before: bool, patience: Patience, changes: &mut Vec<Change>) {
    let class = verdict.class();
    // What nothing has been reported about begins with the first class that is decided, silently: unless its record was read before and
    // its card could not be judged, and is a mismatch, which nobody has been told of then. A record that nobody could read is read for
    // the first time now, as in a first run.
    let first_mismatch = memory.settled.is_none() && read_before && class == Class::Mismatch;
    if memory.class == class {
        memory.consecutive += 1;
    } else {
        memory.class = class;
        memory.since = verdict.started_at;
        memory.consecutive = 1;
    }
    if class == Class::Undecided {
        if memory.settled != Some(class) && memory.consecutive >= patience.undecided_after.max(1) {
            let before = memory.settled.map(Class::as_str);
            changes.push(change(TransitionKind::ToUndecided, before, Some(verdict.reason.as_str())));
            memory.settled = Some(class);
        }
        return;
    }
    if memory.candidate == Some(class) {
        memory.candidate_count += 1;
    } else {
        memory.candidate = Some(class);
        memory.candidate_count = 1;
    }
    if memory.settled == Some(Class::Undecided) {
        changes.push(change(TransitionKind::FromUndecided, Some(Class::Undecided.as_str()), Some(class.as_str())));
        memory.settled = memory.decided;
    }
    let begins = memory.settled.is_none() && !first_mismatch;
    let enough = begins || memory.candidate_count >= patience.min_consecutive.max(1);
    if memory.settled == Some(class) || !enough {
        return;
    }
    if first_mismatch {
        changes.push(change(TransitionKind::FromUndecided, Some(Class::Undecided.as_str()), Some(class.as_str())));
    }
    let turned = match (memory.settled, memory.decided, class) {
        (_, Some(Class::Match), Class::Mismatch) => Some((TransitionKind::MatchToMismatch, Class::Match)),
        (_, Some(Class::Mismatch), Class::Match) => Some((TransitionKind::MismatchToMatch, Class::Mismatch)),
        // Of one that is new as a whole this is told already.
        (Some(Class::Absent), _, Class::Mismatch) if !changes.iter().any(|change| change.kind == TransitionKind::New) => {
            Some((TransitionKind::AbsentToMismatch, Class::Absent))
        }
        _ => None,
    };
    if let Some((kind, before)) = turned {
        changes.push(change(kind, Some(before.as_str()), Some(class.as_str())));
    }
    memory.settled = Some(class);
    if class != Class::Absent {
        memory.decided = Some(class);
    }
}

fn change(kind: TransitionKind, before: Option<impl ToString>, after: Option<impl ToString>) -> Change {
    Change { kind, before: before.map(|before| before.to_string()), after: after.map(|after| after.to_string()) }
}
