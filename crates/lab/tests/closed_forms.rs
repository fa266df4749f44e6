//! The simulator against theory: a fixed-rate Poisson source polled round-robin is looked at every I, so its
//! freshness and age are known in closed form (CN-X3, CN-05).
//!
//! 400 sources of one rate, polled in turn: every source every 4 days, over 400 days. Standard errors come
//! from ten seeds; a deviation above four of them fails one run in ten thousand, and seeds are fixed.

use std::sync::Arc;

use dynamics::freshness::{
    periodic_age_of_first_change, periodic_age_of_last_change, periodic_freshness,
};
use lab::compare::Contender;
use lab::run::Clock;
use lab::score::{deviation, mean};
use lab::synth::Spec;
use schedule::Span;

const DAY: f64 = 86_400.0;

#[test]
fn cn_x3_freshness_and_age_meet_the_closed_forms() {
    for mean_days in [1.0, 4.0, 20.0] {
        let spec = format!("poisson(sites=4,pages=400,mean={mean_days}d,between=0,within=0)");
        let spec: Spec = spec.parse().unwrap();
        let round_robin: Contender = "round-robin".parse().unwrap();
        let clock = Clock::Continuous { polls: 100, per: Span::DAY, round: Span::DAY.times(400) };
        let scores: Vec<_> = (1..=10)
            .map(|seed| {
                let world = Arc::new(spec.build(Span::DAY, 400, seed));
                round_robin.run(&world, clock, seed, &|| {})
            })
            .collect();
        let (rate, every) = (1.0 / (mean_days * DAY), 4.0 * DAY);
        let check = |what: &str, values: Vec<f64>, expected: f64| {
            let center = mean(values.iter().copied()).unwrap();
            let error = deviation(values.iter().copied()).unwrap() / 10f64.sqrt();
            // the first lap starts synced and is cut at once a source: at most one lap in a hundred
            let slack = 4.0 * error + 0.003 * expected;
            assert!(
                (center - expected).abs() < slack,
                "{what} at {mean_days} d: {center}, not {expected} ± {slack}"
            );
        };
        let of = |part: fn(&lab::score::Score) -> Option<f64>| {
            scores.iter().map(|s| part(s).unwrap()).collect()
        };
        check("freshness", of(lab::score::Score::freshness), periodic_freshness(rate, every));
        check(
            "age, first",
            of(lab::score::Score::age_of_first),
            periodic_age_of_first_change(rate, every),
        );
        check(
            "age, last",
            of(lab::score::Score::age_of_last),
            periodic_age_of_last_change(rate, every),
        );
        // a poll every I finds a change with chance 1 − e^(−λI)
        check("ChangeRatio", of(lab::score::Score::change_ratio), -(-rate * every).exp_m1());
    }
}
