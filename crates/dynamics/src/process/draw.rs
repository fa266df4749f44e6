//! Draws from the laws: intervals, first waits, paths.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, Gamma};

use super::Process;

impl Process {
    /// A draw of U.
    pub fn sample_interval(&self, rng: &mut impl Rng) -> f64 {
        if let Self::Mixture(parts) = self {
            return pick(parts, |_| 1.0, rng).map_or(0.0, |part| part.sample_interval(rng));
        }
        let e: f64 = Exp1.sample(rng);
        self.scale()
            * match self {
                Self::Pareto { shape, .. } => (e / shape).exp_m1(),
                Self::Weibull { shape, .. } => e.powf(1.0 / shape),
                Self::Gamma { shape, .. } => gamma(*shape, rng),
                Self::Uniform { .. } => rng.random(),
                Self::Constant { .. } => 1.0,
                Self::Lattice { .. } => beats(self.skip(), rng),
                Self::Exponential { .. } | Self::Mixture(_) => e,
            }
    }

    /// A draw from G_U: the wait until the first update of a path in equilibrium.
    ///
    /// The interval that covers a blind moment is length-biased, and the moment falls evenly in it. For Pareto the
    /// result is Pareto with α−1; for Weibull the length-biased (U/b)^k is Gamma(1 + 1/k), for Gamma it is Gamma(k +
    /// 1); a length-biased number of beats is two draws less one.
    pub fn sample_wait(&self, rng: &mut impl Rng) -> f64 {
        if let Self::Mixture(parts) = self {
            return pick(parts, Self::mean, rng).map_or(0.0, |part| part.sample_wait(rng));
        }
        let e: f64 = Exp1.sample(rng);
        let biased = match self {
            Self::Exponential { mean } => return mean * e,
            Self::Pareto { shape, .. } => return self.scale() * (e / (shape - 1.0)).exp_m1(),
            Self::Weibull { shape, .. } => gamma(1.0 + 1.0 / shape, rng).powf(1.0 / shape),
            Self::Gamma { shape, .. } => gamma(shape + 1.0, rng),
            Self::Uniform { .. } => rng.random::<f64>().sqrt(),
            Self::Constant { .. } | Self::Mixture(_) => 1.0,
            Self::Lattice { .. } => beats(self.skip(), rng) + beats(self.skip(), rng) - 1.0,
        };
        self.scale() * biased * rng.random::<f64>()
    }

    /// Update times in (0, `horizon`] of a path in equilibrium, in order.
    pub fn path(&self, horizon: f64, rng: &mut impl Rng) -> Vec<f64> {
        let first = self.sample_wait(rng);
        self.path_from(first, horizon, rng)
    }

    /// Poll times in \[0, `horizon`\]: the first at 0, then one interval after the other.
    pub fn polls(&self, horizon: f64, rng: &mut impl Rng) -> Vec<f64> {
        self.path_from(0.0, horizon, rng)
    }

    fn path_from(&self, first: f64, horizon: f64, rng: &mut impl Rng) -> Vec<f64> {
        let mut times = Vec::new();
        let mut t = first;
        while t <= horizon {
            times.push(t);
            t += self.sample_interval(rng);
        }
        times
    }
}

/// A part, with chance ∝ share × `weight`.
fn pick<'a>(
    parts: &'a [(f64, Process)],
    weight: impl Fn(&Process) -> f64,
    rng: &mut impl Rng,
) -> Option<&'a Process> {
    let whole: f64 = parts.iter().map(|(share, part)| share * weight(part)).sum();
    let mut left = rng.random::<f64>() * whole;
    let chosen = parts.iter().find(|(share, part)| {
        left -= share * weight(part);
        left < 0.0
    });
    chosen.or(parts.last()).map(|(_, part)| part)
}

/// Gamma with this shape and scale 1; shapes were checked when the process was made.
fn gamma(shape: f64, rng: &mut impl Rng) -> f64 {
    Gamma::new(shape, 1.0).map_or(shape, |law| law.sample(rng))
}

/// A geometric number of beats, at least one, each further one with chance `skip`.
fn beats(skip: f64, rng: &mut impl Rng) -> f64 {
    if skip <= 0.0 {
        return 1.0;
    }
    1.0 + ((1.0 - rng.random::<f64>()).ln() / skip.ln()).floor()
}
