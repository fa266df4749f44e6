//! A belief about a change rate that moves with every poll and never fails.
//!
//! A poll after τ says only *changed* or *same*. Under a Poisson source of rate λ that has
//! probability 1 − e^(−λτ) or e^(−λτ). Start from λ ~ Gamma(a, b), mean a/b:
//!
//! ```text
//! same:     Gamma(a, b + τ), exactly
//! changed:  density ∝ λ^(a−1) e^(−bλ) (1 − e^(−λτ));  with u = b/(b+τ), q = u^a
//!           E[λ]  = (a/b)        · (1 − q·u)  / (1 − q)
//!           E[λ²] = (a(a+1)/b²)  · (1 − q·u²) / (1 − q)
//! ```
//!
//! After a change the posterior is no longer Gamma; the Gamma with the same mean and variance stands
//! in for it. Two numbers per source, a few nanoseconds per poll, any spacing of polls, and defined
//! when all or none of the polls saw a change, where the likelihood alone has no maximum (CN-X4).
//!
//! From it follow, again in closed form, the chance of a change within τ and what a poll after τ is worth for each
//! goal (B1): averages over the posterior of 1 − e^(−λτ) and of V(τ). With q = u^a the chance of no change and
//! G(τ) = ∫₀^τ q, the expected fresh time:
//!
//! ```text
//! captured    V = 1 − q·(1 + aτ/(b+τ))
//! freshness   V = G(τ) − τ q(τ)                  G(τ) = b/(a−1) · (1 − u^(a−1))
//! age         V = τ²/2 − τ G(τ) + ∫₀^τ G         ∫G   = b/(a−1) · (τ − b/(a−2) · (1 − u^(a−2)))
//! ```
//!
//! Where few changes are expected both cancel; the first terms of their series stand in there.
//!
//! Paper: CN-X4 and B5 (`docs/papers/cho-ntoulas-2002.md`). Departure: moment matching is our own.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Gamma};

/// Belief about a change rate: Gamma with shape `a` and rate `b`. Mean a/b, variance a/b².
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    a: f64,
    b: f64,
}

/// How small a term must be beside the last for the series to be used.
const FEW: f64 = 1e-3;
/// How close to a pole the closed forms are trusted.
const NEAR: f64 = 1e-7;

/// (1 − u^s)/s, and −ln u where s is nearly nothing.
fn power_mean(u: f64, s: f64) -> f64 {
    if s.abs() < NEAR { -u.ln() } else { -(s * u.ln()).exp_m1() / s }
}

/// Shape of the belief before any look: half a change's worth of opinion.
const PRIOR_SHAPE: f64 = 0.5;

impl Belief {
    /// Gamma(a, b); both must be positive.
    pub fn new(a: f64, b: f64) -> Self {
        debug_assert!(a > 0.0 && b > 0.0);
        Self { a, b }
    }

    /// A weak belief, half a change's worth: about one change per `interval`.
    pub fn at_first_look(interval: f64) -> Self {
        Self::new(PRIOR_SHAPE, PRIOR_SHAPE * interval.max(f64::MIN_POSITIVE))
    }

    /// (a, b)
    pub fn parameters(self) -> (f64, f64) {
        (self.a, self.b)
    }

    /// E\[λ\]
    pub fn mean(self) -> f64 {
        self.a / self.b
    }

    /// sd(λ)
    pub fn deviation(self) -> f64 {
        self.a.sqrt() / self.b
    }

    /// The middle 95 % of the belief.
    pub fn interval95(self) -> [f64; 2] {
        [0.025, 0.975]
            .map(|q| Gamma::new(self.a, self.b).map_or(self.mean(), |law| law.inverse_cdf(q)))
    }

    /// The belief after a poll `interval` after the last one.
    #[must_use]
    pub fn after(self, interval: f64, changed: bool) -> Self {
        let Self { a, b } = self;
        if interval <= 0.0 {
            return self;
        }
        if !changed {
            return Self { a, b: b + interval };
        }
        let (u, none) = self.no_change(interval);
        let seen = 1.0 - none;
        if seen <= f64::EPSILON {
            // a change after a gap too short to tell apart from an instant: one more change
            return Self { a: a + 1.0, b };
        }
        let mean = (a / b) * (1.0 - none * u) / seen;
        let square = (a * (a + 1.0) / (b * b)) * (1.0 - none * u * u) / seen;
        let variance = (square - mean * mean).max(mean * mean * 1e-12);
        Self { a: mean * mean / variance, b: mean / variance }
    }

