//! One likelihood for everything looks say: ages where they are told, comparisons where they are not, polls at any
//! distance.
//!
//! ```text
//! a look says of the age     exactly a                                  the source tells
//!                            in (sⱼ − s_r, sⱼ − s_{r−1}]                r: the last look that saw a change
//!                            above sⱼ − s₀                              no change seen yet
//! chance of it               a_jθ = 1{a ≤ θ}/θ,   (min(R, θ) − min(L, θ))/θ,   1 − min(L, θ)/θ      under an even age on (0, θ]
//! w_θ ← w_θ · mean_j [ a_jθ / Σ_θ′ a_jθ′ w_θ′ ]                         climbs the likelihood, never leaves the age laws
//! ```
//!
//! The θ are log-spaced, from the short gaps between polls (below them nothing tells one θ from another, and μ = Σ w/θ
//! hangs on them) to the longest silence. Looks that say nearly the same share a bin. Steps are lengthened as Varadhan
//! and Roland do (SQUAREM), and shortened again where that would lower the likelihood. Looks of one path hang together:
//! the likelihood is a composite one, its maximum good, its curvature no measure of error ([`super::bootstrap`] is).
//!
//! Paper: B11, after Vardi 1989 (`docs/papers/li-cline-loguinov-2015.md`). Cost: bins × parts a step.

use std::collections::BTreeMap;

use super::AgeLaw;
use super::empirical::Empirical;
use crate::history::History;

/// What a look says of the age: between these; equal if it is told, the upper infinite if no change was seen yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// L
    pub low: f64,
    /// R
    pub high: f64,
}

/// What all looks say, in order.
pub fn said(history: &History) -> Vec<Said> {
    let looks = history.looks();
    let Some(start) = looks.first() else { return Vec::new() };
    let mut last = None;
    let mut all = Vec::with_capacity(looks.len());
    for (at, look) in looks.iter().enumerate() {
        if at > 0 && look.changed {
            last = Some((look.at, looks[at - 1].at));
        }
        let bracket = match last {
            Some((from, before)) => Said { low: look.at - from, high: look.at - before },
            None => Said { low: look.at - start.at, high: f64::INFINITY },
        };
        match look.age.filter(|&age| age >= bracket.low && age <= bracket.high) {
            Some(age) => all.push(Said { low: age, high: age }),
            None if bracket.low > 0.0 || bracket.high.is_finite() => all.push(bracket),
            None => {}
        }
    }
    all
}

/// How many interval lengths are told apart.
const PARTS: u32 = 80;
/// Ages within this factor of each other share a bin.
const GRAIN: f64 = 0.04;
/// Of the gaps, the share that is shorter than the shortest interval told apart.
const SHORT: f64 = 0.02;
/// Lengthened steps, of three plain ones each.
const STEPS: u32 = 60;

/// The likeliest age law; `None` where no look says more than "older than so much".
pub fn fit(history: &History) -> Option<AgeLaw> {
    let said = said(history);
    let longest =
        said.iter().map(|s| if s.high.is_finite() { s.high } else { s.low }).fold(0.0, f64::max);
    if !said.iter().any(|s| s.high.is_finite()) || longest <= 0.0 {
        return None;
    }
    let thetas = lengths(shortest(history, &said)?.min(longest), 1.05 * longest);
    let problem = Problem::new(&bins(&said), &thetas);
    let weights = problem.climb(vec![1.0 / thetas.len() as f64; thetas.len()]);
    Some(AgeLaw::new(thetas.into_iter().zip(weights).collect()))
}

/// The shortest interval that can be told apart: by the short gaps, or by the short ages where most are told.
fn shortest(history: &History, said: &[Said]) -> Option<f64> {
    let told: Empirical =
        said.iter().filter(|s| s.low >= s.high && s.low > 0.0).map(|s| s.low).collect();
    let gaps: Empirical = history.gaps().collect();
    let by_gaps = gaps.quantile(SHORT)?;
    if told.values().len() * 2 > said.len() {
        Some(told.quantile(SHORT)?.min(by_gaps))
    } else {
        Some(by_gaps)
    }
}

