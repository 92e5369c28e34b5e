//! What happens between a program and its node: nobody listening, the wrong scheme, load shedding, silence, TLS.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, unreachable_pub)]
#[path = "support/authority.rs"]
mod authority;
#[path = "support/mock_node.rs"]
mod mock_node;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use authority::{self_signed, Authority};
use cardproof::chain::{AgentReader, AtBlock, ChainClient, ChainError, ChainErrorKind, ChainSettings, NodeSettings};
use cardproof::identity::TokenId;
use mock_node::{quick, settings, settings_for, Answer, MockNode, Relay, World};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{crypto::ring, ServerConfig};
use tokio_rustls::TlsAcceptor;
use tonic::Code;

const AGENT: TokenId = TokenId(287);

async fn read(settings: ChainSettings) -> Result<(), ChainError> {
    let client = ChainClient::new(settings)?;
    let block = client.pin(AtBlock::LastFinalized).await?;
    client.read(&block, AGENT).await.map(drop)
}

/// A server's TLS for `127.0.0.1` and `localhost`, and the certificate that clients must trust.
fn tls() -> (TlsAcceptor, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into(), "localhost".into()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    let mut config = config.unwrap().with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}

#[tokio::test]
async fn c_78_localhost_connects_or_says_which_addresses_were_tried() {
    let node = MockNode::listen("[::1]:0", World::default(), None).await;
    let port = node.address.port();
    if let Err(error) = read(settings_for(vec![format!("http://localhost:{port}")])).await {
        assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
        assert!(error.message.contains(&format!("127.0.0.1:{port}")), "{}", error.message);
        assert!(error.message.contains(&format!("something listens at [::1]:{port}")), "{}", error.message);
    }
    read(settings_for(vec![format!("http://[::1]:{port}")])).await.unwrap();
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_named() {
    let error = read(settings_for(vec!["http://node.invalid:20000".into()])).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("node.invalid"), "{}", error.message);
}

#[tokio::test]
async fn https_to_a_plaintext_port_says_to_write_http() {
    let node = MockNode::start(World::default()).await;
    let error = read(settings_for(vec![node.url.replace("http:", "https:")])).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("does not speak TLS: write http://"), "{}", error.message);
}

#[tokio::test]
async fn http_to_a_tls_port_says_to_write_https() {
    let node = MockNode::start_tls(World::default(), tls().0).await;
    let error = read(settings_for(vec![node.url.replace("https:", "http:")])).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("speaks TLS: write https://"), "{}", error.message);
}

#[tokio::test]
async fn a_private_authority_is_trusted_from_its_file_only() {
    let (acceptor, pem) = tls();
    let node = MockNode::start_tls(World::default(), acceptor).await;
    let error = read(settings(&[&node])).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("certificate"), "{}", error.message);
    assert!(!error.message.contains("write http"), "{}", error.message);

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pem).unwrap();
    let trusting = NodeSettings { ca_files: vec![file.path().to_owned()], ..quick() };
    read(ChainSettings { node: trusting, ..settings(&[&node]) }).await.unwrap();
}

/// Why a node with this TLS is not read from.
async fn refused(tls: &ServerConfig, trusted: &Path) -> String {
    let mut tls = tls.clone();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let node = MockNode::start_tls(World::default(), TlsAcceptor::from(Arc::new(tls))).await;
    let trusting = NodeSettings { ca_files: vec![trusted.to_owned()], ..quick() };
    let error = read(ChainSettings { node: trusting, ..settings(&[&node]) }).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains(&node.url), "{}", error.message);
    // For the two calls that begin a read, and for each a look at whether the port is open and whether it speaks plain HTTP.
    assert!(node.connections() <= 6, "a certificate is not tried again: {}", node.connections());
    error.message
}

#[tokio::test]
async fn c_48_each_wrong_certificate_of_a_node_has_the_sentence_of_a_host() {
    const NAMES: &[&str] = &["127.0.0.1"];
    let authority = Authority::new("test authority");
    let other = Authority::new("another authority");
    let cases = [
        (authority.expired(NAMES), "it is not trusted: its certificate expired on Wed, 01 Jan 2020 00:00:00 GMT"),
        (authority.not_yet_valid(NAMES), "its certificate is not valid before Fri, 01 Jan 2500"),
        (authority.server(&["other.example"]), "its certificate is for another host"),
        (self_signed(NAMES, false), "its certificate is self-signed; if you trust it, add it with --ca-file"),
        (self_signed(NAMES, true), "its certificate is self-signed and an authority's own, which no server may show"),
        (authority.below_intermediate(NAMES, false), "does not send the intermediate"),
        (other.server_with_root(NAMES), "comes from a private authority"),
        (other.below_intermediate(NAMES, true), "comes from an unknown authority"),
        (authority.with_unknown_extension(NAMES), "has an extension that must be understood"),
        (authority.below_a_server(NAMES), "signed with one that is no authority's"),
    ];
    let mut sentences = HashSet::new();
    for (tls, sentence) in &cases {
        let message = refused(tls, authority.pem_file()).await;
        assert!(message.contains(sentence), "{sentence}: {message}");
        for debris in ["Some(", "\"", "UnknownIssuer", "Other(", "{", "invalid peer certificate", "write http"] {
            assert!(!message.contains(debris), "{message}");
        }
        sentences.insert(message);
    }
    assert_eq!(sentences.len(), cases.len());
}

