//! M1: of each version seen, the largest age. Prior art; right for Poisson sources only.
//!
//! ```text
//! keep A_U(sⱼ) iff Q_{j,j+1} = 1                        (6), (7)
//! p       = E[G_U(S)]                                   share kept (5)
//! Ḡ₁(x)   = E[G_U(x + S) − G_U(x)] / E[G_U(S)]          what the kept ages tend to (8)
//! ```
//!
//! The paper's other forms (9), (10) say the same. Between F̄_U and Ḡ_U where the hazard falls or rises (Theorem 3);
//! near F̄_U when polls are quick, near Ḡ_U when they are rare (Theorem 4). Both expectations are ∫ g_U(x + s) P(S > s)
//! ds, which needs no density of S. Paper: BS-10..BS-15 (`docs/papers/li-cline-loguinov-2015.md`). Erratum: Printed with <;
//! ties are kept here.

use super::Stream;
use super::empirical::Empirical;
use crate::history::Look;
use crate::integral;
use crate::process::Process;

/// The ages kept so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LargestAge {
    kept: Vec<f64>,
    looks: u64,
    detected: u64,
    head_changed: bool,
    last: Option<f64>,
}

impl LargestAge {
    /// The next look says whether the age before it is kept.
    fn next(&mut self, changed: bool) {
        if changed {
            self.detected += 1;
            self.kept.extend(self.last);
        }
    }

    /// G₁: the kept ages.
    pub fn distribution(&self) -> Empirical {
        self.kept.iter().copied().collect()
    }

    /// p(T): share of the looks with a successor that were kept; `None` below two looks.
    pub fn kept(&self) -> Option<f64> {
        (self.looks > 1).then(|| self.detected as f64 / (self.looks - 1) as f64)
    }
}

impl Stream for LargestAge {
    fn hear(&mut self, look: Look) {
        if self.looks == 0 {
            self.head_changed = look.changed;
        } else {
            self.next(look.changed);
        }
        self.looks += 1;
        self.last = look.age;
    }

    fn join(&mut self, later: Self) {
        if later.looks == 0 {
            return;
        }
        if self.looks == 0 {
            *self = later;
            return;
        }
        self.next(later.head_changed);
        self.kept.extend(later.kept);
        self.detected += later.detected;
        self.looks += later.looks;
        self.last = later.last;
    }
}

/// E\[G_U(x + S) − G_U(x)\]: the chance that a version at least x old at one poll is gone by the next.
fn gone(updates: &Process, sampling: &Process, x: f64) -> f64 {
    match sampling {
        Process::Constant { period } => updates.age_cdf(x + period) - updates.age_cdf(x),
        Process::Lattice { step, .. } => {
            let beats = (0..).map(|n| f64::from(n) * step);
            beats
                .map(|s| (s, sampling.interval_tail(s)))
                .take_while(|&(_, tail)| tail > 1e-15)
                .map(|(s, tail)| tail * (updates.age_cdf(x + s + step) - updates.age_cdf(x + s)))
                .sum()
        }
        Process::Mixture(parts) => {
            parts.iter().map(|(share, part)| share * gone(updates, part, x)).sum()
        }
        smooth => {
            let edges: Vec<f64> = updates.edges().iter().map(|edge| edge - x).collect();
            let edges = [edges, smooth.edges()].concat();
            let scale = updates.mean().min(smooth.mean());
            integral::with_edges(&edges, scale, |s| {
                updates.age_density(x + s) * smooth.interval_tail(s)
            })
        }
    }
}

/// p: the share of the ages that M1 keeps in the long run (Theorem 1).
pub fn share_kept(updates: &Process, sampling: &Process) -> f64 {
    gone(updates, sampling, 0.0)
}

