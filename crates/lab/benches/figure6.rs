//! The sampling paper's main experiment whole: six policies, five cycles, 353,000 pages, R = 100,000, on one core.
//!
//! `cargo bench -p lab --bench figure6`; figures in `docs/speed.md`. The world is drawn outside the clock.

use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use lab::compare::Contender;
use lab::papers::sampling::FIGURE_6;
use lab::run::{Clock, Count};
use lab::synth::Spec;
use schedule::Span;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MONTH: Span = Span::DAY.times(30);

fn figure_6(c: &mut Criterion) {
    let spec: Spec = "v-shaped".parse().expect("a world");
    let world = Arc::new(spec.build(MONTH, 5, 1));
    let clock = Clock::Cycles { length: MONTH, polls: 100_000, count: Count::PerCycle };
    let contenders: Vec<Contender> = FIGURE_6.map(|text| text.parse().expect("a policy")).to_vec();
    let mut group = c.benchmark_group("figure 6");
    group.sample_size(10).measurement_time(Duration::from_secs(15));
    group.bench_function("six policies", |b| {
        b.iter(|| {
            contenders
                .iter()
                .map(|contender| contender.run(&world, clock, 1, &|| {}).polls())
                .sum::<u64>()
        });
    });
    for contender in &contenders {
        group.bench_function(&contender.text, |b| {
            b.iter(|| contender.run(&world, clock, 1, &|| {}));
        });
    }
    group.finish();
}

criterion_group!(benches, figure_6);
criterion_main!(benches);