    /// P(at least one change within `elapsed`) = 1 − (b/(b+τ))^a
    pub fn chance(self, elapsed: f64) -> f64 {
        1.0 - self.no_change(elapsed.max(0.0)).1
    }

    /// What a poll after `elapsed` is worth when captured changes count:
    /// E\[1 − (1 + λτ)e^(−λτ)\] = 1 − q·(1 + aτ/(b+τ)).
    pub fn capture_value(self, elapsed: f64) -> f64 {
        let elapsed = elapsed.max(0.0);
        let (_, none) = self.no_change(elapsed);
        (1.0 - none * (1.0 + self.a * elapsed / (self.b + elapsed))).max(0.0)
    }

    /// What a poll after `elapsed` is worth when time up to date counts, in seconds.
    pub fn freshness_value(self, elapsed: f64) -> f64 {
        let elapsed = elapsed.max(0.0);
        if self.is_brief(elapsed) {
            let (first, second) = self.moments();
            return elapsed * elapsed * (first / 2.0 - elapsed * second / 3.0);
        }
        (self.fresh_time(elapsed) - elapsed * self.no_change(elapsed).1).max(0.0)
    }

    /// What a poll after `elapsed` is worth when little age counts, in seconds².
    pub fn age_value(self, elapsed: f64) -> f64 {
        let elapsed = elapsed.max(0.0);
        if self.is_brief(elapsed) {
            let (first, second) = self.moments();
            return elapsed.powi(3) * (first / 3.0 - elapsed * second / 8.0);
        }
        let Self { a, b } = self;
        let whole = b * (elapsed - b * power_mean(b / (b + elapsed), a - 2.0));
        let summed = if (a - 1.0).abs() < NEAR {
            // a → 1: G(τ) = −b ln u
            let ratio = (b + elapsed) / b;
            b * ((b + elapsed) * ratio.ln() - elapsed)
        } else {
            whole / (a - 1.0)
        };
        (elapsed * elapsed / 2.0 - elapsed * self.fresh_time(elapsed) + summed).max(0.0)
    }

    /// G(τ): the expected time until the copy goes stale, counted up to `elapsed`.
    pub fn fresh_time(self, elapsed: f64) -> f64 {
        self.b * power_mean(self.b / (self.b + elapsed.max(0.0)), self.a - 1.0)
    }

    /// So short a time that two terms of a series are enough: each is about τ·E\[λ²\]/E\[λ\] = τ(a + 1)/b of the last.
    fn is_brief(self, elapsed: f64) -> bool {
        elapsed * (self.a + 1.0) / self.b < FEW
    }

    /// E\[λ\], E\[λ²\]
    fn moments(self) -> (f64, f64) {
        (self.a / self.b, self.a * (self.a + 1.0) / (self.b * self.b))
    }

