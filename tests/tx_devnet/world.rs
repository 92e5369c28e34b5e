//! A chain of its own, accounts that sign, a host that serves what it is told, and someone who says yes.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use cardproof::anchor::flow::{
    anchor, execute, register, AnchorRequest, Anchored, Attendant, Context, Executed, RegisterRequest, Review, Step,
};
use cardproof::anchor::keys::{AccountSigner, KeyFile};
use cardproof::anchor::{
    follow, parameter_call, plan, AnchorError, Call, Choices, Energy, Plan, Session, SignedTransaction, Signer, Status, ToSign,
    Transaction,
};
use cardproof::chain::{AgentReader, AtBlock, ChainClient, ChainSettings};
use cardproof::devnet::{Builder, Devnet};
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{Body, CardFetcher, FailureKind, FetchFailure, FetchTrace, Fetched, Origin};
use cardproof::identity::{AccountAddress, ContractAddress, Network, TokenId};
use cardproof::registry::parameter::{EntryPoint, Parameter, Register};
use cardproof::registry::AgentRecord;
use tempfile::TempDir;

pub(crate) const WAIT: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) net: Devnet,
    pub(crate) chain: ChainClient,
    pub(crate) state: TempDir,
    pub(crate) host: Host,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::built(Devnet::builder()).await
    }

    pub(crate) async fn built(builder: Builder) -> Self {
        let net = builder.start().await.unwrap();
        let chain = client(&net, net.network());
        Self { net, chain, state: tempfile::tempdir().unwrap(), host: Host::default() }
    }

    pub(crate) fn signer(&self, account: usize) -> AccountSigner {
        let export = self.net.account(account).unwrap().wallet_export();
        KeyFile::read(export.as_bytes(), &mut || panic!("it is not encrypted")).unwrap().signer(None, None).unwrap()
    }

    pub(crate) fn address(&self, account: usize) -> AccountAddress {
        self.net.account(account).unwrap().address()
    }

    pub(crate) fn now(&self) -> u64 {
        (self.chain.settings().clock)().0 / 1000
    }

    pub(crate) fn context(&self) -> Context<'_, Host> {
        Context {
            chain: &self.chain,
            fetcher: &self.host,
            state_folder: self.state.path(),
            environment: Some("devnet"),
            choices: Choices::default(),
            wait: Some(WAIT),
        }
    }

    /// The contract that an entry point is of.
    pub(crate) fn contract<P: Parameter>(&self) -> ContractAddress {
        match P::ENTRY_POINT.contract() {
            "CIS-8" => self.net.cis8(),
            _ => self.net.registry(),
        }
    }

    pub(crate) fn call<P: Parameter>(&self, parameter: &P) -> Call {
        parameter_call(self.contract::<P>(), parameter).unwrap()
    }

    pub(crate) async fn plan(&self, account: usize, call: Call, choices: &Choices) -> Result<Plan, AnchorError> {
        let signer = self.signer(account);
        plan(&self.chain, call, signer.address(), Some(&signer.public_keys()), choices).await
    }

    /// Plans, signs, sends and follows, and holds the estimate against what was used (fault C-71).
    pub(crate) async fn perform<P: Parameter>(&self, account: usize, parameter: &P) -> Status {
        let plan = self.plan(account, self.call(parameter), &Choices::default()).await.unwrap_or_else(|error| panic!("{error}"));
        let status = self.send(account, plan.transaction).await.unwrap_or_else(|error| panic!("{error}"));
        assert!(status.is_success(), "{:?}: {:?}", P::ENTRY_POINT, status.rejection_words());
        let used = status.outcome.as_ref().unwrap().energy.unwrap();
        let estimated = plan.estimate.energy;
        assert!(
            estimated >= used && estimated <= used + used / 10 + 100,
            "{:?}: estimated {estimated}, used {used}",
            P::ENTRY_POINT
        );
        let paid = status.outcome.as_ref().unwrap().microccd.unwrap();
        assert!(plan.estimate.microccd >= paid && plan.most_microccd >= plan.estimate.microccd);
        status
    }

    /// Sends a transaction without a dry run: the chain says what it thinks of it.
    pub(crate) async fn force(&self, account: usize, call: Call, energy: Energy) -> Status {
        let signer = self.signer(account);
        let nonce = self.chain.next_nonce(signer.address()).await.unwrap().nonce;
        let expiry = self.now() + 600;
        let transaction = Transaction::new(call, signer.address(), nonce, expiry, energy, signer.signature_count()).unwrap();
        self.send(account, transaction).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn sign(&self, account: usize, transaction: Transaction) -> SignedTransaction {
        let signatures = self.signer(account).sign(ToSign::Transaction(&transaction)).await.unwrap();
        SignedTransaction { transaction, signatures }
    }

    pub(crate) async fn send(&self, account: usize, transaction: Transaction) -> Result<Status, AnchorError> {
        let signed = self.sign(account, transaction).await;
        let session = Session::open(&self.chain, self.state.path(), signed.transaction.sender()).await?;
        session.send(&signed).await?;
        let hash = signed.hash();
        drop(session);
        let expiry = Some(signed.transaction.expiry());
        follow(&self.chain, self.state.path(), hash, expiry, Some(WAIT), &mut |_| {}).await
    }

    pub(crate) async fn anchor(
        &self,
        account: usize,
        request: &AnchorRequest,
        person: &mut dyn Attendant,
    ) -> Result<Anchored, AnchorError> {
        anchor(&self.context(), request, &self.signer(account), person, &mut |_| Ok(())).await
    }

    pub(crate) async fn register(
        &self,
        account: usize,
        request: &RegisterRequest,
        person: &mut dyn Attendant,
    ) -> Result<Executed, AnchorError> {
        register(&self.context(), request, &self.signer(account), person, &mut |_| Ok(())).await
    }

    pub(crate) async fn execute(&self, account: usize, call: Call, person: &mut dyn Attendant) -> Result<Executed, AnchorError> {
        execute(&self.context(), call, vec![], &self.signer(account), person, &mut |_| Ok(())).await
    }

    /// Registers an agent with this URI and digest.
    pub(crate) async fn agent(&self, account: usize, uri: &str, card: Option<&[u8]>) -> TokenId {
        let parameter =
            Register { agent_uri: Some(uri.into()), metadata_hash: card.map(Sha256Digest::of), ..Register::default() };
        self.perform(account, &parameter).await.token_id.unwrap()
    }

    pub(crate) async fn record(&self, agent: TokenId) -> AgentRecord {
        let block = self.chain.pin(AtBlock::LastFinalized).await.unwrap();
        self.chain.read(&block, agent).await.unwrap().record.unwrap()
    }

    /// How many agents there are.
    pub(crate) async fn agents(&self) -> u64 {
        let block = self.chain.pin(AtBlock::LastFinalized).await.unwrap();
        let mut count = 0;
        while self.chain.read(&block, TokenId(count)).await.unwrap().record.is_some() {
            count += 1;
        }
        count
    }

    /// How many transactions of the account are on the chain.
    pub(crate) async fn sent_by(&self, account: usize) -> u64 {
        let block = self.chain.pin(AtBlock::LastFinalized).await.unwrap();
        self.chain.account(&block, self.address(account)).await.unwrap().unwrap().next_nonce - 1
    }
}

