//! M5: M3's gaps, capped. G_U at the multiples of Δ, like M4, from fewer samples.
//!
//! ```text
//! G₅(x_n) = (1/T) Σ min(x_n, gap)  →  G_U(x_n)      over the gaps between detections (21), (22)
//! ```
//!
//! The proof's A_U⁺(sⱼ) cannot be observed but equals D₄(sⱼ) at the poll before a detection: the gap. T is the time the
//! gaps cover, so that G₅(∞) = 1; the paper divides by the whole window ([`paper_cdf`]), which leaves some out. Both
//! are M4 but for the polls outside closed gaps. Paper: BS-36..BS-39 (`docs/papers/li-cline-loguinov-2015.md`). Erratum: "20
//! %" fewer samples at λ = 1 is 1 − p = 25 %.

use super::detected_gaps::DetectedGaps;

/// Σ min(n, gap), in polls.
fn capped(gaps: &DetectedGaps, n: u64) -> f64 {
    gaps.counts().map(|(length, count)| length.min(n) * count).sum::<u64>() as f64
}

/// G₅(nΔ) over the time from the first detection to the last; `None` without a gap.
pub fn cdf(gaps: &DetectedGaps, n: u64) -> Option<f64> {
    (gaps.gaps() > 0).then(|| capped(gaps, n) / capped(gaps, u64::MAX))
}

/// G₅(nΔ) over the whole window, as printed in (21); `None` without polls.
pub fn paper_cdf(gaps: &DetectedGaps, n: u64) -> Option<f64> {
    (gaps.polls() > 0).then(|| capped(gaps, n) / gaps.polls() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::Stream;
    use crate::interval::stepped_ages;
    use crate::interval::testing::{PAPER, any_history, history};
    use crate::process::Process;

    /// BS-39: on G_U at Δ = 1 and Δ = 2, which are far from zero.
    #[test]
    fn bs_39_on_the_age_law() {
        for delta in [1.0, 2.0] {
            let gaps = DetectedGaps::default().having_heard(&history(
                &PAPER,
                &Process::Constant { period: delta },
                2e5,
                5,
            ));
            for n in 1..6u32 {
                let (got, exact) =
                    (cdf(&gaps, u64::from(n)).unwrap(), PAPER.age_cdf(f64::from(n) * delta));
                assert!((got - exact).abs() < 0.006, "{n}: {got} {exact}");
                let paper = paper_cdf(&gaps, u64::from(n)).unwrap();
                assert!((paper - exact).abs() < 0.006, "{n}: {paper} {exact}");
            }
        }
    }

    #[test]
    fn corners_are_undefined_not_zero() {
        assert_eq!(
            (cdf(&DetectedGaps::default(), 1), paper_cdf(&DetectedGaps::default(), 1)),
            (None, None)
        );
    }

    proptest! {
        /// BS-36: the same as M4 but for the gap still open: each differs by at most its share.
        #[test]
        fn m4_without_the_open_gap(history in any_history(), n in 1u64..12) {
            let gaps = DetectedGaps::default().having_heard(&history);
            if let (Some(m4), Some(m5), Some(open)) = (stepped_ages::cdf(&gaps, n), cdf(&gaps, n), gaps.open()) {
                let closed = capped(&gaps, u64::MAX);
                prop_assert!((m4 - m5).abs() <= open as f64 / (closed + open as f64) + 1e-12);
                prop_assert!((cdf(&gaps, u64::MAX).unwrap() - 1.0).abs() < 1e-12);
                prop_assert!(paper_cdf(&gaps, n).unwrap() <= m5 + 1e-12);
            }
        }
    }
}
