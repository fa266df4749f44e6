//! One seed, one run: on one or many threads, straight through or interrupted by a snapshot.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::sync::Arc;
use std::time::Instant;

use lab::compare::{Contender, Ground, compare};
use lab::run::{Bench, Clock, Count};
use lab::synth::Spec;
use lab::world::World;
use schedule::Span;
use schedule::policy;
use schedule::utility::Worth;

const MONTH: Span = Span::DAY.times(30);
const POLICIES: [&str; 7] = [
    "round-robin",
    "frequency",
    "proportional",
    "greedy(samples=3)",
    "adaptive(k=2)",
    "subset",
    "blend",
];

fn clocks() -> [Clock; 3] {
    [
        Clock::Cycles { length: MONTH, polls: 300, count: Count::PerCycle },
        Clock::Cycles { length: MONTH, polls: 300, count: Count::SinceLast },
        Clock::Continuous { polls: 300, per: MONTH, round: Span::DAY.times(10) },
    ]
}

fn spec() -> Spec {
    "bursts(sites=12,pages=1500)".parse().unwrap()
}

/// Everything of a comparison but the seconds it took.
fn outcome(threads: usize, clock: Clock) -> String {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let contenders: Vec<Contender> =
        POLICIES.iter().copied().chain(["oracle"]).map(|text| text.parse().unwrap()).collect();
    let ground = Ground::Drawn { spec: spec(), cycle: MONTH, cycles: 6, worth: Worth::default() };
    let mut comparison =
        pool.install(|| compare(&ground, &|_: &World| clock, &contenders, 4, &|| {}));
    comparison.policies.iter_mut().for_each(|standing| standing.decide_seconds = 0.0);
    format!("{comparison:?}")
}

#[test]
fn threads_change_nothing() {
    for clock in clocks() {
        assert_eq!(outcome(1, clock), outcome(4, clock));
    }
}

#[test]
fn a_snapshot_in_mid_run_changes_nothing() {
    let world = Arc::new(spec().build(MONTH, 8, 5));
    for clock in clocks() {
        for text in POLICIES {
            let spec: policy::Spec = text.parse().unwrap();
            let mut straight = Bench::new(&world, spec.build(9), clock, 9);
            let mut broken = Bench::new(&world, spec.build(9), clock, 9);
            for number in 1..=straight.rounds() {
                straight.round(number);
                broken.round(number);
                if number % 2 == 1 {
                    let bytes = postcard::to_stdvec(&broken.scheduler).unwrap();
                    broken.scheduler = postcard::from_bytes(&bytes).unwrap();
                }
            }
            let began = Instant::now();
            let (straight, broken) = (straight.finish(began), broken.finish(began));
            assert_eq!(straight.cycles, broken.cycles, "{text}");
            assert_eq!(straight.quality, broken.quality, "{text}");
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    let world = Arc::new(spec().build(MONTH, 8, 5));
    let clock = clocks()[0];
    let greedy: Contender = "greedy(samples=3)".parse().unwrap();
    let ratio = |seed| greedy.run(&world, clock, seed, &|| {}).change_ratio();
    assert_ne!(ratio(1), ratio(2));
    assert_eq!(ratio(1), ratio(1));
}
