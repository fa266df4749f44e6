//! Confidence intervals for a chance p after x of n trials succeeded.
//!
//! ```text
//! p̂ = x/n, z the two-sided normal point
//! Wald       p̂ ± z √(p̂(1−p̂)/n)                                     degenerate at x = 0 and x = n
//! Wilson     (p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n)
//! Clopper    Beta quantiles: (x, n−x+1) and (x+1, n−x)                never too narrow
//! Jeffreys   Beta(x+½, n−x+½) quantiles, with 0 at x = 0 and 1 at x = n
//! ```
//!
//! All are cut to [0, 1], at x = n to exactly 1: rounding must not leave 1 − 10⁻¹⁶ there, or a wholly changed
//! site would seem to be below a threshold of 1 (CN-30). Without trials the interval is [0, 1].
//!
//! Paper: CN-30 (`docs/papers/cho-ntoulas-2002.md`).

use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF, Normal};

/// Which interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// The textbook one.
    Wald,
    /// Close to its level even for few trials.
    Wilson,
    /// Exact, wide.
    Clopper,
    /// Bayesian under Jeffreys' prior.
    Jeffreys,
}

/// Lower and upper end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Not below 0.
    pub low: f64,
    /// Not above 1.
    pub high: f64,
}

impl Method {
    /// The interval at `confidence` in (0, 1) after `changed` of `trials`.
    pub fn interval(self, changed: u32, trials: u32, confidence: f64) -> Interval {
        debug_assert!(changed <= trials);
        if trials == 0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let (x, n) = (f64::from(changed), f64::from(trials));
        let tail = (1.0 - confidence) / 2.0;
        let (low, high) = match self {
            Self::Wald => wald(x / n, n, normal_point(1.0 - tail)),
            Self::Wilson => wilson(x / n, n, normal_point(1.0 - tail)),
            Self::Clopper => {
                (beta_point(x, n - x + 1.0, tail), beta_point(x + 1.0, n - x, 1.0 - tail))
            }
            Self::Jeffreys => (
                beta_point(x + 0.5, n - x + 0.5, tail),
                beta_point(x + 0.5, n - x + 0.5, 1.0 - tail),
            ),
        };
        // Wald has no width at the ends; the others reach them exactly
        let degenerate = self == Self::Wald;
        Interval {
            low: if changed == 0 { 0.0 } else { low.clamp(0.0, 1.0) },
            high: if changed == trials && !degenerate { 1.0 } else { high.clamp(0.0, 1.0) },
        }
    }
}

/// Narrows an interval for sampling n of N without replacement: √((N−n)/(N−1)) about p̂.
pub fn finite(interval: Interval, changed: u32, trials: u32, size: u32) -> Interval {
    if trials == 0 || trials > size {
        return interval;
    }
    let share = f64::from(changed) / f64::from(trials);
    let factor = (f64::from(size - trials) / f64::from((size - 1).max(1))).sqrt();
    Interval {
        low: share - (share - interval.low) * factor,
        high: share + (interval.high - share) * factor,
    }
}

fn wald(share: f64, n: f64, z: f64) -> (f64, f64) {
    let half = z * (share * (1.0 - share) / n).sqrt();
    (share - half, share + half)
}

fn wilson(share: f64, n: f64, z: f64) -> (f64, f64) {
    let scale = 1.0 + z * z / n;
    let center = (share + z * z / (2.0 * n)) / scale;
    let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    (center - half, center + half)
}

/// The normal law's quantile; 1.6449 at 0.95.
pub fn normal_point(q: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |law| law.inverse_cdf(q))
}

fn beta_point(a: f64, b: f64, q: f64) -> f64 {
    if a <= 0.0 {
        return 0.0;
    }
    if b <= 0.0 {
        return 1.0;
    }
    Beta::new(a, b).map_or(f64::NAN, |law| law.inverse_cdf(q))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(method: Method, x: u32, n: u32, low: f64, high: f64) {
        let got = method.interval(x, n, 0.9);
        assert!(
            (got.low - low).abs() < 1e-6 && (got.high - high).abs() < 1e-6,
            "{method:?} {x}/{n}: {got:?}"
        );
    }

    #[test]
    fn cn_30_intervals_at_ninety_per_cent() {
        check(Method::Wald, 7, 10, 0.461_638, 0.938_362);
        check(Method::Wilson, 7, 10, 0.441_700, 0.873_123);
        check(Method::Clopper, 7, 10, 0.393_376, 0.912_736);
        check(Method::Jeffreys, 7, 10, 0.441_873, 0.882_671);
        check(Method::Wald, 0, 10, 0.0, 0.0);
        check(Method::Wilson, 0, 10, 0.0, 0.212_942);
        check(Method::Clopper, 0, 10, 0.0, 0.258_866);
        check(Method::Jeffreys, 0, 10, 0.0, 0.170_773);
        check(Method::Wilson, 1, 1, 0.269_866, 1.0);
        assert!(Method::Wilson.interval(25, 25, 0.9).high >= 1.0);
    }

    #[test]
    fn cn_30_finite_population() {
        let narrow = finite(Method::Wald.interval(7, 10, 0.9), 7, 10, 100);
        assert!((narrow.low - 0.472_731).abs() < 1e-6 && (narrow.high - 0.927_269).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn cn_30_who_has_been_sampled_whole_is_known(x in 0u32..60, more in 1u32..60) {
            let share = f64::from(x) / f64::from(x + more);
            let known = finite(Method::Wilson.interval(x, x + more, 0.9), x, x + more, x + more);
            prop_assert!((known.low - share).abs() < 1e-12 && (known.high - share).abs() < 1e-12);
        }

        #[test]
        fn intervals_hold_the_share_and_mirror(x in 0u32..60, more in 0u32..60, confidence in 0.5..0.99f64) {
            let n = x + more;
            for method in [Method::Wald, Method::Wilson, Method::Clopper, Method::Jeffreys] {
                let Interval { low, high } = method.interval(x, n, confidence);
                prop_assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0);
                if n > 0 {
                    let share = f64::from(x) / f64::from(n);
                    prop_assert!(low <= share + 1e-12 && share <= high + 1e-12);
                    let other = method.interval(n - x, n, confidence);
                    prop_assert!((low - (1.0 - other.high)).abs() < 1e-7);
                }
            }
        }
    }
}
