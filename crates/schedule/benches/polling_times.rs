//! The exact optimum on the circle, beside the paper's O(s³N) recurrence.

#![expect(clippy::unwrap_used, reason = "a bench")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use schedule::polling_times::cost::{Cost, Costed, Objective};
use schedule::polling_times::history::{Grid, History};
use schedule::polling_times::{circle, literal};
use schedule::{Span, Time, chance};

/// 90 days of about `daily` changes each, thrice as many by day as by night.
fn days(step: Span, daily: u64) -> History {
    let mut changes = Vec::new();
    for change in 0..90 * daily {
        let (day, draw) = (change / daily, chance::draw(1, [change]));
        let hour = [0, 6, 8, 9, 10, 12, 14, 20][usize::try_from(draw % 8).unwrap()];
        let second = day * 86_400 + hour * 3_600 + (draw >> 8) % 10_800;
        changes.push(Time::from_secs(i64::try_from(second).unwrap()));
    }
    History::new(Grid::new(Span::DAY, step).unwrap(), &changes)
}

fn polling_times(c: &mut Criterion) {
    let mut group = c.benchmark_group("polling times");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(3))
        .warm_up_time(Duration::from_millis(300));

    // s = 144: small enough for the recurrence
    let small = days(Span::from_secs(600), 48);
    let costed = Costed::new(&small, &Objective::recall(&small)).unwrap();
    let points = costed.cost.points();
    group.bench_function(format!("s=144 ({points} points) N=12, literal O(s^3 N)"), |b| {
        b.iter(|| literal::best(black_box(&costed.cost), 12));
    });
    group.bench_function(format!("s=144 ({points} points) N=12"), |b| {
        b.iter(|| circle::best(black_box(&costed.cost), 12));
    });

    // s = 1,440: minutes of a day
    let minutes = days(Span::from_secs(60), 48);
    let objective = Objective::recall(&minutes);
    group.bench_function("s=1440, cost of 90 days", |b| {
        b.iter(|| Costed::new(black_box(&minutes), &objective).unwrap());
    });
    let costed = Costed::new(&minutes, &objective).unwrap();
    let points = costed.cost.points();
    for polls in [24, 96] {
        group.bench_function(format!("s=1440 ({points} points) N={polls}"), |b| {
            b.iter(|| circle::best(black_box(&costed.cost), polls));
        });
    }

    // s = 86,400: seconds of a day
    let seconds = days(Span::from_secs(1), 96);
    let objective = Objective::recall(&seconds);
    group.bench_function("s=86400, cost of 90 days", |b| {
        b.iter(|| Costed::new(black_box(&seconds), &objective).unwrap());
    });
    let costed = Costed::new(&seconds, &objective).unwrap();
    let points = costed.cost.points();
    group.bench_function(format!("s=86400 ({points} points) N=96"), |b| {
        b.iter(|| circle::best(black_box(&costed.cost), 96));
    });
    group.finish();
}

criterion_group!(benches, polling_times);
criterion_main!(benches);
