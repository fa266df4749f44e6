//! Change rate when a source tells how long ago it changed.
//!
//! Time known to have been quiet: the whole gap where nothing changed, and the time since the last change where
//! something did.
//!
//! ```text
//! changed:  X += 1,  T += time since the last modification
//! same:     T += gap
//! MLE            λ̂ = X / T
//! bias-reduced   λ̂ = X′ / T,   X′ = (X − 1) − X / (N ln(1 − X/N))      N polls; X = N drops the log term
//! ```
//!
//! The interval is that of a Poisson count X over a time T (Garwood). Paper: CN-X5
//! (`docs/papers/cho-ntoulas-2002.md`).

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Gamma};

use super::Estimate;

/// What the polls told so far: three numbers, whatever their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    polls: u32,
    changed: u32,
    quiet: f64,
}

impl Tally {
    /// A poll `gap` after the last; `age` since the last modification if that lies in between.
    pub fn add(&mut self, gap: f64, age: Option<f64>) {
        self.polls += 1;
        match age {
            Some(age) => {
                self.changed += 1;
                self.quiet += age.clamp(0.0, gap);
            }
            None => self.quiet += gap,
        }
    }

    /// X/T; `None` before any time has passed.
    pub fn most_likely(&self) -> Option<Estimate> {
        self.with_rate(f64::from(self.changed) / self.quiet)
    }

    /// X′/T; 0 when nothing changed.
    pub fn bias_reduced(&self) -> Option<Estimate> {
        let (x, n) = (f64::from(self.changed), f64::from(self.polls));
        let corrected = match self.changed {
            0 => 0.0,
            all if all == self.polls => x - 1.0,
            _ => (x - 1.0) - x / (n * (1.0 - x / n).ln()),
        };
        self.with_rate(corrected / self.quiet)
    }

    fn with_rate(&self, rate: f64) -> Option<Estimate> {
        (self.quiet > 0.0).then(|| Estimate { rate, ci95: self.interval() })
    }

    /// Gamma quantiles with shapes X and X + 1.
    fn interval(&self) -> [f64; 2] {
        let x = f64::from(self.changed);
        let quantile = |shape: f64, q: f64| {
            Gamma::new(shape, self.quiet).map_or(0.0, |law| law.inverse_cdf(q))
        };
        [if self.changed == 0 { 0.0 } else { quantile(x, 0.025) }, quantile(x + 1.0, 0.975)]
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Mean of an estimator over paths of N regular polls at r changes per interval, relative to r.
    fn bias(n: u32, r: f64, estimate: impl Fn(&Tally) -> f64) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let runs = 40_000;
        let mut sum = 0.0;
        for _ in 0..runs {
            let mut tally = Tally::default();
            for _ in 0..n {
                // the last change within the interval lies an exponential time back
                let age = -(1.0 - rng.random::<f64>()).ln() / r;
                tally.add(1.0, (age < 1.0).then_some(age));
            }
            sum += estimate(&tally);
        }
        sum / f64::from(runs) / r
    }

    /// CN-X5 at N = 10: bias-reduced 1.006, 1.007, 1.011; likelihood 1.063, 1.072, 1.095 (tolerance .02).
    #[test]
    fn cn_x5_bias_at_ten_polls() {
        for (r, reduced, likely) in [(0.3, 1.006, 1.063), (1.0, 1.007, 1.072), (2.0, 1.011, 1.095)]
        {
            let got = bias(10, r, |tally| tally.bias_reduced().map_or(0.0, |e| e.rate));
            assert!((got - reduced).abs() < 0.02, "bias-reduced at {r}: {got}");
            let got = bias(10, r, |tally| tally.most_likely().map_or(0.0, |e| e.rate));
            assert!((got - likely).abs() < 0.02, "likelihood at {r}: {got}");
        }
    }

    #[test]
    fn corners_are_defined() {
        let mut tally = Tally::default();
        assert_eq!(tally.most_likely(), None);
        tally.add(2.0, None);
        assert!(tally.bias_reduced().unwrap().rate.abs() < 1e-12);
        let mut all = Tally::default();
        all.add(1.0, Some(0.5));
        all.add(1.0, Some(0.25));
        assert!((all.bias_reduced().unwrap().rate - 1.0 / 0.75).abs() < 1e-12);
    }
}
