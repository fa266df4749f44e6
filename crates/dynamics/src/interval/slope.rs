//! The rate μ = g_U(0) alone, without the rest of the law.
//!
//! ```text
//! P(a change within x) = G_U(x) = 1 − e^(−η(x)),     η(x) ≈ a x + b x²  near zero,     μ = a
//! ℓ(a, b) = Σ Z ln(1 − e^(−η)) − (W − Z) η           over short distances x: W pairs of looks, Z with a change
//! ```
//!
//! For a Poisson source η is the line μx and b is nothing. Two numbers through many pairs move smoothly with the data,
//! unlike the steepest slope of a distribution, so a bootstrap may be believed. Distances are used as far as the first
//! guess has η below 0.7. Paper: BS-02 (`docs/papers/li-cline-loguinov-2015.md`); the form is ours.

use super::pairs::{Bin, Pairs};
use super::{Stream, empirical::Empirical};
use crate::history::History;
use crate::rate::likelihood;

/// As far as η reaches.
const NEAR: f64 = 0.7;
/// Newton's steps; half a dozen do.
const STEPS: u32 = 50;

/// Distances looked at, in expected changes, and in how many bins.
const REACH: (f64, usize) = (2.0, 40);
/// And at most so many mean gaps.
const FARTHEST: f64 = 100.0;

/// μ of what these looks show: by the ages where they are told, by pairs of looks elsewhere. `None` where polls at a
/// constant distance leave the law near zero unseen, or too little was seen.
pub fn of(history: &History) -> Option<f64> {
    let gap = history.mean_gap()?;
    let poisson = likelihood::most_likely(&history.polls())?.rate;
    let (changes, bins) = REACH;
    let reach = if poisson > 0.0 && poisson.is_finite() { changes / poisson } else { gap };
    let width = reach.min(FARTHEST * gap) / bins as f64;
    if history.told() > 0.9 {
        let ages: Empirical = history.looks().iter().filter_map(|look| look.age).collect();
        let pairs = ages.values().len() as u64;
        let bin = |n: usize| {
            let at = (n + 1) as f64 * width;
            let changed = ages.values().partition_point(|&age| age <= at) as u64;
            Bin { at, pairs, changed }
        };
        return rate(&(0..bins).map(bin).collect::<Vec<_>>());
    }
    if history.constant_gap().is_some() {
        return None;
    }
    rate(&Pairs::new(width, bins).having_heard(history).bins().collect::<Vec<_>>())
}

/// μ; `None` where fewer than three short distances have pairs with and without a change.
pub fn rate(bins: &[Bin]) -> Option<f64> {
    let first = guess(bins)?;
    let near: Vec<Bin> = bins.iter().copied().filter(|bin| first * bin.at < NEAR).collect();
    let (changed, pairs) = near.iter().fold((0, 0), |(z, w), bin| (z + bin.changed, w + bin.pairs));
    if near.len() < 3 || changed == 0 || changed == pairs {
        return None;
    }
    let (mut a, mut b) = (guess(&near)?, 0.0);
    let mut height = likelihood(&near, a, b);
    for _ in 0..STEPS {
        let (da, db) = step(&near, a, b)?;
        let mut part = 1.0;
        let better = loop {
            let next = (a + part * da, b + part * db);
            let there = likelihood(&near, next.0, next.1);
            if there >= height {
                break Some((next, there));
            }
            part /= 2.0;
            if part < 1e-6 {
                break None;
            }
        };
        let Some((next, there)) = better else { break };
        let settled = there - height < 1e-10 * height.abs();
        ((a, b), height) = (next, there);
        if settled {
            break;
        }
    }
    (a > 0.0).then_some(a)
}

/// The rate if η were a line: where expected changes over short distances are the seen ones.
fn guess(bins: &[Bin]) -> Option<f64> {
    let shortest = bins.first()?.at;
    let (low, high) = (1e-9 / bins.last()?.at, 50.0 / shortest);
    let excess = |rate: f64| {
        bins.iter()
            .map(|bin| {
                let x = rate * bin.at;
                bin.at * (bin.changed as f64 / -(-x).exp_m1() - bin.pairs as f64)
            })
            .sum()
    };
    let rate = crate::solve::falling(low, high, excess);
    (rate > 2.0 * low && rate < 0.5 * high).then_some(rate)
}

/// ℓ(a, b); −∞ where η leaves what a hazard can be.
fn likelihood(bins: &[Bin], a: f64, b: f64) -> f64 {
    let term = |bin: &Bin| {
        let eta = a * bin.at + b * bin.at * bin.at;
        if eta <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let (z, rest) = (bin.changed as f64, (bin.pairs - bin.changed) as f64);
        z * (-(-eta).exp_m1()).ln() - rest * eta
    };
    bins.iter().map(term).sum()
}

/// Fisher's step: information⁻¹ · score.
fn step(bins: &[Bin], a: f64, b: f64) -> Option<(f64, f64)> {
    let (mut score, mut information) = ([0.0; 2], [0.0; 3]);
    for bin in bins {
        let x = bin.at;
        let eta = a * x + b * x * x;
        let p = -(-eta).exp_m1();
        let (z, w) = (bin.changed as f64, bin.pairs as f64);
        let (slope, bend) = ((z - w * p) / p, w * (1.0 - p) / p);
        score = [score[0] + slope * x, score[1] + slope * x * x];
        information = [
            information[0] + bend * x * x,
            information[1] + bend * x.powi(3),
            information[2] + bend * x.powi(4),
        ];
    }
    let [xx, xy, yy] = information;
    let determinant = xx * yy - xy * xy;
    (determinant > 0.0).then(|| {
        (
            (yy * score[0] - xy * score[1]) / determinant,
            (xx * score[1] - xy * score[0]) / determinant,
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::testing::PAPER;
    use crate::process::Process;

    /// Bins filled exactly as the law says.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a million"
    )]
    fn exact(process: &Process) -> Vec<Bin> {
        let bin = |n: u32| {
            let at = (f64::from(n) + 0.5) * process.mean() / 20.0;
            Bin { at, pairs: 1_000_000, changed: (1e6 * process.age_cdf(at)).round() as u64 }
        };
        (0..100).map(bin).collect()
    }

    #[test]
    fn smooth_laws_give_their_rate() {
        for (process, off) in [
            (PAPER, 0.03),
            (Process::Exponential { mean: 3.0 }, 0.001),
            (Process::Weibull { mean: 3.0, shape: 2.0 }, 0.03),
            (Process::Uniform { mean: 1.0 }, 0.06),
            (Process::Constant { period: 2.0 }, 0.06),
        ] {
            let rate = rate(&exact(&process)).unwrap();
            assert!(
                (rate * process.mean() - 1.0).abs() < off,
                "{process:?}: {}",
                rate * process.mean()
            );
        }
    }

    #[test]
    fn nothing_to_go_by_is_undefined() {
        let bin = |at, changed| Bin { at, pairs: 10, changed };
        for bins in [
            vec![],
            vec![bin(1.0, 5)],
            vec![bin(1.0, 0), bin(2.0, 0), bin(3.0, 0)],
            vec![bin(1.0, 10), bin(2.0, 10), bin(3.0, 10)],
        ] {
            assert_eq!(rate(&bins), None);
        }
    }

    proptest! {
        /// A Poisson source's rate is found whatever the unit of time.
        #[test]
        fn the_unit_does_not_matter(mean in 1e-3..1e6f64) {
            let rate = rate(&exact(&Process::Exponential { mean })).unwrap();
            prop_assert!((rate * mean - 1.0).abs() < 1e-3);
        }
    }
}
