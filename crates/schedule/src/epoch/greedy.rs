//! WIC: at every instant the pages whose poll earns most now.
//!
//! ```text
//! for j = 1..N:  poll the C pages with the largest g_i(prev_i, j)
//! ```
//!
//! Never less than 1/(1+a) of the best schedule, a = max urgency(t+1)/urgency(t): half of it always, all of it where only
//! what is caught at once counts. It looks at nothing behind j, so it runs online. Ties go to the lowest index or the page
//! unpolled longest; polls that would earn nothing may be left out.
//!
//! Paper: WC-08..WC-11 (`docs/papers/pandey-dhamdhere-olston-2004.md`). Cost: O(pages) an instant; where silence leaves
//! values as they are, only pages with a chance are worked on and the rest is one comparison each.

use serde::{Deserialize, Serialize};

use super::{Epoch, Schedule};
use crate::spec::{Call, Mistake};
use crate::utility::running::Running;

/// What the paper leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Who wins among equals.
    pub ties: Ties,
    /// Whether polls that earn nothing are made.
    pub idle: Idle,
}

/// Who wins among equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ties {
    /// The page that entered first.
    #[default]
    First,
    /// The page unpolled longest.
    Longest,
}

/// What becomes of polls that would earn nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Idle {
    /// They are made, as the paper has it.
    #[default]
    Poll,
    /// They are saved.
    Skip,
}

impl Options {
    /// `ties=first|longest`, `idle=poll|skip`
    pub(crate) fn read(call: &mut Call) -> Result<Self, Mistake> {
        let word = |key: &str, value: &str, known: &str| {
            Mistake(format!("`{key}={value}` of `wic` must be {known}"))
        };
        let ties = match call.take("ties", "first".to_owned())?.as_str() {
            "first" => Ties::First,
            "longest" => Ties::Longest,
            other => return Err(word("ties", other, "`first` or `longest`")),
        };
        let idle = match call.take("idle", "poll".to_owned())?.as_str() {
            "poll" => Idle::Poll,
            "skip" => Idle::Skip,
            other => return Err(word("idle", other, "`poll` or `skip`")),
        };
        Ok(Self { ties, idle })
    }
}

/// The paper's schedule.
pub fn wic(epoch: &Epoch, options: Options) -> Schedule {
    let mut pages = Standing::new(epoch);
    let mut schedule = Schedule::empty(epoch.pages.len());
    let mut best = Vec::new();
    let chances = by_instant(epoch);
    for at in epoch.instants() {
        pages.advance(at, chances.at(epoch.place(at)));
        top(
            &pages.value,
            epoch.capacity,
            options,
            |page| schedule.polls[page].last().copied(),
            &mut best,
        );
        for &page in &best {
            schedule.polls[page].push(at);
            pages.running[page].reset();
            pages.value[page] = 0.0;
        }
    }
    schedule
}

/// g of every page.
struct Standing {
    running: Vec<Running>,
    weight: Vec<f64>,
    /// W·g
    value: Vec<f64>,
    /// Pages whose value moves in silence.
    fading: Vec<usize>,
}

impl Standing {
    /// As the epoch finds them.
    fn new(epoch: &Epoch) -> Self {
        let running = |page: &super::Page| {
            let mut running = Running::new(page.shape());
            let before = page.chances().iter().take_while(|(k, _)| *k < epoch.first);
            before.for_each(|&(k, chance)| _ = running.step(k, chance));
            running
        };
        let running: Vec<Running> = epoch.pages.iter().map(running).collect();
        let weight: Vec<f64> = epoch.pages.iter().map(super::Page::importance).collect();
        Self {
            value: running
                .iter()
                .zip(&weight)
                .map(|(running, weight)| weight * running.value())
                .collect(),
            fading: (0..running.len()).filter(|&page| !running[page].keeps()).collect(),
            running,
            weight,
        }
    }

    fn advance(&mut self, at: u32, chances: &[(u32, f64)]) {
        for &page in &self.fading {
            if self.value[page] > 0.0 {
                self.value[page] = self.weight[page] * self.running[page].step(at, 0.0);
            }
        }
        for &(page, chance) in chances {
            let page = page as usize;
            self.value[page] = self.weight[page] * self.running[page].step(at, chance);
        }
    }
}

