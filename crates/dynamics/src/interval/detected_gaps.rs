//! M3: polls from one detection to the next, at a constant distance Δ. Prior art; right for Poisson sources only.
//!
//! ```text
//! r_k       the poll of the k-th detection                             (16)
//! samples   (r_{k+1} − r_k) Δ
//! Ḡ₃(x_n) = (G_U(x_{n+1}) − G_U(x_n)) / G_U(Δ)      x_n = nΔ           (18): M1's tail for constant S
//! E[D₃]   = Δ / G_U(Δ)
//! ```
//!
//! How many gaps have which length is also all that M4 and M5 need ([`super::stepped_ages`], [`super::capped_gaps`]):
//! one list of counts, as long as the longest gap, whatever the number of polls. The stretch before the first detection
//! is no gap. Paper: BS-30..BS-35 (`docs/papers/li-cline-loguinov-2015.md`). Erratum: (17) compares a count with a time.

use super::Stream;
use crate::history::Look;
use crate::process::Process;

/// Gaps between detections, counted by their length in polls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetectedGaps {
    /// How many gaps are 1, 2, … polls long.
    counts: Vec<u64>,
    polls: u64,
    head_changed: bool,
    /// Polls, counted from 0, with the first and the latest detection.
    first: Option<u64>,
    last: Option<u64>,
}

impl DetectedGaps {
    fn detect(&mut self, at: u64) {
        match self.last {
            None => self.first = Some(at),
            Some(last) => {
                let place = usize::try_from(at - last - 1).unwrap_or(usize::MAX);
                if self.counts.len() <= place {
                    self.counts.resize(place + 1, 0);
                }
                self.counts[place] += 1;
            }
        }
        self.last = Some(at);
    }

    /// (length, how many), in order of length.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        (1..).zip(self.counts.iter().copied()).filter(|&(_, count)| count > 0)
    }

    /// How many gaps.
    pub fn gaps(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// N: all polls, the first and those outside gaps too.
    pub fn polls(&self) -> u64 {
        self.polls
    }

    /// Polls from the latest detection on, that one included; `None` before any.
    pub fn open(&self) -> Option<u64> {
        self.last.map(|last| self.polls - last)
    }

    /// G₃(nΔ): share of the gaps at most n polls long; `None` without a gap.
    pub fn cdf(&self, n: u64) -> Option<f64> {
        let short: u64 =
            self.counts().filter(|&(length, _)| length <= n).map(|(_, count)| count).sum();
        (self.gaps() > 0).then(|| short as f64 / self.gaps() as f64)
    }

    /// Mean gap in polls; `None` without a gap.
    pub fn mean(&self) -> Option<f64> {
        let whole: u64 = self.counts().map(|(length, count)| length * count).sum();
        (self.gaps() > 0).then(|| whole as f64 / self.gaps() as f64)
    }
}

impl Stream for DetectedGaps {
    fn hear(&mut self, look: Look) {
        if self.polls == 0 {
            self.head_changed = look.changed;
        } else if look.changed {
            self.detect(self.polls);
        }
        self.polls += 1;
    }

    fn join(&mut self, later: Self) {
        if later.polls == 0 {
            return;
        }
        if self.polls == 0 {
            *self = later;
            return;
        }
        let offset = self.polls;
        if later.head_changed {
            self.detect(offset);
        }
        if let (Some(first), Some(last)) = (later.first, later.last) {
            self.detect(offset + first);
            self.last = Some(offset + last);
        }
        if self.counts.len() < later.counts.len() {
            self.counts.resize(later.counts.len(), 0);
        }
        self.counts.iter_mut().zip(later.counts).for_each(|(count, more)| *count += more);
        self.polls += later.polls;
    }
}

/// Ḡ₃(nΔ): what M3's tail tends to (Theorem 6).
pub fn limit_tail(updates: &Process, delta: f64, n: u32) -> f64 {
    let (low, high) = (f64::from(n) * delta, f64::from(n + 1) * delta);
    (updates.age_cdf(high) - updates.age_cdf(low)) / updates.age_cdf(delta)
}

/// E\[D₃\] = Δ/G_U(Δ)
pub fn limit_mean(updates: &Process, delta: f64) -> f64 {
    delta / updates.age_cdf(delta)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::largest_age;
    use crate::interval::testing::{PAPER, any_history, check_joining, history};

    fn heard(flags: &[bool]) -> DetectedGaps {
        let mut gaps = DetectedGaps::default();
        for (at, &changed) in flags.iter().enumerate() {
            gaps.hear(Look { at: at as f64, changed, age: None });
        }
        gaps
    }

    /// BS-30, Figure 10: detections after polls j and j + 4 are one sample of 4Δ.
    #[test]
    fn bs_30_figure_10() {
        let gaps = heard(&[false, true, false, false, false, true]);
        assert_eq!(gaps.counts().collect::<Vec<_>>(), [(4, 1)]);
        assert_eq!((gaps.cdf(3), gaps.cdf(4), gaps.mean()), (Some(0.0), Some(1.0), Some(4.0)));
    }

    #[test]
    fn corners_are_undefined_not_zero() {
        for flags in [&[][..], &[true], &[false, false, false], &[false, true]] {
            assert_eq!((heard(flags).cdf(1), heard(flags).mean()), (None, None));
        }
        assert_eq!(heard(&[false, true, true, true]).cdf(1), Some(1.0));
    }

    /// BS-34: E\[D₃\] = 4/3 for the paper's source at Δ = 1; and its simulation.
    #[test]
    fn bs_34_mean_gap() {
        assert!((limit_mean(&PAPER, 1.0) - 4.0 / 3.0).abs() < 1e-12);
        let gaps = DetectedGaps::default().having_heard(&history(
            &PAPER,
            &Process::Constant { period: 1.0 },
            2e5,
            3,
        ));
        assert!((gaps.mean().unwrap() - 4.0 / 3.0).abs() < 0.01);
        for n in 1..6u32 {
            let tail = 1.0 - gaps.cdf(u64::from(n)).unwrap();
            assert!((tail - limit_tail(&PAPER, 1.0, n)).abs() < 0.003, "{n}: {tail}");
        }
    }

    proptest! {
        #[test]
        fn stretches_add_up(history in any_history(), at in 0usize..80) {
            check_joining(&DetectedGaps::default(), &history, at)?;
        }

        /// BS-48: at x_n the tail is M1's for constant S.
        #[test]
        fn bs_48_the_tail_is_m1s(delta in 0.1..3.0f64, n in 0u32..8) {
            let m1 = largest_age::limit_tail(&PAPER, &Process::Constant { period: delta }, f64::from(n) * delta);
            prop_assert!((limit_tail(&PAPER, delta, n) - m1).abs() < 1e-9);
        }
    }
}