pub(crate) fn client(net: &Devnet, network: Network) -> ChainClient {
    let mut settings = ChainSettings::new(network);
    settings.registry = net.registry();
    settings.nodes = vec![net.node_url().to_owned()];
    // One node, whose clock nobody waits for.
    settings.expiry_margin = std::time::Duration::ZERO;
    ChainClient::new(settings).unwrap()
}

/// The name that the standard has for the code of an entry point's rejection.
pub(crate) fn is_view(entry_point: EntryPoint) -> bool {
    use EntryPoint::*;
    matches!(
        entry_point,
        GetMetadata
            | AgentOf
            | AgentByExternalReference
            | GetAgentWallet
            | GetAgentWalletNonce
            | BalanceOf
            | OperatorOf
            | TokenMetadata
            | Supports
            | OwnerOfKey
            | KeyRegistrySupports
    )
}

/// Serves bytes by URI, and counts who asks.
#[derive(Default)]
pub(crate) struct Host {
    pages: Mutex<HashMap<String, Vec<u8>>>,
    asked: Mutex<Vec<String>>,
}

impl Host {
    pub(crate) fn serve(&self, uri: &str, body: impl Into<Vec<u8>>) {
        self.pages.lock().unwrap().insert(uri.into(), body.into());
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl CardFetcher for Host {
    async fn fetch(&self, uri: &str, _: Origin) -> Result<Fetched, FetchFailure> {
        self.asked.lock().unwrap().push(uri.into());
        let Some(page) = self.pages.lock().unwrap().get(uri).cloned() else {
            let message = "the host answered 404".into();
            return Err(FetchFailure { kind: FailureKind::NotFound, message, retryable: false, trace: FetchTrace::default() });
        };
        let sha256 = Sha256Digest::of(&page);
        let body = Body { sha256, bytes: page.len() as u64, kept: Some(Bytes::from(page)) };
        let trace = FetchTrace::default();
        Ok(Fetched { trace, body, wire_sha256: sha256, looks_like_bot_wall: false, length_verified: true })
    }
}

/// Says yes, or no, and remembers what it saw.
pub(crate) struct Person {
    pub(crate) answer: bool,
    pub(crate) reviews: Vec<Review>,
    pub(crate) steps: Vec<String>,
}

impl Person {
    pub(crate) fn saying(answer: bool) -> Self {
        Self { answer, reviews: Vec::new(), steps: Vec::new() }
    }
}

impl Attendant for Person {
    fn step(&mut self, step: &Step) {
        self.steps.push(step.to_string());
    }

    fn confirm(&mut self, review: &Review) -> bool {
        self.reviews.push(review.clone());
        self.answer
    }
}