/// What stands at a port that answers every connection with these bytes, and closes it.
async fn answers_with(bytes: &'static [u8]) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut question = [0; 4096];
                let _ = socket.read(&mut question).await;
                let _ = socket.write_all(bytes).await;
            });
        }
    });
    let message = read(settings_for(vec![url])).await.unwrap_err().message;
    server.abort();
    message
}

#[tokio::test]
async fn what_answers_a_handshake_with_something_else_is_told_in_a_sentence() {
    for (bytes, sentence) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "it does not speak TLS on this port; does it speak plain http?"),
        (b"SSH-2.0-x\r\n", "it does not speak TLS on this port; does it speak plain http?"),
        (b"\x15\x03\x03\0\x02\x02\xf0", "it refuses the TLS handshake: TLS alert 240"),
        (b"\x15\x03\x03\0\x02\x02\x28", "it refuses the TLS handshake: no common settings"),
        (b"", "it broke off the TLS handshake"),
    ] {
        let message = answers_with(bytes).await;
        assert!(message.contains(sentence), "{sentence}: {message}");
        assert!(!message.contains("InvalidContentType") && !message.contains("AlertDescription"), "{message}");
    }
}

#[tokio::test]
async fn a_server_that_speaks_tls_without_http_2_is_told_as_that() {
    let authority = Authority::new("test authority");
    let mut tls = ServerConfig::clone(&authority.server(&["127.0.0.1"]));
    tls.alpn_protocols = vec![];
    let node = MockNode::start_tls(World::default(), TlsAcceptor::from(Arc::new(tls))).await;
    let trusting = NodeSettings { ca_files: vec![authority.pem_file().to_owned()], ..quick() };
    let error = read(ChainSettings { node: trusting, ..settings(&[&node]) }).await.unwrap_err();
    assert!(error.message.contains("speaks TLS, but not HTTP/2"), "{}", error.message);
    let plain = read(settings_for(vec![node.url.replace("https:", "http:")])).await.unwrap_err();
    assert!(plain.message.contains("speaks TLS: write https://"), "{}", plain.message);
}

