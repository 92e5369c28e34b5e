//! How the registry is kept between calls.

use concordium_std::*;

use crate::{
    error::RegistryError,
    record::{account_key, same_account, AgentRecord, AgentStatus, AgentTokenId, ExternalReference},
};

/// The registry. The root value is small and of fixed size; agents, operators and references live in maps of their own,
/// so the cost of a call does not grow with the number of agents.
#[derive(Serial, DeserialWithState)]
#[concordium(state_parameter = "S")]
pub struct State<S: HasStateApi = StateApi> {
    /// The account that may replace this contract's code.
    pub admin: AccountAddress,
    /// The CIS-8 registry that external references must point to.
    pub cis8: ContractAddress,
    /// The chain this registry is on, 32 bytes. Part of what a wallet signs.
    pub genesis_hash: [u8; 32],
    /// The number the next agent gets. Numbers are never used again.
    next_token_id: u64,
    agents: StateMap<AgentTokenId, StoredAgent, S>,
    /// Present: the address may transfer all agents of the account.
    operators: StateSet<([u8; 29], Address), S>,
    /// Who holds a reference. Active agents only.
    references: StateMap<ExternalReference, AgentTokenId, S>,
}

/// An agent in memory: its record, and the number of wallet changes it has seen.
pub struct Agent {
    pub record: AgentRecord,
    /// Part of what a wallet signs, so that no signature works twice. Counts wallet changes and transfers.
    pub wallet_nonce: u64,
}

/// An agent in the chain's state: a 4-byte length, then the wallet nonce (u64 LE) and the record exactly as `agentOf`
/// returns it. So a read copies bytes and parses nothing, and costs two host calls however many fields there are.
struct StoredAgent(Vec<u8>);

/// Bytes before the record in a [`StoredAgent`].
const NONCE_BYTES: usize = 8;

impl Serial for StoredAgent {
    fn serial<W: Write>(&self, out: &mut W) -> Result<(), W::Err> {
        (self.0.len() as u32).serial(out)?;
        out.write_all(&self.0)
    }
}

impl Deserial for StoredAgent {
    fn deserial<R: Read>(source: &mut R) -> ParseResult<Self> {
        let mut bytes = vec![0u8; u32::deserial(source)? as usize];
        source.read_exact(&mut bytes)?;
        Ok(StoredAgent(bytes))
    }
}

impl StoredAgent {
    fn new(agent: &Agent) -> Self {
        let mut bytes = to_bytes(&agent.wallet_nonce);
        // Writing to a vector cannot fail.
        agent.record.serial(&mut bytes).unwrap_abort();
        StoredAgent(bytes)
    }

    fn agent(&self) -> Agent {
        let mut cursor = Cursor::new(&self.0);
        // Only `new` makes these bytes. If they do not parse the state is not ours, and stopping is all that is right.
        Agent { wallet_nonce: cursor.get().unwrap_abort(), record: cursor.get().unwrap_abort() }
    }
}

/// The answer of `agentOf`: on the wire and in the schema an `Option<AgentRecord>`, without parsing the record on the way.
pub struct AgentAnswer(Option<StoredAgent>);

impl Serial for AgentAnswer {
    fn serial<W: Write>(&self, out: &mut W) -> Result<(), W::Err> {
        match &self.0 {
            None => out.write_u8(0),
            Some(stored) => {
                out.write_u8(1)?;
                out.write_all(stored.0.get(NONCE_BYTES..).unwrap_abort())
            }
        }
    }
}

impl State {
    /// A registry without agents.
    pub fn empty(builder: &mut StateBuilder, admin: AccountAddress, cis8: ContractAddress, genesis_hash: [u8; 32]) -> Self {
        State {
            admin,
            cis8,
            genesis_hash,
            next_token_id: 0,
            agents: builder.new_map(),
            operators: builder.new_set(),
            references: builder.new_map(),
        }
    }

