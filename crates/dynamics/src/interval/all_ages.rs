//! M2: all ages. Right for any source and any polls, as long as one of the two is not on a lattice.
//!
//! ```text
//! G₂(x, T) = (1/N) Σ 1{A_U(sⱼ) ≤ x}  →  G_U(x)          (11), (12)
//! ζ(T)     = (1/N) Σ A_U(sⱼ)         →  E[A_U]           (13)
//! ```
//!
//! As many polls as M1 and no bias; the ages of one version say nearly the same, so polling faster helps only up to a
//! point (Figure 9). Paper: BS-20..BS-23 (`docs/papers/li-cline-loguinov-2015.md`).

use super::Stream;
use super::empirical::Empirical;
use crate::history::Look;

/// The ages told so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllAges {
    ages: Vec<f64>,
}

impl AllAges {
    /// G₂
    pub fn distribution(&self) -> Empirical {
        self.ages.iter().copied().collect()
    }
}

impl Stream for AllAges {
    fn hear(&mut self, look: Look) {
        self.ages.extend(look.age);
    }

    fn join(&mut self, later: Self) {
        self.ages.extend(later.ages);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::testing::{PAPER, any_history, check_joining, history};
    use crate::process::Process;

    /// BS-20: tails of a path of T = 2·10⁵ lie on G_U, tolerance .004.
    #[test]
    fn bs_20_a_long_path_tends_to_the_age_law() {
        for sampling in [Process::Exponential { mean: 1.0 }, Process::Constant { period: 1.0 }] {
            let heard = AllAges::default().having_heard(&history(&PAPER, &sampling, 2e5, 2));
            for x in [0.1, 0.5, 1.0, 2.0, 5.0] {
                let got = heard.distribution().cdf(x).unwrap();
                assert!((got - PAPER.age_cdf(x)).abs() < 0.004, "{x}: {got}");
            }
        }
    }

    proptest! {
        #[test]
        fn stretches_add_up(history in any_history(), at in 0usize..80) {
            check_joining(&AllAges::default(), &history, at)?;
        }
    }
}
