use std::fmt;

use crate::chain::{AgentReader, Block, ChainError};
use crate::identity::TokenId;

/// How many token ids in a row without an agent mean that there are no more.
///
/// Ids are assigned in sequence from 0 and never taken back, so one would do; a registry of another make may leave gaps.
const GAP: u64 = 32;

/// Where a registry's token ids end, as found by probing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistryEnd {
    /// One more than the highest token id that has an agent; 0 when there is none.
    pub end: u64,
    /// At which block.
    pub block: Block,
    /// How many ids were looked at.
    pub probes: u32,
}

impl fmt::Display for RegistryEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = match self.end.checked_sub(1) {
            Some(last) => format!("all agents from 0 to {last}"),
            None => "all agents, of which there are none".into(),
        };
        let (probes, height) = (self.probes, self.block.height);
        write!(
            f,
            "{found}; the registry does not say how many it has, so the end was found by probing {probes} token ids at block \
             {height}, doubling and then halving, with {GAP} ids in a row without an agent taken for the end"
        )
    }
}

/// Finds the end of the registry at `block`: the contract offers no count.
///
/// Doubles the id until nobody is there, then halves the distance. A gap of fewer than 32 ids is looked across.
///
/// # Errors
/// [`ChainError`] when an id cannot be read: an end that is only guessed would hide agents.
pub async fn find_end(reader: &impl AgentReader, block: Block) -> Result<RegistryEnd, ChainError> {
    let mut probe = Probe { reader, block, probes: 0 };
    // Somebody is at or shortly after `low - 1`, nobody at or shortly after `high`.
    let (mut low, mut high) = (0, 0_u64);
    while let Some(found) = probe.next_from(high).await? {
        low = found.saturating_add(1);
        high = low.saturating_mul(2).max(GAP);
        if high == u64::MAX {
            break;
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        match probe.next_from(middle).await? {
            Some(found) => low = found.saturating_add(1),
            None => high = middle,
        }
    }
    Ok(RegistryEnd { end: low, block, probes: probe.probes })
}

struct Probe<'a, R> {
    reader: &'a R,
    block: Block,
    probes: u32,
}

impl<R: AgentReader> Probe<'_, R> {
    /// The first agent at `id` or within a gap after it.
    async fn next_from(&mut self, id: u64) -> Result<Option<u64>, ChainError> {
        for id in id..id.saturating_add(GAP) {
            self.probes += 1;
            if self.reader.read(&self.block, TokenId(id)).await?.record.is_some() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{AtBlock, BlockHash, ChainErrorKind, DecodedWith, ModuleRef, Reading};
    use crate::identity::AccountAddress;
    use crate::registry::{AgentRecord, AgentStatus, Timestamp};

    /// A registry with these agents.
    struct Registry(Box<dyn Fn(u64) -> bool + Send + Sync>);

    impl AgentReader for Registry {
        async fn pin(&self, _: AtBlock) -> Result<Block, ChainError> {
            Err(ChainError::new(ChainErrorKind::NodeError, "not asked for"))
        }

        async fn read(&self, _: &Block, agent: TokenId) -> Result<Reading, ChainError> {
            let record = (self.0)(agent.0).then(|| AgentRecord {
                token_id: agent,
                owner_account: AccountAddress([0; 32]),
                agent_uri: None,
                metadata_hash: None,
                external_reference: None,
                agent_wallet: None,
                status: AgentStatus::Active,
                registered_at: Timestamp(0),
                revoked_at: None,
                revocation_reason: None,
                on_chain_metadata: Vec::new(),
            });
            Ok(Reading { record, decoded_with: Some(DecodedWith::Layout), schema_problem: None, module_ref: ModuleRef([0; 32]) })
        }
    }

    async fn end(exists: impl Fn(u64) -> bool + Send + Sync + 'static) -> RegistryEnd {
        let block = Block { hash: BlockHash([0; 32]), height: 9, time: Timestamp(0) };
        find_end(&Registry(Box::new(exists)), block).await.unwrap()
    }

    #[tokio::test]
    async fn the_end_is_found_whatever_its_place() {
        for count in (0..200).chain([1000, 4095, 4096, 4097, 100_000, 10_000_000]) {
            let found = end(move |id| id < count).await;
            assert_eq!(found.end, count);
            assert!(found.probes < 1500, "{count}: {}", found.probes);
        }
    }

    #[tokio::test]
    async fn gaps_are_looked_across() {
        assert_eq!(end(|id| id < 5000 && id % 31 == 0).await.end, 31 * 161 + 1);
        assert_eq!(end(|id| (20..700).contains(&id)).await.end, 700, "the first ids may be missing");
    }

    #[tokio::test]
    async fn c_61_an_empty_registry_ends_where_it_begins() {
        let found = end(|_| false).await;
        assert_eq!((found.end, u64::from(found.probes)), (0, GAP));
        assert!(found.to_string().contains("of which there are none"));
    }
}
