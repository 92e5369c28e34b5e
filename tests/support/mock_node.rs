//! A node that answers as a test tells it to: gRPC over HTTP/2 by hand, one handler per method, every call counted.
#![allow(dead_code, unreachable_pub)]

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cardproof::chain::{BlockHash, ChainSettings, NodeSettings};
use cardproof::digest::Sha256Digest;
use cardproof::identity::{AccountAddress, ContractAddress, GenesisHash, Network, TokenId};
use cardproof::registry::{encode_agent_of, AgentRecord, AgentStatus, Timestamp};
use concordium_rust_sdk::v2::generated as api;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::http::{HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

pub const REGISTRY: ContractAddress = ContractAddress::new(10082, 0);
pub const GENESIS: [u8; 32] = [0x9d; 32];
pub const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// What a handler wants to happen.
pub enum Answer {
    /// A message.
    Message(Vec<u8>),
    /// A message, with what its metadata say of the block it was made at.
    At(&'static [u8], Vec<u8>),
    /// A gRPC status.
    Status(tonic::Code, &'static str),
    /// The stream is reset after a few bytes of an answer.
    Reset,
    /// Nothing, for ever.
    Hang,
}

impl Answer {
    pub fn of(message: &impl Message) -> Self {
        Self::Message(message.encode_to_vec())
    }
}

type Handler = Arc<dyn Fn(&[u8], usize) -> Option<Answer> + Send + Sync>;

/// A chain as a node sees it.
#[derive(Clone)]
pub struct World {
    pub genesis: [u8; 32],
    /// As the wire writes it: 0 for the first version.
    pub protocol_version: i32,
    pub height: u64,
    pub block_time: Timestamp,
    /// Makes the hashes of blocks differ between two worlds.
    pub fork: u8,
    pub contract: ContractAddress,
    pub init_name: String,
    pub module: Vec<u8>,
    /// The bytes that agentOf returns.
    pub agents: BTreeMap<u64, Vec<u8>>,
    /// How many transactions the block of a height holds.
    pub transactions: Arc<dyn Fn(u64) -> u32 + Send + Sync>,
}

impl Default for World {
    fn default() -> Self {
        let agents = BTreeMap::from([(287, encode_agent_of(Some(&record(287)))), (5, vec![0])]);
        Self {
            genesis: GENESIS,
            protocol_version: 8,
            height: 100,
            block_time: Timestamp(NOW.0 - 5_000),
            fork: 0,
            contract: REGISTRY,
            init_name: "init_CIS-8004".into(),
            module: b"\0asm\x01\0\0\0".to_vec(),
            agents,
            transactions: Arc::new(|_| 0),
        }
    }
}

impl World {
    pub fn block_hash(&self, height: u64) -> BlockHash {
        let mut hash = [self.fork; 32];
        hash[24..].copy_from_slice(&height.to_be_bytes());
        BlockHash(hash)
    }

    pub fn module_ref(&self) -> [u8; 32] {
        let length = u32::try_from(self.module.len()).unwrap();
        Sha256Digest::of(&[&1_u32.to_be_bytes()[..], &length.to_be_bytes(), &self.module].concat()).0
    }

    fn block(&self, hash: &[u8]) -> Option<u64> {
        (0..=self.height + 1).find(|height| self.block_hash(*height).0 == hash)
    }

    fn knows(&self, at: &Option<api::BlockHashInput>) -> bool {
        use api::block_hash_input::BlockHashInput as Input;
        match at.as_ref().and_then(|at| at.block_hash_input.as_ref()) {
            Some(Input::Given(hash)) => self.block(&hash.value).is_some(),
            _ => panic!("a read must name its block"),
        }
    }

    pub fn answer(&self, method: &str, request: &[u8]) -> Answer {
        match method {
            "GetConsensusInfo" => Answer::of(&self.consensus()),
            "GetBlockInfo" => self.block_info(api::BlockHashInput::decode(request).unwrap()),
            "GetInstanceInfo" => self.instance(api::InstanceInfoRequest::decode(request).unwrap()),
            "InvokeInstance" => self.invoke(api::InvokeInstanceRequest::decode(request).unwrap()),
            "GetModuleSource" => {
                let source = api::versioned_module_source::ModuleSourceV1 { value: self.module.clone() };
                Answer::of(&api::VersionedModuleSource { module: Some(api::versioned_module_source::Module::V1(source)) })
            }
            _ => Answer::Status(tonic::Code::Unimplemented, ""),
        }
    }

    pub fn consensus(&self) -> api::ConsensusInfo {
        api::ConsensusInfo {
            genesis_block: Some(api::BlockHash { value: self.genesis.to_vec() }),
            last_finalized_block: Some(api::BlockHash { value: self.block_hash(self.height).0.to_vec() }),
            last_finalized_block_height: Some(api::AbsoluteBlockHeight { value: self.height }),
            protocol_version: self.protocol_version,
            ..api::ConsensusInfo::default()
        }
    }

    pub fn block_info(&self, at: api::BlockHashInput) -> Answer {
        use api::block_hash_input::BlockHashInput as Input;
        let height = match at.block_hash_input.unwrap() {
            Input::LastFinal(_) => Some(self.height),
            Input::Given(hash) => self.block(&hash.value),
            Input::AbsoluteHeight(height) => Some(height.value).filter(|height| *height <= self.height),
            other => panic!("not asked for in this program: {other:?}"),
        };
        let Some(height) = height else { return Answer::Status(tonic::Code::NotFound, "block not found") };
        Answer::of(&api::BlockInfo {
            hash: Some(self.block_hash(height).into()),
            height: Some(api::AbsoluteBlockHeight { value: height }),
            slot_time: Some(api::Timestamp { value: self.block_time.0 }),
            // The one block beyond the newest finalized one is known and not final.
            finalized: height <= self.height,
            parent_block: height.checked_sub(1).map(|below| self.block_hash(below).into()),
            transaction_count: (self.transactions)(height),
            protocol_version: self.protocol_version,
            ..api::BlockInfo::default()
        })
    }

    fn instance(&self, request: api::InstanceInfoRequest) -> Answer {
        let address = request.address.unwrap();
        if !self.knows(&request.block_hash) || (address.index, address.subindex) != (self.contract.index, self.contract.subindex)
        {
            return Answer::Status(tonic::Code::NotFound, "not found");
        }
        Answer::of(&api::InstanceInfo {
            version: Some(api::instance_info::Version::V1(api::instance_info::V1 {
                name: Some(api::InitName { value: self.init_name.clone() }),
                source_module: Some(api::ModuleRef { value: self.module_ref().to_vec() }),
                ..api::instance_info::V1::default()
            })),
        })
    }

    fn invoke(&self, request: api::InvokeInstanceRequest) -> Answer {
        if !self.knows(&request.block_hash) {
            return Answer::Status(tonic::Code::NotFound, "block not found");
        }
        let address = request.instance.unwrap();
        if (address.index, address.subindex) != (self.contract.index, self.contract.subindex) {
            return rejected(api::reject_reason::Reason::InvalidContractAddress(address));
        }
        if request.entrypoint.unwrap().value != "CIS-8004.agentOf" {
            return rejected(api::reject_reason::Reason::InvalidReceiveMethod(Default::default()));
        }
        let parameter = request.parameter.unwrap().value;
        assert_eq!((parameter.len(), parameter[0]), (9, 8), "a token id is 08 and 8 bytes");
        let token = u64::from_le_bytes(parameter[1..].try_into().unwrap());
        returned(self.agents.get(&token).cloned().unwrap_or_else(|| vec![0]))
    }
}

pub fn returned(value: Vec<u8>) -> Answer {
    let success = api::invoke_instance_response::Success {
        return_value: Some(value),
        used_energy: Some(api::Energy { value: 1663 }),
        effects: vec![],
    };
    Answer::of(&api::InvokeInstanceResponse { result: Some(api::invoke_instance_response::Result::Success(success)) })
}

pub fn rejected(reason: api::reject_reason::Reason) -> Answer {
    let failure = api::invoke_instance_response::Failure {
        return_value: None,
        used_energy: Some(api::Energy { value: 600 }),
        reason: Some(api::RejectReason { reason: Some(reason) }),
    };
    Answer::of(&api::InvokeInstanceResponse { result: Some(api::invoke_instance_response::Result::Failure(failure)) })
}

/// A rejection by the registry itself.
pub fn rejected_with(code: i32) -> Answer {
    rejected(api::reject_reason::Reason::RejectedReceive(api::reject_reason::RejectedReceive {
        reject_reason: code,
        contract_address: Some(api::ContractAddress { index: REGISTRY.index, subindex: REGISTRY.subindex }),
        ..Default::default()
    }))
}

pub fn record(token: u64) -> AgentRecord {
    AgentRecord {
        token_id: TokenId(token),
        owner_account: AccountAddress([7; 32]),
        agent_uri: Some(format!("https://agents.example/{token}.json")),
        metadata_hash: Some(Sha256Digest::of(b"card")),
        external_reference: None,
        agent_wallet: None,
        status: AgentStatus::Active,
        registered_at: Timestamp(1_785_771_369_045),
        revoked_at: None,
        revocation_reason: None,
        on_chain_metadata: vec![],
    }
}

struct State {
    world: Mutex<World>,
    handlers: Mutex<HashMap<String, Handler>>,
    calls: Mutex<Vec<String>>,
    connections: AtomicUsize,
}

/// A running node. It stops when dropped.
pub struct MockNode {
    pub address: SocketAddr,
    pub url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Drop for MockNode {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl MockNode {
    pub async fn start(world: World) -> Self {
        Self::listen("127.0.0.1:0", world, None).await
    }

    pub async fn start_tls(world: World, tls: TlsAcceptor) -> Self {
        Self::listen("127.0.0.1:0", world, Some(tls)).await
    }

    pub async fn listen(at: &str, world: World, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("{}://{address}", if tls.is_some() { "https" } else { "http" });
        let state = Arc::new(State {
            world: Mutex::new(world),
            handlers: Mutex::default(),
            calls: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let task = tokio::spawn(accept(listener, tls, state.clone()));
        Self { address, url, state, task }
    }

    /// Changes the chain that the node sees.
    pub fn change(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.state.world.lock().unwrap());
    }

    /// Answers a method differently: the handler gets the request and how often the method was called before, and returns
    /// `None` for the ordinary answer.
    pub fn on(&self, method: &str, handler: impl Fn(&[u8], usize) -> Option<Answer> + Send + Sync + 'static) {
        self.state.handlers.lock().unwrap().insert(method.into(), Arc::new(handler));
    }

    /// The methods called since the last time this was asked, in order of arrival.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state.calls.lock().unwrap())
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    // Dropping the set ends its connections with the node.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).unwrap();
        state.connections.fetch_add(1, Ordering::Relaxed);
        let (state, tls) = (state.clone(), tls.clone());
        connections.spawn(async move {
            match tls {
                None => serve(stream, state).await,
                Some(tls) => {
                    // A handshake that fails is the client's to report.
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, state).await;
                    }
                }
            }
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, state: Arc<State>) {
    let service = service_fn(move |request| answer(request, state.clone()));
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

type Body = BoxBody<Bytes, io::Error>;

async fn answer(request: Request<Incoming>, state: Arc<State>) -> Result<Response<Body>, Infallible> {
    let method = request.uri().path().strip_prefix("/concordium.v2.Queries/").unwrap_or_default().to_owned();
    let before = {
        let mut calls = state.calls.lock().unwrap();
        calls.push(method.clone());
        calls.iter().filter(|call| **call == method).count() - 1
    };
    // Who asked may be gone before the question was whole.
    let Ok(body) = request.into_body().collect().await.map(|body| body.to_bytes()) else { std::future::pending().await };
    let message = body.get(5..).unwrap_or_default();
    let handler = state.handlers.lock().unwrap().get(&method).cloned();
    let scripted = handler.and_then(|handler| handler(message, before));
    let answer = scripted.unwrap_or_else(|| state.world.lock().unwrap().answer(&method, message));
    let told = if let Answer::At(block, _) = &answer { Some(HeaderValue::from_bytes(block).unwrap()) } else { None };
    let frames = match answer {
        Answer::Hang => std::future::pending().await,
        Answer::Message(message) | Answer::At(_, message) => {
            vec![Ok(Frame::data(framed(&message))), Ok(Frame::trailers(trailers(0, "")))]
        }
        Answer::Status(code, text) => vec![Ok(Frame::trailers(trailers(code as i32, text)))],
        Answer::Reset => vec![Ok(Frame::data(Bytes::from_static(&[0, 0, 0, 1, 0]))), Err(io::Error::other("reset"))],
    };
    let body = StreamBody::new(futures_util::stream::iter(frames));
    let mut response = Response::builder().header("content-type", "application/grpc").body(BodyExt::boxed(body)).unwrap();
    if let Some(block) = told {
        response.headers_mut().insert("blockhash", block);
    }
    Ok(response)
}

fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap();
    [&[0][..], &length.to_be_bytes(), message].concat().into()
}

fn trailers(code: i32, text: &str) -> HeaderMap {
    let mut map = HeaderMap::new();
    map.insert("grpc-status", HeaderValue::from(code));
    map.insert("grpc-message", HeaderValue::from_str(text).unwrap());
    map
}

/// A network whose genesis block is the mock's.
pub fn network() -> Network {
    Network { name: "mocknet".into(), genesis: GenesisHash(GENESIS), nodes: vec![], ..Network::built_in("mainnet").unwrap() }
}

/// Settings for these nodes, with short waits and a clock that stands still.
pub fn settings(nodes: &[&MockNode]) -> ChainSettings {
    settings_for(nodes.iter().map(|node| node.url.clone()).collect())
}

pub fn settings_for(nodes: Vec<String>) -> ChainSettings {
    ChainSettings { nodes, node: quick(), clock: || NOW, ..ChainSettings::new(network()) }
}

pub fn quick() -> NodeSettings {
    NodeSettings {
        connect_timeout: Duration::from_secs(2),
        call_deadline: Duration::from_secs(2),
        patience: Duration::from_secs(5),
        first_backoff: Duration::from_millis(1),
        longest_backoff: Duration::from_millis(20),
        ..NodeSettings::default()
    }
}

/// A relay in front of a node that can go silent: connections stay open, and nothing passes any more.
pub struct Relay {
    pub url: String,
    silent: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    pub async fn to(node: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let silent = Arc::new(AtomicBool::new(false));
        let flag = silent.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A connection made after the silence began works: only the old ones are dead.
                let dead_from_now = Arc::new(AtomicBool::new(false));
                let born_silent = flag.load(Ordering::SeqCst);
                let node = TcpStream::connect(node).await.unwrap();
                let (client, node) = (client.into_split(), node.into_split());
                for (from, to) in [(client.0, node.1), (node.0, client.1)] {
                    tokio::spawn(pass(from, to, (!born_silent).then(|| flag.clone()), dead_from_now.clone()));
                }
            }
        });
        Self { url, silent, task }
    }

    /// Lets every connection made so far go silent.
    pub fn go_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    silence: Option<Arc<AtomicBool>>,
    dead: Arc<AtomicBool>,
) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut buffer = [0; 4096];
    loop {
        let Ok(count) = from.read(&mut buffer).await else { return };
        if silence.as_ref().is_some_and(|silence| silence.load(Ordering::SeqCst)) {
            dead.store(true, Ordering::SeqCst);
        }
        if dead.load(Ordering::SeqCst) {
            // Both halves stay open for as long as the test runs.
            std::future::pending::<()>().await;
        }
        if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
