//! Update processes: the law of the time between two updates of a source, or between two polls of it.
//!
//! ```text
//! U            time between updates, F_U its distribution, E[U] its mean, μ = 1/E[U] the rate
//! G_U(x) = μ ∫₀ˣ (1 − F_U)             law of the age of the current version, and of the wait for
//!                                       the next update, at a moment picked without regard to U
//! g_U(x) = μ (1 − F_U(x))              its density: never rising, and μ at zero
//! ```
//!
//! | process | F_U(x) | E\[U\] | G_U(x) |
//! | --- | --- | --- | --- |
//! | exponential | 1 − e^(−x/m) | m | 1 − e^(−x/m) |
//! | Pareto (Lomax) | 1 − (1 + x/β)^(−α) | β/(α−1) | 1 − (1 + x/β)^(1−α) |
//! | Weibull | 1 − e^(−(x/b)^k) | bΓ(1+1/k) | P(1/k, (x/b)^k) |
//! | Gamma | P(k, x/θ) | kθ | (x/m)(1 − F) + P(k+1, x/θ) |
//! | uniform on \[0, 2m\] | x/2m | m | 1 − (1 − x/2m)² |
//! | constant | 1{x ≥ c} | c | min(1, x/c) |
//! | lattice (geometric multiples of c) | 1 − q^⌊x/c⌋ | c/(1−q) | 1 − q^n + (x/c − n)(1−q)q^n, n = ⌊x/c⌋ |
//! | mixture | Σ pᵢFᵢ | Σ pᵢmᵢ | Σ pᵢmᵢGᵢ / Σ pᵢmᵢ |
//!
//! P is the regularised lower incomplete gamma function. A path that has run for ever (in
//! *equilibrium*) starts with a wait drawn from G_U, then continues with draws from F_U (`draw`). Polls are a process
//! like updates: the laws are the same, so one list serves both.
//!
//! Paper: BS-01..BS-03, BS-06 (`docs/papers/li-cline-loguinov-2015.md`). Every process here has a mean. Erratum: The paper
//! calls every Weibull NWU; only shapes below 1 are.

mod draw;

use serde::{Deserialize, Serialize};
use statrs::function::gamma::{gamma, gamma_lr, gamma_ur, ln_gamma};

/// A law for the time between updates, by its mean and, where it has one, its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Hazard falling (shape < 1) or rising (shape > 1) with age, and levelling off.
    Gamma {
        /// E\[U\]
        mean: f64,
        /// k > 0
        shape: f64,
    },
    /// Anything from nothing to twice the mean, evenly.
    Uniform {
        /// E\[U\]
        mean: f64,
    },
    /// Clockwork: an update every `period`.
    Constant {
        /// E\[U\]
        period: f64,
    },
    /// A clock that skips beats at random: a whole number of steps, geometrically many.
    Lattice {
        /// E\[U\], at least a step
        mean: f64,
        /// c
        step: f64,
    },
    /// Each interval is drawn from one of these, with these chances.
    Mixture(Vec<(f64, Process)>),
}

/// How what is known of an interval's length so far changes what is left of it (BS-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Aging {
    /// NWU: the longer it has lasted, the longer it will. The hazard falls.
    NewWorse,
    /// The past says nothing.
    Memoryless,
    /// NBU: the longer it has lasted, the sooner it ends. The hazard rises.
    NewBetter,
}

/// Why a process cannot be made from these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProcess {
    /// E\[U\] must be a positive number.
    #[error("the mean time between updates must be a positive number")]
    Mean,
    /// Pareto needs α > 1 (else it has no mean), Weibull and Gamma k ≥ 0.05.
    #[error("the shape must be above 1 for pareto and at least 0.05 for weibull and gamma")]
    Shape,
    /// A lattice has whole steps.
    #[error("the step of a lattice must be positive and at most its mean")]
    Step,
    /// Chances are positive and add up to one.
    #[error("the chances of a mixture must be positive and add up to 1")]
    Shares,
}