fn lengths(from: f64, to: f64) -> Vec<f64> {
    let stride = (to / from).ln() / f64::from(PARTS - 1);
    (0..PARTS).map(|n| from * (stride * f64::from(n)).exp()).collect()
}

/// What was said, with how often: cells of a logarithmic grid, each by its mean.
#[expect(clippy::cast_possible_truncation, reason = "a cell of the grid")]
fn bins(said: &[Said]) -> Vec<(Said, f64)> {
    let cell = |x: f64| if x > 0.0 { (x.ln() / GRAIN).floor() as i64 } else { i64::MIN };
    let mut cells: BTreeMap<(i64, i64, bool), (f64, f64, f64)> = BTreeMap::new();
    for s in said {
        let sum = cells.entry((cell(s.low), cell(s.high), s.low < s.high)).or_default();
        *sum = (sum.0 + s.low, sum.1 + s.high, sum.2 + 1.0);
    }
    cells.into_values().map(|(low, high, n)| (Said { low: low / n, high: high / n }, n)).collect()
}

/// a_jθ
fn chance(said: Said, theta: f64) -> f64 {
    let below = |x: f64| (x / theta).min(1.0);
    if said.low < said.high {
        below(said.high) - below(said.low)
    } else {
        f64::from(u8::from(said.low <= theta)) / theta
    }
}

/// Bins against lengths.
struct Problem {
    /// Row after row.
    chances: Vec<f64>,
    counts: Vec<f64>,
    parts: usize,
}

impl Problem {
    fn new(bins: &[(Said, f64)], thetas: &[f64]) -> Self {
        let chances =
            bins.iter().flat_map(|&(said, _)| thetas.iter().map(move |&theta| chance(said, theta)));
        Self {
            chances: chances.collect(),
            counts: bins.iter().map(|&(_, count)| count).collect(),
            parts: thetas.len(),
        }
    }

    /// The next weights, and the likelihood of these.
    fn step(&self, weights: &[f64]) -> (Vec<f64>, f64) {
        let mut next = vec![0.0; self.parts];
        let (mut height, mut whole) = (0.0, 0.0);
        for (row, count) in self.chances.chunks_exact(self.parts).zip(&self.counts) {
            let total: f64 = row.iter().zip(weights).map(|(a, w)| a * w).sum();
            if total > 0.0 {
                let share = count / total;
                next.iter_mut().zip(row).for_each(|(sum, a)| *sum += share * a);
                height += count * total.ln();
                whole += count;
            }
        }
        next.iter_mut().zip(weights).for_each(|(sum, w)| *sum *= w / whole);
        (next, height)
    }

    fn climb(&self, start: Vec<f64>) -> Vec<f64> {
        let mut here = start;
        let mut before = f64::NEG_INFINITY;
        for _ in 0..STEPS {
            let (once, height) = self.step(&here);
            let (twice, _) = self.step(&once);
            if height - before < 1e-7 * height.abs() {
                return twice;
            }
            before = height;
            let (long, reached) = self.step(&lengthened(&here, &once, &twice));
            here = if reached >= height { long } else { twice };
        }
        here
    }
}

