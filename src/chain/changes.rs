use std::collections::{BTreeMap, BTreeSet};

use concordium_rust_sdk::v2::generated::{
    self as api, account_transaction_effects::Effect, block_item_summary::Details, contract_trace_element::Element,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use tonic::{Code, Response};

use super::block::Link;
use super::node::Node;
use super::{AtBlock, Block, BlockHash, ChainClient, ChainError, ChainErrorKind};
use crate::identity::{ContractAddress, TokenId};
use crate::registry::RegistryEvent;

/// What the events in some blocks say about the agents of a registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistryChanges {
    /// The agents that the registry's events are about, new ones among them.
    pub agents: BTreeSet<TokenId>,
    /// Why the events may not tell all that has changed, as a sentence without its end; `None` when they do.
    pub unclear: Option<String>,
}

impl ChainClient {
    /// Which agents the registry's events are about in the blocks after `after`, up to and including `upto`. Both must be
    /// finalized. It costs one call for each block, another for each that holds transactions, and ends at the first thing that makes
    /// the answer unclear.
    ///
    /// An event that is missed would leave a broken card unnoticed. So the blocks must hang together from `upto` back to `after`, and
    /// each must give as many transactions as it holds: a stream that is cut looks like one that ends.
    ///
    /// # Errors
    /// [`ChainErrorKind::BlockNotFound`] when `after` is no block of this chain (any more), and whatever keeps a node from
    /// answering.
    pub async fn registry_changes(&self, after: &Block, upto: &Block) -> Result<RegistryChanges, ChainError> {
        // A chain that was started anew may have the same genesis block, and has other blocks.
        let found = self.link(AtBlock::Hash(after.hash)).await?.block;
        if found.height != after.height {
            let message = format!("block {} stands at height {}, not at {}", after.hash, found.height, after.height);
            return Err(ChainError::new(ChainErrorKind::BlockNotFound, message));
        }
        let first = after.height.saturating_add(1);
        let at_once = self.settings.node.max_in_flight.max(1);
        let mut blocks = stream::iter(first..=upto.height).map(|height| self.changes_at(height)).buffer_unordered(at_once);
        let (mut changes, mut links) = (RegistryChanges::default(), BTreeMap::new());
        while let Some((link, block)) = blocks.try_next().await? {
            links.insert(link.block.height, (link.block.hash, link.parent));
            changes.agents.extend(block.agents);
            if block.unclear.is_some() {
                changes.unclear = block.unclear;
                return Ok(changes);
            }
        }
        if upto.height > after.height && !hang_together(after, upto, &links) {
            changes.becomes_unclear("the blocks in between are not all of the same chain".into());
        }
        Ok(changes)
    }

    async fn link(&self, at: AtBlock) -> Result<Link, ChainError> {
        let describe = |link: &Link| {
            let Link { block, parent, transactions } = link;
            let parent = parent.map_or("none".into(), |parent| parent.to_string());
            format!(
                "block {} stands at height {} after block {parent} and holds {transactions} transactions",
                block.hash, block.height
            )
        };
        self.nodes.ask(describe, |node| async move { node.link(at).await }).await
    }

    async fn changes_at(&self, height: u64) -> Result<(Link, RegistryChanges), ChainError> {
        let link = self.link(AtBlock::Height(height)).await?;
        if link.transactions == 0 {
            return Ok((link, RegistryChanges::default()));
        }
        let (block, registry) = (link.block, self.settings.registry);
        let describe = |(told, changes): &(u32, RegistryChanges)| {
            let agents = changes.agents.iter().map(TokenId::to_string).collect::<Vec<_>>().join(", ");
            format!("the {told} transactions of block {height} are about the agents {agents}")
        };
        let ask = |node: std::sync::Arc<Node>| async move { node.changes_in(&block, registry).await };
        let (told, mut changes) = self.nodes.ask(describe, ask).await?;
        if told != link.transactions {
            let held = link.transactions;
            changes.becomes_unclear(format!("{told} of the {held} transactions in block {height} were told"));
        }
        Ok((link, changes))
    }
}

