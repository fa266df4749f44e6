//! What a stretch of the circle costs when it is polled at both ends and nowhere between.
//!
//! ```text
//! misses     Σ over periods of max(0, n − 1)                     n changes in (a, b]
//! delay      Σ over changes of (b − u)                          all changes, not only the captured
//! worth      Σ over what the poll still finds of 1 − U(b − u)   U falls from 1; life overwrite: the newest
//!            change of the stretch (what it overwrote loses 1), append: all of them
//! expected   misses Λ − (1 − e^(−Λ)) and delay ∫(b − t)λ(t)dt   of a Poisson process with a profile λ
//! ```
//!
//! All are *Monge*: c(a, c) + c(b, d) ≤ c(a, d) + c(b, c) for a ≤ b ≤ c ≤ d ≤ a + s, and so is every mixture with
//! weights ≥ 0. That alone makes the fast solvers right. (The delay of only the captured change is not Monge.)
//!
//! None of them gains by polling later than the last change seen, so polls may stand where changes stood: the points of
//! a history are its distinct slots, at most as many as there are changes. Misses are counted as neighbouring changes
//! that lie in one stretch, which needs no walk over periods. Ties between strategies with the same number of misses
//! are broken by least delay.
//!
//! Paper: CR-05, CR-06, CR-10; B9 (`docs/papers/polling-times.md`).

use super::Strategy;
use super::history::History;
use crate::spec::Mistake;
use crate::utility::Life;

/// What stretches cost, between points 0 to m on a circle.
pub trait Cost {
    /// m
    fn points(&self) -> usize;
    /// The cost of the stretch (a, b], a < m, a < b ≤ a + m.
    fn of(&self, a: usize, b: usize) -> f64;
}

/// What is to be avoided, as weights of a mixture.
#[derive(Clone, Copy, Default)]
pub struct Objective<'u> {
    /// The price of a change that is never seen.
    pub misses: f64,
    /// The price of every change's waiting for a slot.
    pub delay: f64,
    /// Worth that fades while a change waits.
    pub worth: Option<Worth<'u>>,
}

/// What a change is worth to the poll that finds it.
#[derive(Clone, Copy)]
pub struct Worth<'u> {
    /// The price of worth lost.
    pub price: f64,
    /// What becomes of a change when the next one comes: `overwrite` or `append`.
    pub life: Life,
    /// U, by slots waited.
    pub urgency: &'u dyn Fn(usize) -> f64,
}

impl Objective<'_> {
    /// As few misses as possible, and among those the least delay.
    pub fn recall(history: &History) -> Self {
        let most = history.len().saturating_mul(history.grid().slots());
        Self { misses: most as f64 + 1.0, delay: 1.0, worth: None }
    }

    /// Least delay.
    pub fn delay() -> Self {
        Self { misses: 0.0, delay: 1.0, worth: None }
    }

    /// A miss is as bad as a change's waiting for this share of a period: a wise choice where recall is near its
    /// ceiling anyway.
    pub fn mixed(slots: usize, share: f64) -> Self {
        Self { misses: slots as f64 * share, delay: 1.0, worth: None }
    }
}

/// The points of a history: its distinct slots within the period, ascending, with the changes at each.
struct Points {
    slots: usize,
    slot: Vec<usize>,
    /// Changes at each point.
    count: Vec<f64>,
    /// Slots from each change to the next one, point after point, ascending within a point; only those below a period.
    gaps: Vec<usize>,
    /// Where each point's gaps begin, and where the last end.
    from: Vec<usize>,
}

impl Points {
    fn of(history: &History) -> Self {
        let slots = history.grid().slots();
        let mut events: Vec<(usize, usize)> = history
            .at()
            .iter()
            .enumerate()
            .map(|(i, &at)| {
                let gap = history.at().get(i + 1).map_or(i64::MAX, |next| next - at);
                (history.phase(at), usize::try_from(gap).unwrap_or(usize::MAX))
            })
            .collect();
        events.sort_unstable();
        let mut points =
            Self { slots, slot: Vec::new(), count: Vec::new(), gaps: Vec::new(), from: vec![0] };
        for event in events.chunk_by(|a, b| a.0 == b.0) {
            points.slot.push(event[0].0);
            points.count.push(event.len() as f64);
            points.gaps.extend(event.iter().map(|&(_, gap)| gap).filter(|&gap| gap < slots));
            points.from.push(points.gaps.len());
        }
        points
    }

