//! Polling times: at which minutes of its period should a source be looked at, so that nothing is overwritten unseen?
//!
//! ```text
//! <T, S>           a polling strategy: the times S within every period T                          (CR-03)
//! change recall    changes captured / changes; a poll captures the newest change since the one before,
//!                  so n changes in (p, q] are n − 1 misses; a poll at t sees a change at t     (CR-01, CR-05)
//! delay            from a change to the next poll, over all changes
//! ```
//!
//! | question | file |
//! | --- | --- |
//! | what happened when, on the grid of the period? | [`history`] |
//! | what does a stretch without polls cost? | [`cost`] |
//! | the best polls on a line, from a fixed start | [`line`](mod@line) |
//! | the best polls on the circle, whatever the start | [`circle`] |
//! | the same by the paper's recurrence, slowly: an oracle for tests and a yardstick | [`literal`] |
//! | the best polls for a history, and how much of it to believe | [`empirical`] |
//! | the paper's modelled strategy | [`modelled`] |
//! | the best polls for what polls have shown | [`learned`] |
//! | one of these, by name | [`method`] |
//! | many sources, one budget | [`split`] |
//!
//! Paper: `docs/papers/polling-times.md`.

pub mod circle;
pub mod cost;
pub mod empirical;
pub mod history;
pub mod learned;
pub mod line;
pub mod literal;
pub mod method;
pub mod modelled;
pub mod split;

use std::iter::Sum;

use serde::{Deserialize, Serialize};

use crate::{Span, Time};

pub use method::{Method, Planner};

/// `<T, S>`: look at these moments of every period. Periods are counted from 1970-01-01 00:00 UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strategy {
    period: Span,
    /// Since the period's start, ascending, each below the period.
    polls: Vec<Span>,
}

/// How a strategy does on changes that happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Judged {
    /// Changes that happened.
    pub changes: usize,
    /// Of those, seen before the next one overwrote them.
    pub captured: usize,
    /// Seconds from a change to the next poll, summed over all changes.
    pub waited: f64,
}

impl Judged {
    /// captured / changes; `None` without changes.
    pub fn recall(&self) -> Option<f64> {
        (self.changes > 0).then(|| self.captured as f64 / self.changes as f64)
    }

    /// Mean seconds from a change to the poll that ends the wait; `None` without changes.
    pub fn delay(&self) -> Option<f64> {
        (self.changes > 0).then(|| self.waited / self.changes as f64)
    }
}

impl Sum for Judged {
    fn sum<I: Iterator<Item = Self>>(judged: I) -> Self {
        judged.fold(Self::default(), |a, b| Self {
            changes: a.changes + b.changes,
            captured: a.captured + b.captured,
            waited: a.waited + b.waited,
        })
    }
}

impl Strategy {
    /// Polls at these moments of every `period`; moments beyond it wrap, twins are one.
    pub fn new(period: Span, polls: impl IntoIterator<Item = Span>) -> Self {
        let period = period.max(Span::TICK);
        let wrapped = |poll: Span| Span::from_micros(poll.micros() % period.micros());
        let mut polls: Vec<Span> = polls.into_iter().map(wrapped).collect();
        polls.sort_unstable();
        polls.dedup();
        Self { period, polls }
    }

    /// `count` polls at equal distances, the first at `offset`.
    pub fn uniform(period: Span, count: usize, offset: Span) -> Self {
        let count = i64::try_from(count).unwrap_or(i64::MAX).max(1);
        let step = |at: i64| i128::from(period.micros()) * i128::from(at) / i128::from(count);
        let place = |at| offset.micros().saturating_add(i64::try_from(step(at)).unwrap_or(0));
        Self::new(period, (0..count).map(|at| Span::from_micros(place(at))))
    }

    /// The same with polls in the middle of the widest gaps until there are `count`: a change elsewhere is noticed, too.
    #[must_use]
    pub fn filled(mut self, count: usize) -> Self {
        let micros = self.period.micros();
        while self.polls.len() < count && !self.polls.is_empty() {
            let after = |at: usize| {
                self.polls.get(at + 1).map_or(self.polls[0].micros() + micros, |next| next.micros())
            };
            let gap = |at: usize| after(at) - self.polls[at].micros();
            let Some(widest) = (0..self.polls.len()).max_by_key(|&at| (gap(at), usize::MAX - at))
            else {
                break;
            };
            if gap(widest) < 2 {
                break;
            }
            let middle = (self.polls[widest].micros() + gap(widest) / 2) % micros;
            self.polls.push(Span::from_micros(middle));
            self.polls.sort_unstable();
        }
        self
    }

    /// T
    pub fn period(&self) -> Span {
        self.period
    }

    /// S: since the period's start, ascending.
    pub fn polls(&self) -> &[Span] {
        &self.polls
    }

    /// The first poll at or after `t`; [`Time::MAX`] if there are none.
    pub fn catches(&self, t: Time) -> Time {
        let (Some(first), length) = (self.polls.first(), self.period.micros()) else {
            return Time::MAX;
        };
        let phase = t.micros().rem_euclid(length);
        let at = self.polls.partition_point(|poll| poll.micros() < phase);
        let wait = match self.polls.get(at) {
            Some(poll) => poll.micros() - phase,
            None => first.micros() + length - phase,
        };
        t + Span::from_micros(wait)
    }

    /// The first poll after `t`.
    pub fn next_after(&self, t: Time) -> Time {
        self.catches(t + Span::TICK)
    }

