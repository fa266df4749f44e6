//! Change rate from regular polls: n looks, X of them saw a change. Per poll interval.
//!
//! ```text
//! naive            r̂ = X / n                              biased low: several changes count once
//! likelihood       r̂ = −ln(1 − X/n)                       infinite when every look saw a change
//! bias-reduced     r̂ = −ln((n − X + ½) / (n + ½))         finite, bias O(1/n²)
//! ```
//!
//! The interval of all three is Wilson's for the chance of a change, mapped through −ln(1 − p) (the naive
//! rate's stays as it is). Paper: CN-X2, CN-14 (`docs/papers/cho-ntoulas-2002.md`).

use super::Estimate;
use crate::binomial::{Interval, Method};

/// X/n. No looks say nothing: rate 0 in [0, 1].
pub fn naive(changed: u32, looks: u32) -> Estimate {
    let Interval { low, high } = Method::Wilson.interval(changed, looks, 0.95);
    let rate = if looks == 0 { 0.0 } else { f64::from(changed) / f64::from(looks) };
    Estimate { rate, ci95: [low, high] }
}

/// −ln(1 − X/n): the maximum of the likelihood; infinite when all looks saw a change.
pub fn most_likely(changed: u32, looks: u32) -> Estimate {
    through(
        changed,
        looks,
        if looks == 0 { 0.0 } else { rate_of(f64::from(changed) / f64::from(looks)) },
    )
}

/// −ln((n − X + ½)/(n + ½)): always finite.
pub fn bias_reduced(changed: u32, looks: u32) -> Estimate {
    let (x, n) = (f64::from(changed), f64::from(looks));
    through(changed, looks, -((n - x + 0.5) / (n + 0.5)).ln())
}

fn through(changed: u32, looks: u32, rate: f64) -> Estimate {
    let Interval { low, high } = Method::Wilson.interval(changed, looks, 0.95);
    Estimate { rate: rate + 0.0, ci95: [rate_of(low), rate_of(high)] }
}

/// −ln(1 − p): the rate at which an interval sees a change with chance p.
fn rate_of(chance: f64) -> f64 {
    if chance >= 1.0 { f64::INFINITY } else { -(-chance).ln_1p() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn cn_x2_bias_reduced_values() {
        for (x, n, rate) in [
            (0, 10, 0.0),
            (5, 10, 0.646_627_164_9),
            (9, 10, 1.945_910_149_1),
            (10, 10, 3.044_522_437_7),
            (1, 1, 1.098_612_288_7),
        ] {
            assert!(close(bias_reduced(x, n).rate, rate), "{x} of {n}");
        }
    }

    /// Monthly looks for a year, 4 changes: once in 3 months naively, in 2.5929 bias-reduced, in 2.4663 by
    /// likelihood. (The paper says 4 months: an erratum.)
    #[test]
    fn cn_14_four_changes_in_a_year() {
        assert!(close(1.0 / naive(4, 12).rate, 3.0));
        assert!(close(bias_reduced(4, 12).rate, 0.385_662_480_8));
        assert!(close(most_likely(4, 12).rate, 0.405_465_108_1));
    }

    #[test]
    fn corners_are_defined() {
        assert!(close(naive(0, 0).rate, 0.0) && close(bias_reduced(0, 0).rate, 0.0));
        assert!(most_likely(3, 3).rate.is_infinite());
        assert!(bias_reduced(3, 3).rate.is_finite());
        assert!(bias_reduced(3, 3).ci95[1].is_infinite());
    }

    proptest! {
        #[test]
        fn more_changes_mean_a_higher_rate(n in 1u32..200, x in 0u32..200) {
            let x = x % n;
            prop_assert!(bias_reduced(x + 1, n).rate > bias_reduced(x, n).rate);
            prop_assert!(naive(x, n).rate <= bias_reduced(x, n).rate + 1e-12 || x == 0);
            let [low, high] = bias_reduced(x, n).ci95;
            prop_assert!(low <= high);
        }
    }
}
