use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;
use tonic::transport::Server;

use super::node::Node;
use super::service::{health, service};
use super::web::TwoDoors;
use super::DevnetError;

/// Serves the node on a socket that is already listening, until the node is closed.
pub(super) fn serve(node: &Arc<Node>, listener: TcpListener) -> Result<JoinHandle<()>, DevnetError> {
    // Without TCP_NODELAY each answer waits for an acknowledgement: 40 ms more for a call.
    let incoming = TcpIncoming::from_listener(listener, true, None);
    let incoming = incoming.map_err(|error| DevnetError::Internal(format!("the socket cannot be used: {error}")))?;
    let mut server = Server::builder().accept_http1(true);
    let server = server.add_service(TwoDoors::of(service(node.clone()))).add_service(TwoDoors::of(health()));
    let serving = server.serve_with_incoming_shutdown(incoming, node.closing());
    Ok(tokio::spawn(async move {
        // An error here is that of a single connection's socket; clients see it as theirs.
        let _ = serving.await;
    }))
}
