//! F_U and E\[U\] from G_U by differentiation, as the paper does it.
//!
//! ```text
//! g(0) ≈ (−25 G(0) + 48 G(h) − 36 G(2h) + 16 G(3h) − 3 G(4h)) / 12h          five points to the right
//! g(x) ≈ (G(x−2h) − 8 G(x−h) + 8 G(x+h) − G(x+2h)) / 12h                     five points around
//! E[U] = 1/g(0)        F_U(x) = 1 − g(x)/g(0)
//! ```
//!
//! As h falls, E\[U\] falls towards its value and stays flat; below that, noise. The search halves h until two values
//! agree to a hundredth, or the value turns. Nothing makes the result a distribution: [`super::concave`] and
//! [`super::mixture`] do. Paper: BS-21, BS-22 (`docs/papers/li-cline-loguinov-2015.md`). Erratum: Five points err by O(h⁴),
//! not O(h⁵/5!), and "h can be arbitrarily small" forgets the noise (BS-48).

/// Where E\[U\] no longer moves with h.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flat {
    /// h
    pub step: f64,
    /// E\[U\]
    pub mean: f64,
    /// Two values agreed; else the search was stopped by noise or by the finest step.
    pub is_flat: bool,
}

/// How well two values must agree.
const AGREE: f64 = 0.01;

/// g(x) by five points to the right; `None` where G is unknown at one of them.
pub fn slope_right_of(cdf: impl Fn(f64) -> Option<f64>, x: f64, h: f64) -> Option<f64> {
    let weights = [-25.0, 48.0, -36.0, 16.0, -3.0];
    let points = weights.iter().zip(0..).map(|(w, n)| Some(w * cdf(x + f64::from(n) * h)?));
    Some(points.sum::<Option<f64>>()? / (12.0 * h))
}

/// g(x) by five points around it.
fn slope_around(cdf: impl Fn(f64) -> Option<f64>, x: f64, h: f64) -> Option<f64> {
    let weights = [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)];
    let points = weights.iter().map(|(n, w)| Some(w * cdf(x + n * h)?));
    Some(points.sum::<Option<f64>>()? / (12.0 * h))
}

/// E\[U\] where it is flat in h, searched from `largest` down to `finest`; `None` where G is unknown near zero or does
/// not rise.
pub fn flat_mean(cdf: impl Fn(f64) -> Option<f64>, largest: f64, finest: f64) -> Option<Flat> {
    let mean_at =
        |h: f64| slope_right_of(&cdf, 0.0, h).filter(|&slope| slope > 0.0).map(|s| 1.0 / s);
    let mut best = Flat { step: largest, mean: mean_at(largest)?, is_flat: false };
    let mut step = largest / 2.0;
    while step >= finest {
        let Some(mean) = mean_at(step) else { break };
        if (mean / best.mean - 1.0).abs() < AGREE {
            return Some(Flat { step, mean, is_flat: true });
        }
        if mean > best.mean {
            break;
        }
        best = Flat { step, mean, is_flat: false };
        step /= 2.0;
    }
    Some(best)
}

/// F_U(x) = 1 − g(x)·E\[U\]; may leave \[0, 1\].
pub fn interval_cdf(cdf: impl Fn(f64) -> Option<f64>, flat: Flat, x: f64) -> Option<f64> {
    let h = flat.step;
    let slope = if x < 2.0 * h { slope_right_of(cdf, x, h) } else { slope_around(cdf, x, h) };
    Some(1.0 - slope? * flat.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::interval::Stream;
    use crate::interval::all_ages::AllAges;
    use crate::interval::testing::{PAPER, rng};
    use crate::process::Process;

    #[expect(
        clippy::unnecessary_wraps,
        reason = "estimates may be undefined, so the derivative takes options"
    )]
    fn exact(x: f64) -> Option<f64> {
        Some(PAPER.age_cdf(x))
    }

    /// BS-21: E\[U\](h) on the exact G_U, monotone as h falls.
    #[test]
    fn bs_21_the_mean_over_the_step() {
        let golden = [
            (1.0, 0.744_417),
            (0.5, 0.574_713),
            (0.2, 0.509_561),
            (0.1, 0.501_309),
            (0.05, 0.500_131),
            (0.02, 0.500_005),
            (0.01, 0.500_000_3),
        ];
        for (h, mean) in golden {
            let got = 1.0 / slope_right_of(exact, 0.0, h).unwrap();
            assert!((got - mean).abs() < 1e-6, "{h}: {got}");
        }
        let flat = flat_mean(exact, 1.0, 1e-3).unwrap();
        assert!(flat.is_flat && (flat.mean - 0.5).abs() < 0.002, "{flat:?}");
        for x in [0.1, 0.3, 1.0, 3.0] {
            let got = interval_cdf(exact, flat, x).unwrap();
            assert!((got - PAPER.interval_cdf(x)).abs() < 0.01, "{x}: {got}");
        }
    }

    /// BS-21, Figure 8: constant polls at λ = 100 recover E\[U\] and F_U from M2's ages.
    #[test]
    fn bs_21_figure_8() {
        let path = PAPER.path(2e4, &mut rng(9));
        let polls = Process::Constant { period: 0.01 }.polls(2e4, &mut rng(9));
        let ages = AllAges::default().having_heard(&History::blind(&path, &polls)).distribution();
        let flat = flat_mean(|x| ages.cdf(x), 1.0, 0.02).unwrap();
        assert!((flat.mean - 0.5).abs() < 0.015, "{flat:?}");
        for x in [0.2, 0.5, 1.0, 2.0] {
            let got = interval_cdf(|x| ages.cdf(x), flat, x).unwrap();
            assert!((got - PAPER.interval_cdf(x)).abs() < 0.05, "{x}: {got}");
        }
    }

    #[test]
    fn an_unknown_law_has_no_mean() {
        assert_eq!(flat_mean(|_| None, 1.0, 0.1), None);
        assert_eq!(flat_mean(|_| Some(0.5), 1.0, 0.1), None);
    }
}
