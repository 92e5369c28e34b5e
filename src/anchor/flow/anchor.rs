use std::path::PathBuf;

use crate::anchor::{parameter_call, AnchorError, Call, Signer, Status};
use crate::chain::{AgentReader, AtBlock};
use crate::digest::Sha256Digest;
use crate::fetch::{CardFetcher, Origin};
use crate::identity::TokenId;
use crate::registry::parameter::SetAgentUri;
use crate::registry::{AgentRecord, AgentStatus};

use super::served::{check_served, fetch, require_fetchable, require_same};
use super::{hold, Attendant, BeforeSending, Change, Context, FlowError, Step};

/// Where the digest to anchor comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Card {
    /// From the user's own copy of the card.
    Local(Vec<u8>),
    /// From the user's own copy of the card, in a file that is looked at again when the confirmation took its time.
    File {
        /// Where the file is.
        path: PathBuf,
        /// What was in it.
        bytes: Vec<u8>,
    },
    /// From whatever the URI serves now, on the user's word (fault C-30).
    TrustUrl,
}

impl Card {
    /// The user's own copy.
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Local(bytes) | Self::File { bytes, .. } => Some(bytes),
            Self::TrustUrl => None,
        }
    }

    /// The digest of the user's own copy.
    pub(super) fn sha256(&self) -> Option<Sha256Digest> {
        self.bytes().map(Sha256Digest::of)
    }
}

/// What to do with the agent's URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UriChoice {
    /// Leave it.
    Keep,
    /// Replace it.
    Set(String),
}

