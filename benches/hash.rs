//! Hashing a body as it streams past, beside `sha2` over a slice of the same size: the first should reach 0.9 of the second.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use cardproof::digest::Sha256Stream;
use cardproof::fetch::Body;
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use sha2::{Digest, Sha256};

/// One chunk as HTTP brings them.
const CHUNK: usize = 16 << 10;

fn hashing(criterion: &mut Criterion) {
    for (name, size) in [("2 kB", 2 << 10), ("1 MiB", 1 << 20), ("32 MiB", 32 << 20)] {
        let bytes = vec![0x5a; size];
        let mut group = criterion.benchmark_group(format!("hash {name}"));
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function("sha2 over a slice", |bench| bench.iter(|| Sha256::digest(black_box(&bytes))));
        group.bench_function("our stream in chunks", |bench| {
            bench.iter(|| {
                let mut stream = Sha256Stream::new();
                black_box(&bytes).chunks(CHUNK).for_each(|chunk| stream.update(chunk));
                stream.finish()
            });
        });
        group.bench_function("our body from a reader", |bench| {
            bench.iter(|| Body::read(black_box(&bytes[..]), u64::MAX).unwrap());
        });
        group.finish();
    }
}

criterion_group!(benches, hashing);
criterion_main!(benches);
