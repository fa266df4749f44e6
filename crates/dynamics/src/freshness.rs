//! Freshness and age of a copy of a Poisson source, in closed form.
//!
//! A source changes at rate λ; the copy is renewed every I (or at Poisson times of rate f). With
//! x = λI:
//!
//! ```text
//! freshness, every I          F = (1 − e^(−x)) / x
//! freshness, Poisson polls    F = f / (f + λ)
//! age since first change      A = I · ( 1/2 − 1/x + (1 − e^(−x)) / x² )
//! age since last change       A = I · ( (1 + e^(−x)) / x − 2(1 − e^(−x)) / x² )
//!
//! any renewal source          P(fresh) = P(A_U > A_S) = ∫ λ_S P(S > s) Ḡ_U(s) ds          (BS-47)
//! ```
//!
//! Two readings of *age* exist (CN-05): how long ago the copy went stale (the **first** change it
//! misses), and how old the version is that it lacks (the **last** change). Both are named here.
//!
//! Paper: CN-X3, CN-05 (`docs/papers/cho-ntoulas-2002.md`). These formulas are the lab's yardstick:
//! simulated scores must meet them.

use crate::integral;
use crate::process::Process;

/// Below this x the series stand in for the closed forms, which cancel there.
const SMALL: f64 = 1e-3;

/// (1 − e^(−x)) / x: the share of time a copy is up to date when renewed every `interval`.
pub fn periodic_freshness(rate: f64, interval: f64) -> f64 {
    let x = rate * interval;
    if x < SMALL { 1.0 - x / 2.0 + x * x / 6.0 - x * x * x / 24.0 } else { -(-x).exp_m1() / x }
}

/// f / (f + λ): the same when polls come at Poisson times of rate `poll_rate`.
pub fn poisson_freshness(rate: f64, poll_rate: f64) -> f64 {
    if rate + poll_rate > 0.0 { poll_rate / (poll_rate + rate) } else { 1.0 }
}

/// P(A_U > A_S): the same for any source and any polls that go their own ways.
///
/// Not what a Poisson source of equal rate would give: bursts leave a copy fresh longer.
pub fn renewal_freshness(updates: &Process, polls: &Process) -> f64 {
    let edges = [updates.edges(), polls.edges()].concat();
    integral::with_edges(&edges, updates.mean().min(polls.mean()), |s| {
        polls.age_density(s) * (1.0 - updates.age_cdf(s))
    })
}

/// I(1/2 − 1/x + (1 − e^(−x))/x²): mean time since the copy went stale, zero while it is fresh.
pub fn periodic_age_of_first_change(rate: f64, interval: f64) -> f64 {
    let x = rate * interval;
    if x < SMALL {
        interval * x * (1.0 / 6.0 - x / 24.0 + x * x / 120.0)
    } else {
        interval * (0.5 - 1.0 / x - (-x).exp_m1() / (x * x))
    }
}

/// Mean age of the version the copy lacks, zero while it is fresh.
///
/// At elapsed t the expectation is (1 − e^(−λt))/λ − t·e^(−λt), here averaged over (0, I\].
pub fn periodic_age_of_last_change(rate: f64, interval: f64) -> f64 {
    let x = rate * interval;
    if x < SMALL {
        interval * x * (1.0 / 6.0 - x / 12.0 + x * x / 40.0)
    } else {
        interval * ((1.0 + (-x).exp()) / x + 2.0 * (-x).exp_m1() / (x * x))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Midpoint rule over one interval: an independent way to the same averages.
    fn averaged(interval: f64, at: impl Fn(f64) -> f64) -> f64 {
        let steps = 20_000;
        let width = interval / f64::from(steps);
        (0..steps).map(|i| at((f64::from(i) + 0.5) * width)).sum::<f64>() / f64::from(steps)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * (1.0 + a.abs())
    }

    proptest! {
        #[test]
        fn closed_forms_are_the_averages_over_an_interval(rate in 1e-4..50.0f64, interval in 0.01..10.0f64) {
            let fresh = averaged(interval, |t| (-rate * t).exp());
            prop_assert!(close(periodic_freshness(rate, interval), fresh));
            let first = averaged(interval, |t| t + (-rate * t).exp_m1() / rate);
            prop_assert!((periodic_age_of_first_change(rate, interval) - first).abs() < 1e-5);
            let last = averaged(interval, |t| -(-rate * t).exp_m1() / rate - t * (-rate * t).exp());
            prop_assert!((periodic_age_of_last_change(rate, interval) - last).abs() < 1e-5);
        }

        #[test]
        fn looking_more_often_is_never_staler(rate in 1e-3..10.0f64, interval in 0.01..10.0f64) {
            prop_assert!(periodic_freshness(rate, interval / 2.0) >= periodic_freshness(rate, interval));
            prop_assert!(periodic_age_of_first_change(rate, interval / 2.0) <= periodic_age_of_first_change(rate, interval));
        }

        #[test]
        fn the_missed_version_is_younger_than_the_staleness(rate in 1e-4..20.0f64, interval in 0.01..10.0f64) {
            prop_assert!(periodic_age_of_last_change(rate, interval) <= periodic_age_of_first_change(rate, interval) + 1e-12);
        }

        #[test]
        fn even_spacing_beats_poisson_polls(rate in 1e-3..10.0f64, interval in 0.01..10.0f64) {
            prop_assert!(periodic_freshness(rate, interval) >= poisson_freshness(rate, 1.0 / interval));
        }
    }

    /// BS-47: the paper's Pareto source, polled every Δ: 1/(1 + Δ), against a Poisson source of equal rate.
    #[test]
    fn bs_47_freshness_of_a_renewal_source() {
        let pareto = Process::Pareto { mean: 0.5, shape: 3.0 };
        for (delta, fresh, poisson) in [(1.0, 0.5, 0.432_332), (0.5, 0.666_667, 0.632_121)] {
            let polls = Process::Constant { period: delta };
            assert!((renewal_freshness(&pareto, &polls) - fresh).abs() < 1e-6);
            assert!((periodic_freshness(2.0, delta) - poisson).abs() < 1e-6);
            let memoryless = Process::Exponential { mean: 0.5 };
            assert!((renewal_freshness(&memoryless, &polls) - poisson).abs() < 1e-6);
        }
        let polls = Process::Exponential { mean: 1.0 };
        assert!((renewal_freshness(&pareto, &polls) - 0.403_653).abs() < 1e-6);
        assert!((poisson_freshness(2.0, 1.0) - 0.333_333).abs() < 1e-6);
    }

    #[test]
    fn the_series_meets_the_closed_form_where_they_join() {
        for form in [periodic_freshness, periodic_age_of_first_change, periodic_age_of_last_change]
        {
            let (below, above) = (form(SMALL * 0.999_999, 1.0), form(SMALL * 1.000_001, 1.0));
            assert!((below - above).abs() < 1e-8, "{below} {above}");
        }
    }

    #[test]
    fn a_source_that_never_changes_is_always_fresh() {
        assert!((periodic_freshness(0.0, 5.0) - 1.0).abs() < 1e-15);
        assert!(periodic_age_of_first_change(0.0, 5.0).abs() < 1e-15);
        assert!((poisson_freshness(0.0, 0.0) - 1.0).abs() < 1e-15);
    }
}
