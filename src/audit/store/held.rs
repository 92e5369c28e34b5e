use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::database::{foreign, places, unforeign, Transaction, Value};
use super::record::{parse_digest, parse_owner, parse_status};
use super::results::subject;
use super::{Store, StoreError};
use crate::audit::RunInfo;
use crate::chain::{Block, BlockHash};
use crate::fetch::{FetchTrace, Hop};
use crate::identity::TokenId;
use crate::registry::Timestamp;
use crate::verify::{Anchor, Evidence, Note, NoteCode, Reason, Verdict};

/// How many rows one statement writes.
const ROWS: usize = 500;

/// A mismatch that awaits its second look, as it is written down. What the second look reads anew (the module, how it was decoded,
/// what is wrong with the record) is not.
#[derive(Serialize, Deserialize)]
struct Held {
    /// Hash, height, time.
    block: Option<(String, u64, u64)>,
    owner: Option<String>,
    status: Option<String>,
    registered_at: Option<u64>,
    agent_uri: Option<String>,
    anchored_sha256: Option<String>,
    message: String,
    /// Code and sentence of each.
    notes: Vec<(String, String)>,
    evidence: Option<HeldEvidence>,
    started_at: u64,
    elapsed_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct HeldEvidence {
    final_url: Option<String>,
    hops: Vec<(String, u16)>,
    ip: Option<IpAddr>,
    status: Option<u16>,
    content_type: Option<String>,
    content_encoding: Option<String>,
    content_length: Option<u64>,
    elapsed_ms: u64,
    bytes: Option<u64>,
    sha256: Option<String>,
    wire_sha256: Option<String>,
}

impl Store {
    /// Writes down mismatches of a run that await their second look, so that whoever goes on with the run after a kill need not fetch
    /// them again. They are no results: [`Store::record`] of the same agent takes their place. Of an agent that has a result, nothing is
    /// written.
    ///
    /// # Errors
    /// [`StoreError::NoAgent`] for a verdict without an agent; [`StoreError`] when the database refuses.
    pub async fn hold_mismatches(&self, run: &RunInfo, mismatches: &[Verdict]) -> Result<(), StoreError> {
        if mismatches.is_empty() {
            return Ok(());
        }
        let mut open = self.database.write("keeping mismatches for their second look").await?;
        for some in mismatches.chunks(ROWS) {
            let mut values = Vec::with_capacity(some.len() * 3);
            for verdict in some {
                let token = verdict.subject.as_ref().ok_or(StoreError::NoAgent)?.token_id;
                let text =
                    serde_json::to_string(&Held::from(verdict)).map_err(|_| open.no("mismatch that can be written down"))?;
                values.extend([Value::from(run.id), token.0.into(), foreign(&text).into()]);
            }
            let sql = format!(
                "INSERT INTO held (run_id, token_id, verdict) VALUES {} ON CONFLICT (run_id, token_id) DO NOTHING",
                places(some.len(), 3)
            );
            open.execute(&sql, values).await?;
        }
        open.commit().await
    }

    /// The mismatches of a run that await their second look.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn held_mismatches(&self, run: &RunInfo) -> Result<Vec<Verdict>, StoreError> {
        let mut open = self.database.read("reading the mismatches that await their second look").await?;
        let select = "SELECT token_id, verdict FROM held WHERE run_id = ? AND NOT EXISTS
            (SELECT 1 FROM results WHERE results.run_id = held.run_id AND results.token_id = held.token_id) ORDER BY token_id";
        let rows = open.rows(select, vec![run.id.into()]).await?;
        let verdicts = rows.iter().map(|row| {
            let token = TokenId(open.explained(row.number(0))?);
            let held: Held = serde_json::from_str(&unforeign(open.explained(row.text(1))?)).map_err(|_| open.no("mismatch"))?;
            held.verdict(&open, run, token)
        });
        verdicts.collect()
    }
}

