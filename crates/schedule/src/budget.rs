//! The budget: how many polls may be spent, and when the next one can be paid.
//!
//! Two forms. *Per round*: a round brings so many polls, unspent ones are forfeit at its end. *Flow*:
//! `polls` accrue evenly over every `per`, at most `burst` are saved up. Credit is kept in whole units,
//! one poll being as many units as `per` has microseconds, so that accrual is exact and replay cannot
//! drift. A sample may cost a fraction of a poll (CN-07, `docs/papers/cho-ntoulas-2002.md`).

use serde::{Deserialize, Serialize};

use crate::{Span, Time};

/// How polls are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Budget {
    /// Each [`crate::Round`] brings its own.
    PerRound,
    /// `polls` per `per`, saving up at most `burst`.
    Flow {
        /// Polls that accrue during `per`.
        polls: u64,
        /// The span over which they accrue.
        per: Span,
        /// Polls that may be saved up; at least one.
        burst: u32,
    },
}

impl Budget {
    /// `polls` per `per` with no saving up.
    pub const fn flow(polls: u64, per: Span) -> Self {
        Self::Flow { polls, per, burst: 1 }
    }
}

/// What is left to spend. The scheduler's; policies only see the number of polls left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Purse {
    budget: Budget,
    /// In units; may be negative after a charge that was never offered (a journal of older code).
    credit: i64,
    as_of: Option<Time>,
}

/// Units of one poll when each round brings its own budget.
const ROUND_UNIT: i64 = 1_000_000;

impl Purse {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, credit: 0, as_of: None }
    }

    /// Units that make up one poll.
    fn unit(&self) -> i64 {
        match self.budget {
            Budget::PerRound => ROUND_UNIT,
            Budget::Flow { per, .. } => per.micros().max(1),
        }
    }

    /// A cost in units, to a millionth of a poll.
    fn units(&self, polls: f64) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "costs are small; the cast saturates")]
        let millionths = (polls * ROUND_UNIT as f64 + 0.5).max(0.0) as i64;
        // a whole poll and a round's poll are the common cases, and need no division
        match self.budget {
            Budget::PerRound => millionths,
            Budget::Flow { .. } if millionths == ROUND_UNIT => self.unit(),
            Budget::Flow { .. } => {
                let exact = i128::from(self.unit()) * i128::from(millionths);
                saturated(exact / i128::from(ROUND_UNIT))
            }
        }
    }

    fn credit_at(&self, now: Time) -> i64 {
        match self.budget {
            Budget::PerRound => self.credit,
            Budget::Flow { polls, burst, .. } => {
                let waited = self.as_of.map_or(Span::ZERO, |as_of| now - as_of);
                let accrued = i128::from(waited.micros()) * i128::from(polls);
                saturated(i128::from(self.credit) + accrued).min(self.full(burst))
            }
        }
    }

    /// As much as can be saved up.
    fn full(&self, burst: u32) -> i64 {
        self.unit().saturating_mul(i64::from(burst.max(1)))
    }

    /// Polls that could be paid now.
    pub(crate) fn left(&self, now: Time) -> f64 {
        self.credit_at(now) as f64 / self.unit() as f64
    }

    pub(crate) fn affords(&self, now: Time, cost: f64) -> bool {
        self.credit_at(now) >= self.units(cost)
    }

    /// When `cost` can be paid; `None` if waiting does not help.
    pub(crate) fn affordable_at(&self, now: Time, cost: f64) -> Option<Time> {
        let Budget::Flow { polls, burst, .. } = self.budget else { return None };
        let cost = self.units(cost);
        if polls == 0 || cost > self.full(burst) {
            return None;
        }
        let missing = i128::from(cost) - i128::from(self.credit_at(now));
        let wait = (missing + i128::from(polls) - 1) / i128::from(polls);
        Some(now + Span::from_micros(saturated(wait)))
    }

    pub(crate) fn charge(&mut self, now: Time, cost: f64) {
        self.credit = self.credit_at(now).saturating_sub(self.units(cost));
        self.as_of = Some(now);
    }

    /// Part of what was charged comes back.
    pub(crate) fn refund(&mut self, now: Time, polls: f64) {
        self.credit = self.credit_at(now).saturating_add(self.units(polls));
        self.as_of = Some(now);
    }

    /// Under another budget from `now` on, with as many polls in it, rounded down.
    pub(crate) fn changed(&self, now: Time, budget: Budget) -> Self {
        let new = Self::new(budget);
        let exact = i128::from(self.credit_at(now)) * i128::from(new.unit());
        let credit = saturated(exact.div_euclid(i128::from(self.unit())));
        Self { credit, as_of: Some(now), ..new }
    }

    /// Time starts to count, or a round brings its polls.
    pub(crate) fn round(&mut self, now: Time, polls: u64) {
        match self.budget {
            Budget::PerRound => self.credit = saturated(i128::from(polls) * i128::from(ROUND_UNIT)),
            Budget::Flow { .. } => {
                self.credit = self.credit_at(now);
                self.as_of = Some(now);
            }
        }
    }
}