/// The pages of the largest values, best first, in one pass.
fn top(
    value: &[f64],
    capacity: usize,
    options: Options,
    last: impl Fn(usize) -> Option<u32>,
    best: &mut Vec<usize>,
) {
    let older = |a: usize, b: usize| match options.ties {
        Ties::First => false,
        Ties::Longest => last(a) < last(b),
    };
    let beats = |a: usize, b: usize| value[a] > value[b] || (value[a] >= value[b] && older(a, b));
    best.clear();
    if capacity == 0 {
        return;
    }
    let floor = if options.idle == Idle::Skip { 0.0 } else { f64::NEG_INFINITY };
    // what the last of a full list is worth; most pages are passed over by this one comparison
    let mut least = floor;
    for page in 0..value.len() {
        if value[page] < least || value[page] <= floor {
            continue;
        }
        if best.len() == capacity {
            if !beats(page, best[capacity - 1]) {
                continue;
            }
            best.pop();
        }
        let here = best.partition_point(|&other| !beats(page, other));
        best.insert(here, page);
        if best.len() == capacity {
            least = value[best[capacity - 1]];
        }
    }
}

/// Chances turned over: for each instant, pages with their chance.
struct Turned {
    from: Vec<usize>,
    chances: Vec<(u32, f64)>,
}

impl Turned {
    fn at(&self, instant: usize) -> &[(u32, f64)] {
        &self.chances[self.from[instant]..self.from[instant + 1]]
    }
}

fn by_instant(epoch: &Epoch) -> Turned {
    let within = || {
        epoch.pages.iter().zip(0u32..).flat_map(|(page, at)| {
            page.chances
                .iter()
                .filter(|(k, _)| *k >= epoch.first)
                .map(move |&(k, chance)| (k, at, chance))
        })
    };
    let mut from = vec![0usize; epoch.len() + 1];
    within().for_each(|(k, ..)| from[epoch.place(k) + 1] += 1);
    for instant in 0..epoch.len() {
        from[instant + 1] += from[instant];
    }
    let mut next = from.clone();
    let mut chances = vec![(0u32, 0.0); from[epoch.len()]];
    for (k, page, chance) in within() {
        let slot = &mut next[epoch.place(k)];
        chances[*slot] = (page, chance);
        *slot += 1;
    }
    Turned { from, chances }
}

#[cfg(test)]
mod tests {
    use super::super::optimum::optimum;
    use super::super::tests::{alike, small};
    use super::*;
    use crate::utility::tests::{from_one, shapes};
    use crate::utility::{Decay, Shape, Stay};

    fn earned(epoch: &Epoch) -> f64 {
        epoch.utility(&wic(epoch, Options::default()))
    }

    /// WC-11 on 10,000 instances: 250 random ones for each of 5 lives × 8 urgencies.
    #[test]
    fn wc_11_never_less_than_the_promised_share_of_the_optimum() {
        let mut tried = 0;
        for (which, shape) in shapes().iter().enumerate() {
            for seed in 0..250 {
                let epoch = small(shape, seed * 64 + which as u64);
                let (greedy, best) = (earned(&epoch), optimum(&epoch).unwrap());
                let a = shape.decay.steepness(epoch.last);
                assert!(greedy * (1.0 + a) >= best - 1e-9, "{shape:?} {seed}: {greedy} {best}");
                assert!(greedy <= best + 1e-9);
                tried += 1;
            }
        }
        assert_eq!(tried, 10_000);
    }

    /// WC-11: a = 0, so what is caught at once is caught as well as anyone could.
    #[test]
    fn wc_11_sliding_window_0_is_optimal() {
        for stay in [Stay::Append, Stay::Window(2), Stay::Changes(1), Stay::Changes(3)] {
            for decay in [Decay::Window(0), Decay::Exponential(0.0)] {
                for seed in 0..300 {
                    let epoch = small(&Shape { decay: decay.clone(), stay }, seed);
                    assert!((earned(&epoch) - optimum(&epoch).unwrap()).abs() < 1e-12);
                }
            }
        }
    }

