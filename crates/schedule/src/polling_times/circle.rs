//! The best polls on the circle, whatever the start.
//!
//! Two best sets of polls interleave: from the best polls P of some start x, the best polls of a start between x and
//! x's next poll lie one in each gap of P. So: (1) solve from any start; one of the best sets has a poll in its shortest
//! gap, at most s/N long; (2) solve from that gap's beginning; (3) try the starts in the gap by halving, each confined to
//! the ground between its neighbours' polls, so that one level of the halving costs no more than one layer of a solve.
//!
//! ```text
//! O(N s log s) for the two solves (O(s log s) per step of the price for many polls) + O(s log s · log(s/N))
//! ```
//!
//! against the paper's O(s³N). Paper: CR-07, CR-08; B9 (`docs/papers/polling-times.md`).

use super::cost::Cost;
use super::line::{Path, from, priced, stretch, total, within};

/// At most `polls` points, ascending, at which polling costs least, and that cost.
pub fn best(cost: &impl Cost, polls: usize) -> (f64, Vec<usize>) {
    let m = cost.points();
    if polls == 0 || m == 0 {
        return (0.0, Vec::new());
    }
    if polls >= m {
        let all: Path = (0..=m).collect();
        return (total(cost, &all), (0..m).collect());
    }
    if polls == 1 {
        let alone = |start: usize| stretch(cost, start, start + m);
        let start = (0..m).min_by(|&a, &b| alone(a).total_cmp(&alone(b))).unwrap_or(0);
        return (alone(start), vec![start]);
    }
    let first = from(cost, 0, polls);
    let (gap, start) =
        first.windows(2).map(|edge| (edge[1] - edge[0], edge[0])).min().unwrap_or((m, 0));
    let path = from(cost, start % m, polls);
    let start = path[0];
    let mut search = Search { cost, best: (total(cost, &path), path.clone()) };
    search.offer(first);
    // one poll on: where the polls of later starts can lie at most
    let next: Path = path[1..].iter().copied().chain([path[1] + m]).collect();
    search.between(&path, &next, start + 1, (start + gap).min(path[1]));
    let (cost, path) = search.best;
    let mut polls: Vec<usize> = path[..path.len() - 1].iter().map(|point| point % m).collect();
    polls.sort_unstable();
    (cost, polls)
}

struct Search<'a, C> {
    cost: &'a C,
    best: (f64, Path),
}

impl<C: Cost> Search<'_, C> {
    fn offer(&mut self, path: Path) {
        let cost = total(self.cost, &path);
        if cost < self.best.0 {
            self.best = (cost, path);
        }
    }

    /// Starts `from..=to`, whose polls lie between those of `low` and `high`.
    fn between(&mut self, low: &[usize], high: &[usize], from: usize, to: usize) {
        if from > to {
            return;
        }
        let start = usize::midpoint(from, to);
        let path = within(self.cost, start, low, high);
        self.between(low, &path, from, start - 1);
        self.between(&path, high, start + 1, to);
        self.offer(path);
    }
}

