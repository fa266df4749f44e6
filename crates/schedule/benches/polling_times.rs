//! The exact optimum on the circle, beside the paper's O(s³N) recurrence.

#![expect(clippy::unwrap_used, reason = "a bench")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use schedule::polling_times::cost::{Cost, Costed, Expected, Objective};
use schedule::polling_times::empirical::Aim;
use schedule::polling_times::history::{Grid, History};
use schedule::polling_times::{Method, circle, learned, literal};
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

/// The changes of a history again, as times.
fn times(history: &History) -> Vec<Time> {
    let step = history.grid().step().micros();
    history.at().iter().map(|at| Time::from_micros(at * step)).collect()
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
    // every second is a point
    let mut rate = vec![1e-5; 86_400];
    seconds.at().iter().for_each(|&at| rate[seconds.phase(at)] += 1.0 / 90.0);
    let expected = Expected::new(&rate, &Objective::mixed(86_400, 0.5));
    group.bench_function("s=86400 (86400 points, expected) N=96", |b| {
        b.iter(|| circle::best(black_box(&expected), 96));
    });

    // what a plan of the policy costs: the largest memory it keeps, on its usual and its finest grid
    let looks = learned::log(&times(&minutes)[..2_048]);
    for step in [300, 60] {
        let grid = Grid::new(Span::DAY, Span::from_secs(step)).unwrap();
        group.bench_function(format!("a plan of timed, {step} s, 2048 looks, N=24"), |b| {
            b.iter(|| {
                learned::learn(grid, black_box(&looks))
                    .map(|l| l.strategy(grid, Aim::default(), 24))
            });
        });
    }
    // what a question of `plan times` costs
    let changes = times(&minutes);
    group.bench_function("how much of 4320 changes to believe, and a plan", |b| {
        b.iter(|| Method::Empirical.plan(minutes.grid(), black_box(&changes), Aim::default(), 4));
    });
    group.finish();
}

criterion_group!(benches, polling_times);
criterion_main!(benches);
