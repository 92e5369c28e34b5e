//! What a whole audit costs, as a process, beside the ceilings of its surroundings from the same run: 10,000 agents over 200
//! loopback hosts with cards of 2 kB, the local chain as the node. Aims on two cores: 4,000 verdicts a second, under 64 MiB, flat to
//! 100,000 agents, and at most 15 % for the history.
//!
//! `cargo bench --bench audit`; `CARDPROOF_BENCH_AGENTS` changes the number of agents. The node and the hosts run in a process of
//! their own, this program with `serve`, on the same cores. Reads `/proc`, so it runs on Linux only.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cardproof::chain::{AgentReader, AtBlock, ChainClient, ChainSettings};
use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use cardproof::fetch::{CardFetcher, FetchSettings, Fetcher, Origin};
use cardproof::identity::{Network, TokenId};
use futures_util::{stream, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const HOSTS: usize = 200;
const CARD: usize = 2000;
const NODE_CONCURRENCY: usize = 64;
const HOST_CONCURRENCY: usize = 128;

/// The card of an agent: 2 kB, different for each.
fn card(number: usize) -> Vec<u8> {
    let mut card = format!("{{\"name\":\"agent {number}\",\"filling\":\"");
    card.extend(std::iter::repeat_n('x', CARD - card.len() - 2));
    card.push_str("\"}");
    card.into_bytes()
}

fn host(number: usize) -> [u8; 4] {
    [127, 0, 1, u8::try_from(number % HOSTS + 1).unwrap()]
}

fn url(number: usize, port: u16) -> String {
    let [a, b, c, d] = host(number);
    format!("http://{a}.{b}.{c}.{d}:{port}/{number}")
}

/// Answers `GET /<number>` with that agent's card, as often as the connection is used.
async fn answer(mut socket: TcpStream) {
    let mut head = Vec::with_capacity(1024);
    loop {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            if !matches!(socket.read_buf(&mut head).await, Ok(read) if read > 0) {
                return;
            }
        }
        let text = String::from_utf8_lossy(&head);
        let number = text.split([' ', '/']).find_map(|word| word.parse().ok()).unwrap();
        let mut answer =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {CARD}\r\n\r\n").into_bytes();
        answer.extend(card(number));
        if socket.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The node and the hosts, until stdin ends. Prints the node's URL, the hosts' port and the genesis hash.
async fn serve(agents: usize) {
    let port = {
        let first = TcpListener::bind((std::net::Ipv4Addr::from(host(0)), 0)).await.unwrap();
        first.local_addr().unwrap().port()
    };
    for number in 0..HOSTS {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind((std::net::Ipv4Addr::from(host(number)), port).into()).unwrap();
        let listener = socket.listen(1024).unwrap();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                socket.set_nodelay(true).unwrap();
                tokio::spawn(answer(socket));
            }
        });
    }
    let net = Devnet::start().await.unwrap();
    let agent = move |number| (url(number, port), Some(Sha256Digest::of(&card(number)).0));
    net.preload_agents(1, agents, agent).await.unwrap();
    println!("{} {port} {}", net.node_url(), net.genesis_hash());
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await.unwrap().unwrap();
}

struct Surroundings {
    child: Child,
    node: String,
    port: u16,
    genesis: String,
}

