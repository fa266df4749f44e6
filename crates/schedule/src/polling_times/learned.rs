//! Plans from what polls have shown: a change is only known to lie between two of them.
//!
//! A [`Profile`] is learned from the polls, tested for a rhythm, and the exact optimum for what it makes one expect is the
//! plan ([`Expected`]). A source that moves makes its old polls misleading: of all, the last half, the last quarter …
//! those are believed under which the newest eighth of the polls is likeliest.
//!
//! Paper: CR-20, CR-23; B9 (`docs/papers/polling-times.md`).

use dynamics::profile::rhythm::chance_of_none;
use dynamics::profile::{Evidence, Profile};

use super::cost::{Cost, Expected, Objective};
use super::empirical::Aim;
use super::history::Grid;
use super::{Strategy, circle};
use crate::{Span, Time};

/// A plan with what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// When to poll.
    pub strategy: Strategy,
    /// When in its period the source changes.
    pub profile: Profile,
    /// How likely such polls are without a rhythm.
    pub chance_of_none: f64,
}

/// Fewer polls are not tried.
const FEWEST: usize = 24;
/// The chance of taking a source without rhythm for one with it.
const ERROR: f64 = 0.01;
/// Parts of the period that are told apart.
const BINS: usize = 48;
/// Kernel, in bins, with which parts of the past are compared.
const WIDTH: f64 = 2.0;

/// Change times, in order, as evidence: silence, then a change.
pub fn log(changes: &[Time]) -> Vec<Evidence> {
    let times: Vec<f64> = changes.iter().map(|t| t.micros() as f64 / 1e6).collect();
    times.first().map_or(Vec::new(), |&first| Evidence::log(first, &times[1..]))
}

/// The part of the evidence, in order of time, that speaks for now.
fn believed(period: f64, evidence: &[Evidence]) -> &[Evidence] {
    let (past, newest) = evidence.split_at(evidence.len() - evidence.len() / 8);
    let parts = (0..6).map(|halvings| past.len() - (past.len() >> halvings));
    let tried = parts.take_while(|from| past.len() - from >= 2 * FEWEST).map(|from| {
        let profile = Profile::smoothed(period, BINS, &past[from..], WIDTH);
        (newest.iter().map(|e| profile.likelihood(e)).sum::<f64>(), from)
    });
    // a shorter memory must be clearly better
    let best = tried.reduce(|best, next| if next.0 > best.0 + 2.0 { next } else { best });
    &evidence[best.map_or(0, |(_, from)| from)..]
}

/// The best `polls` polls for a source that showed this, in order of time; `None` if it shows no rhythm.
pub fn plan(grid: Grid, evidence: &[Evidence], aim: Aim, polls: usize) -> Option<Learned> {
    if evidence.len() < FEWEST {
        return None;
    }
    let period = grid.period().secs();
    let evidence = believed(period, evidence);
    let chance_of_none = chance_of_none(period, evidence)?;
    let (profile, gain) = Profile::fit(period, BINS.min(grid.slots()), evidence);
    if chance_of_none > ERROR || gain <= 0.0 {
        return None;
    }
    let rate = profile.by_slot(grid.slots());
    // misses per change: the expectation of one period
    let cost = Expected::new(&rate, &aim.objective(grid.slots(), 1));
    let (_, slots) = circle::best(&cost, polls);
    let strategy = Strategy::new(grid.period(), slots.iter().map(|&slot| grid.moment(slot)));
    Some(Learned { strategy, profile, chance_of_none })
}

/// Recall and seconds of delay that a profile makes one expect of a strategy.
pub fn expects(profile: &Profile, grid: Grid, strategy: &Strategy) -> (f64, f64) {
    let s = grid.slots();
    let rate = profile.by_slot(s);
    let changes: f64 = rate.iter().sum();
    let (misses, delay) = (Objective { misses: 1.0, ..Objective::default() }, Objective::delay());
    let (misses, delay) = (Expected::new(&rate, &misses), Expected::new(&rate, &delay));
    let slot = |poll: &Span| usize::try_from(poll.micros() / grid.step().micros()).unwrap_or(0);
    let polls: Vec<usize> = strategy.polls().iter().map(slot).collect();
    let next = polls.iter().skip(1).copied().chain(polls.first().map(|first| first + s));
    let sum = |cost: &Expected| {
        polls
            .iter()
            .copied()
            .zip(next.clone())
            .filter(|(a, b)| a < b)
            .map(|(a, b)| cost.of(a, b))
            .sum::<f64>()
    };
    (1.0 - sum(&misses) / changes, sum(&delay) / changes * grid.step().secs())
}

#[cfg(test)]
mod tests {
    use dynamics::profile::Found;

    use super::*;
    use crate::chance;

    /// A change a day at about this hour, seen by four polls a day at moments that wander.
    fn seen(days: std::ops::Range<u64>, hour: u64) -> Vec<Evidence> {
        let draw = |about: [u64; 2], below: u64| (chance::draw(4, about) % below) as f64;
        let change =
            |day: u64| day as f64 * 86_400.0 + hour as f64 * 3_600.0 + draw([day, 9], 1_800);
        let first = days.start as f64 * 86_400.0;
        let polls = days.flat_map(|day| (0..4).map(move |part| (day, part)));
        let mut from = first;
        polls
            .map(|(day, part)| {
                let to = (day * 4 + part) as f64 * 21_600.0 + draw([day, part], 21_600) + 1.0;
                let some = [day.saturating_sub(1), day]
                    .iter()
                    .any(|&day| change(day) > from && change(day) <= to);
                let found = if some { Found::Something } else { Found::Nothing };
                Evidence { from: std::mem::replace(&mut from, to), to, found }
            })
            .collect()
    }

    fn grid() -> Grid {
        Grid::new(Span::DAY, Span::from_secs(900)).unwrap()
    }

    /// Mean hours from a change at `hour` to the next poll.
    fn wait(strategy: &Strategy, hour: i64) -> f64 {
        let changes: Vec<Time> =
            (0..50).map(|day| Time::from_secs(day * 86_400 + hour * 3_600 + 900)).collect();
        strategy.judge(&changes).delay().unwrap() / 3_600.0
    }

    #[test]
    fn polls_gather_behind_the_change() {
        let learned = plan(grid(), &seen(100..160, 9), Aim::default(), 4).unwrap();
        assert!(wait(&learned.strategy, 9) < 1.5, "{:?}", learned.strategy);
        assert!(learned.chance_of_none < 0.01);
    }

    #[test]
    fn a_source_that_moved_is_followed() {
        let mut evidence = seen(100..200, 9);
        evidence.extend(seen(200..240, 20));
        let learned = plan(grid(), &evidence, Aim::default(), 4).unwrap();
        assert!(wait(&learned.strategy, 20) < 1.5, "{:?}", learned.strategy);
    }

    #[test]
    fn no_rhythm_no_plan() {
        let odd = |n: u64| chance::draw(6, [n]) % 2 == 0;
        let evidence: Vec<Evidence> = (0..300u64)
            .map(|n| {
                let found = if odd(n) { Found::Something } else { Found::Nothing };
                Evidence { from: n as f64 * 20_000.0, to: (n + 1) as f64 * 20_000.0, found }
            })
            .collect();
        assert_eq!(plan(grid(), &evidence, Aim::default(), 4), None);
        assert_eq!(plan(grid(), &evidence[..5], Aim::default(), 4), None);
    }
}
