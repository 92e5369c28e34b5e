//! The local chain from a browser: gRPC-web over HTTP/1.1, from a page of any origin, as bytes on a socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;

use cardproof::devnet::Devnet;
use concordium_rust_sdk::v2::generated as proto;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ORIGIN: &str = "https://dapp.example";

/// An answer over HTTP/1.1.
struct Answer {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Sends one request and reads to the end of the connection.
async fn request(net: &Devnet, method: &str, call: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut socket = TcpStream::connect(net.address()).await.unwrap();
    let mut head = format!("{method} /concordium.v2.Queries/{call} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", net.address());
    for (name, value) in [("origin", ORIGIN), ("content-length", &body.len().to_string())].iter().chain(headers) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    socket.write_all(&[head.as_bytes(), b"\r\n", body].concat()).await.unwrap();
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).await.unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: HashMap<String, String> =
        lines.map(|line| line.split_once(": ").unwrap()).map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut body = bytes[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        body = unchunked(&body);
    }
    Answer { status, headers, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
}

/// The messages of a gRPC-web body and the trailers that end it.
fn frames(mut rest: &[u8]) -> (Vec<Vec<u8>>, String) {
    let mut messages = Vec::new();
    loop {
        let length = u32::from_be_bytes(rest[1..5].try_into().unwrap()) as usize;
        let frame = &rest[5..5 + length];
        if rest[0] & 0x80 != 0 {
            assert_eq!(rest.len(), 5 + length, "the trailers come last");
            return (messages, String::from_utf8(frame.to_vec()).unwrap());
        }
        messages.push(frame.to_vec());
        rest = &rest[5 + length..];
    }
}

fn framed(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    [&[0][..], &u32::try_from(bytes.len()).unwrap().to_be_bytes(), &bytes].concat()
}

const GRPC_WEB: &[(&str, &str)] =
    &[("content-type", "application/grpc-web+proto"), ("accept", "application/grpc-web+proto"), ("x-grpc-web", "1")];

fn last_final() -> proto::BlockHashInput {
    proto::BlockHashInput { block_hash_input: Some(proto::block_hash_input::BlockHashInput::LastFinal(proto::Empty {})) }
}

#[tokio::test]
async fn a_browser_gets_an_answer_and_may_read_it() {
    let net = Devnet::start().await.unwrap();
    let answer = request(&net, "POST", "GetBlockInfo", GRPC_WEB, &framed(&last_final())).await;
    assert_eq!(answer.status, 200);
    assert!(answer.headers["content-type"].starts_with("application/grpc-web"), "{:?}", answer.headers);
    assert_eq!(answer.headers["access-control-allow-origin"], ORIGIN);
    assert!(answer.headers["access-control-expose-headers"].contains("blockhash"), "{:?}", answer.headers);
    let (messages, trailers) = frames(&answer.body);
    assert!(trailers.contains("grpc-status:0"), "{trailers}");
    let info = proto::BlockInfo::decode(&messages[0][..]).unwrap();
    assert_eq!((messages.len(), info.height.unwrap().value), (1, net.last_finalized().height));
    assert_eq!(answer.headers["blockhash"], hex::encode(info.hash.unwrap().value));

    let unknown = request(&net, "POST", "GetBakerList", GRPC_WEB, &framed(&last_final())).await;
    assert_eq!((unknown.status, unknown.headers["grpc-status"].as_str()), (200, "12"));
    net.shutdown().await;
}

#[tokio::test]
async fn a_browser_gets_a_stream_message_by_message() {
    let net = Devnet::start().await.unwrap();
    let answer = request(&net, "POST", "GetAccountList", GRPC_WEB, &framed(&last_final())).await;
    let (messages, trailers) = frames(&answer.body);
    assert!(answer.status == 200 && trailers.contains("grpc-status:0"), "{trailers}");
    let accounts: Vec<Vec<u8>> =
        messages.iter().map(|message| proto::AccountAddress::decode(&message[..]).unwrap().value).collect();
    let known: Vec<Vec<u8>> = net.accounts().iter().map(|account| account.address().0.to_vec()).collect();
    assert_eq!(accounts, known);
    net.shutdown().await;
}

#[tokio::test]
async fn a_page_of_any_origin_is_told_that_it_may_call() {
    let net = Devnet::start().await.unwrap();
    let asks = [("access-control-request-method", "POST"), ("access-control-request-headers", "content-type,x-grpc-web")];
    let answer = request(&net, "OPTIONS", "GetConsensusInfo", &asks, b"").await;
    assert_eq!((answer.status, answer.headers["access-control-allow-origin"].as_str()), (200, ORIGIN));
    let allowed = &answer.headers["access-control-allow-headers"];
    assert!(
        ["content-type", "x-grpc-web", "x-user-agent", "grpc-timeout"].iter().all(|name| allowed.contains(name)),
        "{allowed}"
    );
    // The browser's own wall between public pages and this machine stays up.
    assert!(!answer.headers.contains_key("access-control-allow-private-network"));
    net.shutdown().await;
}

#[tokio::test]
async fn what_is_neither_grpc_nor_grpc_web_gets_an_http_error() {
    let net = Devnet::start().await.unwrap();
    assert_eq!(request(&net, "GET", "GetConsensusInfo", &[], b"").await.status, 400);
    assert_eq!(request(&net, "POST", "GetConsensusInfo", &[("content-type", "application/json")], b"{}").await.status, 400);
    net.shutdown().await;
}
