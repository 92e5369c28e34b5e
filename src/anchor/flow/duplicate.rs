use futures_util::stream::{self, StreamExt};

use crate::chain::{AgentReader, Block, ChainErrorKind};
use crate::identity::{AccountAddress, TokenId};
use crate::registry::AgentStatus;

use super::{Attendant, FlowError, Step};

/// How many agents are read at once.
const AT_ONCE: usize = 24;
/// How many agents are read at most. Mainnet has passed 5,000.
const MOST: u64 = 100_000;
/// After how many agents the attendant hears of it.
const REPORT_EVERY: u64 = 500;

/// Where to look for an agent of the same owner and URI.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The finalized block to look at.
    pub block: &'a Block,
    /// The owner.
    pub owner: AccountAddress,
    /// The URI, compared byte for byte.
    pub uri: &'a str,
    /// The first token id to look at.
    pub begin: TokenId,
    /// The token id after the newest: what a dry run of `register` says the next agent will have.
    pub end: TokenId,
}

/// Looks for an active agent with this owner and URI (fault C-84).
///
/// The registry keeps no index by owner, so the agents are read one by one, newest first: a registration repeated by mistake is near
/// the end. Token ids are handed out in sequence, and the dry run of the registration names the next one, so the end needs no
/// search. At most 24 are read at once, and dropping the future ends it.
///
/// # Errors
/// [`FlowError::SearchIncomplete`] when a node fails, or there are more than 100,000 agents and none of the newest is it: that there
/// is no duplicate is then not known.
pub async fn find_duplicate<R: AgentReader>(
    reader: &R,
    search: Search<'_>,
    attendant: &mut dyn Attendant,
) -> Result<Option<TokenId>, FlowError> {
    let incomplete = |why: String| FlowError::SearchIncomplete { owner: search.owner, why };
    let first = search.end.0.saturating_sub(MOST).max(search.begin.0);
    let of = search.end.0.saturating_sub(first);
    let ids = (first..search.end.0).rev().map(TokenId);
    let mut readings = stream::iter(ids).map(|id| async move { (id, reader.read(search.block, id).await) }).buffered(AT_ONCE);
    let (mut read, mut unreadable) = (0, 0u64);
    while let Some((id, reading)) = readings.next().await {
        read += 1;
        if read % REPORT_EVERY == 0 {
            attendant.step(&Step::Searching { read, of });
        }
        let record = match reading {
            Ok(reading) => reading.record,
            Err(error) if error.kind == ChainErrorKind::RecordUndecodable => {
                unreadable += 1;
                None
            }
            Err(error) => return Err(incomplete(error.to_string())),
        };
        let same = record.is_some_and(|record| {
            record.status == AgentStatus::Active
                && record.owner_account == search.owner
                && record.agent_uri.as_deref() == Some(search.uri)
        });
        if same {
            return Ok(Some(id));
        }
    }
    if first > search.begin.0 {
        return Err(incomplete(format!("the registry has {} agents, and only the newest {MOST} were read", search.end)));
    }
    if unreadable > 0 {
        return Err(incomplete(format!("{unreadable} records could not be read")));
    }
    Ok(None)
}
