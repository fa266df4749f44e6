//! One download cycle: how long a policy takes to decide R polls and hear their answers, and how that grows
//! with the number of pages. R is the paper's share, 100,000 of 353,000. Each cycle is the first of its run: all polls of
//! a cycle fall into one instant, and nobody is polled twice in one.
//!
//! `cargo bench -p lab --bench cycle`; figures in `docs/speed.md`.

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lab::run::{Bench, Clock, Count};
use lab::synth::Spec;
use schedule::Span;
use schedule::policy;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MONTH: Span = Span::DAY.times(30);

fn one_cycle(c: &mut Criterion) {
    let mut group = c.benchmark_group("one cycle");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for pages in [353_000u64, 1_000_000, 3_000_000, 10_000_000] {
        let spec: Spec =
            format!("v-shaped(sites={},pages={pages})", pages / 1_400).parse().expect("a world");
        let world = spec.build(MONTH, 1, 1);
        let polls = pages * 100 / 353;
        let clock = Clock::Cycles { length: MONTH, polls, count: Count::PerCycle };
        group.throughput(Throughput::Elements(polls));
        for text in ["round-robin", "greedy(samples=10)"] {
            let policy: policy::Spec = text.parse().expect("a policy");
            let fresh = || Bench::new(&world, policy.build(1), clock, 1);
            group.bench_function(BenchmarkId::new(text, pages), |b| {
                b.iter_batched_ref(fresh, |bench| bench.round(1), BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, one_cycle);
criterion_main!(benches);
