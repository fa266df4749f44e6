//! A recovered law: what an age law must look like, and everything that follows from it.
//!
//! An age density never rises, so it is a mixture of even densities on (0, θ] (Khinchine). θ is the length of the
//! interval that a blind moment falls into, so long intervals weigh more in w than they are frequent in F:
//!
//! ```text
//! G_U(x) = Σ w_θ min(x, θ)/θ        g_U(x) = Σ_{θ ≥ x} w_θ/θ
//! μ      = g_U(0) = Σ w_θ/θ         F_U(x) = Σ_{θ ≤ x} (w_θ/θ) / μ
//! ```
//!
//! Whatever the weights, this is a distribution: F rises from 0 to 1. Weights may add up to less than one: the rest
//! lies beyond what was seen, and adds nothing to μ. Paper: B11, BS-02 (`docs/papers/li-cline-loguinov-2015.md`).

use serde::{Deserialize, Serialize};

/// Interval lengths θ, in order, and the weight w of each among ages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgeLaw {
    parts: Vec<(f64, f64)>,
}

impl AgeLaw {
    /// From (θ, w) with θ > 0 in order and w ≥ 0; weights that add up to more than one are scaled down to it.
    pub fn new(mut parts: Vec<(f64, f64)>) -> Self {
        debug_assert!(parts.windows(2).all(|pair| pair[0].0 < pair[1].0));
        parts.retain(|&(_, weight)| weight > 0.0);
        let whole: f64 = parts.iter().map(|&(_, weight)| weight).sum();
        if whole > 1.0 {
            parts.iter_mut().for_each(|(_, weight)| *weight /= whole);
        }
        Self { parts }
    }

    /// (θ, w)
    pub fn parts(&self) -> &[(f64, f64)] {
        &self.parts
    }

    /// G_U(x)
    pub fn age_cdf(&self, x: f64) -> f64 {
        let x = x.max(0.0);
        self.parts.iter().map(|&(theta, weight)| weight * (x / theta).min(1.0)).sum()
    }

    /// μ = g_U(0)
    pub fn rate(&self) -> f64 {
        self.parts.iter().map(|&(theta, weight)| weight / theta).sum()
    }

    /// E\[U\] = 1/μ; `None` without parts.
    pub fn mean(&self) -> Option<f64> {
        (!self.parts.is_empty()).then(|| 1.0 / self.rate())
    }

    /// F_U(x); `None` without parts.
    pub fn interval_cdf(&self, x: f64) -> Option<f64> {
        let short = self.parts.iter().filter(|&&(theta, _)| theta <= x);
        let share = short.map(|&(theta, weight)| weight / theta).sum::<f64>();
        (!self.parts.is_empty()).then(|| (share / self.rate()).min(1.0))
    }

    /// The least x with F_U(x) ≥ q; `None` without parts.
    pub fn interval_quantile(&self, q: f64) -> Option<f64> {
        let mut left = q * self.rate();
        let reached = self.parts.iter().find(|&&(theta, weight)| {
            left -= weight / theta;
            left <= 0.0
        });
        reached.or(self.parts.last()).map(|&(theta, _)| theta)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Half the time in intervals of 1, half in intervals of 3: three of four intervals are of length 1.
    #[test]
    fn by_hand() {
        let law = AgeLaw::new(vec![(1.0, 0.5), (3.0, 0.5)]);
        assert!(
            (law.rate() - 2.0 / 3.0).abs() < 1e-12 && (law.mean().unwrap() - 1.5).abs() < 1e-12
        );
        assert!((law.interval_cdf(1.0).unwrap() - 0.75).abs() < 1e-12);
        assert!((law.age_cdf(1.0) - (0.5 + 0.5 / 3.0)).abs() < 1e-12);
        assert_eq!(
            (law.interval_quantile(0.5), law.interval_quantile(0.9)),
            (Some(1.0), Some(3.0))
        );
        let nothing = AgeLaw::default();
        assert_eq!(
            (nothing.mean(), nothing.interval_cdf(1.0), nothing.interval_quantile(0.5)),
            (None, None, None)
        );
    }

    proptest! {
        #[test]
        fn always_a_distribution(
            parts in prop::collection::btree_map(1u32..10_000, 0.0..2.0f64, 1..30), x in 0.0..150.0f64, more in 0.0..50.0f64,
        ) {
            let law = AgeLaw::new(parts.into_iter().map(|(theta, w)| (f64::from(theta) / 100.0, w)).collect());
            prop_assert!(law.age_cdf(x) <= law.age_cdf(x + more) + 1e-12 && law.age_cdf(x + more) <= 1.0 + 1e-9);
            if let (Some(here), Some(later)) = (law.interval_cdf(x), law.interval_cdf(x + more)) {
                prop_assert!((0.0..=1.0).contains(&here) && here <= later + 1e-12);
                prop_assert!((law.interval_cdf(1e9).unwrap() - 1.0).abs() < 1e-9);
            }
        }
    }
}
