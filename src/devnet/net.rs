use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use concordium_rust_sdk::base::base::{Energy, Nonce};
use concordium_rust_sdk::base::common::types::TransactionTime;
use concordium_rust_sdk::base::contracts_common::{Amount, OwnedParameter, OwnedReceiveName, Timestamp};
use concordium_rust_sdk::base::smart_contracts::ContractTraceElement;
use concordium_rust_sdk::base::transactions::{send, UpdateContractPayload};
use concordium_rust_sdk::types::RejectReason;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::engine::{update_all, Effect};
use super::history::Block;
use super::node::{Node, SubmitError, Which};
use super::store::DataFolder;
use super::{admission, server, Builder, DevnetError, TestAccount};
use crate::digest::Sha256Digest;
use crate::identity::{ContractAddress, GenesisHash, Network, TokenId};
use crate::registry::parameter::{Parameter, Register};
use crate::registry::RegistryEvent;

/// How long a transaction that is made here may wait, in seconds.
const PATIENCE: u64 = 600;
/// What a transaction that is made here may use beyond its base cost.
const EXECUTION_ENERGY: u64 = 100_000;

/// A running local chain, with a node that listens on TCP. It ends when the value is dropped.
pub struct Devnet {
    node: Arc<Node>,
    address: SocketAddr,
    url: String,
    folder: Option<DataFolder>,
    server: JoinHandle<()>,
    clock: JoinHandle<()>,
    /// Held from choosing a sequence number until the transaction is received.
    sending: tokio::sync::Mutex<()>,
}

/// A block of the local chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRef {
    /// The hash that names it.
    pub hash: [u8; 32],
    /// Its height; the genesis block's is 0.
    pub height: u64,
    /// Its time, in milliseconds since 1970.
    pub time: u64,
}

impl From<&Block> for BlockRef {
    fn from(block: &Block) -> Self {
        Self { hash: block.hash, height: block.height, time: block.time }
    }
}

/// What became of a transaction made with [`Devnet::update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionResult {
    /// The hash that names it.
    pub hash: [u8; 32],
    /// The block it is in.
    pub block: BlockRef,
    /// Why it was rejected, if it was: the contract's code when the contract said so, and a sentence.
    pub rejected: Option<(Option<i32>, String)>,
    /// What the contracts logged, in order; each is a tag and what follows it.
    pub events: Vec<Vec<u8>>,
    /// Energy used.
    pub energy: u64,
    /// What was paid for it.
    pub micro_ccd: u64,
}

impl Devnet {
    /// Starts a chain with default settings on a free port of the loopback address.
    ///
    /// # Errors
    /// [`DevnetError`] when it cannot start.
    pub async fn start() -> Result<Self, DevnetError> {
        Self::builder().start().await
    }

