//! The `timed` policy in the lab: on a world with rhythms it beats even polls; what it costs on one without.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use lab::run::{self, Clock};
use lab::score::Score;
use lab::world::{Place, World};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use schedule::policy::Spec;
use schedule::{HostIx, SiteIx, Span, Time};

const SOURCES: usize = 12;
const DAYS: u32 = 120;

/// Sources that change twice a day: by the clock, at hours of their own, or at any time.
fn world(by_the_clock: bool) -> World {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut world = World::new(Time::ZERO, Time::ZERO + Span::DAY.times(DAYS.into()));
    for source in 0..SOURCES {
        let hour = source as f64 * 0.9;
        let mut changes: Vec<Time> = (0..2 * DAYS)
            .map(|n| {
                let at = if by_the_clock {
                    hour + f64::from(n % 2) * 9.0 + rng.random::<f64>()
                } else {
                    rng.random::<f64>() * 24.0
                };
                Time::ZERO + Span::from_secs_f64(f64::from(n / 2) * 86_400.0 + at * 3_600.0)
            })
            .collect();
        changes.sort_unstable();
        let (site, host) = (SiteIx::FIRST, HostIx::new(source));
        world.add(
            Place { site, host, importance: 1.0, enters: Time::ZERO, leaves: Time::MAX },
            changes,
        );
    }
    world
}

/// Four polls a day for each.
fn score(world: &World, policy: &str) -> Score {
    let spec: Spec = policy.parse().unwrap();
    let clock = Clock::Continuous { polls: 4 * SOURCES as u64, per: Span::DAY, round: Span::DAY };
    run::run(world, spec.build(3), clock, 3, &|| {})
}

#[test]
fn with_a_rhythm_planned_polls_beat_even_ones() {
    let world = world(true);
    let (even, timed) = (score(&world, "timed(method=uniform)"), score(&world, "timed"));
    let ratio = timed.age_of_first().unwrap() / even.age_of_first().unwrap();
    assert!(ratio < 0.75, "age {ratio} of even polls', the weeks of learning included");
    assert!(timed.change_recall().unwrap() > even.change_recall().unwrap() - 0.02);
    assert!(
        timed.polls() <= even.polls() + even.polls() / 50,
        "{} {}",
        timed.polls(),
        even.polls()
    );
}

/// Moments drawn anew in each N-th of a period lie 1 + d apart, d triangular with variance 1/6: where changes are rare, age
/// is as E(1 + d)³ = 1.5 to even polls' 1. That is what looking for a rhythm costs, and no more.
#[test]
fn without_a_rhythm_wandering_costs_what_it_must() {
    let world = world(false);
    let (even, timed) = (score(&world, "timed(method=uniform)"), score(&world, "timed"));
    let ratio = timed.age_of_first().unwrap() / even.age_of_first().unwrap();
    assert!((1.2..1.5).contains(&ratio), "{ratio}");
    assert!(timed.change_recall().unwrap() > even.change_recall().unwrap() - 0.05);
}
