//! Fits over a million objects, and a look at a collection of ten thousand.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use dynamics::arrival::Counts;
use dynamics::collection::{Item, Part};
use dynamics::quality::{Forecaster, Metric};
use dynamics::survival::{Curve, Exponential, Life, Weibull, turnbull};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Lives of a Weibull law, some entered late; `gap` > 0 hides removals between looks.
fn lives(n: usize, gap: f64) -> Vec<Life> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let draw = |_| {
        let entry = if rng.random::<f64>() < 0.3 { 5.0 * rng.random::<f64>() } else { 0.0 };
        let age = entry + 20.0 * (-(1.0 - rng.random::<f64>()).ln()).powf(1.4) + 1e-6;
        let end = entry + 60.0 * rng.random::<f64>() + gap + 1e-6;
        let life = match (age < end, gap > 0.0) {
            (true, false) => Life::exact(age),
            (true, true) => {
                let low = entry + ((age - entry) / gap).floor() * gap;
                Life::between(low, low + gap)
            }
            (false, _) => Life::there(end),
        };
        life.from(entry)
    };
    (0..n).map(draw).collect()
}

fn million(c: &mut Criterion) {
    let (moments, gaps) = (lives(1_000_000, 0.0), lives(1_000_000, 1.0));
    let counts: Vec<f64> =
        (0..1_000_000u32).map(|at| f64::from((at.wrapping_mul(7_919)) % 97)).collect();
    let mut group = c.benchmark_group("a million objects");
    group.sample_size(10);
    group.bench_function("exponential", |b| b.iter(|| Exponential::fit(black_box(&moments))));
    group.bench_function("exponential, between looks", |b| {
        b.iter(|| Exponential::fit(black_box(&gaps)));
    });
    group.bench_function("Weibull", |b| b.iter(|| Weibull::fit(black_box(&moments))));
    group.bench_function("Weibull, between looks", |b| b.iter(|| Weibull::fit(black_box(&gaps))));
    group.bench_function("Kaplan–Meier", |b| b.iter(|| Curve::of(black_box(&moments))));
    group.bench_function("negative binomial", |b| {
        b.iter(|| Counts::negative_binomial(black_box(&counts)));
    });
    group.finish();
}

fn others(c: &mut Criterion) {
    let on_a_grid: Vec<Life> = lives(100_000, 1.0)
        .into_iter()
        .map(|life| Life {
            entry: life.entry.floor(),
            low: life.low.floor(),
            high: life.high.floor().max(life.low.floor() + 1.0),
        })
        .collect();
    let mut group = c.benchmark_group("collection");
    group.sample_size(10);
    group.bench_function("Turnbull, 100,000 lives on a grid of days", |b| {
        b.iter(|| turnbull::estimate(black_box(&on_a_grid)));
    });
    let items: Vec<Item> =
        (0..10_000).map(|object| Item { object, category: 0, version: 0 }).collect();
    let mut forecaster = Forecaster::default();
    for day in 0..40u32 {
        let from = (day * 50) as usize;
        forecaster.look(f64::from(day), &items[from..from + 8_000]);
    }
    group.bench_function("a look at 8,000 objects, with the fit", |b| {
        b.iter_batched(
            || forecaster.clone(),
            |mut one| one.look(41.0, &items[2_000..]),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("when to sync", |b| {
        b.iter(|| forecaster.sync_within(Metric::Recall, black_box(0.9), 0.9, 100.0));
    });
    group.bench_function("model of 8,000 objects", |b| {
        b.iter(|| forecaster.collection().model(Part::default()));
    });
    group.finish();
}

criterion_group!(benches, million, others);
criterion_main!(benches);
