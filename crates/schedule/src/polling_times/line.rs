//! The best polls from a fixed start: once round the circle and back to it.
//!
//! ```text
//! f_l(j) = min over i < j of f_{l−1}(i) + c(i, j)        l polls, the last at j
//! ```
//!
//! Because c is Monge, the best i never moves back as j moves on: each layer is filled from its middle outwards in
//! O(m log m) instead of O(m²). For many polls the number of layers is traded for a price λ per poll (Lagrange):
//! g(j) = min g(i) + c(i, j) + λ needs one pass with a queue of intervals, and f is convex in the number of polls, so a
//! bisection finds the λ whose best number is the one asked for. Where several numbers are best at that λ, the path with
//! fewer and the path with more polls cross, and changing over at the right crossing gives any number between.
//!
//! Paper: B9 (`docs/papers/polling-times.md`).

use std::collections::VecDeque;

use super::cost::Cost;

/// From this many polls on a price is searched for instead of filling a layer for each.
const MANY: usize = 48;
/// Halvings of the price: enough to part any two slopes of a sum that fits a double.
const HALVINGS: u32 = 60;

/// The points of a path: its start, its polls, and the start one period later.
pub(super) type Path = Vec<usize>;

/// c on the doubled circle.
pub(super) fn stretch(cost: &impl Cost, a: usize, b: usize) -> f64 {
    let m = cost.points();
    if a >= m { cost.of(a - m, b - m) } else { cost.of(a, b) }
}

/// What a path costs.
pub(super) fn total(cost: &impl Cost, path: &[usize]) -> f64 {
    path.windows(2).map(|edge| stretch(cost, edge[0], edge[1])).sum()
}

/// The cheapest path of `polls` polls, the first at `start`; fewer if more would gain nothing.
pub(super) fn from(cost: &impl Cost, start: usize, polls: usize) -> Path {
    if polls > MANY { by_price(cost, start, polls) } else { in_layers(cost, start, polls) }
}

/// … by layers, without bounds but the start.
pub(super) fn in_layers(cost: &impl Cost, start: usize, polls: usize) -> Path {
    let m = cost.points();
    let low: Vec<usize> = (0..=polls).map(|l| start + l).collect();
    let high: Vec<usize> = (0..=polls).map(|l| start + m + l - polls).collect();
    within(cost, start, &low, &high)
}

/// The cheapest path from `start` whose poll l lies between `low[l]` and `high[l]`.
pub(super) fn within(cost: &impl Cost, start: usize, low: &[usize], high: &[usize]) -> Path {
    let (m, polls) = (cost.points(), low.len() - 1);
    let bounds = |l: usize| match l {
        0 => (start, start),
        l if l == polls => (start + m, start + m),
        l => (low[l].max(start + l), high[l].min(start + m + l - polls)),
    };
    let mut best = vec![0.0];
    let mut choices: Vec<Vec<u32>> = Vec::with_capacity(polls);
    for l in 1..=polls {
        let ((first, last), (from, to)) = (bounds(l - 1), bounds(l));
        let width = to - from + 1;
        let mut layer = Layer {
            cost,
            first,
            before: &best,
            from,
            best: vec![0.0; width],
            choice: vec![0; width],
        };
        layer.fill(from, to, first, last);
        choices.push(layer.choice);
        best = layer.best;
    }
    let mut path = vec![start + m];
    for l in (1..=polls).rev() {
        let at = path[polls - l] - bounds(l).0;
        path.push(choices[l - 1][at] as usize + bounds(l - 1).0);
    }
    path.reverse();
    path
}

/// One layer in the making.
struct Layer<'a, C> {
    cost: &'a C,
    first: usize,
    before: &'a [f64],
    from: usize,
    best: Vec<f64>,
    choice: Vec<u32>,
}

impl<C: Cost> Layer<'_, C> {
    /// Fills j in `from..=to`, whose best i lie in `first..=last`.
    fn fill(&mut self, from: usize, to: usize, first: usize, last: usize) {
        let j = usize::midpoint(from, to);
        let (mut best, mut choice) = (f64::INFINITY, first);
        for i in first..=last.min(j - 1) {
            let cost = self.before[i - self.first] + stretch(self.cost, i, j);
            if cost < best {
                (best, choice) = (cost, i);
            }
        }
        self.best[j - self.from] = best;
        self.choice[j - self.from] = u32::try_from(choice - self.first).unwrap_or(u32::MAX);
        if from < j {
            self.fill(from, j - 1, first, choice);
        }
        if j < to {
            self.fill(j + 1, to, choice, last);
        }
    }
}

