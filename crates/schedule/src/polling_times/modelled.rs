//! The paper's modelled strategy: the law of the first, second, … change of a period, and polls where two may meet.
//!
//! ```text
//! A, B, C …                 the 1st, 2nd, 3rd change of a period, each with its own density           (CR-21)
//! single-update interval    at most one of them possible: one poll, at its end                        (CR-13, CR-15)
//! multiple-update interval  several possible: K polls at equal steps, the last at the end
//! misses there              K · ( Σ mᵢ/K − 1 + Π(1 − mᵢ/K) )     mᵢ: the chance that i falls into it
//!                           = m_A m_B / K for two, the paper's C t²/K                                 (CR-11, CR-12)
//! Condition I               the remaining polls such that Cᵢ/Kᵢ² are equal: Kᵢ ∝ √Cᵢ; in whole polls, one by one to
//!                           where the misses fall most                                                (CR-11)
//! ```
//!
//! Too few polls for all ends: those are given up whose loss is least, all together (CR-22); what a stretch of intervals is
//! expected to miss is Monge, so the circle's solver finds them. The paper's step to the
//! greatest common divisor of the lengths is not needed, since lengths are weighed (CR-16).
//!
//! Which change of a period is the first depends on where the period begins. It is cut in its longest quiet stretch, so that a
//! change about midnight is one change, in one interval with one poll. Laws are kept by bin, never by slot, so that a day in
//! seconds is no more work than a day in minutes.
//!
//! Paper: CR-11 to CR-16, CR-21, CR-22 (`docs/papers/polling-times.md`).

use std::collections::BTreeMap;

use super::cost::Cost;
use super::history::{Grid, History};
use super::{Strategy, circle};

/// For each change of a period, first, second, …: its chance to fall into each bin.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    grid: Grid,
    /// The slot at whose end the period is cut; all others are counted from there.
    start: usize,
    /// Bin k is (edges\[k\], edges\[k + 1\]], in slots.
    edges: Vec<usize>,
    chances: Vec<Vec<f64>>,
}

/// A stretch of slots with one law.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// It is (from, to], in slots.
    pub from: usize,
    /// Where it is polled.
    pub to: usize,
    /// The chance of each change of the period to fall into it.
    pub chances: Vec<f64>,
}

/// A later change of a period is counted with this one.
const LAST: usize = 255;

impl Model {
    /// From densities that are given for every slot.
    pub fn new(grid: Grid, by_slot: &[Vec<f64>]) -> Self {
        let slots = grid.slots();
        let start = quiet(slots, 1, |slot| by_slot.iter().any(|law| law[slot] > 0.0));
        let chances = by_slot
            .iter()
            .map(|law| (1..=slots).map(|slot| law[(start + slot) % slots]).collect())
            .collect();
        Self { grid, start, edges: (0..=slots).collect(), chances }
    }

    /// From a history, uniform in each of `bins` parts of the period.
    pub fn fitted(history: &History, bins: usize) -> Self {
        let grid = history.grid();
        let bins = bins.clamp(1, grid.slots());
        let (start, changes) = ordered(history);
        let periods = periods(&changes);
        let mut chances: Vec<Vec<f64>> = Vec::new();
        for change in changes {
            if chances.len() <= change.order {
                chances.resize(change.order + 1, vec![0.0; bins]);
            }
            chances[change.order][change.bin(bins, grid)] += 1.0 / periods;
        }
        let edges = (0..=bins).map(|bin| (bin * grid.slots()).div_ceil(bins)).collect();
        Self { grid, start, edges, chances }
    }

