//! Does the source change its ways? Judged before anything is forecast.
//!
//! ```text
//! KPSS     η = Σ S(t)² / (n² λ²),  S(t) = Σ_{i≤t} (d(i) − mean)
//!          λ² = γ(0) + 2 Σ_{l≤L} (1 − l/(L+1)) γ(l),  L = ⌊4(n/100)^¼⌋
//! level stationary if η < 0.463 (5 %); 0.347 (10 %), 0.739 (1 %)
//! ```
//!
//! A source that drifts in training is where an adaptive model is expected to win (SA-14). No paper of ours:
//! Kwiatkowski, Phillips, Schmidt and Shin 1992; `docs/papers/repository-quality.md` uses it.

use super::ar::autocovariances;

/// η beyond which a level is not believed to be constant (5 %).
pub const DRIFTS: f64 = 0.463;

/// η of a series; `None` if it is too short or does not vary.
pub fn kpss(series: &[f64]) -> Option<f64> {
    let n = series.len();
    if n < 12 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small lag")]
    let lags = (4.0 * (n as f64 / 100.0).powf(0.25)).floor() as usize;
    let gamma = autocovariances(series, lags);
    let tail: f64 = (1..=lags).map(|l| (1.0 - l as f64 / (lags + 1) as f64) * gamma[l]).sum();
    let long_run = gamma[0] + 2.0 * tail;
    let mean = series.iter().sum::<f64>() / n as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for d in series {
        sum += d - mean;
        squares += sum * sum;
    }
    (long_run > 1e-24 * mean * mean).then(|| squares / ((n * n) as f64 * long_run))
}

#[cfg(test)]
mod laws_of_it {
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Of 200 series without drift about 5 % may be called drifting (more than 24 has chance 10⁻⁵); a step of one
    /// deviation in the middle is seen in most.
    #[test]
    fn it_keeps_its_level_and_sees_a_step() {
        let called = |step: f64| {
            (0..200u64)
                .filter(|&seed| {
                    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
                    let draw = |t: usize| {
                        let z: f64 = StandardNormal.sample(&mut rng);
                        z + if t >= 75 { step } else { 0.0 }
                    };
                    let series: Vec<f64> = (0..150).map(draw).collect();
                    kpss(&series).unwrap() > DRIFTS
                })
                .count()
        };
        assert!(called(0.0) <= 24, "{}", called(0.0));
        assert!(called(1.0) >= 180, "{}", called(1.0));
        assert_eq!(kpss(&[-0.1; 50]), None);
        assert_eq!(kpss(&[-0.1; 5]), None);
    }
}