    fn len(&self) -> usize {
        self.slot.len()
    }

    /// The slot of a point, also of the next period's.
    fn place(&self, point: usize) -> usize {
        let m = self.len();
        self.slot[point % m] + point / m * self.slots
    }

    fn strategy(&self, history: &History, polls: &[usize]) -> Strategy {
        let grid = history.grid();
        Strategy::new(grid.period(), polls.iter().map(|&poll| grid.moment(self.slot[poll])))
    }
}

/// Every stretch's cost worked out beforehand: for any objective, and up to [`Table::MOST`] points.
pub struct Table {
    points: usize,
    /// `cells[b][L − 1]`: the stretch of L points that ends at point b.
    cells: Vec<f64>,
}

impl Table {
    /// Points of the largest table: 72 MB.
    pub const MOST: usize = 3_000;

    fn build(points: &Points, objective: &Objective<'_>) -> Self {
        let m = points.len();
        let mut cells = vec![0.0; m * m];
        // gaps of point x no longer than the way from x to the end of the stretch
        let mut within = vec![0usize; m];
        for (end, row) in cells.chunks_mut(m.max(1)).enumerate() {
            within[end] = 0;
            let mut cost = 0.0;
            for (steps, cell) in row.iter_mut().enumerate() {
                let x = if steps <= end { end - steps } else { end + m - steps };
                let way = if steps <= end {
                    points.slot[end] - points.slot[x]
                } else {
                    points.slot[end] + points.slots - points.slot[x]
                };
                let gaps = &points.gaps[points.from[x]..points.from[x + 1]];
                let mut inside = within[x];
                while gaps.get(inside).is_some_and(|&gap| gap <= way) {
                    inside += 1;
                }
                within[x] = inside;
                let (all, missed) = (points.count[x], inside as f64);
                cost += objective.misses * missed + objective.delay * all * way as f64;
                if let Some(Worth { price, life, urgency }) = objective.worth {
                    let found = if life == Life::Append { all } else { all - missed };
                    cost += price * (all - found * urgency(way));
                }
                *cell = cost;
            }
        }
        Self { points: m, cells }
    }
}

impl Cost for Table {
    fn points(&self) -> usize {
        self.points
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        let end = if b >= self.points { b - self.points } else { b };
        self.cells[end * self.points + (b - a - 1)]
    }
}

/// Misses and delay counted when asked, for histories with more points than a table holds.
pub struct Counted {
    misses: f64,
    delay: f64,
    points: usize,
    /// Over two periods: slots, changes before each point, Σ of their slots.
    place: Vec<f64>,
    before: Vec<(f64, f64)>,
    /// Neighbouring changes less than a period apart, by the point of the first; the second's point is the key.
    pairs: WaveletMatrix,
    from: Vec<usize>,
}

impl Counted {
    fn build(points: &Points, objective: &Objective<'_>) -> Self {
        let m = points.len();
        let place: Vec<f64> = (0..2 * m).map(|x| points.place(x) as f64).collect();
        let mut before = vec![(0.0, 0.0)];
        let (mut keys, mut from) = (Vec::new(), vec![0]);
        for x in 0..2 * m {
            let (n, sum) = before[x];
            let count = points.count[x % m];
            before.push((n + count, sum + count * place[x]));
            let gaps = &points.gaps[points.from[x % m]..points.from[x % m + 1]];
            keys.extend(gaps.iter().map(|gap| {
                let slot = points.slot[x % m] + gap;
                let lap = slot / points.slots;
                let at = points.slot.partition_point(|&other| other < slot % points.slots);
                u32::try_from(x / m * m + lap * m + at).unwrap_or(u32::MAX)
            }));
            from.push(keys.len());
        }
        let pairs = WaveletMatrix::new(keys);
        Self {
            misses: objective.misses,
            delay: objective.delay,
            points: m,
            place,
            before,
            pairs,
            from,
        }
    }
}

