use std::io;
use std::path::PathBuf;

use crate::digest::Sha256Digest;
use crate::fetch::FetchFailure;
use crate::identity::{AccountAddress, TokenId};

use super::CardDiffers;

/// Why a card is not anchored, or an agent not registered. Nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// What the URI serves is not the local card (faults C-03 and C-16).
    #[error(transparent)]
    Differs(#[from] CardDiffers),
    /// What the URI serves has another digest than the one to anchor (fault C-16).
    #[error("the URI does not serve what is to be anchored: SHA-256 {wanted} is to be anchored, and {uri} serves {bytes} bytes with SHA-256 {served}")]
    HashDiffers {
        /// The digest to anchor.
        wanted: Sha256Digest,
        /// The URI.
        uri: String,
        /// The digest of what it serves.
        served: Sha256Digest,
        /// How many bytes that has.
        bytes: u64,
    },
    /// The URI serves nothing whole.
    #[error("the card at {uri} cannot be fetched: {failure}")]
    Fetch {
        /// The URI.
        uri: String,
        /// Why not.
        failure: Box<FetchFailure>,
    },
    /// The end of what the URI serves is not proven.
    #[error(
        "the answer of {uri} does not prove its length, so a part of the card could pass for the whole: its digest is not used"
    )]
    LengthUnverified {
        /// The URI.
        uri: String,
    },
    /// What would be taken on trust is nothing.
    #[error("{0} serves 0 bytes, and the digest of nothing is anchored for no card")]
    NothingServed(String),
    /// There is no such agent.
    #[error("there is no agent {0} in the registry")]
    AgentNotFound(TokenId),
    /// The agent is revoked.
    #[error("agent {0} is revoked, for good: nothing about it can be changed")]
    AgentRevoked(TokenId),
    /// The agent belongs to another account.
    #[error("agent {agent} belongs to account {owner}, not to the sender {sender}")]
    NotOwner {
        /// The agent.
        agent: TokenId,
        /// Whose it is.
        owner: AccountAddress,
        /// Who wants to change it.
        sender: AccountAddress,
    },
    /// Neither the agent nor the user has a URI.
    #[error("agent {0} has no URI: give the one where the card is hosted with --uri <URI>")]
    NoUri(TokenId),
    /// The owner has an agent with this URI already (fault C-84).
    #[error("account {owner} already has agent {agent} with the URI {uri}: anchor a new card with `cardproof anchor {agent}`, or register a second agent with --allow-duplicate")]
    Duplicate {
        /// The agent.
        agent: TokenId,
        /// Its owner.
        owner: AccountAddress,
        /// Its URI.
        uri: String,
    },
    /// The first of two steps was taken with another card than the one given now.
    #[error("agent {agent} was registered for {uri} in two steps that began with another card than this: {state} remembers them, by the \
             bytes of the card with the placeholders", state = state.display())]
    OtherTemplate {
        /// The agent.
        agent: TokenId,
        /// Its URI.
        uri: String,
        /// The file that remembers the first step.
        state: PathBuf,
    },
    /// The search for a duplicate did not come to its end.
    #[error("whether account {owner} already has an agent with this URI could not be found out: {why}; --allow-duplicate registers without looking")]
    SearchIncomplete {
        /// The account.
        owner: AccountAddress,
        /// What stopped it.
        why: String,
    },
    /// A card with placeholders cannot be filled.
    #[error("the card cannot be filled in: {0}")]
    Template(String),
    /// The transaction was finalized and says no.
    #[error("the transaction {hash} was rejected: {reason}")]
    Rejected {
        /// The transaction.
        hash: crate::chain::TransactionHash,
        /// Code and name, in words.
        reason: String,
    },
    /// The transaction's end is not known yet.
    #[error("the transaction {hash} is {state} and not finalized yet: run the same command again to go on")]
    StillPending {
        /// The transaction.
        hash: crate::chain::TransactionHash,
        /// What is known of it.
        state: &'static str,
    },
    /// The transaction ran and does not say which token it made.
    #[error(
        "the transaction {0} is finalized, and its events do not tell the token id; look it up with `cardproof tx status {0}`"
    )]
    NoTokenId(crate::chain::TransactionHash),
    /// The URI does not serve the filled card yet.
    #[error("{uri} does not serve the card yet ({why}): host {file} there and run the same command again", file = file.display())]
    NotHosted {
        /// The URI.
        uri: String,
        /// The filled card.
        file: PathBuf,
        /// What it serves instead.
        why: String,
    },
    /// Something that a transaction was made from is not any more what was shown.
    #[error("while the confirmation was waited for, {0}: nothing was signed; run the command again to see what it would do now")]
    Changed(String),
    /// Another process is at the same two-step registration.
    #[error("another run of cardproof is at this two-step registration: wait until it ends")]
    Busy,
    /// A file cannot be read or written.
    #[error("{path} cannot be used: {cause}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The filled card of a two-step registration would find no place.
    #[error("the filled card cannot be written to {path}: {why}; nothing was sent", path = path.display())]
    FilledCard {
        /// Where it was to go; the template when its place would be beside that.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The agent is registered, and its filled card could not be written.
    #[error("the filled card cannot be written to {path}: {cause}; agent {token_id} is registered", path = path.display())]
    NotWritten {
        /// The new agent.
        token_id: TokenId,
        /// Where it was to go.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The agent that a two-step registration made is not in the registry.
    #[error(
        "agent {token_id}, which this registration made, is not in the registry: ask a node that is up to date, or, if the chain was \
         started anew, move {path} away and register again",
        path = path.display()
    )]
    Gone {
        /// The agent.
        token_id: TokenId,
        /// The file that remembers the registration.
        path: PathBuf,
    },
    /// The file that remembers how far a two-step registration came.
    #[error("{path} is not the state of a two-step registration: {why}; look at it and move it away to go on", path = path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
