//! The most likely survival curve when removals fall between looks and objects are entered late (Turnbull 1976).
//!
//! ```text
//! life i      gone in (lᵢ, rᵢ], watched from eᵢ on
//! support     the innermost gaps: a left end followed at once by a right end
//! ln L(p) = Σ ln P(lᵢ, rᵢ] − ln P(eᵢ, ∞)
//! optimal ⇔ Dⱼ = Σ_{j ∈ (lᵢ, rᵢ]} 1/P(lᵢ, rᵢ] − Σ_{j ∈ (eᵢ, ∞)} 1/P(eᵢ, ∞) ≤ 0, and = 0 where pⱼ > 0
//! step        pⱼ ← pⱼ · (1 + Dⱼ/Σᵢ 1/P(eᵢ, ∞)), squared extrapolation every other step (never downhill)
//! ```
//!
//! ln L is concave without late entry, so the conditions are proof; [`Estimate::slack`] says how well they hold. With late
//! entry, if all that were watched went before others entered, the peak lies at the edge and is only approached.
//! Lives that look alike are counted together and sums over gaps are differences of running sums, so a step costs
//! (distinct lives + gaps). Paper: B15 (`docs/papers/repository-quality.md`).

use std::collections::BTreeMap;

use super::{Life, Unfit, checked};

/// A most likely curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The gaps that hold mass: from, to (infinite: nobody went after `from`), and how much.
    pub gaps: Vec<(f64, f64, f64)>,
    /// ln L at the estimate.
    pub log_likelihood: f64,
    /// The largest violation of the optimality conditions, per life.
    pub slack: f64,
}

impl Estimate {
    /// S(age), where it is determined: mass of a gap counts as gone at its end.
    pub fn survival(&self, age: f64) -> f64 {
        1.0 - self.gaps.iter().filter(|&&(_, to, _)| to <= age).map(|gap| gap.2).sum::<f64>()
    }
}

/// Steps before it is left as it is; `slack` tells.
const STEPS: usize = 20_000;
/// Violation per life at which it stops.
const ENOUGH: f64 = 1e-9;

/// The most likely curve of these lives.
pub fn estimate(lives: &[Life]) -> Result<Estimate, Unfit> {
    checked(lives)?;
    let problem = Problem::of(lives);
    let mut mass = vec![1.0 / problem.gaps.len() as f64; problem.gaps.len()];
    let mut slack = f64::INFINITY;
    for _ in 0..STEPS {
        let (one, violation) = problem.step(&mass);
        slack = violation;
        if slack < ENOUGH {
            break;
        }
        let (two, _) = problem.step(&one);
        mass = problem.extrapolate(&mass, &one, two);
    }
    let log_likelihood = problem.log_likelihood(&mass);
    let held = problem.gaps.iter().zip(&mass).filter(|&(_, &p)| p > 1e-12);
    let gaps = held.map(|(&(from, to), &p)| (from, to, p)).collect();
    Ok(Estimate { gaps, log_likelihood, slack })
}

struct Problem {
    gaps: Vec<(f64, f64)>,
    /// First gap, one past the last gap, first gap after entry; and how many lives look so.
    lives: Vec<([usize; 3], f64)>,
    total: f64,
}

impl Problem {
    fn of(lives: &[Life]) -> Self {
        // a moment is a gap with nothing in it: its left end just below
        let left = |life: &Life| if life.high > life.low { life.low } else { life.low.next_down() };
        // at one place right ends come first: (1, 2] and (2, 3] have nothing in common
        let mut ends: Vec<(f64, bool)> =
            lives.iter().flat_map(|life| [(left(life), true), (life.high, false)]).collect();
        ends.extend(lives.iter().filter(|life| life.entry > 0.0).map(|life| (life.entry, true)));
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let gaps: Vec<(f64, f64)> = ends
            .windows(2)
            .filter(|pair| pair[0].1 && !pair[1].1)
            .map(|pair| (pair[0].0, pair[1].0))
            .collect();
        let mut alike: BTreeMap<[usize; 3], f64> = BTreeMap::new();
        for life in lives {
            let from = gaps.partition_point(|gap| gap.0 < left(life));
            let to = gaps.partition_point(|gap| gap.1 <= life.high);
            let entry = gaps.partition_point(|gap| gap.0 < life.entry);
            *alike.entry([from, to, entry.min(from)]).or_default() += 1.0;
        }
        Self { gaps, lives: alike.into_iter().collect(), total: lives.len() as f64 }
    }

    fn running(mass: &[f64]) -> Vec<f64> {
        let mut sum = 0.0;
        let mut running = Vec::with_capacity(mass.len() + 1);
        running.push(0.0);
        for p in mass {
            sum += p;
            running.push(sum);
        }
        running
    }