impl Cost for Counted {
    fn points(&self) -> usize {
        self.points
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        // the stretch may end on its own start, one period later: two periods hold all of it
        let ((n, sum), (n0, sum0)) = (self.before[b + 1], self.before[a + 1]);
        let delay = (n - n0) * self.place[b] - (sum - sum0);
        let missed = self.pairs.up_to(self.from[a + 1], self.from[b + 1], b);
        self.misses * missed as f64 + self.delay * delay
    }
}

/// How many of the keys at places l to r are at most k? In one step per bit of the largest key.
struct WaveletMatrix {
    /// From the highest bit down: bits in words, ones before each word, zeros in all.
    levels: Vec<(Vec<u64>, Vec<u32>, usize)>,
}

impl WaveletMatrix {
    fn new(mut keys: Vec<u32>) -> Self {
        let bits = keys.iter().max().map_or(0, |most| 32 - most.leading_zeros());
        let mut levels = Vec::new();
        for bit in (0..bits).rev() {
            let mut words = vec![0u64; keys.len() / 64 + 1];
            for (at, key) in keys.iter().enumerate() {
                words[at / 64] |= u64::from(key >> bit & 1) << (at % 64);
            }
            let counted = words.iter().scan(0, |ones, word| {
                let before = *ones;
                *ones += word.count_ones();
                Some(before)
            });
            let before: Vec<u32> = counted.collect();
            let (zero, one): (Vec<u32>, Vec<u32>) =
                keys.iter().partition(|&key| key >> bit & 1 == 0);
            let zeros = zero.len();
            keys = zero;
            keys.extend(one);
            levels.push((words, before, zeros));
        }
        Self { levels }
    }

    fn up_to(&self, mut l: usize, mut r: usize, k: usize) -> usize {
        if k >> self.levels.len() != 0 {
            return r - l;
        }
        let mut below = 0;
        for (level, (words, before, zeros)) in self.levels.iter().enumerate() {
            let ones = |at: usize| {
                let mask = (1u64 << (at % 64)) - 1;
                before[at / 64] as usize + (words[at / 64] & mask).count_ones() as usize
            };
            let (l1, r1) = (ones(l), ones(r));
            if k >> (self.levels.len() - 1 - level) & 1 == 1 {
                below += (r - l) - (r1 - l1);
                (l, r) = (zeros + l1, zeros + r1);
            } else {
                (l, r) = (l - l1, r - r1);
            }
        }
        below + (r - l)
    }
}

/// A history's cost, in whichever form fits it.
pub enum Empirical {
    /// Few points.
    Table(Table),
    /// Many.
    Counted(Counted),
}

/// A history's cost with the way back from points to moments.
pub struct Costed<'h> {
    /// What to minimise.
    pub cost: Empirical,
    history: &'h History,
    points: Points,
}

impl<'h> Costed<'h> {
    /// Weighs the stretches of a history.
    pub fn new(history: &'h History, objective: &Objective<'_>) -> Result<Self, Mistake> {
        if let Some(Worth { life: life @ (Life::Last(_) | Life::For(_)), .. }) = objective.worth {
            let problem =
                format!("polling times know the lives `overwrite` and `append`, not `{life}`");
            return Err(Mistake(problem));
        }
        let points = Points::of(history);
        let cost = if points.len() <= Table::MOST {
            Empirical::Table(Table::build(&points, objective))
        } else if objective.worth.is_some() {
            return Err(Mistake(format!(
                "worth with an urgency needs a table, and {} different slots are more than {}; take a coarser grid",
                points.len(),
                Table::MOST
            )));
        } else {
            Empirical::Counted(Counted::build(&points, objective))
        };
        Ok(Self { cost, history, points })
    }

    /// Points as a strategy.
    pub fn strategy(&self, polls: &[usize]) -> Strategy {
        self.points.strategy(self.history, polls)
    }
}

