//! The decay as a hidden level with an autoregression about it, seen only in sums over unequal gaps.
//!
//! ```text
//! level     μ(t) = μ(t−1) + η,   Var η = s²·σ²            s² = 0: a fixed mean, the static model
//! about it  x(t) = Σ βᵢ x(t−i) + ε,   Var ε = σ²
//! step      d(t) = μ(t) + x(t);  a sync after h steps sees D = d(t+1) + … + d(t+h) + noise
//! state     (Σd since the sync, μ, x(t), …, x(t−k+1)): the sum is in the state, so a gap of any length is one row
//! ```
//!
//! The Kalman filter is exact for it, at k² per step; intervals come with it. s is the only new unknown and is found by
//! likelihood on the training series, so "how fast may this source change its ways" is learned instead of a τ set by
//! hand. Paper: B16, SA-19 (`docs/papers/repository-quality.md`).

use nalgebra::{DMatrix, DVector};

use super::ar::{Ar, Criterion};
use super::{Unfit, exact};
use crate::solve::falling;

/// Follows the decay of a source from sync to sync.
#[derive(Clone, Debug)]
pub struct Tracker {
    step: DMatrix<f64>,
    shock: DMatrix<f64>,
    mean: DVector<f64>,
    spread: DMatrix<f64>,
    log_likelihood: f64,
}

/// What the tracker says of the decay over the next steps: mean and variance of Σd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ahead {
    /// E Σd
    pub mean: f64,
    /// Var Σd
    pub variance: f64,
}

impl Tracker {
    /// With weights β and σ² about a level that starts at `level` and drifts by s²σ² a step.
    pub fn new(weights: &[f64], variance: f64, level: f64, drift: f64) -> Self {
        let k = weights.len().max(1);
        let n = k + 2;
        let mut step = DMatrix::zeros(n, n);
        (step[(0, 0)], step[(0, 1)], step[(1, 1)]) = (1.0, 1.0, 1.0);
        for (at, b) in weights.iter().enumerate() {
            (step[(0, 2 + at)], step[(2, 2 + at)]) = (*b, *b);
        }
        (1..k).for_each(|at| step[(2 + at, 1 + at)] = 1.0);
        let mut shock = DMatrix::zeros(n, n);
        let wander = drift * variance;
        (shock[(0, 0)], shock[(1, 1)], shock[(2, 2)]) = (variance + wander, wander, variance);
        (shock[(0, 1)], shock[(1, 0)]) = (wander, wander);
        (shock[(0, 2)], shock[(2, 0)]) = (variance, variance);
        let mut mean = DVector::zeros(n);
        mean[1] = level;
        let mut spread = DMatrix::zeros(n, n);
        spread[(1, 1)] = 100.0 * variance;
        let about = exact::covariance(weights).unwrap_or_else(|| DMatrix::identity(k, k));
        if weights.is_empty() {
            spread[(2, 2)] = variance;
        } else {
            spread.view_mut((2, 2), (k, k)).copy_from(&(about * variance));
        }
        Self { step, shock, mean, spread, log_likelihood: 0.0 }
    }

    /// Learned from a series of single steps: orders by BIC, then the drift of the level by likelihood.
    pub fn learn(series: &[f64], most: usize) -> Result<Self, Unfit> {
        Self::learn_syncs(&series.iter().map(|&d| (1, d)).collect::<Vec<_>>(), most)
    }

    /// Learned from syncs, each after so many steps with its Σd; the orders from the mean step of each.
    pub fn learn_syncs(syncs: &[(usize, f64)], most: usize) -> Result<Self, Unfit> {
        let series: Vec<f64> = syncs.iter().map(|&(gap, seen)| seen / gap.max(1) as f64).collect();
        let model = Ar::select(&series, most, None, Criterion::Bic)?;
        let (weights, variance) = if model.is_stationary() {
            (model.dense(), model.variance)
        } else {
            (Vec::new(), Ar::constant(&series)?.variance)
        };
        let variance = variance.max(1e-12);
        let level = series.iter().sum::<f64>() / series.len() as f64;
        let run = |drift: f64| {
            let mut tracker = Self::new(&weights, variance, level, drift);
            syncs.iter().for_each(|&(gap, seen)| tracker.synced(gap, seen, 0.0));
            tracker
        };
        // the likelihood has one peak in ln s²: where its slope falls through zero
        let slope =
            |drift: f64| run(drift * 1.05).log_likelihood - run(drift / 1.05).log_likelihood;
        let drift = falling(1e-8, 1.0, slope);
        Ok(run(if run(drift).log_likelihood > run(0.0).log_likelihood + 1.0 { drift } else { 0.0 }))
    }

