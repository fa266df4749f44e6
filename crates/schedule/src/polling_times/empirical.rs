//! The best polls for a history, and how much of the history to believe.
//!
//! The exact optimum of a history is the optimum of yesterday. Schedules shift, so an old history can be worse than a
//! short one, and a source without rhythm is best polled evenly. How much to believe is decided by what it would have
//! been good for: at several moments of the history a plan is made from what came before, and judged by what came next.
//!
//! ```text
//! believe    all · the last half, quarter, eighth, … · a smooth profile of the newest · nothing (even polls)
//! judged by  the aim's price of the next tenth, at 50, 60, 70, 80 and 90 % of the history
//! ```
//!
//! How much to believe hardly depends on the minute, so it is tried out on a grid of at most [`TRIED_ON`] slots.
//!
//! Paper: CR-04, CR-17, CR-20 (`docs/papers/polling-times.md`).

use serde::{Deserialize, Serialize};

use super::circle;
use super::cost::{Costed, Objective};
use super::history::{Grid, History};
use super::split::split;
use super::{Judged, Strategy, learned};
use crate::spec::Mistake;
use crate::{Span, Time};

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Aim {
    /// As few misses as possible, then the least delay.
    Recall,
    /// The least delay.
    Delay,
    /// Both: a miss is as bad as waiting this share of a period.
    Mixed(f64),
}

impl Default for Aim {
    /// A miss is as bad as half a period's delay.
    fn default() -> Self {
        Self::Mixed(0.5)
    }
}

/// Periods of waiting that a miss may be as bad as; beyond it is recall that is meant.
const MOST_PERIODS: f64 = 1_000.0;

impl std::str::FromStr for Aim {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        match text {
            "recall" => Ok(Self::Recall),
            "delay" => Ok(Self::Delay),
            "mixed" => Ok(Self::default()),
            share => match share.parse() {
                Ok(share) if (0.0..=MOST_PERIODS).contains(&share) => Ok(Self::Mixed(share)),
                _ => Err(Mistake(format!(
                    "`{text}` is no aim of a plan; known are `recall`, `delay`, `mixed`, and a number from 0 to \
                     {MOST_PERIODS}: the periods of waiting that a miss is as bad as (`mixed` is 0.5)"
                ))),
            },
        }
    }
}

impl Aim {
    /// As weights for a history of this many changes.
    pub fn objective(self, slots: usize, changes: usize) -> Objective<'static> {
        let misses = match self {
            Self::Recall => changes as f64 * slots as f64 + 1.0,
            Self::Delay => 0.0,
            Self::Mixed(share) => slots as f64 * share,
        };
        Objective { misses, delay: 1.0, worth: None }
    }

    /// As weights for a profile, whose misses are fractions: a millionth of one outweighs all waiting.
    pub fn objective_expected(self, slots: usize) -> Objective<'static> {
        self.objective(slots, 1_000_000)
    }

    /// What a strategy's performance costs by this aim, in slots waited.
    pub fn price(self, grid: Grid, judged: &Judged) -> f64 {
        let objective = self.objective(grid.slots(), judged.changes);
        let misses = (judged.changes - judged.captured) as f64;
        objective.misses * misses + objective.delay * judged.waited / grid.step().secs()
    }
}

/// The exact optimum for a history.
pub fn optimum(history: &History, aim: Aim, polls: usize) -> Result<Strategy, Mistake> {
    let costed = Costed::new(history, &aim.objective(history.grid().slots(), history.len()))?;
    Ok(costed.strategy(&circle::best(&costed.cost, polls).1))
}

/// Slots of the grid on which a budget is shared out.
const SHARED_ON: usize = 96;

/// Polls for each of many sources, `total` in all, to where they gain most in a period; each source with its changes and
/// the periods it was watched for.
pub fn shared(
    grid: Grid,
    sources: &[(Vec<Time>, f64)],
    aim: Aim,
    total: usize,
) -> Result<Vec<usize>, Mistake> {
    let grid = grid.coarser(SHARED_ON);
    let histories: Vec<History> =
        sources.iter().map(|(changes, _)| History::new(grid, changes)).collect();
    // one measure for all
    let objective = aim.objective(grid.slots(), histories.iter().map(History::len).sum());
    let costed: Vec<Costed<'_>> = histories
        .iter()
        .map(|history| Costed::new(history, &objective))
        .collect::<Result<_, _>>()?;
    let cost =
        |at: usize, polls: usize| circle::best(&costed[at].cost, polls).0 / sources[at].1.max(1.0);
    Ok(split(sources.len(), 1, total, cost))
}

/// Offsets of the even strategy that are tried, at most.
const OFFSETS: i64 = 60;

