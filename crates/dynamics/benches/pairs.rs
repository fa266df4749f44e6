//! M6 on a million irregular polls, distances up to 12 mean gaps, and on few polls beside the pairwise definition.
//!
//! `cargo bench -p dynamics --bench pairs`; figures in `docs/speed.md`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dynamics::history::History;
use dynamics::interval::{Pairs, Stream, mixture};
use dynamics::process::Process;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn history(polls: f64) -> History {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let path = Process::Pareto { mean: 0.5, shape: 3.0 }.path(polls, &mut rng);
    History::blind(&path, &Process::Exponential { mean: 1.0 }.polls(polls, &mut rng)).without_ages()
}

/// (26)–(28) as printed: all pairs, whatever their distance.
fn pairwise(history: &History, width: f64, bins: usize) -> Vec<(u64, u64)> {
    let mut detections = 0u64;
    let looks: Vec<(f64, u64)> = history
        .looks()
        .iter()
        .map(|look| {
            detections += u64::from(look.changed);
            (look.at, detections)
        })
        .collect();
    let mut counts = vec![(0, 0); bins];
    for (at, &(from, before)) in looks.iter().enumerate() {
        for &(to, after) in &looks[at + 1..] {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "distances are positive"
            )]
            let place = ((to - from) / width).ceil() as usize - 1;
            if let Some(bin) = counts.get_mut(place) {
                bin.0 += 1;
                bin.1 += u64::from(after > before);
            }
        }
    }
    counts
}

fn pairs(c: &mut Criterion) {
    let mut group = c.benchmark_group("pairs");
    group.sample_size(10);
    let million = history(1e6);
    group.bench_function("M6, a million polls, 12 gaps", |b| {
        b.iter(|| Pairs::new(0.05, 240).having_heard(&million));
    });
    for polls in [1e3, 1e4] {
        let few = history(polls);
        group.bench_with_input(BenchmarkId::new("M6", polls), &few, |b, few| {
            b.iter(|| Pairs::new(0.05, 240).having_heard(few));
        });
        group.bench_with_input(BenchmarkId::new("M6 pairwise", polls), &few, |b, few| {
            b.iter(|| pairwise(few, 0.05, 240));
        });
        group.bench_with_input(BenchmarkId::new("mixture", polls), &few, |b, few| {
            b.iter(|| mixture::fit(few));
        });
    }
    group.finish();
}

criterion_group!(benches, pairs);
criterion_main!(benches);