impl Surroundings {
    fn start(agents: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["serve", &agents.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut words = line.split_whitespace().map(str::to_owned);
        let (node, port, genesis) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        Self { child, node, port: port.parse().unwrap(), genesis }
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Reads of the node alone, with as many in flight as the audit has.
async fn node_alone(at: &Surroundings, agents: usize) -> f64 {
    let network = Network { genesis: at.genesis.parse().unwrap(), ..Network::built_in("devnet").unwrap() };
    let mut settings = ChainSettings { nodes: vec![at.node.clone()], ..ChainSettings::new(network) };
    settings.node.max_in_flight = NODE_CONCURRENCY;
    let client = std::sync::Arc::new(ChainClient::new(settings).unwrap());
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    let begun = Instant::now();
    let reads = stream::iter(0..agents as u64).map(|id| {
        let client = client.clone();
        async move { tokio::spawn(async move { client.read(&block, TokenId(id)).await.unwrap() }).await.unwrap() }
    });
    let found = reads.buffer_unordered(NODE_CONCURRENCY).filter(|reading| std::future::ready(reading.record.is_some()));
    assert_eq!(found.count().await, agents);
    per_second(agents, begun.elapsed())
}

/// Fetches from the hosts alone, with as many in flight as the audit has.
async fn hosts_alone(at: &Surroundings, agents: usize) -> f64 {
    let settings = FetchSettings {
        allow_http: true,
        allow_private: true,
        per_host_concurrency: HOST_CONCURRENCY,
        per_host_rate: 0,
        ..FetchSettings::default()
    };
    let fetcher = Fetcher::new(settings).unwrap();
    let begun = Instant::now();
    let fetches = stream::iter(0..agents).map(|number| {
        let (fetcher, url) = (fetcher.clone(), url(number, at.port));
        async move { tokio::spawn(async move { fetcher.fetch(&url, Origin::Untrusted).await.unwrap() }).await.unwrap() }
    });
    fetches.buffer_unordered(HOST_CONCURRENCY).for_each(|_| std::future::ready(())).await;
    per_second(agents, begun.elapsed())
}

struct Ran {
    time: Duration,
    /// In KiB.
    memory: u64,
    sockets: usize,
}

/// One audit as a process. It counts as many verdicts as it says that it reached, which must be all.
fn audit(at: &Surroundings, agents: usize, home: &std::path::Path, store: bool) -> Ran {
    let (node, hosts, per_host) = (NODE_CONCURRENCY.to_string(), HOST_CONCURRENCY.to_string(), HOST_CONCURRENCY.to_string());
    let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
    command.env_clear().env("HOME", home).args(["audit", "--all", "--format", "markdown", "--network", "devnet"]);
    command.args(["--node", &at.node, "--genesis-hash", &at.genesis, "--allow-http", "--allow-private", "--per-host-rate", "0"]);
    command.args(["--node-concurrency", &node, "--host-concurrency", &hosts, "--per-host", &per_host]);
    if store {
        command.arg("--store").arg(home.join(format!("audit-{}.db", fastrand())));
    } else {
        command.arg("--no-store");
    }
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let folder = format!("/proc/{}", child.id());
    let (mut memory, mut sockets) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        memory = memory.max(peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0));
        let open = std::fs::read_dir(format!("{folder}/fd")).into_iter().flatten().flatten();
        let is_socket = |target: std::path::PathBuf| target.to_string_lossy().starts_with("socket:");
        sockets = sockets.max(open.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(is_socket)).count());
        std::thread::sleep(Duration::from_millis(5));
    }
    let time = begun.elapsed();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "an agent did not match: {}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains(&agents.to_string()), "not every agent has a verdict");
    Ran { time, memory, sockets }
}

/// A number for a file's name.
fn fastrand() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|word| word == "serve") {
        runtime.block_on(serve(args[2].parse().unwrap()));
        return;
    }
    let agents: usize = std::env::var("CARDPROOF_BENCH_AGENTS").map_or(10_000, |text| text.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    println!(
        "plain http, per-host limits raised by flags ({HOST_CONCURRENCY} at once, no rate), {NODE_CONCURRENCY} reads at once"
    );
    for agents in [agents, agents * 10] {
        let at = Surroundings::start(agents);
        println!("\n{agents} agents on {HOSTS} hosts, {CARD} bytes a card");
        println!("  node alone       {:>9.0} reads a second", runtime.block_on(node_alone(&at, agents)));
        println!("  hosts alone      {:>9.0} fetches a second", runtime.block_on(hosts_alone(&at, agents)));
        for (name, store) in [("audit", false), ("audit, history", true)] {
            let Ran { time, memory, sockets } = audit(&at, agents, home.path(), store);
            let rate = per_second(agents, time);
            let mib = memory as f64 / 1024.0;
            println!("  {name:<15}  {rate:>9.0} verdicts a second, {mib:.1} MiB at most, {sockets} sockets at most");
        }
    }
}