/// Even polls at the offset that would have been best, of up to `OFFSETS` tried.
pub fn even(grid: Grid, changes: &[Time], aim: Aim, polls: usize) -> Strategy {
    let (period, step) = (grid.period(), grid.step().micros());
    let gap = period.micros() / i64::try_from(polls).unwrap_or(i64::MAX).max(1);
    let stride = (gap / OFFSETS / step).max(1) * step;
    let offsets = (0..OFFSETS).map(|at| at * stride).take_while(|&offset| offset < gap.max(1));
    let tried = offsets.map(|offset| {
        let strategy = Strategy::uniform(period, polls, Span::from_micros(offset));
        (aim.price(grid, &strategy.judge(changes)), strategy)
    });
    let best = tried.reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map_or_else(|| Strategy::uniform(period, polls, Span::ZERO), |(_, strategy)| strategy)
}

/// How much of a history a plan is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Believed {
    /// The newest one of 2ⁿ parts of it; all for n = 0.
    Part(u32),
    /// Its newest changes, as a smooth profile.
    Smoothed,
    /// None: even polls.
    Nothing,
}

impl std::fmt::Display for Believed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Part(0) => f.write_str("all of the history"),
            Self::Part(halvings) => write!(f, "the last 1/{} of the history", 1u64 << halvings),
            Self::Smoothed => f.write_str("a smooth profile of the newest changes"),
            Self::Nothing => f.write_str("none of the history: polls at equal distances do best"),
        }
    }
}

/// A history shorter than this is believed whole: there is nothing to decide by.
const ENOUGH: usize = 40;
/// A part of a history with fewer changes is not tried.
const FEWEST: usize = 16;
/// Changes a smooth profile is made from.
const NEWEST: usize = 1_000;
/// At which shares of a history plans are tried out on what came next.
const TRIALS: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];
/// How much came next.
const NEXT: f64 = 0.1;

/// Slots of the grid on which it is tried out how much to believe.
pub const TRIED_ON: usize = 480;

impl Believed {
    /// How much of change times, in order, has proved good for planning what came next.
    pub fn choose(grid: Grid, changes: &[Time], aim: Aim, polls: usize) -> Result<Self, Mistake> {
        let grid = grid.coarser(TRIED_ON);
        let mut best: Option<(f64, Self)> = None;
        if changes.len() >= ENOUGH {
            for believed in candidates(changes) {
                let mut price = 0.0;
                for (until, next) in trials(changes) {
                    let made = believed.strategy(grid, &changes[..until], aim, polls)?;
                    price += aim.price(grid, &made.judge(&changes[until..next]));
                }
                // a shorter memory must earn its keep
                if best.is_none_or(|(least, _)| price < 0.98 * least) {
                    best = Some((price, believed));
                }
            }
        }
        Ok(best.map_or(Self::Part(0), |(_, believed)| believed))
    }

    /// A plan from so much of change times in order.
    pub fn strategy(
        self,
        grid: Grid,
        changes: &[Time],
        aim: Aim,
        polls: usize,
    ) -> Result<Strategy, Mistake> {
        let past = part(changes, self);
        match self {
            Self::Nothing => Ok(even(grid, past, aim, polls)),
            Self::Smoothed => Ok(learned::learn(grid, &learned::log(past)).map_or_else(
                || even(grid, past, aim, polls),
                |learned| learned.strategy(grid, aim, polls),
            )),
            Self::Part(_) => optimum(&History::new(grid, past), aim, polls),
        }
    }
}

/// The part of a history that is believed.
fn part(changes: &[Time], believed: Believed) -> &[Time] {
    let (Some(&first), Some(&last)) = (changes.first(), changes.last()) else { return changes };
    let halvings = match believed {
        Believed::Part(halvings) => halvings,
        Believed::Smoothed => return &changes[changes.len().saturating_sub(NEWEST)..],
        Believed::Nothing => 2,
    };
    let kept = (last - first).micros() >> halvings;
    &changes[changes.partition_point(|t| (last - *t).micros() > kept)..]
}

fn candidates(changes: &[Time]) -> impl Iterator<Item = Believed> {
    let first = changes.len() / 2;
    let parts = (0..12).map(Believed::Part);
    parts
        .take_while(move |&p| part(&changes[..first], p).len() >= FEWEST)
        .chain([Believed::Smoothed, Believed::Nothing])
}