#[tokio::test]
async fn c_81_shed_load_is_asked_again_and_no_agent_is_lost() {
    let node = MockNode::start(World::default()).await;
    let client = ChainClient::new(settings(&[&node])).unwrap();
    for method in ["GetConsensusInfo", "GetBlockInfo", "GetInstanceInfo", "InvokeInstance", "GetModuleSource"] {
        node.on(method, |_, _| (fastrand::f64() < 0.3).then_some(Answer::Status(Code::ResourceExhausted, "too many requests")));
    }
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    node.calls();
    let reads = futures_util::future::join_all((0..1000).map(|agent| client.read(&block, TokenId(agent)))).await;
    assert_eq!(reads.iter().filter(|read| read.is_err()).count(), 0);
    assert!(node.calls().len() > 1200, "the shed calls were repeated");
    assert_eq!(node.connections(), 1);
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_allowed() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let node = MockNode::start(World::default()).await;
    let arrived = Arc::new(AtomicUsize::new(0));
    let counter = arrived.clone();
    let mut limited = settings(&[&node]);
    limited.node = NodeSettings { max_in_flight: 4, call_deadline: Duration::from_millis(300), retries: 0, ..quick() };
    let client = ChainClient::new(limited).unwrap();
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    client.read(&block, AGENT).await.unwrap();
    node.on("InvokeInstance", move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        Some(Answer::Hang)
    });
    let reads = futures_util::future::join_all((0..20).map(|agent| client.read(&block, TokenId(agent))));
    assert!(tokio::time::timeout(Duration::from_millis(200), reads).await.is_err());
    assert_eq!(arrived.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn load_shedding_without_end_ends_with_the_nodes_patience() {
    let node = MockNode::start(World::default()).await;
    node.on("GetBlockInfo", |_, _| Some(Answer::Status(Code::ResourceExhausted, "busy")));
    let mut impatient = settings(&[&node]);
    impatient.node.patience = Duration::from_millis(300);
    let start = Instant::now();
    let error = read(impatient).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("busy"), "{}", error.message);
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn c_80_a_reset_stream_is_asked_again_then_elsewhere_then_undecided() {
    let node = MockNode::start(World::default()).await;
    node.on("InvokeInstance", |_, before| (before < 2).then_some(Answer::Reset));
    read(settings(&[&node])).await.unwrap();

    let reserve = MockNode::start(World::default()).await;
    node.on("InvokeInstance", |_, _| Some(Answer::Reset));
    read(settings(&[&node, &reserve])).await.unwrap();

    let error = read(settings(&[&node])).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    // A node that fails inside, as in a protocol update.
    node.on("InvokeInstance", |_, before| (before < 2).then_some(Answer::Status(Code::Internal, "exception")));
    node.calls();
    read(settings(&[&node])).await.unwrap();
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_with_its_deadline() {
    let node = MockNode::start(World::default()).await;
    node.on("InvokeInstance", |_, _| Some(Answer::Hang));
    let mut short = settings(&[&node]);
    short.node.call_deadline = Duration::from_millis(100);
    short.node.retries = 2;
    let start = Instant::now();
    let error = read(short).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
    assert!(error.message.contains("no answer to InvokeInstance within 100ms"), "{}", error.message);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_listener_that_says_nothing_ends_with_the_deadline() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut short = settings_for(vec![url.clone(), url.replace("http:", "https:")]);
    short.node = NodeSettings {
        call_deadline: Duration::from_millis(100),
        connect_timeout: Duration::from_millis(100),
        retries: 1,
        ..quick()
    };
    let error = tokio::time::timeout(Duration::from_secs(20), read(short)).await.unwrap().unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::NodeUnavailable);
}

/// A connection goes silent in the middle of many reads: keep-alive notices, and the reads go on over a new one.
#[tokio::test]
async fn c_83_a_half_open_connection_is_noticed_by_keep_alive() {
    let node = MockNode::start(World::default()).await;
    let relay = Relay::to(node.address).await;
    let mut kept_alive = settings_for(vec![relay.url.clone()]);
    kept_alive.node.keep_alive_interval = Duration::from_millis(100);
    kept_alive.node.keep_alive_timeout = Duration::from_millis(100);
    // Longer than the test: it is not the deadline that ends the calls.
    kept_alive.node.call_deadline = Duration::from_secs(60);
    kept_alive.node.patience = Duration::from_secs(60);
    let client = ChainClient::new(kept_alive).unwrap();
    survives(&client, &relay).await;
}

#[tokio::test]
async fn c_83_a_half_open_connection_is_left_after_the_call_deadline() {
    let node = MockNode::start(World::default()).await;
    let relay = Relay::to(node.address).await;
    let mut kept_alive = settings_for(vec![relay.url.clone()]);
    kept_alive.node.keep_alive_interval = Duration::from_secs(3600);
    kept_alive.node.call_deadline = Duration::from_millis(300);
    let client = ChainClient::new(kept_alive).unwrap();
    survives(&client, &relay).await;
}

async fn survives(client: &ChainClient, relay: &Relay) {
    let start = Instant::now();
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    client.read(&block, AGENT).await.unwrap();
    relay.go_silent();
    let reads = futures_util::future::join_all((0..50).map(|agent| client.read(&block, TokenId(agent)))).await;
    assert_eq!(reads.iter().filter_map(|read| read.as_ref().err()).next(), None);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// What stands in front of a node speaks HTTP, and its error page is no answer of the node's.
#[tokio::test]
async fn an_error_page_of_a_proxy_is_told_as_what_it_is() {
    for (http, kind) in
        [(502, ChainErrorKind::NodeUnavailable), (429, ChainErrorKind::NodeUnavailable), (403, ChainErrorKind::NodeError)]
    {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let proxy = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut connection = h2::server::handshake(socket).await.unwrap();
                    while let Some(Ok((_, mut respond))) = connection.accept().await {
                        let answer = hyper::Response::builder().status(http).header("content-type", "text/html");
                        let mut stream = respond.send_response(answer.body(()).unwrap(), false).unwrap();
                        stream.send_data(bytes::Bytes::from_static(b"<html>no</html>"), true).unwrap();
                    }
                });
            }
        });
        let client = ChainClient::new(settings_for(vec![url])).unwrap();
        let error = client.pin(AtBlock::LastFinalized).await.unwrap_err();
        proxy.abort();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(&format!("answered GetConsensusInfo with HTTP {http}")), "{error}");
    }
}
