//! How the quality of a copy decays, as a time series.
//!
//! ```text
//! d(t) = ln q(t−1, t)               decay of one step, q precision or recall of a copy synced at t−1
//! q(t₀, t) = e^(Σ d)                exact where lives are memoryless, else an approximation: [`residual`]
//! q = 0                             stands as ½ an object of n, or its logarithm would be −∞
//! ```
//!
//! | question | file |
//! | --- | --- |
//! | what comes next, from the last few steps? | [`ar`]: conditional likelihood, Yule–Walker, Burg, orders, forecasts |
//! | the same, using the first steps too? | [`exact`] |
//! | and if the source changes its ways? | [`adaptive`]: the paper's learning rate τ |
//! | and if only sums over unequal gaps are seen? | [`state_space`] |
//! | does it change its ways? | [`drift`] |
//!
//! Paper: SA-10..SA-13, SA-19, B16 (`docs/papers/repository-quality.md`).

pub mod adaptive;
pub mod ar;
pub mod drift;
pub mod exact;
pub mod state_space;

pub use adaptive::{Adaptive, Rule};
pub use ar::{Ar, Forecast};
pub use state_space::Tracker;

/// ln of a quality: `kept` of `of` objects, none counting as half a one. `None` of nothing.
pub fn decay(kept: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| ((kept as f64).max(0.5) / of as f64).ln())
}

/// q = e^(Σ d).
pub fn quality(decays: &[f64]) -> f64 {
    decays.iter().sum::<f64>().exp()
}

/// ln q as seen over several steps, less the sum of the steps' own decays: 0 where lives are memoryless.
pub fn residual(seen: f64, decays: &[f64]) -> f64 {
    seen - decays.iter().sum::<f64>()
}

/// Why no model could be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Too short for its lags.
    #[error(
        "{steps} steps of decay are too few for lags up to {longest}; a longer series or shorter lags are needed"
    )]
    Short {
        /// Steps seen.
        steps: usize,
        /// Longest lag.
        longest: usize,
    },
    /// Lags must be 1 or more, each once.
    #[error("lags must be 1 or more, rising")]
    Lags,
    /// Every step alike.
    #[error("every step decays alike, so there is nothing for lags to explain; use their mean")]
    Constant,
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sa_10_steps_multiply(steps in prop::collection::vec(0.01..1.0f64, 1..30)) {
            let decays: Vec<f64> = steps.iter().map(|q| q.ln()).collect();
            prop_assert!((quality(&decays) - steps.iter().product::<f64>()).abs() < 1e-9);
            prop_assert!(residual(quality(&decays).ln(), &decays).abs() < 1e-9);
        }
    }

    #[test]
    fn sa_10_nothing_left_is_half_an_object() {
        assert_eq!(decay(0, 0), None);
        assert!((decay(0, 10).unwrap() - 0.05_f64.ln()).abs() < 1e-12);
        assert!(decay(10, 10).unwrap().abs() < 1e-12);
    }
}
