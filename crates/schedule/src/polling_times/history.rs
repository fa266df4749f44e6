//! A source's changes on the grid of its period.
//!
//! Polls happen at whole multiples of the grid g. A change at t is seen by the poll at slot ⌈t/g⌉ or later, so on the
//! grid it *is* that slot: nothing about captures or, but for a constant, delays is lost. Slots are counted from 1970
//! on, so that a stretch that wraps past the period's end runs on into the next period (CR-06).
//!
//! Paper: CR-06 (`docs/papers/polling-times.md`).

use crate::spec::Mistake;
use crate::{Span, Time};

/// The finest grid: a week of seconds, a second of microseconds.
pub const MOST_SLOTS: usize = 604_800;
/// As fine as a plan needs: five minutes of a week.
pub const FINE: usize = 2_016;

/// A period cut into slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    period: Span,
    step: Span,
    slots: usize,
}

impl Grid {
    /// Slots of `step` in every `period`, which must be a whole number of them.
    pub fn new(period: Span, step: Span) -> Result<Self, Mistake> {
        if period == Span::ZERO {
            let problem = "a period of 0s has no moments to poll at; take one such as 1h or 1d";
            return Err(Mistake(problem.to_owned()));
        }
        if step == Span::ZERO || period < step || period.micros() % step.micros() != 0 {
            return Err(Mistake(format!(
                "a period of {period} is no whole number of steps of {step}; take a grid that divides it, such as {}",
                Self::reasonable(period)
            )));
        }
        let slots = usize::try_from(period.micros() / step.micros()).unwrap_or(usize::MAX);
        if slots > MOST_SLOTS {
            return Err(Mistake(format!(
                "a period of {period} in steps of {step} has {slots} slots, more than {MOST_SLOTS}; take a coarser grid"
            )));
        }
        Ok(Self { period, step, slots })
    }

    /// A step fine enough for any plan: a second for minutes, ten for an hour, a minute for a day, five for a week; of
    /// periods that none of these divides the finest that cuts them into at most [`FINE`] slots.
    pub fn reasonable(period: Span) -> Span {
        let steps = [1, 10, 60, 300, 900, 3_600].map(Span::from_secs);
        let fits = |most: usize| {
            let divides = |step: &Span| period.micros() % step.micros() == 0;
            let few = |step: &Span| {
                usize::try_from(period.micros() / step.micros()).is_ok_and(|n| n <= most)
            };
            steps.into_iter().find(|step| divides(step) && few(step))
        };
        fits(FINE).or_else(|| fits(MOST_SLOTS)).unwrap_or_else(|| {
            let micros = usize::try_from(period.micros()).unwrap_or(1);
            Span::from_micros(i64::try_from(micros / largest_divisor(micros, FINE)).unwrap_or(1))
        })
    }

    /// The finest grid of at most `most` slots, each a whole number of these.
    #[must_use]
    pub fn coarser(self, most: usize) -> Self {
        let slots = largest_divisor(self.slots, most);
        let step = self.step.times(i64::try_from(self.slots / slots).unwrap_or(1));
        Self { step, slots, ..self }
    }

    /// T
    pub fn period(&self) -> Span {
        self.period
    }

    /// The distance of two neighbouring slots.
    pub fn step(&self) -> Span {
        self.step
    }

    /// s
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slot whose poll is the first to see a change at `t`, counted from 1970.
    pub fn slot(&self, t: Time) -> i64 {
        -(t.micros().saturating_neg().div_euclid(self.step.micros()))
    }

    /// A slot within the period as a moment of it.
    pub fn moment(&self, slot: usize) -> Span {
        self.step.times(i64::try_from(slot % self.slots).unwrap_or(0))
    }
}

/// Changes on a grid, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    grid: Grid,
    at: Vec<i64>,
}

impl History {
    /// From change times in any order.
    pub fn new(grid: Grid, changes: &[Time]) -> Self {
        let mut at: Vec<i64> = changes.iter().map(|&t| grid.slot(t)).collect();
        at.sort_unstable();
        Self { grid, at }
    }

    /// The grid it lies on.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// How many changes.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Slots from 1970 on, ascending.
    pub fn at(&self) -> &[i64] {
        &self.at
    }

    /// The slot within its period.
    pub fn phase(&self, at: i64) -> usize {
        let slots = i64::try_from(self.grid.slots).unwrap_or(1);
        usize::try_from(at.rem_euclid(slots)).unwrap_or(0)
    }
}

/// The largest number up to `most` that divides `n`.
fn largest_divisor(n: usize, most: usize) -> usize {
    (1..=most.min(n)).rev().find(|divisor| n.is_multiple_of(*divisor)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{HOUR, MINUTE};
    use super::*;

    #[test]
    fn grids_that_do_not_fit_are_refused() {
        assert!(Grid::new(HOUR, Span::from_secs(7)).unwrap_err().to_string().contains("1h"));
        assert!(Grid::new(HOUR, Span::ZERO).is_err());
        assert!(Grid::new(HOUR, HOUR.times(2)).is_err());
        assert!(
            Grid::new(Span::DAY.times(30), Span::from_secs(1))
                .unwrap_err()
                .to_string()
                .contains("coarser")
        );
    }

    #[test]
    fn the_reasonable_grid_divides_common_periods() {
        let steps: Vec<i64> = ["15m", "1h", "6h", "1d", "1w"]
            .iter()
            .map(|text| Grid::reasonable(text.parse().unwrap()).micros() / 1_000_000)
            .collect();
        assert_eq!(steps, [1, 10, 60, 60, 300]);
        let odd: Span = "47m18s".parse().unwrap();
        assert_eq!(Grid::reasonable(odd), Span::from_secs(1));
    }

    /// Odd periods get a grid, too, and no period is one slot.
    #[test]
    fn the_reasonable_grid_divides_odd_periods() {
        for text in ["1.5s", "8d1s", "100d7s", "333ms", "1h0.000007s"] {
            let period: Span = text.parse().unwrap();
            let grid = Grid::new(period, Grid::reasonable(period)).unwrap();
            assert!((100..=FINE).contains(&grid.slots()), "{text}: {} slots", grid.slots());
        }
        assert!(Grid::new(Span::ZERO, Span::ZERO).unwrap_err().to_string().contains("1h"));
    }

    #[test]
    fn a_coarser_grid_keeps_its_moments() {
        let minutes = Grid::new(Span::DAY, MINUTE).unwrap();
        assert_eq!(minutes.coarser(96).step(), Span::from_secs(900));
        assert_eq!(minutes.coarser(100), minutes.coarser(96));
        assert_eq!(minutes.coarser(5_000), minutes);
        assert_eq!(minutes.coarser(0).slots(), 1);
    }

    proptest! {
        /// A poll on the grid sees a change if and only if it sees the change's slot.
        #[test]
        fn nothing_is_lost_on_the_grid(t in -10_000_000i64..10_000_000, poll in -100i64..100) {
            let grid = Grid::new(HOUR, MINUTE).unwrap();
            let slot = grid.slot(Time::from_micros(t * 977));
            prop_assert_eq!(t * 977 <= poll * 60_000_000, slot <= poll);
        }
    }
}
