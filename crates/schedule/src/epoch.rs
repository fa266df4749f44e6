//! An epoch: pages, the chance of a change at every instant, and at most C polls an instant. Which schedule earns most?
//!
//! ```text
//! maximise  U(S) = Σ_i Σ_{j ∈ S_i} g_i(poll before j, j)      subject to  at most C pages at any instant
//! ```
//!
//! g is [`crate::utility`]'s. U is monotone and submodular (WC-12): U(S) = Σ_i Σ_k W_i π_ik max_{j ∈ S_i, j ≥ k} v(k, j).
//! Below this file: the paper's greedy ([`greedy`]), its rival CAM and simple baselines ([`cam`]), the exact optimum of
//! small instances ([`optimum`]) and what beats greedy ([`search`]); [`crate::bound`] says how much more anyone could earn.
//!
//! Chances are kept only where there is one. Those from before the first instant are what a page has had to offer since
//! its last poll, so that an epoch may begin anywhere.
//!
//! Paper: WC-01, WC-03, WC-12 (`docs/papers/pandey-dhamdhere-olston-2004.md`).

pub mod cam;
pub mod greedy;
pub mod optimum;
pub mod search;

use std::sync::Arc;

use crate::utility::{Back, Shape};

/// A page of an epoch.
#[derive(Clone, Debug)]
pub struct Page {
    importance: f64,
    shape: Shape,
    /// Instants with a chance of a change, in order, since the poll before the epoch.
    chances: Vec<(u32, f64)>,
    /// urgency(0), urgency(1), … as far as the epoch needs; shared by pages alike.
    curve: Arc<[f64]>,
}

/// Pages, instants and what an instant can pay for.
#[derive(Clone, Debug)]
pub struct Epoch {
    first: u32,
    last: u32,
    capacity: usize,
    pages: Vec<Page>,
    /// Shapes seen so far with their curves.
    curves: Vec<(Shape, Arc<[f64]>)>,
}

/// When each page is polled, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    polls: Vec<Vec<u32>>,
}

impl Epoch {
    /// Instants `first` to `last` with `capacity` polls each, no pages yet.
    pub fn new(first: u32, last: u32, capacity: usize) -> Self {
        Self { first, last, capacity, pages: Vec::new(), curves: Vec::new() }
    }

    /// Adds a page. Chances in order of their instants, none behind the last; those of nothing are left out.
    pub fn add(
        &mut self,
        importance: f64,
        shape: &Shape,
        chances: impl IntoIterator<Item = (u32, f64)>,
    ) {
        let last = self.last;
        let chances: Vec<(u32, f64)> =
            chances.into_iter().filter(|&(k, chance)| chance > 0.0 && k <= last).collect();
        debug_assert!(chances.is_sorted_by(|a, b| a.0 < b.0));
        let longest = last - chances.first().map_or(last, |&(k, _)| k);
        let curve = self.curve(shape, longest);
        self.pages.push(Page { importance, shape: shape.clone(), chances, curve });
    }

    fn curve(&mut self, shape: &Shape, longest: u32) -> Arc<[f64]> {
        let enough = |(known, curve): &&(Shape, Arc<[f64]>)| {
            known == shape && curve.len() > longest as usize
        };
        if let Some((_, curve)) = self.curves.iter().find(enough) {
            return Arc::clone(curve);
        }
        let curve: Arc<[f64]> = shape.curve(longest.max(self.last - self.first)).into();
        self.curves.push((shape.clone(), Arc::clone(&curve)));
        curve
    }

    /// Its pages.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// C
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Every instant.
    pub fn instants(&self) -> std::ops::RangeInclusive<u32> {
        self.first..=self.last
    }

    /// How many.
    pub fn len(&self) -> usize {
        (self.last + 1).saturating_sub(self.first) as usize
    }

    /// No instant at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which of [`Epoch::instants`] this one is.
    pub(crate) fn place(&self, at: u32) -> usize {
        (at - self.first) as usize
    }

    /// U: what the schedule earns in expectation.
    pub fn utility(&self, schedule: &Schedule) -> f64 {
        self.pages.iter().zip(&schedule.polls).map(|(page, polls)| page.utility(polls)).sum()
    }
}

