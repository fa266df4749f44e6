//! Better than greedy: prices that know the future, then swaps until none helps.
//!
//! ```text
//! prices    λ of the tightest bound found ([`crate::bound`])
//! choose    at instant j, of every page: what it earns from here on if polled now, less what it earns if it waits,
//!               A = g(p, j) + R(j) − max_{j' > j} ( g(p, j') − λ_j' + R(j') ),   R(p) = what a page polled at p still buys
//!           and poll the C largest
//! swap      at every instant: the poll that adds least, g(p,j) + g(j,n) − g(p,n), makes room for the page that would
//!           add more; again, until nothing moves
//! ```
//!
//! Greedy takes a page as soon as it is the best now, though it may be worth more a little later, or another may be lost
//! by then. Told the same chances, the result is never below greedy: it starts from it and keeps the better.
//!
//! Paper: B10 (`docs/papers/pandey-dhamdhere-olston-2004.md`); ours. Cost: a few hundred rounds of pricing, then a few
//! sweeps of O(pages · instants).

use super::greedy::{self, Options};
use super::{Epoch, Page, Schedule};
use crate::bound::{Bound, moments, prices_of, tighten};
use crate::utility::running::Running;

/// What was found, and how good it can be at most.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best schedule.
    pub schedule: Schedule,
    /// What it earns.
    pub utility: f64,
    /// What greedy earns.
    pub greedy: f64,
    /// What no schedule can beat.
    pub bound: Bound,
}

/// How much work: rounds of pricing, in this many turns of pricing and choosing.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of pricing a turn.
    pub rounds: u32,
    /// Turns.
    pub turns: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self { rounds: 150, turns: 3 }
    }
}

impl Effort {
    /// For plans that are soon made anew.
    pub const QUICK: Self = Self { rounds: 60, turns: 1 };
}

/// Greedy, improved.
pub fn search(epoch: &Epoch, effort: Effort) -> Found {
    let schedule = greedy::wic(epoch, Options::default());
    let greedy = epoch.utility(&schedule);
    let mut bound = Bound { value: f64::INFINITY, prices: prices_of(epoch, &schedule) };
    let mut found = swap(epoch, schedule);
    for _ in 0..effort.turns {
        let reached = epoch.utility(&found);
        let tighter = tighten(epoch, &bound.prices, reached, effort.rounds);
        if tighter.value < bound.value {
            bound = tighter;
        }
        let chosen = swap(epoch, choose(epoch, &bound.prices));
        if epoch.utility(&chosen) > reached {
            found = chosen;
        }
    }
    Found { utility: epoch.utility(&found), schedule: found, greedy, bound }
}

/// Sweeps of swaps; far fewer are needed.
const SWEEPS: u32 = 50;
/// What a swap must gain to be one.
const GAIN: f64 = 1e-9;

/// Swaps pages at single instants until none helps.
pub fn swap(epoch: &Epoch, mut schedule: Schedule) -> Schedule {
    let mut here = schedule.by_instant(epoch);
    for _ in 0..SWEEPS {
        let mut moved = false;
        for at in epoch.instants() {
            moved |= sweep(epoch, &mut schedule, at, &mut here[epoch.place(at)]);
        }
        if !moved {
            break;
        }
    }
    schedule
}

/// Swaps at one instant; whether there were any.
fn sweep(epoch: &Epoch, schedule: &mut Schedule, at: u32, polled: &mut Vec<usize>) -> bool {
    let adds = |page: usize| {
        let (before, after) = schedule.around(page, at);
        (epoch.pages[page].adds(before, at, after), page)
    };
    let mut inside: Vec<(f64, usize)> = polled.iter().map(|&page| adds(page)).collect();
    let mut outside: Vec<(f64, usize)> = (0..epoch.pages.len())
        .filter(|page| !polled.contains(page))
        .map(adds)
        .filter(|(adds, _)| *adds > GAIN)
        .collect();
    inside.sort_by(|a, b| b.0.total_cmp(&a.0));
    outside.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut moved = false;
    while let Some((gain, page)) = outside.pop() {
        if polled.len() >= epoch.capacity {
            let Some((loss, least)) = inside.pop() else { break };
            if gain <= loss + GAIN {
                break;
            }
            schedule.remove(least, at);
            polled.retain(|&other| other != least);
        }
        schedule.insert(page, at);
        polled.push(page);
        moved = true;
    }
    moved
}

