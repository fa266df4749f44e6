//! Autoregression: the next step as a mixture of the last few.
//!
//! ```text
//! d(t) = α + Σ βᵢ d(t − lagᵢ) + ε,  Var ε = σ²                 lags may be sparse: {1, 2, 7} has a weekly term
//! conditional likelihood   = least squares; σ² = RSS/n;  −2 ln L = n(ln 2πσ² + 1)
//! AIC, BIC                 2(k + 2), ln n·(k + 2) added;  orders are compared on the same n
//! forecast                 d̂ by running the equation on; ψⱼ its response to a unit shock j steps ago
//! Var Σ d̂ over h           σ² Σ_{i<h} (Σ_{j≤i} ψⱼ)²   (+ g'Cg: what is not known of α, β)
//! q̂ = e^(Σ d̂), se(q̂) = q̂·se(Σ d̂)                                   delta method
//! ```
//!
//! Paper: SA-11, SA-12, SA-21 (`docs/papers/repository-quality.md`).

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::Unfit;

/// A fitted autoregression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ar {
    /// α
    pub intercept: f64,
    /// Which steps back, rising.
    pub lags: Vec<usize>,
    /// β, one for each lag.
    pub weights: Vec<f64>,
    /// σ²
    pub variance: f64,
    /// Steps the fit explains; 0 if it was not fitted by least squares.
    pub steps: usize,
    /// Covariance of (α, β…), row by row; empty if not known.
    pub covariance: Vec<f64>,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// d̂ of each step.
    pub steps: Vec<f64>,
    /// Standard error of each step.
    pub errors: Vec<f64>,
    /// Σ d̂ up to and with each step.
    pub sums: Vec<f64>,
    /// Standard error of each sum.
    pub sum_errors: Vec<f64>,
}

impl Forecast {
    /// q̂ after `step` steps (from 1) and its standard error by the delta method.
    pub fn quality(&self, step: usize) -> (f64, f64) {
        let q = self.sums[step - 1].exp();
        (q, q * self.sum_errors[step - 1])
    }
}

/// By what an order is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Akaike's.
    Aic,
    /// Schwarz's.
    Bic,
}

impl Ar {
    /// Every step as the mean of the series: no lags.
    pub fn constant(series: &[f64]) -> Result<Self, Unfit> {
        Self::fit(series, &[])
    }

    /// By conditional likelihood, on all steps that have their lags before them.
    pub fn fit(series: &[f64], lags: &[usize]) -> Result<Self, Unfit> {
        Self::fit_from(series, lags, lags.last().copied().unwrap_or(0))
    }

    /// The same, explaining only steps from `from` on, so that orders can be compared.
    fn fit_from(series: &[f64], lags: &[usize], from: usize) -> Result<Self, Unfit> {
        if lags.first() == Some(&0) || !lags.is_sorted_by(|a, b| a < b) {
            return Err(Unfit::Lags);
        }
        let (k, n) = (lags.len() + 1, series.len().saturating_sub(from));
        if n < k + 2 {
            let longest = lags.last().copied().unwrap_or(0);
            return Err(Unfit::Short { steps: series.len(), longest });
        }
        let flat = Self::mean_of(&series[from..]);
        if lags.is_empty() {
            return Ok(flat);
        }
        // every step alike to the last digits: lags have nothing to explain
        if flat.variance <= 1e-24 * flat.intercept * flat.intercept {
            return Err(Unfit::Constant);
        }
        let rows = DMatrix::from_fn(n, k, |row, column| match column {
            0 => 1.0,
            _ => series[from + row - lags[column - 1]],
        });
        let target = DVector::from_fn(n, |row, _| series[from + row]);
        let normal = rows.transpose() * &rows;
        let inverse = normal.cholesky().ok_or(Unfit::Constant)?.inverse();
        let found = &inverse * (rows.transpose() * &target);
        // one step of refinement: normal equations square the condition number
        let found = &found + &inverse * (rows.transpose() * (&target - &rows * &found));
        let variance = (&target - &rows * &found).norm_squared() / n as f64;
        if !found.iter().all(|x| x.is_finite()) || inverse.iter().any(|x| !x.is_finite()) {
            return Err(Unfit::Constant);
        }
        Ok(Self {
            intercept: found[0],
            lags: lags.to_vec(),
            weights: found.iter().skip(1).copied().collect(),
            variance,
            steps: n,
            covariance: (inverse * variance).iter().copied().collect(),
        })
    }

