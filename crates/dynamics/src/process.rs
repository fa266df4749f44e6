//! Update processes: the law of the time between two updates of a source.
//!
//! ```text
//! U            time between updates, F_U its distribution, E[U] its mean
//! G_U(x) = (1/E[U]) ∫₀ˣ (1 − F_U)      law of the age of the current version, and of the wait for
//!                                       the next update, at a moment picked without regard to U
//! ```
//!
//! | process | F_U(x) | E\[U\] | G_U(x) |
//! | --- | --- | --- | --- |
//! | exponential | 1 − e^(−x/m) | m | 1 − e^(−x/m) |
//! | Pareto (Lomax) | 1 − (1 + x/β)^(−α) | β/(α−1) | 1 − (1 + x/β)^(1−α) |
//! | Weibull | 1 − e^(−(x/b)^k) | bΓ(1+1/k) | P(1/k, (x/b)^k) |
//! | constant | 1{x ≥ c} | c | min(1, x/c) |
//!
//! P is the regularised lower incomplete gamma function. A path that has run for ever (in
//! *equilibrium*) starts with a wait drawn from G_U, then continues with draws from F_U.
//!
//! Paper: BS-01, BS-02 (`docs/papers/li-cline-loguinov-2015.md`). Every process here has a mean.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, Gamma};
use serde::{Deserialize, Serialize};
use statrs::function::gamma::{gamma, gamma_lr};

/// A law for the time between updates, by its mean and, where it has one, its shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Process {
    /// Memoryless: updates form a Poisson process of rate 1/mean.
    Exponential {
        /// E\[U\]
        mean: f64,
    },
    /// Heavy-tailed (Lomax): bursts of updates, then long silence.
    Pareto {
        /// E\[U\]
        mean: f64,
        /// α > 1
        shape: f64,
    },
    /// Hazard falling (shape < 1) or rising (shape > 1) with age.
    Weibull {
        /// E\[U\]
        mean: f64,
        /// k > 0
        shape: f64,
    },
    /// Clockwork: an update every `period`.
    Constant {
        /// E\[U\]
        period: f64,
    },
}

/// Why a process cannot be made from these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProcess {
    /// E\[U\] must be a positive number.
    #[error("the mean time between updates must be a positive number")]
    Mean,
    /// Pareto needs α > 1 (else it has no mean), Weibull k ≥ 0.05.
    #[error("the shape must be above 1 for pareto and at least 0.05 for weibull")]
    Shape,
}

impl Process {
    /// The same process, if its numbers make one.
    pub fn checked(self) -> Result<Self, InvalidProcess> {
        let mean = self.mean();
        if !(mean.is_finite() && mean > 0.0) {
            return Err(InvalidProcess::Mean);
        }
        match self {
            Self::Pareto { shape, .. } if !(shape > 1.0 && shape.is_finite()) => {
                Err(InvalidProcess::Shape)
            }
            Self::Weibull { shape, .. } if !(shape >= 0.05 && shape.is_finite()) => {
                Err(InvalidProcess::Shape)
            }
            _ => Ok(self),
        }
    }

    /// E\[U\]
    pub fn mean(self) -> f64 {
        match self {
            Self::Exponential { mean } | Self::Pareto { mean, .. } | Self::Weibull { mean, .. } => {
                mean
            }
            Self::Constant { period } => period,
        }
    }

    /// β of the Pareto, b of the Weibull; the mean of the others.
    fn scale(self) -> f64 {
        match self {
            Self::Pareto { mean, shape } => mean * (shape - 1.0),
            Self::Weibull { mean, shape } => mean / gamma(1.0 + 1.0 / shape),
            _ => self.mean(),
        }
    }

    /// F_U(x) = P(U ≤ x)
    pub fn interval_cdf(self, x: f64) -> f64 {
        let y = x.max(0.0) / self.scale();
        match self {
            Self::Exponential { .. } => -(-y).exp_m1(),
            Self::Pareto { shape, .. } => -(-shape * y.ln_1p()).exp_m1(),
            Self::Weibull { shape, .. } => -(-y.powf(shape)).exp_m1(),
            Self::Constant { .. } => f64::from(u8::from(y >= 1.0)),
        }
    }

    /// G_U(x): the chance that, at a moment picked blindly, the current version is at most x old.
    pub fn age_cdf(self, x: f64) -> f64 {
        let y = x.max(0.0) / self.scale();
        match self {
            Self::Exponential { .. } => -(-y).exp_m1(),
            Self::Pareto { shape, .. } => -((1.0 - shape) * y.ln_1p()).exp_m1(),
            Self::Weibull { shape, .. } => {
                let z = y.powf(shape);
                if z > 0.0 { gamma_lr(1.0 / shape, z) } else { 0.0 }
            }
            Self::Constant { .. } => y.min(1.0),
        }
    }

