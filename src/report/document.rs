use serde::Serialize;

use crate::identity::{Badge, Caip19, ContractAddress};
use crate::verify::{Evidence, Subject, Summary, Verdict};

/// `cardproof.report/1`: the verdict on one agent.
///
/// Every u64 of the chain is a decimal string, hashes are lower-case hex, times RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/report.schema.json")]
pub struct ReportDocument {
    pub schema: &'static str,
    pub network: Option<String>,
    pub contract: Option<ContractDocument>,
    pub token_id: Option<String>,
    pub badge: Option<String>,
    pub caip19: Option<String>,
    pub block: Option<BlockDocument>,
    pub owner: Option<String>,
    pub status: Option<&'static str>,
    pub agent_uri: Option<String>,
    pub anchored_sha256: Option<String>,
    #[serde(rename = "match")]
    pub matches: Option<bool>,
    pub class: &'static str,
    pub reason: &'static str,
    pub retryable: bool,
    pub message: String,
    pub fetch: Option<FetchDocument>,
    pub notes: Vec<NoteDocument>,
    pub checks: Vec<CheckDocument>,
    pub decoded_with: Option<&'static str>,
    pub module_ref: Option<String>,
    pub started_at: String,
    pub elapsed_ms: u64,
}

/// A contract address.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/report.schema.json")]
pub struct ContractDocument {
    pub index: String,
    pub subindex: String,
}

impl From<ContractAddress> for ContractDocument {
    fn from(contract: ContractAddress) -> Self {
        Self { index: contract.index.to_string(), subindex: contract.subindex.to_string() }
    }
}

/// A finalized block.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/report.schema.json")]
pub struct BlockDocument {
    pub hash: String,
    pub height: String,
    pub time: String,
}

impl From<crate::chain::Block> for BlockDocument {
    fn from(block: crate::chain::Block) -> Self {
        Self { hash: block.hash.to_string(), height: block.height.to_string(), time: block.time.to_rfc3339() }
    }
}

/// What the fetch found.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/report.schema.json")]
pub struct FetchDocument {
    pub final_url: Option<String>,
    pub hops: Vec<HopDocument>,
    pub ip: Option<String>,
    pub status: Option<u16>,
    pub content_type: Option<String>,
    pub content_encoding: Option<String>,
    pub bytes: Option<u64>,
    pub sha256: Option<String>,
    pub wire_sha256: Option<String>,
    pub elapsed_ms: u64,
}

/// One redirect.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/report.schema.json")]
pub struct HopDocument {
    pub url: String,
    pub status: u16,
}

/// A note.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/report.schema.json")]
pub struct NoteDocument {
    pub code: &'static str,
    pub message: String,
}

/// A check's finding.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/report.schema.json")]
pub struct CheckDocument {
    pub code: String,
    pub severity: &'static str,
    pub message: String,
}

impl From<&Verdict> for ReportDocument {
    fn from(verdict: &Verdict) -> Self {
        let subject = verdict.subject.as_ref();
        let badge = |subject: &Subject| Badge { contract: subject.contract, token_id: subject.token_id };
        Self {
            schema: "cardproof.report/1",
            network: subject.map(|subject| subject.network.clone()),
            contract: subject.map(|subject| subject.contract.into()),
            token_id: subject.map(|subject| subject.token_id.to_string()),
            badge: subject.map(|subject| badge(subject).to_string()),
            caip19: subject.map(|subject| Caip19 { chain: subject.chain, badge: badge(subject) }.to_string()),
            block: verdict.block.map(BlockDocument::from),
            owner: verdict.anchor.as_ref().map(|anchor| anchor.owner.to_string()),
            status: verdict.anchor.as_ref().map(|anchor| anchor.status.as_str()),
            agent_uri: verdict.agent_uri.clone(),
            anchored_sha256: verdict.anchored_sha256.map(|digest| digest.to_string()),
            matches: verdict.matches(),
            class: verdict.class().as_str(),
            reason: verdict.reason.as_str(),
            retryable: verdict.reason.retryable(),
            message: verdict.message.clone(),
            fetch: verdict.evidence.as_ref().map(FetchDocument::from),
            notes: verdict
                .notes
                .iter()
                .map(|note| NoteDocument { code: note.code.as_str(), message: note.message.clone() })
                .collect(),
            checks: verdict
                .checks
                .iter()
                .map(|check| CheckDocument {
                    code: check.code.clone(),
                    severity: check.severity.as_str(),
                    message: check.message.clone(),
                })
                .collect(),
            decoded_with: verdict.decoded_with.map(|how| how.as_str()),
            module_ref: verdict.module_ref.map(|module| module.to_string()),
            started_at: verdict.started_at.to_rfc3339(),
            elapsed_ms: millis(verdict.elapsed),
        }
    }
}

impl From<&Evidence> for FetchDocument {
    fn from(evidence: &Evidence) -> Self {
        Self {
            final_url: evidence.trace.final_url.clone(),
            hops: evidence.trace.hops.iter().map(|hop| HopDocument { url: hop.url.clone(), status: hop.status }).collect(),
            ip: evidence.trace.ip.map(|ip| ip.to_string()),
            status: evidence.trace.status,
            content_type: evidence.trace.content_type.clone(),
            content_encoding: evidence.trace.content_encoding.clone(),
            bytes: evidence.bytes,
            sha256: evidence.sha256.map(|digest| digest.to_string()),
            wire_sha256: evidence.wire_sha256.map(|digest| digest.to_string()),
            elapsed_ms: millis(evidence.trace.elapsed),
        }
    }
}

fn millis(elapsed: std::time::Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// `cardproof.verify/1`: all verdicts of one run.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/verify.schema.json")]
pub struct VerifyDocument {
    pub schema: &'static str,
    pub results: Vec<ReportDocument>,
    pub summary: SummaryDocument,
}

impl VerifyDocument {
    /// The document of these verdicts.
    pub fn of(verdicts: &[Verdict]) -> Self {
        let mut summary = Summary::default();
        verdicts.iter().for_each(|verdict| summary.add(verdict.class()));
        Self {
            schema: "cardproof.verify/1",
            results: verdicts.iter().map(ReportDocument::from).collect(),
            summary: SummaryDocument::from(summary),
        }
    }
}

/// How many verdicts of each class there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/verify.schema.json")]
pub struct SummaryDocument {
    pub agents: u64,
    #[serde(rename = "match")]
    pub matches: u64,
    pub mismatch: u64,
    pub absent: u64,
    pub undecided: u64,
}

impl From<Summary> for SummaryDocument {
    fn from(summary: Summary) -> Self {
        Self {
            agents: summary.agents,
            matches: summary.matches,
            mismatch: summary.mismatches,
            absent: summary.absent,
            undecided: summary.undecided,
        }
    }
}