impl Cost for Empirical {
    fn points(&self) -> usize {
        match self {
            Self::Table(table) => table.points(),
            Self::Counted(counted) => counted.points(),
        }
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        match self {
            Self::Table(table) => table.of(a, b),
            Self::Counted(counted) => counted.of(a, b),
        }
    }
}

/// What a profile makes one expect: every slot is a point.
pub struct Expected {
    misses: f64,
    delay: f64,
    /// Over two periods: expected changes before each slot, Σ of their slots.
    before: Vec<(f64, f64)>,
}

impl Expected {
    /// From the number of changes expected in each slot, as a Poisson process.
    pub fn new(rate: &[f64], objective: &Objective<'_>) -> Self {
        let mut before = vec![(0.0, 0.0)];
        for (slot, changes) in rate.iter().chain(rate).enumerate() {
            let (n, sum) = before[slot];
            before.push((n + changes, sum + changes * slot as f64));
        }
        Self { misses: objective.misses, delay: objective.delay, before }
    }
}

impl Cost for Expected {
    fn points(&self) -> usize {
        self.before.len() / 2
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        let ((n, sum), (n0, sum0)) = (self.before[b + 1], self.before[a + 1]);
        let changes = n - n0;
        let delay = changes * b as f64 - (sum - sum0);
        self.misses * missed(changes) + self.delay * delay
    }
}