    /// WC-11: page A append π = (1, 0), page B for 0 instants π = (1 − ε, 0), one poll an instant: 1 of 2 − ε.
    #[test]
    fn wc_11_the_tight_family() {
        for epsilon in [0.5, 0.1, 0.01, 1e-6] {
            let shape = |stay| Shape { decay: Decay::Exponential(1.0), stay };
            let mut epoch = Epoch::new(1, 2, 1);
            epoch.add(1.0, &shape(Stay::Append), from_one(&[1.0, 0.0]));
            epoch.add(1.0, &shape(Stay::Window(0)), from_one(&[1.0 - epsilon, 0.0]));
            assert!((earned(&epoch) - 1.0).abs() < 1e-12);
            assert!((optimum(&epoch).unwrap() - (2.0 - epsilon)).abs() < 1e-12);
        }
    }

    /// WC-13: |P| = 3, N = 10, π = .2, π' = .5, C = 1. Only completeness: the best is 8.4, WIC has 8.2; only timeliness: 5.
    #[test]
    fn wc_13_timeliness_against_completeness() {
        let pages = [vec![0.2; 10], vec![0.2; 10], vec![0.5; 10]];
        let epoch = |decay| alike(&Shape { decay, stay: Stay::Append }, 1, &pages);
        let (complete, timely) = (epoch(Decay::Exponential(1.0)), epoch(Decay::Window(0)));
        let formula = 10.0 * 0.5 + (2.0 * 10.0 - 3.0 * 2.0 / 2.0) * 0.2;
        assert!(
            (optimum(&complete).unwrap() - formula).abs() < 1e-9 && (formula - 8.4).abs() < 1e-12
        );
        assert!((earned(&complete) - 8.2).abs() < 1e-9);
        assert!(
            (optimum(&timely).unwrap() - 5.0).abs() < 1e-9 && (earned(&timely) - 5.0).abs() < 1e-9
        );
        // WC-14: each page once in the last three instants, the liveliest last; zero-delay 5 − 2·.3 = 4.4
        let best = Schedule::of(vec![vec![8], vec![9], (1..=7).chain([10]).collect()]);
        assert!((complete.utility(&best) - 8.4).abs() < 1e-9);
        assert!((timely.utility(&best) - 4.4).abs() < 1e-9);
    }

    #[test]
    fn ties_and_idle_polls_are_options() {
        let shape = Shape { decay: Decay::Exponential(1.0), stay: Stay::Append };
        let epoch = alike(&shape, 1, &[vec![1.0, 0.0, 0.0, 0.0], vec![1.0, 0.0, 0.0, 0.0]]);
        let polls = |ties, idle| {
            let schedule = wic(&epoch, Options { ties, idle });
            [schedule.polls(0).to_vec(), schedule.polls(1).to_vec()]
        };
        assert_eq!(polls(Ties::First, Idle::Poll), [vec![1, 3, 4], vec![2]]);
        assert_eq!(polls(Ties::Longest, Idle::Poll), [vec![1, 3], vec![2, 4]]);
        assert_eq!(polls(Ties::First, Idle::Skip), [vec![1], vec![2]]);
    }

    /// An epoch may begin anywhere: cut in two, with what was left at the cut, greedy decides as in one.
    #[test]
    fn an_epoch_may_be_cut() {
        for (seed, shape) in (0..).zip(shapes()) {
            let whole = small(&shape, 1_000 + seed);
            let polls = wic(&whole, Options::default());
            let cut = whole.last / 2 + 1;
            let mut rest = Epoch::new(cut, whole.last, whole.capacity);
            for (page, polls) in whole.pages.iter().zip(&polls.polls) {
                let last = polls.iter().copied().rfind(|&at| at < cut).unwrap_or(0);
                rest.add(
                    page.importance,
                    &shape,
                    page.chances.iter().copied().filter(|&(k, _)| k > last),
                );
            }
            let again = wic(&rest, Options::default());
            for (page, polls) in polls.polls.iter().enumerate() {
                let behind: Vec<u32> = polls.iter().copied().filter(|&at| at >= cut).collect();
                assert_eq!(again.polls(page), behind, "{shape:?}");
            }
        }
    }
}
