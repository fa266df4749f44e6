//! How much could anyone earn? A price for every instant, and what each page would buy at those prices.
//!
//! ```text
//! U(S) ≤ L(λ) = C Σ_j λ_j + Σ_i max_S Σ_{j ∈ S} ( g_i(before, j) − λ_j )        for every λ ≥ 0
//! ```
//!
//! Whoever keeps to C polls an instant pays at most C·λ_j there, so L bounds every schedule, and the smallest L bounds
//! best. A page alone is solved exactly: best(j) = max_p best(p) + g(p, j) − λ_j, where the best p never moves back as j
//! grows (g is inverse Monge), and where j need only be an instant with a chance or a cheaper one behind it. Prices move
//! against what is bought: up where more than C pages want the instant, down where fewer (subgradient, Polyak's step).
//!
//! Paper: B10, WC-12, X-01 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Cost: a few hundred rounds over all pages,
//! each O(chances × chances between two polls).

use crate::epoch::{Epoch, Page, Schedule};

/// No schedule earns more than `value`.
#[derive(Clone, Debug)]
pub struct Bound {
    /// L(λ)
    pub value: f64,
    /// λ: what a poll is worth at each instant.
    pub prices: Vec<f64>,
}

/// Rounds without progress before the step is halved.
const PATIENCE: u32 = 8;
/// A step this small moves nothing.
const LEAST_STEP: f64 = 1e-3;
/// Close enough to what is reached.
const CLOSE: f64 = 1e-5;

/// Tightens prices from `start` for at most `rounds`; `reached` is what some schedule earns.
pub fn tighten(epoch: &Epoch, start: &[f64], reached: f64, rounds: u32) -> Bound {
    let mut best = Bound { value: f64::INFINITY, prices: start.to_vec() };
    let mut prices = start.to_vec();
    let mut course = vec![0.0; prices.len()];
    let (mut step, mut stuck) = (1.0, 0);
    for _ in 0..rounds {
        let (value, bought) = ask(epoch, &prices);
        if value < best.value - CLOSE * 1e-2 * value.abs() {
            stuck = 0;
        } else {
            stuck += 1;
        }
        if value < best.value {
            best = Bound { value, prices: prices.clone() };
        }
        if best.value <= reached * (1.0 + CLOSE) || step < LEAST_STEP {
            break;
        }
        if stuck >= PATIENCE {
            (step, stuck) = (step / 2.0, 0);
            prices.clone_from(&best.prices);
            course.fill(0.0);
        }
        let excess = |instant: usize| f64::from(bought[instant]) - epoch.capacity() as f64;
        for (instant, course) in course.iter_mut().enumerate() {
            // an idle instant that is free already cannot get cheaper
            let pull =
                if prices[instant] <= 0.0 { excess(instant).max(0.0) } else { excess(instant) };
            *course = MOMENTUM * *course + pull;
        }
        let size: f64 = course.iter().map(|x| x * x).sum();
        if size <= 0.0 {
            break;
        }
        let length = step * (value - reached).max(CLOSE * value.abs()) / size;
        prices
            .iter_mut()
            .zip(&course)
            .for_each(|(price, course)| *price = (*price + length * course).max(0.0));
    }
    best
}

/// How much of the last course is kept: zigzags cancel.
const MOMENTUM: f64 = 0.6;

/// L(λ), and how many pages buy each instant.
fn ask(epoch: &Epoch, prices: &[f64]) -> (f64, Vec<u32>) {
    let mut bought = vec![0u32; prices.len()];
    let mut table = Table::default();
    let mut value = epoch.capacity() as f64 * prices.iter().sum::<f64>();
    for page in epoch.pages() {
        value += table.solve(epoch, page, prices);
        table.polls().for_each(|at| bought[epoch.place(at)] += 1);
    }
    (value, bought)
}

/// Prices to start from: what the least useful poll of a schedule adds at each instant.
pub fn prices_of(epoch: &Epoch, schedule: &Schedule) -> Vec<f64> {
    let mut prices = vec![f64::INFINITY; epoch.len()];
    let mut polls = vec![0usize; epoch.len()];
    for (at, page) in epoch.pages().iter().enumerate() {
        let times = schedule.polls(at);
        for (n, &poll) in times.iter().enumerate() {
            let before = if n > 0 { times[n - 1] } else { 0 };
            let place = epoch.place(poll);
            prices[place] = prices[place].min(page.adds(before, poll, times.get(n + 1).copied()));
            polls[place] += 1;
        }
    }
    // an instant with room to spare is free
    let price =
        |(price, polls): (f64, usize)| if polls < epoch.capacity() { 0.0 } else { price.max(0.0) };
    prices.into_iter().zip(polls).map(price).collect()
}

/// The moments at which a page may want to be polled: where it has a chance, and behind that wherever it gets cheaper.
pub(crate) fn moments(epoch: &Epoch, page: &Page, prices: &[f64], moments: &mut Vec<u32>) {
    moments.clear();
    let (first, last) = (*epoch.instants().start(), *epoch.instants().end());
    let reach = page.shape().reach();
    let chances = page.chances();
    for (n, &(k, _)) in chances.iter().enumerate() {
        let until =
            chances.get(n + 1).map_or(last, |&(next, _)| next - 1).min(k.saturating_add(reach));
        let mut cheapest = f64::INFINITY;
        for at in k.max(first)..=until {
            let price = prices[epoch.place(at)];
            if price < cheapest {
                cheapest = price;
                moments.push(at);
            }
            if cheapest <= 0.0 {
                break;
            }
        }
    }
}