/// Whether each block names the one before it, from `upto` back to `after`.
fn hang_together(after: &Block, upto: &Block, links: &BTreeMap<u64, (BlockHash, Option<BlockHash>)>) -> bool {
    let mut wanted = Some(upto.hash);
    for height in (after.height.saturating_add(1)..=upto.height).rev() {
        match links.get(&height) {
            Some((hash, parent)) if Some(*hash) == wanted => wanted = *parent,
            _ => return false,
        }
    }
    wanted == Some(after.hash)
}

impl Node {
    /// How many transactions the block is said to hold, and what they say.
    async fn changes_in(&self, block: &Block, registry: ContractAddress) -> Result<(u32, RegistryChanges), ChainError> {
        let height = block.height;
        let read = |mut node: super::node::Queries, request: api::BlockHashInput| async move {
            let (metadata, mut summaries, extensions) = node.get_block_transaction_events(request).await?.into_parts();
            let (mut told, mut changes) = (0_u32, RegistryChanges::default());
            while let Some(summary) = summaries.message().await? {
                told = told.saturating_add(1);
                changes.see(summary, registry, height);
            }
            Ok(Response::from_parts(metadata, (told, changes), extensions))
        };
        match self.call_at("GetBlockTransactionEvents", block.hash, block.hash.into(), read).await {
            Err(failure) if failure.code == Code::NotFound => {
                Err(self.error(ChainErrorKind::BlockNotFound, format_args!("knows no block {}", block.hash)))
            }
            answer => Ok(answer?),
        }
    }
}

impl RegistryChanges {
    /// Takes in what one transaction did. A rejected one has no effect, and neither has an inner call that failed: its events
    /// are not in the trace.
    fn see(&mut self, summary: api::BlockItemSummary, registry: ContractAddress, height: u64) {
        let is_registry = |address: &Option<api::ContractAddress>| {
            address.as_ref().is_some_and(|address| (address.index, address.subindex) == (registry.index, registry.subindex))
        };
        let newer = || format!("block {height} holds a kind of transaction that this program does not know");
        let trace = match summary.details {
            Some(Details::AccountTransaction(details)) => match details.effects.and_then(|effects| effects.effect) {
                Some(Effect::ContractUpdateIssued(issued)) => issued.effects,
                Some(Effect::ContractInitialized(made)) if is_registry(&made.address) => {
                    return self.becomes_unclear(format!("the registry was made in block {height}"));
                }
                Some(_) => return,
                None => return self.becomes_unclear(newer()),
            },
            // New accounts, tokens of the chain itself and updates of its parameters: no contract is called.
            Some(_) => return,
            None => return self.becomes_unclear(newer()),
        };
        for step in trace {
            let events = match step.element {
                Some(Element::Updated(updated)) if is_registry(&updated.address) => updated.events,
                // What it logged before it called another contract.
                Some(Element::Interrupted(interrupted)) if is_registry(&interrupted.address) => interrupted.events,
                Some(Element::Upgraded(upgraded)) if is_registry(&upgraded.address) => {
                    self.becomes_unclear(format!("the registry's code was replaced in block {height}"));
                    continue;
                }
                Some(_) => continue,
                None => {
                    self.becomes_unclear(newer());
                    continue;
                }
            };
            events.iter().for_each(|event| self.log(&event.value, height));
        }
    }

    fn log(&mut self, event: &[u8], height: u64) {
        match RegistryEvent::parse(event) {
            RegistryEvent::Unknown { tag, .. } => {
                let tag = tag.map_or("none".into(), |tag| tag.to_string());
                self.becomes_unclear(format!("the registry logged an event in block {height} that cannot be read (tag {tag})"));
            }
            // It is about all tokens of an account, and changes no record.
            RegistryEvent::UpdateOperator { .. } => {}
            known => self.agents.extend(known.token_id()),
        }
    }

    fn becomes_unclear(&mut self, why: String) {
        self.unclear.get_or_insert(why);
    }
}
