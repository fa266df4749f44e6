//! Intervals that learn how wide they must be: how past forecasts turned out decides.
//!
//! ```text
//! z = (loss seen − loss foretold)/deviation      of the last W forecasts
//! quantile q   loss + deviation·z_(q)            from MIN forecasts on; before, the outlook's own Gamma law
//! tail         α ← α + γ(α₀ − missed)            each side: α₀ is what was wanted, α what is asked of z
//! ```
//!
//! The quantile of past z needs no law; the second line keeps the long-run share of misses at α₀ whatever the source
//! does, even where forecasts go wrong in spells (Gibbs and Candès 2021). Only what was known when a forecast was made
//! is used. Paper: B16 (`docs/papers/repository-quality.md`).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Outlook;
use crate::binomial::Interval;

/// Forecasts remembered.
const WINDOW: usize = 100;
/// Forecasts before their own spread is believed: below, a tail of 5 % cannot be told from them.
const MIN: usize = 20;
/// γ: how fast the tails are corrected.
const PACE: f64 = 0.02;
/// α₀: the tails that are corrected, 5 % each side.
const TAIL: f64 = 0.05;

/// How past forecasts turned out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    seen: VecDeque<f64>,
    /// α of the side where more was lost than foretold, and of the other.
    tails: [f64; 2],
    forecasts: u32,
    covered: u32,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { seen: VecDeque::new(), tails: [TAIL; 2], forecasts: 0, covered: 0 }
    }
}

impl Calibration {
    /// A forecast's time has come: this quality was seen. Was it inside the 90 % interval?
    pub fn learn(&mut self, outlook: &Outlook, quality: f64) -> bool {
        let Interval { low, high } = self.interval(outlook, 1.0 - 2.0 * TAIL);
        let misses = [quality < low - 1e-12, quality > high + 1e-12];
        for (tail, missed) in self.tails.iter_mut().zip(misses) {
            let wanted = if missed { TAIL - 1.0 } else { TAIL };
            *tail = (*tail + PACE * wanted).clamp(0.0, 0.5);
        }
        let loss = -quality.max(1e-9).ln();
        self.seen.push_back((loss - outlook.loss) / deviation(outlook));
        if self.seen.len() > WINDOW {
            self.seen.pop_front();
        }
        let inside = misses == [false; 2];
        self.forecasts += 1;
        self.covered += u32::from(inside);
        inside
    }

    /// Enough forecasts have turned out for their own spread to be believed.
    pub fn is_learned(&self) -> bool {
        self.seen.len() >= MIN
    }

    /// Forecasts that have turned out, and how many of them were inside their 90 % interval.
    pub fn record(&self) -> (u32, u32) {
        (self.forecasts, self.covered)
    }

    /// The loss not exceeded with chance `q`, by what past forecasts teach.
    pub fn loss_quantile(&self, outlook: &Outlook, q: f64) -> f64 {
        // the tail asked for, stretched as the 5 % tail had to be, but not beyond the middle
        let stretched = |tail: f64, alpha: f64| (tail * alpha / TAIL).min(0.5);
        let q = if q >= 0.5 {
            1.0 - stretched(1.0 - q, self.tails[0])
        } else {
            stretched(q, self.tails[1])
        };
        if !self.is_learned() {
            return outlook.loss_quantile(q.clamp(1e-4, 1.0 - 1e-4));
        }
        let mut sorted: Vec<f64> = self.seen.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        // the conformal rank: of n past and one to come, a share q lies below
        let rank = q * (n + 1.0);
        let z = if rank >= n {
            let most = sorted[sorted.len() - 1];
            most + (most.abs() + 0.5) * (rank - n)
        } else if rank <= 1.0 {
            sorted[0] - 0.5 * (1.0 - rank)
        } else {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rank in 1..n"
            )]
            let at = rank.floor() as usize;
            let part = rank - rank.floor();
            sorted[at - 1] + part * (sorted[at] - sorted[at - 1])
        };
        (outlook.loss + z * deviation(outlook)).max(0.0)
    }

    /// The middle share `confidence` of what may be.
    pub fn interval(&self, outlook: &Outlook, confidence: f64) -> Interval {
        let tail = (1.0 - confidence) / 2.0;
        Interval {
            low: (-self.loss_quantile(outlook, 1.0 - tail)).exp(),
            high: (-self.loss_quantile(outlook, tail)).exp(),
        }
    }
}

fn deviation(outlook: &Outlook) -> f64 {
    outlook.variance.sqrt().max(1e-6)
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// A forecaster that believes itself five times as exact as it is, and wrong in the mean: 1,000 forecasts, after a
    /// hundred to learn from, are covered to 90 % within four deviations of chance.
    #[test]
    fn b16_overconfident_forecasts_are_put_right() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut calibration = Calibration::default();
        let outlook = Outlook { loss: 0.5, variance: 0.0004 };
        let mut covered = 0u32;
        for at in 0..1_100 {
            let z: f64 = StandardNormal.sample(&mut rng);
            let loss: f64 = 0.6 + 0.1 * z;
            let inside = calibration.learn(&outlook, (-loss.max(0.0)).exp());
            covered += u32::from(inside && at >= 100);
        }
        assert!((862..=938).contains(&covered), "{covered}");
    }

    #[test]
    fn without_a_past_it_is_the_outlook_itself() {
        let outlook = Outlook { loss: 0.3, variance: 0.01 };
        let fresh = Calibration::default();
        for q in [0.05, 0.5, 0.9] {
            assert!((fresh.loss_quantile(&outlook, q) - outlook.loss_quantile(q)).abs() < 1e-9);
        }
    }

    proptest! {
        /// Whatever was seen, more confidence is a wider interval, and its ends never cross.
        #[test]
        fn intervals_nest(seen in prop::collection::vec(0.01..1.0f64, 0..150), loss in 0.01..1.0f64) {
            let (mut calibration, outlook) = (Calibration::default(), Outlook { loss, variance: 0.01 });
            seen.iter().for_each(|&quality| { calibration.learn(&outlook, quality); });
            let mut outer = Interval { low: 1.0, high: 0.0 };
            for confidence in [0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99] {
                let Interval { low, high } = calibration.interval(&outlook, confidence);
                prop_assert!(low <= high + 1e-9, "{confidence}: {low} {high}");
                prop_assert!(low <= outer.low + 1e-9 && high >= outer.high - 1e-9, "{confidence}");
                outer = Interval { low, high };
            }
        }
    }
}