    /// The stretches in which changes can happen, in order. Neighbours with at most one and the same possible change are
    /// one; where several are possible a stretch ends where a density changes.
    pub fn intervals(&self) -> Vec<Interval> {
        let count = |chances: &[f64]| chances.iter().filter(|&&chance| chance > 0.0).count();
        let alike = |a: &[f64], b: &[f64]| {
            let possible = |(a, b): (&f64, &f64)| (*a > 0.0) == (*b > 0.0);
            let level = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            a.iter().zip(b).all(possible) && (count(a) < 2 || a.iter().zip(b).all(level))
        };
        let mut intervals: Vec<Interval> = Vec::new();
        let mut before: Option<Vec<f64>> = None;
        for (bin, edge) in self.edges.windows(2).enumerate() {
            let here: Vec<f64> = self.chances.iter().map(|law| law[bin]).collect();
            let width = (edge[1] - edge[0]) as f64;
            let density: Vec<f64> = here.iter().map(|chance| chance / width).collect();
            match (intervals.last_mut(), &before) {
                (Some(last), Some(before)) if count(before) > 0 && alike(before, &density) => {
                    last.to = edge[1];
                    last.chances.iter_mut().zip(&here).for_each(|(sum, chance)| *sum += chance);
                }
                _ if count(&here) > 0 => {
                    intervals.push(Interval { from: edge[0], to: edge[1], chances: here });
                }
                _ => {}
            }
            before = Some(density);
        }
        intervals
    }

    /// The paper's strategy of at most `polls` polls: ends of intervals first, the rest by Condition I in whole polls.
    pub fn strategy(&self, polls: usize) -> Strategy {
        let mut intervals = self.intervals();
        if intervals.len() > polls {
            intervals = give_up(&intervals, polls);
        }
        let counts = share(&intervals, polls);
        let places = intervals.iter().zip(counts).flat_map(|(interval, count)| {
            let length = interval.to - interval.from;
            // to the nearest slot, the last at the end
            (1..=count).map(move |k| interval.from + (2 * k * length + count) / (2 * count))
        });
        self.at(places)
    }

    /// The best strategy of at most `polls` polls by the same laws: an end may be given up for a poll within an interval.
    pub fn optimum(&self, polls: usize) -> Strategy {
        let pieces: Vec<Interval> = self.intervals().iter().flat_map(Interval::pieces).collect();
        if pieces.len() <= polls {
            return self.strategy(polls);
        }
        self.at(give_up(&pieces, polls).into_iter().map(|piece| piece.to))
    }

    fn at(&self, places: impl Iterator<Item = usize>) -> Strategy {
        let moment = |slot| self.grid.moment(self.start + slot);
        Strategy::new(self.grid.period(), places.map(moment))
    }
}

/// A change by its place in its period, which is cut at some slot.
struct Placed {
    period: i64,
    /// The how-manieth of its period, from 0.
    order: usize,
    /// The slot after the cut, from 0.
    place: usize,
}

impl Placed {
    fn bin(&self, bins: usize, grid: Grid) -> usize {
        self.place * bins / grid.slots()
    }
}

/// Where the period is cut, and every change by its place after that, in order.
fn ordered(history: &History) -> (usize, Vec<Placed>) {
    let slots = history.grid().slots();
    let mut busy = vec![false; slots];
    history.at().iter().for_each(|&at| busy[history.phase(at)] = true);
    let start = quiet(slots, longest_by_chance(slots, history.len()), |slot| busy[slot]);
    let mut current = (i64::MIN, 0);
    let placed = history.at().iter().map(|&at| {
        // slot s holds what happened up to s: it is the last of the period that ends there
        let after = at - 1 - i64::try_from(start).unwrap_or(0);
        let period = after.div_euclid(i64::try_from(slots).unwrap_or(1));
        current = if current.0 == period { (period, current.1 + 1) } else { (period, 0) };
        Placed { period, order: current.1.min(LAST), place: history.phase(after) }
    });
    (start, placed.collect())
}

/// Periods from the first change to the last.
fn periods(changes: &[Placed]) -> f64 {
    let last = changes.last().zip(changes.first());
    last.map_or(1.0, |(last, first)| (last.period - first.period + 1) as f64)
}

/// A slot in the longest quiet stretch of the circle, if that is longer than `least`: a busy one with nothing after it, or a
/// quiet one; the period's own beginning if it lies there, else as round a part of the period as does.
fn quiet(slots: usize, least: usize, is_busy: impl Fn(usize) -> bool) -> usize {
    let busy: Vec<usize> = (0..slots).filter(|&slot| is_busy(slot)).collect();
    let next = busy.iter().skip(1).copied().chain(busy.first().map(|first| first + slots));
    let longest = busy.iter().copied().zip(next).max_by_key(|(from, to)| to - from);
    let Some((from, to)) = longest.filter(|(from, to)| to - from > least) else { return 0 };
    let inside = |slot: &usize| (from..to).contains(slot) || (from..to).contains(&(slot + slots));
    let round = |parts: usize| (0..parts).map(move |part| (part * slots).div_ceil(parts));
    std::iter::once(1).chain(BINS).flat_map(round).find(inside).unwrap_or(from)
}

