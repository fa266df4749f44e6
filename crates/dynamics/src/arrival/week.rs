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

    /// The pattern of daily counts, the first day's weekday being 0; `None` is a day that nobody knows.
    pub fn of(days: &[Option<f64>]) -> Self {
        let known = |(at, count): (usize, &Option<f64>)| Some((at % 7, (*count)?));
        let counts: Vec<(usize, f64)> = days.iter().enumerate().filter_map(known).collect();
        let n = counts.len();
        if n < LEAST || (0..7).any(|day| counts.iter().all(|&(of, _)| of != day)) {
            return Self::FLAT;
        }
        let roots: Vec<(usize, f64)> =
            counts.iter().map(|&(day, x)| (day, x.max(0.0).sqrt())).collect();
        let (means, all) = by_day(&roots);
        let between = roots.iter().map(|&(day, _)| (means[day] - all).powi(2)).sum::<f64>() / 6.0;
        let within = roots.iter().map(|&(day, x)| (x - means[day]).powi(2)).sum::<f64>();
        if between <= 0.0 {
            return Self { factors: [1.0; 7], chance: Some(1.0) };
        }
        let freedom = (n - 7) as f64;
        let f = between / (within / freedom).max(1e-300);
        let chance =
            FisherSnedecor::new(6.0, freedom).map_or(1.0, |law| 1.0 - law.cdf(f.min(1e12)));
        let factors = if chance < LEVEL {
            let (means, all) = by_day(&counts);
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
}

/// Mean of each weekday, and of all.
fn by_day(values: &[(usize, f64)]) -> ([f64; 7], f64) {
    let (mut sums, mut days) = ([0.0; 7], [0.0; 7]);
    for &(day, x) in values {
        sums[day] += x;
        days[day] += 1.0;
    }
    let mut means = [0.0; 7];
    (0..7).for_each(|day| means[day] = sums[day] / f64::max(days[day], 1.0));
    (means, sums.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod laws_of_it {
    use super::*;

    #[test]
    fn a_quiet_weekend_is_seen_and_noise_is_not() {
        let week = |day: usize| Some(if day % 7 >= 5 { 2.0 } else { 20.0 + (day % 3) as f64 });
        let counts: Vec<Option<f64>> = (0..84).map(week).collect();
        let pattern = Week::of(&counts);
        assert!(pattern.is_seen() && pattern.factors[5] < 0.2 && pattern.factors[0] > 1.2);
        assert_eq!(Week::of(&counts[..20]), Week::FLAT);
        let noise: Vec<Option<f64>> =
            (0..84u32).map(|day| Some(f64::from((day * 7919) % 13))).collect();
        assert!(!Week::of(&noise).is_seen());
        assert!(!Week::of(&[Some(0.0); 60]).is_seen());
    }

    /// Days that nobody knows shift no weekday; a weekday that nobody knows leaves no pattern to tell.
    #[test]
    fn unknown_days_are_left_out() {
        let day = |day: usize| (day % 10 != 3).then_some(if day % 7 == 2 { 30.0 } else { 3.0 });
        let pattern = Week::of(&(0..90).map(day).collect::<Vec<_>>());
        assert!(pattern.is_seen() && pattern.factors[2] > 2.0, "{pattern:?}");
        let mondays: Vec<Option<f64>> =
            (0..400).map(|day| (day % 7 == 0).then_some(70.0)).collect();
        assert_eq!(Week::of(&mondays), Week::FLAT);
    }
}