/// The schedule that prices suggest, instant by instant.
pub fn choose(epoch: &Epoch, prices: &[f64]) -> Schedule {
    let mut schedule = Schedule::empty(epoch.pages.len());
    let mut views: Vec<View> =
        epoch.pages.iter().map(|page| View::new(epoch, page, prices)).collect();
    let mut best: Vec<(f64, usize)> = Vec::new();
    for at in epoch.instants() {
        best.clear();
        best.extend(
            views
                .iter_mut()
                .enumerate()
                .filter_map(|(page, view)| Some((view.advantage(at)?, page))),
        );
        best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(_, page) in best.iter().take(epoch.capacity) {
            views[page].polled(&epoch.pages[page], at);
            schedule.polls[page].push(at);
        }
    }
    schedule
}

/// What a page could still buy.
struct View {
    moments: Vec<u32>,
    /// λ at the moments.
    price: Vec<f64>,
    /// R at the moments: what is bought behind a poll there.
    rest: Vec<f64>,
    /// g(p, ·) at the moments, p the last poll.
    earns: Vec<f64>,
    /// The best of g − λ + R at the moment and all behind it.
    later: Vec<f64>,
    /// The next moment.
    next: usize,
}

impl View {
    fn new(epoch: &Epoch, page: &Page, prices: &[f64]) -> Self {
        let mut at = Vec::new();
        moments(epoch, page, prices, &mut at);
        let price = at.iter().map(|&moment| prices[epoch.place(moment)]).collect();
        let size = at.len();
        let mut view = Self {
            moments: at,
            price,
            rest: vec![0.0; size],
            earns: vec![0.0; size],
            later: vec![0.0; size + 1],
            next: 0,
        };
        for moment in (0..size).rev() {
            view.look(page, Some(moment));
            view.rest[moment] = view.later[moment + 1];
        }
        view.look(page, None);
        view
    }

    /// Sees what is ahead of a poll at the moment `from`, or of none yet.
    fn look(&mut self, page: &Page, from: Option<usize>) {
        let (first, before) = from.map_or((0, 0), |from| (from + 1, self.moments[from]));
        let mut running = Running::new(page.shape());
        let mut chances = page.chances()[page.until(before)..].iter().peekable();
        for moment in first..self.moments.len() {
            let at = self.moments[moment];
            while let Some(&(k, chance)) = chances.next_if(|(k, _)| *k <= at) {
                running.step(k, chance);
            }
            self.earns[moment] = page.importance() * running.step(at, 0.0);
        }
        let size = self.moments.len();
        self.later[size] = 0.0;
        for moment in (first..size).rev() {
            let now = self.earns[moment] - self.price[moment] + self.rest[moment];
            self.later[moment] = now.max(self.later[moment + 1]);
        }
    }

    /// A at `at`; `None` where it does not want to be polled.
    fn advantage(&mut self, at: u32) -> Option<f64> {
        while self.moments.get(self.next).is_some_and(|&moment| moment < at) {
            self.next += 1;
        }
        let here = self.next;
        let wanted = self.moments.get(here) == Some(&at) && self.earns[here] > 0.0;
        wanted
            .then(|| self.earns[here] + self.rest[here] - self.later[here + 1])
            .filter(|gain| *gain > 0.0)
    }

    fn polled(&mut self, page: &Page, at: u32) {
        debug_assert_eq!(self.moments[self.next], at);
        self.look(page, Some(self.next));
    }
}

#[cfg(test)]
mod tests {
    use super::super::optimum::optimum;
    use super::super::tests::small;
    use super::*;
    use crate::utility::tests::shapes;

    #[test]
    fn b10_between_greedy_and_the_bound_and_near_the_optimum() {
        let (mut lost, mut greedy_lost, mut tried) = (0.0, 0.0, 0);
        for (which, shape) in shapes().iter().enumerate() {
            for seed in 0..40 {
                let epoch = small(shape, seed * 64 + which as u64);
                let (found, best) = (search(&epoch, Effort::default()), optimum(&epoch).unwrap());
                assert!(found.utility >= found.greedy - 1e-9, "{shape:?} {seed}");
                assert!(found.utility <= best + 1e-9 && best <= found.bound.value + 1e-9);
                let polls = found.schedule.by_instant(&epoch);
                assert!(polls.iter().all(|pages| pages.len() <= epoch.capacity()));
                if best > 0.0 {
                    lost += 1.0 - found.utility / best;
                    greedy_lost += 1.0 - found.greedy / best;
                    tried += 1;
                }
            }
        }
        let (lost, greedy_lost) = (lost / f64::from(tried), greedy_lost / f64::from(tried));
        assert!(lost < 0.002 && lost < greedy_lost / 3.0, "{lost} {greedy_lost}");
    }
}