/// The best polls when their number is free and each costs `price`.
pub fn at_price(cost: &impl Cost, price: f64) -> (f64, Vec<usize>) {
    if cost.points() == 0 {
        return (0.0, Vec::new());
    }
    // a fixed start can cost a poll more than a free one, never two
    let near = priced(cost, 0, price).len() - 1;
    let tried = (near.saturating_sub(1).max(1)..=near + 1).map(|polls| best(cost, polls));
    let paid = |(cost, polls): &(f64, Vec<usize>)| cost + price * polls.len() as f64;
    tried.min_by(|a, b| paid(a).total_cmp(&paid(b))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cost::tests::any_history;
    use super::super::cost::{Costed, Expected, Objective};
    use super::super::{line, literal};
    use super::*;

    /// All sets of `polls` points.
    fn brute_force(cost: &impl Cost, polls: usize) -> f64 {
        let m = cost.points();
        (0u32..1 << m)
            .filter(|set| set.count_ones() as usize == polls)
            .map(|set| {
                let mut path: Path = (0..m).filter(|point| set >> point & 1 == 1).collect();
                path.push(path[0] + m);
                total(cost, &path)
            })
            .fold(f64::INFINITY, f64::min)
    }

    fn check(cost: &impl Cost) {
        let m = cost.points();
        let costs: Vec<f64> = (1..=m)
            .map(|polls| {
                let (found, set) = best(cost, polls);
                let expected = brute_force(cost, polls);
                assert!(
                    (found - expected).abs() <= 1e-9 * (1.0 + expected),
                    "{polls} of {m}: {found} instead of {expected}"
                );
                assert!(set.is_sorted() && set.len() == polls);
                let literal = literal::best(cost, polls);
                assert!(
                    (literal - expected).abs() <= 1e-9 * (1.0 + expected),
                    "literal: {literal} instead of {expected}"
                );
                let mut path = set.clone();
                path.push(set[0] + m);
                assert!((total(cost, &path) - found).abs() <= 1e-9 * (1.0 + found));
                found
            })
            .collect();
        for three in costs.windows(3) {
            assert!(
                three[0] - three[1] >= three[1] - three[2] - 1e-9 * (1.0 + three[0]),
                "convex: {costs:?}"
            );
        }
        for price in [0.5, 3.0, 20.0] {
            let paid = |at: usize| costs[at - 1] + price * at as f64;
            let least = (1..=m).map(paid).fold(f64::INFINITY, f64::min);
            let (cost, polls) = at_price(cost, price);
            assert!((cost + price * polls.len() as f64 - least).abs() <= 1e-9 * (1.0 + least));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        /// CR-08: the circle's optimum is brute force's and the corrected recurrence's; f(N) is convex.
        #[test]
        fn cr_08_the_optimum_is_brute_forces(history in any_history(), objective in 0usize..3) {
            let objective = match objective {
                0 => Objective::recall(&history),
                1 => Objective::delay(),
                _ => Objective::mixed(history.grid().slots(), 0.4),
            };
            check(&Costed::new(&history, &objective).unwrap().cost);
        }

        #[test]
        fn cr_08_also_for_an_expectation(rate in prop::collection::vec(0.0..3.0f64, 2..11), misses in 0.0..9.0f64) {
            check(&Expected::new(&rate, &Objective { misses, delay: 1.0, worth: None }));
        }
    }

    /// B9's golden numbers (Sia and Cho): λ(t) = 2 + 2 sin 2πt, the least delay of 1, 2 and 3 polls.
    #[test]
    fn b9_periodic_poisson() {
        const SLOTS: usize = 4_000;
        let mean = |slot: usize| {
            let edge = |at: usize| at as f64 / SLOTS as f64 * std::f64::consts::TAU;
            // ∫ over the slot before this point
            let (a, b) = (edge(slot), edge(slot + 1));
            2.0 / SLOTS as f64 + 2.0 * (a.cos() - b.cos()) / std::f64::consts::TAU
        };
        let rate: Vec<f64> = (0..SLOTS).map(|slot| mean((slot + SLOTS - 1) % SLOTS)).collect();
        let cost = Expected::new(&rate, &Objective::delay());
        let goldens: [(f64, &[f64]); 3] = [
            (0.681_690, &[0.5]),
            (0.366_287, &[0.273_62, 0.567_53]),
            (0.251_427, &[0.176_14, 0.374_94, 0.598_98]),
        ];
        for (golden, places) in goldens {
            let (delay, polls) = best(&cost, places.len());
            // a change counts from the end of its slot: half a slot later on average
            let delay = (delay + rate.iter().sum::<f64>() / 2.0) / SLOTS as f64;
            assert!((delay - golden).abs() < 1e-5, "{delay} instead of {golden}");
            for (poll, place) in polls.iter().zip(places) {
                assert!(
                    (*poll as f64 / SLOTS as f64 - place).abs() < 2e-3,
                    "{poll} instead of {place}"
                );
            }
        }
    }

    /// Many polls go by price, few by layers; on the circle they agree, too.
    #[test]
    fn many_polls_agree_with_layers() {
        let rate: Vec<f64> = (0..300u64)
            .map(|slot| (crate::chance::draw(5, [slot]) % 1_000) as f64 / 300.0)
            .collect();
        let cost = Expected::new(&rate, &Objective::mixed(300, 0.5));
        for polls in [49, 80, 150] {
            let expected = (0..300)
                .map(|start| total(&cost, &line::in_layers(&cost, start, polls)))
                .fold(f64::INFINITY, f64::min);
            let (found, _) = best(&cost, polls);
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "{polls}: {found} instead of {expected}"
            );
        }
    }
}
