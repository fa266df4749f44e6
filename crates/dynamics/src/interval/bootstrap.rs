//! How sure an estimate is: the same estimate on histories that could as well have been seen.
//!
//! A detected change is nearly a new beginning, so the stretches from one detection to the next (cycles) can be put
//! together in another order. Blocks of consecutive cycles are drawn with replacement and pasted, gaps and ages kept,
//! until there are as many cycles as before; any estimator then runs on the pasted history.
//!
//! ```text
//! block    ⌈n^(1/3)⌉ of n cycles, so that what hangs together beyond a cycle stays together
//! band     estimate ± 1.96 deviations, on a scale where estimates lie about evenly around the truth:
//!          ln for rates and means, ln(−ln(1 − G)) for shares
//! ```
//!
//! For rate, mean and the G_U of pairs the bands hold what they promise
//! (`crates/dynamics/tests/blind_sampling.rs`). For F_U from a monotone fit the ordinary bootstrap is not consistent:
//! its bands are a sketch; the mixture's G_U near one is covered in 82 to 92 % instead of 95. Paper: B11
//! (`docs/papers/li-cline-loguinov-2015.md`).

use rand::{Rng, RngExt};

use crate::history::{History, Look};

/// Below so many cycles a reshuffling says nothing.
pub const FEWEST: usize = 8;

/// The cycles of a history.
pub struct Cycles<'h> {
    looks: &'h [Look],
    /// Looks that saw a change.
    detections: Vec<usize>,
}

impl<'h> Cycles<'h> {
    /// Of this history; `None` if there are fewer than [`FEWEST`].
    pub fn of(history: &'h History) -> Option<Self> {
        let detections: Vec<usize> = history.detections().collect();
        (detections.len() > FEWEST).then(|| Self { looks: history.looks(), detections })
    }

    fn len(&self) -> usize {
        self.detections.len() - 1
    }

    /// A history that could as well have been seen.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    pub fn shuffled(&self, rng: &mut impl Rng) -> History {
        let first = self.detections[0];
        let mut looks = self.looks[first - 1..=first].to_vec();
        let block = (self.len() as f64).cbrt().ceil() as usize;
        let mut pasted = 0;
        while pasted < self.len() {
            let from = rng.random_range(0..self.len());
            for cycle in from..from + block.min(self.len() - pasted) {
                self.paste(cycle % self.len(), &mut looks);
                pasted += 1;
            }
        }
        History::new(looks).unwrap_or_default()
    }

    fn paste(&self, cycle: usize, looks: &mut Vec<Look>) {
        for at in self.detections[cycle] + 1..=self.detections[cycle + 1] {
            let gap = self.looks[at].at - self.looks[at - 1].at;
            let end = looks.last().map_or(0.0, |look| look.at);
            looks.push(Look { at: end + gap, ..self.looks[at] });
        }
    }
}

/// What kind of number is estimated: which scale it is normal on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Between 0 and 1.
    Share,
    /// Above 0.
    Positive,
}

impl Kind {
    fn forth(self, value: f64) -> f64 {
        match self {
            Self::Share => (-(-value).ln_1p()).ln(),
            Self::Positive => value.ln(),
        }
    }

    fn back(self, scaled: f64) -> f64 {
        match self {
            Self::Share => -(-scaled.exp()).exp_m1(),
            Self::Positive => scaled.exp(),
        }
    }
}

/// 95 % of a normal law lie within so many deviations.
const WIDE: f64 = 1.959_964;

/// 95 % bands around what `estimate` makes of a history, number by number; `None` where it is often undefined, or a
/// share of 0 or 1.
pub fn bands(
    history: &History,
    replicates: usize,
    rng: &mut impl Rng,
    mut estimate: impl FnMut(&History) -> Vec<(Kind, Option<f64>)>,
) -> Vec<Option<[f64; 2]>> {
    let here = estimate(history);
    let Some(cycles) = Cycles::of(history) else { return vec![None; here.len()] };
    let runs: Vec<_> = (0..replicates).map(|_| estimate(&cycles.shuffled(rng))).collect();
    let band = |(at, &(kind, value)): (usize, &(Kind, Option<f64>))| {
        let scaled = |value: Option<f64>| value.map(|v| kind.forth(v)).filter(|v| v.is_finite());
        let center = scaled(value)?;
        let values: Vec<f64> = runs.iter().filter_map(|run| scaled(run[at].1)).collect();
        let n = values.len() as f64;
        // from the estimate, not from their mean: an estimator that leans one way on reshuffled histories leans on the
        // real one
        let deviation = (values.iter().map(|v| (v - center).powi(2)).sum::<f64>() / n).sqrt();
        let enough = values.len() > 1 && values.len() * 10 >= replicates * 9;
        enough.then(|| [center - WIDE * deviation, center + WIDE * deviation].map(|v| kind.back(v)))
    };
    here.iter().enumerate().map(band).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::{PAPER, history, rng};
    use crate::process::Process;

    #[test]
    fn a_shuffled_history_has_the_same_cycles() {
        let seen = history(&PAPER, &Process::Exponential { mean: 1.0 }, 500.0, 3);
        let cycles = Cycles::of(&seen).unwrap();
        let shuffled = cycles.shuffled(&mut rng(1));
        assert_eq!(shuffled.detections().count(), seen.detections().count());
        assert_eq!(shuffled.contradictions(), 0);
        let lengths = |history: &History| -> Vec<String> {
            let at: Vec<f64> = history.detections().map(|n| history.looks()[n].at).collect();
            at.windows(2).map(|pair| format!("{:.6}", pair[1] - pair[0])).collect()
        };
        let known = lengths(&seen);
        assert!(lengths(&shuffled).iter().all(|length| known.contains(length)));
        assert_ne!(lengths(&shuffled), known);
    }

    #[test]
    fn scales_go_forth_and_back() {
        for (kind, value) in [(Kind::Share, 0.3), (Kind::Share, 0.999), (Kind::Positive, 7.0)] {
            assert!((kind.back(kind.forth(value)) - value).abs() < 1e-12);
        }
    }

    #[test]
    fn few_cycles_have_no_bands() {
        assert!(Cycles::of(&History::blind(&[0.5], &[0.0, 1.0, 2.0])).is_none());
        assert!(Cycles::of(&History::default()).is_none());
    }
}
