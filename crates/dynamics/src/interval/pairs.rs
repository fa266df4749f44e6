//! M6: every pair of looks, by its distance. G_U for any source, from comparisons alone, where distances reach
//! everywhere.
//!
//! ```text
//! W(y_n) = pairs i < j whose distance rounds up to y_n = nh          (27)
//! Z(y_n) = those with a change between them                          (28)
//! G₆     = Z / W  →  G_U                                             (29), (30)
//! ```
//!
//! The paper compares all n² pairs. Only distances up to the reach matter, so a look meets just the k looks within it:
//! O(n·k), the same counts (B12). A bin averages G_U over its width, so its value belongs to its middle, not to its
//! right edge (BS-43). Counts of two stretches add up, with the pairs across the seam. A bin without pairs is
//! undefined. Polls on a lattice see only its multiples. Paper: BS-42..BS-45 (`docs/papers/li-cline-loguinov-2015.md`).

use std::collections::VecDeque;

use super::Stream;
use crate::history::Look;

/// Pairs counted by distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    width: f64,
    /// (W, Z) of each bin.
    bins: Vec<(u64, u64)>,
    detections: u64,
    head_changed: bool,
    /// Looks within the reach of the first one, and of the latest: (when, detections until then).
    head: Vec<(f64, u64)>,
    tail: VecDeque<(f64, u64)>,
}

/// A bin with pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Its middle.
    pub at: f64,
    /// W
    pub pairs: u64,
    /// Z
    pub changed: u64,
}

impl Bin {
    /// Z/W
    pub fn share(self) -> f64 {
        self.changed as f64 / self.pairs as f64
    }
}

impl Pairs {
    /// For distances up to `bins`·`width`; `width` must be positive.
    pub fn new(width: f64, bins: usize) -> Self {
        Self {
            width,
            bins: vec![(0, 0); bins],
            detections: 0,
            head_changed: false,
            head: Vec::new(),
            tail: VecDeque::new(),
        }
    }

    fn reach(&self) -> f64 {
        self.width * self.bins.len() as f64
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "distances are positive, and far ones saturate"
    )]
    fn count(&mut self, distance: f64, changed: bool) {
        let place = ((distance / self.width).ceil() as usize).saturating_sub(1);
        if let Some((pairs, with_change)) = self.bins.get_mut(place) {
            *pairs += 1;
            *with_change += u64::from(changed);
        }
    }

    /// Bins that have pairs, in order of distance.
    pub fn bins(&self) -> impl Iterator<Item = Bin> {
        let at = |place: usize| (place as f64 + 0.5) * self.width;
        let bins = self.bins.iter().enumerate().filter(|(_, (pairs, _))| *pairs > 0);
        bins.map(move |(place, &(pairs, changed))| Bin { at: at(place), pairs, changed })
    }

    /// G₆ at x, from the bin that holds it; `None` where no pair is that far apart.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "negative x saturate to the first bin"
    )]
    pub fn cdf(&self, x: f64) -> Option<f64> {
        let &(pairs, changed) = self.bins.get((x / self.width).floor() as usize)?;
        (pairs > 0).then(|| changed as f64 / pairs as f64)
    }
}

impl Pairs {
    /// G₆ on straight lines from zero through the middles of the bins; `None` where one of the two beside x is empty.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "negative x saturate to the first bin"
    )]
    pub fn between(&self, x: f64) -> Option<f64> {
        let place = x / self.width - 0.5;
        if place < 0.0 {
            return Some(self.cdf(0.0)? * (2.0 * x / self.width).max(0.0));
        }
        let share = |bin: usize| {
            self.bins.get(bin).filter(|(w, _)| *w > 0).map(|&(w, z)| z as f64 / w as f64)
        };
        let (low, part) = (place.floor() as usize, place.fract());
        let below = share(low)?;
        if part > 0.0 { Some(below + part * (share(low + 1)? - below)) } else { Some(below) }
    }
}

impl Stream for Pairs {
    fn hear(&mut self, look: Look) {
        match self.head.first() {
            None => self.head_changed = look.changed,
            Some(_) => self.detections += u64::from(look.changed),
        }
        let (reach, now) = (self.reach(), self.detections);
        while self.tail.front().is_some_and(|&(at, _)| look.at - at > reach) {
            self.tail.pop_front();
        }
        for place in 0..self.tail.len() {
            let (at, then) = self.tail[place];
            self.count(look.at - at, now > then);
        }
        self.tail.push_back((look.at, now));
        if self.head.first().is_none_or(|&(first, _)| look.at - first <= reach) {
            self.head.push((look.at, now));
        }
    }

