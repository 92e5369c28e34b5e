use crate::anchor::{dry_run, parameter_call, AnchorError, Signer};
use crate::chain::{AgentReader, AtBlock, ChainClient};
use crate::fetch::CardFetcher;
use crate::identity::{AccountAddress, TokenId};
use crate::registry::parameter::Register;
use crate::registry::{MetadataEntry, RegistryEvent};

use super::anchor::{digest_of, unchanged};
use super::served::require_fetchable;
use super::{find_duplicate, hold, Attendant, BeforeSending, Card, Change, Context, Executed, FlowError, Search};

/// A new agent.
#[derive(Debug, Clone)]
pub struct RegisterRequest {
    /// The card; `None` registers without a digest.
    pub card: Option<Card>,
    /// Where it is, or will be, hosted.
    pub uri: String,
    /// Keys and values to store with the agent.
    pub metadata: Vec<MetadataEntry>,
    /// Whether the URI must serve the card now.
    pub check_url: bool,
    /// Whether the sender may have an agent with this URI already.
    pub allow_duplicate: bool,
}

/// Registers a new agent. Its token id is in the status of what is returned, once the transaction is finalized.
///
/// # Errors
/// [`AnchorError`]; see [`execute`](super::execute()) for what may be on its way then.
pub async fn register<F: CardFetcher, S: Signer>(
    context: &Context<'_, F>,
    request: &RegisterRequest,
    signer: &S,
    attendant: &mut dyn Attendant,
    before_sending: BeforeSending<'_>,
) -> Result<Executed, AnchorError> {
    let uri = &request.uri;
    require_fetchable(uri)?;
    let registry = context.chain.settings().registry;
    let parameter = |metadata_hash| Register {
        agent_uri: Some(uri.clone()),
        metadata_hash,
        external_reference: None,
        initial_metadata: request.metadata.clone(),
    };
    let hash = match &request.card {
        None => Some(None),
        Some(card) => card.sha256().map(Some),
    };
    let known = std::future::ready(hash.and_then(|hash| parameter_call(registry, &parameter(hash)).ok()));
    let held = hold(context, signer, attendant, known).await?;
    let sha256 = match &request.card {
        Some(card) => Some(digest_of(context.fetcher, card, uri, request.check_url, attendant).await?),
        None => None,
    };
    let parameter = parameter(sha256);
    let mut duplicates = Duplicates { parameter: &parameter, uri, owner: signer.address(), begin: TokenId(0) };
    if !request.allow_duplicate {
        duplicates.begin = duplicates.refuse(context.chain, attendant).await?;
    }
    let mut changes = vec![
        Change { what: "agent", old: None, new: Some("a new one".into()) },
        Change { what: "URI", old: None, new: Some(uri.clone()) },
        Change { what: "SHA-256", old: None, new: sha256.map(|hash| hash.to_string()) },
    ];
    for entry in &request.metadata {
        let value = String::from_utf8_lossy(&entry.value).into_owned();
        changes.push(Change { what: "metadata", old: None, new: Some(format!("{} = {value}", entry.key)) });
    }
    let call = parameter_call(registry, &parameter)?;
    let confirmed = held.confirm(context, call, changes, signer, attendant).await?;
    if confirmed.took_long() {
        if !request.allow_duplicate {
            duplicates.refuse(context.chain, attendant).await?;
        }
        if let (Some(card), Some(sha256)) = (&request.card, sha256) {
            unchanged(context.fetcher, card, uri, request.check_url, sha256).await?;
        }
    }
    confirmed.send(context, signer, attendant, before_sending).await
}

/// Agents of the same owner with the same URI.
#[derive(Clone, Copy)]
struct Duplicates<'a> {
    parameter: &'a Register,
    uri: &'a str,
    owner: AccountAddress,
    /// The first that has not been looked at.
    begin: TokenId,
}

impl Duplicates<'_> {
    /// Refuses when there is one in the newest finalized block. Returns the token id that comes next there.
    async fn refuse(&self, chain: &ChainClient, attendant: &mut dyn Attendant) -> Result<TokenId, AnchorError> {
        let (owner, uri) = (self.owner, self.uri);
        let registry = chain.settings().registry;
        let block = chain.pin(AtBlock::LastFinalized).await?;
        let (_, events) = dry_run(chain, &block, &parameter_call(registry, self.parameter)?, owner).await?;
        let ours = events.iter().filter(|event| event.contract == registry);
        let end: Option<TokenId> = ours.filter_map(|event| RegistryEvent::parse(&event.bytes).token_id()).next();
        let end = end.ok_or_else(|| FlowError::SearchIncomplete {
            owner,
            why: "the dry run does not tell which token id comes next".into(),
        })?;
        let search = Search { block: &block, owner, uri, begin: self.begin, end };
        match find_duplicate(chain, search, attendant).await? {
            Some(agent) => Err(FlowError::Duplicate { agent, owner, uri: uri.to_owned() }.into()),
            None => Ok(end),
        }
    }
}