    fn mean_of(series: &[f64]) -> Self {
        let n = series.len() as f64;
        let mean = series.iter().sum::<f64>() / n;
        let variance = series.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
        Self {
            intercept: mean,
            lags: Vec::new(),
            weights: Vec::new(),
            variance,
            steps: series.len(),
            covariance: vec![variance / n],
        }
    }

    /// ln L of the conditional likelihood.
    pub fn log_likelihood(&self) -> f64 {
        -0.5 * self.steps as f64 * ((2.0 * std::f64::consts::PI * self.variance).ln() + 1.0)
    }

    /// The criterion's value: smaller is better.
    pub fn score(&self, by: Criterion) -> f64 {
        let parameters = (self.weights.len() + 2) as f64;
        let price = match by {
            Criterion::Aic => 2.0,
            Criterion::Bic => (self.steps as f64).ln(),
        };
        price * parameters - 2.0 * self.log_likelihood()
    }

    /// The best of the orders 0 to `most`, and each of them with a weekly term, compared on the same steps.
    pub fn select(
        series: &[f64],
        most: usize,
        weekly: Option<usize>,
        by: Criterion,
    ) -> Result<Self, Unfit> {
        let longest = most.max(weekly.unwrap_or(0));
        let orders = (0..=most).flat_map(|order| {
            let plain: Vec<usize> = (1..=order).collect();
            let term = weekly.filter(|&lag| lag > order);
            let with = term.map(|lag| plain.iter().copied().chain([lag]).collect());
            [Some(plain), with].into_iter().flatten()
        });
        let scored = orders.filter_map(|lags: Vec<usize>| {
            let score = Self::fit_from(series, &lags, longest).ok()?.score(by);
            Some((lags, score))
        });
        match scored.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((lags, _)) => Self::fit(series, &lags),
            None => Self::constant(series),
        }
    }

    /// The longest lag.
    pub fn memory(&self) -> usize {
        self.lags.last().copied().unwrap_or(0)
    }

    /// The weight of every lag up to the longest, 0 where there is none.
    pub fn dense(&self) -> Vec<f64> {
        let mut dense = vec![0.0; self.memory()];
        self.lags.iter().zip(&self.weights).for_each(|(&lag, &weight)| dense[lag - 1] = weight);
        dense
    }

    /// Do shocks die out?
    pub fn is_stationary(&self) -> bool {
        is_stationary(&self.dense())
    }

    /// The step everything returns to: α/(1 − Σβ).
    pub fn level(&self) -> f64 {
        self.intercept / (1.0 - self.weights.iter().sum::<f64>())
    }

    /// `ahead` steps after `past` (newest last; missing ones stand at the level). Shocks only.
    pub fn forecast(&self, past: &[f64], ahead: usize) -> Forecast {
        let steps = self.steps_ahead(past, ahead);
        let psi = self.response(ahead);
        let (mut own, mut gathered, mut total, mut sum) = (0.0, 0.0, 0.0, 0.0);
        let mut forecast = Forecast {
            steps: Vec::with_capacity(ahead),
            errors: Vec::with_capacity(ahead),
            sums: Vec::with_capacity(ahead),
            sum_errors: Vec::with_capacity(ahead),
        };
        for (d, psi) in steps.into_iter().zip(psi) {
            own += psi * psi;
            gathered += psi;
            total += gathered * gathered;
            sum += d;
            forecast.steps.push(d);
            forecast.errors.push((self.variance * own).sqrt());
            forecast.sums.push(sum);
            forecast.sum_errors.push((self.variance * total).sqrt());
        }
        forecast
    }

    /// The same, with what is not known of α and β in the errors of the sums.
    pub fn forecast_with_parameters(&self, past: &[f64], ahead: usize) -> Forecast {
        let mut forecast = self.forecast(past, ahead);
        let k = self.weights.len() + 1;
        if self.covariance.len() == k * k {
            for step in 1..=ahead {
                let slope = self.slope(past, step);
                let spread: f64 =
                    (0..k * k).map(|at| slope[at / k] * self.covariance[at] * slope[at % k]).sum();
                let error = &mut forecast.sum_errors[step - 1];
                *error = (*error * *error + spread.max(0.0)).sqrt();
            }
        }
        forecast
    }

    fn steps_ahead(&self, past: &[f64], ahead: usize) -> Vec<f64> {
        let mut series = self.padded(past);
        let known = series.len();
        for _ in 0..ahead {
            let back = |lag: usize| series[series.len() - lag];
            let next = self.intercept
                + self.lags.iter().zip(&self.weights).map(|(&lag, b)| b * back(lag)).sum::<f64>();
            series.push(next);
        }
        series.split_off(known)
    }

    /// As many past steps as the longest lag asks for, or more.
    fn padded(&self, past: &[f64]) -> Vec<f64> {
        let missing = self.memory().saturating_sub(past.len());
        let level = if self.is_stationary() { self.level() } else { 0.0 };
        std::iter::repeat_n(level, missing).chain(past.iter().copied()).collect()
    }

    /// ψ: 1, then what a unit shock still does.
    fn response(&self, ahead: usize) -> Vec<f64> {
        let mut psi: Vec<f64> = Vec::with_capacity(ahead);
        for at in 0..ahead {
            let echo = self.lags.iter().zip(&self.weights);
            let sum: f64 =
                echo.filter(|(lag, _)| **lag <= at).map(|(&lag, b)| b * psi[at - lag]).sum();
            psi.push(if at == 0 { 1.0 } else { sum });
        }
        psi
    }

    /// ∂(Σ d̂)/∂(α, β…) over `ahead` steps.
    pub fn slope(&self, past: &[f64], ahead: usize) -> Vec<f64> {
        let mut series = self.padded(past);
        let known = series.len();
        series.extend(self.steps_ahead(past, ahead));
        let mut slope = vec![0.0; self.weights.len() + 1];
        for (which, total) in slope.iter_mut().enumerate() {
            let mut each: Vec<f64> = Vec::with_capacity(ahead);
            for at in 0..ahead {
                let own = if which == 0 { 1.0 } else { series[known + at - self.lags[which - 1]] };
                let echo = self.lags.iter().zip(&self.weights);
                let carried: f64 =
                    echo.filter(|(lag, _)| **lag <= at).map(|(&lag, b)| b * each[at - lag]).sum();
                each.push(own + carried);
            }
            *total = each.iter().sum();
        }
        slope
    }
}

