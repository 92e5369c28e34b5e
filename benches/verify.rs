//! What a whole `cardproof verify` costs, as a process: start, CPU, memory. Aims: `--version` under 10 ms; under 10 ms of CPU for
//! a verify; a huge card within 1 MiB of the memory that a small one takes. Reads `/proc`, so it runs on Linux only.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cardproof::devnet::Devnet;
use cardproof::digest::Sha256Digest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const RUNS: u32 = 50;
const SMALL: usize = 2 << 10;
const HUGE: usize = 256 << 20;

fn command(net: &Devnet, home: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cardproof"));
    command.env_clear().env("HOME", home).env("CARDPROOF_NETWORK", "devnet").env("CARDPROOF_NODE", net.node_url());
    command.stdout(Stdio::null()).stdin(Stdio::null());
    command
}

/// Runs it to its end; gives the wall-clock time.
fn timed(command: &mut Command) -> Duration {
    let started = Instant::now();
    assert!(command.status().unwrap().success());
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// CPU time of all children that have ended: fields 16 and 17 of the process's `stat`, in hundredths of a second.
fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    Duration::from_millis(10 * (fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap()))
}

/// The peak resident memory of a run, in KiB, read while it lives.
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        peak = peak.max(kib);
        std::thread::sleep(Duration::from_micros(200));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// Serves `/<number>` as a body of that many zero bytes.
async fn serve(listener: TcpListener) {
    while let Ok((mut socket, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut head = vec![0; 4096];
            let read = socket.read(&mut head).await.unwrap();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let size: usize = head.split([' ', '/']).find_map(|word| word.parse().ok()).unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
            socket.write_all(answer.as_bytes()).await.unwrap();
            let chunk = vec![0; 64 << 10];
            let mut left = size;
            while left > 0 {
                let now = left.min(chunk.len());
                if socket.write_all(&chunk[..now]).await.is_err() {
                    return;
                }
                left -= now;
            }
            let _ = socket.shutdown().await;
        });
    }
}

#[tokio::main]
async fn main() {
    let home = tempfile::tempdir().unwrap();
    let usual = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let net = Devnet::builder().listen(usual).start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(serve(listener));
    let mut agents = Vec::new();
    for size in [SMALL, HUGE] {
        let digest = Sha256Digest::of(&vec![0; size]);
        agents.push(net.register_agent(0, Some(&format!("{host}/{size}")), Some(digest.0)).await.unwrap().to_string());
    }
    let verify = |agent: &str| {
        let mut command = command(&net, home.path());
        command.args(["verify", agent, "--allow-http", "--allow-private", "--max-bytes", "1GiB", "--timeout", "60s"]);
        command
    };
    tokio::task::block_in_place(|| {
        let start = median((0..RUNS).map(|_| timed(command(&net, home.path()).arg("--version"))).collect());
        println!("--version                {start:>10.2?}   (aim: under 10 ms)");
        timed(&mut verify(&agents[0]));
        let before = children_cpu();
        let wall = median((0..RUNS).map(|_| timed(&mut verify(&agents[0]))).collect());
        let cpu = (children_cpu() - before) / RUNS;
        println!("verify, 2 KiB card       {wall:>10.2?}   wall clock, warm");
        println!("verify, 2 KiB card       {cpu:>10.2?}   CPU (aim: under 10 ms)");
        let small = (0..5).map(|_| peak_memory(&mut verify(&agents[0]))).max().unwrap();
        let huge = (0..3).map(|_| peak_memory(&mut verify(&agents[1]))).max().unwrap();
        println!("memory, 2 KiB card       {small:>7} KiB");
        println!("memory, 256 MiB card     {huge:>7} KiB   ({:+} KiB; aim: within 1024)", huge as i64 - small as i64);
    });
}