    /// What the strategy makes of changes, in order.
    pub fn judge(&self, changes: &[Time]) -> Judged {
        let mut judged = Judged { changes: changes.len(), ..Judged::default() };
        let mut last = None;
        for &change in changes {
            let poll = self.catches(change);
            judged.captured += usize::from(last.replace(poll) != Some(poll));
            judged.waited += (poll - change).secs();
        }
        judged
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Strategy, *};

    pub(super) const HOUR: Span = Span::from_secs(3_600);
    pub(super) const MINUTE: Span = Span::from_secs(60);

    /// Minutes of the hour.
    pub(super) fn hourly(minutes: &[i64]) -> Strategy {
        Strategy::new(HOUR, minutes.iter().map(|&minute| MINUTE.times(minute)))
    }

    /// Table 1: 1:05, 1:14, 2:04, 2:15, 3:03, 3:14.
    pub(super) fn table_1() -> Vec<Time> {
        [65, 74, 124, 135, 183, 194].map(|minute: i64| Time::from_secs(60 * minute)).to_vec()
    }

    /// CR-01: captured 27 of 30 is 0.9.
    #[test]
    fn cr_01_recall() {
        let judged = Judged { changes: 30, captured: 27, waited: 0.0 };
        assert_eq!(judged.recall(), Some(0.9));
        assert_eq!(Judged::default().recall(), None);
    }

    /// CR-05: {0, 30} captures half, {5, 15} everything, because a poll at t sees a change at t.
    #[test]
    fn cr_05_worked_example() {
        assert_eq!(hourly(&[0, 30]).judge(&table_1()).recall(), Some(0.5));
        let best = hourly(&[5, 15]).judge(&table_1());
        assert_eq!(best.recall(), Some(1.0));
        assert!((best.waited - 5.0 * 60.0).abs() < 1e-9);
    }

    /// CR-05: 432 of the 1,770 pairs of minutes capture everything; {5, 15} waits least, then {5, 16} and {6, 15}.
    #[test]
    fn cr_05_all_pairs() {
        let pairs = (0..60).flat_map(|a| (a + 1..60).map(move |b| [a, b]));
        let judged: Vec<([i64; 2], Judged)> =
            pairs.map(|pair| (pair, hourly(&pair).judge(&table_1()))).collect();
        assert_eq!(judged.len(), 1_770);
        let mut full: Vec<_> = judged.into_iter().filter(|(_, j)| j.captured == 6).collect();
        assert_eq!(full.len(), 432);
        full.sort_by(|a, b| a.1.waited.total_cmp(&b.1.waited).then(a.0.cmp(&b.0)));
        let shortest: Vec<_> =
            full.iter().map(|(pair, j)| (*pair, j.waited / 60.0)).take(3).collect();
        assert_eq!(shortest, [([5, 15], 5.0), ([5, 16], 8.0), ([6, 15], 8.0)]);
    }

    /// CR-03: `<hour, {5, 15, 45}>`
    #[test]
    fn cr_03_polls_repeat_every_period() {
        let strategy = hourly(&[45, 5, 15, 65]);
        assert_eq!(strategy.polls(), [5, 15, 45].map(|minute| MINUTE.times(minute)));
        let at = |minute: i64| Time::from_secs(60 * minute);
        assert_eq!(strategy.next_after(at(5)), at(15));
        assert_eq!(strategy.next_after(at(45)), at(65));
        assert_eq!(strategy.catches(at(-15)), at(-15));
        assert_eq!(Strategy::new(HOUR, []).catches(at(0)), Time::MAX);
    }

    #[test]
    fn spare_polls_go_into_the_widest_gaps() {
        assert_eq!(hourly(&[10]).filled(3), hourly(&[10, 25, 40]));
        assert_eq!(hourly(&[10, 20]).filled(1), hourly(&[10, 20]));
        assert_eq!(Strategy::new(Span::TICK, [Span::ZERO]).filled(5).polls().len(), 1);
    }

    proptest! {
        /// By counting: n changes in (p, q] are n − 1 misses.
        #[test]
        fn misses_are_what_a_poll_finds_overwritten(
            polls in prop::collection::btree_set(0i64..60, 1..8), gaps in prop::collection::vec(0i64..90, 0..60),
        ) {
            let strategy = hourly(&polls.into_iter().collect::<Vec<_>>());
            let changes: Vec<Time> = gaps
                .iter()
                .scan(0, |t, gap| { *t += gap; Some(Time::from_secs(60 * *t)) })
                .collect();
            let (mut poll, mut misses) = (Time::from_secs(-1), 0usize);
            while changes.last().is_some_and(|&last| last > poll) {
                let next = strategy.next_after(poll);
                let found = changes.iter().filter(|&&t| t > poll && t <= next).count();
                misses += found.saturating_sub(1);
                poll = next;
            }
            let judged = strategy.judge(&changes);
            prop_assert_eq!(judged.changes - judged.captured, misses);
        }

        #[test]
        fn uniform_polls_are_even(count in 1usize..50, offset in 0i64..3_600) {
            let strategy = Strategy::uniform(HOUR, count, Span::from_secs(offset));
            prop_assert_eq!(strategy.polls().len(), count);
            let gaps: Vec<i64> = strategy.polls().windows(2).map(|p| p[1].micros() - p[0].micros()).collect();
            let even = 3_600_000_000 / i64::try_from(count).unwrap();
            prop_assert!(gaps.iter().all(|gap| (gap - even).abs() <= 1));
        }
    }
}
