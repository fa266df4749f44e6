//! How many objects arrive: counts per day, sums over days, quantiles.
//!
//! ```text
//! Gamma       shape λ, scale θ, mean λθ:  ln λ − ψ(λ) = ln x̄ − mean(ln x),  θ = x̄/λ        the paper's
//! negative    size r, mean m:  Σ ψ(x + r) − nψ(r) + n·ln(r/(r + m)) = 0,  m = x̄;  variance m + m²/r
//! binomial    r → ∞ is Poisson, taken where the counts vary no more than that
//! n days      Gamma(nλ, θ);  negative binomial (nr, nm)
//! ```
//!
//! A day without arrivals makes the Gamma likelihood undefined, and small counts make it a bad picture: then the
//! negative binomial stands in. Which was taken is said by AIC, the Gamma density standing for the chance of a whole
//! number. The week has its own file, [`week`]. Paper: SA-04, SA-05 (`docs/papers/repository-quality.md`).

pub mod week;

use serde::{Deserialize, Serialize};
use statrs::distribution::{
    Continuous, ContinuousCDF, Discrete, DiscreteCDF, Gamma, NegativeBinomial, Poisson,
};
use statrs::function::gamma::digamma;

use crate::quality::outlook::{Counted, shock};
use crate::solve::falling;

/// A law of counts per period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Counts {
    /// The paper's.
    Gamma {
        /// λ
        shape: f64,
        /// θ
        scale: f64,
    },
    /// More spread than chance alone.
    NegativeBinomial {
        /// Mean of a period.
        mean: f64,
        /// r: the smaller, the more spread.
        size: f64,
    },
    /// Chance alone.
    Poisson {
        /// Mean of a period.
        mean: f64,
    },
}

/// Why no law could be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// No counts.
    #[error("no period was watched whole, so nothing is known of arrivals")]
    Empty,
    /// Gamma wants positive counts.
    #[error(
        "period {0} has no arrivals, for which the Gamma law has no likelihood; use the negative binomial"
    )]
    Zero(usize),
    /// Gamma wants counts that differ.
    #[error("all periods have the same count, so the Gamma law has no most likely shape")]
    Alike,
}

impl Counts {
    /// The most likely Gamma law.
    pub fn gamma(counts: &[f64]) -> Result<Self, Unfit> {
        let mean = mean(counts).ok_or(Unfit::Empty)?;
        if let Some(at) = counts.iter().position(|&x| x <= 0.0) {
            return Err(Unfit::Zero(at));
        }
        let logs = counts.iter().map(|x| x.ln()).sum::<f64>() / counts.len() as f64;
        let gap = mean.ln() - logs;
        if gap < 1e-12 {
            return Err(Unfit::Alike);
        }
        let shape = falling(1e-6, 1e9, |k| k.ln() - digamma(k) - gap);
        Ok(Self::Gamma { shape, scale: mean / shape })
    }

    /// The most likely negative binomial, or Poisson where the counts vary no more than that.
    pub fn negative_binomial(counts: &[f64]) -> Result<Self, Unfit> {
        let mean = mean(counts).ok_or(Unfit::Empty)?;
        let n = counts.len() as f64;
        let variance = counts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        if variance <= mean * (1.0 + 1e-9) {
            return Ok(Self::Poisson { mean });
        }
        // few different counts make many days
        let mut sorted = counts.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let alike: Vec<(f64, f64)> = sorted
            .chunk_by(|a, b| a.total_cmp(b).is_eq())
            .map(|x| (x[0], x.len() as f64))
            .collect();
        let slope = |r: f64| {
            let sum: f64 =
                alike.iter().map(|&(x, days)| days * (digamma(x + r) - digamma(r))).sum();
            sum - n * (mean / r).ln_1p()
        };
        let size = falling(1e-6, 1e7, slope);
        Ok(if size > 5e6 { Self::Poisson { mean } } else { Self::NegativeBinomial { mean, size } })
    }

    /// Gamma where every period has arrivals and it is the likelier; else the negative binomial.
    pub fn fit(counts: &[f64]) -> Result<Self, Unfit> {
        let other = Self::negative_binomial(counts)?;
        match Self::gamma(counts) {
            Ok(gamma) if gamma.aic(counts) < other.aic(counts) => Ok(gamma),
            _ => Ok(other),
        }
    }

    /// Counts over unequal gaps, given as (count, gap): the rate, and the spread by moments.
    ///
    /// ```text
    /// m = Σx/Σg,   1/r = max(0, Σ (x − mg)² − mg) / Σ m²g
    /// ```
    pub fn of_gaps(gaps: &[(f64, f64)]) -> Result<Self, Unfit> {
        let time: f64 = gaps.iter().map(|(_, gap)| gap).sum();
        if time <= 0.0 {
            return Err(Unfit::Empty);
        }
        let mean = gaps.iter().map(|(count, _)| count).sum::<f64>() / time;
        let counted = gaps.iter().map(|&(seen, gap)| Counted { gap, seen, expected: mean * gap });
        let spread = shock(counted);
        Ok(if spread > 1e-9 {
            Self::NegativeBinomial { mean, size: 1.0 / spread }
        } else {
            Self::Poisson { mean }
        })
    }

