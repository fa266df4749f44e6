//! The week: arrivals that differ by weekday, where the data shows it.
//!
//! ```text
//! F = (Σ_w n_w (x̄_w − x̄)²/6) / (Σ (x − x̄_w)²/(n − 7))        Fisher's F with 6 and n − 7 degrees
//! factor_w = x̄_w / x̄                                          taken if the chance of so large an F is below 1 %
//! ```
//!
//! The test is on square roots of the counts, whose spread does not grow with the mean. No pattern is claimed from less
//! than four weeks. Paper: SA-11's weekly term, here for arrivals (`docs/papers/repository-quality.md`).

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Arrivals of each weekday as a multiple of the mean day; the first is the weekday of day 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Week {
    /// Multiples of the mean; all 1 if no pattern was seen.
    pub factors: [f64; 7],
    /// The chance of so much difference without a pattern; `None` if too few days were seen.
    pub chance: Option<f64>,
}

/// Below this the pattern is believed.
const LEVEL: f64 = 0.01;
/// Four weeks.
const LEAST: usize = 28;

impl Week {
    /// No pattern.
    pub const FLAT: Self = Self { factors: [1.0; 7], chance: None };

    /// The pattern of daily counts, the first day's weekday being 0.
    pub fn of(counts: &[f64]) -> Self {
        if counts.len() < LEAST {
            return Self::FLAT;
        }
        let roots: Vec<f64> = counts.iter().map(|x| x.max(0.0).sqrt()).collect();
        let (means, all) = by_day(&roots);
        let n = counts.len();
        let between: f64 =
            roots.iter().enumerate().map(|(at, _)| (means[at % 7] - all).powi(2)).sum::<f64>()
                / 6.0;
        let within: f64 =
            roots.iter().enumerate().map(|(at, x)| (x - means[at % 7]).powi(2)).sum::<f64>()
                / (n - 7) as f64;
        if between <= 0.0 {
            return Self { factors: [1.0; 7], chance: Some(1.0) };
        }
        let f = between / within.max(1e-300);
        let chance =
            FisherSnedecor::new(6.0, (n - 7) as f64).map_or(1.0, |law| 1.0 - law.cdf(f.min(1e12)));
        let factors = if chance < LEVEL {
            let (means, all) = by_day(counts);
            means.map(|mean| mean / all)
        } else {
            [1.0; 7]
        };
        Self { factors, chance: Some(chance) }
    }

    /// Was a pattern seen?
    pub fn is_seen(&self) -> bool {
        self.chance.is_some_and(|chance| chance < LEVEL)
    }

    /// Mean days' worth of arrivals from `from` to `to`, both in days since day 0 began.
    pub fn days(&self, from: f64, to: f64) -> f64 {
        if !self.is_seen() {
            return to - from;
        }
        // ∫ factor over a piecewise constant week
        let until = |t: f64| {
            let weeks = (t / 7.0).floor();
            let rest = t - 7.0 * weeks;
            let part = |(day, factor): (usize, &f64)| factor * (rest - day as f64).clamp(0.0, 1.0);
            weeks * self.factors.iter().sum::<f64>()
                + self.factors.iter().enumerate().map(part).sum::<f64>()
        };
        until(to) - until(from)
    }
}

/// Mean of each weekday, and of all.
fn by_day(values: &[f64]) -> ([f64; 7], f64) {
    let (mut sums, mut days) = ([0.0; 7], [0.0; 7]);
    for (at, x) in values.iter().enumerate() {
        sums[at % 7] += x;
        days[at % 7] += 1.0;
    }
    let mut means = [0.0; 7];
    (0..7).for_each(|day| means[day] = sums[day] / f64::max(days[day], 1.0));
    (means, values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quiet_weekend_is_seen_and_noise_is_not() {
        let week = |day: usize| if day % 7 >= 5 { 2.0 } else { 20.0 + (day % 3) as f64 };
        let counts: Vec<f64> = (0..84).map(week).collect();
        let pattern = Week::of(&counts);
        assert!(pattern.is_seen() && pattern.factors[5] < 0.2 && pattern.factors[0] > 1.2);
        assert_eq!(Week::of(&counts[..20]), Week::FLAT);
        let noise: Vec<f64> = (0..84u32).map(|day| f64::from((day * 7919) % 13)).collect();
        assert!(!Week::of(&noise).is_seen());
        assert!(!Week::of(&[0.0; 60]).is_seen());
    }

    proptest! {
        #[test]
        fn days_add_up(a in 0.0..60.0f64, b in 0.0..60.0f64, c in 0.0..60.0f64) {
            let counts: Vec<f64> = (0..70).map(|day| if day % 7 == 2 { 30.0 } else { 3.0 }).collect();
            let week = Week::of(&counts);
            prop_assert!((week.days(a, b) + week.days(b, c) - week.days(a, c)).abs() < 1e-9);
            prop_assert!((week.days(a, a + 7.0) - 7.0).abs() < 1e-9);
        }
    }
}