/// One page alone against the prices. Kept between pages for its room.
#[derive(Default)]
struct Table {
    moments: Vec<u32>,
    /// The best that ends with a poll at each moment, and the moment polled before it; `usize::MAX`: none.
    best: Vec<(f64, usize)>,
    last: Option<usize>,
}

impl Table {
    /// What the page earns above the prices at best.
    fn solve(&mut self, epoch: &Epoch, page: &Page, prices: &[f64]) -> f64 {
        moments(epoch, page, prices, &mut self.moments);
        self.best.clear();
        self.last = None;
        let mut most = 0.0;
        let mut lowest = None;
        for x in 0..self.moments.len() {
            let (earned, before) = self.arrive(page, x, lowest);
            lowest = before;
            let net = earned - prices[epoch.place(self.moments[x])];
            self.best.push((net, before.unwrap_or(usize::MAX)));
            if net > most {
                (most, self.last) = (net, Some(x));
            }
        }
        most
    }

    /// max_p best(p) + g(p, j) for the moment x, over p from `lowest` on.
    fn arrive(&self, page: &Page, x: usize, lowest: Option<usize>) -> (f64, Option<usize>) {
        let at = self.moments[x];
        let mut back = page.back(at);
        let mut older = page.chances()[..page.until(at)].iter().rev().peekable();
        let mut earned = 0.0;
        let mut best = (f64::NEG_INFINITY, None);
        for y in (lowest.unwrap_or(0)..x).rev() {
            while let Some(&(k, chance)) = older.next_if(|(k, _)| *k > self.moments[y]) {
                earned += page.importance() * back.add(k, chance);
            }
            let total = self.best[y].0 + earned;
            if total > best.0 {
                best = (total, Some(y));
            }
        }
        if lowest.is_none() {
            for &(k, chance) in older {
                earned += page.importance() * back.add(k, chance);
            }
            if earned > best.0 {
                best = (earned, None);
            }
        }
        best
    }

    /// The polls of the last solution, last first.
    fn polls(&self) -> impl Iterator<Item = u32> + '_ {
        let before = |&x: &usize| Some(self.best[x].1).filter(|&before| before != usize::MAX);
        std::iter::successors(self.last, before).map(|x| self.moments[x])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::greedy::{self, Options};
    use crate::epoch::optimum::optimum;
    use crate::epoch::tests::{alike, small};
    use crate::utility::tests::shapes;
    use crate::utility::{Decay, Shape, Stay};

    fn bound(epoch: &Epoch) -> Bound {
        let schedule = greedy::wic(epoch, Options::default());
        tighten(epoch, &prices_of(epoch, &schedule), epoch.utility(&schedule), 200)
    }

    #[test]
    fn b10_no_schedule_beats_the_bound() {
        for (which, shape) in shapes().iter().enumerate() {
            for seed in 0..40 {
                let epoch = small(shape, seed * 64 + which as u64);
                let (bound, best) = (bound(&epoch), optimum(&epoch).unwrap());
                assert!(bound.value >= best - 1e-9, "{shape:?} {seed}: {} {best}", bound.value);
                assert!(bound.prices.iter().all(|price| *price >= 0.0));
            }
        }
    }

    /// Any prices bound; those found should not be far off.
    #[test]
    fn the_bound_is_tight_where_the_optimum_is_known() {
        let (mut slack, mut tried) = (0.0, 0);
        for (which, shape) in shapes().iter().enumerate() {
            for seed in 0..40 {
                let epoch = small(shape, seed * 64 + which as u64);
                let best = optimum(&epoch).unwrap();
                if best > 0.0 {
                    slack += bound(&epoch).value / best - 1.0;
                    tried += 1;
                }
            }
        }
        let mean = slack / f64::from(tried);
        assert!(mean < 0.01, "{mean}");
    }

    /// One page and prices: the table against trying every set of instants.
    #[test]
    fn a_page_alone_is_solved_exactly() {
        for (which, shape) in shapes().iter().enumerate() {
            for seed in 0..30u64 {
                let unit =
                    |k: u64| crate::chance::below(1_000, seed, [which as u64, k]) as f64 / 1_000.0;
                let chances: Vec<f64> =
                    (0..7).map(|k| if k % 3 == 2 { 0.0 } else { unit(k) }).collect();
                let prices: Vec<f64> = (10..17).map(|k| unit(k) * 0.8).collect();
                let epoch = alike(shape, 1, &[chances]);
                let page = &epoch.pages()[0];
                let of = |set: u32| {
                    let polls: Vec<u32> = (1..=7).filter(|j| set >> (j - 1) & 1 == 1).collect();
                    let paid: f64 = polls.iter().map(|&at| prices[epoch.place(at)]).sum();
                    page.utility(&polls) - paid
                };
                let best = (0..128).map(of).fold(0.0, f64::max);
                let mut table = Table::default();
                assert!(
                    (table.solve(&epoch, page, &prices) - best).abs() < 1e-12,
                    "{shape:?} {seed}"
                );
            }
        }
    }

    /// Only what is caught at once: greedy is optimal, and its prices prove it.
    #[test]
    fn sliding_window_0_has_no_slack() {
        let shape = Shape { decay: Decay::Window(0), stay: Stay::Changes(1) };
        for seed in 0..50 {
            let epoch = small(&shape, seed);
            let earned = epoch.utility(&greedy::wic(&epoch, Options::default()));
            assert!((bound(&epoch).value - earned).abs() < 1e-4 * (1.0 + earned));
        }
    }
}