    /// ln of the likelihood.
    pub fn log_likelihood(&self, counts: &[f64]) -> f64 {
        let sum = |f: &dyn Fn(f64) -> f64| counts.iter().map(|&x| f(x)).sum();
        match *self {
            Self::Gamma { shape, scale } => {
                Gamma::new(shape, 1.0 / scale).map_or(f64::NAN, |law| sum(&|x| law.ln_pdf(x)))
            }
            Self::NegativeBinomial { mean, size } => {
                NegativeBinomial::new(size, size / (size + mean))
                    .map_or(f64::NAN, |law| sum(&|x| law.ln_pmf(whole(x))))
            }
            Self::Poisson { mean } => {
                Poisson::new(mean).map_or(0.0, |law| sum(&|x| law.ln_pmf(whole(x))))
            }
        }
    }

    fn aic(&self, counts: &[f64]) -> f64 {
        let parameters = if matches!(self, Self::Poisson { .. }) { 1.0 } else { 2.0 };
        2.0 * parameters - 2.0 * self.log_likelihood(counts)
    }

    /// Mean of a period.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Gamma { shape, scale } => shape * scale,
            Self::NegativeBinomial { mean, .. } | Self::Poisson { mean } => mean,
        }
    }

    /// Variance of a period.
    pub fn variance(&self) -> f64 {
        match *self {
            Self::Gamma { shape, scale } => shape * scale * scale,
            Self::NegativeBinomial { mean, size } => mean + mean * mean / size,
            Self::Poisson { mean } => mean,
        }
    }

    /// The law of the sum of `periods` independent ones.
    #[must_use]
    pub fn sum(&self, periods: f64) -> Self {
        match *self {
            Self::Gamma { shape, scale } => Self::Gamma { shape: shape * periods, scale },
            Self::NegativeBinomial { mean, size } => {
                Self::NegativeBinomial { mean: mean * periods, size: size * periods }
            }
            Self::Poisson { mean } => Self::Poisson { mean: mean * periods },
        }
    }

    /// The count below which a share `q` of periods lie.
    pub fn quantile(&self, q: f64) -> f64 {
        match *self {
            Self::Gamma { shape, scale } => gamma_quantile(shape, scale, q),
            Self::NegativeBinomial { mean, size } => {
                NegativeBinomial::new(size, size / (size + mean))
                    .map_or(f64::NAN, |law| least(mean, self.variance(), |x| law.cdf(x) >= q))
            }
            Self::Poisson { mean } => {
                Poisson::new(mean).map_or(0.0, |law| least(mean, mean, |x| law.cdf(x) >= q))
            }
        }
    }
}

/// The Gamma law's quantile, to the last digits: the library's own stops at the fifth.
pub(crate) fn gamma_quantile(shape: f64, scale: f64, q: f64) -> f64 {
    let Ok(law) = Gamma::new(shape, 1.0) else { return f64::NAN };
    if q <= 0.0 {
        return 0.0;
    }
    let top = shape + 40.0 * shape.sqrt() + 60.0;
    scale * falling(1e-300, top, |x| q - law.cdf(x))
}

/// The least whole number at which `enough` holds; it holds from there on.
fn least(mean: f64, variance: f64, enough: impl Fn(u64) -> bool) -> f64 {
    let (mut low, mut high) = (0u64, whole(mean + 40.0 * variance.sqrt()) + 64);
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts, far below 2^53"
)]
fn whole(x: f64) -> u64 {
    x.max(0.0).round() as u64
}

fn mean(counts: &[f64]) -> Option<f64> {
    (!counts.is_empty()).then(|| counts.iter().sum::<f64>() / counts.len() as f64)
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_are_answers() {
        assert_eq!(Counts::fit(&[]), Err(Unfit::Empty));
        assert_eq!(Counts::gamma(&[3.0, 0.0]), Err(Unfit::Zero(1)));
        assert_eq!(Counts::gamma(&[3.0, 3.0]), Err(Unfit::Alike));
        // nothing ever arrives: Poisson with mean 0
        let none = Counts::fit(&[0.0; 9]).unwrap();
        assert!(none.mean().abs() < 1e-300 && none.quantile(0.95).abs() < 1e-300);
        // one day is enough for a mean
        assert!((Counts::fit(&[7.0]).unwrap().mean() - 7.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn zeros_and_spread_call_the_negative_binomial(counts in prop::collection::vec(0u32..60, 5..80)) {
            let mut counts: Vec<f64> = counts.iter().map(|&x| f64::from(x)).collect();
            counts.push(0.0);
            let law = Counts::fit(&counts).unwrap();
            let is_gamma = matches!(law, Counts::Gamma { .. });
            prop_assert!(!is_gamma);
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            prop_assert!((law.mean() - mean).abs() < 1e-9);
            // at the peak no other size is likelier
            if let Counts::NegativeBinomial { mean, size } = law {
                for other in [size * 0.9, size * 1.1] {
                    let worse = Counts::NegativeBinomial { mean, size: other };
                    prop_assert!(worse.log_likelihood(&counts) <= law.log_likelihood(&counts) + 1e-9);
                }
            }
        }

        #[test]
        fn quantiles_rise_and_hold_their_share(mean in 0.1..200.0f64, size in 0.2..50.0f64, q in 0.01..0.98f64) {
            for law in [
                Counts::NegativeBinomial { mean, size },
                Counts::Poisson { mean },
                Counts::Gamma { shape: size, scale: mean / size },
            ] {
                prop_assert!(law.quantile(q) <= law.quantile(q + 0.01));
                let week = law.sum(7.0);
                prop_assert!((week.mean() - 7.0 * law.mean()).abs() < 1e-6 * mean);
                prop_assert!((week.variance() - 7.0 * law.variance()).abs() < 1e-6 * law.variance());
            }
        }
    }
}