impl Process {
    /// The same process, if its numbers make one.
    pub fn checked(self) -> Result<Self, InvalidProcess> {
        let mean = self.mean();
        if !(mean.is_finite() && mean > 0.0) {
            return Err(InvalidProcess::Mean);
        }
        match &self {
            Self::Pareto { shape, .. } if !(*shape > 1.0 && shape.is_finite()) => {
                Err(InvalidProcess::Shape)
            }
            Self::Weibull { shape, .. } | Self::Gamma { shape, .. }
                if !(*shape >= 0.05 && shape.is_finite()) =>
            {
                Err(InvalidProcess::Shape)
            }
            Self::Lattice { mean, step } if !(*step > 0.0 && step <= mean) => {
                Err(InvalidProcess::Step)
            }
            Self::Mixture(parts) => {
                let whole: f64 = parts.iter().map(|(share, _)| share).sum();
                let fine =
                    parts.iter().all(|(share, _)| *share > 0.0) && (whole - 1.0).abs() < 1e-9;
                parts.iter().try_for_each(|(_, part)| part.clone().checked().map(|_| ()))?;
                if fine { Ok(self) } else { Err(InvalidProcess::Shares) }
            }
            _ => Ok(self),
        }
    }

    /// E\[U\]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Exponential { mean }
            | Self::Pareto { mean, .. }
            | Self::Weibull { mean, .. }
            | Self::Gamma { mean, .. }
            | Self::Uniform { mean }
            | Self::Lattice { mean, .. } => *mean,
            Self::Constant { period } => *period,
            Self::Mixture(parts) => parts.iter().map(|(share, part)| share * part.mean()).sum(),
        }
    }

    /// μ = 1/E\[U\]
    pub fn rate(&self) -> f64 {
        1.0 / self.mean()
    }

    /// E\[A_U\] = μ E\[U²\]/2: how old the current version is on average; infinite for Pareto with α ≤ 2.
    pub fn mean_age(&self) -> f64 {
        let scale = self.scale();
        match self {
            Self::Exponential { mean } => *mean,
            Self::Pareto { shape, .. } if *shape <= 2.0 => f64::INFINITY,
            Self::Pareto { shape, .. } => scale / (shape - 2.0),
            Self::Weibull { mean, shape } => {
                scale * scale * gamma(1.0 + 2.0 / shape) / (2.0 * mean)
            }
            Self::Gamma { shape, .. } => (shape + 1.0) * scale / 2.0,
            Self::Uniform { mean } => 2.0 * mean / 3.0,
            Self::Constant { period } => period / 2.0,
            Self::Lattice { mean, .. } => mean * (1.0 + self.skip()) / 2.0,
            Self::Mixture(parts) => {
                let part = |(share, part): &(f64, Self)| share * part.mean() * part.mean_age();
                parts.iter().map(part).sum::<f64>() / self.mean()
            }
        }
    }

    /// β of the Pareto, b of the Weibull, θ of the Gamma, the longest of the uniform, the step of a lattice.
    fn scale(&self) -> f64 {
        match self {
            Self::Pareto { mean, shape } => mean * (shape - 1.0),
            Self::Weibull { mean, shape } => mean / gamma(1.0 + 1.0 / shape),
            Self::Gamma { mean, shape } => mean / shape,
            Self::Uniform { mean } => 2.0 * mean,
            Self::Lattice { step, .. } => *step,
            _ => self.mean(),
        }
    }

    /// q of a lattice: the chance that a beat is skipped.
    fn skip(&self) -> f64 {
        1.0 - self.scale() / self.mean()
    }

    /// F_U(x) = P(U ≤ x)
    pub fn interval_cdf(&self, x: f64) -> f64 {
        1.0 - self.interval_tail(x)
    }

    /// 1 − F_U(x), with all its digits where it is small.
    pub fn interval_tail(&self, x: f64) -> f64 {
        let y = x.max(0.0) / self.scale();
        match self {
            Self::Exponential { .. } => (-y).exp(),
            Self::Pareto { shape, .. } => (-shape * y.ln_1p()).exp(),
            Self::Weibull { shape, .. } => (-y.powf(*shape)).exp(),
            Self::Gamma { shape, .. } if y > 0.0 => gamma_ur(*shape, y),
            Self::Gamma { .. } => 1.0,
            Self::Uniform { .. } => (1.0 - y).max(0.0),
            Self::Constant { .. } => f64::from(u8::from(y < 1.0)),
            Self::Lattice { .. } => self.skip().powf(y.floor()),
            Self::Mixture(parts) => {
                parts.iter().map(|(share, part)| share * part.interval_tail(x)).sum()
            }
        }
    }

    /// G_U(x): the chance that, at a moment picked blindly, the current version is at most x old.
    pub fn age_cdf(&self, x: f64) -> f64 {
        let x = x.max(0.0);
        let y = x / self.scale();
        match self {
            Self::Exponential { .. } => -(-y).exp_m1(),
            Self::Pareto { shape, .. } => -((1.0 - shape) * y.ln_1p()).exp_m1(),
            Self::Weibull { shape, .. } => {
                let z = y.powf(*shape);
                if z > 0.0 { gamma_lr(1.0 / shape, z) } else { 0.0 }
            }
            Self::Gamma { mean, shape } if y > 0.0 => {
                x / mean * gamma_ur(*shape, y) + gamma_lr(shape + 1.0, y)
            }
            Self::Gamma { .. } => 0.0,
            Self::Uniform { .. } => 1.0 - (1.0 - y).max(0.0).powi(2),
            Self::Constant { .. } => y.min(1.0),
            Self::Lattice { .. } => {
                let (q, n) = (self.skip(), y.floor());
                1.0 - q.powf(n) + (y - n) * (1.0 - q) * q.powf(n)
            }
            Self::Mixture(parts) => {
                let part = |(share, part): &(f64, Self)| share * part.mean() * part.age_cdf(x);
                parts.iter().map(part).sum::<f64>() / self.mean()
            }
        }
    }

    /// g_U(x) = μ (1 − F_U(x))
    pub fn age_density(&self, x: f64) -> f64 {
        self.rate() * self.interval_tail(x)
    }

    /// f_U(x); `None` for a law with atoms.
    pub fn density(&self, x: f64) -> Option<f64> {
        let scale = self.scale();
        let y = x.max(0.0) / scale;
        Some(match self {
            Self::Exponential { .. } => (-y).exp() / scale,
            Self::Pareto { shape, .. } => shape / scale * (-(shape + 1.0) * y.ln_1p()).exp(),
            Self::Weibull { shape, .. } => {
                shape / scale * y.powf(shape - 1.0) * (-y.powf(*shape)).exp()
            }
            Self::Gamma { shape, .. } => {
                y.powf(shape - 1.0) * (-y - ln_gamma(*shape)).exp() / scale
            }
            Self::Uniform { .. } => f64::from(u8::from(y <= 1.0)) / scale,
            Self::Constant { .. } | Self::Lattice { .. } => return None,
            Self::Mixture(parts) => {
                let each = parts.iter().map(|(share, part)| Some(share * part.density(x)?));
                return each.sum();
            }
        })
    }

    /// Are all intervals whole multiples of one number (BS-03)? Then of which.
    pub fn lattice(&self) -> Option<f64> {
        match self {
            Self::Constant { period } => Some(*period),
            Self::Lattice { step, .. } => Some(*step),
            Self::Mixture(parts) => match parts.as_slice() {
                [(_, only)] => only.lattice(),
                _ => None,
            },
            _ => None,
        }
    }

    /// NWU, NBU or memoryless; `None` where it is neither, or this list does not know.
    ///
    /// Laws of falling hazard mixed have a falling hazard; of other mixtures nothing is said.
    pub fn aging(&self) -> Option<Aging> {
        let by_shape = |shape: f64| match shape.total_cmp(&1.0) {
            std::cmp::Ordering::Less => Aging::NewWorse,
            std::cmp::Ordering::Equal => Aging::Memoryless,
            std::cmp::Ordering::Greater => Aging::NewBetter,
        };
        match self {
            Self::Exponential { .. } => Some(Aging::Memoryless),
            Self::Pareto { .. } => Some(Aging::NewWorse),
            Self::Weibull { shape, .. } | Self::Gamma { shape, .. } => Some(by_shape(*shape)),
            Self::Uniform { .. } | Self::Constant { .. } | Self::Lattice { .. } => {
                Some(Aging::NewBetter)
            }
            Self::Mixture(parts) => match parts.as_slice() {
                [(_, only)] => only.aging(),
                many => many
                    .iter()
                    .all(|(_, part)| {
                        matches!(part.aging(), Some(Aging::NewWorse | Aging::Memoryless))
                    })
                    .then_some(Aging::NewWorse),
            },
        }
    }

    /// Where the law has a corner or a jump, so that integrals can stop there.
    pub(crate) fn edges(&self) -> Vec<f64> {
        match self {
            Self::Uniform { .. } | Self::Constant { .. } => vec![self.scale()],
            Self::Mixture(parts) => parts.iter().flat_map(|(_, part)| part.edges()).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// One of each.
    fn processes() -> [Process; 10] {
        [
            Process::Exponential { mean: 2.0 },
            Process::Pareto { mean: 0.5, shape: 3.0 },
            Process::Weibull { mean: 1.5, shape: 0.6 },
            Process::Weibull { mean: 1.5, shape: 2.5 },
            Process::Gamma { mean: 2.0, shape: 0.7 },
            Process::Gamma { mean: 2.0, shape: 4.0 },
            Process::Uniform { mean: 0.5 },
            Process::Constant { period: 3.0 },
            Process::Lattice { mean: 2.5, step: 1.0 },
            Process::Mixture(vec![
                (0.7, Process::Exponential { mean: 0.3 }),
                (0.3, Process::Pareto { mean: 2.0, shape: 3.0 }),
            ]),
        ]
    }

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
        for process in processes() {
            if process.lattice().is_none() {
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
        for process in processes() {
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
        let lattice = Process::Lattice { mean: 1.0, step: 2.0 };
        assert_eq!(lattice.checked(), Err(InvalidProcess::Step));
        let half = Process::Mixture(vec![(0.5, Process::Constant { period: 1.0 })]);
        assert_eq!(half.checked(), Err(InvalidProcess::Shares));
    }

    /// BS-06, by its definition on a grid: P(U > x + y | U > y) against P(U > x).
    #[test]
    fn bs_06_aging_is_what_the_tails_say() {
        for process in processes() {
            let mut sides = [false; 2];
            for (x, y) in (1..40).flat_map(|x| (1..40).map(move |y| (x, y))) {
                let (x, y) = (f64::from(x) * 0.13, f64::from(y) * 0.13);
                let tail = |x| process.interval_tail(x);
                if tail(y) > 1e-12 {
                    let gap = tail(x + y) / tail(y) - tail(x);
                    sides[usize::from(gap > 0.0)] |= gap.abs() > 1e-9;
                }
            }
            let expected = match process.aging() {
                Some(Aging::NewWorse) => [false, true],
                Some(Aging::Memoryless) => [false, false],
                Some(Aging::NewBetter) => [true, false],
                None => continue,
            };
            assert_eq!(sides, expected, "{process:?}");
        }
    }

    /// BS-02: the paper's law has E\[U²\] = 1, so the current version is 1 old on average.
    #[test]
    fn mean_ages_are_the_means_of_the_age_laws() {
        assert!((Process::Pareto { mean: 0.5, shape: 3.0 }.mean_age() - 1.0).abs() < 1e-12);
        for process in processes() {
            let mean =
                crate::integral::half_line(0.0, process.mean(), |x| 1.0 - process.age_cdf(x));
            assert!((mean / process.mean_age() - 1.0).abs() < 2e-3, "{process:?}: {mean}");
        }
    }

    proptest! {
        /// f_U is the slope of F_U.
        #[test]
        fn the_density_is_the_slope(which in 0usize..10, x in 0.05..5.0f64) {
            let process = &processes()[which];
            if let Some(density) = process.density(x) {
                let slope = (process.interval_cdf(x + 1e-5) - process.interval_cdf(x - 1e-5)) / 2e-5;
                prop_assert!((density - slope).abs() < 1e-3 * (1.0 + density) || (x - 1.0).abs() < 1e-4);
            }
        }

        /// BS-02: G_U is the integral of 1 − F_U over the mean (midpoint rule).
        #[test]
        fn the_age_law_integrates_the_interval_law(which in 0usize..10, x in 0.01..10.0f64) {
            let process = &processes()[which];
            let steps = 20_000;
            let width = x / f64::from(steps);
            let area: f64 = (0..steps)
                .map(|i| (1.0 - process.interval_cdf((f64::from(i) + 0.5) * width)) * width)
                .sum();
            prop_assert!((process.age_cdf(x) - area / process.mean()).abs() < 2e-4);
        }
    }
}
