//! The exact likelihood of an autoregression: the first steps tell something too.
//!
//! ```text
//! first k steps     Normal(μ, σ²Γ), Γ the stationary covariance of k steps
//! the others        Normal(μ + Σβ(d(t−i) − μ), σ²)
//! μ, σ²             in closed form given β (weighted mean, mean square); β by climbing
//! ```
//!
//! Paper: SA-11 (`docs/papers/repository-quality.md`).

use nalgebra::{DMatrix, DVector};

use super::Unfit;
use super::ar::{Ar, burg, is_stationary};
use crate::climb::climb;

/// An autoregression at the peak of the exact likelihood, and ln L there.
pub fn fit(series: &[f64], lags: &[usize]) -> Result<(Ar, f64), Unfit> {
    let start = Ar::fit(series, lags)?;
    let full = lags.iter().enumerate().all(|(at, &lag)| lag == at + 1);
    let from = if start.is_stationary() {
        start.weights.clone()
    } else if full {
        burg(series, lags.len())
    } else {
        vec![0.0; lags.len()]
    };
    let at = |weights: &[f64]| {
        let model = Ar { weights: weights.to_vec(), ..start.clone() };
        concentrated(series, &model.dense())
    };
    let (weights, _) = climb(&from, 0.05, |weights| {
        at(weights).map_or(f64::NEG_INFINITY, |peak| peak.log_likelihood)
    });
    let peak = at(&weights).ok_or(Unfit::Constant)?;
    let intercept = peak.mean * (1.0 - weights.iter().sum::<f64>());
    let model = Ar { intercept, weights, variance: peak.variance, covariance: Vec::new(), ..start };
    Ok((model, peak.log_likelihood))
}

struct Concentrated {
    mean: f64,
    variance: f64,
    log_likelihood: f64,
}

/// ln L with the best μ and σ² for these dense weights; `None` where shocks do not die out.
fn concentrated(series: &[f64], weights: &[f64]) -> Option<Concentrated> {
    if !is_stationary(weights) {
        return None;
    }
    let (k, n) = (weights.len(), series.len() as f64);
    // both the series and a series of ones, whitened: their regression is the mean
    let root = stationary(weights)?;
    let head = DVector::from_column_slice(&series[..k]);
    let (x, ones) = (
        root.solve_lower_triangular(&head)?,
        root.solve_lower_triangular(&DVector::repeat(k, 1.0))?,
    );
    let one = 1.0 - weights.iter().sum::<f64>();
    let step = |at: usize| {
        series[at] - weights.iter().enumerate().map(|(i, b)| b * series[at - 1 - i]).sum::<f64>()
    };
    let tail: Vec<f64> = (k..series.len()).map(step).collect();
    let weight = ones.norm_squared() + one * one * tail.len() as f64;
    let mean = (ones.dot(&x) + one * tail.iter().sum::<f64>()) / weight;
    let squares = (&x - &ones * mean).norm_squared()
        + tail.iter().map(|d| (d - one * mean).powi(2)).sum::<f64>();
    let variance = squares / n;
    if variance <= 0.0 {
        return None;
    }
    let volume: f64 = (0..k).map(|at| root[(at, at)].ln()).sum();
    let log_likelihood = -0.5 * n * ((2.0 * std::f64::consts::PI * variance).ln() + 1.0) - volume;
    Some(Concentrated { mean, variance, log_likelihood })
}

/// The lower root of the covariance of k steps in units of σ².
///
/// ```text
/// γ(i) = Σ βⱼ γ(|i − j|) + 1{i = 0}
/// ```
pub(super) fn stationary(weights: &[f64]) -> Option<DMatrix<f64>> {
    let covariance = covariance(weights)?;
    Some(covariance.cholesky()?.l())
}

/// The stationary covariance of k steps in units of σ².
pub(super) fn covariance(weights: &[f64]) -> Option<DMatrix<f64>> {
    let k = weights.len();
    if k == 0 {
        return Some(DMatrix::zeros(0, 0));
    }
    let mut equations = DMatrix::<f64>::identity(k + 1, k + 1);
    for i in 0..=k {
        for (j, b) in weights.iter().enumerate() {
            equations[(i, i.abs_diff(j + 1))] -= b;
        }
    }
    let mut shock = DVector::zeros(k + 1);
    shock[0] = 1.0;
    let gamma = equations.lu().solve(&shock)?;
    Some(DMatrix::from_fn(k, k, |i, j| gamma[i.abs_diff(j)]))
}

#[cfg(test)]
mod laws_of_it {
    use super::*;

    /// AR(1): Γ = 1/(1 − β²).
    #[test]
    fn one_lag_by_hand() {
        assert!((covariance(&[0.5]).unwrap()[(0, 0)] - 1.0 / 0.75).abs() < 1e-12);
    }

    #[test]
    fn it_is_a_peak() {
        let series: Vec<f64> = (0..80u32)
            .map(|t| (f64::from(t) * 0.7).sin() * 0.1 + f64::from((t * 7919) % 17) * 0.01)
            .collect();
        let (model, top) = fit(&series, &[1, 2, 7]).unwrap();
        for at in 0..3 {
            for by in [-1e-3, 1e-3] {
                let mut other = model.clone();
                other.weights[at] += by;
                let there = concentrated(&series, &other.dense()).map(|peak| peak.log_likelihood);
                assert!(there.is_none_or(|there| there <= top), "{at} {by}");
            }
        }
    }
}