    /// Settings of a chain.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn serve(node: Node, folder: Option<DataFolder>, listener: TcpListener) -> Result<Self, DevnetError> {
        let address = listener.local_addr();
        let address = address.map_err(|error| DevnetError::Internal(format!("the socket has no address: {error}")))?;
        let node = Arc::new(node);
        let server = server::serve(&node, listener)?;
        let clock = tokio::spawn(node.clone().keep_time());
        let host = if address.ip().is_unspecified() { "127.0.0.1".into() } else { host(address) };
        Ok(Self {
            node,
            address,
            url: format!("http://{host}:{}", address.port()),
            folder,
            server,
            clock,
            sending: tokio::sync::Mutex::new(()),
        })
    }

    /// The URL of the node's gRPC API v2, such as `http://127.0.0.1:20000`.
    pub fn node_url(&self) -> &str {
        &self.url
    }

    /// Where the node listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The hash of the genesis block, which names the chain.
    pub fn genesis_hash(&self) -> GenesisHash {
        GenesisHash(self.node.genesis.hash())
    }

    /// The address of the CIS-8004 Agent Registry.
    pub fn registry(&self) -> ContractAddress {
        self.node.genesis.registry()
    }

    /// The address of the CIS-8 External Key Registry.
    pub fn cis8(&self) -> ContractAddress {
        self.node.genesis.cis8()
    }

    /// The reference of the module that the CIS-8004 registry runs now.
    pub fn module_ref(&self) -> [u8; 32] {
        let world = &self.node.best().world;
        world.contracts.get(&sdk(self.registry())).map_or([0; 32], |contract| contract.module_reference.bytes)
    }

    /// The chain as a network named `devnet`.
    pub fn network(&self) -> Network {
        Network {
            name: "devnet".into(),
            genesis: self.genesis_hash(),
            registry: self.registry(),
            cis8: self.cis8(),
            nodes: vec![self.url.clone().into()],
            explorer: None,
        }
    }

    /// The funded accounts; the first one administers the registries.
    pub fn accounts(&self) -> &[TestAccount] {
        &self.node.accounts
    }

    /// The funded account number `index`, counted from 0.
    pub fn account(&self, index: usize) -> Option<&TestAccount> {
        self.node.accounts.get(index)
    }

    /// The wallet file of the account number `index`, when the chain has a data folder.
    pub fn wallet_file(&self, index: usize) -> Option<PathBuf> {
        let accounts = self.folder.as_ref()?.accounts().ok()?;
        (index < self.node.accounts.len()).then(|| accounts.join(format!("{index}.export.json")))
    }

    /// What an account has now, in microCCD.
    pub fn balance(&self, index: usize) -> Option<u64> {
        Some(self.node.best().world.balance(self.account(index)?.address).micro_ccd())
    }

    /// The newest block.
    pub fn best_block(&self) -> BlockRef {
        BlockRef::from(&*self.node.best())
    }

    /// The newest finalized block.
    pub fn last_finalized(&self) -> BlockRef {
        self.node.history(|history| BlockRef::from(&**history.last_finalized()))
    }

    /// Makes a block of the transactions that wait, also when there are none.
    ///
    /// # Errors
    /// [`DevnetError`] when it cannot be written to the data folder.
    pub async fn commit(&self) -> Result<BlockRef, DevnetError> {
        self.node.make_blocks(Which::All, true).await?;
        Ok(self.best_block())
    }

    /// Finalizes all blocks.
    pub fn finalize(&self) -> BlockRef {
        self.node.finalize(self.best_block().height);
        self.last_finalized()
    }

    /// Makes a block of the transactions that wait, and finalizes it.
    ///
    /// # Errors
    /// [`DevnetError`] when it cannot be written to the data folder.
    pub async fn advance(&self) -> Result<BlockRef, DevnetError> {
        self.commit().await?;
        Ok(self.finalize())
    }

    /// Sends a signed transaction that calls an entry point of a contract, with the next sequence number of the account
    /// `account`, and says what became of it once it is in a block. On a manual chain that block is made for it.
    ///
    /// # Errors
    /// [`DevnetError::Refused`] when the node does not take it. A rejection in a block is not an error.
    pub async fn update(
        &self,
        account: usize,
        contract: ContractAddress,
        entry_point: &str,
        parameter: &[u8],
    ) -> Result<TransactionResult, DevnetError> {
        let refused = |why: &str| DevnetError::Refused(why.into());
        let account = self.account(account).ok_or_else(|| refused("there is no such test account"))?;
        let payload = self.call(contract, entry_point, parameter)?;
        let expiry = TransactionTime::from_seconds(admission::now() / 1000 + PATIENCE);
        let energy = Energy::from(EXECUTION_ENERGY);
        let turn = self.sending.lock().await;
        let nonce = Nonce { nonce: self.node.next_nonce(account.address).0 };
        let transaction = send::update_contract(&account.keys, account.address, nonce, expiry, payload, energy);
        let hash = match self.node.submit(transaction).await {
            Ok(hash) => hash,
            Err(SubmitError::Refused(refusal)) => return Err(DevnetError::Refused(refusal.to_string())),
            Err(SubmitError::Failed(error)) => return Err(error),
        };
        drop(turn);
        if self.node.is_manual() {
            self.advance().await?;
        }
        while self.node.is_pending(&hash) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        self.result(&hash).ok_or_else(|| refused("it was dropped before it was in a block"))
    }

    /// Registers an agent with a signed transaction of the account `account`, and gives its token id.
    ///
    /// # Errors
    /// [`DevnetError::Refused`] when the node or the registry does not take it.
    pub async fn register_agent(
        &self,
        account: usize,
        uri: Option<&str>,
        metadata_hash: Option<[u8; 32]>,
    ) -> Result<TokenId, DevnetError> {
        let result = self.update(account, self.registry(), "register", &registration(uri, metadata_hash)?).await?;
        if let Some((_, why)) = result.rejected {
            return Err(DevnetError::Refused(why));
        }
        let id = result.events.iter().find_map(|event| match RegistryEvent::parse(event) {
            RegistryEvent::Registered { token_id, .. } => Some(token_id),
            _ => None,
        });
        id.ok_or_else(|| DevnetError::Internal("the registry logged no Registered event".into()))
    }

    /// Registers `count` agents of the account `account` through the engine alone: without signatures, fees or a block for
    /// each, for benchmarks. The agent number `n` gets what `agent(n)` gives. All are there in the next block.
    ///
    /// # Errors
    /// [`DevnetError::Refused`] when the registry does not take one; none is registered then.
    /// [`DevnetError::Configuration`] when the chain has a data folder, for its log could not make them again.
    pub async fn preload_agents(
        &self,
        account: usize,
        count: usize,
        agent: impl Fn(usize) -> (String, Option<[u8; 32]>) + Send + 'static,
    ) -> Result<BlockRef, DevnetError> {
        let sender = self.account(account).ok_or_else(|| DevnetError::Refused("there is no such test account".into()))?.address;
        let template = self.call(self.registry(), "register", &[])?;
        let node = self.node.clone();
        let work = move || {
            let mut world = (*node.best().world).clone();
            let payloads = (0..count).map(|number| {
                let (uri, hash) = agent(number);
                let message = OwnedParameter::try_from(registration(Some(&uri), hash)?);
                let message = message.map_err(|error| DevnetError::Refused(error.to_string()))?;
                Ok(UpdateContractPayload { message, ..template.clone() })
            });
            let time = Timestamp::from_timestamp_millis(admission::now());
            update_all(&mut world, sender, time, &node.genesis.rates, payloads)?;
            node.insert(world)
        };
        let block = tokio::task::spawn_blocking(work).await;
        let block = block.map_err(|error| DevnetError::Internal(format!("loading ended: {error}")))??;
        Ok(BlockRef::from(&*block))
    }

    fn call(&self, contract: ContractAddress, entry: &str, parameter: &[u8]) -> Result<UpdateContractPayload, DevnetError> {
        let refused = |why: String| DevnetError::Refused(why);
        let world = &self.node.best().world;
        let instance = world.contracts.get(&sdk(contract)).ok_or_else(|| refused(format!("there is no contract {contract}")))?;
        let name = format!("{}.{entry}", instance.contract_name.as_contract_name().contract_name());
        Ok(UpdateContractPayload {
            amount: Amount::zero(),
            address: sdk(contract),
            receive_name: OwnedReceiveName::new(name).map_err(|error| refused(format!("no entry point's name: {error}")))?,
            message: OwnedParameter::try_from(parameter.to_vec()).map_err(|error| refused(error.to_string()))?,
        })
    }

    fn result(&self, hash: &[u8; 32]) -> Option<TransactionResult> {
        self.node.history(|history| {
            let (block, place) = history.transaction(hash)?;
            let (_, execution) = block.transactions.get(place)?;
            let mut events = Vec::new();
            let mut rejected = None;
            match &execution.effect {
                Effect::Updated(trace) => {
                    for step in trace {
                        let logged = match step {
                            ContractTraceElement::Updated { data } => &data.events,
                            ContractTraceElement::Interrupted { events, .. } => events,
                            _ => continue,
                        };
                        events.extend(logged.iter().map(|event| event.as_ref().to_vec()));
                    }
                }
                Effect::Rejected(RejectReason::RejectedReceive { reject_reason, .. }) => {
                    rejected = Some((Some(*reject_reason), format!("the contract rejected it with code {reject_reason}")));
                }
                Effect::Rejected(reason) => rejected = Some((None, format!("it was rejected: {reason:?}"))),
                _ => {}
            }
            let (energy, micro_ccd) = (execution.energy.energy, execution.cost.micro_ccd());
            Some(TransactionResult { hash: *hash, block: BlockRef::from(&**block), rejected, events, energy, micro_ccd })
        })
    }

    /// Stops the chain: no more blocks, streams end, the port and the data folder are free when this returns.
    pub async fn shutdown(mut self) {
        self.node.close();
        self.clock.abort();
        // Connections get a moment to finish their answers.
        if tokio::time::timeout(std::time::Duration::from_secs(1), &mut self.server).await.is_err() {
            self.server.abort();
            let _ = (&mut self.server).await;
        }
    }
}

impl Drop for Devnet {
    fn drop(&mut self) {
        self.node.close();
        self.clock.abort();
        self.server.abort();
    }
}

fn sdk(contract: ContractAddress) -> concordium_rust_sdk::types::ContractAddress {
    concordium_rust_sdk::types::ContractAddress::new(contract.index, contract.subindex)
}

fn host(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

fn registration(uri: Option<&str>, metadata_hash: Option<[u8; 32]>) -> Result<Vec<u8>, DevnetError> {
    let (agent_uri, metadata_hash) = (uri.map(str::to_owned), metadata_hash.map(Sha256Digest));
    let parameter = Register { agent_uri, metadata_hash, ..Register::default() }.to_bytes();
    parameter.map_err(|error| DevnetError::Refused(error.to_string()))
}
