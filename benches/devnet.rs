//! How fast the local chain is: start, a view over gRPC, views with 32 in flight, all on a registry of 100,000 agents.
//!
//! `cargo bench --bench devnet`; `CARDPROOF_BENCH_AGENTS` changes the number of agents. The memory that they take is printed.
#![allow(missing_docs, clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use cardproof::devnet::Devnet;
use concordium_rust_sdk::v2::generated::{self as proto, block_hash_input, queries_client::QueriesClient};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use futures_util::{stream, StreamExt};
use tokio::runtime::Runtime;
use tonic::transport::Channel;

const IN_FLIGHT: usize = 32;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Memory of this process that is in use, in MiB.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    Some((pages * 4096) >> 20)
}

/// `agentOf` of one agent at the last finalized block.
fn agent_of(net: &Devnet, id: u64) -> proto::InvokeInstanceRequest {
    let mut parameter = vec![8];
    parameter.extend(id.to_le_bytes());
    proto::InvokeInstanceRequest {
        block_hash: Some(proto::BlockHashInput {
            block_hash_input: Some(block_hash_input::BlockHashInput::LastFinal(proto::Empty {})),
        }),
        invoker: None,
        instance: Some(proto::ContractAddress { index: net.registry().index, subindex: net.registry().subindex }),
        amount: Some(proto::Amount { value: 0 }),
        entrypoint: Some(proto::ReceiveName { value: "CIS-8004.agentOf".into() }),
        parameter: Some(proto::Parameter { value: parameter }),
        energy: None,
    }
}

async fn ask(mut node: QueriesClient<Channel>, request: proto::InvokeInstanceRequest) {
    let answer = node.invoke_instance(request).await.unwrap().into_inner().result;
    let Some(proto::invoke_instance_response::Result::Success(success)) = answer else { panic!("{answer:?}") };
    // The record is there, and not just `None`.
    assert_eq!(success.return_value.unwrap().first(), Some(&1));
}

fn start(criterion: &mut Criterion) {
    let runtime = runtime();
    criterion.bench_function("start", |bencher| {
        bencher.iter_custom(|rounds| {
            let mut spent = Duration::ZERO;
            for _ in 0..rounds {
                runtime.block_on(async {
                    let began = Instant::now();
                    let net = Devnet::start().await.unwrap();
                    spent += began.elapsed();
                    net.shutdown().await;
                });
            }
            spent
        });
    });
}

fn views(criterion: &mut Criterion) {
    let agents: usize = std::env::var("CARDPROOF_BENCH_AGENTS").map_or(100_000, |text| text.parse().unwrap());
    let runtime = runtime();
    let before = resident();
    let began = Instant::now();
    let (net, node) = runtime.block_on(async {
        let net = Devnet::start().await.unwrap();
        let agent = |number| (format!("https://agents.example/{number}/card.json"), Some([7; 32]));
        net.preload_agents(1, agents, agent).await.unwrap();
        let node = QueriesClient::connect(net.node_url().to_owned()).await.unwrap();
        (net, node)
    });
    if let (Some(before), Some(after)) = (before, resident()) {
        let loaded = began.elapsed().as_secs_f64();
        println!("{agents} agents: loaded in {loaded:.1} s, {} MiB of memory", after.saturating_sub(before));
    }
    let mut state = 1u64;
    let mut random_agent = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % agents as u64
    };

    let mut group = criterion.benchmark_group("agentOf");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one at a time", |bencher| {
        bencher.to_async(&runtime).iter(|| ask(node.clone(), agent_of(&net, random_agent())));
    });
    group.bench_function("32 in flight", |bencher| {
        bencher.iter_custom(|rounds| {
            let requests: Vec<_> = (0..rounds).map(|_| agent_of(&net, random_agent())).collect();
            let began = Instant::now();
            let work = stream::iter(requests).map(|request| {
                let node = node.clone();
                // A task each, so that the client uses both cores, too.
                async move { tokio::spawn(ask(node, request)).await.unwrap() }
            });
            runtime.block_on(work.buffer_unordered(IN_FLIGHT).for_each(|()| std::future::ready(())));
            began.elapsed()
        });
    });
    group.finish();
    runtime.block_on(net.shutdown());
}

criterion_group!(benches, start, views);
criterion_main!(benches);