/// All partial correlations below 1 (step-down recursion): the shocks of these dense weights die out.
pub fn is_stationary(weights: &[f64]) -> bool {
    let mut weights = weights.to_vec();
    while let Some(last) = weights.pop() {
        if last.abs() >= 1.0 - 1e-9 || !last.is_finite() {
            return false;
        }
        let n = weights.len();
        let below = 1.0 - last * last;
        weights = (0..n).map(|at| (weights[at] + last * weights[n - 1 - at]) / below).collect();
    }
    true
}

/// Autocovariances 0..=k about the mean, divided by n.
pub fn autocovariances(series: &[f64], k: usize) -> Vec<f64> {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    (0..=k)
        .map(|lag| {
            let pairs = series.iter().zip(series.iter().skip(lag));
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n
        })
        .collect()
}

/// Yule–Walker's weights (Levinson's recursion).
pub fn yule_walker(series: &[f64], order: usize) -> Vec<f64> {
    let r = autocovariances(series, order);
    let mut weights: Vec<f64> = Vec::new();
    let mut error = r[0];
    for k in 1..=order {
        let known: f64 = weights.iter().enumerate().map(|(at, b)| b * r[k - 1 - at]).sum();
        let partial = (r[k] - known) / error;
        weights = grown(&weights, partial);
        error *= 1.0 - partial * partial;
    }
    weights
}

