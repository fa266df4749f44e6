//! Instants, through the very scheduler: who is told earns more than who must learn, and nobody beats the bound.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::sync::Arc;

use lab::compare::{Comparison, Contender, Ground, InTicks, compare_in_ticks};
use lab::ticks::{Ticks, Told};
use lab::world::{Place, World};
use schedule::utility::{Life, Urgency, Worth};
use schedule::{HostIx, SiteIx, Span, Time};

const MINUTE: Span = Span::from_secs(60);

fn compare(world: &str, ticks: u32, worth: Worth, told: Told, policies: &[&str]) -> Comparison {
    let ground =
        Ground::Drawn { spec: world.parse().unwrap(), cycle: MINUTE, cycles: ticks, worth };
    let ticks = Ticks { tick: MINUTE, capacity: 2, shape: worth.per(MINUTE), told };
    let contenders: Vec<Contender> =
        policies.iter().map(|policy| policy.parse().unwrap()).collect();
    compare_in_ticks(&ground, &ticks, &contenders, 2, &|| {})
}

fn in_ticks(comparison: &Comparison) -> Vec<&InTicks> {
    comparison.policies.iter().map(|standing| standing.ticks.as_ref().unwrap()).collect()
}

const WORLD: &str = "poisson(sites=5,pages=60,mean=2h,between=1.5,within=1)";

fn worth(urgency: &str, life: Life) -> Worth {
    Worth { urgency: urgency.parse::<Urgency>().unwrap(), life }
}

#[test]
fn b10_search_told_the_same_is_never_below_greedy_nor_above_the_bound() {
    for told in [Told::EXACT, Told::Noisy { fpn: 0.1, spread: 2.0 }] {
        for worth in [
            worth("per-tick 0.9", Life::Overwrite),
            worth("none", Life::Append),
            worth("within 10m", Life::Last(2)),
        ] {
            let comparison =
                compare(WORLD, 180, worth, told, &["wic", "wic+search", "cam", "round-robin"]);
            let ticks = in_ticks(&comparison);
            let expected: Vec<f64> = ticks
                .iter()
                .map(|ticks| ticks.expected.as_ref().unwrap().utility.mean.unwrap())
                .collect();
            assert!(
                expected[1] >= expected[0] - 1e-9 && expected[0] >= expected[3],
                "{worth:?}: {expected:?}"
            );
            for ticks in ticks {
                assert!(ticks.share_of_bound.mean.unwrap() <= 1.0 + 1e-9);
                assert!(
                    ticks.expected.as_ref().unwrap().share_of_bound.mean.unwrap() <= 1.0 + 1e-9
                );
                assert!(ticks.zero_delay.mean <= ticks.captured.mean);
                assert!((ticks.delay.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
        }
    }
}

/// Told exactly, utility by the chances is utility by what happened.
#[test]
fn exact_chances_are_the_truth() {
    let comparison =
        compare(WORLD, 120, worth("per-tick 0.8", Life::Overwrite), Told::EXACT, &["wic"]);
    let ticks = in_ticks(&comparison)[0];
    let (real, expected) = (
        ticks.share_of_bound.mean.unwrap(),
        ticks.expected.as_ref().unwrap().share_of_bound.mean.unwrap(),
    );
    assert!((real - expected).abs() < 1e-9, "{real} {expected}");
}

/// Rates learned from its own polls beat polling in turn where rates differ; being told beats learning.
#[test]
fn learning_pays_and_knowing_pays_more() {
    let worth = worth("half-life 20m", Life::Overwrite);
    let utility = |told, policy: &str| {
        in_ticks(&compare(WORLD, 720, worth, told, &[policy]))[0].utility.mean.unwrap()
    };
    let (turn, learned) = (utility(Told::Learned, "round-robin"), utility(Told::Learned, "wic"));
    let (planned, told) =
        (utility(Told::Learned, "wic+search(horizon=30)"), utility(Told::EXACT, "wic"));
    assert!(
        turn < learned && turn < planned && learned < told,
        "{turn} {learned} {planned} {told}"
    );
}

#[test]
fn small_worlds_show_the_exact_optimum() {
    let told = Told::Noisy { fpn: 0.0, spread: 1.0 };
    let comparison = compare(
        "poisson(sites=1,pages=3,mean=5m)",
        30,
        worth("per-tick 0.9", Life::Append),
        told,
        &["wic"],
    );
    let expected = in_ticks(&comparison)[0].expected.as_ref().unwrap();
    let (earned, best, bound) = (
        expected.utility.mean.unwrap(),
        expected.optimum.unwrap().mean.unwrap(),
        expected.bound.mean.unwrap(),
    );
    assert!(earned <= best + 1e-9 && best <= bound + 1e-9, "{earned} {best} {bound}");
}

/// Two sites of twenty sources, one changes from eight to noon, the other from eight to midnight in the evening: a fortnight of
/// ten-minute ticks. The hours are learned, and pay.
#[test]
fn hours_are_learned_site_by_site() {
    let (day, hour) = (86_400, 3_600);
    let mut world = World::new(Time::ZERO, Time::from_secs(14 * day));
    for source in 0..40u64 {
        let site = usize::from(source >= 20);
        let place = Place {
            site: SiteIx::new(site),
            host: HostIx::FIRST,
            importance: 1.0,
            enters: Time::MIN,
            leaves: Time::MAX,
        };
        let from = if site == 0 { 8 } else { 20 };
        let second = |day_of: i64, n: u64| {
            let draw = schedule::chance::below(4 * 3_600, 5, [source, day_of.unsigned_abs(), n]);
            day_of * day + from * hour + i64::try_from(draw).unwrap()
        };
        let mut times: Vec<i64> =
            (0..14).flat_map(|day| (0..6).map(move |n| second(day, n))).collect();
        times.sort_unstable();
        world.add(place, times.into_iter().map(Time::from_secs));
    }
    let tick = Span::from_secs(600);
    let worth = worth("half-life 20m", Life::Overwrite);
    let ground = Ground::Fixed(Arc::new(world.with_worth(worth)));
    let ticks = Ticks { tick, capacity: 2, shape: worth.per(tick), told: Told::Learned };
    let contenders: Vec<Contender> =
        ["wic", "wic(period=1d)"].iter().map(|policy| policy.parse().unwrap()).collect();
    let comparison = compare_in_ticks(&ground, &ticks, &contenders, 1, &|| {});
    let utility: Vec<f64> =
        in_ticks(&comparison).iter().map(|ticks| ticks.utility.mean.unwrap()).collect();
    assert!(utility[1] > 1.1 * utility[0], "{utility:?}");
}
