use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use concordium_rust_sdk::v2::generated::{queries_client::QueriesClient, Empty};
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{lookup_host, TcpStream};
use tokio::time::timeout;

use super::connector::ConnectError;
use super::foreign::shortened;
use super::target::Target;
use super::NodeSettings;
use crate::tls;

/// How long each step of looking into a failed connection may take.
const STEP: Duration = Duration::from_secs(2);

/// Says why a node cannot be reached: which addresses were tried, and whether the scheme was mixed up.
///
/// What is sent is the question for the consensus status, which is public, and one for what any web server answers.
pub(super) async fn explain(target: &Target, settings: &NodeSettings, cause: &str) -> String {
    let addresses: Vec<SocketAddr> = match timeout(STEP, lookup_host((target.host.as_str(), target.port))).await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => return format!("the name {} cannot be resolved: {error}", shortened(&target.host)),
        Err(_) => return format!("the name {} was not resolved in time", shortened(&target.host)),
    };
    let tried = addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ");
    let open = join_all(addresses.iter().map(|address| listens(*address))).await.contains(&true);
    if !open {
        return format!("no connection to {tried} ({cause}){}", other_loopback(target, &addresses).await);
    }
    if speaks_other_scheme(target, settings).await {
        let (wrong, right) = if target.tls { ("does not speak TLS", "http") } else { ("speaks TLS", "https") };
        return format!("the port at {tried} {wrong}: write {right}:// instead");
    }
    if !target.tls && join_all(addresses.iter().map(|address| answers_in_http1(*address))).await.contains(&true) {
        return format!("what listens at {tried} is no gRPC node but a web server that speaks HTTP/1");
    }
    format!("{cause} (tried {tried})")
}

/// The cause of a failed call that helps: what TLS makes of it, or the innermost one.
pub(super) fn cause(error: &(dyn Error + 'static)) -> String {
    if let Some(fault) = tls::explain(error) {
        return format!("it {fault}");
    }
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    shortened(&cause.to_string())
}

async fn listens(address: SocketAddr) -> bool {
    matches!(timeout(STEP, TcpStream::connect(address)).await, Ok(Ok(_)))
}

/// Whether a web server listens there, which understands nothing of HTTP/2; a node understands nothing of HTTP/1.
async fn answers_in_http1(address: SocketAddr) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("OPTIONS * HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
        let mut start = [0; 7];
        stream.read_exact(&mut start).await?;
        Ok::<_, std::io::Error>(start == *b"HTTP/1.")
    };
    matches!(timeout(STEP, ask).await, Ok(Ok(true)))
}

/// `localhost` may mean only one of the two loopback addresses to the resolver, and the node may listen at the other.
async fn other_loopback(target: &Target, tried: &[SocketAddr]) -> String {
    if target.host != "localhost" {
        return String::new();
    }
    for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let address = SocketAddr::new(ip, target.port);
        if !tried.contains(&address) && listens(address).await {
            return format!("; something listens at {address}: write that instead of localhost");
        }
    }
    String::new()
}

/// Whether a connection failed in a way in which only a server that speaks TLS makes it fail.
fn answers_in_tls(error: &(dyn Error + 'static)) -> bool {
    let spoke = tls::find(error).is_some_and(|fault| !matches!(fault, rustls::Error::InvalidMessage(_)));
    spoke || matches!(tls::find(error), Some(ConnectError::NoHttp2))
}

async fn speaks_other_scheme(target: &Target, settings: &NodeSettings) -> bool {
    let Ok(other) = target.with_other_scheme(settings) else { return false };
    let mut client = QueriesClient::new(other.channel());
    match timeout(STEP, client.get_consensus_info(Empty {})).await {
        Ok(Ok(_)) => true,
        // Any status that came over the wire, and not from our own transport, proves that the scheme is right.
        Ok(Err(status)) => status.source().is_none() || (other.tls && answers_in_tls(&status)),
        Err(_) => false,
    }
}
