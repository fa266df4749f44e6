//! G-M4: M4 for polls at any distance: the time since the last look that was still before the last change. Biased.
//!
//! ```text
//! sⱼ* = max{ sᵢ < sⱼ : Q_ij = 1 }          sample sⱼ − sⱼ*                                        (25)
//! P(D > x) → Ḡ_U(x) + G_U(x) F̄_S(x) + ∫₀ˣ m(y) F̄_S(x − y) (G_U(x) − G_U(y)) dy                  our derivation (BS-41)
//! m = f_S + f_S ∗ m                        how thickly polls lie y before a poll
//! ```
//!
//! The age is rounded up to the poll before the change, and longer gaps between polls catch more changes. Exponential
//! polls: m = λ, right for large x only. Constant polls: M4. Shown because it is the obvious thing to do.
//! Paper: BS-40, BS-41 (`docs/papers/li-cline-loguinov-2015.md`).

use super::Stream;
use super::empirical::Empirical;
use crate::history::Look;
use crate::process::Process;

/// The rounded ages so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BracketedAges {
    values: Vec<f64>,
    /// sⱼ* of the latest look.
    star: Option<f64>,
    last: Option<f64>,
    head_changed: bool,
    /// Looks before the first detection: an earlier stretch may know what they mean.
    early: Vec<f64>,
}

impl BracketedAges {
    fn measure(&mut self, at: f64) {
        match self.star {
            Some(star) => self.values.push(at - star),
            None => self.early.push(at),
        }
    }

    /// The rounded ages.
    pub fn distribution(&self) -> Empirical {
        self.values.iter().copied().collect()
    }
}

impl Stream for BracketedAges {
    fn hear(&mut self, look: Look) {
        match self.last {
            None => self.head_changed = look.changed,
            Some(last) if look.changed => self.star = Some(last),
            Some(_) => {}
        }
        self.measure(look.at);
        self.last = Some(look.at);
    }

    fn join(&mut self, later: Self) {
        if later.last.is_none() {
            return;
        }
        if self.last.is_none() {
            *self = later;
            return;
        }
        if later.head_changed {
            self.star = self.last;
        }
        later.early.iter().for_each(|&at| self.measure(at));
        self.values.extend(later.values);
        self.star = later.star.or(self.star);
        self.last = later.last;
    }
}

/// Grid of the coarse solution; the fine one has twice as many cells.
const CELLS: u32 = 400;

/// P(D > x) in the long run; `None` where polls have no bounded density.
pub fn limit_tail(updates: &Process, sampling: &Process, x: f64) -> Option<f64> {
    let (coarse, fine) =
        (tail(updates, sampling, x, CELLS)?, tail(updates, sampling, x, 2 * CELLS)?);
    // both err by a multiple of the cell's square
    Some((4.0 * fine - coarse) / 3.0)
}

fn tail(updates: &Process, sampling: &Process, x: f64, cells: u32) -> Option<f64> {
    let h = x / f64::from(cells);
    let at: Vec<f64> = (0..=cells).map(|i| f64::from(i) * h).collect();
    let density: Option<Vec<f64>> =
        at.iter().map(|&y| sampling.density(y).filter(|d| d.is_finite())).collect();
    let polls = renewal_density(&density?, h);
    let whole = updates.age_cdf(x);
    let term =
        |i: usize| polls[i] * sampling.interval_tail(x - at[i]) * (whole - updates.age_cdf(at[i]));
    let last = at.len() - 1;
    let inner: f64 = (1..last).map(term).sum();
    let missed = h * (inner + f64::midpoint(term(0), term(last)));
    Some(1.0 - whole + whole * sampling.interval_tail(x) + missed)
}

/// m on the grid, from m = f + f ∗ m by trapezoids.
fn renewal_density(f: &[f64], h: f64) -> Vec<f64> {
    let mut m = vec![f[0]];
    for i in 1..f.len() {
        let inner: f64 = (1..i).map(|j| f[i - j] * m[j]).sum();
        m.push((f[i] + h * (inner + f[i] * m[0] / 2.0)) / (1.0 - h * f[0] / 2.0));
    }
    m
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::history::History;
    use crate::interval::detected_gaps::DetectedGaps;
    use crate::interval::stepped_ages;
    use crate::interval::testing::{PAPER, any_history, check_joining, history};

    /// BS-40, Figure 13: a change between sⱼ and sⱼ₊₁ is at sⱼ₊₂ rounded up to sⱼ₊₂ − sⱼ.
    #[test]
    fn bs_40_figure_13() {
        let history = History::blind(&[1.2], &[1.0, 2.0, 3.5]);
        let heard = BracketedAges::default().having_heard(&history);
        assert_eq!(heard.distribution().values(), [1.0, 2.5]);
    }

    /// BS-41: Pareto polls keep the tail wrong: .611/.336/.087/.021 at 1/2/5/10, from simulation there, tolerance .004.
    #[test]
    fn bs_41_pareto_polls() {
        let polls = Process::Pareto { mean: 1.0, shape: 3.0 };
        for (x, tail) in [(1.0, 0.611), (2.0, 0.336), (5.0, 0.087), (10.0, 0.021)] {
            let limit = limit_tail(&PAPER, &polls, x).unwrap();
            assert!((limit - tail).abs() < 0.004, "{x}: {limit}");
        }
        assert_eq!(limit_tail(&PAPER, &Process::Constant { period: 1.0 }, 1.0), None);
    }

    /// BS-41: a long path of exponential polls, tolerance .004.
    #[test]
    fn bs_41_a_long_path_tends_to_the_limit() {
        let polls = Process::Exponential { mean: 1.0 };
        let heard = BracketedAges::default().having_heard(&history(&PAPER, &polls, 2e5, 6));
        for x in [0.1, 0.5, 1.0, 2.0, 5.0] {
            let tail = 1.0 - heard.distribution().cdf(x).unwrap();
            assert!((tail - limit_tail(&PAPER, &polls, x).unwrap()).abs() < 0.004, "{x}: {tail}");
        }
    }

    #[test]
    fn corners_are_undefined_not_zero() {
        let never = BracketedAges::default().having_heard(&History::blind(&[], &[1.0, 2.0]));
        assert_eq!(never.distribution().cdf(5.0), None);
    }

    proptest! {
        #[test]
        fn stretches_add_up(history in any_history(), at in 0usize..80) {
            check_joining(&BracketedAges::default(), &history, at)?;
        }

        /// BS-40: constant polls make it M4.
        #[test]
        fn bs_40_constant_polls_make_it_m4(seed in 0u64..1000, mean in 0.1..3.0f64, n in 1u32..10) {
            let source = Process::Pareto { mean, shape: 3.0 };
            let history = history(&source, &Process::Constant { period: 1.0 }, 50.0, seed);
            let bracketed = BracketedAges::default().having_heard(&history).distribution();
            let stepped = DetectedGaps::default().having_heard(&history);
            prop_assert_eq!(bracketed.cdf(f64::from(n)), stepped_ages::cdf(&stepped, u64::from(n)));
        }
    }
}