    /// (u, q) = (b/(b+τ), u^a): q is the chance of no change within τ.
    fn no_change(self, interval: f64) -> (f64, f64) {
        let u = self.b / (self.b + interval);
        // a belief no change has shaken yet has the shape it began with, and a root is quicker than a power
        #[expect(clippy::float_cmp, reason = "only exactly a half is a square root")]
        let q = if self.a == 0.5 { u.sqrt() } else { u.powf(self.a) };
        (u, q)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_belief() -> impl Strategy<Value = Belief> {
        (0.05..50.0f64, 0.01..100.0f64).prop_map(|(a, b)| Belief::new(a, b))
    }

    /// Moments of λ^(a−1) e^(−bλ) (1 − e^(−λτ)) by summing on a fine grid of z = ln λ.
    fn moments_by_hand(a: f64, b: f64, interval: f64) -> (f64, f64) {
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for i in 0..400_000 {
            let rate = (-20.0 + f64::from(i) * 1e-4).exp();
            let weight = (a * rate.ln() - b * rate).exp() * -(-rate * interval).exp_m1();
            mass += weight;
            first += weight * rate;
            second += weight * rate * rate;
        }
        (first / mass, second / mass)
    }

    #[test]
    fn the_moments_after_a_change_are_exact() {
        for (a, b, interval) in [(0.5, 1.0, 1.0), (2.0, 3.0, 0.2), (7.5, 4.0, 12.0)] {
            let (first, second) = moments_by_hand(a, b, interval);
            let after = Belief::new(a, b).after(interval, true);
            assert!((after.mean() / first - 1.0).abs() < 1e-6);
            let square = after.mean().powi(2) + after.deviation().powi(2);
            assert!((square / second - 1.0).abs() < 1e-6);
        }
    }

    /// CN-X4's history under its Gamma(1, 1) prior: the exact posterior mean is .6105875 (sd .2857018).
    /// Matching moments one poll at a time stays within two per cent of it.
    #[test]
    fn cn_x4_posterior_mean_is_close() {
        let mut belief = Belief::new(1.0, 1.0);
        for gap in [1.0, 1.0, 0.25, 0.5, 2.0] {
            belief = belief.after(gap, false);
        }
        for gap in [1.0, 2.0, 0.5, 3.0] {
            belief = belief.after(gap, true);
        }
        assert!((belief.mean() / 0.610_587_5 - 1.0).abs() < 0.02, "{}", belief.mean());
        assert!((belief.deviation() / 0.285_701_8 - 1.0).abs() < 0.05, "{}", belief.deviation());
    }

    /// Gamma(1, 2) is exponential: quantiles −ln(1 − q)/2.
    #[test]
    fn the_interval_is_the_gammas() {
        let [low, high] = Belief::new(1.0, 2.0).interval95();
        assert!((low - -(0.975f64.ln()) / 2.0).abs() < 1e-6, "{low}");
        assert!((high - -(0.025f64.ln()) / 2.0).abs() < 1e-6, "{high}");
    }

    proptest! {
        #[test]
        fn a_change_raises_and_a_quiet_gap_lowers_the_rate(belief in any_belief(), gap in 1e-3..100.0f64) {
            prop_assert!(belief.after(gap, true).mean() >= belief.mean() * (1.0 - 1e-9));
            prop_assert!(belief.after(gap, false).mean() <= belief.mean());
        }

        #[test]
        fn never_breaks_whatever_the_polls_say(changes in prop::collection::vec((0.0..1e6f64, any::<bool>()), 0..300)) {
            let mut belief = Belief::at_first_look(60.0);
            for (gap, changed) in changes {
                belief = belief.after(gap, changed);
                prop_assert!(belief.mean().is_finite() && belief.mean() > 0.0);
                prop_assert!(belief.deviation().is_finite() && belief.deviation() > 0.0);
            }
        }

        /// Against V = g − τ g′ summed on a grid: freshness pays ∫q, age costs ∫∫(1 − q).
        #[test]
        fn values_are_what_their_integrals_say(belief in any_belief(), changes in 0.01..20.0f64) {
            let elapsed = changes / belief.mean();
            let steps = 4000;
            let step = elapsed / f64::from(steps);
            let (mut fresh, mut aged, mut summed) = (0.0, 0.0, 0.0);
            for i in 0..steps {
                let stale = belief.chance((f64::from(i) + 0.5) * step);
                fresh += (1.0 - stale) * step;
                summed += (aged + stale * step / 2.0) * step;
                aged += stale * step;
            }
            let freshness = fresh - elapsed * (1.0 - belief.chance(elapsed));
            prop_assert!((belief.freshness_value(elapsed) - freshness).abs() < 1e-4 * freshness + 1e-5 * elapsed);
            let age = elapsed * aged - summed;
            prop_assert!((belief.age_value(elapsed) - age).abs() < 1e-3 * age + 1e-5 * elapsed * elapsed, "{} {}", belief.age_value(elapsed), age);
        }

        #[test]
        fn the_series_meet_the_closed_forms(belief in any_belief()) {
            let at = FEW * belief.b / (belief.a + 1.0);
            let (below, above) = (at * (1.0 - 1e-9), at * (1.0 + 1e-9));
            prop_assert!((belief.freshness_value(below) / belief.freshness_value(above) - 1.0).abs() < 1e-4);
            prop_assert!((belief.age_value(below) / belief.age_value(above) - 1.0).abs() < 1e-3);
        }

        #[test]
        fn chance_and_value_grow_with_time_between_zero_and_one(belief in any_belief(), t in 0.0..50.0f64, more in 0.0..50.0f64) {
            prop_assert!(belief.chance(t) <= belief.chance(t + more) + 1e-12);
            prop_assert!(belief.capture_value(t) <= belief.capture_value(t + more) + 1e-12);
            prop_assert!(belief.capture_value(t) <= belief.chance(t) + 1e-12);
            prop_assert!((0.0..=1.0).contains(&belief.chance(t)));
        }
    }
}
