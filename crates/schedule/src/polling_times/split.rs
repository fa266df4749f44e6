//! Many sources, one budget: how many polls should each get?
//!
//! What a source's best N polls cost is convex in N, so the gain of one more poll never grows. Handing out polls one by
//! one to whoever gains most is therefore exact. Paper: B9 (`docs/papers/polling-times.md`).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What one more poll would bring a source.
#[derive(PartialEq)]
struct Offer {
    gain: f64,
    source: usize,
    /// What the source costs with that poll.
    cost: f64,
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    /// The larger gain; of equals the earlier source.
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.source.cmp(&self.source))
    }
}

/// Polls for each source, `least` at least and `total` in all as long as they gain anything; `cost(source, polls)` must
/// be convex in the polls. Asks for each cost once, and only for those it needs.
pub fn split(
    sources: usize,
    least: usize,
    total: usize,
    mut cost: impl FnMut(usize, usize) -> f64,
) -> Vec<usize> {
    let mut polls = vec![least; sources];
    let mut left = total.saturating_sub(least * sources);
    if left == 0 {
        return polls;
    }
    let mut offers: BinaryHeap<Offer> = (0..sources)
        .map(|source| {
            let (now, then) = (cost(source, least), cost(source, least + 1));
            Offer { gain: now - then, source, cost: then }
        })
        .collect();
    while let Some(Offer { gain, source, cost: now }) = offers.pop() {
        if left == 0 || gain <= 0.0 {
            break;
        }
        left -= 1;
        polls[source] += 1;
        let then = cost(source, polls[source] + 1);
        offers.push(Offer { gain: now - then, source, cost: then });
    }
    polls
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::circle;
    use super::super::cost::tests::any_history;
    use super::super::cost::{Costed, Objective};
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Against trying every split of three sources.
        #[test]
        fn the_split_is_exact(histories in prop::collection::vec(any_history(), 3), total in 3usize..14) {
            let curves: Vec<Vec<f64>> = histories
                .iter()
                .map(|history| {
                    let costed = Costed::new(history, &Objective::mixed(history.grid().slots(), 0.5)).unwrap();
                    (1..=14).map(|polls| circle::best(&costed.cost, polls).0).collect()
                })
                .collect();
            let polls = split(3, 1, total, |source, polls| curves[source][polls - 1]);
            let cost = |polls: &[usize]| polls.iter().zip(&curves).map(|(&n, curve)| curve[n - 1]).sum::<f64>();
            prop_assert!(polls.iter().sum::<usize>() <= total);
            let every = (1..=total).flat_map(|a| (1..=total).map(move |b| (a, b)));
            let least = every
                .filter(|(a, b)| a + b < total)
                .map(|(a, b)| cost(&[a, b, total - a - b]))
                .fold(f64::INFINITY, f64::min);
            prop_assert!(cost(&polls) <= least * (1.0 + 1e-12), "{polls:?}: {} over {least}", cost(&polls));
        }
    }

    #[test]
    fn nobody_gains_nothing_is_given() {
        assert_eq!(split(2, 1, 9, |_, _| 1.0), [1, 1]);
        assert_eq!(split(0, 1, 9, |_, _| 1.0), [0usize; 0]);
        assert_eq!(split(2, 2, 3, |_, _| 1.0), [2, 2]);
    }
}
