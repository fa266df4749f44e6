//! M4: polls since the last detection, at a constant distance Δ. G_U at the multiples of Δ, whatever the source.
//!
//! ```text
//! D₄(sⱼ) = Δ if Q_{j−1,j} = 1, else D₄(sⱼ₋₁) + Δ                        (19)
//! G₄(x_n) → G_U(x_n)      x_n = nΔ                                      (20)
//! E[D₄]  = Δ Σ_{n≥0} Ḡ_U(nΔ)
//! ```
//!
//! A gap of m polls holds the values Δ, 2Δ, …, mΔ once each, so the gaps of [`DetectedGaps`] are all there is to know;
//! the polls after the latest detection are a gap still open. Undefined before the first detection. Paper: BS-33..BS-35
//! (`docs/papers/li-cline-loguinov-2015.md`). Erratum: The paper prints E\[D₄\] = 1.63 where π²/6 = 1.645 is exact.

use super::detected_gaps::DetectedGaps;
use crate::process::Process;

/// G₄(nΔ); `None` before the first detection.
pub fn cdf(gaps: &DetectedGaps, n: u64) -> Option<f64> {
    let open = gaps.open()?;
    let up_to = |cap: u64| {
        gaps.counts().map(|(length, count)| length.min(cap) * count).sum::<u64>() + open.min(cap)
    };
    Some(up_to(n) as f64 / up_to(u64::MAX) as f64)
}

/// Mean of min(D₄, cap) in polls; `None` before the first detection. Uncapped it may have no variance.
pub fn mean(gaps: &DetectedGaps, cap: u64) -> Option<f64> {
    // E[min(D, cap)] = Σ_{n < cap} P(D > n)
    let open = gaps.open()?;
    let longest = gaps.counts().map(|(length, _)| length).max().unwrap_or(0).max(open);
    (0..cap.min(longest)).map(|n| Some(1.0 - cdf(gaps, n)?)).sum()
}

/// Σ terms before the rest is an integral.
const TERMS: u32 = 4_000;

/// E\[D₄\]: Euler and Maclaurin's sum of the tail of G_U over the multiples of Δ; infinite where the mean age is.
pub fn limit_mean(updates: &Process, delta: f64) -> f64 {
    if updates.mean_age().is_infinite() {
        return f64::INFINITY;
    }
    let tail = |x: f64| 1.0 - updates.age_cdf(x);
    let last = f64::from(TERMS) * delta;
    let head: f64 = (0..TERMS).map(|n| tail(f64::from(n) * delta)).sum();
    let rest = crate::integral::half_line(last, last, tail);
    delta * (head + tail(last) / 2.0 + delta * updates.age_density(last) / 12.0) + rest
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use proptest::prelude::*;

    use super::*;
    use crate::history::{History, Look};
    use crate::interval::Stream;
    use crate::interval::testing::{PAPER, any_history, history};

    /// (19), literally.
    fn literal(history: &History) -> Vec<u64> {
        let mut values = Vec::new();
        let mut since = None;
        for (at, look) in history.looks().iter().enumerate() {
            since = if at > 0 && look.changed { Some(1) } else { since.map(|n: u64| n + 1) };
            values.extend(since);
        }
        values
    }

    /// BS-33, Figure 10: Δ, 2Δ, 3Δ, 4Δ; the next detection starts anew.
    #[test]
    fn bs_33_figure_10() {
        let mut gaps = DetectedGaps::default();
        for (at, changed) in [false, true, false, false, false].into_iter().enumerate() {
            gaps.hear(Look { at: at as f64, changed, age: None });
        }
        assert_eq!([1, 2, 3, 4].map(|n| cdf(&gaps, n)), [0.25, 0.5, 0.75, 1.0].map(Some));
    }

    /// BS-34: π²/6 at Δ = 1, and the other golden values.
    #[test]
    fn bs_34_mean_of_the_stepped_age() {
        assert!((limit_mean(&PAPER, 1.0) - PI * PI / 6.0).abs() < 1e-6);
        for (delta, mean) in
            [(0.1, 1.051_663), (0.5, 1.289_868), (2.0, 2.467_401), (5.0, 5.253_475)]
        {
            assert!((limit_mean(&PAPER, delta) - mean).abs() < 1e-5, "{delta}");
        }
        assert!(limit_mean(&Process::Pareto { mean: 1.0, shape: 2.0 }, 1.0).is_infinite());
    }

    /// BS-33: G_U at the multiples of Δ on a long path; BS-34: E\[min(D₄, 10)\] = Σ_{n<10} (1 + n)^(−2).
    #[test]
    fn bs_33_a_long_path_tends_to_the_age_law() {
        let gaps = DetectedGaps::default().having_heard(&history(
            &PAPER,
            &Process::Constant { period: 1.0 },
            2e5,
            4,
        ));
        for n in 1..6u32 {
            let got = cdf(&gaps, u64::from(n)).unwrap();
            assert!((got - PAPER.age_cdf(f64::from(n))).abs() < 0.004, "{n}: {got}");
        }
        let exact: f64 = (1..=10).map(|n| 1.0 / f64::from(n * n)).sum();
        assert!((mean(&gaps, 10).unwrap() - exact).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn the_gaps_hold_exactly_the_stepped_ages(history in any_history(), n in 1u64..12) {
            let gaps = DetectedGaps::default().having_heard(&history);
            let values = literal(&history);
            let short = values.iter().filter(|&&value| value <= n).count();
            let share = (!values.is_empty()).then(|| short as f64 / values.len() as f64);
            prop_assert_eq!(cdf(&gaps, n), share);
            let capped = values.iter().map(|&value| value.min(n)).sum::<u64>() as f64;
            if let Some(mean) = mean(&gaps, n) {
                prop_assert!((mean - capped / values.len() as f64).abs() < 1e-9);
            }
        }
    }
}