/// Λ − (1 − e^(−Λ)), which cancels for small Λ: misses to be expected where Λ changes are.
pub(super) fn missed(expected: f64) -> f64 {
    if expected < 1e-4 { expected * expected / 2.0 } else { expected + (-expected).exp_m1() }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use proptest::strategy::Strategy;

    use super::super::history::Grid;
    use super::super::modelled::{Ends, Model};
    use super::super::tests::{HOUR, table_1};
    use super::*;
    use crate::{Span, Time};

    /// A history on a small grid: 3,600 s in `slots` steps, from gaps in slots.
    pub(in super::super) fn history(slots: i64, gaps: &[i64]) -> History {
        let step = Span::from_micros(HOUR.micros() / slots);
        let grid = Grid::new(step.times(slots), step).unwrap();
        let mut at = 0;
        let changes: Vec<Time> = gaps
            .iter()
            .map(|gap| {
                at += gap;
                Time::from_micros(at * step.micros())
            })
            .collect();
        History::new(grid, &changes)
    }

    pub(in super::super) fn any_history() -> impl Strategy<Value = History> {
        (4i64..14, prop::collection::vec(0i64..18, 1..40))
            .prop_map(|(slots, gaps)| history(slots, &gaps))
    }

    /// By walking over every period.
    fn walked(history: &History, a: i64, b: i64, price: (f64, f64)) -> f64 {
        let slots = i64::try_from(history.grid().slots()).unwrap();
        let last = history.at().last().map_or(0, |at| at / slots);
        let mut cost = 0.0;
        for period in -2..=last + 1 {
            let inside = |&&u: &&i64| u > a + period * slots && u <= b + period * slots;
            let here: Vec<i64> = history.at().iter().filter(inside).copied().collect();
            let waited: i64 = here.iter().map(|u| b + period * slots - u).sum();
            cost += price.0 * here.len().saturating_sub(1) as f64 + price.1 * waited as f64;
        }
        cost
    }

    fn fading(slots: usize) -> f64 {
        0.8f64.powi(i32::try_from(slots).unwrap_or(i32::MAX))
    }

    fn window(slots: usize) -> f64 {
        f64::from(u8::from(slots < 4))
    }

    /// Every cost we offer, on one history.
    fn offered(history: &History) -> Vec<(&'static str, Box<dyn Cost>)> {
        let points = Points::of(history);
        let worth = |life, urgency| Objective {
            worth: Some(Worth { price: 1.0, life, urgency }),
            ..Objective::default()
        };
        let slots = history.grid().slots();
        let mut rate = vec![0.01; slots];
        history.at().iter().for_each(|&at| rate[history.phase(at)] += 0.3);
        let table =
            |objective: &Objective<'_>| Box::new(Table::build(&points, objective)) as Box<dyn Cost>;
        vec![
            ("recall", table(&Objective::recall(history))),
            ("delay", table(&Objective::delay())),
            ("mixed", table(&Objective::mixed(slots, 0.5))),
            ("overwrite, fading", table(&worth(Life::Overwrite, &fading))),
            ("overwrite, window", table(&worth(Life::Overwrite, &window))),
            ("append, fading", table(&worth(Life::Append, &fading))),
            ("append, window", table(&worth(Life::Append, &window))),
            (
                "all at once",
                table(&Objective {
                    misses: 2.0,
                    delay: 0.1,
                    worth: Some(Worth { price: 3.0, life: Life::Overwrite, urgency: &fading }),
                }),
            ),
            ("counted", Box::new(Counted::build(&points, &Objective::mixed(slots, 0.5)))),
            ("expected", Box::new(Expected::new(&rate, &Objective::mixed(slots, 0.5)))),
            ("modelled", Box::new(Ends::of(&Model::fitted(history, 6).intervals()))),
        ]
    }

    /// CR-05's cost: {0, 30} misses half of Table 1.
    #[test]
    fn cr_06_misses_by_hand() {
        let grid = Grid::new(HOUR, super::super::tests::MINUTE).unwrap();
        let log = History::new(grid, &table_1());
        let points = Points::of(&log);
        assert_eq!(points.slot, [3, 4, 5, 14, 15]);
        let misses = Table::build(&points, &Objective { misses: 1.0, ..Objective::default() });
        // from :15 over the hour to :14 everything is at most two changes: 3 hours, of which :14 of hour 2 has none
        assert!((misses.of(4, 8) - 2.0).abs() < 1e-12);
        assert!((misses.of(2, 4) - 0.0).abs() < 1e-12);
    }

    proptest! {
        /// CR-10: every cost offered is Monge.
        #[test]
        fn cr_10_every_cost_is_monge(history in any_history()) {
            for (name, cost) in offered(&history) {
                let m = cost.points();
                for a in 0..m {
                    for d in a + 1..=a + m {
                        for b in a..d {
                            for c in b + 1..=d {
                                let of = |x: usize, y: usize| if x >= m { cost.of(x - m, y - m) } else { cost.of(x, y) };
                                let (uncrossed, crossed) = (of(a, c) + of(b, d), of(a, d) + of(b, c));
                                prop_assert!(uncrossed <= crossed + 1e-7 * (1.0 + crossed.abs()),
                                    "{name}: {a} {b} {c} {d}: {uncrossed} > {crossed}");
                            }
                        }
                    }
                }
            }
        }

        /// CR-06: counting neighbours equals walking over the periods, in the table and out of it.
        #[test]
        fn cr_06_counting_equals_walking(history in any_history()) {
            let points = Points::of(&history);
            let objective = Objective { misses: 3.0, delay: 0.25, worth: None };
            let table = Table::build(&points, &objective);
            let counted = Counted::build(&points, &objective);
            let m = points.len();
            for a in 0..m {
                for b in a + 1..=a + m {
                    let [from, to] = [a, b].map(|x| i64::try_from(points.place(x)).unwrap());
                    let expected = walked(&history, from, to, (3.0, 0.25));
                    prop_assert!((table.of(a, b) - expected).abs() < 1e-9, "{a} {b}");
                    prop_assert!((counted.of(a, b) - expected).abs() < 1e-9, "{a} {b}");
                }
            }
        }

        #[test]
        fn a_wavelet_matrix_counts(keys in prop::collection::vec(0u32..50, 0..200), l in 0usize..200, r in 0usize..200, k in 0usize..80) {
            let (l, r) = (l.min(r).min(keys.len()), l.max(r).min(keys.len()));
            let counted = keys[l..r].iter().filter(|&&key| key as usize <= k).count();
            prop_assert_eq!(WaveletMatrix::new(keys).up_to(l, r, k), counted);
        }
    }
}