    /// One step without a look.
    fn advance(&mut self) {
        self.mean = &self.step * &self.mean;
        self.spread = &self.step * &self.spread * self.step.transpose() + &self.shock;
    }

    /// Σd over the next `steps`, without noise of the look.
    pub fn ahead(&self, steps: usize) -> Ahead {
        let mut later = self.clone();
        (0..steps).for_each(|_| later.advance());
        Ahead { mean: later.mean[0], variance: later.spread[(0, 0)] }
    }

    /// A sync after `gap` steps saw Σd = `seen`, with noise of this variance (few objects make it large).
    pub fn synced(&mut self, gap: usize, seen: f64, noise: f64) {
        (0..gap).for_each(|_| self.advance());
        let (miss, width) = (seen - self.mean[0], self.spread[(0, 0)] + noise);
        if width > 0.0 {
            let gain = self.spread.column(0) / width;
            self.mean += &gain * miss;
            self.spread -= &gain * gain.transpose() * width;
            self.log_likelihood -=
                0.5 * ((2.0 * std::f64::consts::PI * width).ln() + miss * miss / width);
        }
        // the sum starts anew
        self.mean[0] = 0.0;
        self.spread.row_mut(0).fill(0.0);
        self.spread.column_mut(0).fill(0.0);
    }

    /// The level as it is believed now.
    pub fn level(&self) -> f64 {
        self.mean[1]
    }

    /// ln L of everything seen so far.
    pub fn log_likelihood(&self) -> f64 {
        self.log_likelihood
    }
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    /// Without drift and with the level known it is the autoregression's own forecast.
    #[test]
    fn without_drift_it_forecasts_as_the_autoregression() {
        let model = Ar {
            intercept: -0.05,
            lags: vec![1, 2],
            weights: vec![0.4, 0.2],
            variance: 1e-4,
            steps: 0,
            covariance: Vec::new(),
        };
        let mut tracker = Tracker::new(&model.dense(), 1e-4, model.level(), 0.0);
        tracker.spread[(1, 1)] = 0.0;
        let seen: Vec<f64> = noise(50, 3).iter().map(|z| -0.1 + 0.01 * z).collect();
        seen.iter().for_each(|&d| tracker.synced(1, d, 0.0));
        let theirs = model.forecast(&seen, 12);
        let ours = tracker.ahead(12);
        assert!((ours.mean - theirs.sums[11]).abs() < 1e-9);
        assert!((ours.variance.sqrt() - theirs.sum_errors[11]).abs() < 1e-9);
    }

    /// A level that jumps is found again by the tracker that learned drift, in the mean over sources.
    #[test]
    fn b16_a_drifting_level_is_followed() {
        let (mut follows, mut stands) = (0.0, 0.0);
        for seed in 0..20 {
            let mut level = -0.05;
            let walk = noise(300, seed);
            let series: Vec<f64> = walk
                .iter()
                .zip(noise(300, 1_000 + seed))
                .map(|(step, z)| {
                    level += 0.004 * step;
                    level + 0.01 * z
                })
                .collect();
            let mut tracker = Tracker::learn(&series[..150], 2).unwrap();
            let fixed = Ar::constant(&series[..150]).unwrap();
            for cycle in series[150..].chunks(10) {
                let truth: f64 = cycle.iter().sum();
                follows += (tracker.ahead(10).mean - truth).powi(2);
                stands += (fixed.intercept * 10.0 - truth).powi(2);
                tracker.synced(10, truth, 0.0);
            }
        }
        assert!(follows < 0.5 * stands, "{follows} {stands}");
    }

    proptest! {
        #[test]
        fn a_gap_is_its_steps_unseen(gap in 1usize..15, b in -0.7..0.7f64, seen in -1.0..0.0f64) {
            let mut tracker = Tracker::new(&[b], 1e-3, -0.05, 0.1);
            tracker.synced(3, -0.2, 1e-4);
            let (before, level) = (tracker.ahead(gap), tracker.level());
            tracker.synced(gap, seen, 1e-4);
            prop_assert!(before.variance > 0.0);
            // variance grows with the horizon, and what was seen pulls the level its way
            prop_assert!(tracker.ahead(2).variance < tracker.ahead(9).variance);
            prop_assert!((tracker.level() - level) * (seen - before.mean) >= -1e-12);
        }
    }
}