    /// A draw of U.
    pub fn sample_interval(self, rng: &mut impl Rng) -> f64 {
        let e: f64 = Exp1.sample(rng);
        self.scale()
            * match self {
                Self::Exponential { .. } => e,
                Self::Pareto { shape, .. } => (e / shape).exp_m1(),
                Self::Weibull { shape, .. } => e.powf(1.0 / shape),
                Self::Constant { .. } => 1.0,
            }
    }

    /// A draw from G_U: the wait until the first update of a path in equilibrium.
    ///
    /// The interval that covers a blind moment is length-biased, and the moment falls evenly in it.
    /// For Pareto the result is Pareto with α−1; for Weibull the length-biased (U/b)^k is
    /// Gamma(1 + 1/k).
    pub fn sample_wait(self, rng: &mut impl Rng) -> f64 {
        let e: f64 = Exp1.sample(rng);
        match self {
            Self::Exponential { mean } => mean * e,
            Self::Pareto { shape, .. } => self.scale() * (e / (shape - 1.0)).exp_m1(),
            Self::Weibull { shape, .. } => {
                let biased = Gamma::new(1.0 + 1.0 / shape, 1.0)
                    .map_or(1.0, |law| law.sample(rng).powf(1.0 / shape));
                self.scale() * biased * rng.random::<f64>()
            }
            Self::Constant { period } => period * rng.random::<f64>(),
        }
    }

    /// Update times in (0, `horizon`] of a path in equilibrium, in order.
    pub fn path(self, horizon: f64, rng: &mut impl Rng) -> Vec<f64> {
        let mut times = Vec::new();
        let mut t = self.sample_wait(rng);
        while t <= horizon {
            times.push(t);
            t += self.sample_interval(rng);
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const PROCESSES: [Process; 5] = [
        Process::Exponential { mean: 2.0 },
        Process::Pareto { mean: 0.5, shape: 3.0 },
        Process::Weibull { mean: 1.5, shape: 0.6 },
        Process::Weibull { mean: 1.5, shape: 2.5 },
        Process::Constant { period: 3.0 },
    ];

    /// The largest distance between the sample's distribution and the law.
    ///
    /// With n = 20,000 the Kolmogorov–Smirnov statistic exceeds 1.95/√n = 0.0138 in one run of a
    /// thousand; seeds are fixed, so these tests either pass for ever or were wrong.
    fn distance(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
        draws.sort_by(f64::total_cmp);
        let n = draws.len() as f64;
        draws
            .iter()
            .enumerate()
            .map(|(i, &x)| {
                let here = cdf(x);
                (here - i as f64 / n).abs().max((here - (i + 1) as f64 / n).abs())
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn draws_follow_their_laws() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        for process in PROCESSES {
            if !matches!(process, Process::Constant { .. }) {
                let draws = (0..20_000).map(|_| process.sample_interval(&mut rng)).collect();
                assert!(
                    distance(draws, |x| process.interval_cdf(x)) < 0.0138,
                    "F_U of {process:?}"
                );
            }
            let waits = (0..20_000).map(|_| process.sample_wait(&mut rng)).collect();
            assert!(distance(waits, |x| process.age_cdf(x)) < 0.0138, "G_U of {process:?}");
        }
    }

    #[test]
    fn a_path_in_equilibrium_has_one_update_per_mean() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        for process in PROCESSES {
            let horizon = 40_000.0 * process.mean();
            let seen = process.path(horizon, &mut rng).len() as f64;
            assert!((seen / 40_000.0 - 1.0).abs() < 0.03, "{process:?}: {seen}");
        }
    }

    /// BS's test law: Pareto α = 3, β = 1 has mean ½ and G_U(1) = 1 − 2^(−2).
    #[test]
    fn bs_02_pareto_by_hand() {
        let pareto = Process::Pareto { mean: 0.5, shape: 3.0 };
        assert!((pareto.age_cdf(1.0) - 0.75).abs() < 1e-12);
        assert!((pareto.interval_cdf(1.0) - 0.875).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Process::Exponential { mean: 0.0 }.checked(), Err(InvalidProcess::Mean));
        assert_eq!(Process::Exponential { mean: f64::NAN }.checked(), Err(InvalidProcess::Mean));
        assert_eq!(Process::Pareto { mean: 1.0, shape: 1.0 }.checked(), Err(InvalidProcess::Shape));
        assert_eq!(
            Process::Weibull { mean: 1.0, shape: 0.0 }.checked(),
            Err(InvalidProcess::Shape)
        );
    }

    proptest! {
        /// BS-02: G_U is the integral of 1 − F_U over the mean (midpoint rule).
        #[test]
        fn the_age_law_integrates_the_interval_law(which in 0usize..5, x in 0.01..10.0f64) {
            let process = PROCESSES[which];
            let steps = 20_000;
            let width = x / f64::from(steps);
            let area: f64 = (0..steps)
                .map(|i| (1.0 - process.interval_cdf((f64::from(i) + 0.5) * width)) * width)
                .sum();
            prop_assert!((process.age_cdf(x) - area / process.mean()).abs() < 2e-4);
        }
    }
}