/// Polls beyond what 64 bits count are as good as endless.
fn saturated(units: i128) -> i64 {
    i64::try_from(units).unwrap_or(if units > 0 { i64::MAX } else { i64::MIN })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_round_brings_its_polls_and_takes_the_rest_away() {
        let mut purse = Purse::new(Budget::PerRound);
        assert!(!purse.affords(Time::ZERO, 1.0));
        purse.round(Time::ZERO, 2);
        purse.charge(Time::ZERO, 1.0);
        purse.round(Time::ZERO, 2);
        assert!((purse.left(Time::ZERO) - 2.0).abs() < 1e-12);
        assert_eq!(purse.affordable_at(Time::ZERO, 3.0), None);
    }

    /// CN-07: R = 100,000 and 10,000 samples leave 90,000 at c = 1 and 99,000 at c = 0.1.
    #[test]
    fn cn_07_cheap_samples_leave_more() {
        for (cost, left) in [(1.0, 90_000.0), (0.1, 99_000.0)] {
            let mut purse = Purse::new(Budget::PerRound);
            purse.round(Time::ZERO, 100_000);
            (0..10_000).for_each(|_| purse.charge(Time::ZERO, cost));
            assert!((purse.left(Time::ZERO) - left).abs() < 1e-12);
        }
    }

    #[test]
    fn cn_07_what_comes_back_can_be_spent_again() {
        let mut purse = Purse::new(Budget::PerRound);
        purse.round(Time::ZERO, 2);
        purse.charge(Time::ZERO, 1.0);
        purse.refund(Time::ZERO, 0.9);
        assert!((purse.left(Time::ZERO) - 1.9).abs() < 1e-12);
    }

    #[test]
    fn a_flow_of_nothing_is_never_affordable() {
        let mut purse = Purse::new(Budget::flow(0, Span::DAY));
        purse.round(Time::ZERO, 0);
        assert_eq!(purse.affordable_at(Time::ZERO, 1.0), None);
    }

    proptest! {
        /// In any stretch of time no more is spent than accrued plus what was saved up.
        #[test]
        fn a_flow_is_never_exceeded(
            polls in 1u64..1000, per in 1i64..100_000_000, burst in 1u32..20,
            waits in prop::collection::vec(0i64..10_000_000, 1..200),
        ) {
            let mut purse = Purse::new(Budget::Flow { polls, per: Span::from_micros(per), burst });
            let mut now = Time::ZERO;
            purse.round(now, 0);
            let mut spent = 0u64;
            for wait in waits {
                now = now + Span::from_micros(wait);
                while purse.affords(now, 1.0) {
                    purse.charge(now, 1.0);
                    spent += 1;
                }
                let accrued = now.micros() as f64 * polls as f64 / per as f64;
                prop_assert!(spent as f64 <= accrued + 1e-9);
            }
        }

        #[test]
        fn the_promised_moment_is_the_first_that_pays(polls in 1u64..1000, per in 1i64..100_000_000, wait in 0i64..1_000_000) {
            let mut purse = Purse::new(Budget::flow(polls, Span::from_micros(per)));
            purse.round(Time::ZERO, 0);
            let now = Time::from_micros(wait);
            let at = purse.affordable_at(now, 1.0).unwrap().max(now);
            prop_assert!(purse.affords(at, 1.0));
            let before = Time::from_micros(at.micros() - 1);
            prop_assert!(at == now || !purse.affords(before, 1.0));
        }
    }
}