impl Page {
    /// Chances of instants from its last poll on.
    pub fn chances(&self) -> &[(u32, f64)] {
        &self.chances
    }

    /// W
    pub fn importance(&self) -> f64 {
        self.importance
    }

    /// Urgency and life.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The terms of g(·, at), newest first.
    pub(crate) fn back(&self, at: u32) -> Back<'_> {
        Back::new(at, &self.curve, self.shape.stay)
    }

    /// How many of its chances lie at or before `at`.
    pub(crate) fn until(&self, at: u32) -> usize {
        self.chances.partition_point(|&(k, _)| k <= at)
    }

    /// g(before, at); a page never polled yet has `before` 0.
    pub fn earns(&self, before: u32, at: u32) -> f64 {
        let reach = at.saturating_sub(self.shape.reach()).max(before + 1);
        let until = self.until(at);
        let mut back = self.back(at);
        let recent = self.chances[..until].iter().rev().take_while(|&&(k, _)| k >= reach);
        self.importance * recent.map(|&(k, chance)| back.add(k, chance)).sum::<f64>()
    }

    /// What its polls earn.
    pub fn utility(&self, polls: &[u32]) -> f64 {
        let befores = std::iter::once(0).chain(polls.iter().copied());
        befores.zip(polls).map(|(before, &at)| self.earns(before, at)).sum()
    }

    /// What a poll at `at` adds between its neighbours: g(p, j) + g(j, n) − g(p, n).
    pub fn adds(&self, before: u32, at: u32, after: Option<u32>) -> f64 {
        let own = self.earns(before, at);
        match after {
            Some(after) if own > 0.0 => own + self.earns(at, after) - self.earns(before, after),
            _ => own,
        }
    }
}

impl Schedule {
    /// No poll of any page.
    pub fn empty(pages: usize) -> Self {
        Self { polls: vec![Vec::new(); pages] }
    }

    /// From the polls of each page, in order of time.
    pub fn of(polls: Vec<Vec<u32>>) -> Self {
        debug_assert!(polls.iter().all(|polls| polls.is_sorted_by(|a, b| a < b)));
        Self { polls }
    }

    /// When a page is polled.
    pub fn polls(&self, page: usize) -> &[u32] {
        &self.polls[page]
    }

    /// Polls in all.
    pub fn len(&self) -> usize {
        self.polls.iter().map(Vec::len).sum()
    }

    /// Nothing is ever polled.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pages polled at every instant of an epoch, in order of pages.
    pub fn by_instant(&self, epoch: &Epoch) -> Vec<Vec<usize>> {
        let mut instants = vec![Vec::new(); epoch.len()];
        for (page, polls) in self.polls.iter().enumerate() {
            polls.iter().for_each(|&at| instants[epoch.place(at)].push(page));
        }
        instants
    }

    /// The polls of a page before and behind `at`, as [`Page::adds`] wants them.
    fn around(&self, page: usize, at: u32) -> (u32, Option<u32>) {
        let polls = &self.polls[page];
        let here = polls.partition_point(|&poll| poll < at);
        let behind = here + usize::from(polls.get(here) == Some(&at));
        (if here > 0 { polls[here - 1] } else { 0 }, polls.get(behind).copied())
    }

    fn insert(&mut self, page: usize, at: u32) {
        let polls = &mut self.polls[page];
        let here = polls.partition_point(|&poll| poll < at);
        polls.insert(here, at);
    }