/// A stretch g that stays quiet among n changes at random with a chance of one in a hundred: n (1 − g/s)ⁿ⁻¹ = 0.01.
fn longest_by_chance(slots: usize, changes: usize) -> usize {
    let n = changes.max(2) as f64;
    let share = 1.0 - (0.01 / n).powf(1.0 / (n - 1.0));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the slots"
    )]
    let slots = (share * slots as f64).ceil() as usize;
    slots
}

/// Bins that are tried.
const BINS: [usize; 6] = [4, 6, 12, 24, 48, 96];

/// The number of bins under which every other period is likeliest, given the rest.
pub fn best_bins(history: &History) -> usize {
    let grid = history.grid();
    let (_, changes) = ordered(history);
    let half = periods(&changes) / 2.0;
    let is_odd = |change: &Placed| change.period.rem_euclid(2) == 1;
    let likelihood = |bins: usize| -> f64 {
        let mut counts: BTreeMap<(bool, usize), Vec<f64>> = BTreeMap::new();
        for change in &changes {
            let law =
                counts.entry((is_odd(change), change.order)).or_insert_with(|| vec![0.0; bins]);
            law[change.bin(bins, grid)] += 1.0;
        }
        // the density seen in the other periods, with half an observation in every bin
        let of = |change: &Placed| {
            let law = counts.get(&(!is_odd(change), change.order));
            let seen = law.map_or(0.0, |law| law[change.bin(bins, grid)]);
            ((seen + 0.5) / (half + 0.5 * bins as f64) * bins as f64).ln()
        };
        changes.iter().map(of).sum()
    };
    let fits = BINS.into_iter().filter(|&bins| bins <= grid.slots());
    fits.max_by(|&a, &b| likelihood(a).total_cmp(&likelihood(b))).unwrap_or(1)
}

/// Parts of an interval that are told apart.
const PIECES: usize = 12;

impl Interval {
    /// E\[misses\] with this many polls at equal steps, the last at the end.
    pub fn misses(&self, polls: usize) -> f64 {
        missed(self.chances.iter().map(|chance| chance / polls as f64)) * polls as f64
    }

    /// Where polls within it may stand: [`PIECES`] of them if two changes can meet.
    fn pieces(&self) -> Vec<Self> {
        let length = self.to - self.from;
        let possible = self.chances.iter().filter(|&&chance| chance > 0.0).count();
        let pieces = if possible > 1 { PIECES.min(length) } else { 1 };
        let edge = |piece: usize| self.from + piece * length / pieces;
        let piece = |at: usize| {
            let (from, to) = (edge(at), edge(at + 1));
            let share = (to - from) as f64 / length as f64;
            Self { from, to, chances: self.chances.iter().map(|chance| chance * share).collect() }
        };
        (0..pieces).map(piece).collect()
    }

    /// C t²: the chance that two changes meet in it.
    pub fn weight(&self) -> f64 {
        let (sum, squares) =
            self.chances.iter().fold((0.0, 0.0), |(sum, squares), m| (sum + m, squares + m * m));
        (sum * sum - squares) / 2.0
    }
}

/// E\[(n − 1)⁺\] = E\[n\] − 1 + P(n = 0) of independent changes.
fn missed(chances: impl Iterator<Item = f64> + Clone) -> f64 {
    let none: f64 = chances.clone().map(|chance| 1.0 - chance.min(1.0)).product();
    let misses = chances.sum::<f64>() - 1.0 + none;
    // a chance of 1 that was added up
    if misses < 1e-12 { 0.0 } else { misses }
}

