//! Change rate under a Gamma prior, from polls at any spacing: exact, and never failing.
//!
//! ```text
//! p(λ | polls) ∝ λ^(a−1) e^(−bλ) · Π_changed (1 − e^(−λτ)) · Π_same e^(−λτ)
//! ```
//!
//! Where all polls changed the likelihood has no maximum, where none did its maximum is 0; the posterior is
//! proper in both. Moments and quantiles come from the trapezoid rule in z = ln λ, which for such smooth,
//! vanishing densities is exact to rounding. Paper: CN-X4 (`docs/papers/cho-ntoulas-2002.md`).

use super::{Estimate, Poll, likelihood};

/// Steps of the grid in ln λ.
const STEPS: u32 = 2_000;

/// What is believed after the polls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posterior {
    /// E\[λ\] and the central 95 %.
    pub estimate: Estimate,
    /// sd(λ)
    pub deviation: f64,
}

/// The posterior from a Gamma(a, b) prior (mean a/b), both positive.
pub fn posterior(polls: &[Poll], a: f64, b: f64) -> Posterior {
    let changed = polls.iter().filter(|poll| poll.changed).count() as f64;
    let time: f64 = b + polls.iter().map(|poll| poll.gap).sum::<f64>();
    // below this the prior's λ^a vanishes, above it e^(−bλ) does
    let (low, high) = ((1e-12f64.ln() / a).max(-60.0) - time.ln(), ((a + changed + 80.0) / b).ln());
    let width = (high - low) / f64::from(STEPS);
    let log_density = |z: f64| {
        let rate = z.exp();
        a * z - b * rate + likelihood::log_likelihood(polls, rate)
    };
    let points: Vec<(f64, f64)> = (0..=STEPS)
        .map(|step| low + f64::from(step) * width)
        .map(|z| (z.exp(), log_density(z)))
        .collect();
    let top = points.iter().map(|&(_, log)| log).fold(f64::NEG_INFINITY, f64::max);
    let weights = || points.iter().map(|&(rate, log)| (rate, (log - top).exp()));
    let total: f64 = weights().map(|(_, weight)| weight).sum();
    let mean = weights().map(|(rate, weight)| rate * weight).sum::<f64>() / total;
    let square = weights().map(|(rate, weight)| rate * rate * weight).sum::<f64>() / total;
    let quantile = |q: f64| {
        let mut mass = 0.0;
        weights()
            .find(|&(_, weight)| {
                mass += weight / total;
                mass >= q
            })
            .map_or(f64::INFINITY, |(rate, _)| rate)
    };
    let ci95 = [quantile(0.025), quantile(0.975)];
    Posterior {
        estimate: Estimate { rate: mean, ci95 },
        deviation: (square - mean * mean).max(0.0).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::polls;

    #[test]
    fn cn_x4_posterior_under_gamma_1_1() {
        let history = polls(&[1.0, 2.0, 0.5, 3.0], &[1.0, 1.0, 0.25, 0.5, 2.0]);
        let posterior = posterior(&history, 1.0, 1.0);
        assert!((posterior.estimate.rate - 0.610_587_506_5).abs() < 1e-8);
        assert!((posterior.deviation - 0.285_701_832_5).abs() < 1e-8);
    }

    /// Without polls it is the prior; with quiet ones Gamma(a, b + time).
    #[test]
    fn quiet_polls_are_conjugate() {
        let none = posterior(&[], 2.0, 4.0);
        assert!((none.estimate.rate - 0.5).abs() < 1e-6);
        let quiet = posterior(&polls(&[], &[3.0, 1.0]), 2.0, 4.0);
        assert!((quiet.estimate.rate - 0.25).abs() < 1e-6);
        assert!((quiet.deviation - 2f64.sqrt() / 8.0).abs() < 1e-6);
    }

    #[test]
    fn all_changed_stays_finite() {
        let all = posterior(&polls(&[1.0; 50], &[]), 1.0, 1.0);
        assert!(all.estimate.rate.is_finite() && all.estimate.rate > 2.0);
        assert!(
            all.estimate.ci95[0] < all.estimate.rate && all.estimate.rate < all.estimate.ci95[1]
        );
    }
}