/// Takes away what has its result now.
pub(super) async fn settle(open: &mut Transaction, run: i64, tokens: &[TokenId]) -> Result<(), StoreError> {
    if tokens.is_empty() {
        return Ok(());
    }
    let sql = format!("DELETE FROM held WHERE run_id = ? AND token_id IN {}", places(1, tokens.len()));
    let values = std::iter::once(run.into()).chain(tokens.iter().map(|token| token.0.into())).collect();
    open.execute(&sql, values).await.map(|_| ())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl From<&Verdict> for Held {
    fn from(verdict: &Verdict) -> Self {
        let anchor = verdict.anchor.as_ref();
        Self {
            block: verdict.block.map(|block| (block.hash.to_string(), block.height, block.time.0)),
            owner: anchor.map(|anchor| anchor.owner.to_string()),
            status: anchor.map(|anchor| anchor.status.as_str().to_owned()),
            registered_at: anchor.and_then(|anchor| anchor.registered_at).map(|at| at.0),
            agent_uri: verdict.agent_uri.clone(),
            anchored_sha256: verdict.anchored_sha256.map(|digest| digest.to_string()),
            message: verdict.message.clone(),
            notes: verdict.notes.iter().map(|note| (note.code.as_str().to_owned(), note.message.clone())).collect(),
            evidence: verdict.evidence.as_ref().map(HeldEvidence::from),
            started_at: verdict.started_at.0,
            elapsed_ms: millis(verdict.elapsed),
        }
    }
}

impl From<&Evidence> for HeldEvidence {
    fn from(evidence: &Evidence) -> Self {
        let trace = &evidence.trace;
        Self {
            final_url: trace.final_url.clone(),
            hops: trace.hops.iter().map(|hop| (hop.url.clone(), hop.status)).collect(),
            ip: trace.ip,
            status: trace.status,
            content_type: trace.content_type.clone(),
            content_encoding: trace.content_encoding.clone(),
            content_length: trace.content_length,
            elapsed_ms: millis(trace.elapsed),
            bytes: evidence.bytes,
            sha256: evidence.sha256.map(|digest| digest.to_string()),
            wire_sha256: evidence.wire_sha256.map(|digest| digest.to_string()),
        }
    }
}

impl Held {
    fn verdict(self, open: &Transaction, run: &RunInfo, token: TokenId) -> Result<Verdict, StoreError> {
        let block = self.block.map(|(hash, height, time)| {
            let mut bytes = [0; 32];
            hex::decode_to_slice(hash, &mut bytes).map_err(|_| open.no("hash of a block"))?;
            Ok(Block { hash: BlockHash(bytes), height, time: Timestamp(time) })
        });
        let registered_at = self.registered_at.map(Timestamp);
        let (owner, status) = (parse_owner(open, self.owner)?, parse_status(open, self.status)?);
        let note = |(code, message): (String, String)| {
            let code = NoteCode::ALL.into_iter().find(|known| known.as_str() == code)?;
            Some(Note { code, message })
        };
        Ok(Verdict {
            block: block.transpose()?,
            anchor: owner.zip(status).map(|(owner, status)| Anchor { owner, status, registered_at }),
            agent_uri: self.agent_uri,
            anchored_sha256: parse_digest(open, self.anchored_sha256)?,
            message: self.message,
            notes: self.notes.into_iter().filter_map(note).collect(),
            evidence: self.evidence.map(|evidence| evidence.evidence(open)).transpose()?,
            started_at: Timestamp(self.started_at),
            elapsed: Duration::from_millis(self.elapsed_ms),
            ..Verdict::stored(subject(&run.scope, token), Reason::HashMismatch)
        })
    }
}

impl HeldEvidence {
    fn evidence(self, open: &Transaction) -> Result<Evidence, StoreError> {
        Ok(Evidence {
            trace: FetchTrace {
                final_url: self.final_url,
                hops: self.hops.into_iter().map(|(url, status)| Hop { url, status }).collect(),
                ip: self.ip,
                status: self.status,
                content_type: self.content_type,
                content_encoding: self.content_encoding,
                content_length: self.content_length,
                elapsed: Duration::from_millis(self.elapsed_ms),
            },
            bytes: self.bytes,
            sha256: parse_digest(open, self.sha256)?,
            wire_sha256: parse_digest(open, self.wire_sha256)?,
        })
    }
}