/// w − 2αr + α²v with r the first step, v what the second adds, α = −|r|/|v|; kept a distribution.
fn lengthened(here: &[f64], once: &[f64], twice: &[f64]) -> Vec<f64> {
    let step = |at: usize| (once[at] - here[at], twice[at] - 2.0 * once[at] + here[at]);
    let norm = |part: &dyn Fn(usize) -> f64| {
        (0..here.len()).map(|at| part(at).powi(2)).sum::<f64>().sqrt()
    };
    let alpha = -(norm(&|at| step(at).0) / norm(&|at| step(at).1).max(f64::MIN_POSITIVE)).max(1.0);
    let long = (0..here.len()).map(|at| {
        let (r, v) = step(at);
        (here[at] - 2.0 * alpha * r + alpha * alpha * v).max(1e-12)
    });
    let long: Vec<f64> = long.collect();
    let whole: f64 = long.iter().sum();
    long.into_iter().map(|w| w / whole).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::concave;
    use crate::interval::testing::{PAPER, any_history, history};
    use crate::process::Process;

    /// Looks at 0, 1, 3, 4; changes seen at 1 and 4: the first says nothing, then (0, 1], (2, 3], (0, 1].
    #[test]
    fn what_looks_say_by_hand() {
        let looks = History::blind(&[0.5, 3.5], &[0.0, 1.0, 3.0, 4.0]).without_ages();
        let heard: Vec<_> = said(&looks).iter().map(|s| (s.low, s.high)).collect();
        assert_eq!(heard, [(0.0, 1.0), (2.0, 3.0), (0.0, 1.0)]);
        let told = said(&History::blind(&[0.5, 3.5], &[0.0, 1.0, 3.0]));
        assert_eq!(told, [Said { low: 0.5, high: 0.5 }, Said { low: 2.5, high: 2.5 }]);
    }

    #[test]
    fn nothing_seen_is_no_law() {
        for polls in [&[][..], &[1.0], &[1.0, 2.0, 3.0]] {
            assert_eq!(fit(&History::blind(&[], polls)), None);
        }
    }

    /// Every poll saw a change: all that can be said is that intervals are no longer than a poll's.
    #[test]
    fn all_changed_puts_everything_at_the_gap() {
        let updates: Vec<f64> = (0..100).map(|n| f64::from(n) * 0.5 + 0.25).collect();
        let polls: Vec<f64> = (0..50).map(f64::from).collect();
        let law = fit(&History::blind(&updates, &polls).without_ages()).unwrap();
        assert!(law.interval_cdf(1.1).unwrap() > 0.99);
    }

    /// B11: as good as Grenander's law where all ages are told.
    #[test]
    fn told_ages_give_grenanders_law() {
        let seen = history(&PAPER, &Process::Exponential { mean: 1.0 }, 3e3, 12);
        let ages: Empirical = seen.looks().iter().filter_map(|look| look.age).collect();
        let (law, grenander) = (fit(&seen).unwrap(), concave::majorant(&ages));
        for x in [0.1, 0.3, 1.0, 3.0] {
            assert!((law.age_cdf(x) - grenander.age_cdf(x)).abs() < 0.015, "{x}");
        }
    }

    proptest! {
        /// Whatever the history: a law, or none.
        #[test]
        fn always_a_valid_law(history in any_history(), told in any::<bool>()) {
            let history = if told { history } else { history.without_ages() };
            if let Some(law) = fit(&history) {
                let whole: f64 = law.parts().iter().map(|&(_, w)| w).sum();
                prop_assert!((whole - 1.0).abs() < 1e-6 && law.rate().is_finite() && law.rate() > 0.0);
                prop_assert!((law.interval_cdf(1e9).unwrap() - 1.0).abs() < 1e-9);
            }
        }

        /// A step of the plain rule never lowers the likelihood.
        #[test]
        fn climbs(seed in 0u64..50) {
            let history = history(&PAPER, &Process::Exponential { mean: 1.0 }, 100.0, seed).without_ages();
            let thetas = lengths(0.05, 20.0);
            let problem = Problem::new(&bins(&said(&history)), &thetas);
            let mut weights = vec![1.0 / 80.0; 80];
            let mut before = f64::NEG_INFINITY;
            for _ in 0..20 {
                let (next, height) = problem.step(&weights);
                prop_assert!(height >= before - 1e-9);
                (weights, before) = (next, height);
            }
        }
    }
}