/// Where each trial's past ends, and its future.
fn trials(changes: &[Time]) -> impl Iterator<Item = (usize, usize)> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length"
    )]
    let at = |share: f64| (changes.len() as f64 * share) as usize;
    TRIALS.into_iter().map(move |share| (at(share), at(share + NEXT).min(changes.len())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Method;
    use super::super::cost::tests::any_history;
    use super::super::tests::{HOUR, MINUTE, hourly, table_1};
    use super::{Strategy, *};
    use crate::chance;

    /// CR-05: {5, 15} by the tie-break.
    #[test]
    fn cr_05_the_optimum_is_5_and_15() {
        let grid = Grid::new(HOUR, MINUTE).unwrap();
        let history = History::new(grid, &table_1());
        assert_eq!(optimum(&history, Aim::Recall, 2).unwrap(), hourly(&[5, 15]));
        assert_eq!(optimum(&history, Aim::Recall, 9).unwrap(), hourly(&[3, 4, 5, 14, 15]));
    }

    /// Changes at these minutes of each of `hours` hours, a minute or two late.
    fn regular(hours: std::ops::Range<i64>, minutes: &[i64]) -> Vec<Time> {
        let late = |hour: i64, minute: i64| {
            i64::try_from(chance::draw(9, [hour.unsigned_abs(), minute.unsigned_abs()]) % 120)
                .unwrap()
        };
        hours
            .flat_map(|hour| minutes.iter().map(move |&minute| (hour, minute)))
            .map(|(hour, minute)| Time::from_secs(hour * 3_600 + minute * 60 + late(hour, minute)))
            .collect()
    }

    #[test]
    fn a_source_that_moved_is_believed_where_it_is_now() {
        let grid = Grid::new(HOUR, MINUTE).unwrap();
        let mut changes = regular(0..100, &[10, 40]);
        changes.extend(regular(100..300, &[25, 55]));
        let believed = Believed::choose(grid, &changes, Aim::default(), 2).unwrap();
        assert!(matches!(believed, Believed::Part(1..)), "{believed:?}");
        let plan = believed.strategy(grid, &changes, Aim::default(), 2).unwrap();
        let judged = plan.judge(&regular(300..400, &[25, 55]));
        assert_eq!(judged.recall(), Some(1.0));
        assert!(judged.delay().unwrap() < 75.0);
    }

    #[test]
    fn a_source_without_rhythm_is_polled_evenly_or_no_worse() {
        let grid = Grid::new(HOUR, MINUTE).unwrap();
        let mut t = 0;
        let changes: Vec<Time> = (0..400u64)
            .map(|n| {
                t += i64::try_from(chance::draw(3, [n]) % 7_000).unwrap();
                Time::from_secs(t)
            })
            .collect();
        let (past, future) = changes.split_at(240);
        let plan = Method::Empirical.plan(grid, past, Aim::default(), 4).unwrap();
        let uniform = Strategy::uniform(HOUR, 4, Span::ZERO);
        let price = |strategy: &Strategy| Aim::default().price(grid, &strategy.judge(future));
        assert!(price(&plan) < 1.1 * price(&uniform));
    }

    #[test]
    fn few_or_no_changes_make_a_plan_too() {
        let grid = Grid::new(HOUR, MINUTE).unwrap();
        let plan =
            |changes: &[Time], polls| Method::Empirical.plan(grid, changes, Aim::Recall, polls);
        assert_eq!(plan(&[], 3).unwrap().polls().len(), 0);
        assert_eq!(plan(&table_1(), 2).unwrap(), hourly(&[5, 15]));
    }

    /// Polls go to who changes often: a source with two changes a minute apart in a year is no busy one.
    #[test]
    fn a_budget_goes_where_changes_are() {
        let grid = Grid::new(HOUR, MINUTE).unwrap();
        let busy = regular(0..200, &[5, 25, 45]);
        let once = vec![Time::from_secs(600), Time::from_secs(660)];
        let sources = [(busy, 200.0), (once, 8_760.0), (Vec::new(), 1.0)];
        assert_eq!(shared(grid, &sources, Aim::default(), 6).unwrap(), [4, 1, 1]);
    }

    #[test]
    fn aims_are_read() {
        assert_eq!("recall".parse(), Ok(Aim::Recall));
        assert_eq!("mixed".parse(), Ok(Aim::Mixed(0.5)));
        assert_eq!("0.25".parse(), Ok(Aim::Mixed(0.25)));
        for wrong in ["fast", "-1", "NaN", "1e9"] {
            let why = wrong.parse::<Aim>().unwrap_err().to_string();
            assert!(why.contains(&format!("`{wrong}`")) && why.contains("`recall`"), "{why}");
        }
    }

    proptest! {
        /// No strategy on the grid does better on the history than its optimum.
        #[test]
        fn the_optimum_is_not_beaten(history in any_history(), polls in prop::collection::btree_set(0usize..14, 1..5), aim in 0usize..3) {
            let aim = [Aim::Recall, Aim::Delay, Aim::Mixed(0.5)][aim];
            let grid = history.grid();
            let other = Strategy::new(grid.period(), polls.iter().map(|&slot| grid.moment(slot)));
            let changes: Vec<Time> = history.at().iter().map(|&at| Time::from_micros(at * grid.step().micros())).collect();
            let best = optimum(&history, aim, other.polls().len()).unwrap();
            let price = |strategy: &Strategy| aim.price(grid, &strategy.judge(&changes));
            prop_assert!(price(&best) <= price(&other) + 1e-6, "{best:?} against {other:?}");
        }
    }
}