/// Whole polls over the intervals, at least one each: one by one to where the misses fall most.
pub fn share(intervals: &[Interval], polls: usize) -> Vec<usize> {
    // an interval in which two cannot meet gains nothing
    super::split::split(intervals.len(), 1, polls, |at, count| intervals[at].misses(count))
}

/// Condition I: polls in proportion to √C, not rounded.
pub fn condition_one(weights: &[f64], polls: f64) -> Vec<f64> {
    let sum: f64 = weights.iter().map(|weight| weight.sqrt()).sum();
    weights.iter().map(|weight| polls * weight.sqrt() / sum).collect()
}

/// The ends of intervals as points, and what a stretch from one end to another is expected to miss.
pub(super) struct Ends {
    /// For every interval of two periods: Σ of the chances of each change before it.
    before: Vec<Vec<f64>>,
}

impl Ends {
    pub(super) fn of(intervals: &[Interval]) -> Self {
        let changes = intervals.first().map_or(0, |interval| interval.chances.len());
        let mut before = vec![vec![0.0; changes]];
        for (at, interval) in intervals.iter().chain(intervals).enumerate() {
            let sums = before[at].iter().zip(&interval.chances).map(|(sum, chance)| sum + chance);
            before.push(sums.collect());
        }
        Self { before }
    }
}

impl Cost for Ends {
    fn points(&self) -> usize {
        self.before.len() / 2
    }

    /// The next period's changes are others than this one's, though they have their names.
    fn of(&self, a: usize, b: usize) -> f64 {
        let within = |from: usize, to: usize| {
            let (from, to) = (from.min(to), to);
            self.before[to].iter().zip(&self.before[from]).map(|(to, from)| to - from)
        };
        let m = self.points();
        let (this, next) = (within(a + 1, (b + 1).min(m)), within(m.max(a + 1), (b + 1).max(m)));
        missed(this.chain(next))
    }
}