    /// Takes the next number: 0, 1, 2, …
    pub fn new_token_id(&mut self) -> AgentTokenId {
        let id = self.next_token_id;
        self.next_token_id += 1;
        AgentTokenId::from(id)
    }

    /// The record as it is returned, `None` inside when there is no such agent.
    pub fn answer(&self, token_id: &AgentTokenId) -> AgentAnswer {
        AgentAnswer(self.stored(token_id))
    }

    /// The record of the active agent with this reference.
    pub fn answer_by_reference(&self, reference: &ExternalReference) -> AgentAnswer {
        AgentAnswer(self.references.get(reference).and_then(|id| self.stored(&id)))
    }

    fn stored(&self, token_id: &AgentTokenId) -> Option<StoredAgent> {
        self.agents.get(token_id).map(|entry| StoredAgent(entry.0.clone()))
    }

    /// # Errors
    /// [`RegistryError::AgentNotFound`].
    pub fn agent(&self, token_id: &AgentTokenId) -> Result<Agent, RegistryError> {
        self.agents.get(token_id).map(|entry| entry.agent()).ok_or(RegistryError::AgentNotFound)
    }

    /// The agent, for a change that `sender` asks for. Changes are the owner's alone, an operator may only transfer; an
    /// owner is an account, so a contract is never one.
    ///
    /// # Errors
    /// In this order: [`RegistryError::AgentNotFound`], [`RegistryError::AgentRevoked`], [`RegistryError::Unauthorized`].
    pub fn agent_to_change(&self, token_id: &AgentTokenId, sender: &Address) -> Result<Agent, RegistryError> {
        let agent = self.agent(token_id)?;
        ensure!(agent.record.status == AgentStatus::Active, RegistryError::AgentRevoked);
        ensure!(agent.is_owned_by(sender), RegistryError::Unauthorized);
        Ok(agent)
    }

    /// Writes an agent, new or changed.
    pub fn save(&mut self, agent: &Agent) {
        let _ = self.agents.insert(agent.record.token_id, StoredAgent::new(agent));
    }

    /// Who holds a reference.
    pub fn holder_of(&self, reference: &ExternalReference) -> Option<AgentTokenId> {
        self.references.get(reference).map(|id| *id)
    }

    /// Gives an agent a reference in place of the one it has. Changes the record in memory: [`State::save`] is still due.
    pub fn set_reference(&mut self, agent: &mut Agent, reference: Option<ExternalReference>) {
        if let Some(old) = agent.record.external_reference.take() {
            self.references.remove(&old);
        }
        if let Some(new) = &reference {
            let _ = self.references.insert(new.clone(), agent.record.token_id);
        }
        agent.record.external_reference = reference;
    }

    /// Whether `operator` may transfer the agents of `owner`.
    pub fn is_operator(&self, owner: &AccountAddress, operator: &Address) -> bool {
        self.operators.contains(&operator_key(owner, operator))
    }

    /// Makes `operator` one of `owner`'s. No effect when it is one already.
    pub fn add_operator(&mut self, owner: &AccountAddress, operator: &Address) {
        self.operators.insert(operator_key(owner, operator));
    }

    /// No effect when `operator` is none of `owner`'s.
    pub fn remove_operator(&mut self, owner: &AccountAddress, operator: &Address) {
        self.operators.remove(&operator_key(owner, operator));
    }
}

impl Agent {
    /// Whether `address` is the owner's account, under any of its aliases.
    pub fn is_owned_by(&self, address: &Address) -> bool {
        match address {
            Address::Account(account) => same_account(account, &self.record.owner_account),
            Address::Contract(_) => false,
        }
    }
}

/// Aliases of an account are one owner and one operator.
fn operator_key(owner: &AccountAddress, operator: &Address) -> ([u8; 29], Address) {
    let operator = match operator {
        Address::Account(account) => {
            let mut canonical = [0u8; 32];
            canonical[..29].copy_from_slice(&account_key(account));
            Address::Account(AccountAddress(canonical))
        }
        Address::Contract(contract) => Address::Contract(*contract),
    };
    (account_key(owner), operator)
}
