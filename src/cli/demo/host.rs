use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

type Files = Arc<Mutex<HashMap<String, String>>>;

/// A card host on loopback that serves what it is given, and can be taken down.
#[derive(Debug)]
pub(super) struct Host {
    address: SocketAddr,
    files: Files,
    task: JoinHandle<()>,
}

impl Host {
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let files = Files::default();
        let serving = Arc::clone(&files);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Arc::clone(&serving)));
            }
        });
        Ok(Self { address, files, task })
    }

    /// Serves `body` at `path` from now on, and gives its URL.
    pub(super) fn serve(&self, path: &str, body: &str) -> String {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), body.to_owned());
        format!("http://{}{path}", self.address)
    }

    /// Takes the host down: its port refuses connections.
    pub(super) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Answers one request and closes.
async fn answer(socket: TcpStream, files: Files) -> io::Result<()> {
    let mut stream = BufReader::new(socket);
    let mut request = String::new();
    stream.read_line(&mut request).await?;
    let mut header = String::new();
    while stream.read_line(&mut header).await? > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let body = files.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