/// Burg's weights: partial correlations that least err forwards and backwards.
pub fn burg(series: &[f64], order: usize) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let mut forward: Vec<f64> = series.iter().map(|d| d - mean).collect();
    let mut backward = forward.clone();
    let mut weights: Vec<f64> = Vec::new();
    for k in 1..=order {
        let pairs = || forward[k..].iter().zip(&backward[k - 1..]);
        let both: f64 = pairs().map(|(f, b)| f * b).sum();
        let power: f64 = pairs().map(|(f, b)| f * f + b * b).sum();
        let partial = 2.0 * both / power;
        weights = grown(&weights, partial);
        let (old_forward, old_backward) = (forward.clone(), backward.clone());
        for at in k..series.len() {
            forward[at] = old_forward[at] - partial * old_backward[at - 1];
            backward[at] = old_backward[at - 1] - partial * old_forward[at];
        }
    }
    weights
}

/// The next order's weights from one more partial correlation.
fn grown(weights: &[f64], partial: f64) -> Vec<f64> {
    let n = weights.len();
    let mut next: Vec<f64> = (0..n).map(|at| weights[at] - partial * weights[n - 1 - at]).collect();
    next.push(partial);
    next
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_are_answers() {
        assert_eq!(Ar::fit(&[0.1; 4], &[1, 2, 3]), Err(Unfit::Short { steps: 4, longest: 3 }));
        assert_eq!(Ar::fit(&[0.1; 20], &[1]), Err(Unfit::Constant));
        assert_eq!(Ar::fit(&[0.1, 0.2, 0.3], &[2, 1]), Err(Unfit::Lags));
        let flat = Ar::select(&[-0.1; 30], 3, Some(7), Criterion::Aic).unwrap();
        assert!((flat.forecast(&[], 5).sums[4] + 0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn slopes_are_differences(a in -0.1..0.1f64, b in -0.5..0.5f64, c in -0.4..0.4f64, past in prop::collection::vec(-1.0..1.0f64, 7..9)) {
            let model = |a: f64, b: f64, c: f64| Ar {
                intercept: a, lags: vec![1, 7], weights: vec![b, c], variance: 1.0, steps: 0, covariance: Vec::new(),
            };
            let total = |a, b, c| model(a, b, c).forecast(&past, 10).sums[9];
            let slope = model(a, b, c).slope(&past, 10);
            let h = 1e-6;
            let differences = [
                (total(a + h, b, c) - total(a - h, b, c)) / (2.0 * h),
                (total(a, b + h, c) - total(a, b - h, c)) / (2.0 * h),
                (total(a, b, c + h) - total(a, b, c - h)) / (2.0 * h),
            ];
            for (one, two) in slope.iter().zip(differences) {
                prop_assert!((one - two).abs() < 1e-4 * (1.0 + two.abs()));
            }
        }

        #[test]
        fn partial_correlations_below_one_are_stationary(partials in prop::collection::vec(-0.99..0.99f64, 1..6), beyond in 1.0..2.0f64) {
            let weights = partials.iter().fold(Vec::new(), |weights, &partial| grown(&weights, partial));
            prop_assert!(is_stationary(&weights));
            prop_assert!(!is_stationary(&grown(&weights, beyond)));
        }
    }
}