/// Ḡ₁(x): what M1's tail tends to (Theorem 2).
pub fn limit_tail(updates: &Process, sampling: &Process, x: f64) -> f64 {
    gone(updates, sampling, x) / gone(updates, sampling, 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::testing::{PAPER, any_history, check_joining, history};
    use crate::process::Aging;

    fn sampling(law: usize, mean: f64) -> Process {
        [
            Process::Constant { period: mean },
            Process::Exponential { mean },
            Process::Uniform { mean },
            Process::Gamma { mean, shape: 2.0 },
            Process::Lattice { mean, step: mean / 2.0 },
        ][law]
            .clone()
    }

    /// BS-11: p over λ for constant and exponential S, at two of the printed rates each by hand: 1 − (1 + 1/λ)^(−2),
    /// e·E₁(1).
    #[test]
    fn bs_11_share_kept_by_hand() {
        let kept = |law, mean| share_kept(&PAPER, &sampling(law, mean));
        assert!((kept(0, 1.0) - 0.75).abs() < 1e-9 && (kept(0, 0.1) - 0.173_553_719).abs() < 1e-9);
        assert!((kept(1, 1.0) - 0.596_347_362_3).abs() < 1e-8, "{}", kept(1, 1.0));
        assert!((kept(2, 1.0) - 2.0 / 3.0).abs() < 1e-9 && (kept(2, 0.1) - 1.0 / 6.0).abs() < 1e-9);
    }

    /// BS-14: U even on [0, 1], Δ = ½, x = ¼: Ḡ_U = .5625 ≤ Ḡ₁ = ⅔ ≤ F̄ = .75.
    #[test]
    fn bs_14_the_reverse_sandwich_by_hand() {
        let even = Process::Uniform { mean: 0.5 };
        let half = Process::Constant { period: 0.5 };
        assert!((1.0 - even.age_cdf(0.25) - 0.5625).abs() < 1e-12);
        assert!((limit_tail(&even, &half, 0.25) - 2.0 / 3.0).abs() < 1e-12);
        assert!((even.interval_tail(0.25) - 0.75).abs() < 1e-12);
    }

    /// BS-15: quick polls give F_U, rare polls G_U.
    #[test]
    fn bs_15_the_two_ends() {
        let at = |period| limit_tail(&PAPER, &Process::Constant { period }, 1.0);
        assert!((at(1e-3) - 0.125_094).abs() < 1e-6 && (at(1e3) - 0.249_999).abs() < 1e-6);
    }

    /// BS-11, BS-13: a path of T = 2·10⁵, tolerances .005 and .002.
    #[test]
    fn bs_13_a_long_path_tends_to_the_limit() {
        let exponential = Process::Exponential { mean: 1.0 };
        let heard = LargestAge::default().having_heard(&history(&PAPER, &exponential, 2e5, 1));
        assert!((heard.kept().unwrap() - 0.596_347).abs() < 0.005);
        for x in [0.1, 0.5, 1.0, 2.0, 5.0] {
            let tail = 1.0 - heard.distribution().cdf(x).unwrap();
            assert!((tail - limit_tail(&PAPER, &exponential, x)).abs() < 0.002, "{x}: {tail}");
        }
    }

    /// BS-10: the last look has no successor, and nothing is nothing.
    #[test]
    fn corners_are_undefined_not_zero() {
        let nothing = LargestAge::default();
        assert_eq!((nothing.kept(), nothing.distribution().cdf(1.0)), (None, None));
    }

    proptest! {
        #[test]
        fn stretches_add_up(history in any_history(), at in 0usize..80) {
            check_joining(&LargestAge::default(), &history, at)?;
        }

        /// BS-14: F̄ ≤ Ḡ₁ ≤ Ḡ_U for falling hazards, reversed for rising ones, all equal for exponential sources.
        #[test]
        fn bs_14_the_sandwich(source in 0usize..7, law in 0usize..5, mean in 0.05..5.0f64, x in 0.01..4.0f64) {
            let updates = &[
                PAPER,
                Process::Weibull { mean: 1.0, shape: 0.6 },
                Process::Gamma { mean: 1.0, shape: 0.5 },
                Process::Weibull { mean: 1.0, shape: 2.5 },
                Process::Gamma { mean: 1.0, shape: 3.0 },
                Process::Uniform { mean: 1.0 },
                Process::Exponential { mean: 1.0 },
            ][source];
            let (f, g) = (updates.interval_tail(x), 1.0 - updates.age_cdf(x));
            let m1 = limit_tail(updates, &sampling(law, mean), x);
            let (low, high) = match updates.aging().unwrap() {
                Aging::NewWorse => (f, g),
                Aging::NewBetter => (g, f),
                Aging::Memoryless => {
                    prop_assert!((m1 - f).abs() < 1e-7 && (m1 - g).abs() < 1e-7);
                    (f, g)
                }
            };
            prop_assert!(low <= m1 + 1e-6 && m1 <= high + 1e-6, "{low} {m1} {high}");
        }

        /// BS-14: (9) and (10) are (8).
        #[test]
        fn bs_14_the_other_forms_agree(x in 0.01..4.0f64, delta in 0.05..3.0f64) {
            let constant = Process::Constant { period: delta };
            let g = |x: f64| 1.0 - PAPER.age_cdf(x);
            let nine = g(x) * ((g(x) - g(x + delta)) / g(x)) / (1.0 - g(delta));
            let f = |x: f64| PAPER.interval_tail(x);
            let ten = f(x) * integral::stretch(0.0, delta, |y| f(x + y) / f(x)) / integral::stretch(0.0, delta, f);
            let eight = limit_tail(&PAPER, &constant, x);
            prop_assert!((eight - nine).abs() < 1e-10 && (eight - ten).abs() < 1e-10);
        }
    }
}