/// What to anchor.
#[derive(Debug, Clone)]
pub struct AnchorRequest {
    /// The agent.
    pub agent: TokenId,
    /// The card.
    pub card: Card,
    /// Where it is hosted.
    pub uri: UriChoice,
    /// Whether the URI must serve the card now.
    pub check_url: bool,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Anchored {
    /// The digest that is anchored.
    pub sha256: Sha256Digest,
    /// The URI that goes with it.
    pub uri: String,
    /// What became of the transaction so far; `None` when URI and digest were anchored already and nothing was sent.
    pub status: Option<Status>,
}

/// Anchors the digest of a card for an agent.
///
/// # Errors
/// [`AnchorError`]; see [`execute`](super::execute) for what may be on its way then.
pub async fn anchor<F: CardFetcher, S: Signer>(
    context: &Context<'_, F>,
    request: &AnchorRequest,
    signer: &S,
    attendant: &mut dyn Attendant,
    before_sending: BeforeSending<'_>,
) -> Result<Anchored, AnchorError> {
    let held = hold(context, signer, attendant, known(context, request)).await?;
    let record = changeable(context, request.agent).await?;
    let uri = match (&request.uri, &record.agent_uri) {
        (UriChoice::Set(uri), _) => uri.clone(),
        (UriChoice::Keep, Some(uri)) => uri.clone(),
        (UriChoice::Keep, None) => return Err(FlowError::NoUri(request.agent).into()),
    };
    require_fetchable(&uri)?;
    let sha256 = digest_of(context.fetcher, &request.card, &uri, request.check_url, attendant).await?;
    if record.agent_uri.as_deref() == Some(&uri) && record.metadata_hash == Some(sha256) {
        return Ok(Anchored { sha256, uri, status: None });
    }
    let changes = vec![
        Change { what: "URI", old: record.agent_uri.clone(), new: Some(uri.clone()) },
        Change { what: "SHA-256", old: record.metadata_hash.map(|hash| hash.to_string()), new: Some(sha256.to_string()) },
    ];
    let parameter = SetAgentUri { token_id: request.agent, agent_uri: Some(uri.clone()), metadata_hash: Some(sha256) };
    let call = parameter_call(context.chain.settings().registry, &parameter)?;
    let (agent, owner, sender) = (request.agent, record.owner_account, signer.address());
    let confirmed = match held.confirm(context, call, changes, signer, attendant).await {
        // Whether an operator may act for the owner is the contract's to say; when it says no, this is why.
        Err(AnchorError::WouldBeRejected { .. }) if owner != sender => {
            return Err(FlowError::NotOwner { agent, owner, sender }.into());
        }
        confirmed => confirmed?,
    };
    if confirmed.took_long() {
        let now = changeable(context, agent).await?;
        if (&now.agent_uri, now.metadata_hash) != (&record.agent_uri, record.metadata_hash) {
            return Err(FlowError::Changed("the agent got another URI or hash".into()).into());
        }
        unchanged(context.fetcher, &request.card, &uri, request.check_url, sha256).await?;
    }
    let executed = confirmed.send(context, signer, attendant, before_sending).await?;
    Ok(Anchored { sha256, uri, status: Some(executed.status) })
}

/// The call that anchoring comes to, as far as that can be told before anything is fetched.
async fn known<F>(context: &Context<'_, F>, request: &AnchorRequest) -> Option<Call> {
    let uri = match &request.uri {
        UriChoice::Set(uri) => uri.clone(),
        UriChoice::Keep => changeable(context, request.agent).await.ok()?.agent_uri?,
    };
    let metadata_hash = Some(request.card.sha256()?);
    let parameter = SetAgentUri { token_id: request.agent, agent_uri: Some(uri), metadata_hash };
    parameter_call(context.chain.settings().registry, &parameter).ok()
}

/// Requires that file and URI, as far as they were compared, still are what is to be anchored.
pub(super) async fn unchanged<F: CardFetcher>(
    fetcher: &F,
    card: &Card,
    uri: &str,
    check_url: bool,
    sha256: Sha256Digest,
) -> Result<(), FlowError> {
    if let Card::File { path, bytes } = card {
        let gone = |cause| FlowError::Changed(format!("the file {} cannot be read any more: {cause}", path.display()));
        let now = std::fs::read(path).map_err(gone)?;
        if now != *bytes {
            return Err(FlowError::Changed(format!("the file {} was changed", path.display())));
        }
    }
    if check_url || *card == Card::TrustUrl {
        still_served(fetcher, uri, sha256).await?;
    }
    Ok(())
}

/// Requires a URI to serve what it served before somebody thought about it.
///
/// # Errors
/// [`FlowError::Changed`], or [`FlowError::Fetch`] when it serves nothing whole any more.
pub async fn still_served<F: CardFetcher>(fetcher: &F, uri: &str, sha256: Sha256Digest) -> Result<(), FlowError> {
    match check_served(fetcher, uri, Origin::Untrusted, sha256).await {
        Err(FlowError::HashDiffers { uri, served, bytes, .. }) => {
            Err(FlowError::Changed(format!("{uri} began to serve {bytes} other bytes, with SHA-256 {served}")))
        }
        served => served,
    }
}

/// The record of an agent that can still be changed: for everything else the contract would take a fee and reject.
async fn changeable<F>(context: &Context<'_, F>, agent: TokenId) -> Result<AgentRecord, AnchorError> {
    let block = context.chain.pin(AtBlock::LastFinalized).await?;
    let record = context.chain.read(&block, agent).await?.record.ok_or(FlowError::AgentNotFound(agent))?;
    match record.status {
        AgentStatus::Active => Ok(record),
        AgentStatus::Revoked => Err(FlowError::AgentRevoked(agent).into()),
    }
}

/// The digest to anchor: of the local card, compared with what the URI serves, or of that alone.
///
/// Whoever gave the URI: on the chain it is a stranger's to every verifier, so it is judged like one here.
pub(super) async fn digest_of<F: CardFetcher>(
    fetcher: &F,
    card: &Card,
    uri: &str,
    check_url: bool,
    attendant: &mut dyn Attendant,
) -> Result<Sha256Digest, FlowError> {
    if let Some(bytes) = card.bytes() {
        attendant.step(&Step::Card(bytes.to_vec()));
        if check_url {
            attendant.step(&Step::Fetching(uri.to_owned()));
            let served = fetch(fetcher, uri, Origin::Untrusted, Some(Sha256Digest::of(bytes))).await?;
            require_same(bytes, &served)?;
        }
        return Ok(Sha256Digest::of(bytes));
    }
    attendant.step(&Step::Fetching(uri.to_owned()));
    let served = fetch(fetcher, uri, Origin::Untrusted, None).await?;
    let (sha256, bytes) = (served.body.sha256, served.body.bytes);
    if bytes == 0 {
        return Err(FlowError::NothingServed(uri.to_owned()));
    }
    if let Some(card) = &served.body.kept {
        attendant.step(&Step::Card(card.to_vec()));
    }
    attendant.step(&Step::Note(format!("{uri} serves {bytes} bytes with SHA-256 {sha256}, which is taken on trust")));
    Ok(sha256)
}