/// Gives up ends until only `polls` are left: those whose loss is least, all together.
fn give_up(intervals: &[Interval], polls: usize) -> Vec<Interval> {
    let (_, kept) = circle::best(&Ends::of(intervals), polls);
    kept.into_iter().map(|end| intervals[end].clone()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::empirical::{self, Aim};
    use super::super::tests::{HOUR, MINUTE, hourly};
    use super::{Strategy, *};
    use crate::{Span, Time, chance};

    fn grid() -> Grid {
        Grid::new(HOUR, MINUTE).unwrap()
    }

    /// One change, uniform over (from, to].
    fn law(from: usize, to: usize) -> Vec<f64> {
        (0..60)
            .map(|slot| if slot > from && slot <= to { 1.0 / (to - from) as f64 } else { 0.0 })
            .collect()
    }

    fn two(a: f64, b: f64) -> Interval {
        Interval { from: 0, to: 10, chances: vec![a, b] }
    }

    /// CR-11: p_A = .6 and p_B = .5 at four polls miss .075.
    #[test]
    fn cr_11_two_changes_in_one_interval() {
        assert!((two(0.6, 0.5).misses(4) - 0.075).abs() < 1e-12);
        assert!((two(0.6, 0.5).weight() / 4.0 - 0.075).abs() < 1e-12);
    }

    /// CR-11: C = (1, 4, 9) and 12 polls: (2, 4, 6), objective 3.
    #[test]
    fn cr_11_condition_one() {
        let polls = condition_one(&[1.0, 4.0, 9.0], 12.0);
        assert!(polls.iter().zip([2.0, 4.0, 6.0]).all(|(a, b)| (a - b).abs() < 1e-12));
        let objective: f64 = [1.0, 4.0, 9.0].iter().zip(&polls).map(|(c, k)| c / k).sum();
        assert!((objective - 3.0).abs() < 1e-12);
    }

    /// CR-11: C = (.02, .05, .3) and 10 whole polls: (2, 2, 6), objective .085.
    #[test]
    fn cr_11_whole_polls() {
        let intervals = [two(0.2, 0.1), two(0.1, 0.5), two(0.6, 0.5)];
        let polls = share(&intervals, 10);
        assert_eq!(polls, [2, 2, 6]);
        let misses: f64 = intervals.iter().zip(polls).map(|(interval, k)| interval.misses(k)).sum();
        assert!((misses - 0.085).abs() < 1e-12);
    }

    /// CR-12: three changes: the pairs are only the leading term.
    #[test]
    fn cr_12_three_changes() {
        let three = Interval { from: 0, to: 9, chances: vec![0.5, 0.5, 0.5] };
        // by hand: E(n − 1)⁺ of Binomial(3, ½) = (3·1 + 1·2)/8
        assert!((three.misses(1) - 5.0 / 8.0).abs() < 1e-12);
        assert!(three.misses(1) < three.weight());
        assert!((three.misses(1_000) * 1_000.0 - three.weight()).abs() < 1e-3);
    }

    /// CR-13, Figure 2: three changes that cannot meet need three polls.
    #[test]
    fn cr_13_figure_2() {
        let model = Model::new(grid(), &[law(5, 15), law(20, 35), law(40, 50)]);
        assert_eq!(model.strategy(3), hourly(&[15, 35, 50]));
        assert_eq!(model.strategy(9), hourly(&[15, 35, 50]), "more would gain nothing");
        let misses: f64 = model.intervals().iter().map(|interval| interval.misses(1)).sum();
        assert!(misses.abs() < 1e-12);
    }

    fn figure_3() -> Model {
        Model::new(grid(), &[law(5, 20), law(10, 35), law(30, 40)])
    }

    /// CR-14, Figure 3: polls {10, 20, 30, 35, 40}; miss terms .266667 and .1; five more polls are three and two.
    #[test]
    fn cr_14_figure_3() {
        assert_eq!(figure_3().strategy(5), hourly(&[10, 20, 30, 35, 40]));
        let intervals = figure_3().intervals();
        let misses: Vec<f64> = intervals.iter().map(|interval| interval.misses(1)).collect();
        let expected = [0.0, 10.0 / 15.0 * 10.0 / 25.0, 0.0, 5.0 / 25.0 * 5.0 / 10.0, 0.0];
        assert!(misses.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{misses:?}");
        let polls = share(&intervals, 10);
        assert_eq!(polls, [1, 4, 1, 3, 1]);
        let total =
            |polls: &[usize]| intervals.iter().zip(polls).map(|(i, &k)| i.misses(k)).sum::<f64>();
        assert!((total(&polls) - 0.1).abs() < 1e-12);
        assert!((total(&[1, 5, 1, 2, 1]) - 0.103_333_333).abs() < 1e-8);
        assert_eq!(figure_3().strategy(10).polls().len(), 10);
    }

    /// CR-22: with fewer polls the end whose loss is least goes first.
    #[test]
    fn cr_22_too_few_polls() {
        let figure_2 = Model::new(grid(), &[law(5, 15), law(20, 35), law(40, 50)]);
        assert_eq!(figure_2.strategy(2).polls().len(), 2);
        let rare: Vec<f64> = law(20, 35).iter().map(|chance| chance * 0.1).collect();
        let model = Model::new(grid(), &[law(5, 15), rare, law(40, 50)]);
        // whichever neighbour the rare one joins, the common two stay apart
        let two = model.strategy(2);
        assert!(two == hourly(&[15, 50]) || two == hourly(&[35, 50]), "{two:?}");
        assert_eq!(model.strategy(1).polls().len(), 1);
        assert_eq!(Model::new(grid(), &[]).strategy(4).polls().len(), 0);
    }

    /// Changes drawn from laws uniform in bins.
    fn drawn(laws: &[(usize, usize)], hours: std::ops::Range<u64>, seed: u64) -> Vec<Time> {
        let mut changes: Vec<Time> = hours
            .flat_map(|hour| laws.iter().enumerate().map(move |(which, law)| (hour, which, *law)))
            .map(|(hour, which, (from, to))| {
                let span = 60 * (to - from) as u64;
                let at = hour * 3_600
                    + 60 * from as u64
                    + 1
                    + chance::draw(seed, [hour, which as u64]) % span;
                Time::from_secs(i64::try_from(at).unwrap())
            })
            .collect();
        changes.sort_unstable();
        changes
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

        /// CR-17: where densities are uniform in bins, the best strategy by the model has at least 97 % of the optimum's
        /// recall on changes neither has seen; as printed, where an end is never given up for a poll within, 94 %. Laws
        /// follow each other, each from and to a later bin than the one before: where one lies in the middle of another,
        /// first and second change hang together, and the model, which takes them for independent, can lose 5 %.
        #[test]
        fn cr_17_near_the_optimum(
            cuts in prop::collection::btree_set(0usize..=12, 2..7), wide in 1usize..4, polls in 1usize..12, seed in 0u64..1_000,
        ) {
            let cuts: Vec<usize> = cuts.into_iter().collect();
            let wide = wide.min(cuts.len() - 1);
            let laws: Vec<(usize, usize)> =
                cuts.iter().zip(&cuts[wide..]).map(|(from, to)| (5 * from, 5 * to)).collect();
            let (past, future) = (drawn(&laws, 0..400, seed), drawn(&laws, 400..2_400, seed));
            let history = History::new(grid(), &past);
            let recall = |strategy: Strategy| strategy.judge(&future).recall().unwrap();
            let model = Model::fitted(&history, 12);
            let (printed, modelled) = (recall(model.strategy(polls)), recall(model.optimum(polls)));
            let optimal = recall(empirical::optimum(&history, Aim::Recall, polls).unwrap());
            prop_assert!(modelled >= 0.97 * optimal, "{laws:?}, {polls} polls: {modelled} of {optimal}");
            prop_assert!(printed >= 0.94 * optimal, "as printed, {laws:?}, {polls} polls: {printed} of {optimal}");
        }
    }

    /// CR-15: a change that may happen on either side of the hour is one change, polled once, at the end of its interval.
    #[test]
    fn cr_15_an_interval_over_the_hour_has_one_poll() {
        let about_the_hour = |slot: usize| if (6..=55).contains(&slot) { 0.0 } else { 0.1 };
        let model = Model::new(grid(), &[(0..60).map(about_the_hour).collect()]);
        assert_eq!(model.intervals().len(), 1);
        assert_eq!(model.strategy(4), hourly(&[5]));
        let changes: Vec<Time> = (1..200u64)
            .map(|hour| i64::try_from(hour * 3_600 + chance::draw(3, [hour]) % 600).unwrap() - 299)
            .map(Time::from_secs)
            .collect();
        let fitted = Model::fitted(&History::new(grid(), &changes), 12);
        assert_eq!(fitted.strategy(4), hourly(&[5]));
        assert!(fitted.chances.len() == 1, "never two in an hour");
    }

    /// The first slot of a period ends the one before: a change on the hour is the last of that hour.
    #[test]
    fn cr_21_a_change_on_the_hour_ends_it() {
        let mut changes = drawn(&[(0, 30), (30, 59)], 0..1_000, 5);
        changes.extend((1..=1_000).map(|hour| Time::from_secs(hour * 3_600)));
        let (start, placed) = ordered(&History::new(grid(), &changes));
        assert_eq!(start, 0);
        let orders: Vec<usize> = placed.iter().map(|change| change.order).collect();
        assert!(orders.chunks(3).all(|hour| hour == [0, 1, 2]), "{orders:?}");
    }

    /// A day in seconds with a change a minute: laws by slot would need hundreds of megabytes.
    #[test]
    fn a_fine_grid_is_no_more_work() {
        let grid = Grid::new(Span::DAY.times(7), Span::from_secs(1)).unwrap();
        let changes: Vec<Time> = (0..40_000).map(|n| Time::from_secs(n * 61)).collect();
        let history = History::new(grid, &changes);
        assert_eq!(Model::fitted(&history, best_bins(&history)).strategy(24).polls().len(), 24);
    }

    #[test]
    fn bins_are_as_fine_as_the_history_bears() {
        let sharp = History::new(grid(), &drawn(&[(5, 7), (40, 42)], 0..200, 3));
        assert!(best_bins(&sharp) >= 24, "{}", best_bins(&sharp));
        let vague = |seed| best_bins(&History::new(grid(), &drawn(&[(0, 60)], 0..200, seed)));
        let coarse = (0..20).filter(|&seed| vague(seed) <= 6).count();
        assert!(coarse >= 14, "{coarse} of 20");
    }
}