    fn join(&mut self, later: Self) {
        let Some(&(start, _)) = later.head.first() else { return };
        let Some(&(first, _)) = self.head.first() else {
            *self = later;
            return;
        };
        let (reach, offset) = (self.reach(), self.detections + u64::from(later.head_changed));
        for &(at, now) in &later.head {
            for place in 0..self.tail.len() {
                let (before, then) = self.tail[place];
                self.count(at - before, offset + now > then);
            }
            if at - first <= reach {
                self.head.push((at, offset + now));
            }
        }
        for (mine, theirs) in self.bins.iter_mut().zip(&later.bins) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
        let end = later.tail.back().map_or(start, |&(at, _)| at);
        self.tail.retain(|&(at, _)| end - at <= reach);
        self.tail.extend(later.tail.iter().map(|&(at, now)| (at, offset + now)));
        self.detections = offset + later.detections;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::history::History;
    use crate::integral;
    use crate::interval::testing::{PAPER, any_history, check_joining, history};
    use crate::process::Process;

    /// (26)–(28), literally: all pairs, Q from the flags between.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "distances are positive"
    )]
    fn pairwise(history: &History, width: f64, bins: usize) -> Vec<(u64, u64)> {
        let looks = history.looks();
        let mut counts = vec![(0, 0); bins];
        for i in 0..looks.len() {
            for j in i + 1..looks.len() {
                let place = ((looks[j].at - looks[i].at) / width).ceil() as usize - 1;
                let changed = looks[i + 1..=j].iter().any(|look| look.changed);
                if let Some(bin) = counts.get_mut(place) {
                    bin.0 += 1;
                    bin.1 += u64::from(changed);
                }
            }
        }
        counts
    }

    /// BS-43: the first bins of width .05 average G_U: .047619 in the first, where its right edge has .092971.
    #[test]
    fn bs_43_a_bin_belongs_to_its_middle() {
        let average = |y: f64| integral::stretch(y - 0.05, y, |x| PAPER.age_cdf(x)) / 0.05;
        for (y, mean) in [
            (0.05, 0.047_619),
            (0.1, 0.134_199),
            (0.25, 0.333_333),
            (0.5, 0.540_230),
            (1.0, 0.743_590),
        ] {
            assert!((average(y) - mean).abs() < 1e-6, "{y}");
            let (middle, right) = (PAPER.age_cdf(y - 0.025), PAPER.age_cdf(y));
            assert!((average(y) - middle).abs() < 0.05 * (right - average(y)).abs());
        }
    }

    /// BS-45, Figure 15: at most .03 from G_U up to 3, at T = 10⁵, for exponential and uniform polls.
    #[test]
    fn bs_45_figure_15() {
        for sampling in [Process::Exponential { mean: 1.0 }, Process::Uniform { mean: 1.0 }] {
            let pairs = Pairs::new(0.05, 60).having_heard(&history(&PAPER, &sampling, 1e5, 7));
            assert_eq!(pairs.bins().count(), 60);
            for bin in pairs.bins() {
                assert!((bin.share() - PAPER.age_cdf(bin.at)).abs() < 0.03, "{bin:?}");
            }
        }
    }

    #[test]
    fn corners_are_undefined_not_zero() {
        let constant = history(&PAPER, &Process::Constant { period: 1.0 }, 30.0, 8);
        let pairs = Pairs::new(0.4, 10).having_heard(&constant);
        assert_eq!((pairs.cdf(0.2), pairs.cdf(0.5), pairs.cdf(99.0)), (None, None, None));
        assert!(pairs.cdf(0.9).is_some());
        assert_eq!(Pairs::new(1.0, 4).bins().count(), 0);
    }

    proptest! {
        /// B12: the same counts as the definition, bin by bin.
        #[test]
        fn bs_42_fast_is_pairwise(history in any_history(), width in 0.05..2.0f64, bins in 1usize..40) {
            let fast = Pairs::new(width, bins).having_heard(&history);
            prop_assert_eq!(fast.bins, pairwise(&history, width, bins));
        }

        #[test]
        fn stretches_add_up(history in any_history(), at in 0usize..80, width in 0.05..2.0f64, bins in 1usize..40) {
            check_joining(&Pairs::new(width, bins), &history, at)?;
        }

        /// BS-42: on constant polls Z(nΔ) = #{j > n : D₄(sⱼ) ≤ nΔ} once every look has a D₄.
        #[test]
        fn bs_42_constant_polls_count_stepped_ages(seed in 0u64..500, n in 1usize..8) {
            let whole = history(&PAPER, &Process::Constant { period: 1.0 }, 40.0, seed);
            let first = whole.detections().next().unwrap_or(0);
            let (_, history) = whole.cut(first);
            let looks = history.looks();
            let mut since = 1;
            let mut expected = 0;
            for (j, look) in looks.iter().enumerate().skip(1) {
                since = if look.changed { 1 } else { since + 1 };
                expected += u64::from(j >= n && since <= n);
            }
            let pairs = Pairs::new(1.0, 10).having_heard(&history);
            prop_assert_eq!(pairs.bins[n - 1].1, expected);
        }
    }
}