    /// The next mass, and by how much the conditions are violated at this one.
    fn step(&self, mass: &[f64]) -> (Vec<f64>, f64) {
        let running = Self::running(mass);
        let all = running[mass.len()];
        // slopes by differences: +w/P from the first gap on, −w/P after the last
        let mut slope = vec![0.0; mass.len() + 1];
        let mut watched = 0.0;
        for &([from, to, entry], count) in &self.lives {
            let gone = count / (running[to] - running[from]).max(1e-300);
            let seen = count / (all - running[entry]).max(1e-300);
            slope[from] += gone;
            slope[to] -= gone;
            slope[entry] -= seen;
            watched += seen;
        }
        let (mut here, mut slack) = (0.0, 0.0_f64);
        let mut next: Vec<f64> = Vec::with_capacity(mass.len());
        for (&p, &rise) in mass.iter().zip(&slope) {
            here += rise;
            let d = here / self.total;
            slack = slack.max(d).max(if p > 1e-9 { d.abs() * p.min(1.0) } else { 0.0 });
            next.push(p * (1.0 + here / watched).max(0.0));
        }
        let sum: f64 = next.iter().sum();
        next.iter_mut().for_each(|p| *p /= sum);
        (next, slack)
    }

    /// Beyond two steps along their curve, if that is uphill.
    fn extrapolate(&self, zero: &[f64], one: &[f64], two: Vec<f64>) -> Vec<f64> {
        let (mut first, mut second) = (0.0, 0.0);
        for at in 0..zero.len() {
            first += (one[at] - zero[at]).powi(2);
            second += (two[at] - 2.0 * one[at] + zero[at]).powi(2);
        }
        if second <= 1e-300 {
            return two;
        }
        let reach = (first / second).sqrt().max(1.0);
        let mut far: Vec<f64> = (0..zero.len())
            .map(|at| {
                let (r, v) = (one[at] - zero[at], two[at] - 2.0 * one[at] + zero[at]);
                // a gap that was never empty must be able to come back
                (zero[at] + 2.0 * reach * r + reach * reach * v).max(two[at] * 1e-3)
            })
            .collect();
        let sum: f64 = far.iter().sum();
        far.iter_mut().for_each(|p| *p /= sum);
        if self.log_likelihood(&far) >= self.log_likelihood(&two) { far } else { two }
    }

    fn log_likelihood(&self, mass: &[f64]) -> f64 {
        let running = Self::running(mass);
        let all = running[mass.len()];
        let term = |&([from, to, entry], count): &([usize; 3], f64)| {
            let gone = (running[to] - running[from]).max(1e-300);
            count * (gone.ln() - (all - running[entry]).max(1e-300).ln())
        };
        self.lives.iter().map(term).sum()
    }
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;

    /// The golden sample: an EM of its own reaches −14.490374; a library that stops at −14.649 has not converged.
    #[test]
    fn b15_the_golden_sample() {
        let low = [0.0, 1.0, 1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 2.0, 6.0, 1.0, 3.0];
        let no = f64::INFINITY;
        let high = [2.0, 3.0, 2.0, 5.0, no, 1.0, 6.0, no, 4.0, 8.0, 4.0, 7.0];
        let lives: Vec<Life> =
            low.iter().zip(high).map(|(&low, high)| Life::between(low, high)).collect();
        let found = estimate(&lives).unwrap();
        assert!(found.log_likelihood > -14.490_375 && found.slack < 1e-8, "{found:?}");
        let known = [0.891_601, 0.639_613, 0.594_396, 0.363_089, 0.319_800, 0.181_545];
        for (age, survival) in (1u32..).zip(known) {
            assert!((found.survival(f64::from(age)) - survival).abs() < 1e-4, "{age}: {found:?}");
        }
    }

    #[test]
    fn moments_give_kaplan_and_meier() {
        let lives = [
            Life::exact(1.0),
            Life::there(2.0),
            Life::exact(3.0),
            Life::exact(3.5).from(2.5),
            Life::there(5.0).from(0.5),
        ];
        let curve = super::super::Curve::of(&lives).unwrap();
        let found = estimate(&lives).unwrap();
        for age in [1.0, 2.0, 3.0, 3.5, 4.9] {
            assert!((found.survival(age) - curve.survival(age)).abs() < 1e-5, "{age}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_optimality_conditions_hold(raw in prop::collection::vec((0u32..8, 1u32..6, 0u32..4, any::<bool>()), 1..40)) {
            // one life watched from birth and outliving all: without it the peak may lie at infinity
            let lives: Vec<Life> = std::iter::once(Life::there(20.0))
                .chain(raw.iter().map(|&(low, width, entry, over)| {
                    let low = f64::from(low);
                    let high = if over { low + f64::from(width) } else { f64::INFINITY };
                    Life::between(low, high).from(f64::from(entry).min(low))
                }))
                .collect();
            let found = estimate(&lives).unwrap();
            prop_assert!(found.slack < 1e-4, "slack {}", found.slack);
            let sum: f64 = found.gaps.iter().map(|gap| gap.2).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
        }
    }
}
