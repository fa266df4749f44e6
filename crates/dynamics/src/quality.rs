//! How good is the mirrored collection now, and when must it be synced?
//!
//! ```text
//! precision = |R ∩ L| / |L|,  recall = |R ∩ L| / |R|            L the copy, R the source; undefined of nothing
//! synced at 0, lives S, arrivals m a period, all independent:
//! precision(t) = S(t)
//! recall(t)    = n₀S(t) / (n₀S(t) + m ∫₀ᵗ S)                    exponential: ∫ = (1 − e^(−at))/a
//! precision ≥ q until t = −ln(q)/a
//! gone by t    Binomial(n₀, 1 − S(t))
//! ```
//!
//! | question | file |
//! | --- | --- |
//! | with objects of known ages, and everything uncertain that is? | [`outlook`] |
//! | and as looks come in, with the record kept? | [`forecaster`] |
//! | are the intervals as wide as they should be? | [`calibration`] |
//!
//! Paper: SA-01, SA-08, SA-09, SA-18 (`docs/papers/repository-quality.md`).

pub mod calibration;
pub mod forecaster;
pub mod outlook;

pub use calibration::Calibration;
pub use forecaster::{Expected, Forecaster};
pub use outlook::{Metric, Model, Outlook, Stock};

use crate::survival::Law;

/// Sizes of the copy, of the source and of what they share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// |L|
    pub copy: usize,
    /// |R|
    pub source: usize,
    /// |R ∩ L|
    pub both: usize,
}

impl Overlap {
    /// The share of the copy that is still there; `None` of an empty copy.
    pub fn precision(&self) -> Option<f64> {
        (self.copy > 0).then(|| self.both as f64 / self.copy as f64)
    }

    /// The share of the source that the copy holds; `None` of an empty source.
    pub fn recall(&self) -> Option<f64> {
        (self.source > 0).then(|| self.both as f64 / self.source as f64)
    }

    /// Either.
    pub fn quality(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Precision => self.precision(),
            Metric::Recall => self.recall(),
        }
    }
}

/// Expected precision t after a sync.
pub fn precision(law: &Law, t: f64) -> f64 {
    law.survival(t)
}

/// Expected recall t after a sync of `size` objects, `arrivals` coming in per unit of time.
pub fn recall(size: f64, law: &Law, arrivals: f64, t: f64) -> f64 {
    let kept = size * law.survival(t);
    kept / (kept + arrivals * law.presence(t))
}

/// The same where arrivals come at the end of each whole period, as if counted once a day.
pub fn recall_by_period(size: f64, law: &Law, arrivals: f64, periods: u32) -> f64 {
    let kept = size * law.survival(f64::from(periods));
    let new: f64 = (0..periods).map(|ago| arrivals * law.survival(f64::from(ago))).sum();
    kept / (kept + new)
}

/// How long precision stays at or above `target`: −ln(target)/a for a memoryless source.
pub fn sync_within(rate: f64, target: f64) -> f64 {
    -target.ln() / rate
}

/// Mean and standard deviation of how many of `size` objects are gone t after the sync.
pub fn gone(size: f64, law: &Law, t: f64) -> (f64, f64) {
    let kept = law.survival(t);
    (size * (1.0 - kept), (size * kept * (1.0 - kept)).sqrt())
}

#[cfg(test)]
mod laws_of_it {
    use proptest::prelude::*;

    use super::*;
    use crate::survival::Exponential;

    fn memoryless(rate: f64) -> Law {
        Law::Exponential(Exponential {
            rate,
            removals: 100.0,
            exposure: 100.0 / rate,
            log_likelihood: 0.0,
        })
    }

    fn check(got: f64, wanted: f64, tolerance: f64) {
        assert!((got - wanted).abs() < tolerance, "{got} instead of {wanted}");
    }

    #[test]
    fn sa_01_of_nothing_there_is_no_quality() {
        assert_eq!(Overlap::default().precision(), None);
        assert_eq!(Overlap { copy: 3, source: 0, both: 0 }.recall(), None);
        let overlap = Overlap { copy: 4, source: 5, both: 3 };
        check(overlap.precision().unwrap(), 0.75, 1e-12);
        check(overlap.recall().unwrap(), 0.6, 1e-12);
    }

    #[test]
    fn sa_08_the_papers_setting() {
        check(precision(&memoryless(0.05), 7.0), 0.704_688, 1e-6);
        check(recall(1_000.0, &memoryless(0.05), 60.0, 7.0), 0.665_389, 1e-6);
        check(recall_by_period(1_000.0, &memoryless(0.05), 60.0, 7), 0.659_823, 1e-6);
        check(recall(1_200.0, &memoryless(0.05), 60.0, 7.0), 0.704_688, 1e-6);
        check(precision(&memoryless(0.03), 12.0), 0.697_676, 1e-6);
        check(recall(43_597.0, &memoryless(0.03), 400.0, 12.0), 0.882_982, 1e-6);
    }

    #[test]
    fn sa_09_how_soon() {
        check(sync_within(0.05, 0.9), 2.107_210, 1e-6);
    }

    #[test]
    fn sa_18_synced_three_days_ago_how_many_are_gone() {
        let (mean, deviation) = gone(1_000.0, &memoryless(0.05), 3.0);
        check(mean, 139.292, 1e-3);
        check(deviation, 10.949, 1e-3);
    }

    proptest! {
        #[test]
        fn in_balance_recall_is_precision(rate in 0.001..2.0f64, size in 1.0..1e5f64, t in 0.01..50.0f64) {
            let law = memoryless(rate);
            prop_assert!((recall(size, &law, size * rate, t) - precision(&law, t)).abs() < 1e-9);
        }

        #[test]
        fn a_copy_only_gets_worse(rate in 0.001..2.0f64, arrivals in 0.0..100.0f64, t in 0.01..50.0f64) {
            let law = memoryless(rate);
            prop_assert!(precision(&law, t + 1.0) <= precision(&law, t));
            prop_assert!(recall(100.0, &law, arrivals, t + 1.0) <= recall(100.0, &law, arrivals, t) + 1e-12);
        }
    }
}
