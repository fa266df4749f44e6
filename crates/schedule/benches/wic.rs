//! WIC over an auction-sized epoch, and over instants with ever more pages.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use schedule::bound::{prices_of, tighten};
use schedule::chance;
use schedule::epoch::Epoch;
use schedule::epoch::greedy::{Options, wic};
use schedule::utility::{Decay, Shape, Stay};

fn unit(about: [u64; 3]) -> f64 {
    (chance::draw(1, about) >> 11) as f64 / (1u64 << 53) as f64
}

/// 7,550 pages, a day of minutes, about four changes a page, each spread over 17 minutes.
fn auctions(shape: &Shape) -> Epoch {
    let mut epoch = Epoch::new(1, 1_440, 8);
    for page in 0..7_550u64 {
        let mut row = [0.0f64; 1_441];
        for change in 0..chance::draw(2, [page]) % 9 {
            let at = 1 + chance::below(1_440, 3, [page, change]);
            for step in 0..17usize {
                let late = step as f64 - 8.0;
                if let Some(cell) = row.get_mut((at + step).saturating_sub(8)) {
                    *cell = (*cell + 0.2 * (-late * late / 8.0).exp()).min(1.0);
                }
            }
        }
        epoch.add(1.0, shape, (1..=1_440u32).zip(row[1..].iter().copied()));
    }
    epoch
}

fn epochs(c: &mut Criterion) {
    let mut group = c.benchmark_group("wic, 7,550 pages × 1,440 instants");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3))
        .warm_up_time(Duration::from_millis(300));
    let settings = [
        ("append, none", Decay::Exponential(1.0), Stay::Append),
        ("append, r = 0.9", Decay::Exponential(0.9), Stay::Append),
        ("overwrite, none", Decay::Exponential(1.0), Stay::Changes(1)),
        ("overwrite, r = 0.9", Decay::Exponential(0.9), Stay::Changes(1)),
        ("overwrite, r = 0 (RIR)", Decay::Exponential(0.0), Stay::Changes(1)),
        ("for 60, r = 0.9", Decay::Exponential(0.9), Stay::Window(60)),
        ("append, within 60", Decay::Window(60), Stay::Append),
        ("overwrite, within 60", Decay::Window(60), Stay::Changes(1)),
        ("last 5, r = 0.9", Decay::Exponential(0.9), Stay::Changes(5)),
    ];
    for (words, decay, stay) in settings {
        let epoch = auctions(&Shape { decay, stay });
        group.bench_function(words, |b| b.iter(|| wic(black_box(&epoch), Options::default())));
    }
    let epoch = auctions(&Shape { decay: Decay::Exponential(0.9), stay: Stay::Changes(1) });
    let schedule = wic(&epoch, Options::default());
    let (prices, earned) = (prices_of(&epoch, &schedule), epoch.utility(&schedule));
    group.bench_function("overwrite, r = 0.9: ten rounds of the bound", |b| {
        b.iter(|| tighten(black_box(&epoch), &prices, earned, 10));
    });
    group.finish();
}

/// Twenty instants at which every page has a chance.
fn instants(c: &mut Criterion) {
    let mut group = c.benchmark_group("wic, 20 instants, every page with a chance");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3))
        .warm_up_time(Duration::from_millis(300));
    let shape = Shape { decay: Decay::Exponential(0.9), stay: Stay::Changes(1) };
    for pages in [62_500u64, 250_000, 1_000_000] {
        let mut epoch = Epoch::new(1, 20, 100);
        for page in 0..pages {
            epoch.add(1.0, &shape, (1..=20u32).map(|k| (k, unit([page, u64::from(k), 0]))));
        }
        group.bench_function(format!("{pages} pages"), |b| {
            b.iter(|| wic(black_box(&epoch), Options::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, epochs, instants);
criterion_main!(benches);