    fn remove(&mut self, page: usize, at: u32) {
        self.polls[page].retain(|&poll| poll != at);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::utility::tests::{from_one, shapes};
    use crate::utility::{Decay, Stay};

    /// One page for each list of chances, all of one shape.
    pub(crate) fn alike(shape: &Shape, capacity: usize, chances: &[Vec<f64>]) -> Epoch {
        let last = chances.iter().map(Vec::len).max().unwrap_or(0);
        let mut epoch = Epoch::new(1, u32::try_from(last).unwrap(), capacity);
        chances.iter().for_each(|chances| epoch.add(1.0, shape, from_one(chances)));
        epoch
    }

    /// A small random instance: pages of one shape with importances of their own.
    pub(crate) fn small(shape: &Shape, seed: u64) -> Epoch {
        let draw = |about: [u64; 3]| crate::chance::draw(seed, about);
        let unit = |about| (draw(about) >> 11) as f64 / (1u64 << 53) as f64;
        let pick = |what: u64, from: u64, to: u64| from + draw([what, 0, 0]) % (to + 1 - from);
        let (pages, last, capacity) = (pick(1, 1, 3), pick(2, 1, 5), pick(3, 1, 2));
        let mut epoch =
            Epoch::new(1, u32::try_from(last).unwrap(), usize::try_from(capacity).unwrap());
        for page in 0..pages {
            let chance = |k: u64| match draw([4, page, k]) % 4 {
                0 => 0.0,
                1 => 1.0,
                _ => unit([5, page, k]),
            };
            let chances = (1..=last).map(|k| (u32::try_from(k).unwrap(), chance(k)));
            epoch.add(0.1 + 0.9 * unit([6, page, 0]), shape, chances);
        }
        epoch
    }

    proptest! {
        /// WC-12: the more is polled already, the less one more poll adds; and it never takes away.
        #[test]
        fn wc_12_diminishing_returns(
            which in 0usize..40, chances in prop::collection::vec(0.0..=1.0f64, 8),
            few in 0u32..256, more in 0u32..256, at in 1u32..=8,
        ) {
            let epoch = alike(&shapes()[which], 1, &[chances]);
            let page = &epoch.pages()[0];
            let polls = |set: u32| (1..=8).filter(|j| set >> (j - 1) & 1 == 1).collect::<Vec<u32>>();
            let with = |set: u32| page.utility(&polls(set | 1 << (at - 1))) - page.utility(&polls(set));
            prop_assert!(with(few) >= with(few | more) - 1e-12);
            prop_assert!(with(few) >= -1e-12);
            // the sum over polls is the sum over changes of the best poll behind each
            let best = |k: u32, chance: f64, set: u32| {
                let first = polls(set).into_iter().find(|&j| j >= k);
                first.map_or(0.0, |j| page.shape().earns(&page.chances()[(k - 1) as usize..j as usize], j)
                    - page.shape().earns(&page.chances()[k as usize..j as usize], j)) * f64::from(u8::from(chance > 0.0))
            };
            if page.chances().len() == 8 {
                let facility: f64 = page.chances().iter().map(|&(k, chance)| best(k, chance, few)).sum();
                prop_assert!((facility - page.utility(&polls(few))).abs() < 1e-12);
            }
        }

        #[test]
        fn what_a_poll_adds_is_the_difference(
            which in 0usize..40, chances in prop::collection::vec(0.0..=1.0f64, 8), set in 0u32..256, at in 1u32..=8,
        ) {
            let epoch = alike(&shapes()[which], 1, &[chances]);
            let page = &epoch.pages()[0];
            let polls = |set: u32| (1..=8).filter(|j| set >> (j - 1) & 1 == 1).collect::<Vec<u32>>();
            let without = set & !(1 << (at - 1));
            let schedule = Schedule::of(vec![polls(set)]);
            let (before, after) = schedule.around(0, at);
            let adds = page.utility(&polls(without | 1 << (at - 1))) - page.utility(&polls(without));
            prop_assert!((page.adds(before, at, after) - adds).abs() < 1e-12);
        }
    }

    /// X-01: certain changes, overwrite, no urgency: utility counts captured changes.
    #[test]
    fn x_01_utility_counts_what_is_captured() {
        let shape = Shape { decay: Decay::Exponential(1.0), stay: Stay::Changes(1) };
        let epoch = alike(&shape, 1, &[vec![1.0, 1.0, 0.0, 1.0, 0.0, 1.0]]);
        let utility = |polls: &[u32]| epoch.utility(&Schedule::of(vec![polls.to_vec()]));
        assert!((utility(&[3, 5]) - 2.0).abs() < 1e-15);
        assert!((utility(&[1, 2, 4, 6]) - 4.0).abs() < 1e-15);
        assert!((utility(&[6]) - 1.0).abs() < 1e-15);
    }
}