/// … by a price per poll.
pub(super) fn by_price(cost: &impl Cost, start: usize, polls: usize) -> Path {
    let (mut cheap, mut dear) = (0.0, stretch(cost, start, start + cost.points()));
    let (mut more, mut fewer) = (priced(cost, start, cheap), vec![start, start + cost.points()]);
    if more.len() - 1 <= polls {
        return more;
    }
    for _ in 0..HALVINGS {
        let price = f64::midpoint(cheap, dear);
        let path = priced(cost, start, price);
        match (path.len() - 1).cmp(&polls) {
            std::cmp::Ordering::Equal => return path,
            std::cmp::Ordering::Greater => (cheap, more) = (price, path),
            std::cmp::Ordering::Less => (dear, fewer) = (price, path),
        }
    }
    change_over(&fewer, &more, polls)
}

/// From one best path with fewer and one with more polls, one with exactly `polls`.
///
/// Somewhere an edge of `more` lies within an edge of `fewer`, as many polls later as are wanted beyond `fewer`'s;
/// going there by `more` and on by `fewer` costs no more (Monge).
fn change_over(fewer: &[usize], more: &[usize], polls: usize) -> Path {
    let extra = polls + 1 - fewer.len();
    let nested = |i: &usize| fewer[*i] <= more[i + extra] && more[i + extra + 1] <= fewer[i + 1];
    let at = (0..fewer.len() - 1).find(nested).unwrap_or(0);
    more[..=at + extra].iter().chain(&fewer[at + 1..]).copied().collect()
}

/// The cheapest path of any number of polls, each costing `price` too; of several the one with fewer polls.
pub(super) fn priced(cost: &impl Cost, start: usize, price: f64) -> Path {
    let m = cost.points();
    let mut best = vec![0.0; m + 1];
    let mut choice = vec![0usize; m + 1];
    // who is the best i from which j on; later i take over from the far end
    let mut reigns: VecDeque<(usize, usize)> = VecDeque::from([(0, 1)]);
    for j in 1..=m {
        while reigns.get(1).is_some_and(|&(_, from)| from <= j) {
            reigns.pop_front();
        }
        let via = |i: usize, j: usize, best: &[f64]| {
            best[i] + price + stretch(cost, start + i, start + j)
        };
        let i = reigns[0].0;
        (best[j], choice[j]) = (via(i, j, &best), i);
        if j == m {
            break;
        }
        let wins = |other: usize, at: usize| via(j, at, &best) < via(other, at, &best);
        while reigns.back().is_some_and(|&(other, from)| from > j && wins(other, from)) {
            reigns.pop_back();
        }
        match reigns.back() {
            None => reigns.push_back((j, j + 1)),
            Some(&(other, from)) => {
                // the first place from which j wins on
                let (mut low, mut high) = (from.max(j) + 1, m + 1);
                while low < high {
                    let middle = usize::midpoint(low, high);
                    if wins(other, middle) { high = middle } else { low = middle + 1 }
                }
                if low <= m {
                    reigns.push_back((j, low));
                }
            }
        }
    }
    let mut path = vec![m];
    while let Some(&last) = path.last().filter(|&&last| last > 0) {
        path.push(choice[last]);
    }
    path.reverse();
    path.iter_mut().for_each(|point| *point += start);
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cost::tests::any_history;
    use super::super::cost::{Costed, Objective};
    use super::*;

    proptest! {
        /// Layers and prices find paths of the same cost, and that cost is convex in the number of polls.
        #[test]
        fn two_ways_to_the_same_cost(history in any_history(), mixed in any::<bool>()) {
            let slots = history.grid().slots();
            let objective = if mixed { Objective::mixed(slots, 0.37) } else { Objective::recall(&history) };
            let costed = Costed::new(&history, &objective).unwrap();
            let m = costed.cost.points();
            let start = history.len() % m;
            let costs: Vec<f64> = (1..=m)
                .map(|polls| {
                    let (layered, priced) = (in_layers(&costed.cost, start, polls), by_price(&costed.cost, start, polls));
                    assert!(priced.len() - 1 <= polls);
                    let (a, b) = (total(&costed.cost, &layered), total(&costed.cost, &priced));
                    assert!((a - b).abs() <= 1e-9 * (1.0 + a), "{polls} polls: {a} in layers, {b} by price");
                    a
                })
                .collect();
            for three in costs.windows(3) {
                prop_assert!(three[0] - three[1] >= three[1] - three[2] - 1e-9 * (1.0 + three[0]));
            }
        }
    }
}
